#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tables stick to their NIC: one that appears, goes, moves away or is renamed changes nothing for the others. A table= that
# changes is moved to without losing a packet.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve B
rails_by_hand A 2
rdma B ib ib0 ib1 # `ib` sorts first and is not there yet
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
forget A B

untouched() { # WHAT NIC ADDRESS…: their rules and routes, as they stand
    local what=$1 nic address
    shift
    while [ $# -gt 0 ]; do
        nic=$1 address=$2
        expect_equal "$what: rules of $nic" "${standing[$address]}" "$(ip -n B -d rule show from "$address")"
        expect_equal "$what: routes of $nic" "${standing[$nic]}" "$(ip -n B route show table all dev "$nic" | grep "$MARK")"
        shift 2
    done
}
declare -A standing
remember() { # NIC ADDRESS
    standing[$2]=$(ip -n B -d rule show from "$2")
    standing[$1]=$(ip -n B route show table all dev "$1" | grep "$MARK")
}
remember ib0 172.16.34.1
remember ib1 172.16.34.2

traffic_start
add_nic B ib 7 172.16.34.8/16
expect_hook 0 B --apply
expect_rails B ib:944:172.16.34.8 ib0:941:172.16.34.1 ib1:942:172.16.34.2
untouched "a NIC of lower rank appears" ib0 172.16.34.1 ib1 172.16.34.2
traffic_stop
expect_no_loss "a NIC of lower rank appears"
expect_settled_right "a NIC of lower rank appears"
expect_hook 0 B --check

traffic_start
remove_nic B ib
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
untouched "it goes again" ib0 172.16.34.1 ib1 172.16.34.2
traffic_stop
expect_no_loss "it goes again"
expect_settled_right "it goes again"

# Three rails, and the one in the middle moves to another namespace.
add_nic B ib2 2 172.16.34.3/16
rdma B ib0 ib1 ib2
wait_until 5 settled B
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2 ib2:943:172.16.34.3
remember ib2 172.16.34.3
ip netns add C
traffic_start
ip -n B link set ib1 netns C
untouched "before anything runs" ib0 172.16.34.1 ib2 172.16.34.3
expect_hook 0 B --check --json # a pod has it
expect_equal "ib2 is right" true "$(json '.rails[] | select(.iface == "ib2") | .ok')"
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib2:943:172.16.34.3
untouched "after --apply" ib0 172.16.34.1 ib2 172.16.34.3
traffic_stop
ip -n C link set ib1 netns B
ip -n B address add 172.16.34.2/16 dev ib1
ip -n B link set ib1 up
wait_until 5 settled B
expect_hook 0 B --apply
untouched "it is back" ib0 172.16.34.1 ib2 172.16.34.3
expect_hook 0 B --check --iface ib0 --iface ib1 --iface ib2
remove_nic B ib2

# A rename is no move.
ip -n B link set ib0 down
ip -n B link set ib0 name ib9
ip -n B link set ib9 up
wait_until 5 settled B
rdma B ib1 ib9
expect_hook 0 B --apply
expect_rails B ib1:942:172.16.34.2 ib9:941:172.16.34.1

# table= moves, and what it gave does not stick.
forget A B
traffic_start
expect_hook 0 B --config "$(config '[interface ib1]
table=700')" --apply
expect_rails B ib1:700:172.16.34.2 ib9:941:172.16.34.1
expect_hook 0 B --config "$(config '[interface ib1]
table=941')" --apply # the automatic one gives way
expect_rails B ib1:941:172.16.34.2 ib9:942:172.16.34.1
expect_hook 0 B --apply
expect_rails B ib1:941:172.16.34.2 ib9:942:172.16.34.1
traffic_stop
expect_no_loss "table= changes"
