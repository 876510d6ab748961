#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A peer in nobody's subnet is asked through the rails' gateways; where there is none, --probe says by which NIC it would go.
. "$(dirname "$0")/lib.sh"

make_hosts 2 A
new_host R
add_nic R eth0 0 172.16.50.1/16
ip -n R address add 192.0.2.1/32 dev lo
add_nic A eth0 9 10.0.0.2/8
sysctl_set A eth0 arp_ignore 1 # it is on the same wire
for host in A R; do wait_until 5 settled $host; done

for n in 0 1; do ip -n A route add default via 172.16.50.1 dev ib$n metric 10$n; done
expect_hook 0 A --apply
expect_hook 0 A --probe 192.0.2.1 172.16.50.1 --json
expect_equal "both rails reach what is behind the gateway, by themselves" "ib0 3 ib0 ib0 null ib1 3 ib1 ib1 null" \
    "$(json '.pairs[] | select(.peer == "192.0.2.1") | "\(.iface) \(.received) \(.route_iface) \(.reply_iface) \(.peer_lladdr)"' | xargs)"
expect_equal "it shares the gateway's hardware address: no flux" true "$(json .ok)"

# A gateway that is dead is named, and not the peer.
ip -n wire link set R.0 down
ip -n A neigh flush all
expect_hook 1 A --probe 192.0.2.1 --json
expect_contains "the gateway" "192.0.2.1 to every rail: the gateway 172.16.50.1 does not answer ARP" "$(messages)"
expect_contains "as its own cause" "error gateway-down" "$(codes)"
ip -n wire link set R.0 up

ip -n A route flush default
ip -n A route add default via 10.0.0.1 dev eth0
expect_hook 0 A --apply
expect_hook 1 A --probe 192.0.2.1 --json
expect_equal "without a gateway on a rail" "eth0" "$(json '[.pairs[].route_iface] | unique | .[]')"
expect_contains "found" "routed-other-nic" "$(json '[.pairs[0].problems[]] | join(" ")')"
