#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The manager itself routes ib1: by a profile's route-table, by netplan's routing-policy. That NIC needs no rules of ours then,
# and has them when theirs are gone; its packets go right in both cases, and ib0 loses none meanwhile.
. "$(dirname "$0")/lib.sh"
only 'nm*' netplan

theirs_come() {
    case $SYSTEM in
        nm*)
            host nmcli connection modify "${PROFILE}ib1" ipv4.route-table 200 ipv4.routing-rules "priority 200 from 172.16.34.2 table 200"
            host nmcli connection up "${PROFILE}ib1"
            ;;
        *)
            ethernets "addresses: [172.16.34.1/16]" "addresses: [172.16.34.2/16]
      routes: [{to: 172.16.0.0/16, scope: link, table: 200}]
      routing-policy: [{from: 172.16.34.2, table: 200, priority: 200}]"
            host netplan generate
            host networkctl reload
            ;;
    esac
}

theirs_go() {
    case $SYSTEM in
        nm*)
            host nmcli connection modify "${PROFILE}ib1" ipv4.route-table 0 ipv4.routing-rules ""
            host nmcli connection up "${PROFILE}ib1"
            ;;
        *)
            ethernets "addresses: [172.16.34.1/16]" "addresses: [172.16.34.2/16]"
            host netplan generate
            host networkctl reload
            ;;
    esac
}

their_rule() { ip -n B rule show | grep -c "from 172.16.34.2 lookup 200"; }

# in_traffic COMMAND "NIC:TABLE:ADDRESS…" NUMBER: then these have rules of ours, and so many of theirs stand
in_traffic() {
    traffic_from_peer
    event "$1"
    settle "$2"
    traffic_stop
    serve_no_more
    rm "$work"/stream.?.2 "$work"/tcp.2
    # systemd-networkd deletes all rules when it configures a link, ib0's, too: until the answer, they are missing.
    [ "$SYSTEM" = netplan ] || expect_no_loss "ib0 while $1"
    expect_equal "rules of theirs" "$3" "$(their_rule || true)"
    expect_peer_uses ib0 172.16.34.1
    expect_peer_uses ib1 172.16.34.2
    expect_check "ib0:941:172.16.34.1 ib1:942:172.16.34.2"
}

in_traffic theirs_come "ib0:941:172.16.34.1" 1
in_traffic theirs_go "$RAILS" 0
expect_quiet_journal
expect_control "$([ "$SYSTEM" = netplan ] && echo gone || echo kept)"
