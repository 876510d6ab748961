#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No part of arp=auto can be left out: without it neighbour entries name the wrong NIC. And what arp=strict needs: peers that
# are told before it starts to drop what still arrives at the wrong NIC.
. "$(dirname "$0")/lib.sh"

make_hosts 2
for host in A B; do hook $host --apply >/dev/null; done
expect_equal "arp=auto: every neighbour entry names the right NIC" 8 "$(learned 2)"

sysctl_set B ib0 ib1 arp_ignore=0
expect_equal "arp_ignore=0: both of B's NICs answer for its second address" "ib0 ib1" "$(arp_answers 0 1)"
entries=8
for _ in 1 2 3 4 5; do # whose answer wins is a matter of chance, but not always
    [ "$entries" -lt 8 ] || entries=$(learned 2)
done
[ "$entries" -lt 8 ] || fail "arp_ignore=0: expected a neighbour entry that is wrong, all 8 are right"
ok "arp_ignore=0: only $entries of 8 neighbour entries are right"
expect_hook 1 B --check
expect_hook 0 B --apply
expect_equal "repaired by --apply" 8 "$(learned 2)"

# broken WHAT COMMAND: on A, then what A's second NIC sends does not go by it; --check says so, --apply repairs it
broken() {
    vm A "$2"
    ip_ping 1 1
    [ "$way" != "ib1>ib1" ] || fail "$1: expected pings from A's second NIC to fail or to use another"
    ok "$1: pings from A's second NIC go by $way"
    expect_hook 1 A --check
    expect_hook 0 A --apply
    ip_ping 1 1
    expect_equal "repaired" "ib1>ib1" "$way"
}
ip_ping 1 1
expect_equal "pings from A's second NIC to B's" "ib1>ib1" "$way"
broken "no rules" 'while ip rule del priority 1941 2>/dev/null; do :; done'
broken "no route in the table" 'ip route flush table 942'

# stream: pings to B's second address while B applies; A holds the hardware address of B's first NIC for it. B knows A by
# both of its NICs: else A could learn from B's first request by the second that it has moved. Leaves the packets lost in $lost.
stream() {
    hook B --undo >/dev/null
    vm B "for nic in ib0 ib1; do ip neigh replace $(address A 0) lladdr $(vm_mac A 0) dev \$nic nud permanent; done"
    vm A "for nic in ib0 ib1; do for to in $(address B 0) $(address B 1); do
            ip neigh replace \$to lladdr $(vm_mac B 0) dev \$nic nud permanent
            ip neigh change \$to lladdr $(vm_mac B 0) dev \$nic nud reachable
        done; done
        >/run/stream
        (ping -n -i 0.01 -c 300 -W 1 -I $(address A 0) $(address B 1) >>/run/stream 2>&1; echo end >>/run/stream) &
        until grep -q 'icmp_seq=50 ' /run/stream; do :; done"
    hook B --apply >/dev/null
    lost=$((300 - $(vm A "until grep -q '^end' /run/stream; do :; done; grep -c 'bytes from' /run/stream")))
}
config B "[defaults]" arp=strict
stream
expect_equal "arp=strict, peers are told: packets lost" 0 "$lost"
config B "[defaults]" arp=strict announce=no
stream
expect_at_least "arp=strict, peers are not told: packets lost" 20 "$lost"
config B "[defaults]" announce=no
stream
expect_equal "arp=auto needs nobody to be told: packets lost" 0 "$lost"
