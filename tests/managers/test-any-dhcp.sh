#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Addresses from DHCP, and a lease that changes: ib1 is given another address when it asks again.
. "$(dirname "$0")/lib.sh"

serve_dhcp 172.16.34.101 172.16.34.102
event dhcp
wait_until 15 has_address ib0 172.16.34.101
wait_until 15 has_address ib1 172.16.34.102
expect_repaired "addresses from DHCP" "ib0:941:172.16.34.101 ib1:942:172.16.34.102" networkd-alone
expect_control

event serve_dhcp 172.16.34.101 172.16.34.122
wait_until 20 has_address ib1 172.16.34.122
expect_repaired "ib1 has another lease" "ib0:941:172.16.34.101 ib1:942:172.16.34.122" networkd-alone nm-1.42 'ifupdown*'
