#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A profile with route-table: NetworkManager itself routes that NIC, and it needs no rules of ours.
. "$(dirname "$0")/lib.sh"

give_it_a_table() {
    host nmcli connection modify ib1 ipv4.route-table 200 ipv4.routing-rules "priority 200 from 172.16.34.2 table 200"
    host nmcli connection up ib1
}

[ "$MODE" = hooks ] || host systemctl restart ib-hook-watch

event give_it_a_table
settle "ib0:941:172.16.34.1"
ok "only ib0 has rules of ours"
expect_contains "the rule of the profile" "from 172.16.34.2 lookup 200" "$(ip -n B rule show)"
expect_control kept
