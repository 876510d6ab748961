#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Eight NICs in each of two hosts, all in one /16: after --apply each of the 64 pairs learns the right hardware addresses, and
# RDMA of each of the 64 goes by its own two NICs.
. "$(dirname "$0")/lib.sh"

make_hosts 8
nics="ib0 ib1 ib2 ib3 ib4 ib5 ib6 ib7"
before=$(learned 8)
[ "$before" -lt 128 ] || fail "before: expected neighbour entries that are wrong, all 128 are right"
ok "before: $before of 128 neighbour entries are right"

for host in A B; do
    expect_hook 0 $host --apply
    # shellcheck disable=SC2086 # a list of words
    expect_rails $host $nics
done
expect_equal "after: all 128 neighbour entries of the 64 pairs are right" 128 "$(learned 8)"

rping_serve 8
for i in 0 1 2 3 4 5 6 7; do
    script=$counters_script
    for j in 0 1 2 3 4 5 6 7; do
        script+="timeout 10 rping -c -I $(address A $i) -a $(address B $j) -p 9401 -C 10 -v;"
    done
    b=$(counters B)
    a=$(vm A "$script $counters_script")
    b+=$'\n'$(counters B)
    expect_equal "RDMA from A's NIC $i to each of B's comes through" 8 "$(grep -c 'ping data: rdma-ping-9' <<<"$a" || true)"
    # One rping is 62 packets each way.
    expect_equal "all of it goes by ib$i of A, and an eighth by each NIC of B" "ib$i ${nics// /,} none" \
        "$(used 20 "$(grep '^counter ' <<<"$a")") $(used 50 "$b") $(used 90 "$b")"
done
