#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Another program adds a rule while ours are being read. The kernel hands out many rules in several datagrams, goes on where it
# was by a number, and does not say that something changed: so a rule of ours comes twice, or not at all. It is no second copy,
# and is not missing.
. "$(dirname "$0")/lib.sh"
needs strace

# 32 addresses on each of eight rails: more rules than a datagram holds.
new_host B
make_wire
for n in 0 1 2 3 4 5 6 7; do
    add_nic B ib$n $n "172.16.34.$((n + 1))/16"
    for k in {1..31}; do echo "address add 172.16.$((100 + n)).$k/16 dev ib$n"; done
done >$work/addresses
ip -n B -batch $work/addresses
rdma B ib0 ib1 ib2 ib3 ib4 ib5 ib6 ib7
wait_until 5 settled B
journal_start
manager_calls B "$HOOKS/nm-dispatcher" ib0 up
rules=$(our_rules B)
expect_equal "each address has its rules" 512 "$(wc -l <<<"$rules")"

# Which call receives the first datagram of them: the dump was begun with the request, and is continued while that is handed out.
trace() { with_sys B strace -qq -o $work/trace -e trace=sendmsg,recvmsg "$@" "$HOOKS/nm-dispatcher" ib0 up </dev/null; }
trace
number=$(awk '/^recvmsg/ { n++ } asked && /^recvmsg/ { print n; exit } /RTM_GETRULE/ && !/AF_INET6/ { asked = 1 }' $work/trace)
[ -n "$number" ] || fail "the hook asks for the rules" "$(head -n 20 $work/trace)"
big=$(awk '/RTM_NEWRULE/ && / = [0-9]+$/ && $NF > 16384' $work/trace | wc -l)
expect_at_least "datagrams full of rules" 1 "$big"

# meanwhile WHAT COMMAND…: the same, with something done in between
asks() { grep -q RTM_GETRULE $work/trace; }
meanwhile() {
    local from hook
    from=$(($(journal_lines) + 1))
    : >$work/trace
    trace -e "inject=recvmsg:delay_enter=2000000:when=$number" &
    hook=$!
    wait_until 5 asks
    "${@:2}"
    wait $hook || fail "$1: the hook ends with 0" "got $?"
    expect_equal "$1: our rules are the same" "" "$(diff <(echo "$rules") <(our_rules B) || true)"
    expect_equal "$1: the hook has nothing to say" "" "$(journal "$from")"
}
meanwhile "a rule of another program is added, and one of ours comes twice" ip -n B rule add priority 100 from 10.10.10.10 lookup 77
meanwhile "it is deleted, and one of ours does not come" ip -n B rule del priority 100
