#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe of IPv6, alone and together with IPv4.
. "$(dirname "$0")/lib.sh"
needs nft
[ -d /proc/sys/net/ipv6 ] || skip "no IPv6 here"

make_hosts 2
for host in A B; do
    for i in 0 1; do
        ip -n $host address add "fd00:16::$(host_id $host):$((i + 1))/64" dev ib$i nodad
    done
    wait_until 5 settled $host
    expect_hook 0 $host --apply
done
expect_hook 0 A --probe fd00:16::34:1 fd00:16::34:2 172.16.34.2 --json
expect_equal "every pair of both families" "ib0 fd00:16::16:1 fd00:16::34:1 3 ib0 ib0 $(mac B 0)
ib1 fd00:16::16:2 fd00:16::34:1 3 ib1 ib1 $(mac B 0)
ib0 fd00:16::16:1 fd00:16::34:2 3 ib0 ib0 $(mac B 1)
ib1 fd00:16::16:2 fd00:16::34:2 3 ib1 ib1 $(mac B 1)
ib0 172.16.16.1 172.16.34.2 3 ib0 ib0 $(mac B 1)
ib1 172.16.16.2 172.16.34.2 3 ib1 ib1 $(mac B 1)" \
    "$(json '.pairs[] | "\(.iface) \(.source) \(.peer) \(.received) \(.route_iface) \(.reply_iface) \(.peer_lladdr)"')"
expect_equal "all right" "true" "$(json .ok)"
expect_hook 0 A --probe fd00:16::34:1 fd00:16::34:2
expect_contains "a line for the peers of a rail" "fd00:16::34:1-:2  6/6" "$out"

# A peer without any IPv6 rule answers echoes by the NIC they came in on. Its RST leaves through its first route.
expect_hook 0 A --probe fd00:16::34:1 fd00:16::34:2 --json
expect_equal "a SYN is answered by the NIC that has the address" "$(mac B 0) $(mac B 0) $(mac B 1) $(mac B 1)" \
    "$(json '[.pairs[].tcp_lladdr] | join(" ")')"
expect_hook 0 B --undo
forget A B
expect_hook 1 A --probe fd00:16::34:1 fd00:16::34:2 --json
expect_equal "all replies came, by the right NICs of ours" "3 ib0 3 ib1 3 ib0 3 ib1" "$(json '[.pairs[] | .received, .reply_iface] | join(" ")')"
expect_equal "echoes come from the NIC that has the address" "true" "$(json '[.pairs[] | .peer_lladdr == .reply_lladdr] | all')"
expect_equal "the answers to SYNs do not" 1 "$(json '[.pairs[].tcp_lladdr] | unique | length')"
wrong=fd00:16::34:2
[ "$(json .pairs[0].tcp_lladdr)" = "$(mac B 0)" ] || wrong=fd00:16::34:1
expect_equal "the address of the other one is named" "$wrong" "$(json '[.pairs[] | select(.ok | not).peer] | unique | join(" ")')"
expect_equal "and what is wrong" "peer-replies-other-nic warning" \
    "$(json '[.findings[] | "\(.code) \(.severity)"] | unique | join(" ")')"

# Whoever drops the SYN is not accused, nor called right: it is not known.
on B nft 'add table ip6 t; add chain ip6 t c { type filter hook input priority 0; }; add rule ip6 t c ip6 nexthdr tcp drop'
expect_hook 0 A --probe fd00:16::34:1 fd00:16::34:2 --json
expect_equal "no answer" "null" "$(json '[.pairs[].tcp_lladdr | tostring] | unique | join(" ")')"
expect_hook 0 A --probe fd00:16::34:1 fd00:16::34:2
expect_contains "is said" "the NIC of its replies is not known: no answer to a TCP SYN" "$out"
on B nft flush ruleset
expect_hook 0 B --apply
forget A B

# This host's own routing is told without a packet.
expect_hook 0 A --undo
forget A B
capture_echoes A 12 expect_hook 1 A --probe fd00:16::34:1 fd00:16::34:2 --json
expect_equal "sent by the rail that was named" "ib0 fd00:16::16:1 ib1 fd00:16::16:2" "$(cut -d ' ' -f 2-3 $work/echoes | sort -u | xargs)"
expect_equal "this host's routing is wrong for one rail" "routed-other-nic" "$(json '[.pairs[].problems[]] | unique | join(" ")')"
expect_equal "by which NIC it would leave" 1 "$(json '[.pairs[].route_iface] | unique | length')"
