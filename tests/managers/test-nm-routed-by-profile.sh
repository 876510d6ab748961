#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A profile with route-table: NetworkManager itself routes ib1, which needs no rules of ours then, and has them when the
# profile's are gone. Its packets go right in both cases, and ib0 loses none meanwhile.
. "$(dirname "$0")/lib.sh"

profile_routes() {
    host nmcli connection modify ib1 ipv4.route-table 200 ipv4.routing-rules "priority 200 from 172.16.34.2 table 200"
    host nmcli connection up ib1
}

profile_routes_no_more() {
    host nmcli connection modify ib1 ipv4.route-table 0 ipv4.routing-rules ""
    host nmcli connection up ib1
}

# in_traffic COMMAND "NIC:TABLE:ADDRESS…" NUMBER: then these have rules of ours, and so many of the profile's stand
in_traffic() {
    traffic_from_peer
    event "$1"
    settle "$2"
    traffic_stop
    serve_no_more
    rm "$work"/stream.?.2 "$work"/tcp.2 # ib1's address was away
    expect_no_loss "ib0 while $1"
    expect_equal "rules of the profile" "$3" "$(ip -n B rule show | grep -c "from 172.16.34.2 lookup 200" || true)"
    expect_peer_uses ib0 172.16.34.1
    expect_peer_uses ib1 172.16.34.2
    expect_check "$RAILS"
}

in_traffic profile_routes "ib0:941:172.16.34.1" 1
in_traffic profile_routes_no_more "$RAILS" 0
expect_quiet_journal
expect_control kept
