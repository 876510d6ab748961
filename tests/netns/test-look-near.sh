#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An event looks at the rails and what can matter to them, not at all that a host has. Whatever happens, it does what
# --apply would do, which looks at everything: afterwards --plan has nothing to do.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
ip -n B link add other type ifb
ip -n B address add 10.9.0.1/16 dev other
ip -n B link set other up
journal_start

settle() { # WHAT: a hook does it all
    wait_until 5 settled B
    with_sys B "$HOOKS/nm-dispatcher" "${2:-ib0}" dhcp4-change
    expect_equal "$1: nothing is left to be done" "[]" "$(hook B --plan --json | jq -c .operations)"
}

settle "three rails"
grep -q '^whole$' /run/ib-hook/* || fail "it is not known that nothing else is left" "$(cat /run/ib-hook/*)"
if [ "$rooted" = yes ] && type strace >/dev/null 2>&1; then
    with_sys B strace -o $work/calls "$HOOKS/nm-dispatcher" ib0 dhcp4-change
    ! grep -q 'RTM_GETADDR.*ifa_index=0' $work/calls || fail "it asked for all addresses" "$(grep RTM_GET $work/calls)"
    ok "it asks for addresses by their NIC"
fi

ip -n B address add 172.16.99.9/32 dev other
settle "an address of another NIC"
on B sysctl -qw net.ipv4.conf.other.rp_filter=1
settle "that NIC is strict: without us nobody would answer for its address"
expect_sysctls B ib0 arp_ignore=0 arp_filter=1
ip -n B address del 172.16.99.9/32 dev other
settle "it is gone"
expect_sysctls B ib0 arp_ignore=1 arp_filter=0

ip -n B address del 172.16.34.2/16 dev ib1
ip -n B address add 172.16.34.2/16 dev other
with_sys B "$HOOKS/nm-dispatcher" ib1 dhcp4-change # the settings of ib1 are spared, as its address may come back
! grep -q 34.2 <<<"$(our_rules B)" || fail "another NIC has the address of a rail: its rules are gone" "$(our_rules B)"
ip -n B address del 172.16.34.2/16 dev other
ip -n B address add 172.16.34.2/16 dev ib1
settle "the rail has it again" ib1

ip -n B rule del from 172.16.34.1 lookup 941
ip -n B route flush table 942
settle "rules and routes of ours are lost"

ip -n B rule add from 172.16.34.3 lookup 500 priority 500
ip -n B route add 172.16.0.0/16 dev ib2 table 500
settle "somebody else routes a rail" ib2
ip -n B rule del priority 500
settle "nobody else does" ib2

ip -n B route add 10.20.0.0/16 via 172.16.34.77 dev ib1
settle "main has a gateway by a rail" ib1
expect_equal "it is in that table" 1 "$(ip -n B route show table 942 | grep -c 10.20.0.0/16)"
ip -n B address add 172.16.34.77/32 dev other
settle "another NIC has the gateway's address"
ip -n B route del 10.20.0.0/16
ip -n B address del 172.16.34.77/32 dev other
settle "main has none"

system_config "[interface ib1]
gateway=172.16.34.78"
ip -n B address add 172.16.34.78/32 dev other
settle "a gateway is configured, and another NIC has its address" ib1
! ip -n B route show table 2942 2>/dev/null | grep -q default || fail "no route goes by it" "$(our_routes B)"
ip -n B address del 172.16.34.78/32 dev other
settle "it has it no more" ib1
expect_equal "there is a route by it" 1 "$(ip -n B route show table 2942 | grep -c default)"
if [ "$rooted" = yes ] && type strace >/dev/null 2>&1; then
    with_sys B strace -o $work/calls "$HOOKS/nm-dispatcher" ib1 dhcp4-change
    expect_equal "it asks for the rules once" 1 "$(grep -c 'send.*RTM_GETRULE' $work/calls)"
fi
system_config ""
settle "no gateway is configured" ib1

ip -n B rule add from all lookup local priority 5000
ip -n B rule del priority 0
settle "the local rule is late"
ip -n B rule add from all lookup local priority 0
ip -n B rule del priority 5000
settle "it is not"

ip -n B link set ib2 down
settle "a NIC is down" ib2
remove_nic B ib2
settle "it is gone" ib2
! grep -q 34.3 <<<"$(our_rules B)" || fail "its rules are gone, too" "$(our_rules B)"
