#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# main=spread with two subnets: a route for each, one rule. A NIC that is no rail and has the same prefix keeps that
# subnet, and only that, from being spread; so does a subnet with a single rail.
. "$(dirname "$0")/lib.sh"

spread=$(config '[defaults]
main=spread')
make_wire
new_host B
for i in 0 1; do add_nic B "ib$i" $i "172.16.34.$((i + 1))/16"; done
for i in 2 3; do add_nic B "ib$i" $i "10.1.34.$((i + 1))/24"; done
rdma B ib0 ib1 ib2 ib3
wait_until 5 settled B
table() { ip -n B route show table 940 | tr -s '\n\t ' ' ' | sed 's/ weight 1//g; s/ *$//'; }
common="proto kernel scope link metric $MARK"

before=$(state B)
expect_hook 0 B --config "$spread" --apply
expect_equal "two routes" \
    "10.1.34.0/24 $common nexthop dev ib2 nexthop dev ib3 172.16.0.0/16 $common nexthop dev ib0 nexthop dev ib1" "$(table)"
expect_equal "a rule for each" 2 "$(our_rules B | grep -c ' lookup 940 ')"
expect_equal "each subnet by its own rails" "ib0 ib1 ib2 ib3" \
    "$(for i in {1..20}; do
        ip -n B -j route get "172.16.16.$i" | jq -r '.[0].dev'
        ip -n B -j route get "10.1.34.1$i" | jq -r '.[0].dev'
    done | sort -u | xargs)"
expect_hook 0 B --config "$spread" --apply --json
expect_equal "a second run has nothing to do" false "$(json .changed)"

# A plain NIC with the same prefix as ib0 and ib1.
add_nic B eth9 9 172.16.34.9/16
wait_until 5 settled B
expect_hook 0 B --config "$spread" --apply
expect_equal "one is left" "10.1.34.0/24 $common nexthop dev ib2 nexthop dev ib3" "$(table)"
expect_contains "with the rule" " lookup 940 " "$(our_rules B)"
remove_nic B eth9
expect_hook 0 B --config "$spread" --apply
expect_contains "and back" "172.16.0.0/16 $common nexthop dev ib0 nexthop dev ib1" "$(table)"

# A first primary address of another subnet: unbound traffic would carry it into this one.
ip -n B address del 10.1.34.4/24 dev ib3
ip -n B address add 10.77.0.1/24 dev ib3
ip -n B address add 10.1.34.4/24 dev ib3
expect_hook 0 B --config "$spread" --apply
expect_equal "ib3 is left out, and ib2 alone is none" "172.16.0.0/16 $common nexthop dev ib0 nexthop dev ib1" "$(table)"
expect_hook 0 B --config "$spread" --apply --json
expect_equal "that is final" false "$(json .changed)"
ip -n B address del 10.77.0.1/24 dev ib3
expect_hook 0 B --config "$spread" --apply
expect_contains "and back, too" "10.1.34.0/24 $common nexthop dev ib2 nexthop dev ib3" "$(table)"
expect_hook 0 B --undo
expect_equal "rules after --undo" "$(grep '^[0-9]*:' <<<"$before")" "$(state B | grep '^[0-9]*:')"
expect_nothing_of_ours B
