#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel with ipv6.disable=1: no IPv6 sysctls, no IPv6 rules, no link-local GIDs. IPv4 and RDMA work as ever.
. "$(dirname "$0")/lib.sh"

make_hosts 2 append=ipv6.disable=1
expect_contains "there is no IPv6" "No such file" "$(vm A 'ls /proc/sys/net/ipv6 2>&1 || true')"
for host in A B; do
    expect_hook 0 $host --apply
    expect_rails $host ib0 ib1
    expect_hook 0 $host --plan --json
    expect_equal "a second --apply on $host would change nothing" "false" "$(json .changed)"
done
expect_equal "every neighbour entry names the right NIC" 8 "$(learned 2)"
rping_serve 2
for i in 0 1; do
    for j in 0 1; do expect_rdma $i $j "ib$i>ib$j"; done
done
for host in A B; do expect_hook 0 $host --undo; done
