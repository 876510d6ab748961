#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What happens to our own rules and NICs is repaired at once, also while others' events come without an end: for those,
# --watch waits longer and longer, up to half a second.
. "$(dirname "$0")/../netns/lib.sh"

make_hosts 2 B
ip -n B link add other type ifb
ip -n B link set other up
journal_start
watch_start B
while :; do
    echo "address add 10.9.0.1/32 dev other"
    echo "address del 10.9.0.1/32 dev other"
    sleep 0.02 # that is how often others do something
done | on B ip -batch - &
storm=$!
on B ip -timestamp monitor rule >$work/monitor &
monitor=$!
both_stand() { [ "$(our_rules B | wc -l)" = 4 ]; }
for i in 1 2 3 4 5 6 7; do
    sleep 1.3 # what was done to us before is no burst any more; that of the others has grown
    ip -n B rule del from 172.16.34.$((i % 2 + 1)) lookup $((i % 2 + 941))
    wait_until 5 both_stand
done
kill $monitor $storm
sed -n 's/^Timestamp: .* \([0-9:]*\) [0-9]* \([0-9]*\) usec/\1 \2/p; s/^Deleted .*from 172.16.34.[12] .*/deleted/p; s/^1941:.*from 172.16.34.[12] .*/added/p' \
    $work/monitor | awk '
    NF == 2 { split($1, t, ":"); at = ((t[1] * 60 + t[2]) * 60 + t[3]) * 1000000 + $2 }
    $1 == "deleted" { from = at }
    $1 == "added" && from { print at - from; from = 0 }' >$work/times
expect_equal "times measured" 7 "$(wc -l <$work/times)"
away=$(sort -n <$work/times | sed -n 4p)
echo "# beside a burst of others, a deleted rule is away for $away us (median of 7)"
[ "$away" -le 100000 ] || fail "beside a burst of others, a deleted rule is away for $away us: expected at most 100000"
ok "a deleted rule comes back at once beside a burst of others"
watch_stop
