#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A second address in the same subnet: a rule for each, one route with the first as its source. When the first goes and
# the second is promoted, no route keeps the dead source.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve A
rails_by_hand A 2
on B sh -c "echo 1 > $CONF/ib1/promote_secondaries"
ip -n B address add 172.16.34.12/16 dev ib1
ip -n B address add 10.7.0.2/24 dev ib1
expect_hook 0 B --apply
expect_rules B "$(rule_line 172.16.34.1 941)
$(pair_lines 172.16.34.2 942 10.7.0.0/24 172.16.0.0/16)
$(pair_lines 172.16.34.12 942 10.7.0.0/24 172.16.0.0/16)
$(pair_lines 10.7.0.2 942 10.7.0.0/24 172.16.0.0/16)"
expect_routes B "$(route_line 172.16.0.0/16 ib0 941 172.16.34.1)
$(route_line 172.16.0.0/16 ib1 942 172.16.34.2)
$(route_line 10.7.0.0/24 ib1 942 10.7.0.2)"
expect_hook 0 B --check
for from in 172.16.34.2 172.16.34.12; do
    expect_equal "$from leaves by ib1" 5 \
        "$(flow_on B --from $from --to 172.16.16.1 --expect-server ib0 --expect-iface ib1 --count 5 | jq .right)"
done

ip -n B address del 172.16.34.2/16 dev ib1
expect_contains "the kernel leaves the dead source in our table" "src 172.16.34.2 " "$(our_routes B)"
expect_hook 1 B --check
expect_hook 0 B --apply
expect_rules B "$(rule_line 172.16.34.1 941)
$(pair_lines 172.16.34.12 942 10.7.0.0/24 172.16.0.0/16)
$(pair_lines 10.7.0.2 942 10.7.0.0/24 172.16.0.0/16)"
expect_routes B "$(route_line 172.16.0.0/16 ib0 941 172.16.34.1)
$(route_line 172.16.0.0/16 ib1 942 172.16.34.12)
$(route_line 10.7.0.0/24 ib1 942 10.7.0.2)"
expect_hook 0 B --check
expect_hook 0 B --apply --json
expect_equal "nothing is left to do" false "$(json .changed)"
