#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Subnets of unlike length that overlap: a /24 and a /31 inside the /16. Each rail has the route of its own subnet.
. "$(dirname "$0")/lib.sh"

make_wire
new_host B
add_nic B ib0 0 172.16.34.1/16
add_nic B ib1 1 172.16.34.65/24
add_nic B ib2 2 172.16.50.2/31
rdma B ib0 ib1 ib2
wait_until 5 settled B
before=$(state B)
expect_hook 0 B --apply
expect_rules B "$(rule_line 172.16.34.1 941)
$(rule_line 172.16.34.65 942 172.16.34.0/24)
$(rule_line 172.16.50.2 943 172.16.50.2/31)"
expect_routes B "$(route_line 172.16.0.0/16 ib0 941 172.16.34.1)
$(route_line 172.16.34.0/24 ib1 942 172.16.34.65)
$(route_line 172.16.50.2/31 ib2 943 172.16.50.2)"
expect_equal "to the other end of the /31" ib2 "$(ip -n B -j route get 172.16.50.3 from 172.16.50.2 | jq -r '.[0].dev')"
expect_equal "from the /16 into the /24, as main says" ib1 "$(ip -n B -j route get 172.16.34.99 from 172.16.34.1 | jq -r '.[0].dev')"
expect_equal "inside the /24" ib1 "$(ip -n B -j route get 172.16.34.99 from 172.16.34.65 | jq -r '.[0].dev')"
expect_hook 1 B --check --json
expect_equal "the /24 inside the /16 may be a slip; a /31 is none" "ib1 prefix-differs" \
    "$(json '.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.code)"')"
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"

# /31s of their own overlap nothing: no rail.
ip -n B address flush dev ib0 scope global
ip -n B address flush dev ib1 scope global
ip -n B address add 172.16.50.0/31 dev ib0
before=$(state B)
expect_hook 0 B --apply
expect_equal "two /31 side by side are left alone" "$before" "$(state B)"
