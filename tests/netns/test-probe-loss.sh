#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A peer that answers every other echo: --probe counts.
. "$(dirname "$0")/lib.sh"
REPLIER=$(dirname "$FLOW")/replier
[ -x "$REPLIER" ] || fail "there is no $REPLIER: run make tools"

make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply
on B sh -c 'echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all'
nsenter --net=/run/netns/B "$REPLIER" half >$work/replier &
wait_until 5 grep -q ready $work/replier
expect_hook 1 A --probe 172.16.34.1 --count 10 --json
expect_equal "half of them" "ib0 5/10 ib1 5/10" "$(json '.pairs[] | "\(.iface) \(.received)/\(.sent)"' | xargs)"
expect_equal "is loss, and nothing else" "probe-lost" "$(json '[.pairs[].problems[]] | unique | .[]')"
expect_hook 1 A --probe 172.16.34.1 --count 10
expect_contains "so says the matrix" "lost 5/10" "$out"
kill $!
