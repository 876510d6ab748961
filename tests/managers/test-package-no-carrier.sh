#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The first installation where a NIC that would become a rail has no carrier: its address may be somebody's way in, by another
# NIC. Nothing is programmed, now and at the next events, until somebody says so; and which NIC it is, is said.
. "$(dirname "$0")/lib.sh"
only ifupdown # the others take the address away

carrier ib1 off
wait_until 5 sees_no_carrier
said=$(host dpkg -i /root/ib-hook.deb 2>&1)
expect_contains "what the installation says" "nothing was changed: ib1 would become a rail, but has no carrier" "$said"
expect_contains "and how to go on" "ib-hook --apply" "$said"
expect_equal "rules and routes of ours" "" "$(our_state)"

event restart
expect_unrepaired "all NICs are held" rails_are "ib0:941:172.16.34.1"
expect_equal "rules and routes of ours" "" "$(our_state)"

carrier ib1 on
expect_unrepaired "still" rails_are "$RAILS"
host ib-hook --apply
expect_repaired "after --apply" "$RAILS"
