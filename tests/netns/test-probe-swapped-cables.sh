#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two wires, one for each rail. When the cables of a host are swapped, its rails reach each other's peers: the table
# shows it, and a finding says that the rails are on separate wires. If the second wire is another network, whose hosts have the
# same addresses, all peers answer, and other ones.
. "$(dirname "$0")/lib.sh"

make_hosts 2
ip -n wire link add br1 type bridge forward_delay 0 mcast_snooping 0
ip -n wire link set br1 up
for host in A B; do ip -n wire link set $host.1 master br1; done
expect_hook 0 A --apply
expect_hook 0 B --apply
forget A B

reached() {
    json '.pairs[] | select(.received > 0) | "\(.iface) \(.peer)"' | xargs
}

expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "each rail reaches its own peer" "ib0 172.16.34.1 ib1 172.16.34.2" "$(reached)"

ip -n wire link set A.0 master br1
ip -n wire link set A.1 master br0
forget A B
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "swapped: each rail reaches the other's peer" "ib1 172.16.34.1 ib0 172.16.34.2" "$(reached)"
expect_contains "said" "cables are swapped: ib0 reaches 172.16.34.2; ib1 reaches 172.16.34.1" \
    "$(json '.findings[] | select(.code == "separate-wires") | .message')"

# Both of B's rails are on the first wire again, and so is A's ib0. On the second one is another tenant's host.
for port in A.0 B.0 B.1; do ip -n wire link set $port master br0; done
ip -n wire link set A.1 master br1
new_host C
add_nic C ib0 3 172.16.34.1/16
ip -n C address add 172.16.34.2/16 dev ib0
ip -n wire link set C.3 master br1
wait_until 5 settled C
forget A B
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "another tenant's network: all echoes are answered" "3 3 3 3" "$(json '[.pairs[].received] | join(" ")')"
expect_equal "an address of two hosts, wherever each is heard" "duplicate-address duplicate-address" "$(json '[.findings[].code] | join(" ")')"
expect_contains "both are named, and where" "172.16.34.1: $(mac B 0) (ib0), $(mac C 3) (ib1) claim the address" "$(messages)"
expect_equal "no pair is right" "0" "$(json '[.pairs[] | select(.ok)] | length')"
