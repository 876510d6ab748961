#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rules and tables of others: where they lead an address by its NIC, it gets no rules of ours; where a piece of that is
# missing, ours are there. A function of their state alone, with packets, both families.
. "$(dirname "$0")/lib.sh"

make_hosts 2 A B
for host in A B; do
    for i in 0 1; do ip -n $host address add "fd00:16::$(host_id $host):$((i + 1))/64" dev ib$i nodad; done
done
hook A --apply
serve A B

# Which of B's addresses have rules of ours.
ours() {
    { ip -n B rule && ip -n B -6 rule; } | awk '
        /suppress_ifgroup/ && $4 == "lookup" && $5 != "main" {
            print "ib" substr($3, length($3)) - 1 ($3 ~ /:/ ? "/6" : "/4")
        }' | sort | xargs
}

v4_right() { # pairs of B's addresses with A's between their own NICs
    local i j
    for i in 1 2; do
        for j in 1 2; do
            flow_on B --from 172.16.34.$i --to 172.16.16.$j --expect-iface ib$((i - 1)) --expect-server ib$((j - 1)) --count 5 |
                jq 'select(.right == 5) | 1'
        done
    done | wc -l
}

sent6() { ip -n B -j -s link show "$1" | jq '.[0].stats64.tx.packets'; }

v6_right() { # echoes of each of B's addresses to each of A's leave by its own NIC: how many pairs of four
    local i j before right=0
    for i in 1 2; do
        for j in 1 2; do
            before=$(sent6 ib$((i - 1)))
            on B ping -6 -q -n -c 20 -i 0.002 -W 1 -I fd00:16::34:$i fd00:16::16:$j >/dev/null || true
            [ $(($(sent6 ib$((i - 1))) - before)) -lt 20 ] || right=$((right + 1))
        done
    done
    echo $right
}

others_have() { # WHAT OURS: --apply gives rules of ours to these alone, twice the same, and all packets go right
    expect_hook 0 B --apply
    expect_equal "$1: who needs rules of ours" "$2" "$(ours)"
    expect_hook 0 B --apply --json
    expect_equal "$1: a second --apply changes nothing" false "$(json .changed)"
    expect_equal "$1: IPv4, pairs of four" 4 "$(v4_right)"
    expect_equal "$1: IPv6, pairs of four" 4 "$(v6_right)"
}

route() { # add|del: the subnets in tables 100 and 101
    local i
    for i in 0 1; do
        ip -n B route "$1" 172.16.0.0/16 dev ib$i src 172.16.34.$((i + 1)) table $((100 + i))
        ip -n B route "$1" fd00:16::/64 dev ib$i table $((100 + i))
    done
}

rule() { # add|del PRIORITY
    local i
    for i in 0 1; do
        ip -n B rule "$1" priority "$2" from 172.16.34.$((i + 1)) lookup $((100 + i))
        ip -n B -6 rule "$1" priority "$2" from fd00:16::34:$((i + 1)) lookup $((100 + i))
    done
}

all="ib0/4 ib0/6 ib1/4 ib1/6"
others_have "nothing of others" "$all"
rule add 1000
others_have "rules that lead to empty tables" "$all"
route add
others_have "rules and tables" ""
for nic in ib0 ib1; do expect_sysctls B $nic arp_ignore=1 arp_announce=2; done
expect_hook 0 B --show --verbose
expect_contains "--show names their rule" "from 172.16.34.2/32 lookup 101" "$(tr -s "[:space:]" " " <<<"$out")"
expect_hook 0 B --check

# The hosts look alike whatever came first.
rule del 1000
others_have "their rules went" "$all"
rule add 32763
others_have "their rules come after ours" ""
ip -n B route del 172.16.0.0/16 dev ib1 table 101
others_have "one of their routes went" "ib1/4"
ip -n B route add 172.16.0.0/17 dev ib1 table 101
others_have "half of the subnet" "ib1/4"
ip -n B route add 172.16.128.0/17 dev ib1 table 101
others_have "both halves" ""
ip -n B route add blackhole default table 101
others_have "a kill switch" ""
ip -n B route del 172.16.128.0/17 dev ib1 table 101
expect_hook 0 B --apply
expect_equal "a kill switch that has a half of the subnet, too, is meant" "" "$(ours)"
ip -n B route add 172.16.128.0/17 dev ib1 table 101
ip -n B route del blackhole default table 101

# A peer by a gateway of theirs, more exact than the subnet: it stays theirs.
ip -n B route add 172.16.77.0/24 via 172.16.16.1 dev ib1 table 101
others_have "a piece by a gateway" ""
expect_contains "and the kernel uses it" "via 172.16.16.1 dev ib1" "$(ip -n B route get 172.16.77.1 from 172.16.34.2)"

# Main without the subnet.
for i in 0 1; do ip -n B route del 172.16.0.0/16 dev ib$i table main; done
rule del 32763
rule add 40000
expect_hook 0 B --apply
expect_equal "main lacks the subnet, their rules come after it: IPv6 has rules of ours" "ib0/6 ib1/6" "$(ours)"
for i in 0 1; do ip -n B route append 172.16.0.0/16 dev ib$i proto kernel scope link src 172.16.34.$((i + 1)); done
others_have "main has it again" "$all"
rule del 40000

# Their part comes and goes while traffic runs: what goes while neither is there is all that may be lost, and here the
# hook follows at once.
traffic_start
for round in 1 2 3; do
    rule add 1000
    hook B --apply >/dev/null
    expect_equal "round $round: theirs" "" "$(ours)"
    ip -n B rule add priority 999 from 172.16.0.0/16 to 172.16.0.0/16 lookup main suppress_prefixlength 16
    hook B --apply >/dev/null
    ip -n B rule del priority 999
    ip -n B rule add priority 1001 from 172.16.34.2 lookup 101
    ip -n B rule del priority 1000 from 172.16.34.2
    hook B --apply >/dev/null
    ip -n B rule del priority 1001
    ip -n B rule add priority 1000 from 172.16.34.2 lookup 101
    rule del 1000
    hook B --apply >/dev/null
    expect_equal "round $round: ours" "$all" "$(ours)"
done
traffic_stop
expect_settled_right "their part comes and goes"

# Gone as it came.
rule add 1000
hook B --apply >/dev/null
before=$(foreign_state B | grep -v /arp_)
expect_hook 0 B --undo
expect_nothing_of_ours B
expect_equal "what is not ours stays" "$before" "$(foreign_state B | grep -v /arp_)"
