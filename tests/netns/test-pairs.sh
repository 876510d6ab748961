#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The heart of it: after --apply on both hosts, all ten pairs use their own NICs, whatever rp_filter the machine has
# for all interfaces; with arp=strict, the documents' values, too. Before it, they do not.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve A B
for arp in auto strict; do
    config=$(config "[defaults]
arp=$arp")
    for rp_filter in 0 1 2; do
        sysctl_set A all rp_filter $rp_filter
        sysctl_set B all rp_filter $rp_filter
        case $arp$rp_filter in # with 1 every lost pair costs seconds
            auto0 | auto2) expect_matrix_wrong "all.rp_filter=$rp_filter, before" ;;
        esac
        expect_hook 0 A --config "$config" --apply
        expect_hook 0 B --config "$config" --apply
        expect_rails A ib0:941:172.16.16.1 ib1:942:172.16.16.2
        expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
        case $arp$rp_filter in
            strict*) own="rp_filter=1 arp_filter=1 arp_announce=2 arp_ignore=2" ;;
            auto1) own="rp_filter=2 arp_filter=0 arp_announce=2 arp_ignore=1" ;;
            auto*) own="rp_filter=0 arp_filter=0 arp_announce=2 arp_ignore=1" ;;
        esac
        # shellcheck disable=SC2086 # several words
        for nic in ib0 ib1; do expect_sysctls B $nic accept_local=0 $own; done
        expect_sysctls B all arp_ignore=0 arp_announce=0 arp_filter=0 accept_local=0 rp_filter=$rp_filter
        expect_sysctls B default arp_ignore=0 arp_announce=0 arp_filter=0 accept_local=0 rp_filter=0
        expect_matrix_right "$arp, all.rp_filter=$rp_filter, after --apply"
        expect_hook 0 A --undo
        expect_hook 0 B --undo
    done
done

# Fewer keys than strict, more than nothing: arp=keep programs rules and routes only.
expect_hook 0 B --config "$(config '[defaults]
arp=keep')" --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_sysctls B ib0 rp_filter=0 arp_filter=0 arp_announce=0 arp_ignore=0
