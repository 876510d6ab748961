#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A NIC that is taken down and up seven times in some seconds, with its address, is no fight: nobody but --watch itself undoes
# what --watch did. A sysctl that another program sets back each time is one.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
watch_start B
ignores() { [ "$(on B cat /proc/sys/net/ipv4/conf/ib1/arp_ignore)" = "$1" ]; }
wait_until 5 ignores 1

for _ in $(seq 7); do
    ip -n B link set ib1 down
    ip -n B address del 172.16.34.2/16 dev ib1
    wait_until 5 ignores 0
    ip -n B address add 172.16.34.2/16 dev ib1
    ip -n B link set ib1 up
    wait_until 5 ignores 1
done
expect_equal "no warning" "" "$(journal 1 | sed -n "/keeps undoing/p")"

# Nothing reports these sysctls; --watch looks at them with the next event.
complained() { journal 1 | grep -q "another program keeps undoing.*arp_ignore"; }
for n in $(seq 200); do
    ! complained || break
    on B sh -c "echo 0 >/proc/sys/net/ipv4/conf/ib1/arp_ignore; ip rule add from 9.9.9.$n lookup 99"
    wait_until 5 ignores 1
done
wait_until 5 complained
ok "a sysctl that is set back each time is a fight"
watch_stop
