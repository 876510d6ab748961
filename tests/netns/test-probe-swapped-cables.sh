#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two wires, one for each rail. When the cables of a host are swapped, its rails reach each other's peers: the table
# shows it, and a finding says that the rails are on separate wires.
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
