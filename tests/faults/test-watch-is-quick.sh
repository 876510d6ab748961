#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How long a deleted rule is away: at most five times as long as one process `ip rule add` takes, in the same run
# (medians of 15).
. "$(dirname "$0")/lib.sh"

make_hosts 4 B # in turn, or it is a fight
journal_start
watch_start B
median() { sort -n | sed -n 8p; }
now() { echo "${EPOCHREALTIME/[.,]/}"; }

# The kernel tells when it comes back: `ip monitor` has its own clock, so there is no polling in what is measured.
on B ip -timestamp monitor rule >$work/monitor &
monitor=$!
all_stand() { [ "$(our_rules B | wc -l)" = 8 ]; }
for i in $(seq 15); do
    sleep 1.1 # a burst is over: what is measured is the first event of one
    ip -n B rule del from 172.16.34.$((i % 4 + 1)) lookup $((i % 4 + 941))
    wait_until 5 all_stand
done
kill $monitor
# Timestamp: Fri Nov 20 12:00:00 2026 123456 usec
sed -n 's/^Timestamp: .* \([0-9:]*\) [0-9]* \([0-9]*\) usec/\1 \2/p; s/^Deleted .*from 172.16.34.[1-4] .*/deleted/p; s/^1941:.*from 172.16.34.[1-4] .*/added/p' \
    $work/monitor | awk '
    NF == 2 { split($1, t, ":"); at = ((t[1] * 60 + t[2]) * 60 + t[3]) * 1000000 + $2 }
    $1 == "deleted" { from = at }
    $1 == "added" && from { print at - from; from = 0 }' >$work/times
expect_equal "times measured" 15 "$(wc -l <$work/times)"
for _ in $(seq 15); do
    start=$(now)
    nsenter --net=/run/netns/B ip rule add from 10.0.0.1 lookup 77
    echo $(($(now) - start))
    ip -n B rule del from 10.0.0.1 lookup 77
done >$work/ip
away=$(median <$work/times) one=$(median <$work/ip)
echo "# a deleted rule is away for $away us, ip rule add takes $one us (medians of 15)"
[ "$away" -le $((5 * one)) ] || fail "a deleted rule is away for $away us: expected at most 5 x $one us"
ok "a deleted rule is away for at most five times as long as ip rule add takes"
watch_stop
