#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A container bridge 172.16.5.0/24 inside the rails' /16 stays reachable from the rails' addresses.
. "$(dirname "$0")/lib.sh"

make_hosts 2
ip -n B link add docker0 type bridge forward_delay 0
ip -n B address add 172.16.5.1/24 dev docker0
ip -n B link set docker0 up
ip netns add box
ip -n B link add veth0 type veth peer name eth0 netns box
ip -n B link set veth0 master docker0 up
ip -n box address add 172.16.5.2/24 dev eth0
ip -n box link set eth0 up
ip -n box route add default via 172.16.5.1

reaches() { # FROM
    on B ping -q -n -c 1 -W "${2:-2}" -I "$1" 172.16.5.2 >/dev/null
}

before=$(state B)
for i in 1 2; do reaches 172.16.34.$i || fail "before: the container is reached from 172.16.34.$i"; done
ok "before: the container is reached from both rails' addresses"
expect_hook 0 B --apply
for i in 1 2; do
    reaches 172.16.34.$i || fail "after --apply: the container is reached from 172.16.34.$i" "$(ip -n B rule)"
    expect_equal "172.16.34.$i to a peer" ib$((i - 1)) "$(ip -n B -j route get 172.16.16.1 from 172.16.34.$i | jq -r '.[0].dev')"
done
expect_hook 0 B --check

expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

ip -n B rule del priority 1940 from 172.16.34.2
if reaches 172.16.34.2 0.3; then fail "without that rule the rail would swallow the container"; fi
ok "without the rule for main the rail swallows the container"
expect_hook 1 B --check
expect_hook 0 B --apply
reaches 172.16.34.2 || fail "repaired"
ok "--apply repairs it"

# What is added later, by whatever NIC, needs nothing of ours: a static route by a management gateway, a host of it.
make_plain_nic() { # eth0 of B, 192.168.1.5, with a host 192.168.1.1 behind it that has 172.16.99.1
    ip netns add M
    ip -n B link add eth0 type veth peer name eth0 netns M
    ip -n B address add 192.168.1.5/24 dev eth0
    ip -n B link set eth0 up
    ip -n M address add 192.168.1.1/24 dev eth0
    ip -n M link set eth0 up
    ip -n M address add 172.16.99.1/32 dev lo
    ip -n M link set lo up
    ip -n M route add 172.16.34.0/24 via 192.168.1.5
}
make_plain_nic
ip -n B route add 172.16.99.0/24 via 192.168.1.1 dev eth0
for i in 1 2; do
    on B ping -q -n -c 1 -W 2 -I 172.16.34.$i 172.16.99.1 >/dev/null ||
        fail "the static route inside the subnet serves 172.16.34.$i" "$(ip -n B route get 172.16.99.1 from 172.16.34.$i)"
done
ok "a static route of another NIC inside the rails' subnet stays"
expect_hook 0 B --check --iface ib0 --iface ib1
expect_hook 0 B --apply --json
expect_equal "nothing has to be done for it" false "$(json .changed)"

ip -n B link delete docker0
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --undo
expect_lacks "the state after --undo" $MARK "$(state B)"
expect_contains "docker0 was there before" docker0 "$before"
