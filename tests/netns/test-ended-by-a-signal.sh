#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whoever ends a run - a terminal that is closed, a service manager - ends it before or after the change, never within:
# the signal comes at each message to the kernel in turn.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
strict=$(config '[defaults]
arp=strict')
before=$(state B)
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
expect_hook 0 B --config "$strict" --apply
applied=$(state B)
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"

signalled() { # SIGNAL NUMBER ARGUMENT… → exit status
    local status=0
    on B strace -o $work/trace -e trace=sendmsg -e inject=sendmsg:signal="$1":when="$2" \
        "$IB_HOOK" --sysfs /run/sys/B --config "$strict" "${@:3}" >$work/out 2>$work/err </dev/null || status=$?
    echo $status
}

# each_message SIGNAL ACTION START END: from START, the signal at each message
each_message() {
    local i status now ends=0 killed=$((128 + $(kill -l "$1")))
    for ((i = 1; ; i++)); do
        [ "$(state B)" = "$3" ] || fail "SIG$1, $2, message $i: the start" "$(diff <(echo "$3") <(state B) || true)"
        status=$(signalled "$1" $i "$2")
        now=$(state B)
        case $status/$now in
            0/"$4") break ;; # there is no message $i any more
            "$killed/$3") ;; # before it began
            "$killed/$4") ends=$((ends + 1)) ;;
            *) fail "SIG$1, $2, message $i: expected all or nothing and status $killed, got $status" \
                "$(diff <(echo "$4") <(echo "$now") || true)" ;;
        esac
        if [ "$2" = --apply ]; then
            hook B --undo >/dev/null
        else
            hook B --config "$strict" --apply >/dev/null
        fi
    done
    [ $ends -ge 5 ] || fail "SIG$1, $2: it came within the change, too" "$((i - 1)) messages, $ends within"
    ok "SIG$1 at each of $((i - 1)) messages of $2: all ($ends times) or nothing"
}

for signal in TERM HUP INT; do
    each_message $signal --apply "$before" "$applied"
    each_message $signal --undo "$applied" "$before"
done
