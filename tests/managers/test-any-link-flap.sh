#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A link goes down and up again, by somebody's hand or a driver's: the kernel flushes all of its routes.
. "$(dirname "$0")/lib.sh"

flap() {
    ip -n B link set ib1 down
    lost=$(our_routes B)
    ip -n B link set ib1 up
}

event flap
expect_equal "what the kernel left of the tables" "$(route_line 172.16.0.0/16 ib0 941 172.16.34.1)" "$lost"
expect_repaired "the link is up again" "$RAILS" networkd-alone 'nm-*' 'ifupdown*'
expect_control kept
