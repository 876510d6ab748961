#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One NIC is taken down and brought up again by its manager: its rules and routes go with its address, and come back.
. "$(dirname "$0")/lib.sh"

happens down ib1
if [ "$SYSTEM.$MODE" = networkd-alone.hooks ]; then
    expect_unrepaired "ib1 is down" rails_are ib0:941:172.16.34.1
else
    settle "ib0:941:172.16.34.1"
    ok "ib1 is down: no rule of it is left"
    expect_check "ib0:941:172.16.34.1"
    expect_equal "lines in the journal" 1 "$(own_journal | wc -l)"
fi
event up ib1
expect_repaired "ib1 is up" "$RAILS" networkd-alone
