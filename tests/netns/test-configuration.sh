#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What an administrator can say: which NICs, which table, which priority. The last word counts: what no longer holds
# is taken away by the next --apply.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
before=$(state B)

expect_hook 0 B --config "$(config '[interface ib1]
manage=no')" --apply
expect_rails B ib0:941:172.16.34.1
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --config "$(config '[interface *]
manage=no # everything off')" --apply
expect_equal "manage=no for all gives everything back" "$before" "$(state B)"

expect_hook 0 B --config "$(config '[interface ib0]
table=700
[interface ib*]
table=auto')" --apply
expect_rules B "$(rule_line 172.16.34.1 700)
$(rule_line 172.16.34.2 942)"
expect_routes B "$(route_line 172.16.0.0/16 ib0 700 172.16.34.1)
$(route_line 172.16.0.0/16 ib1 942 172.16.34.2)"
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

# An explicit number that is another's automatic one.
clash=$(config '[interface ib0]
table=942')
expect_hook 0 B --config "$clash" --apply # from 941 and 942
expect_rails B ib0:942:172.16.34.1 ib1:943:172.16.34.2
expect_hook 0 B --undo
expect_hook 0 B --config "$clash" --apply # from nothing
expect_rails B ib0:942:172.16.34.1 ib1:943:172.16.34.2
expect_hook 0 B --config "$clash" --check --json
expect_equal "--check says that the automatic one moved" "ib1 info" \
    "$(json '.findings[] | select(.code == "table-moved") | "\(.ifaces | join("+")) \(.severity)"')"
expect_hook 2 B --config "$(config '[interface ib0]
table=700
[interface ib1]
table=2700')" --apply
expect_contains "the table of the other one's default routes" "2000 away from table=700 of ib0" "$err"
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"

# manage=yes makes a candidate of a NIC without RDMA; then the two share a subnet.
rdma B ib0
expect_hook 0 B --apply
expect_equal "one RDMA NIC is left alone" "$before" "$(state B)"
expect_hook 0 B --config "$(config '[interface ib1]
manage=yes')" --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --undo
expect_equal "the state after the last --undo" "$before" "$(state B)"
