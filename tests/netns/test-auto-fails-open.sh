#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Why arp=auto is the default: where something is not in place yet (a VIP's rule, all the rules, the peers' entries),
# traffic passes. With the documents' values (arp=strict) it does not.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve B
rails_by_hand A 2

received() { # FROM TO [MAC-HELD-BY-A]
    forget A B
    [ $# -lt 3 ] || for nic in ib0 ib1; do ip -n A neigh replace "$2" lladdr "$3" dev $nic nud reachable; done
    flow_on A --from "$1" --to "$2" --expect-server any --expect-iface any --count 5 --rate 1000 | jq .received
}

for arp in auto strict; do
    [ $arp = auto ] && passes=5 || passes=0
    hook B --undo >/dev/null
    file=$(config "[defaults]
arp=$arp")
    expect_hook 0 B --config "$file" --apply
    expect_equal "$arp: to a rail" 5 "$(received 172.16.16.1 172.16.34.2)"
    expect_equal "$arp: the peer holds the wrong NIC's address" "$passes" "$(received 172.16.16.1 172.16.34.2 "$(mac B 0)")"
    ip -n B address add 172.16.99.9/32 dev ib1
    expect_equal "$arp: a VIP on the second NIC that has no rule yet" "$passes" "$(received 172.16.16.1 172.16.99.9)"
    ip -n B address del 172.16.99.9/32 dev ib1
    ip -n B rule del priority 1941 from 172.16.34.2
    expect_equal "$arp: the second NIC's rule is missing" "$passes" "$(received 172.16.16.1 172.16.34.2)"
done
