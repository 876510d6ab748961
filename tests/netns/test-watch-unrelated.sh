#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Routes of others do not even wake it: the kernel filters them. What decides wakes it: defaults, on-link routes by rails, local
# prefixes, tables that rules of others lead rails to, nexthop objects.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
ip -n B link add other type ifb
ip -n B address add 10.9.0.1/24 dev other
ip -n B link set other up
ip -n B address add 10.66.9.1/32 dev ib1 # without subnets
ip -n B address add fd02:0:0:0:8000::7/128 dev ib1
wait_until 5 settled B
watch_start B
wait_until 5 calm
quiet=$(switches)
for i in $(seq 0 255); do
    for j in $(seq 0 4); do
        echo "route add 100.$i.$j.0/24 via 10.9.0.2 dev other proto bgp"
        echo "route add 101.$i.$j.0/24 proto bgp nexthop via 10.9.0.2 dev other nexthop via 172.16.0.1 dev ib0"
        echo "route add 172.16.$i.$j/32 via 172.16.0.2 dev ib1 proto bgp table 77"
    done
    echo "route replace 102.$i.0.0/16 via 172.16.0.1 dev ib0 proto bgp" # as long as a rail's subnet
    echo "nexthop add id $((1000 + i)) via 10.9.0.2 dev other"
    echo "route replace 103.$i.0.0/16 nhid $((1000 + i)) proto bgp"
    echo "route add blackhole 2001:db8:$i::/48 proto bgp"
    echo "route add 104.$i.0.0/16 via 10.9.0.2 dev other proto bgp"
    echo "route replace 104.$i.0.0/16 via 172.16.0.1 dev ib0 proto bgp"
    echo "route add 105.$i.0.0/16 via inet6 fe80::1 dev ib1 proto bgp"
    echo "route add 172.16.60.$i/32 dev other scope link" # of a container
    echo "route add 10.67.$i.0/24 proto bgp nexthop via 10.9.0.2 dev other nexthop via 172.16.0.1 dev ib0" # next to an address
    echo "route add fd02:0:0:0:c000:$i::/96 via fe80::1 dev other proto bgp"
    echo "route replace fd02:0:0:0:c000:$i::/96 via fe80::2 dev other proto bgp"
done >$work/routes
ip -n B -batch $work/routes
expect_equal "after 5,000 routes of others it has slept" "$quiet" "$(switches)"

ip -n B route add default via 172.16.0.1 dev ib0
followed() { [ "$(ip -n B route show table 2941 default | wc -l)" = 1 ]; }
wait_until 5 followed
ok "a default route by a rail is followed"
ip -n B route del default
unfollowed() { [ -z "$(ip -n B route show table 2941 default)" ]; }
wait_until 5 unfollowed
ok "and its end, too"
ip -n B route add default via 172.16.0.1 dev ib0
wait_until 5 followed
ip -n B route replace default via 10.9.0.2 dev other
wait_until 5 unfollowed
ok "also where another NIC's takes its place, which is all that the kernel tells"
ip -n B route del default

# wakes WHAT COMMAND…
looks() { grep -c READY=1 $work/notified; }
wakes() {
    local before
    wait_until 5 calm
    before=$(looks)
    "${@:2}"
    looked() { [ "$(looks)" -gt "$before" ]; }
    wait_until 5 looked
    ok "it looks: $1"
}
wakes "an on-link prefix of a rail, inside its subnet" ip -n B route add 172.16.50.0/24 dev ib1 proto static
wakes "another NIC's takes its place" ip -n B route replace 172.16.50.0/24 via 10.9.0.2 dev other proto static
wakes "an on-link prefix of a rail, elsewhere" ip -n B route add fd01::/64 dev ib1 proto ra
wakes "and its end" ip -n B route del fd01::/64 dev ib1 proto ra
wakes "around an address without a subnet, by both rails" \
    ip -n B route add 10.66.8.0/21 proto static nexthop dev ib0 nexthop dev ib1
wakes "a rail's alone takes its place" ip -n B route replace 10.66.8.0/21 dev ib1 proto static
wakes "and then another NIC's" ip -n B route replace 10.66.8.0/21 via 10.9.0.2 dev other proto static
ip -n B route add fd02:0:0:0:8000::/66 dev ib1 proto static
wakes "also of IPv6" ip -n B route replace fd02:0:0:0:8000::/66 via fe80::1 dev other proto static
wakes "a prefix that this host answers for" ip -n B route add local 10.77.0.0/24 dev lo
wakes "an address of no rail" ip -n B address add 172.16.34.77/32 dev other
ip -n B address del 172.16.34.77/32 dev other

# No event of a route tells that its object has changed, or is gone.
gateway_is() { [ "$(ip -n B route show table 2941 default | awk '{ print $3 }')" = "$1" ]; }
for compat in 1 0; do # 0: routes do not name the NICs of their objects
    on B sh -c "echo $compat >/proc/sys/net/ipv4/nexthop_compat_mode"
    ip -n B nexthop add id 5 via 172.16.0.1 dev ib0
    ip -n B route add default nhid 5 proto static
    wait_until 5 gateway_is 172.16.0.1
    ip -n B nexthop replace id 5 via 172.16.0.2 dev ib0
    wait_until 5 gateway_is 172.16.0.2
    ok "a nexthop object that changes is followed (nexthop_compat_mode=$compat)"
    ip -n B nexthop replace id 5 via 10.9.0.2 dev other
    wait_until 5 gateway_is ""
    ip -n B nexthop replace id 5 via 172.16.0.2 dev ib0
    wait_until 5 gateway_is 172.16.0.2
    ok "also to another NIC and back"
    ip -n B nexthop del id 5
    wait_until 5 gateway_is ""
    ok "and its end"
done
on B sh -c "echo 1 >/proc/sys/net/ipv4/nexthop_compat_mode"

# A table that a rule of others leads ib1 to.
ours() { our_rules B | grep -c "from 172.16.34.2 to 172.16.0.0/16 lookup 942" || true; }
ours_are() { [ "$(ours)" = "$1" ]; }
ip -n B rule add from 172.16.34.2 lookup 100 priority 500
ip -n B route add 172.16.0.0/16 dev ib1 proto static src 172.16.34.2 table 100
wait_until 5 ours_are 0
ok "a table of others that routes a rail: ours go"
ip -n B route del 172.16.0.0/16 table 100
wait_until 5 ours_are 1
ok "it does not any more: ours come back"
ip -n B route add blackhole 172.16.0.0/16 proto bird table 100
wait_until 5 ours_are 0
ok "its blackhole is meant, too"
ip -n B nexthop add id 6 dev ib1
ip -n B route replace 172.16.0.0/16 nhid 6 proto static table 100
ip -n B nexthop del id 6
wait_until 5 ours_are 1
ok "a route there whose nexthop object goes"
watch_stop
