#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A default route of main by a rail's gateway is every rail's, each by its own NIC, at the next run: when it appears,
# moves, changes and goes, in both families. One by another NIC is none of theirs.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
new_host R # the router: two addresses on the wire, and what lies behind it
add_nic R ib0 0 172.16.0.1/16 172.16.0.2/16 fd00:16::1/64 fd00:16::2/64 fe80::1/64
ip -n R address add 10.99.0.1/32 dev lo
ip -n R address add fd00:99::1/128 dev lo
on R sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'
for i in 1 2; do ip -n B address add fd00:16::34:$i/64 dev ib$((i - 1)); done
add_nic B eth0 9 10.20.0.5/24 fd00:20::5/64
wait_until 5 settled R
wait_until 5 settled B

leaves() { # FROM TO → NIC and gateway
    ip -n B -j route get "$2" from "$1" 2>/dev/null | jq -r '.[0] | "\(.dev) via \(.gateway)"' || true
}

# routed WHAT GATEWAY GATEWAY6: each rail's traffic to elsewhere goes by it; - for whatever main says
routed() {
    local i
    expect_hook 0 B --apply
    for i in 1 2; do
        [ "$2" = - ] ||
            expect_equal "$1: from 172.16.34.$i" "ib$((i - 1)) via $2" "$(leaves 172.16.34.$i 10.99.0.1)"
        [ "$3" = - ] ||
            expect_equal "$1: from fd00:16::34:$i" "ib$((i - 1)) via $3" "$(leaves fd00:16::34:$i fd00:99::1)"
    done
    steady "$1"
}

steady() {
    local before
    before=$(state B)
    expect_hook 0 B --check
    expect_hook 0 B --apply --json
    expect_equal "$1: a second --apply changes nothing" false "$(json .changed)"
    expect_equal "$1: really nothing" "$before" "$(state B)"
}

answers() { # WHAT: what lies behind the router is reached from every address
    local i
    for i in 1 2; do
        on B ping -q -n -c 1 -W 1 -I 172.16.34.$i 10.99.0.1 >/dev/null || fail "$1: an answer to 172.16.34.$i"
        on B ping -6 -q -n -c 1 -W 1 -I fd00:16::34:$i fd00:99::1 >/dev/null || fail "$1: an answer to fd00:16::34:$i"
    done
    ok "$1: all addresses get answers from behind the router"
}

tiers() { # FAMILY ADDRESS → priorities of our rules for it
    ip -n B "$1" rule show from "$2" | sed 's/:.*//' | xargs
}

expect_hook 0 B --apply
without=$(state B)
steady "no default route"

ip -n B route add default via 172.16.0.1 dev ib0
routed "IPv4 appears" 172.16.0.1 -
expect_equal "IPv4 has two rules more an address" "1940 1941 32764 32765" "$(tiers -4 172.16.34.2)"
expect_equal "IPv6 has its own two" "1940 1941" "$(tiers -6 fd00:16::34:2)"
ip -n B -6 route add default via fd00:16::1 dev ib1
routed "IPv6 appears, by ib1" 172.16.0.1 fd00:16::1
answers "both"
expect_equal "IPv6 has them, too" "1940 1941 32764 32765" "$(tiers -6 fd00:16::34:2)"

ip -n B route replace default via 172.16.0.2 dev ib1
ip -n B -6 route replace default via fd00:16::2 dev ib0
routed "another gateway by another rail" 172.16.0.2 fd00:16::2
answers "another gateway"
ip -n B address add 172.16.34.12/16 dev ib1
ip -n B address add fd00:16::34:12/64 dev ib1
wait_until 5 settled B
expect_hook 0 B --apply
expect_equal "an address added: all of its rules" "1940 1941 32764 32765" "$(tiers -4 172.16.34.12)"
expect_equal "from there" "ib1 via 172.16.0.2" "$(leaves 172.16.34.12 10.99.0.1)"
expect_equal "and in IPv6" "ib1 via fd00:16::2" "$(leaves fd00:16::34:12 fd00:99::1)"
ip -n B address delete 172.16.34.12/16 dev ib1
ip -n B address delete fd00:16::34:12/64 dev ib1
expect_hook 0 B --apply
steady "the address is gone"
expect_lacks "its rules are gone" 34:12 "$(ip -n B -6 rule)"
expect_lacks "its rules are gone in IPv4" 172.16.34.12 "$(ip -n B rule)"

ip -n B route add default via 172.16.0.1 dev ib0 metric 50
ip -n B -6 route add default via fd00:16::1 dev ib0 metric 50
ip -n B route delete default via 172.16.0.2 dev ib1
ip -n B route add default via 172.16.0.2 dev ib1 metric 60
routed "two of them: that of lower metric" 172.16.0.1 fd00:16::1
ip -n B route add 10.99.0.0/24 via 172.16.0.2 dev ib0
ip -n B -6 route add fd00:99::/64 via fd00:16::2 dev ib0
routed "a longer prefix by another gateway" 172.16.0.2 fd00:16::2
answers "a longer prefix"
ip -n B route delete 10.99.0.0/24
ip -n B -6 route delete fd00:99::/64
routed "the longer prefix is gone" 172.16.0.1 fd00:16::1

ip -n B route flush default
ip -n B -6 route flush default
ip -n B route add default nexthop via 172.16.0.2 dev ib0 nexthop via 172.16.0.2 dev ib1
ip -n B -6 route add default nexthop via fd00:16::2 dev ib0 nexthop via fd00:16::2 dev ib1
routed "one over both rails" 172.16.0.2 fd00:16::2
answers "one over both rails"
ip -n B route flush default
ip -n B -6 route flush default
ip -n B route add default nexthop via 10.20.0.1 dev eth0 nexthop via 172.16.0.1 dev ib1
ip -n B -6 route add default nexthop via fd00:20::1 dev eth0 nexthop via fd00:16::1 dev ib1
routed "one over a rail and another NIC" 172.16.0.1 fd00:16::1
answers "one over a rail and another NIC"
ip -n B route flush default
ip -n B -6 route flush default
ip -n B route add 10.99.0.0/24 nexthop via 10.20.0.1 dev eth0 nexthop via 172.16.0.1 dev ib1
ip -n B -6 route add fd00:99::/64 nexthop via fd00:20::1 dev eth0 nexthop via fd00:16::1 dev ib1
routed "a network over a rail and another NIC: the rail's hop" 172.16.0.1 fd00:16::1
answers "a network over a rail and another NIC"
ip -n B route delete 10.99.0.0/24
ip -n B -6 route delete fd00:99::/64
ip -n B -6 route add default from fd00:16::/64 via fd00:16::2 dev ib0
ip -n B -6 route add fd00:99::/64 from fd00:16::34:1 via fd00:16::1 dev ib0
expect_hook 0 B --apply
steady "routes for one source prefix"
expect_equal "main applies them, copied they are not" "ib0 via fd00:16::1, ib0 via fd00:16::2, 1940 1941" \
    "$(leaves fd00:16::34:1 fd00:99::1), $(leaves fd00:16::34:2 fd00:99::1), $(tiers -6 fd00:16::34:2)"
expect_lacks "in no table of ours" fd00:99 "$(ip -n B -6 route show table 941; ip -n B -6 route show table 942)"
ip -n B -6 route flush default
ip -n B -6 route delete fd00:99::/64 from fd00:16::34:1
ip -n B route add default via 172.16.0.1 dev ib0 metric 50

ip -n B -6 route flush default
ip -n B -6 route add default via fe80::1 dev ib0 metric 50
expect_hook 0 B --apply
expect_equal "a link-local gateway is of its own device" "ib0 via fe80::1" "$(leaves fd00:16::34:1 fd00:99::1)"
expect_lacks "and of no other" fe80::1 "$(ip -n B -6 route show table 942)"
steady "a link-local gateway"

ip -n B route flush default
ip -n B -6 route flush default
expect_hook 0 B --apply
expect_equal "all of them are gone" "$without" "$(state B)"
steady "all of them are gone"
ip -n B route add default via 10.20.0.1 dev eth0
expect_hook 0 B --apply --json
expect_equal "a default route by another NIC changes nothing" false "$(json .changed)"
ip -n B route flush default

file=$(config '[interface ib1]
gateway=172.16.0.1')
expect_hook 0 B --config "$file" --apply
expect_equal "gateway=ADDRESS" "ib1 via 172.16.0.1" "$(leaves 172.16.34.2 10.99.0.1)"
expect_lacks "and ib0 has none" default "$(ip -n B route show table 941)"
ip -n B route add default via 172.16.0.2 dev ib0
expect_hook 0 B --config "$(config '[interface ib1]
gateway=none')" --apply
expect_lacks "gateway=none" default "$(ip -n B route show table 942)"
expect_equal "the other has main's" "ib0 via 172.16.0.2" "$(leaves 172.16.34.1 10.99.0.1)"
