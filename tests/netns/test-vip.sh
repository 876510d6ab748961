#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A /32 on a rail (a VIP): it has a rule and no route of its own, and it is answered by its NIC. Alone it engages nothing.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve A B
rails_by_hand A 2
ip -n B address add 172.16.99.9/32 dev ib1
expect_hook 0 B --apply
expect_rules B "$(rule_line 172.16.34.1 941)
$(rule_line 172.16.34.2 942)
$(rule_line 172.16.99.9 942)"
expect_routes B "$(route_line 172.16.0.0/16 ib0 941 172.16.34.1)
$(route_line 172.16.0.0/16 ib1 942 172.16.34.2)"
expect_equal "only ib1 answers for it" ib1 "$(arp_answers A ib0 172.16.16.1 B 172.16.99.9)"
expect_equal "traffic uses ib1 both ways" 5 \
    "$(flow_on A --from 172.16.16.1 --to 172.16.99.9 --expect-server ib1 --count 5 | jq .right)"

# It moves to the other rail.
ip -n B address del 172.16.99.9/32 dev ib1
ip -n B address add 172.16.99.9/32 dev ib0
expect_hook 0 B --apply
expect_rules B "$(rule_line 172.16.34.1 941)
$(rule_line 172.16.34.2 942)
$(rule_line 172.16.99.9 941)"
moved() { [ "$(learned_mac A 172.16.99.9)" = "$(mac B 0)" ]; }
wait_until 1 moved
expect_equal "traffic uses ib0 both ways" 5 \
    "$(flow_on A --from 172.16.16.1 --to 172.16.99.9 --expect-server ib0 --count 5 | jq .right)"

make_lone() { # two NICs that have nothing but a /32 in common
    new_host C
    add_nic C ib0 0 10.3.0.1/24 10.9.9.9/32
    add_nic C ib1 1 10.4.0.1/24 10.9.9.10/32
    rdma C ib0 ib1
}
make_lone
wait_until 5 settled C
before=$(state C)
expect_hook 0 C --apply
expect_equal "a /32 engages nothing" "$before" "$(state C)"
