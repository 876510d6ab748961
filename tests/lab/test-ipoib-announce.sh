#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An announcement with a 20-byte hardware address corrects a peer that holds another NIC's for it, on all of the peer's
# NICs: for a primary address the kernel makes it, for secondary addresses and VIPs ib-hook's packet socket, for IPv6
# addresses an advertisement with the padding that 20 bytes need.
# --undo announces each address from the NIC that main uses.
# shellcheck source-path=SCRIPTDIR source=ipoib/lib.sh
. "$(dirname "$0")/ipoib/lib.sh"

primary=172.16.34.2 secondary=172.16.34.22 vip=172.16.99.9 six=fd16::34:2

ipoib_start
set_addresses A B
add_address B ib1 $secondary/16
add_address B ib1 $vip/32
add_address B ib0 fd16::34:1/64
add_address B ib1 $six/64

# Stale entries are not asked about until somebody uses them: what changes them is an announcement.
wrong=$(lladdr B ib0)
for address in $primary $secondary $vip $six; do
    for nic in $nics; do
        on A "ip neighbour replace $address lladdr $wrong dev $nic nud stale"
    done
done
expect_answers "A holds ib0 for ib1's addresses" A B $primary=ib0 $secondary=ib0 $vip=ib0 $six=ib0
hook 0 B --apply
expect_answers "A has learned ib1 for all of them" A B $primary=ib1 $secondary=ib1 $vip=ib1 $six=ib1
expect_equal "and asked nobody" "" "$(on A 'ip neighbour' | grep -v STALE || true)"

hook 0 B --undo
expect_answers "after --undo A has learned ib0, which main uses" A B $primary=ib0 $secondary=ib0 $vip=ib0 $six=ib1
expect_equal "and asked nobody" "" "$(on A 'ip neighbour' | grep -v STALE || true)"
