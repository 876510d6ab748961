#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that copy routing into another network namespace keep less of a rule than it has. `from ADDRESS to P lookup T`, T's routes
# without their metric, and the ARP values are enough for a rail's subnet: all pairs are right there.
. "$(dirname "$0")/lib.sh"

make_hosts 2
for host in A B; do expect_hook 0 $host --apply; done
rules=$(own_rules B | sed -nE 's/.*from ([^ ]*) to ([^ ]*) lookup ([0-9]+) .*/from \1 to \2 lookup \3/p')
expect_equal "what is copied of the rules" "from 172.16.34.1 to 172.16.0.0/16 lookup 941
from 172.16.34.2 to 172.16.0.0/16 lookup 942" "$rules"
routes=$(our_routes B | sed -E 's/ metric [0-9]+//')
expect_equal "routes" 2 "$(wc -l <<<"$routes")"

# An empty namespace in the place of B.
delete_host B
new_host B
for n in 0 1; do
    add_nic B ib$n $n 172.16.34.$((n + 1))/16
    sysctl_set B ib$n arp_ignore 1
    sysctl_set B ib$n arp_announce 2
done
wait_until 5 settled B
serve A B
expect_matrix_wrong "before the copy"
while read -r route; do
    # shellcheck disable=SC2086 # its words
    ip -n B route add $route
done <<<"$routes"
while read -r rule; do
    # shellcheck disable=SC2086 # its words
    ip -n B rule add $rule
done <<<"$rules"
expect_nothing_of_ours B
expect_matrix_right "the copy"
