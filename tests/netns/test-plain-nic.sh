#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A NIC without RDMA on the same wire answers ARP for the rails' addresses too. It is not ours to change: it stays as it
# is, and arp_ignore=1 on it cures it.
. "$(dirname "$0")/lib.sh"

make_hosts 2
add_nic B eth9 9 172.16.34.9/16
wait_until 5 settled B
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_sysctls B eth9 arp_ignore=0 arp_announce=0
expect_equal "it answers beside the rail" "eth9 ib1" "$(arp_answers A ib0 172.16.16.1 B 172.16.34.2)"
sysctl_set B eth9 arp_ignore 1
expect_equal "with arp_ignore=1 it does not" ib1 "$(arp_answers A ib0 172.16.16.1 B 172.16.34.2)"
expect_hook 0 B --check
