#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each kind of system call of --watch fails, six times over its run, while it starts and while it repairs. It repairs all the same, soon; or it
# ends with a word, and is started again by whoever started it.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
"$LISTEN" $work/notify >$work/notified &
wait_until 5 test -S $work/notify
applied() { [ "$(rails)" = "ib0 whole, ib1 whole" ]; }
alive() { kill -0 "$watch" 2>/dev/null; }
applied_or_ended() { ! alive || applied; }

watch_traced() { # INJECTION
    : >$work/notified
    NOTIFY_SOCKET=$work/notify nsenter --net=/run/netns/B strace -D -f -qq -o $work/trace ${1:+-e "inject=$1"} \
        "$IB_HOOK" --sysfs /run/sys/B --watch 2>$work/err >/dev/null &
    watch=$!
    wait_until 5 applied_or_ended
}

watch_ends() { # STATUS…: one of them
    local got=0
    kill -TERM "$watch" 2>/dev/null || true
    wait "$watch" || got=$?
    [[ " $* " == *" $got "* ]] || fail "$what: it ended with $got" "$(<$work/err)$(journal "$from")"
}

what="without a fault"
from=1
watch_traced ""
wait_until 5 applied
ip -n B route flush table 942
wait_until 5 applied
watch_ends 0
calls $work/trace | spread 6 >$work/calls
count=0
ended=0
while read -r name n; do
    [ -n "${ERRORS[$name]}" ] || continue
    error=$(error_for "$name" "$n")
    what="$name number $n fails with $error"
    echo "# $what"
    hook B --undo >/dev/null
    rm -rf /run/ib-hook
    from=$(($(journal_lines) + 1))
    watch_traced "$name:error=$error:when=$n"
    if alive; then
        wait_until 5 applied
        ip -n B route flush table 942
        wait_until 5 applied
        watch_ends 0
    else
        watch_ends 3 133 134
        [ -n "$(<$work/err)$(journal "$from")" ] || fail "$what: it ended, and said nothing"
        ended=$((ended + 1))
    fi
    count=$((count + 1))
done <$work/calls
[ $count -gt 40 ] || fail "only $count calls were tried"
ok "$count system calls failed, one at a time; $ended times it ended with a word"
