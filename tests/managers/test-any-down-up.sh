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
    if [[ $SYSTEM = nm* ]]; then # it leaves the link up: only an address is missed then, and that may be a fault
        says "ib1 no-address" || fail "what --check finds" "$(<$work/check.json)"
        ok "--check warns of ib1"
        expect_equal "what is right" "ib0:941:172.16.34.1" "$(checked_rails $work/check.json)"
    else
        expect_check "ib0:941:172.16.34.1"
    fi
    expect_equal "lines in the journal" 1 "$(own_journal | wc -l)"
fi
event up ib1
expect_repaired "ib1 is up" "$RAILS" networkd-alone
