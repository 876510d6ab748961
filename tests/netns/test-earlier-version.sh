#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What earlier versions programmed (throws, defaults beside the subnets, rules at 1941, 2941 and 3941, a spread for all
# sources) is ours by its mark: --apply replaces it without losing a packet, --undo takes it away.
. "$(dirname "$0")/lib.sh"

make_hosts 2
ip -n B link add docker0 type bridge forward_delay 0
ip -n B address add 172.16.5.1/24 dev docker0
ip -n B link set docker0 up
new_host box
ip -n B link add veth0 type veth peer name eth0 netns box
ip -n B link set veth0 master docker0 up
ip -n box address add 172.16.5.2/24 dev eth0
ip -n box link set eth0 up
ip -n box route add default via 172.16.5.1
new_host R # the router, and what lies behind it
add_nic R ib0 0 172.16.0.1/16
ip -n R address add 10.99.0.1/32 dev lo
ip -n B route add default via 172.16.0.1 dev ib0
for i in 1 2; do ip -n B address add fd00:16::34:$i/64 dev ib$((i - 1)); done
wait_until 5 settled B
rails_by_hand A 2
serve B
before=$(state B | tidy)

ours() { echo "suppress_ifgroup $MARK protocol kernel"; }
# shellcheck disable=SC2046 # words
old_rail() { # N: as 1.x left it
    local nic=ib$(($1 - 1)) table=94$1 address=172.16.34.$1
    ip -n B route add throw 172.16.5.0/24 table "$table" protocol kernel metric $MARK
    ip -n B route add 172.16.0.0/16 dev "$nic" table "$table" protocol kernel scope link src "$address" metric $MARK
    ip -n B rule add priority 1941 from "$address" lookup "$table" suppress_prefixlength 0 $(ours)
    ip -n B rule add priority 2941 from "$address" lookup main suppress_prefixlength 0 $(ours)
    ip -n B rule add priority 3941 from "$address" lookup "$table" $(ours)
    ip -n B route add default via 172.16.0.1 dev "$nic" table "$table" protocol kernel metric $MARK
    ip -n B -6 route add fd00:16::/64 dev "$nic" table "$table" protocol kernel metric $MARK
    ip -n B -6 rule add priority 1941 from fd00:16::34:"$1" lookup "$table" suppress_prefixlength 0 $(ours)
}
# shellcheck disable=SC2046
old_spread() {
    ip -n B route add throw 172.16.5.0/24 table 940 protocol kernel metric $MARK
    ip -n B route add 172.16.0.0/16 table 940 protocol kernel scope link metric $MARK nexthop dev ib0 nexthop dev ib1
    ip -n B rule add priority 4940 from all lookup main suppress_prefixlength 16 $(ours)
    ip -n B rule add priority 4941 from all lookup 940 $(ours)
}
old_form() {
    local i
    for i in 1 2; do old_rail $i; done
    for nic in ib0 ib1; do
        sysctl_set B $nic arp_announce 2
        sysctl_set B $nic arp_ignore 1
    done
}
pings() { # to the container and to what lies behind the router, from both rails' addresses, for some two seconds
    local i to
    for i in 1 2; do
        for to in 172.16.5.2 10.99.0.1; do
            on B ping -q -n -c 1000 -i 0.002 -W 1 -I 172.16.34.$i $to >$work/ping.$i.$to &
            pinging+=($!)
        done
    done
    sleep 0.3
}
pinging=()
no_ping_lost() { # WHAT
    local file pid
    for pid in "${pinging[@]}"; do wait "$pid" || true; done
    pinging=()
    for file in "$work"/ping.*; do
        expect_contains "$1: ${file##*/ping.}: no ping is lost" ", 0% packet loss" "$(<"$file")"
    done
}

old_form
forget A B
traffic_start
pings
expect_hook 0 B --apply
traffic_stop
no_ping_lost "replacing"
expect_no_loss "replacing"
expect_settled_right "replacing"
expect_lacks "no throw is left" throw "$(our_routes B)"
expect_equal "the rules are those of now" "$(for i in 1 2; do
    rule_line 172.16.34.$i 94$i
    default_lines 172.16.34.$i 94$i
done | sort)" "$(our_rules B)"
expect_equal "the defaults" "default via 172.16.0.1 dev ib0 table 2941 proto kernel metric $MARK onlink
default via 172.16.0.1 dev ib1 table 2942 proto kernel metric $MARK onlink" "$(our_routes B | grep default)"
expect_hook 0 B --check
expect_hook 0 B --apply --json
expect_equal "a second --apply changes nothing" false "$(json .changed)"
expect_hook 0 B --undo
for nic in ib0 ib1; do
    sysctl_set B $nic arp_announce 0
    sysctl_set B $nic arp_ignore 0
done
expect_equal "the state after --undo" "$before" "$(state B | tidy)"

# With main=spread.
old_form
old_spread
forget A B
spread=$(config '[defaults]
main=spread')
traffic_start
pings
expect_hook 0 B --config "$spread" --apply
traffic_stop
no_ping_lost "replacing a spread"
expect_no_loss "replacing a spread"
expect_equal "what leads to the rails" "4941: from 0.0.0.0 to 172.16.0.0/16 lookup 940 suppress_ifgroup $MARK proto kernel" \
    "$(our_rules B | grep ' lookup 940 ')"
expect_hook 0 B --config "$spread" --check
expect_hook 0 B --config "$spread" --apply --json
expect_equal "a second --apply of a spread changes nothing" false "$(json .changed)"
expect_hook 0 B --undo

# --undo of the old form itself.
for nic in ib0 ib1; do
    sysctl_set B $nic arp_announce 0
    sysctl_set B $nic arp_ignore 0
done
old_rail 1
old_rail 2
old_spread
traffic_start
pings
expect_hook 0 B --undo
traffic_stop
no_ping_lost "--undo"
expect_no_loss "--undo"
expect_equal "the state after --undo of the old form" "$before" "$(state B | tidy)"
