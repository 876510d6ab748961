#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# VRFs: NICs in one are left to its table; rails outside of it work beside it, wherever the local rule stands before theirs,
# and are not programmed where it comes later.
. "$(dirname "$0")/lib.sh"

make_host_and_peer 4
# shellcheck disable=SC2016 # for the shell in the guest
vm B 'ip link add blue type vrf table 100 && ip link set blue up || exit 1
    for i in 0 1 2 3; do
        [ $i -lt 2 ] || ip link set ib$i master blue
        ip link set ib$i up && rdma link add rxe$i type rxe netdev ib$i || exit 1
        ip address add 172.16.34.$((i + 1))/16 dev ib$i
    done'
answers() { # ADDRESS: the NICs that answer when the peer asks for it
    vm B "ip netns exec peer arping -c 2 -w 2 -I peer0 $1 || true" |
        sed -n 's/.*\[02:00:00:00:22:0\([0-9a-f]\)\].*/ib\1/p' | sort -u | xargs
}
pings_right() { # WHEN
    local i
    vm B 'ip -n peer neigh flush all nud all'
    for i in 0 1; do
        by_which 172.16.34.$((i + 1))
        expect_equal "pings to ib$i $1" "ib$i" "$way"
    done
}
blue() { vm B 'ip route show table 100; for i in 2 3; do grep . '/proc/sys/net/ipv4/conf/ib\$i/'*_filter; done'; }
before=$(blue)
expect_hook 0 B --apply
expect_equal "the VRF is as it was" "$before" "$(blue)"
expect_hook 0 B --show --verbose
expect_contains "--show says why ib2 is none" "ib2: not engaged: a port of blue" "$out"
expect_contains "from inside the VRF its own NICs answer" " 0% packet loss" "$(vm B 'ping -c 1 -W 2 -I blue 172.16.16.1')"

# The NICs in the VRF answer ARP for the rails, as long as the local table is asked before the VRF's.
expect_equal "the NICs that answer for ib0" "ib0 ib2 ib3" "$(answers 172.16.34.1)"
expect_hook 0 B --check --json
expect_equal "the rails are those outside of the VRF, and all is well with them" "ib0 true ib1 true" \
    "$(json '.rails[] | "\(.iface) \(.ok)"' | xargs)"
expect_equal "that the others answer is noted" "foreign-nic-answers ib2 foreign-nic-answers ib3" \
    "$(json '.findings[] | select(.ifaces != []) | "\(.code) \(.ifaces | join("+"))"' | xargs)"
expect_contains "and what silences them" "with arp_ignore=1, this NIC answers only for its own addresses" "$(json '.findings[] | select(.ifaces != []).advice')"
vm B 'sysctl -q -w net.ipv4.conf.ib2.arp_ignore=1 net.ipv4.conf.ib3.arp_ignore=1'
expect_hook 0 B --check
expect_equal "which is so" "ib0" "$(answers 172.16.34.1)"
pings_right "beside a VRF"

# What documents on VRFs advise: the local table after the VRFs', so that a VRF does not reach the host's own addresses.
# shellcheck disable=SC2016 # for the shell in the guest
vm B 'sysctl -q -w net.ipv4.conf.ib2.arp_ignore=0 net.ipv4.conf.ib3.arp_ignore=0
    for f in -4 -6; do ip $f rule add priority 1500 lookup local && ip $f rule del priority 0; done'
expect_hook 0 B --check
expect_equal "with the VRFs' rule first its NICs do not answer for ib0" "ib0" "$(answers 172.16.34.1)"
pings_right "with the local rule just before ours"
expect_hook 0 B --undo
vm B 'ip rule add priority 32765 lookup local && ip rule del priority 1500'
rules=$(vm B 'ip rule')
expect_hook 0 B --apply
expect_equal "with the local rule after ours nothing is programmed" "$rules" "$(vm B 'ip rule')"
expect_hook 1 B --check --json
expect_equal "and --check says so" "local-rule-late" "$(json '[.findings[] | select(.severity == "error") | .code] | unique | .[]')"
