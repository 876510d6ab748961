#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --apply announces every address of a rail, secondary ones and VIPs too: a peer with wrong entries corrects them all
# within a second.
. "$(dirname "$0")/lib.sh"

make_hosts 2
ip -n B address add 172.16.34.12/16 dev ib1
ip -n B address add 172.16.99.9/32 dev ib1
announced="172.16.34.2 172.16.34.12 172.16.99.9"

wrong_entries() {
    for address in $announced; do
        ip -n A neigh replace "$address" lladdr "$(mac B 0)" dev ib0 nud reachable
        ip -n A neigh replace "$address" lladdr "$(mac B 0)" dev ib1 nud reachable
    done
}

all_right() {
    for address in $announced; do
        [ "$(learned_mac A "$address" | sort -u)" = "$(mac B 1)" ] || return 1
    done
}

wrong_entries
expect_hook 0 B --apply
wait_until 1 all_right
ok "the peer corrected its entries for $announced"

wrong_entries
expect_hook 0 B --apply
expect_equal "a second --apply changes nothing and announces nothing" "$(mac B 0)" \
    "$(learned_mac A 172.16.34.2 | sort -u)"

# A file of static neighbours for all hosts of a cluster has this host's own addresses, too: what its administrator wrote stays.
expect_hook 0 B --undo
ip -n B neigh add 172.16.34.2 lladdr "$(mac B 1)" dev ib1 nud permanent
wrong_entries
expect_hook 0 B --apply
wait_until 1 all_right
expect_contains "the administrator's entry stays" PERMANENT "$(ip -n B neigh show to 172.16.34.2)"

# --undo gives rp_filter=0 back, which is strict where `all` has 1: not before peers have had 50 ms to use the other NIC.
new_host C
for i in 0 1; do add_nic C ib$i $i 172.16.50.$((i + 1))/16; done
rdma C ib0 ib1
on C sh -c "echo 1 >$CONF/all/rp_filter"
wait_until 5 settled C
expect_hook 0 C --apply
expect_equal "it is loose meanwhile" 2 "$(on C cat $CONF/ib1/rp_filter)"
on C strace -f -o "$work/calls" -e trace=clock_nanosleep "$IB_HOOK" --sysfs /run/sys/C --undo >/dev/null
expect_equal "it was given back" 0 "$(on C cat $CONF/ib1/rp_filter)"
expect_contains "peers had time" "tv_nsec=50000000" "$(<"$work/calls")"
