#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which IPv6 addresses have a rule: every global one that is proved to be the host's own. One that is being checked keeps
# what it has and gets nothing.
. "$(dirname "$0")/lib.sh"

rules6() {
    ip -n B -6 -d rule show | { grep -w "suppress_ifgroup $MARK" || true; } | { grep -v ' lookup main ' || true; } | sed 's/.*from \([^ ]*\) lookup \([^ ]*\) .*/\1 \2/' |
        sort | xargs
}

routes6() {
    ip -n B -6 route show table all | { grep -w "metric $MARK" || true; } | sed 's/\(.* table [0-9]*\) .*/\1/' | tidy
}

set6() { # NIC KEY VALUE
    on B sh -c "echo $3 > /proc/sys/net/ipv6/conf/$1/$2"
}

flagged() { # FLAG ADDRESS
    [ -n "$(ip -n B -6 address show to "$2" "$1")" ]
}

applied() { # WHAT RULES: --apply makes them, and a second one has nothing to do
    expect_hook 0 B --apply
    expect_equal "$1" "$2" "$(rules6)"
    expect_hook 0 B --apply --json
    expect_equal "$1: a second --apply changes nothing" false "$(json .changed)"
}

make_hosts 2
ip -n A address add fd00:16::16:1/64 dev ib0
wait_until 5 settled A
before=$(state B)
rules="fd00:16::34:1 941 fd00:16::34:2 942"
expect_hook 0 B --apply
expect_equal "link-local addresses alone: no rule" "" "$(rules6)"
for i in 1 2; do ip -n B address add fd00:16::34:$i/64 dev ib$((i - 1)); done
wait_until 5 settled B
applied "one each" "$rules"
expect_equal "their routes" "fd00:16::/64 dev ib0 table 941
fd00:16::/64 dev ib1 table 942" "$(routes6)"
expect_equal "IPv4 beside them" "$(own_rule 172.16.34.1 941)
$(own_rule 172.16.34.2 942)" "$(own_rules B)"

# Being checked for duplicates: a second or two.
set6 ib1 accept_dad 1
ip -n B address add fd00:16::34:9/64 dev ib1
expect_equal "the new address is tentative" yes "$(flagged tentative fd00:16::34:9 && echo yes)"
applied "a tentative address has no rule" "$rules"
wait_until 5 settled B
applied "then it has one" "$rules fd00:16::34:9 942"
ip -n B address delete fd00:16::34:9/64 dev ib1
applied "and none when it is gone" "$rules"

# Its link comes back: the address is checked again, and its rule stands meanwhile.
set6 ib1 keep_addr_on_down 1
ip -n B link set ib1 down
ip -n B link set ib1 up
expect_equal "the address is tentative again" yes "$(flagged tentative fd00:16::34:2 && echo yes)"
expect_hook 0 B --apply
expect_equal "its rule stands" "$rules" "$(rules6)"
wait_until 5 settled B
applied "and is complete when it is checked" "$rules"
expect_contains "with its route" "fd00:16::/64 dev ib1 table 942" "$(routes6)"

# Another host has it.
ip -n B address add fd00:16::16:1/64 dev ib1
wait_until 5 flagged dadfailed fd00:16::16:1
applied "an address that another host has gets no rule" "$rules"
ip -n B address delete fd00:16::16:1/64 dev ib1

ip -n B address add fd00:17::34:2/64 dev ib1 preferred_lft 0
wait_until 5 settled B
expect_equal "the address is deprecated" yes "$(flagged deprecated fd00:17::34:2 && echo yes)"
applied "a deprecated address has a rule" "$rules fd00:17::34:2 942"
expect_contains "and its prefix a route" "fd00:17::/64 dev ib1 table 942" "$(routes6)"
ip -n B address delete fd00:17::34:2/64 dev ib1
ip -n B address add fd00:99::9/128 dev ib0
wait_until 5 settled B
applied "a VIP has a rule" "$rules fd00:99::9 941"
expect_equal "but no route" "fd00:16::/64 dev ib0 table 941
fd00:16::/64 dev ib1 table 942" "$(routes6)"
expect_hook 0 B --check

expect_hook 0 B --undo
expect_lacks "--undo leaves nothing" "$MARK" "$(state B)"
expect_lacks "nor was there anything before" "$MARK" "$before"
