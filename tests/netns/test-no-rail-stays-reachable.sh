#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the administrator has a strict rp_filter, a NIC that main does not use takes no ARP request: its address is reached
# only because the other NIC answers for it. So it stays when one of the two is not a rail: undone, unmanaged, or not asked for.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve B

# answered ADDRESS → which NICs of B answer A for it
answered() {
    arp_answers A ib0 172.16.16.1 B "$1"
}

reached() { # ADDRESS: how many of twenty come back, to both of A's addresses, to a peer that knows nothing
    forget A B
    local from sum=0
    for from in 1 2; do
        flow_on A --from 172.16.16.$from --to "$1" --expect-server any --expect-iface any --count 10 >$work/tally
        sum=$((sum + $(jq .received $work/tally)))
    done
    echo $sum
}

# expect_reached WHAT NO_RAIL RAIL: the NICs
expect_reached() {
    local address
    for address in 172.16.34.1 172.16.34.2; do
        expect_at_least "$1: $address: packets that come back" 20 "$(reached $address)"
    done
    expect_at_least "$1: somebody answers for what is not a rail" 1 "$(answered "172.16.34.$((${2#ib} + 1))" | wc -w)"
    expect_equal "$1: the rail answers for its own address, and nobody else" "$3" "$(answered "172.16.34.$((${3#ib} + 1))")"
}

# each_way WHAT: from the state as it is
each_way() {
    local before no rail
    before=$(state B)
    expect_at_least "$1: at first, 172.16.34.2 is reached" 20 "$(reached 172.16.34.2)"
    for no in ib1 ib0; do
        [ $no = ib1 ] && rail=ib0 || rail=ib1
        expect_hook 0 B --apply
        expect_hook 0 B --undo --iface $no
        expect_reached "$1: undone $no" $no $rail
        [ $no = ib0 ] || expect_sysctls B ib0 arp_filter=1 arp_ignore=0
        expect_hook 0 B --undo
        expect_equal "$1: undone $no: the state after the last --undo" "$before" "$(state B)"

        expect_hook 0 B --apply
        expect_hook 0 B --config "$(config "[interface $no]
manage=no")" --apply
        expect_reached "$1: unmanaged $no" $no $rail
        [ $no = ib0 ] || expect_sysctls B ib0 arp_filter=1 arp_ignore=0
        expect_hook 0 B --undo
        expect_equal "$1: unmanaged $no: the state after the last --undo" "$before" "$(state B)"

        expect_hook 0 B --apply --iface $rail
        expect_reached "$1: --apply --iface $rail" $no $rail
        [ $no = ib0 ] || expect_sysctls B ib0 arp_filter=1 arp_ignore=0
        expect_hook 0 B --check --iface $rail
        expect_hook 0 B --apply # and now all
        expect_sysctls B ib0 arp_filter=0 arp_ignore=1
        expect_sysctls B ib1 arp_filter=0 arp_ignore=1
        expect_hook 0 B --undo
        expect_equal "$1: --apply --iface $rail, --apply: the state after the last --undo" "$before" "$(state B)"
    done
}

sysctl_set B ib0 rp_filter 1
sysctl_set B ib1 rp_filter 1
each_way "each NIC strict"
sysctl_set B ib0 rp_filter 0
sysctl_set B ib1 rp_filter 0
sysctl_set B all rp_filter 1
each_way "all strict"
