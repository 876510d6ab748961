#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What waits for a confirmation outlives whoever started it: its session, its terminal, its pipes. That is what it is
# for: the administrator may just have cut himself off.
. "$(dirname "$0")/lib.sh"
needs script setsid taskset
needs_own_processes

make_hosts 2 B
know_both_states B
pids() { pgrep -f -x -- "$IB_HOOK .*" || true; }
cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/') # one that it may use
nobody_waits() { [ -z "$(pids)" ]; }
session() { ps -o sid=,tty= -p "$(pids)" | xargs; }
# It leads a session without a terminal, and its descriptors lead nowhere. It is alone before it has come so far: the command
# waits for the first process only.
detached() {
    local fd
    [ "$(session)" = "$(pids) ?" ] || return
    for fd in 0 1 2; do
        [ "$(readlink "/proc/$(pids)/fd/$fd")" = /dev/null ] || return
    done
}
undone() { # WHAT: it still waits, and as it is told to end, it undoes; nobody depends on how fast this machine is
    expect_equal "$1: applied" "$applied" "$(state B)"
    expect_equal "$1: one process waits" 1 "$(pids | wc -l)"
    kill -TERM "$(pids)"
    wait_until 5 is "$before"
    wait_until 5 nobody_waits
    ok "$1: undone all the same"
}
command=(nsenter --net=/run/netns/B "$IB_HOOK" --sysfs /run/sys/B --apply --confirm)

# Nobody who reads its output until the end has to wait for it.
start=${EPOCHREALTIME/[.,]/}
text=$("${command[@]}" 60 2>&1)
took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
expect_contains "its output ends" "ib-hook --confirm" "$text"
[ $took -lt 5000 ] || fail "a pipe is at its end at once" "it took $took ms"
ok "a pipe is at its end at once"
wait_until 5 detached
ok "what waits has nothing of ours"
expect_equal "it has no lock" "" "$(readlink /proc/"$(pids)"/fd/* | grep lock || true)"
expect_hook 0 B --check # takes no lock, and
expect_hook 0 B --apply # needs it
kill -KILL "$(pids)"
wait_until 5 nobody_waits
expect_hook 0 B --undo

# The reader of its output goes away.
"${command[@]}" 60 2>&1 | true || true
if [ -n "$(pids)" ]; then
    undone "a closed pipe"
else
    expect_equal "a closed pipe: nothing happened" "$before" "$(state B)"
fi
"${command[@]}" 60 >&- 2>&- <&- || true
undone "closed descriptors"

# The terminal is closed.
script -q -e -c "${command[*]} 60" /dev/null </dev/null >/dev/null
undone "the terminal is closed"

# SIGHUP, SIGINT and SIGTERM to the group of whoever started it, at the moment when it is done: what waits has left the
# group by then. On one processor it may not have had its turn yet.
for signal in HUP INT TERM KILL; do
    # shellcheck disable=SC2016 # for the inner shell
    { taskset -c "$cpu" setsid --wait sh -c '"$@"; kill -'$signal' 0' sh "${command[@]}" 60 >/dev/null || true; } 2>/dev/null
    undone "SIG$signal to the group"
done

# SIGHUP to the process itself, as of a session's end.
"${command[@]}" 60 >/dev/null
wait_until 5 detached
kill -HUP "$(pids)"
kill -PIPE "$(pids)"
expect_equal "it still leads a session without a terminal" "$(pids) ?" "$(session)"
undone "SIGHUP and SIGPIPE to itself"
