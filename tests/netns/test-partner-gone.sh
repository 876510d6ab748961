#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# When it ends that a NIC is a rail: not when its partner flaps, is gone or has not got its lease yet, but when all the others
# are there, with addresses that share nothing. Then it is left as it was found.
. "$(dirname "$0")/lib.sh"

RP_FILTER=1 make_hosts 2 B
add_nic B ib2 2
rdma B ib0 ib1 ib2
journal_start
an_event() { manager_calls B "$HOOKS/nm-dispatcher" ib0 up; }
of_ib0() { # rules, routes and ARP values of its own
    { ip -n B -d rule | marked suppress_ifgroup | grep -w 172.16.34.1; our_routes B | grep -w ib0; } || true
    on B sh -c "cd $CONF/ib0 && grep . rp_filter arp_ignore arp_announce arp_filter"
}

found=$(of_ib0)
an_event
rail=$(of_ib0)
expect_differs "it is a rail" "$found" "$rail"

# What is advertised is served at its event, also if a rail has no other IPv6 address.
ip -n B address add 2001:db8::1/64 dev ib0 valid_lft 3600 preferred_lft 3600 nodad
an_event
expect_contains "an advertised address is served" "from 2001:db8::1 " "$(ip -n B -6 rule)"
ip -n B address del 2001:db8::1/64 dev ib0
expect_hook 0 B --apply

stays() { # WHILE: after an event and an --apply
    an_event
    expect_hook 0 B --apply
    expect_equal "it stays a rail: $1" "$rail" "$(of_ib0)"
}
ends() { # WHEN: at that event
    an_event
    expect_equal "it is as it was found: $1" "$found" "$(of_ib0)"
    ip -n B address flush dev ib1 scope global
    ip -n B address flush dev ib2 scope global
    ip -n B address add 172.16.34.2/16 dev ib1
    an_event
    expect_equal "it is a rail again: after $1" "$rail" "$(of_ib0)"
}

ip -n B link set ib1 down
stays "its partner is down"
ip -n B link set ib1 up
ip -n B address flush dev ib1 scope global
stays "its partner has no address"
ip -n B link set ib2 up
ip -n B address add 10.7.0.3/24 dev ib2
stays "its partner has no address, another one has"
ip -n B address add fd00:1::2/64 dev ib1 valid_lft 3600 preferred_lft 3600 nodad
stays "its partner has only what is advertised"
ip -n B address flush dev ib2 scope global
ip -n B address add 10.9.0.2/24 dev ib1
stays "its partner has another network, the third NIC no address"
ip -n B address add 10.7.0.3/24 dev ib2
ends "all others have networks of their own"
# A lease may be over while a configured address of the other family stays, or an RDMA device restart.
ip -n B address add fd00:9::2/64 dev ib1 nodad
ip -n B address add 10.7.0.3/24 dev ib2
an_event
ip -n B address del 172.16.34.2/16 dev ib1
stays "its partner has lost IPv4"
ip -n B address add 172.16.34.2/16 dev ib1
an_event
mv /run/sys/B/class/infiniband/mlx5_1 $work/
an_event
expect_contains "it stays a rail: its partner has lost its RDMA device" "lookup 941" "$(of_ib0)"
mv $work/mlx5_1 /run/sys/B/class/infiniband/
an_event
ip -n B address del 172.16.34.2/16 dev ib1
an_event
expect_hook 0 B --apply --iface ib1
ends "all others have networks of their own, one in IPv6"

# The lease may be over while another address stays, or the manager may choose one in 169.254/16 by itself.
ip -n B address add 10.7.0.3/24 dev ib2
for other in 10.55.1.1/24 172.16.34.100/32; do
    ip -n B address add $other dev ib1
    an_event
    ip -n B address del 172.16.34.2/16 dev ib1
    stays "its partner has only $other left"
    ip -n B address add 172.16.34.2/16 dev ib1
    ip -n B address del $other dev ib1
    an_event
done
ip -n B address del 172.16.34.2/16 dev ib1
ip -n B address add 169.254.7.9/16 scope link dev ib1
stays "its partner fell back to 169.254/16"
ip -n B address del 169.254.7.9/16 dev ib1
# Renumbered on purpose: each NIC has a part of the subnet; or IPv4 moves, and a subnet of IPv6 stays.
ip -n B address flush dev ib0 scope global
ip -n B address add 172.16.35.10/24 dev ib1
ip -n B address add 172.16.34.10/24 dev ib0
an_event
expect_equal "it is as it was found: each has a part of the subnet" "$found" "$(of_ib0)"
ip -n B address flush dev ib1 scope global
ip -n B address flush dev ib0 scope global
for n in 0 1; do ip -n B address add 172.16.34.$((n + 1))/16 dev ib$n; done
ip -n B address add fd00:9::2/64 dev ib1 nodad
an_event
ip -n B address del 172.16.34.2/16 dev ib1
ip -n B address add 10.9.0.2/24 dev ib1
ends "its partner has another network in IPv4, and the former one in IPv6"

# A port of a bridge is no rail, and is not waited for.
ip -n B address flush dev ib1 scope global
ip -n B address add 172.16.34.2/16 dev ib1
ip -n B address flush dev ib2 scope global
ip -n B address add 10.7.0.3/24 dev ib2
an_event
ip -n B link add br0 type bridge
ip -n B address flush dev ib1 scope global
ip -n B link set ib1 master br0
expect_hook 0 B --apply
expect_equal "it is as it was found, in one run: its partner is a port of a bridge" "$found" "$(of_ib0)"
ip -n B link set ib1 nomaster
ip -n B link del br0
ip -n B address flush dev ib2 scope global
ip -n B address add 172.16.34.2/16 dev ib1
an_event

# The same where its own address is routed by others: ARP values of ours are what makes it stay.
ip -n B route add 172.16.0.0/16 dev ib0 table 100
ip -n B rule add priority 200 from 172.16.34.1 lookup 100
an_event
rail=$(of_ib0)
expect_equal "routed by others, it has ARP values of ours alone" "arp_announce:2" "$(grep -v -e arp_ignore -e rp_filter -e arp_filter <<<"$rail")"
ip -n B address flush dev ib1 scope global
stays "routed by others, its partner has no address"
ip -n B address add 10.9.0.2/24 dev ib1
ip -n B address add 10.7.0.3/24 dev ib2
ends "routed by others, all others have networks of their own"
