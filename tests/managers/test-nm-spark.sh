#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the set-up pages of NVIDIA DGX Spark do with netplan and NetworkManager (github.com/NVIDIA/dgx-spark-playbooks): two NICs
# of one port get random addresses in 169.254.0.0/16. Both are rails as soon as they have them, at run time and after a reboot.
. "$(dirname "$0")/lib.sh"
only nm-netplan

link_local() { ip -n B -4 -o address show dev "$1" | sed -n 's,.* inet \(169\.254[0-9.]*\)/.*,\1,p'; }
have_link_local() { [ -n "$(link_local ib0)" ] && [ -n "$(link_local ib1)" ]; }
are_rails() {
    [ "$(our_rules B | grep -c -e "from $(link_local ib0) to 169.254.0.0/16 lookup" -e "from $(link_local ib1) to 169.254.0.0/16 lookup")" = 4 ]
}
expect_spark() { # WHAT
    local i nic
    wait_until 30 have_link_local
    wait_until 10 are_rails
    wait_until 10 says ""
    ok "$1: two rails, and --check finds nothing"
    serve B
    for nic in ib0 ib1; do
        expect_equal "$1: who answers for $nic's address" "$nic" "$(arp_answers A ib0 169.254.77.1 B "$(link_local $nic)")"
        for i in 0 1; do
            expect_equal "$1: from the peer's ib$i to $nic, of 5" 5 \
                "$(flow_on A --from 169.254.77.$((i + 1)) --to "$(link_local $nic)" --expect-server $nic --expect-iface ib$i --count 5 | jq .right)"
        done
    done
    serve_no_more
}

for i in 0 1; do
    ip -n A address add 169.254.77.$((i + 1))/16 dev ib$i
    ip -n A route add 169.254.0.0/16 dev ib$i scope link src 169.254.77.$((i + 1)) table $((941 + i))
    ip -n A rule add from 169.254.77.$((i + 1)) lookup $((941 + i)) priority 1941
done
link_local_only() {
    ethernets "link-local: [ipv4]" "link-local: [ipv4]"
    host netplan apply
}
event link_local_only
expect_spark "netplan apply"

power_off
power_on
expect_spark "after a reboot"

for i in 0 1; do
    ip -n A rule del from 169.254.77.$((i + 1)) lookup $((941 + i)) priority 1941
    ip -n A address del 169.254.77.$((i + 1))/16 dev ib$i
done
