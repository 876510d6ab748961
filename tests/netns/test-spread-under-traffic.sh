#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No packet is lost, bound or unbound, while traffic begins to be spread and ceases to be.
. "$(dirname "$0")/lib.sh"

make_hosts 2
rails_by_hand A 2
serve A B
spread=$(config '[defaults]
main=spread')

# Unbound streams of B to 12 peers: some leave through ib1 while it is spread. They are stopped, however long a busy machine takes.
for i in {3..12}; do ip -n A address add "172.16.16.$i/16" dev ib0; done
unbound_start() {
    local i
    for i in {1..12}; do
        nsenter --net=/run/netns/B ping -n -i 0.01 -w 300 "172.16.16.$i" >"$work/unbound.$i" &
        unbound[i]=$!
    done
    wait_until 5 unbound_flows
}
all_have() { # LEAST: every stream has had so many replies
    local i
    for i in {1..12}; do [ "$(grep -c 'bytes from' "$work/unbound.$i" || true)" -ge "$1" ] || return 1; done
}
unbound_flows() { all_have 3; }
more() { # until each stream has had 20 more replies than now
    local most
    most=$(for i in {1..12}; do grep -c 'bytes from' "$work/unbound.$i"; done | sort -n | tail -n 1)
    wait_until 10 all_have $((most + 20))
}
unbound_stop() { # WHAT
    local i sum=0 sent received
    for i in {1..12}; do kill -INT "${unbound[i]}"; done
    for i in {1..12}; do
        wait "${unbound[i]}" || true
        read -r sent received < <(sed -n 's/^\([0-9]*\) packets transmitted, \([0-9]*\) received.*/\1 \2/p' "$work/unbound.$i")
        # The last one may have been on its way.
        [ $((sent - received)) -le 1 ] || fail "$1: unbound stream $i lost $((sent - received)) of $sent" "$(tail -n 4 "$work/unbound.$i")"
        sum=$((sum + sent))
    done
    ok "$1: none of $sum unbound packets lost"
}
sent_by_ib1() { ip -n wire -j -s link show B.1 | jq '.[0].stats64.rx.packets'; }

expect_hook 0 B --apply
traffic_start
unbound_start
count=$(sent_by_ib1)
expect_hook 0 B --config "$spread" --apply
expect_contains "spread" "nexthop dev ib1" "$(ip -n B route show table 940)"
more
expect_hook 0 B --apply
expect_equal "switched off" "" "$(ip -n B route show table 940)"
more
expect_hook 0 B --config "$spread" --apply
more
expect_hook 0 B --config "$spread" --undo
expect_nothing_of_ours B
more
expect_hook 0 B --config "$spread" --apply # from nothing
more
expect_at_least "ib1 carried unbound packets in between" 20 $(($(sent_by_ib1) - count))
traffic_stop
unbound_stop "spread, off, on, undone, on"
expect_no_loss "spread, off, on, undone, on"
