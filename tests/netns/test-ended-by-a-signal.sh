#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whoever ends a run - a terminal that is closed, a service manager - ends it before or after the change, never within:
# the signal comes at each message to the kernel in turn.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
strict=$(config '[defaults]
arp=strict')
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
know_both_states B --config "$strict"

signalled() { # SIGNAL NUMBER ARGUMENT… → exit status
    local status=0
    on B strace -o $work/trace -e trace=sendmsg -e inject=sendmsg:signal="$1":when="$2" \
        "$IB_HOOK" --sysfs /run/sys/B --config "$strict" "${@:3}" >$work/out 2>$work/err </dev/null || status=$?
    echo $status
}

# messages SIGNAL STEP ACTION START END: from START, the signal at each STEP-th message
messages() {
    local i status now ends=0 killed=$((128 + $(kill -l "$1")))
    for ((i = 1; ; i += $2)); do
        [ "$(state B)" = "$4" ] || fail "SIG$1, $3, message $i: the start" "$(diff <(echo "$4") <(state B) || true)"
        status=$(signalled "$1" $i "$3")
        now=$(state B)
        case $status/$now in
            0/"$5") break ;; # there is no message $i any more
            "$killed/$4") ;; # before it began
            "$killed/$5") ends=$((ends + 1)) ;;
            *) fail "SIG$1, $3, message $i: expected all or nothing and status $killed, got $status" \
                "$(diff <(echo "$5") <(echo "$now") || true)" ;;
        esac
        if [ "$3" = --apply ]; then
            hook B --undo >/dev/null
        else
            hook B --config "$strict" --apply >/dev/null
        fi
    done
    [ $((ends * $2)) -ge 5 ] || fail "SIG$1, $3: it came within the change, too" "$i messages, $ends within"
    ok "SIG$1 at $(((i - 1) / $2)) messages of $3: all ($ends times) or nothing"
}

# What one signal finds, the others would: they come at some of the messages.
for signal in "TERM 1" "HUP 4" "INT 4"; do
    # shellcheck disable=SC2086 # two words
    messages $signal --apply "$before" "$applied"
    # shellcheck disable=SC2086
    messages $signal --undo "$applied" "$before"
done
