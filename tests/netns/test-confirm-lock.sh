#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --apply --confirm behind another run that takes longer than SECONDS: whoever gets the lock first, it is undone.
. "$(dirname "$0")/lib.sh"
needs flock

make_hosts 2 B
know_both_states B
lock=$(echo /run/ib-hook/*.lock)

mkfifo $work/busy
flock "$lock" cat $work/busy & # until the other end of it is closed
busy=$!
exec 8>$work/busy
locked() { ! flock -n "$lock" true; }
wait_until 5 locked
start=${EPOCHREALTIME/[.,]/}
nsenter --net=/run/netns/B "$IB_HOOK" --sysfs /run/sys/B --apply --confirm 1 >$work/out 2>&1 </dev/null 8>&- &
run=$!
others() { pgrep -f -x -- "$IB_HOOK .*" | grep -vx $run || true; }
late() { [ $((${EPOCHREALTIME/[.,]/} - start)) -gt 1300000 ]; }
wait_until 5 late # than SECONDS

# If somebody waits already, to undo it, let him have his turn first.
kill -STOP $run
expect_equal "it waits for its turn" "$before" "$(state B)"
exec 8>&-
wait $busy
decided() { [ -z "$(others)" ] || [ $((${EPOCHREALTIME/[.,]/} - start)) -gt 2000000 ]; }
wait_until 5 decided
kill -CONT $run
wait $run || fail "--apply --confirm 1 behind another run" "$(<$work/out)"
expect_contains "it says what comes" "the previous state comes back in 1 s" "$(<$work/out)"
[ "$(state B)" = "$applied" ] || [ "$(state B)" = "$before" ] || fail "all or nothing" "$(state B)"
wait_until 4 is "$before"
ok "and it is"
