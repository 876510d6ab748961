#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A rail's tables depend on its own NIC alone. Whatever becomes of the other rail and of the management NIC, and whatever main
# has by them, T and D of ib1 stay byte for byte, and no packet of ib1 is lost.
. "$(dirname "$0")/lib.sh"

# router HOST N ADDRESS: a host on the wire, and behind it the network 10.1/16
router() {
    new_host "$1"
    add_nic "$1" e0 "$2" "172.16.0.$3/16" "fd00:16::$3/64"
    ip -n "$1" address add 10.1.1.1/16 dev lo
    ip -n "$1" address add fd00:1::1/128 dev lo
    serve "$1"
}

make_hosts 2 B
router first 11 1
router second 12 2
new_host office
add_nic office e0 13 172.16.0.3/16

addresses() { # NIC: B's IPv6 address there
    ip -n B address add "fd00:16::34:$((${1#ib} + 1))/64" dev "$1" nodad
}

defaults() { # NIC: main's default routes by it, each by a router of its own
    local n=${1#ib}
    ip -n B route add default via "172.16.0.$((n + 1))" dev "$1" metric "15$n"
    ip -n B -6 route add default via "fd00:16::$((n + 1))" dev "$1" metric "15$n"
}

for nic in ib0 ib1; do addresses $nic; done
for nic in ib0 ib1; do defaults $nic; done
wait_until 5 settled B

an_event() {
    with_sys B env -i "$HOOKS/networkd-dispatcher" </dev/null 2>>$work/said
}

tables_of_ib1() {
    local family table
    for family in 4 6; do
        ip -n B -$family rule | grep -E "from (172.16.34.2|fd00:16::34:2) " || true
        for table in 942 2942; do ip -n B -$family route show table $table 2>/dev/null || true; done
    done
}

# stays WHAT [COMMAND…]: after it, and after the event that it is, ib1's tables are what they were
stays() {
    [ $# = 1 ] || "${@:2}"
    an_event
    expect_equal "$1: the tables of ib1 are the same" "$tables" "$(tables_of_ib1)"
}

ib0_goes() {
    remove_nic B ib0
    wait_until 5 gone B.0
}
gone() { ! ip -n wire link show "$1" >/dev/null 2>&1; }

ib0_comes() {
    add_nic B ib0 0 172.16.34.1/16
    addresses ib0
    wait_until 5 settled B
}

# traffic_of_ib1 COMMAND…: to what is behind the routers, while it runs; all of it arrives, by ib1 both ways
traffic_of_ib1() {
    local pid tally
    rm -f $work/started $work/stop
    flow_on B --from 172.16.34.2 --to 10.1.1.1 --expect-iface ib1 --expect-server any --rate 500 \
        --started $work/started --stop-file $work/stop >$work/tally &
    pid=$!
    wait_until 5 test -e $work/started
    "$@"
    touch $work/stop
    wait $pid
    tally=$(<$work/tally)
    expect_equal "what ib1 lost, and what took another way" "0 0" "$(jq -r '"\(.lost) \(.sent - .lost - .right)"' <<<"$tally")"
}

the_other_rail_dies_and_returns() {
    stays "ib0 loses its link" ip -n wire link set B.0 down
    ip -n wire link set B.0 up
    stays "ib0 loses its addresses" ip -n B address flush dev ib0 scope global
    stays "ib0 is gone" ib0_goes
    stays "ib0 is back" ib0_comes
}

others_come_and_go() {
    stays "ib0 has a default route again" defaults ib0
    stays "ib0 has a network by a gateway" ip -n B route add 198.51.100.0/24 via 172.16.0.1 dev ib0
    add_nic B eth0 99 10.20.0.34/24
    stays "the management NIC has the best default route" ip -n B route add default via 10.20.0.1 dev eth0 metric 1
    stays "and a network inside the subnet" ip -n B route add 172.16.77.0/24 via 10.20.0.1 dev eth0
    stays "the management NIC is gone" remove_nic B eth0
}

expect_silent_router() { # each rail has a gateway of its own: the other one's does not matter
    ip -n first link set e0 down
    ping_by_ib1
    ip -n first link set e0 up
    ip -n first -6 address replace fd00:16::1/64 dev e0 nodad
}

ping_by_ib1() {
    local from to
    while read -r from to; do
        expect_contains "ib0's gateway is dead: ib1 reaches $to" " 3 received" \
            "$(on B ping -q -c 3 -i 0.2 -W 2 -I "$from" "$to" 2>&1 || true)"
    done <<<$'172.16.34.2 10.1.1.1\nfd00:16::34:2 fd00:1::1'
}

# ---- each rail has a default route in main ----

an_event
tables=$(tables_of_ib1)
expect_contains "ib1 has its own gateway" "default via 172.16.0.2 dev ib1" "$tables"
expect_contains "in both families" "default via fd00:16::2 dev ib1" "$tables"
expect_lacks "and not ib0's" "172.16.0.1 " "$tables"
expect_silent_router
traffic_of_ib1 the_other_rail_dies_and_returns
traffic_of_ib1 others_come_and_go
expect_hook 0 B --check

# ---- only ib0 has one, and ib1 its gateway by configuration ----

for family in 4 6; do ip -n B -$family route del default dev ib1; done
system_config "[interface ib*]
gateway=172.16.0.1"
an_event
tables=$(tables_of_ib1)
expect_contains "gateway=" "default via 172.16.0.1 dev ib1" "$tables"
traffic_of_ib1 the_other_rail_dies_and_returns
traffic_of_ib1 others_come_and_go

# ---- only ib0 has one: ib1's traffic beyond goes where main says, as without ib-hook ----

rm /etc/ib-hook/ib-hook.conf
an_event
beyond() { ip -n B route get 10.1.1.1 from 172.16.34.2 2>&1 | head -n 1 | sed 's/ uid.*//' || true; }
expect_equal "ib0's default is ib0's alone" "" "$(ip -n B route show table 2942 2>/dev/null)"
expect_contains "ib1's traffic beyond takes main's" "dev ib0" "$(beyond)"
tables=$(tables_of_ib1)
the_other_rail_dies_and_returns
stays "ib0 has a default route again" defaults ib0
ib0_goes
before=$(beyond)
an_event
expect_equal "the event of ib0's end takes no way from ib1" "$before" "$(beyond)"
