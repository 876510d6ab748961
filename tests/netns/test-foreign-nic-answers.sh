#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# foreign-nic-answers: a NIC that is not a rail answers ARP for the rails' addresses. A note only where it is on their
# wire (--probe asks the wire): the same type of link, and an address or neighbour in a rail's subnet.
. "$(dirname "$0")/lib.sh"

make_hosts 2
expect_hook 0 B --apply
expect_hook 0 B --check

# expect_note WHAT NIC | expect_no_note WHAT
expect_note() {
    expect_hook 0 B --check --json
    expect_equal "$1: said, and no command silences it: other addresses may need it" "$2 info null" \
        "$(json '.findings[] | select(.code == "foreign-nic-answers") | "\(.ifaces | join("+")) \(.severity) \(.fix)"')"
}
expect_no_note() {
    expect_hook 0 B --check --json
    expect_equal "$1: nothing found" "" "$(json '.findings[] | select(.code == "foreign-nic-answers") | .ifaces[]')"
}

# With an address in the subnet.
add_nic B eth9 9 172.16.34.9/16
wait_until 5 settled B
expect_equal "it does answer" "eth9 ib1" "$(arp_answers A ib0 172.16.16.1 B 172.16.34.2)"
before=$(state B)
expect_note "an address in the subnet" eth9
expect_equal "--check changes nothing" "$before" "$(state B)"
expect_hook 0 B --apply
expect_equal "nor does --apply: it is not ours" "$before" "$(state B)"
sysctl_set B eth9 arp_ignore 1
expect_no_note "arp_ignore=1"
expect_equal "it does not answer any more" ib1 "$(arp_answers A ib0 172.16.16.1 B 172.16.34.2)"
remove_nic B eth9

# A bridge of containers, whose smaller subnet lies inside the rails', is another wire.
ip -n B link add docker0 type bridge forward_delay 0
ip -n B address add 172.16.200.1/24 dev docker0
ip netns add box
ip -n B link add veth0 type veth peer name eth0 netns box
ip -n B link set veth0 master docker0 up
ip -n box address add 172.16.200.2/24 dev eth0
ip -n box link set eth0 up
ip -n B link set docker0 up
expect_hook 0 B --apply
on B ping -q -n -c 1 -W 2 172.16.200.2 >/dev/null || fail "the container answers"
expect_contains "the bridge has a neighbour" 172.16.200.2 "$(ip -n B neigh show dev docker0)"
expect_no_note "a container bridge inside the subnet"
