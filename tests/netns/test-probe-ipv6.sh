#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe of IPv6, alone and together with IPv4.
. "$(dirname "$0")/lib.sh"
[ -d /proc/sys/net/ipv6 ] || skip "no IPv6 here"

make_hosts 2
for host in A B; do
    for i in 0 1; do
        ip -n $host address add "fd00:16::$(host_id $host):$((i + 1))/64" dev ib$i nodad
    done
    wait_until 5 settled $host
    expect_hook 0 $host --apply
done
expect_hook 0 A --probe fd00:16::34:1 fd00:16::34:2 172.16.34.2 --json
expect_equal "every pair of both families" "ib0 fd00:16::16:1 fd00:16::34:1 3 ib0 ib0 $(mac B 0)
ib1 fd00:16::16:2 fd00:16::34:1 3 ib1 ib1 $(mac B 0)
ib0 fd00:16::16:1 fd00:16::34:2 3 ib0 ib0 $(mac B 1)
ib1 fd00:16::16:2 fd00:16::34:2 3 ib1 ib1 $(mac B 1)
ib0 172.16.16.1 172.16.34.2 3 ib0 ib0 $(mac B 1)
ib1 172.16.16.2 172.16.34.2 3 ib1 ib1 $(mac B 1)" \
    "$(json '.pairs[] | "\(.iface) \(.source) \(.peer) \(.received) \(.route_iface) \(.reply_iface) \(.peer_lladdr)"')"
expect_equal "all right" "true" "$(json .ok)"
expect_hook 0 A --probe fd00:16::34:1 172.16.34.1 --family 6 --json
expect_equal "--family 6 leaves IPv4 out" "fd00:16::34:1" "$(json '[.pairs[].peer] | unique | join(" ")')"
expect_hook 0 A --probe fd00:16::34:1 fd00:16::34:2
expect_contains "a matrix" "fd00:16::34:1  fd00:16::34:2" "$out"

# A peer without rules cannot be told by ICMPv6: the kernel answers by the NIC that was asked. Ourselves can.
expect_hook 0 A --undo
forget A B
capture_echoes A 12 expect_hook 1 A --probe fd00:16::34:1 fd00:16::34:2 --json
expect_equal "sent by the rail that was named" "ib0 fd00:16::16:1 ib1 fd00:16::16:2" "$(cut -d ' ' -f 2-3 $work/echoes | sort -u | xargs)"
expect_equal "this host's routing is wrong for one rail" "routed-other-nic" "$(json '[.pairs[].problems[]] | unique | join(" ")')"
expect_equal "by which NIC it would leave" 1 "$(json '[.pairs[].route_iface] | unique | length')"
