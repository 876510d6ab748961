#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --apply advertises every IPv6 address of a rail: a peer with wrong entries corrects them within a second. A router stays
# one in the eyes of its peers.
. "$(dirname "$0")/lib.sh"

make_hosts 2
announced="fd00:16::34:2 fd00:16::34:12 fd00:99::9"
ip -n B address add fd00:16::34:1/64 dev ib0
ip -n B address add fd00:16::34:2/64 dev ib1
ip -n B address add fd00:16::34:12/64 dev ib1 preferred_lft 0
ip -n B address add fd00:99::9/128 dev ib1
wait_until 5 settled B

wrong_entries() {
    local address nic
    for address in $announced; do
        for nic in ib0 ib1; do ip -n A neigh replace "$address" lladdr "$(mac B 0)" dev $nic nud reachable; done
    done
}

all_right() {
    local address
    for address in $announced; do
        [ "$(learned_mac A "$address" | sort -u)" = "$(mac B 1)" ] || return 1
    done
}

wrong_entries
expect_hook 0 B --apply
expect_equal "no complaint" "" "$err"
wait_until 1 all_right
ok "the peer corrected its entries for $announced"
expect_lacks "a host is no router" router "$(ip -n A neigh show to fd00:16::34:2)"

wrong_entries
expect_hook 0 B --apply
expect_equal "a second --apply changes nothing and advertises nothing" "$(mac B 0)" \
    "$(learned_mac A fd00:16::34:2 | sort -u)"

expect_hook 0 B --undo
on B sh -c 'echo 1 > /proc/sys/net/ipv6/conf/ib1/forwarding'
expect_hook 0 B --apply
wait_until 1 all_right
expect_contains "a router says that it is one" router "$(ip -n A neigh show to fd00:16::34:2)"

