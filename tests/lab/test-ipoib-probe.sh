#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe on IPoIB: hardware addresses of 20 bytes, ARP questions of InfiniBand's form, and the flux that they show.
# shellcheck source-path=SCRIPTDIR source=ipoib/lib.sh
. "$(dirname "$0")/ipoib/lib.sh"

ipoib_start
set_addresses A B
hook 0 A --apply
hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "before --apply on the peer: pings pass" "3" "$(jq '[.pairs[].received] | unique | .[]' <<<"$out")"
expect_contains "and its flux is found" peer-flux "$(jq -r '.findings[].code' <<<"$out")"

hook 0 B --apply
on A 'ip neighbour flush all'
hook 0 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "after it each address has its own NIC's 20 bytes, on both rails" \
    "ib0 $(lladdr B ib0) ib1 $(lladdr B ib0) ib0 $(lladdr B ib1) ib1 $(lladdr B ib1)" \
    "$(jq -r '.pairs[] | "\(.iface) \(.peer_lladdr)"' <<<"$out" | xargs)"
hook 0 A --probe 172.16.34.1 172.16.34.2
expect_contains "a line for each pair" "ib0    172.16.34.1" "$out"

# The peer holds the right addresses, but another NIC of it answers ARP, too.
on B 'echo 0 >/proc/sys/net/ipv4/conf/ib0/arp_ignore'
hook 1 A --probe 172.16.34.2 --json
expect_contains "an answer of a second NIC is heard" "claim the address: one host mixes its NICs (ARP flux), or two hosts have it" "$(jq -r '.findings[].message' <<<"$out")"
