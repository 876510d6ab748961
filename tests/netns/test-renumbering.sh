#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A new address: only its rule and route remain, nothing of the old one.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve A B
rails_by_hand A 2
before=$(state B)
expect_hook 0 B --apply
ip -n B address del 172.16.34.2/16 dev ib1
ip -n B address add 172.16.34.22/16 dev ib1
expect_contains "the kernel leaves the rule of the old address behind" "from 172.16.34.2 " "$(our_rules B)"
expect_hook 1 B --check
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.22
forget A B
expect_equal "the new address is on its NIC" 5 \
    "$(flow_on A --from 172.16.16.1 --to 172.16.34.22 --expect-server ib1 --count 5 | jq .right)"

# Both at once, one into the place of the other.
ip -n B address del 172.16.34.1/16 dev ib0
ip -n B address del 172.16.34.22/16 dev ib1
ip -n B address add 172.16.34.22/16 dev ib0
ip -n B address add 172.16.34.1/16 dev ib1
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.22 ib1:942:172.16.34.1
expect_hook 0 B --check

# Another subnet, together.
ip -n B address flush dev ib0 scope global
ip -n B address flush dev ib1 scope global
ip -n B address add 10.1.0.1/24 dev ib0
ip -n B address add 10.1.0.2/24 dev ib1
expect_hook 0 B --apply
expect_rules B "$(rule_line 10.1.0.1 941 10.1.0.0/24)
$(rule_line 10.1.0.2 942 10.1.0.0/24)"
expect_routes B "$(route_line 10.1.0.0/24 ib0 941 10.1.0.1)
$(route_line 10.1.0.0/24 ib1 942 10.1.0.2)"

# No address at all on one of them: that takes its rule with it. The other stays as it is.
ip -n B address flush dev ib1 scope global
expect_hook 0 B --apply
expect_rules B "$(rule_line 10.1.0.1 941 10.1.0.0/24)"

# And back again.
ip -n B address flush dev ib0 scope global
ip -n B address add 172.16.34.1/16 dev ib0
ip -n B address add 172.16.34.2/16 dev ib1
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --undo
expect_equal "the state after --undo" "$(tidy <<<"$before")" "$(state B | tidy)"
