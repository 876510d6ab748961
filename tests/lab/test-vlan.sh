#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# VLANs on RoCE NICs: those on two NICs in one subnet are rails, whatever their parents are; one VLAN is none, and a VLAN is
# no reason for its own parent to be one.
. "$(dirname "$0")/lib.sh"

make_host_and_peer 2
# shellcheck disable=SC2016 # for the shell in the guest
vm B 'for i in 0 1; do
        ip link set ib$i up && rdma link add rxe$i type rxe netdev ib$i &&
        ip link add link ib$i name ib$i.7 type vlan id 7 && ip link set ib$i.7 up || exit 1
    done
    ip address add 172.16.34.1/16 dev ib0
    ip address add 172.16.34.2/16 dev ib0.7
    ip -n peer link add link peer0 name peer0.7 type vlan id 7 && ip -n peer link set peer0.7 up'
expect_hook 0 B --apply
expect_contains "a VLAN in its parent's subnet makes neither of them a rail" "applied: 0 changes" "$out"
vm B 'ip address del 172.16.34.2/16 dev ib0.7
    ip address add 172.17.34.1/16 dev ib0.7
    ip address add 172.17.34.2/16 dev ib1.7
    ip -n peer address add 172.17.16.1/16 dev peer0.7'
expect_hook 0 B --apply
expect_rails B ib0.7 ib1.7
expect_equal "the VLANs come after the NICs" "ib0.7 943 rxe0/1 ib1.7 944 rxe1/1" \
    "$(json '.rails[] | "\(.iface) \(.table) \(.rdma)"' | xargs)"
by_which 172.17.34.1
expect_equal "pings to the first VLAN" "ib0.7,ib0" "$way"
by_which 172.17.34.2
expect_equal "pings to the second VLAN" "ib1.7,ib1" "$way"
expect_hook 0 B --show --verbose
expect_contains "--show says why" "ib1.7: engaged: shares 172.17.0.0/16 with ib0.7" "$out"
vm B 'ip link del ib1.7'
expect_hook 0 B --apply
expect_hook 0 B --check --json
expect_equal "what is left; a VLAN that is gone is not missed" "ib0.7 true" "$(json '(.rails[] | "\(.iface) \(.ok)"), (.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.code)")')"
