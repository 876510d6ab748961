#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pings pass, or do not, and the reason is on this host: a rail without rules, replies that come in through the other NIC, and
# replies that rp_filter drops there.
. "$(dirname "$0")/lib.sh"

make_hosts 2
expect_hook 0 B --apply
capture_echoes A 12 expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "no rules: sent by the rail that was named" "ib0 172.16.16.1 ib1 172.16.16.2" \
    "$(cut -d ' ' -f 2-3 $work/echoes | sort -u | xargs)"
expect_equal "no rules: ib1's echoes were answered" "3 3" "$(json '[.pairs[] | select(.iface == "ib1") | .received] | join(" ")')"
expect_equal "but its address leaves through ib0" "ib0 routed-other-nic" \
    "$(json '[.pairs[] | select(.iface == "ib1") | "\(.route_iface) \(.problems[])"] | unique | .[]')"
expect_equal "ib0's are right" "true" "$(json '[.pairs[] | select(.iface == "ib0") | .ok] | unique | .[]')"
expect_hook 1 A --probe 172.16.34.1 172.16.34.2
expect_contains "a line names it" "routed-other-nic" "$(grep ^ib1 <<<"$out" | head -1)"

expect_hook 0 A --apply
expect_hook 0 A --probe 172.16.34.1 172.16.34.2

# B holds the hardware address of A's ib0 for both of A's addresses.
for nic in ib0 ib1; do
    ip -n B neigh replace 172.16.16.2 lladdr "$(mac A 0)" dev $nic nud permanent
done
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "replies to ib1 come in through ib0" "ib0 3 reply-other-nic" \
    "$(json '[.pairs[] | select(.iface == "ib1") | "\(.reply_iface) \(.received) \(.problems | join(" "))"] | unique | .[]')"
expect_contains "the finding says who holds what" "the peer's neighbour table has the hardware address of" \
    "$(json '.findings[] | select((.ifaces | index("ib1"))) | .message')"

# With a strict rp_filter on ib0 they are dropped: seen all the same.
sysctl_set A ib0 rp_filter 1
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "dropped, not lost" "ib0 0 reply-dropped" \
    "$(json '[.pairs[] | select(.iface == "ib1") | "\(.reply_iface) \(.received) \(.problems | join(" "))"] | unique | .[]')"
expect_contains "by what" "IPReversePathFilter grows, too: rp_filter drops packets" "$(messages)"
expect_hook 1 A --probe 172.16.34.1
expect_contains "a line names it, too" "reply-dropped" "$out"
