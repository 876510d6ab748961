#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The wait for the lock ends, and says how to find who has it, whatever signals the caller blocks or ignores.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
before=$(state B)
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
env --block-signal=ALRM true 2>/dev/null || skip "env cannot block signals"

# Who has it: an --apply that is stopped before its first change.
: >$work/trace
on B strace -f -o $work/trace -e trace=sendmsg,flock -e inject=flock:signal=STOP:when=1 \
    "$IB_HOOK" --sysfs /run/sys/B --apply >/dev/null 2>&1 &
tracer=$!
is_stopped() { grep -q 'stopped by SIGSTOP' $work/trace; }
wait_until 5 is_stopped
holder=$(sed -n 's/^\([0-9]*\) .*stopped by SIGSTOP.*/\1/p' $work/trace)
expect_equal "an ib-hook has the lock, as lslocks says" "ib-hook $holder" \
    "$(lslocks -nro COMMAND,PID,PATH | sed -n 's|^\(ib-hook [0-9]*\) .*/ib-hook/n[0-9a-f]*.lock$|\1|p')"

start=$EPOCHREALTIME
pids=()
n=0
for how in --block-signal=ALRM --ignore-signal=ALRM --block-signal; do
    n=$((n + 1))
    on B env $how "$IB_HOOK" --sysfs /run/sys/B --apply >$work/out.$n 2>$work/err.$n </dev/null &
    pids+=($!)
done
n=0
for pid in "${pids[@]}"; do
    n=$((n + 1)) status=0
    all_in_time() { [ ! -d "/proc/$pid" ] || [ "$(cut -d ' ' -f 3 "/proc/$pid/stat")" = Z ]; }
    wait_until 15 all_in_time
    wait "$pid" || status=$?
    expect_equal "way $n: --apply gives up" 3 $status
    expect_contains "way $n: it says when, why, and what names the process" \
        "after 10 s: another ib-hook is at work in this network namespace (lslocks names its process)" "$(<$work/err.$n)"
done
echo "# they waited for $(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000)) ms"
expect_equal "nothing is changed" "$before" "$(state B)"

# Nor does it matter to the work itself; and the one that was stopped goes on.
kill -CONT "$holder"
wait $tracer || fail "the one that was stopped goes on"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
on B env --block-signal "$IB_HOOK" --sysfs /run/sys/B --undo >/dev/null
expect_equal "--undo with all signals blocked" "$before" "$(state B)"
