#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The documents' case: two hosts, two RoCE NICs each, one /16, no configuration file. RDMA to the second NIC fails; after
# `ib-hook --apply` on each host every pair of NICs works and uses just these two NICs, by the counters of both hosts.
. "$(dirname "$0")/lib.sh"

make_hosts 2

expect_equal "before: both of B's NICs answer for its second address" "ib0 ib1" "$(arp_answers 0 1)"
for host in A B; do sysctl_set $host ib0 ib1 arp_filter=1; done # only ib0 answers, for both: no chance in it any more
expect_equal "before: A learned ib0's hardware address for both of B's" "172.16.34.1 172.16.34.2" \
    "$(learned 2 >/dev/null && sed -n "s/ dev ib0 lladdr $(vm_mac B 0) .*//p" "$work/neigh.A" | sort | xargs)"
rping_serve 2
rdma_ping 0 0
expect_equal "before: RDMA to B's first address comes through" "1 ib0>ib0" "$through $way"
for attempt in 1 2; do
    RPING_SECONDS=4 rdma_ping 0 1
    expect_equal "before: RDMA to B's second address fails (attempt $attempt: $cause)" 0 "$through"
done
for host in A B; do sysctl_set $host ib0 ib1 arp_filter=0; done

for host in A B; do
    expect_hook 1 $host --check --json
    expect_hook 0 $host --apply
done
forget A B
for host in A B; do expect_rails $host ib0 ib1; done
expect_equal "after: only B's second NIC answers for its second address" "ib1" "$(arp_answers 0 1)"
expect_equal "after: every neighbour entry names the right NIC" 8 "$(learned 2)"

rping_serve 2
for i in 0 1; do
    for j in 0 1; do
        expect_rdma $i $j "ib$i>ib$j"
    done
    expect_rdma - $i "ib0>ib$i"
done

# bandwidth OPTIONS CLIENT_OPTIONS: one measurement; leaves the NICs that carried it in $way
bandwidth() {
    local a b
    b=$(counters B) a=$(counters A)
    vm B "ib_read_bw $1 -F -n 100 >/run/bw 2>&1 &
        until rdma resource show cm_id | grep -q 'LISTEN.*:18515' || netstat -ltn | grep -q ':18515 '; do :; done"
    vm A "timeout 20 ib_read_bw $2 -F -n 100" >"$work/bw" || fail "ib_read_bw $2" "$(<"$work/bw")
$(vm B 'cat /run/bw')"
    way="$(used 100 "$a
$(counters A)")>$(used 100 "$b
$(counters B)")"
}
for j in 0 1; do
    bandwidth "-R" "-R $(address B $j)"
    expect_equal "ib_read_bw -R to B's NIC $j" "ib0>ib$j" "$way"
    # With -R it cannot be told which NIC to start from, without it can. GID 1 is the IPv4 address.
    bandwidth "-d rxe$j -x 1" "-d rxe1 -x 1 $(address B $j)"
    expect_equal "ib_read_bw from A's second NIC to B's NIC $j" "ib1>ib$j" "$way"
done

for host in A B; do expect_hook 0 $host --undo; done
expect_equal "after --undo both of B's NICs answer again" "ib0 ib1" "$(arp_answers 0 1)"
