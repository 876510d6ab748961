#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# RoCE over bonds: the rails are the bonds, their ports are never candidates.
. "$(dirname "$0")/lib.sh"

make_host_and_peer 4
# shellcheck disable=SC2016 # for the shell in the guest
vm B 'modprobe bonding max_bonds=0
    for i in 0 1; do
        ip link add bond$i type bond mode active-backup miimon 10 || exit 1
        for port in ib$((2 * i)) ib$((2 * i + 1)); do ip link set $port down && ip link set $port master bond$i || exit 1; done
        ip link set bond$i up && rdma link add rxe$i type rxe netdev bond$i || exit 1
        ip address add 172.16.34.$((i + 1))/16 dev bond$i
    done
    until grep -q up /sys/class/net/bond0/operstate && grep -q up /sys/class/net/bond1/operstate; do :; done'
expect_hook 1 B --check
expect_hook 0 B --apply
expect_rails B bond0 bond1
expect_equal "their RDMA devices and tables" "bond0 941 rxe0/1 bond1 942 rxe1/1" \
    "$(json '.rails[] | "\(.iface) \(.table) \(.rdma)"' | xargs)"
expect_hook 0 B --show --verbose
for port in ib0 ib1; do expect_contains "--show says what $port is" "$port: not engaged: a port of bond0" "$out"; done
for i in 0 1; do
    by_which 172.16.34.$((i + 1))
    expect_equal "pings to bond$i" "bond$i,ib$((2 * i))" "$way"
done
before=$(vm B 'ip -d rule; ip route show table all')
vm B 'ip link set ib0 down; until grep -q ib1 /sys/class/net/bond0/bonding/active_slave; do :; done'
expect_hook 0 B --apply
expect_equal "after a failover nothing has changed" "$before" "$(vm B 'ip -d rule; ip route show table all')"
by_which 172.16.34.1
expect_equal "and pings to bond0 use its other port" "bond0,ib1" "$way"
expect_hook 0 B --undo
