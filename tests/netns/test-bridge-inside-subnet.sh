#!/bin/bash
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
    reaches 172.16.34.$i || fail "after --apply: the container is reached from 172.16.34.$i" "$(ip -n B route show table 94$i)"
    expect_equal "the route in table 94$i" "throw 172.16.5.0/24 table 94$i proto kernel metric $MARK" \
        "$(our_routes B | grep "throw .* table 94$i" || true)"
    expect_equal "172.16.34.$i to a peer" ib$((i - 1)) "$(ip -n B -j route get 172.16.16.1 from 172.16.34.$i | jq -r '.[0].dev')"
done
expect_hook 0 B --check

ip -n B route del throw 172.16.5.0/24 table 942 metric $MARK
if reaches 172.16.34.2 0.3; then fail "without that route the rail would swallow the container"; fi
ok "without that route the rail swallows the container"
expect_hook 1 B --check
expect_hook 0 B --apply
reaches 172.16.34.2 || fail "repaired"
ok "--apply repairs it"

ip -n B link delete docker0
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --undo
expect_lacks "the state after --undo" $MARK "$(state B)"
expect_contains "docker0 was there before" docker0 "$before"
