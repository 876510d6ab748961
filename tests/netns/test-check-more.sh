#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What --check says of main's routes by another rail, neighbours that were written by hand, rules by ports and interfaces,
# and the MTUs of rails that reach each other by gateways.
. "$(dirname "$0")/lib.sh"

make_hosts 2
hook A --apply >/dev/null
hook B --apply >/dev/null
expect_hook 0 B --check

said() { # WHAT STATUS FINDINGS: of --check, information included
    expect_hook "$2" B --check --json
    expect_equal "$1" "$3" "$(json '[.findings[] | select(.code != "memlock-low") | "\(.ifaces | join("+")) \(.severity) \(.code)"] | sort | join(", ")')"
}
cure() { # what was said has a command
    on B sh -c "$(json '[.findings[].fix // empty] | unique | join("; ")')"
    said "$1: cured" 0 ""
}

ip -n B route add 172.16.16.1/32 dev ib0
said "main has a host by another rail" 1 "ib1 warning foreign-route"
expect_contains "which one" "172.16.34.2 to 172.16.16.1 leaves by ib0: route 172.16.16.1/32 dev ib0 table main" "$(json '.findings[].message')"
ip -n B route del 172.16.16.1/32 dev ib0

by_hand() { for ip in 172.16.16.1 172.16.16.2; do ip -n B neigh replace $ip lladdr "$(mac A 0)" dev ib1 nud permanent; done; }
by_hand
said "neighbours by hand" 0 "ib1 info neighbour-static"
expect_contains "how many" "2 of its neighbours have permanent entries, 172.16.16." "$(json '.findings[].message')"
ip -n B link set ib1 arp off # the kernel forgets them
by_hand
said "and without ARP, which none of them needs" 0 "ib1 info neighbour-static"
ip -n B link set ib1 arp on
ip -n B neigh flush dev ib1 nud permanent

# Rules that no packet of RDMA meets are a note, whatever their table says: Kubernetes, VPNs and balancers live by them.
ip -n B route add default dev ib0 table 700
for selection in "ipproto 6 sport 100-200" "ipproto 17 sport 4791" "fwmark 0x80/0x80" "tos 0x10" "uidrange 1000-2000"; do
    # shellcheck disable=SC2086
    ip -n B rule add $selection lookup 700 priority 100
    said "a rule: $selection" 0 "ib0+ib1 info foreign-rule"
    ip -n B rule del priority 100
done
ip -n B rule add iif eth7 lookup 700 priority 100
said "a rule for what comes in by a NIC" 0 ""
ip -n B rule del priority 100
ip -n B rule add from 172.16.34.2 iif lo lookup 700 priority 100
said "for what this host sends" 1 "ib1 error foreign-rule"
expect_equal "its owner" "rule 100: from 172.16.34.2/32 iif lo lookup 700" "$(json '.findings[] | select(.code == "foreign-rule") | .owner')"
ip -n B rule del priority 100
ip -n B rule add from 172.16.34.2 lookup 700 priority 100
said "by hand" 1 "ib1 error foreign-rule"
cure "by hand"

# Three rails with subnets and gateways of their own, which reach each other: one differs.
new_host C
for n in 0 1 2; do
    add_nic C roce$n $n 10.131.$n.2/31
    ip -n C route add default via 10.131.$n.3 dev roce$n metric $((100 + n))
done
rdma C roce0 roce1 roce2
mkdir -p /etc/ib-hook
printf '[interface roce*]\nmanage=yes\nremote=10.131.0.0/16\n' >/etc/ib-hook/ib-hook.conf
wait_until 5 settled C
hook C --apply >/dev/null
expect_hook 0 C --check
# A second address with a foreign rule of its own: what remote= has is asked from it, too.
ip -n C addr add 10.140.0.2/24 dev roce0
ip -n C route add default via 10.131.1.3 dev roce1 table 700
hook C --apply >/dev/null
ip -n C rule add from 10.140.0.2 to 10.131.7.0/24 lookup 700 priority 100
expect_hook 1 C --check --json
expect_equal "a rule of the second address" "roce0 foreign-rule" \
    "$(json '[.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.code)"] | join(", ")')"
ip -n C rule del priority 100
ip -n C addr del 10.140.0.2/24 dev roce0
hook C --apply >/dev/null
expect_hook 0 C --check
ip -n C link set roce1 mtu 1400
expect_hook 1 C --check --json
expect_equal "another MTU beyond the gateways" "roce1 warning mode-mtu" "$(findings)"
on C sh -c "$(json '.findings[].fix // empty')"
expect_hook 0 C --check
ip -n C link set roce1 mtu 1400
ip -n C link set roce2 mtu 1300
expect_hook 1 C --check --json
expect_equal "without a majority all are named" "roce0 mode-mtu, roce1 mode-mtu, roce2 mode-mtu" \
    "$(json '[.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.code)"] | sort | join(", ")')"
