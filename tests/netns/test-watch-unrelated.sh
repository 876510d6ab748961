#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Routes of others do not even wake it: the kernel filters them. A default route by a rail does.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
ip -n B link add other type ifb
ip -n B address add 10.9.0.1/24 dev other
ip -n B link set other up
watch_start B
wait_until 5 calm
quiet=$(switches)
for i in $(seq 0 255); do
    for j in $(seq 0 19); do echo "route add 100.$i.$j.0/24 via 10.9.0.2 dev other proto bgp"; done
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
ip -n B route add 10.77.0.0/16 proto static nexthop via 172.16.0.1 dev ib0
ip -n B route del 10.77.0.0/16
watch_stop
