#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A peer that answers every other echo: --probe counts. One that answers late.
. "$(dirname "$0")/lib.sh"
REPLIER=$(dirname "$FLOW")/replier
[ -x "$REPLIER" ] || fail "there is no $REPLIER: run make tools"

make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply
on B sh -c 'echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all'
nsenter --net=/run/netns/B "$REPLIER" half >$work/replier &
wait_until 5 grep -q ready $work/replier
expect_hook 1 A --probe 172.16.34.1 --count 10 --interval 0.02 --timeout 0.3 --json
expect_equal "half of them" "ib0 5/10 ib1 5/10" "$(json '.pairs[] | "\(.iface) \(.received)/\(.sent)"' | xargs)"
expect_equal "is loss, and nothing else" "probe-lost" "$(json '[.pairs[].problems[]] | unique | .[]')"
expect_hook 1 A --probe 172.16.34.1 --count 10 --interval 0.02 --timeout 0.3
expect_contains "so says the matrix" "lost 5/10" "$out"
kill $!

# What comes by one rail takes 40 ms longer: that is told, and is no fault.
nsenter --net=/run/netns/B "$REPLIER" late 172.16.16.2 >$work/replier &
wait_until 5 grep -q ready $work/replier
expect_hook 0 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "a rail whose round trips are far from the other's" "ib1 info rtt-outlier" \
    "$(json '.findings[] | "\(.ifaces | join("+")) \(.severity) \(.code)"')"
expect_contains "with all its peers" "2 of 2 peers: 172.16.34.1, 172.16.34.2; round trips take 4" "$(json '.findings[].message')"
kill $!

# What so few echoes can miss.
on B sh -c 'echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_all'
expect_hook 0 A --probe 172.16.34.1 --verbose
expect_contains "is said on request" "3 echoes of each pair: one that loses 63.2 % of what is sent looks whole in one of 20 cases; with --count 100 it is 3.0 %" "$out"
expect_hook 0 A --probe 172.16.34.1
expect_lacks "and only then" "looks whole" "$out"
