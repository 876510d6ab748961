#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# main=spread: bridges, containers and routes of main that are more specific than the rails' subnet keep winning.
. "$(dirname "$0")/lib.sh"

file=$(config '[defaults]
main=spread')
make_hosts 2
ip -n B link add docker0 type bridge
ip -n B address add 172.16.200.1/24 dev docker0
ip -n B link set docker0 up
add_nic B eth9 9 10.9.9.1/24
ip -n B route add 172.16.201.0/24 via 10.9.9.254

leaves_by() { ip -n B -j route get "$1" | jq -r '.[0].dev'; } # PEER
before="$(leaves_by 172.16.200.7) $(leaves_by 172.16.201.7)"
expect_equal "before, unbound traffic to the bridge and by the router" "docker0 eth9" "$before"
expect_hook 0 B --config "$file" --apply
expect_contains "unbound traffic is spread" nexthop "$(ip -n B route show table 940)"
expect_equal "unbound traffic to the bridge still reaches it" docker0 "$(leaves_by 172.16.200.7)"
expect_equal "what main has a route of its own for takes it still" eth9 "$(leaves_by 172.16.201.7)"
