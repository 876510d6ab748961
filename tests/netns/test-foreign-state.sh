#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rules, routes, tables and sysctls of others survive --apply and --undo, even those that look like ours: in the
# kernel an attribute that a delete does not name matches anything.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
# Each is a rule of ours but for one thing.
ip -n B rule add priority 1941 from 172.16.34.1 lookup 941
ip -n B rule add priority 1941 from 172.16.34.1 lookup 941 suppress_prefixlength 0 protocol kernel
ip -n B rule add priority 1941 from 172.16.34.1 lookup 941 suppress_prefixlength 0 suppress_ifgroup 7 protocol kernel
ip -n B rule add priority 1942 from 172.16.34.1 fwmark 5 lookup 941 suppress_prefixlength 0 suppress_ifgroup $MARK protocol kernel
ip -n B rule add priority 1942 from 172.16.34.1 to 10.0.0.0/8 lookup 941 suppress_prefixlength 0 suppress_ifgroup $MARK protocol kernel
ip -n B rule add priority 1942 from 172.16.34.1 iif lo lookup 941 suppress_prefixlength 0 suppress_ifgroup $MARK protocol kernel
ip -n B rule add priority 1942 from 172.16.34.1 ipproto 6 dport 22 lookup 941 suppress_prefixlength 0 suppress_ifgroup $MARK protocol kernel
ip -n B rule add priority 1941 not from 172.16.34.1 lookup 9999 suppress_prefixlength 0 suppress_ifgroup $MARK protocol kernel
ip -n B rule add priority 1941 from 172.16.34.0/24 lookup 9999 suppress_prefixlength 0 suppress_ifgroup $MARK protocol kernel
ip -n B rule add priority 100 from all fwmark 0x10 lookup 700
ip -n B rule add priority 30000 from 10.0.0.0/8 lookup 700
ip -n B rule add priority 30001 to 192.0.2.0/24 blackhole
# Routes: in other tables, in ours, with our metric, in main.
ip -n B route add default via 172.16.16.1 dev ib0 table 700
ip -n B route add 10.9.0.0/16 dev ib0 table 941
ip -n B route add 172.16.64.0/18 dev ib0 scope link src 172.16.34.1 table 941 proto static metric 50
ip -n B route add 10.10.0.0/16 dev ib1 table 942 proto static metric $MARK
ip -n B route add blackhole 10.11.0.0/16 table 942 proto kernel
ip -n B route add 10.12.0.0/16 via 172.16.16.1 dev ib0
ip -n B route add 10.13.0.0/16 dev ib1 metric $MARK proto boot
sysctl_set B ib0 accept_local 1
sysctl_set B default arp_announce 1
# With numbers that nobody asks for, ib-hook would choose other tables.
system_config '[interface ib0]
table=941
[interface ib1]
table=942'
before=$(state B)

routing_of_others() {
    ip -n B -d rule | grep -v "from 172.16.34.[125] \(to [0-9./]* lookup main suppress_prefixlength [0-9]*\|lookup 94[12]\) suppress_ifgroup $MARK proto kernel *$"
    ip -n B route show table all | grep -v "proto kernel.* metric $MARK *$"
}
others=$(routing_of_others)
expect_hook 0 B --apply
expect_contains "it did something" "$(own_rule 172.16.34.1 941)" "$(our_rules B)"
expect_contains "it did something" "$(own_rule 172.16.34.2 942)" "$(our_rules B)"
expect_contains "it did something" "$(route_line 172.16.0.0/16 ib0 941 172.16.34.1)" "$(our_routes B)"
expect_contains "it did something" "$(route_line 172.16.0.0/16 ib1 942 172.16.34.2)" "$(our_routes B)"
expect_equal "what others have after --apply" "$others" "$(routing_of_others)"
expect_hook 0 B --apply --json
expect_equal "nothing is left to do" false "$(json .changed)"
expect_sysctls B ib0 accept_local=1
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"

# The garbage of an address that went away: its rules go, the foreign ones of the same address stay.
expect_hook 0 B --apply
ip -n B address del 172.16.34.1/16 dev ib0
ip -n B address add 172.16.34.5/16 dev ib0
others=$(routing_of_others | grep ^1941)
expect_hook 0 B --apply
expect_lacks "our rule of the old address is gone" "$(own_rule 172.16.34.1 941)" "$(our_rules B)"
expect_equal "the others of that address stay" "$others" "$(routing_of_others | grep ^1941)"
