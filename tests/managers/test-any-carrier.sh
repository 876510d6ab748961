#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A cable is pulled until the manager says so, and put back.
. "$(dirname "$0")/lib.sh"

pull_and_put_back() {
    carrier ib1 off
    wait_until 10 sees_no_carrier
    carrier ib1 on
}

event pull_and_put_back
expect_repaired "the cable is back" "$RAILS" networkd-alone
expect_control kept
