#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# IPv6 keeps a route for each host whose path has a smaller MTU. Such a route of the main table is a /128, so our rules to
# main find it, and it leads the packets of all rails through one NIC. --check names the route, also among many.
. "$(dirname "$0")/lib.sh"

make_hosts 2
for n in 1 2; do
    ip -n A address add fd00:16::16:$n/64 dev ib$((n - 1)) nodad
    ip -n B address add fd00:16::34:$n/64 dev ib$((n - 1)) nodad
done
ip -n A address add fd00:9::1/64 dev lo
ip -n B route add fd00:9::/64 via fd00:16::16:1 dev ib0
for host in A B; do wait_until 5 settled $host; done
expect_hook 0 A --apply

# What a router sends about the management address's packets to N hosts: too big.
cat >$work/too_big.py <<'EOS'
import socket, struct, sys
wire = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
for n in range(1, int(sys.argv[1]) + 1):
    to = socket.inet_pton(socket.AF_INET6, "fd00:16::34:%x" % n)
    quote = struct.pack("!IHBB", 0x60000000, 1400, 58, 64) + socket.inet_pton(socket.AF_INET6, "fd00:9::1") + to
    wire.sendto(struct.pack("!BBHI", 2, 0, 0, 1300) + quote + b"\x80\0\0\0\0\1\0\1" + bytes(64), ("fd00:9::1", 0))
EOS
kept() { [ "$(ip -n A -6 route show table cache | grep -c "^fd00:16::34:")" = "$1" ]; }
receive_too_big() { # N
    nsenter --net=/run/netns/B python3 $work/too_big.py "$1"
    wait_until 5 kept "$1"
    ok "the kernel keeps them: $1"
    expect_hook 1 A --check --json
}

receive_too_big 1
expect_equal "one route leads the other rail's packets astray" "error foreign-route ib1" "$(codes)"
expect_contains "which it is" "fd00:16::16:2 to fd00:16::34:1 leaves through ib0" "$(messages)"
paste=$(json '.findings[].fix')
expect_equal "the fix deletes the route alone" "sudo ip -6 route flush cache fd00:16::34:1" "$paste"
on A sh -c "${paste#sudo }"
expect_hook 0 A --check
receive_too_big 300
expect_contains "more than --check looks at are no fewer" "error foreign-route ib1" "$(codes)"
on A ip -6 route flush cache
expect_hook 0 A --check
