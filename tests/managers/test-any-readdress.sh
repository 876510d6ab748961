#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A static address is changed in the manager's own way: the rule and the table follow, nothing of the old one stays.
. "$(dirname "$0")/lib.sh"

event readdress ib1 172.16.34.22/16
expect_repaired "ib1 has another address" "ib0:941:172.16.34.1 ib1:942:172.16.34.22" networkd-alone
expect_control
