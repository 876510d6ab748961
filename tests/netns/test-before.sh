#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What plain Linux does with two NICs in one subnet: the ground that all the other tests stand on.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve A B

expect_equal "both of B's NICs answer for the address of ib0" "ib0 ib1" "$(arp_answers A ib0 172.16.16.1 B 172.16.34.1)"
expect_equal "both of B's NICs answer for the address of ib1" "ib0 ib1" "$(arp_answers A ib0 172.16.16.1 B 172.16.34.2)"
expect_equal "B's second address leaves through the first NIC" ib0 \
    "$(ip -n B -j route get 172.16.16.1 from 172.16.34.2 | jq -r '.[0].dev')"
expect_equal "and two connected routes stand in main" 2 "$(ip -n B route show 172.16.0.0/16 | wc -l)"

forget A B
for to in 172.16.34.1 172.16.34.2; do
    on A ping -q -n -c 1 -W 1 -I 172.16.16.1 $to >/dev/null || fail "a ping to $to from A's first NIC passes"
done
expect_equal "a ping passes, but A learned the same NIC for both addresses" "$(learned_mac A 172.16.34.1)" \
    "$(learned_mac A 172.16.34.2)"
on B ping -q -n -c 1 -W 1 -I ib1 172.16.16.1 >/dev/null || fail "a ping from B's second NIC passes, too"
ok "a ping from B's second NIC passes, too"
ip -n A neigh replace 172.16.34.2 lladdr "$(mac B 0)" dev ib0 nud permanent
if on B ping -q -n -c 1 -W 1 -I ib1 172.16.16.1 >/dev/null; then fail "but not while the peer sends to the first NIC"; fi
ok "but not while the peer sends to the first NIC"
ip -n A neigh del 172.16.34.2 dev ib0
expect_matrix_wrong "nothing configured"

for host in A B; do sysctl_set $host all rp_filter 1; done
forget A B
if on B ping -q -n -c 1 -W 1 -I ib1 172.16.16.1 >/dev/null; then fail "rp_filter=1: a ping from B's second NIC gets no answer"; fi
ok "rp_filter=1: a ping from B's second NIC gets no answer"
forget A B
on A ping -q -n -c 1 -W 1 172.16.34.1 >/dev/null || fail "rp_filter=1: an unbound ping passes"
ok "rp_filter=1: an unbound ping passes"
tally=$(flow_on B --from 172.16.34.2 --bind-device ib1 --to 172.16.16.1 --expect-server any --count 5)
expect_equal "rp_filter=1: the second NIC as a client gets no reply" 0 "$(jq .received <<<"$tally")"
arrives() { # NIC: the kernel's own answer for a packet from a peer on it
    ip -n B route get 172.16.34.2 from 172.16.16.1 iif "$1" >/dev/null 2>&1 && echo accepted || echo refused
}
expect_equal "rp_filter=1: asked for a packet from a peer, the kernel accepts it on the first NIC only" "accepted refused" \
    "$(arrives ib0) $(arrives ib1)"
sysctl_set B all rp_filter 0
expect_equal "rp_filter=0: on both" "accepted accepted" "$(arrives ib0) $(arrives ib1)"

# The documents' end state without ARP settings: pings pass, and one NIC is idle.
for host in A B; do
    sysctl_set $host all rp_filter 0
    for i in 0 1; do
        ip -n $host route del 172.16.0.0/16 dev ib$i
        ip -n $host route add 172.16.0.0/16 dev ib$i scope link src "172.16.$(host_id $host).$((i + 1))" table $((941 + i))
        ip -n $host rule add from "172.16.$(host_id $host).$((i + 1))" table $((941 + i))
    done
done
forget A B
for to in 172.16.34.1 172.16.34.2; do
    on A ping -q -n -c 1 -W 1 -I 172.16.16.1 $to >/dev/null || fail "rules alone: a bound ping to $to passes"
done
expect_equal "rules alone: both addresses are still on one NIC" "$(learned_mac A 172.16.34.1)" "$(learned_mac A 172.16.34.2)"
expect_contains "rules alone, main emptied: unbound traffic has no route" unreachable \
    "$(ip -n A route get 172.16.34.1 2>&1 || true)"
