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
expect_equal "no warning" "" "$(journal 1 | grep "again and again" || true)"

# Nothing reports these sysctls: a signal makes --watch look. One process does all, so that a slow machine is fast enough.
complained() { journal 1 | grep -q "something undoes again and again.*arp_ignore"; }
# shellcheck disable=SC2016 # for the inner shell
on B timeout 60 bash -c 'file=/proc/sys/net/ipv4/conf/ib1/arp_ignore
    for _ in 1 2 3 4 5 6 7 8; do
        echo 0 >$file
        kill -HUP "$1"
        for ((n = 0; n < 100; n++)); do [ "$(<$file)" = 0 ] || break; read -rt .05 <> <(:) || true; done
    done' bash "$watch"
wait_until 5 complained
ok "a sysctl that is set back each time is a fight"
watch_stop
