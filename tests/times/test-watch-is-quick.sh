#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How long a deleted rule is away: at most five times as long as one process `ip rule add` takes, in the same run (medians of
# 15). It is repaired at once also while others' events come without an end: for those, --watch waits longer and longer, up to
# half a second. And how long until --watch says that a link is back, and until a NIC that a pod gives back is a rail again.
. "$(dirname "$0")/../netns/lib.sh"

make_hosts 4 B # in turn, or it is a fight
ip -n B link add other type ifb
ip -n B link set other up
journal_start
watch_start B
median() { sort -n $work/times | sed -n "$((($1 + 1) / 2))p"; } # of so many
now() { echo "${EPOCHREALTIME/[.,]/}"; }
all_stand() { [ "$(our_rules B | wc -l)" = 8 ]; }

# away NUMBER PAUSE: so many rules are deleted, with a pause in seconds before each; how long each was away is in $work/times.
# The kernel tells: `ip monitor` has its own clock, so there is no polling in what is measured.
away() {
    local i monitor
    nsenter --net=/run/netns/B ip -timestamp monitor rule >$work/monitor &
    monitor=$!
    for ((i = 0; i < $1; i++)); do
        sleep "$2"
        ip -n B rule del from 172.16.34.$((i % 4 + 1)) lookup $((i % 4 + 941))
        wait_until 5 all_stand
    done
    kill $monitor
    wait $monitor || true
    # Timestamp: Fri Nov 20 12:00:00 2026 123456 usec
    sed -n 's/^Timestamp: .* \([0-9:]*\) [0-9]* \([0-9]*\) usec/\1 \2/p; s/^Deleted .*from 172.16.34.[1-4] .*/deleted/p; s/^1941:.*from 172.16.34.[1-4] .*/added/p' \
        $work/monitor | awk '
        NF == 2 { split($1, t, ":"); at = ((t[1] * 60 + t[2]) * 60 + t[3]) * 1000000 + $2 }
        $1 == "deleted" { from = at }
        $1 == "added" && from { print at - from; from = 0 }' >$work/times
    expect_equal "times measured" "$1" "$(wc -l <$work/times)"
}

away 15 1.1 # a burst is over: what is measured is the first event of one
first=$(median 15)
for _ in $(seq 15); do
    start=$(now)
    nsenter --net=/run/netns/B ip rule add from 10.0.0.1 lookup 77
    echo $(($(now) - start))
    ip -n B rule del from 10.0.0.1 lookup 77
done >$work/times
one=$(median 15)
echo "# a deleted rule is away for $first us, ip rule add takes $one us (medians of 15)"
expect_at_least "a deleted rule is away for at most five times as long as ip rule add takes" "$first" $((5 * one))

while :; do
    echo "address add 10.9.0.1/32 dev other"
    echo "address del 10.9.0.1/32 dev other"
    sleep 0.02 # that is how often others do something
done | on B ip -batch - &
storm=$!
away 7 1.3 # what was done to us before is no burst any more; that of the others has grown
kill $storm
expect_at_least "beside a burst of others, a deleted rule comes back at once (us, median of 7)" "$(median 7)" 100000

# A cable that was out, and is said to be: its return is said within two seconds, whether the address stayed or not.
said() { grep -qF "ib1 (mlx5_1/1) $1" $work/journal; }
lost() { [ "$(grep -c "ib1 (mlx5_1/1) lost its link" $work/journal)" = "$1" ]; }
returns() { # TIMES LINE: it has been lost so often
    local start
    wait_until 15 lost "$1"
    start=$(now)
    ip -n wire link set B.1 up
    wait_until 5 said "$2"
    expect_at_least "us until the journal has \"$2\"" $(($(now) - start)) 2000000
}
ip -n wire link set B.1 down
returns 1 "is back"
ip -n wire link set B.1 down
ip -n B address flush dev ib1 scope global
returns 2 "has a link, but no configured address"

# A NIC comes home from a pod with its address.
ip netns add pod
stands() { own_rules B | grep -q 172.16.34.4; }
gone() { ! stands; }
ip -n B link set ib3 netns pod
wait_until 5 gone
ip -n pod link set ib3 netns B
ip -n B link set ib3 up
ip -n B address add 172.16.34.4/16 dev ib3
start=$(now)
wait_until 5 stands
expect_at_least "us until the pod's NIC is a rail again" $(($(now) - start)) 1000000
watch_stop
