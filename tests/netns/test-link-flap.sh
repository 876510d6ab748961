#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A link that goes down takes its table's routes with it and leaves the rules: traffic falls through to main, silently,
# on the wrong NIC. --check sees it, --apply repairs it. Loss of carrier alone is nothing to repair.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve A B
rails_by_hand A 2
expect_hook 0 B --apply
applied=$(state B | tidy)

ip -n B link set ib1 down
ip -n B link set ib1 up
wait_until 5 settled B
expect_routes B "$(route_line 172.16.0.0/16 ib0 941 172.16.34.1)"
expect_equal "ib1's address leaves by ib0" ib0 "$(ip -n B -j route get 172.16.16.1 from 172.16.34.2 | jq -r '.[0].dev')"
expect_hook 1 B --check --json
expect_contains "--check finds it" route-missing "$out"
expect_hook 0 B --apply
expect_equal "the state after --apply" "$applied" "$(state B | tidy)"
expect_equal "ib1's address leaves by ib1" ib1 "$(ip -n B -j route get 172.16.16.1 from 172.16.34.2 | jq -r '.[0].dev')"
forget A B
expect_equal "and traffic too" 5 \
    "$(flow_on B --from 172.16.34.2 --to 172.16.16.2 --expect-server ib1 --count 5 | jq .right)"

# While it is down: no error, nothing added that the kernel would refuse, the other rail stands.
ip -n B link set ib1 down
expect_hook 0 B --apply
expect_routes B "$(route_line 172.16.0.0/16 ib0 941 172.16.34.1)"
ip -n B link set ib1 up
wait_until 5 settled B
expect_hook 0 B --apply
expect_equal "the state after down, --apply, up, --apply" "$applied" "$(state B | tidy)"

# Both at once.
for nic in ib0 ib1; do ip -n B link set $nic down; done
for nic in ib0 ib1; do ip -n B link set $nic up; done
wait_until 5 settled B
expect_hook 0 B --apply
expect_equal "the state after both went down" "$applied" "$(state B | tidy)"

# The cable only.
ip -n wire link set B.1 down
linkdown() { [[ $(ip -n B route show table 942) == *linkdown* ]]; }
wait_until 5 linkdown
expect_hook 0 B --apply --json
expect_equal "without carrier there is nothing to change" false "$(json .changed)"
ip -n wire link set B.1 up
wait_until 5 settled B
expect_hook 0 B --apply --json
expect_equal "with carrier again neither" false "$(json .changed)"
