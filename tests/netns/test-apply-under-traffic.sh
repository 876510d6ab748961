#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No packet is lost while --apply runs, though the peer holds the wrong hardware address, auto and strict; and
# the peer learns the right one at once. Nor is one lost while --undo runs, nor while an --apply that was not confirmed
# is taken back, to plain Linux or to rails.
. "$(dirname "$0")/lib.sh"

make_hosts 2
rails_by_hand A 2
before=$(state B)
serve B
nobody_waits() { ! pgrep -f -x -- "$IB_HOOK .*" >/dev/null; }
not_confirmed() { # WHAT CONFIGURATION
    local was
    was=$(state B | sort)
    traffic_start
    expect_hook 0 B --config "$2" --apply --confirm 1
    wait_until 5 nobody_waits
    traffic_stop
    expect_equal "$1, not confirmed: the state before" "$was" "$(state B | sort)"
    expect_no_loss "$1, not confirmed"
}
for arp in auto strict; do
    file=$(config "[defaults]
arp=$arp")
    peer_holds_wrong_mac
    traffic_start
    peer_holds_wrong_mac # an answer may have corrected an entry that was still fresh
    expect_equal "$arp: the peer holds ib0's address for ib1's" "$(mac B 0)" "$(learned_mac A 172.16.34.2 | sort -u)"
    expect_hook 0 B --config "$file" --apply
    wait_until 1 both_learned_right
    ok "$arp: within a second the peer's entries name the right NICs"
    traffic_stop
    expect_no_loss "$arp: --apply under traffic"
    expect_settled_right "$arp: --apply under traffic"
    for i in 1 2; do
        expect_at_least "$arp: before that, stream $i to the second address was on the wrong NIC" 1 \
            "$(jq .wrong $work/stream.$i.2)"
    done
    printf '[defaults]\nmanage=no\n' >$work/no-rails
    not_confirmed "$arp: no rails" $work/no-rails
    traffic_start
    expect_hook 0 B --undo
    traffic_stop
    expect_equal "$arp: the state after --undo" "$before" "$(state B)"
    expect_no_loss "$arp: --undo under traffic"
    not_confirmed "$arp: rails" "$file"
done
