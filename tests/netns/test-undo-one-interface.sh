#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --iface: only that NIC is programmed or undone.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
before=$(state B)
expect_hook 0 B --apply --iface ib1
expect_rails B ib1:942:172.16.34.2
expect_sysctls B ib0 arp_ignore=0 arp_announce=0
expect_sysctls B ib1 arp_ignore=1 arp_announce=2
expect_hook 0 B --apply --iface ib0
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --undo --iface ib1
expect_rails B ib0:941:172.16.34.1
expect_sysctls B ib0 arp_ignore=1 arp_announce=2
expect_sysctls B ib1 arp_ignore=0 arp_announce=0
expect_hook 0 B --undo --iface ib0
expect_equal "the state after both" "$before" "$(state B)"
expect_hook 0 B --apply --iface ib0 --iface ib1
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
