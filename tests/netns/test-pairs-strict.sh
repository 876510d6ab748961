#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# arp=strict, the documents' values: all ten pairs right, whatever rp_filter the machine has for all interfaces.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve A B
strict=$(config '[defaults]
arp=strict')
for rp_filter in 0 1 2; do
    sysctl_set A all rp_filter $rp_filter
    sysctl_set B all rp_filter $rp_filter
    [ $rp_filter = 1 ] || expect_matrix_wrong "all.rp_filter=$rp_filter, before" # with 1 every lost pair costs seconds
    expect_hook 0 A --config "$strict" --apply
    expect_hook 0 B --config "$strict" --apply
    expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    for nic in ib0 ib1; do
        expect_sysctls B $nic rp_filter=1 arp_filter=1 arp_announce=2 arp_ignore=2 accept_local=0
    done
    expect_sysctls B all arp_ignore=0 arp_announce=0 arp_filter=0 accept_local=0 rp_filter=$rp_filter
    expect_matrix_right "all.rp_filter=$rp_filter, after --apply"
    expect_hook 0 A --undo
    expect_hook 0 B --undo
done

# Fewer keys than strict, more than nothing: arp=keep programs rules and routes only.
expect_hook 0 B --config "$(config '[defaults]
arp=keep')" --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_sysctls B ib0 rp_filter=0 arp_filter=0 arp_announce=0 arp_ignore=0
