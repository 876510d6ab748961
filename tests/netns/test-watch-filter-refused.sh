#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --watch has the kernel filter events. Where the kernel has too little memory for the filter of many subnets, it refuses it;
# the old one, which drops events of new subnets, must not stay in its place.
. "$(dirname "$0")/lib.sh"
needs strace
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

make_hosts 2 B
on B sh -c 'echo 20480 >/proc/sys/net/core/optmem_max' 2>/dev/null || skip "net.core.optmem_max is not of the namespace (Linux 6.8)"
journal_start
watch_start B
strace -qq -o $work/trace -e trace=setsockopt -p "$watch" &
is_traced() { ! grep -q '^TracerPid:.0$' "/proc/$watch/status"; }
wait_until 5 is_traced
wait_until 5 calm
has_all() { [ "$(ip -n B route show table 942 | grep -c '^10\.60\.')" = "$1" ]; }
for last in 30 60; do # the kernel counts the old filter, too, while the new one comes
    for ((n = last - 29; n <= last; n++)); do echo "address add 10.60.$n.1/24 dev ib1"; done >$work/addresses
    ip -n B -batch $work/addresses
    wait_until 10 has_all $last
    wait_until 5 calm
done
refused() { grep -q 'SO_ATTACH_FILTER.* ENOMEM ' $work/trace; }
wait_until 5 refused
for n in 1 60; do
    ip -n B route replace 10.60.$n.0/24 dev ib1 proto static scope link src 10.60.$n.1 mtu 1400
    carried() { ip -n B route show table 942 "10.60.$n.0/24" | grep -q ' mtu 1400'; }
    wait_until 5 carried
    ok "a change of main's route to subnet $n is heard"
done
