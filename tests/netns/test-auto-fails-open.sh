#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Why arp=auto is the default: where something is not in place yet (a VIP's rule, all the rules, the peers' entries), and
# for an address of the subnet on lo, on a bridge or in a local prefix (AnyIP), traffic passes. With the documents' values
# (arp=strict) it does not.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve B
journal_start
rails_by_hand A 2

received() { # FROM TO [MAC-HELD-BY-A]
    forget A B
    [ $# -lt 3 ] || for nic in ib0 ib1; do ip -n A neigh replace "$2" lladdr "$3" dev $nic nud reachable; done
    flow_on A --from "$1" --to "$2" --expect-server any --expect-iface any --count 5 --rate 1000 | jq .received
}

answered() { # ADDRESS → which NICs of B answer A for it
    arp_answers A ib0 172.16.16.1 B "$1"
}

event() {
    manager_calls B "$HOOKS/nm-dispatcher" ib0 up
}

expect_without_a_rule() { # WHAT COUNT ADDRESS: how many packets come back while ib1's rule is missing
    ip -n B rule del priority 1941 from 172.16.34.2
    expect_equal "$1: the second NIC's rule is missing: $3" "$2" "$(received 172.16.16.1 "$3")"
    event
}

# elsewhere PLACE: an address of the subnet that is on no NIC, for which rails have to answer
elsewhere() {
    local before i address of
    case $1 in
        lo) of=(address 172.16.34.250/32 dev lo) ;;
        bridge) of=(address 172.16.34.250/32 dev bridge0) ;;
        prefix) of=(route local 172.16.34.248/29 dev lo) ;;
    esac
    before=$(state B)
    ip -n B "${of[0]}" add "${of[@]:1}"
    event
    expect_equal "$arp, $1: an address of the subnet there" "$passes" "$(received 172.16.16.1 172.16.34.250)"
    expect_equal "$arp, $1: main's NIC alone answers for it" "$([ $arp = strict ] || echo ib0)" "$(answered 172.16.34.250)"
    [ $arp = strict ] || expect_hook 0 B --check
    for i in 0 1; do
        expect_equal "$arp, $1: ib$i alone answers for its own" ib$i "$(answered 172.16.34.$((i + 1)))"
        [ $arp = strict ] || expect_sysctls B ib$i arp_ignore=0 arp_filter=1
    done
    for address in 172.16.34.2 172.16.34.250; do
        expect_without_a_rule "$arp, $1" "$passes" $address
    done
    sysctl_set B all arp_ignore 1 # as real servers of a load balancer have it
    event
    expect_equal "$arp, $1: all NICs are silent: nobody answers for that address" "" "$(answered 172.16.34.250)"
    expect_without_a_rule "$arp, $1: all NICs are silent" "$passes" 172.16.34.2
    sysctl_set B all arp_ignore 0
    ip -n B "${of[0]}" del "${of[@]:1}"
    event
    expect_equal "$arp, $1: the address is gone: as before" "$before" "$(state B)"
}

ip -n B link add bridge0 type bridge
ip -n B link set bridge0 up
for arp in auto strict; do
    [ $arp = auto ] && passes=5 || passes=0
    hook B --undo >/dev/null
    system_config "[defaults]
arp=$arp"
    expect_hook 0 B --apply
    expect_equal "$arp: to a rail" 5 "$(received 172.16.16.1 172.16.34.2)"
    expect_equal "$arp: the peer holds the wrong NIC's address" "$passes" "$(received 172.16.16.1 172.16.34.2 "$(mac B 0)")"
    ip -n B address add 172.16.99.9/32 dev ib1
    expect_equal "$arp: a VIP on the second NIC that has no rule yet" "$passes" "$(received 172.16.16.1 172.16.99.9)"
    ip -n B address del 172.16.99.9/32 dev ib1
    expect_without_a_rule $arp "$passes" 172.16.34.2

    for place in lo bridge prefix; do elsewhere $place; done
done
