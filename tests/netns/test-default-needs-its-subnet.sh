#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# "Nexthop has invalid gateway": a table takes a default route only after the subnet that its gateway is in. At first
# boot, after a flap of the link and when tables move, one --apply makes both.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
for i in 1 2 3; do ip -n B address add fd00:16::34:$i/64 dev ib$((i - 1)); done
wait_until 5 settled B
ip -n B route add default via 172.16.0.1 dev ib0
ip -n B -6 route add default via fd00:16::1 dev ib0

# shellcheck disable=SC2015 # its failure is what is looked for
refusal=$(ip -n B route add default via 172.30.0.1 dev ib0 table 999 2>&1 && echo "it was taken" || true)
expect_contains "the kernel refuses a gateway that it cannot reach" "invalid gateway" "$refusal"

complete() { # WHAT NIC:TABLE:N…: both routes of both families, in one run
    local one nic table n
    expect_hook 0 B --apply
    expect_equal "$1: nothing was refused" "" "$err"
    for one in "${@:2}"; do
        IFS=: read -r nic table n <<<"$one"
        expect_equal "$1: table $table" "172.16.0.0/16 dev $nic proto kernel scope link src 172.16.34.$n metric $MARK" \
            "$(ip -n B route show table "$table" | tidy)"
        expect_equal "$1: the default of $nic" "default via 172.16.0.1 dev $nic proto kernel metric $MARK onlink" \
            "$(ip -n B route show table $((table + 2000)) | tidy)"
        expect_equal "$1: table $table in IPv6" "fd00:16::/64 dev $nic proto kernel metric $MARK pref medium" \
            "$(ip -n B -6 route show table "$table" | tidy)"
        expect_equal "$1: the default of $nic in IPv6" \
            "default via fd00:16::1 dev $nic proto kernel metric $MARK pref medium
fd00:16::1 dev $nic proto kernel metric $MARK pref medium" \
            "$(ip -n B -6 route show table $((table + 2000)) | tidy)"
    done
    local checked=()
    for one in "${@:2}"; do checked+=(--iface "${one%%:*}"); done
    expect_hook 0 B --check "${checked[@]}"
    expect_hook 0 B --apply --json
    expect_equal "$1: a second --apply changes nothing" false "$(json .changed)"
}

complete "at first boot" ib0:941:1 ib1:942:2 ib2:943:3

# IPv6 asks main for a gateway: NetworkManager gives each NIC's subnet a metric of its own, and a bridge may have the gateway
# in a longer prefix. The rails have a way of their own to it.
ip -n B -6 route del fd00:16::/64 dev ib1
ip -n B -6 route add fd00:16::/64 dev ib1 metric 300
ip -n B link add br-in type bridge
ip -n B link set br-in up
ip -n B address add fd00:16::7/120 dev br-in nodad
refusal=$(ip -n B -6 route add default via fd00:16::1 dev ib1 table 999 onlink 2>&1 || true)
expect_contains "the kernel refuses a gateway that main reaches by another NIC" "device mismatch" "$refusal"
expect_hook 0 B --undo
complete "main reaches the gateway by a bridge" ib0:941:1 ib1:942:2 ib2:943:3
ip -n B link del br-in

# The kernel drops all routes of the link, whatever their table, and addresses of IPv6.
ip -n B link set ib1 down
ip -n B link set ib1 up
ip -n B address add fd00:16::34:2/64 dev ib1
wait_until 5 settled B
expect_equal "the flap emptied table 942" "" "$(ip -n B route show table 942)$(ip -n B -6 route show table 942)"
complete "after a flap" ib0:941:1 ib1:942:2 ib2:943:3

ip -n B link set ib0 down
ip -n B link set ib0 up
ip -n B address add fd00:16::34:1/64 dev ib0
wait_until 5 settled B
expect_hook 0 B --apply
expect_lacks "main's default route went with ib0: no rail has it" default \
    "$(for t in 2941 2942 2943; do ip -n B route show table $t && ip -n B -6 route show table $t; done)"
ip -n B route add default via 172.16.0.1 dev ib0
ip -n B -6 route add default via fd00:16::1 dev ib0
complete "when it is back" ib0:941:1 ib1:942:2 ib2:943:3

# What happens to one rail touches no other.
remove_nic B ib1
complete "a NIC is gone" ib0:941:1 ib2:943:3
add_nic B ib1 1 172.16.34.2/16 fd00:16::34:2/64
wait_until 5 settled B
complete "it is back" ib0:941:1 ib1:942:2 ib2:943:3
expect_hook 0 B --config "$(config '[interface ib0]
table=777')" --apply
complete "out of a table of its own" ib0:941:1 ib1:942:2 ib2:943:3
expect_hook 0 B --undo
expect_lacks "--undo leaves nothing" "$MARK" "$(state B)"
