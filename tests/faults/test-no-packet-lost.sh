#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 10,000 packets/s and a TCP connection per rail, and peers that hold the wrong hardware address: nothing that worked is
# lost while --apply, --undo, hooks and --watch work on the host. With auto and strict, main kept and spread.
. "$(dirname "$0")/lib.sh"

make_hosts 2
rails_by_hand A 2
serve B
journal_start

# What this machine carries while nothing changes: up to 10,000 packets/s over both rails, in four streams.
for RATE in 2500 1250 600 300; do
    traffic_start
    many() { [ "$(find $work -name 'started.*' | wc -l)" = 6 ] && sleep 1; }
    wait_until 5 many
    traffic_stop
    [ "$(jq -s 'map(.lost) | add' $work/stream.* 2>/dev/null)" != 0 ] || break
done
echo "# $((4 * RATE)) packets/s"

for arp in auto strict; do
    for main in keep spread; do
        what="arp=$arp main=$main"
        file=$(config "[defaults]
arp=$arp
main=$main")
        peer_holds_wrong_mac
        traffic_start
        peer_holds_wrong_mac
        hook B --config "$file" --apply >/dev/null
        wait_until 2 both_learned_right
        hook B --config "$file" --apply >/dev/null
        watch_start B --config "$file"
        # What is repaired: a rule, so that main answers while it is away. A strict rp_filter drops meanwhile, whoever
        # took the rule: there it is another's rule that comes and goes.
        if [ $arp = auto ]; then
            ip -n B rule del from 172.16.34.2 lookup 942
        else
            ip -n B rule add from 172.16.34.2 to 172.16.0.0/16 lookup 942 priority 1941 protocol static
            ip -n B rule del from 172.16.34.2 lookup 942 priority 1941 protocol static
        fi
        stands() { our_rules B | grep -q "from 172.16.34.2 to 172.16.0.0/16 lookup 942"; }
        wait_until 5 stands
        watch_stop >/dev/null
        hook B --config "$file" --undo >/dev/null
        hook B --config "$file" --apply >/dev/null
        traffic_stop
        expect_no_loss "$what"
        expect_settled_right "$what"
        hook B --undo >/dev/null
    done
done
