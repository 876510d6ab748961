#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A peer without rules: both of its addresses answer with one hardware address, and pings pass all the same. --probe
# names it, and whose side it is on; after --apply there, all is well.
. "$(dirname "$0")/lib.sh"

make_hosts 2
expect_hook 0 A --apply
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "pings pass" "3 3 3 3" "$(json '[.pairs[].received] | join(" ")')"
expect_equal "no pair is ok" "false" "$(json '[.pairs[].ok] | unique | join(" ")')"
expect_equal "both addresses have one hardware address" 1 "$(json '[.pairs[].peer_lladdr] | unique | length')"
expect_equal "found, once" "warning peer-flux " "$(codes)"
expect_contains "of both addresses" "172.16.34.1-.2: not one NIC answers for each address: that host mixes its rails" "$(messages)"
expect_equal "this host's side is right" "ib0 ib1 ib0 ib1" "$(json '[.pairs[].reply_iface] | join(" ")')"
expect_hook 1 A --probe 172.16.34.1 172.16.34.2
expect_contains "it is named" "that host mixes its rails (ARP flux)" "$out"
expect_contains "and what to do there" "on the peer (172.16.34.1): install ib-hook there, or ib-hook --apply" "$out"

# One address of the peer is enough: the reply comes from another NIC of it than the request went to.
rails_by_hand B 2
for i in 0 1; do ip -n B rule del from 172.16.34.$((i + 1)) lookup $((941 + i)); done
forget A B
expect_hook 1 A --probe 172.16.34.2 --json
expect_equal "ARP is right, the peer's routing is not" "$(mac B 1) $(mac B 0)" \
    "$(json '[.pairs[] | "\(.peer_lladdr) \(.reply_lladdr)"] | unique | join(" ")')"
expect_equal "found" "peer-replies-other-nic" "$(json '[.pairs[].problems[]] | unique | join(" ")')"

# Rules, but ARP as the kernel has it: whoever answers first wins. Here the right one did, but the other one answers, too.
for i in 0 1; do ip -n B rule add from 172.16.34.$((i + 1)) lookup $((941 + i)) priority 1941; done
for nic in ib0 ib1; do
    sysctl_set B $nic arp_ignore 0
    for i in 1 2; do ip -n A neigh replace 172.16.34.$i lladdr "$(mac B $((i - 1)))" dev $nic nud reachable; done
done
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "nothing is wrong yet, but with ARP" "peer-flux" "$(json '[.pairs[].problems[]] | unique | join(" ")')"
expect_contains "which is said" "172.16.34.1-.2: not one NIC" "$(messages)"

expect_hook 0 B --apply
forget A B
expect_hook 0 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "after --apply on the peer" "true" "$(json .ok)"
