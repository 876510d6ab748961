#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two hosts with two IPoIB NICs each in one subnet. Without ib-hook, all that a peer learns is the first NIC's 20-byte
# hardware address; with it, each address is learned with its own NIC's, and every ping works, in connected mode, too.
# shellcheck source-path=SCRIPTDIR source=ipoib/lib.sh
. "$(dirname "$0")/ipoib/lib.sh"

ipoib_start
set_addresses A B
ask_all A 172.16.34.1 172.16.34.2
expect_answers "before: A learned ib0 for all of B" A B 172.16.34.1=ib0 172.16.34.2=ib0
ask_all B 172.16.16.1 172.16.16.2
expect_answers "before: B learned ib0 for all of A" B A 172.16.16.1=ib0 172.16.16.2=ib0

hook 0 A --apply
hook 0 B --apply
expect_answers "announced: A has learned the right NICs" A B 172.16.34.1=ib0 172.16.34.2=ib1
ask_all A 172.16.34.1 172.16.34.2
expect_answers "asked: A has learned the right NICs" A B 172.16.34.1=ib0 172.16.34.2=ib1
ask_all B 172.16.16.1 172.16.16.2
expect_answers "asked: B has learned the right NICs" B A 172.16.16.1=ib0 172.16.16.2=ib1
pings "every address of B answers A, bound and not" A 172.16.34.1 172.16.34.2
pings "every address of A answers B, bound and not" B 172.16.16.1 172.16.16.2

for host in A B; do
    on $host 'echo connected >/sys/class/net/ib0/mode && echo connected >/sys/class/net/ib1/mode'
done
expect_equal "connected mode has its MTU" 65520 "$(on B 'cat /sys/class/net/ib1/mtu')"
hook 0 B --check
hook 0 B --apply --json
expect_equal "a change of mode leaves nothing to do" false "$(jq .changed <<<"$out")"
on A 'ping -q -n -c 1 -W 3 -M do -s 65000 -I 172.16.16.2 172.16.34.2 >/dev/null'
ok "a packet of 65,028 bytes from rail to rail"
