#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Eight rails: 8 peers in 1 s; 256, more pairs than the neighbour table has room for, in 5 s, without filling it.
. "$(dirname "$0")/../netns/lib.sh"

make_hosts 8 A
make_peers 256
expect_hook 0 A --apply

# takes MS PEER…: what it takes at best; three tries, as this machine may be busy
took=
takes() {
    local try start now
    took=100000
    for try in 1 2 3; do
        start=${EPOCHREALTIME/[.,]/}
        expect_hook 0 A --probe "${@:2}" --json >/dev/null
        now=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
        took=$((now < took ? now : took))
        echo "# $(($# - 1)) peers, try $try: $now ms"
        [ $took -gt "$1" ] || break
    done
}
takes 1000 "${peers[@]:0:8}"
expect_at_least "eight peers: in 1 s, or 1.5 where other things run" "$took" 1500
takes 5000 "${peers[@]}"
expect_equal "all are asked, all answer" "2048 6144 6144" "$(json '"\(.pairs | length) \([.pairs[].sent] | add) \([.pairs[].received] | add)"')"
expect_equal "their hardware addresses are known" 1 "$(json '[.pairs[].peer_lladdr] | unique | length')"
expect_equal "at full size, too" 1500 "$(json '[.pairs[].path_mtu] | unique | join(" ")')"
expect_equal "one NIC has all addresses: no fault" "" \
    "$(json '[.findings[].code] | unique | join(" ")')"
expect_at_least "256 peers: in 5 s, or 8 where other things run" "$took" 8000

# What is in the neighbour table while it asks, at most; and what is left.
entries() { ip -n A -4 neigh show nud all | grep -vc NOARP || true; }
watch_entries() {
    local now most=0
    until [ -e $work/asked ]; do
        now=$(entries)
        [ "$now" -le "$most" ] || echo "$now"
        most=$((now > most ? now : most))
        sleep 0.02
    done
}
forget A
ip -n A neigh add 172.16.34.7 lladdr "$(mac B 0)" dev ib3 nud stale
watch_entries >$work/entries &
watcher=$!
expect_hook 0 A --probe "${peers[@]}" --count 1 --json >/dev/null
touch $work/asked
wait $watcher
limit=$(ip ntable show name arp_cache | sed -n 's/.*thresh3 \([0-9]*\).*/\1/p')
expect_at_least "the table was not filled" "$(tail -n 1 $work/entries)" "$((limit - 1))"
expect_at_least "but used" 20 "$(tail -n 1 $work/entries)"
expect_at_least "the entries are gone, but those of peers that ask for us" "$(entries)" 64
expect_contains "one from before stays" "172.16.34.7" "$(ip -n A neigh show dev ib3)"
