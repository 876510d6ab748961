#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A foreign rule for all but a network (not from) decides before the managers' source rules: the table that it leads to is read,
# and the rails keep rules of ours. And a default of IPv4 via a global IPv6 gateway, with remote=: each rail has a way to the
# gateway, and no rule of IPv4 leads there. And main=spread leaves to main a subnet that main has with an MTU of its own.
. "$(dirname "$0")/lib.sh"

make_hosts 2
arrives() { on B ping -q -c 1 -W 1 "$@" >/dev/null && echo arrives || echo lost; }

ip -n B link add tun9 type bridge
ip -n B address add 10.88.0.1/16 dev tun9
ip -n B link set tun9 up
expect_hook 0 B --apply
for n in 0 1; do
    ip -n B route add 172.16.0.0/16 dev ib$n table 10$n
    ip -n B rule add from 172.16.34.$((n + 1)) lookup 10$n priority 500$n
done
ip -n B route add default dev tun9 table 200 protocol static
ip -n B rule add not from 10.88.0.0/16 lookup 200 priority 3000
expect_hook 0 B --apply
expect_equal "not from: traffic of ib1 still arrives" arrives "$(arrives -I 172.16.34.2 172.16.16.1)"
expect_hook 0 B --undo
ip -n B rule del not from 10.88.0.0/16 lookup 200 priority 3000
for n in 0 1; do ip -n B rule del from 172.16.34.$((n + 1)) lookup 10$n priority 500$n; done

for n in 0 1; do
    ip -n B address add fd00:16::34:$((n + 1))/64 dev ib$n nodad
    ip -4 -n B route add default via inet6 fd00:16::fe dev ib$n metric 10$n
done
wait_until 5 settled B
expect_hook 0 B --config "$(config "[interface ib*]
remote=10.0.0.0/8")" --apply
for n in 0 1; do
    expect_contains "ib$n: remote= via an IPv6 gateway" "10.0.0.0/8 via inet6 fd00:16::fe dev ib$n" \
        "$(ip -n B route show table $((941 + n)))"
done
expect_hook 0 B --undo

for n in 0 1; do
    ip -n B address flush dev ib$n scope global
    ip -n B address add 172.16.34.$((n + 1))/16 dev ib$n noprefixroute
    ip -n B route append 172.16.0.0/16 dev ib$n proto static scope link src 172.16.34.$((n + 1)) metric 10$n mtu lock 1400
    ip -n A link set ib$n mtu 1400
done
expect_hook 0 B --config "$(config "[defaults]
main=spread")" --apply
expect_equal "main=spread: a large packet from an unbound socket" arrives "$(arrives -M dont -s 1472 172.16.16.1)"
expect_equal "main=spread: and from a rail" arrives "$(arrives -M dont -s 1472 -I 172.16.34.2 172.16.16.1)"
