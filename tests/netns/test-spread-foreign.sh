#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What somebody else has in table 940, or leads there, survives --apply, a second one, switching off and --undo.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
spread=$(config '[defaults]
main=spread')
ip -n B route add 172.16.0.0/16 dev ib0 table 940 metric 2000000000
ip -n B route add 10.9.0.0/16 dev ib1 table 940 metric $MARK proto static
ip -n B route add unreachable 10.8.0.0/16 table 940
ip -n B rule add priority 5500 from all lookup 940
ip -n B rule add priority 4942 fwmark 7 lookup 940 suppress_ifgroup $MARK protocol kernel
ip -n B rule add priority 4943 to 10.7.0.0/16 lookup 940 suppress_ifgroup $MARK protocol kernel
ip -n B rule add priority 4941 from all lookup 939 suppress_ifgroup $MARK protocol kernel
ip -n B -6 rule add priority 4941 from all lookup 940 suppress_ifgroup $MARK protocol kernel
before=$(state B)
theirs() { # all but our rules and routes and the sysctls
    ip -n B -d rule | { grep -v "from \(172.16.34.[12]\|0.0.0.0\) \(to [0-9./]* lookup \(main\|940\)\|lookup 94[12]\) .*suppress_ifgroup $MARK" || true; }
    ip -n B -d -6 rule
    ip -n B route show table 940 | { grep -v -e "^172.16.0.0/16 proto kernel .*$MARK" -e nexthop || true; }
}
foreign=$(theirs)

for round in first second; do
    expect_hook 0 B --config "$spread" --apply
    expect_contains "the $round run: spread" "nexthop dev ib1" "$(ip -n B route show table 940)"
    expect_equal "the $round run: what is foreign" "$foreign" "$(theirs)"
done
expect_hook 0 B --config "$spread" --apply --json
expect_equal "nothing more to do" "[]" "$(json '.operations | tostring')"
applied=$(state B)
ip -n B route replace 172.16.0.0/16 table 940 metric $MARK proto kernel scope link nexthop dev ib0 weight 3 nexthop dev ib1
expect_hook 0 B --config "$spread" --apply
expect_equal "weights of somebody else's are none of ours" "$applied" "$(state B)"
expect_hook 0 B --apply
expect_lacks "switched off" nexthop "$(ip -n B route show table 940)"
expect_equal "switched off: what is foreign" "$foreign" "$(theirs)"
expect_hook 0 B --config "$spread" --apply
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"
