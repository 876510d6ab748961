#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The script of --render iproute2 loses no packet either, though the peer holds the wrong hardware address, and strict
# filters come last.
. "$(dirname "$0")/lib.sh"

needs sysctl arping
make_hosts 2
rails_by_hand A 2
serve B
for arp in auto strict; do
    file=$(config "[defaults]
arp=$arp")
    expect_hook 0 B --config "$file" --render iproute2
    printf '%s\n' "$out" >$work/script
    peer_holds_wrong_mac
    traffic_start
    peer_holds_wrong_mac # an answer may have corrected an entry that was still fresh
    on B sh $work/script >$work/said 2>&1 || fail "$arp: the script" "$(<$work/said)"
    wait_until 1 both_learned_right
    ok "$arp: the peer's entries name the right NICs"
    traffic_stop
    expect_no_loss "$arp: the script under traffic"
    expect_settled_right "$arp: the script under traffic"
    expect_hook 0 B --undo
    # shellcheck disable=SC2016 # for the inner shell
    on B sh -c 'cd '"$CONF"' && for f in ib*/*; do case $f in */rp_filter | */arp_*) echo 0 >"$f" ;; esac; done'
done
