#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hosts that need nothing are left exactly as they were found: one NIC, NICs in different subnets, a NIC that is a port
# of a bridge, NICs without RDMA, link-local addresses.
. "$(dirname "$0")/lib.sh"

make_wire

# left_alone WHAT: the host B stays as it is, whatever is asked
left_alone() {
    local before
    wait_until 5 settled B
    before=$(state B)
    expect_hook 0 B --apply --json
    expect_equal "$1: --apply changes nothing" "false 0" "$(json '"\(.changed) \(.operations | length)"')"
    expect_hook 0 B --plan
    expect_hook 0 B --check
    expect_hook 0 B --show
    expect_hook 0 B --undo
    expect_equal "$1: the state" "$before" "$(state B)"
    ip netns delete B
    wait_until 5 unplugged
}

unplugged() {
    [ -z "$(ip -n wire -o link show type veth)" ]
}

new_host B
add_nic B ib0 0 172.16.34.1/16
rdma B ib0
expect_hook 1 B --check --iface ib0 --json
expect_equal "asked by name, --check says why" "ib0 warning" \
    "$(json '.findings[] | select(.code == "not-engaged") | "\(.ifaces | join("+")) \(.severity)"')"
left_alone "one NIC"

new_host B
add_nic B ib0 0 172.16.34.1/16
add_nic B ib1 1 172.17.34.1/16
rdma B ib0 ib1
left_alone "two subnets"

new_host B
add_nic B ib0 0 172.16.34.1/16
add_nic B ib1 1
rdma B ib0 ib1
ip -n B link set ib1 up
left_alone "a second NIC without an address"

new_host B
add_nic B ib0 0 172.16.34.1/16
add_nic B ib1 1 172.16.34.2/16
ip -n B link add br1 type bridge forward_delay 0
ip -n B link set br1 up
ip -n B link set ib1 master br1
rdma B ib0 ib1
expect_hook 0 B --show
expect_contains "--show names the bridged NIC" ib1 "$out"
left_alone "a second NIC that is a port of a bridge"

new_host B
add_nic B ib0 0 10.1.0.1/24
add_nic B ib1 1 10.2.0.1/24
for n in 0 1; do ip -n B address add 169.254.7.$((n + 1))/16 dev ib$n scope link; done
rdma B ib0 ib1
left_alone "link-local addresses beside others"

new_host B
add_nic B eth0 0 172.16.34.1/16
add_nic B eth1 1 172.16.34.2/16
rdma B
mkdir -p /run/sys/B
left_alone "NICs without RDMA"

new_host B
add_nic B ib0 0 172.16.34.1/16
add_nic B eth1 1 172.16.34.2/16
rdma B ib0 ib1 # a name that the list still has, and the host has not
left_alone "one NIC with RDMA beside one without"
