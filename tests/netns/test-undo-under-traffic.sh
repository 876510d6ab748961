#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No packet is lost while --undo runs: four streams of 500/s and two TCP connections, auto and strict.
. "$(dirname "$0")/lib.sh"

make_hosts 2
rails_by_hand A 2
before=$(state B)
serve B
for arp in auto strict; do
    file=$(config "[defaults]
arp=$arp")
    expect_hook 0 B --config "$file" --apply
    forget A B
    traffic_start
    during=$(state B)
    expect_hook 0 B --config "$file" --undo
    traffic_stop
    expect_differs "$arp: the state before --undo" "$before" "$during"
    expect_equal "$arp: the state after --undo" "$before" "$(state B)"
    expect_no_loss "$arp: --undo under traffic"
done
