#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How many rules there are depends on a rail's own addresses alone, two each and two more where it has a default route, whatever
# neighbours announce and daemons add; and an event stays as quick.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start

rules() {
    state B | grep -c "suppress_ifgroup $MARK" || true
}

expect_at_most() { # WHAT MOST GOT
    [ "$3" -le "$2" ] || fail "$1" "expected at most $2, got $3"
    ok "$1: $3"
}

# cost: milliseconds of a processor that an event takes with which nothing is to do, the least of five
cost() {
    local i least=1000000 took
    for ((i = 0; i < 5; i++)); do
        took=$( (TIMEFORMAT='%3U %3S' && time with_sys B env -i "$HOOKS/networkd-dispatcher" </dev/null) 2>&1 |
            awk '{ print int(($1 + $2) * 1000) }')
        [ "$took" -ge "$least" ] || least=$took
    done
    echo "$least"
}

an_event() {
    manager_calls B IFACE=ib0 MODE=start PHASE=post-up "$HOOKS/ifupdown"
}

an_event
expect_equal "two rules an address" 4 "$(rules)"
plain=$(cost)

# 14 addresses on each NIC, each in a prefix of its own, as routers make them; and a default route by each.
for n in 0 1; do
    for ((i = 1; i < 14; i++)); do echo "address add fd00:$i::34:$((n + 1))/64 dev ib$n nodad valid_lft 3600 preferred_lft 3600"; done
    echo "route add default via fe80::1 dev ib$n metric 10$n proto ra"
    echo "route add default via 172.16.0.254 dev ib$n metric 10$n"
done >$work/addresses
ip -n B -batch $work/addresses
wait_until 5 settled B
an_event
expect_at_most "rules of 28 addresses on two NICs with a default route by each" 120 "$(rules)"
expect_hook 0 B --check

# 480 prefixes on the wire without an address of ours, and a daemon's 513 networks.
before=$(rules)
for ((i = 0; i < 480; i++)); do
    printf 'route add fd01:%x::/64 dev ib%d proto kernel metric 256\n' $i $((i % 2))
done >$work/prefixes
for ((i = 0; i < 513; i++)); do
    echo "route add 10.$((i / 200)).$((i % 200)).0/24 via 172.16.0.254 dev ib0 proto bgp"
done >$work/networks
for many in prefixes networks; do
    ip -n B -batch $work/$many
    an_event
    expect_equal "$many of others make no rule" "$before" "$(rules)"
    expect_equal "$many of others make no route of ours" 0 "$(state B | grep -cE "^(fd01:|10\.).* metric $MARK" || true)"
    expect_at_most "milliseconds of an event among $many (without: $plain)" $((plain + 60)) "$(cost)"
    expect_hook 0 B --check
done

# When they are gone, all is as it began.
before=$(ip -n B -d rule; ip -n B -d -6 rule)
undo() { # FILE: what it added
    sed 's/ add / del /; s/ nodad//' "$work/$1" >$work/undone
    ip -n B -batch $work/undone
}
undo prefixes
undo networks
an_event
expect_equal "their end changes nothing" "$before" "$(ip -n B -d rule; ip -n B -d -6 rule)"
undo addresses
expect_hook 0 B --apply
expect_equal "when the addresses are gone, so are their rules" 4 "$(rules)"
