#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What others do to the rails' traffic: one finding for each cause, with the object that is the cause, and the rails that it
# hits; a fix is printed only if it cures, and its pasting cures.
. "$(dirname "$0")/lib.sh"

make_hosts 8 B
expect_hook 0 B --apply
expect_hook 0 B --check
expect_equal "eight rails that are right: nine lines" 9 "$(grep -vc '^host' <<<"$out")"
expect_equal "as it says, nothing arrives that was not asked" "" "$(grep arrives <<<"$out" || true)"
expect_hook 0 B --check --verbose
[ "$(wc -l <<<"$out")" -lt 30 ] || fail "--verbose has less than 30 lines" "$out"
right=$(state B)

# row WHAT FOUND COMMANDS: of the findings "NICS SEVERITY CODE: OWNER, …"; a line of COMMANDS breaks, one with ~ takes it back
row() {
    local fix status=1
    local -a words
    [ -n "$2" ] || status=0
    while read -ra words; do [[ "${words[0]}" == "~"* ]] || ip -n B "${words[@]}"; done <<<"$3"
    expect_hook $status B --check --json
    expect_equal "$1" "$2" \
        "$(json '[.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.severity) \(.code): \(.owner)"] | join(", ")')"
    fix=$(json '[.findings[] | select(.severity != "info") | .fix] | if all then join("\n") else "" end')
    case $fix in *"priority 0"* | *"table 255"* | *"table local"* | *"$MARK"*) fail "$1: the fix is no harm" "$fix" ;; esac
    if [ -n "$fix" ]; then
        as_pasted B "$fix" >/dev/null
        expect_hook 0 B --check
        expect_equal "$1: the fix takes nothing of ours" "$(own <<<"$right")" "$(state B | own)"
    fi
    while read -ra words; do [[ "${words[0]}" != "~" ]] || ip -n B "${words[@]:1}" 2>/dev/null || true; done <<<"$3"
    expect_equal "$1: taken back" "$(own <<<"$right")" "$(state B | own)"
}
crowd() { # TABLE
    awk -v table="$1" 'BEGIN { for (i = 0; i <= 10000; i++)
        printf "route add 20.%d.%d.0/24 dev lo proto bgp table %s\n", i / 256, i % 256, table }'
}
crowd main >$work/crowd
crowd 700 >$work/crowd700
own() { grep -F "$MARK"; }
all=ib0+ib1+ib2+ib3+ib4+ib5+ib6+ib7
but_ib0=${all#ib0+}

row "a rule from a part of the subnet, to a default by a peer" \
    "ib0+ib1+ib2 error foreign-rule: rule 1000: from 172.16.34.0/30 lookup 700" \
    "route add default via 172.16.16.1 dev ib0 table 700
rule add priority 1000 from 172.16.34.0/30 lookup 700
~ rule del priority 1000
~ route flush table 700"
for protocol in 1 6 17; do # of ICMP, TCP, UDP: a minimal system has no names for them
    row "of a protocol, which no packet of RDMA has: $protocol" "" \
        "rule add prio 1024 from 172.16.34.2 ipproto $protocol lookup 700
route add blackhole default table 700
~ rule del prio 1024
~ route del blackhole default table 700"
done
row "a mark of Kubernetes' that no packet of RDMA has" "" \
    "rule add priority 1024 fwmark 0x80/0x80 lookup main
~ rule del priority 1024"
lead_by() { # WHAT RULE: a rule of others leads a part of the subnet by ib0
    row "$1" "$but_ib0 error foreign-rule: rule 1024: from all to 172.16.20.0/24 $2" \
        "route add default dev ib0 table 700
rule add priority 1024 to 172.16.20.0/24 $2
~ rule del priority 1024
~ route flush table 700"
}
lead_by "a mark whose bits its mask does not ask for" "fwmark 0x10/0xf lookup 700"
lead_by "an accounting class, which matches nothing" "lookup 700 realms 5"
row "a daemon's route by a gateway that is our own address" \
    "$all error foreign-route: route 172.16.34.0/25 via 172.16.34.1 dev ib0 table main proto zebra" \
    "route add 172.16.34.0/25 via 172.16.34.1 dev ib0 proto zebra
~ route del 172.16.34.0/25"
row "that route, among 10,001 of a daemon to other networks" \
    "$all error foreign-route: route 172.16.34.0/25 via 172.16.34.1 dev ib0 table main proto zebra" \
    "-batch $work/crowd
route add 172.16.34.0/25 via 172.16.34.1 dev ib0 proto zebra
~ route del 172.16.34.0/25
~ route flush proto bgp"
row "and in the table of a rule" \
    "$but_ib0 error foreign-rule: rule 1000: from 172.16.34.0/24 lookup 700" \
    "-batch $work/crowd700
route add 172.16.34.0/25 dev ib0 table 700
rule add priority 1000 from 172.16.34.0/24 lookup 700
~ rule del priority 1000
~ route flush table 700"
row "a neighbour as a broadcast" \
    "$all error foreign-route: route broadcast 172.16.16.9/32 dev ib0 table local proto boot" \
    "route add broadcast 172.16.16.9 dev ib0 table local
~ route del broadcast 172.16.16.9 dev ib0 table local"
row "a neighbour as an address of ours" \
    "$all error foreign-route: route local 172.16.16.9/32 table local proto boot, $all warning sysctl-wrong: null" \
    "route add local 172.16.16.9 dev lo table local
~ route del local 172.16.16.9 dev lo table local"
row "a part of the subnet as addresses of lo" \
    "$all error foreign-route: route local 172.16.20.0/24 table local proto kernel" \
    "route add local 172.16.20.0/24 dev lo table local proto kernel
~ route del local 172.16.20.0/24 dev lo table local"
row "main refuses a part of the subnet: one route, one command" \
    "$all warning foreign-route: route prohibit 172.16.20.0/24 table main proto boot" \
    "route add prohibit 172.16.20.0/24
~ route del prohibit 172.16.20.0/24"
row "main leads the whole subnet to a NIC that is not in it" \
    "ib0 warning foreign-route: route 172.16.0.0/16 dev lo table main proto boot" \
    "route prepend 172.16.0.0/16 dev lo
~ route del 172.16.0.0/16 dev lo"
row "not to a part of the subnet" \
    "$but_ib0 error foreign-rule: rule 1000: not from all to 172.16.0.0/17 lookup main" \
    "rule add priority 1000 not to 172.16.0.0/17 lookup main
~ rule del priority 1000"
row "a jump over main" \
    "ib0 error foreign-rule: rule 1942: from all to 172.16.99.0/24 iif lo goto 32767" \
    "rule add priority 1942 from all to 172.16.99.0/24 iif lo goto 32767
~ rule del priority 1942"
row "one rule, seven rails" \
    "$but_ib0 error foreign-rule: rule 500: from 172.16.34.0/24 lookup 700" \
    "route add 172.16.0.0/17 dev ib0 table 700
rule add priority 500 from 172.16.34.0/24 lookup 700
~ rule del priority 500
~ route flush table 700"
row "a rule for all to a table that is right for its own rule" \
    "$all error foreign-rule: rule 1000: from all lookup 700" \
    "route add 10.56.0.0/16 dev lo table 700
route add blackhole default table 700
rule add priority 900 from 10.55.0.0/16 lookup 700
rule add priority 1000 lookup 700
~ rule del priority 1000
~ rule del priority 900
~ route flush table 700"
row "what is bound to a NIC leaves through it, even where a rule refuses" "" \
    "rule add priority 100 oif ib1 unreachable
~ rule del priority 100"
row "a gateway for what is bound to a NIC" \
    "ib1 warning foreign-rule: rule 100: from all oif ib1 lookup 700" \
    "route add default via 172.16.16.1 dev ib1 table 700
rule add priority 100 oif ib1 lookup 700
~ rule del priority 100
~ route flush table 700"

# What an object does beside the harm: there is no command, and the advice says it.
harms() { # WHAT HARMED COMMANDS
    local -a words
    while read -ra words; do [[ "${words[0]}" == "~"* ]] || ip -n B "${words[@]}"; done <<<"$3"
    expect_hook 1 B --check --json
    expect_equal "$1: no command" null "$(json '[.findings[] | select(.severity != "info")][0].fix')"
    expect_contains "$1: what else it does" "$2" "$(json '[.findings[] | select(.severity != "info")][0].advice')"
    while read -ra words; do [[ "${words[0]}" != "~" ]] || ip -n B "${words[@]:1}"; done <<<"$3"
}
harms "the rail's only way to another network" "172.16.34.2 to 10.50.0.0/16 leaves through ib1 via 172.16.16.1" \
    "route add 172.16.0.0/16 dev ib0 table 200
route add 10.50.0.0/16 via 172.16.16.1 dev ib1 table 200
rule add priority 100 from 172.16.34.2 lookup 200
~ rule del priority 100
~ route flush table 200"

# Addresses of /32, which others route, and which no rail has the subnet of.
ip -n B address add 10.5.5.5/32 dev ib1
expect_hook 0 B --apply
right=$(state B)
row "not from the subnet" \
    "ib1 error foreign-rule: rule 1000: not from 172.16.0.0/16 lookup main" \
    "rule add priority 1000 not from 172.16.0.0/16 lookup main
~ rule del priority 1000"

# Rails with gateways: an error route of main hides another rail's subnet, which is longer, from what is bound to a NIC.
for i in 6 7; do
    ip -n B address flush dev ib$i
    ip -n B address add 10.1.$i.2/30 dev ib$i
done
system_config "[interface ib6]
manage=yes
gateway=peer
remote=10.1.0.0/16
[interface ib7]
manage=yes
gateway=peer
remote=10.1.0.0/16"
expect_hook 0 B --apply
right=$(state B)
row "an error route inside remote=, for all" "" \
    "route add blackhole 10.1.8.0/24
~ route del blackhole 10.1.8.0/24"
row "an error route around another rail's subnet" \
    "ib6+ib7 warning foreign-route: route blackhole 10.1.6.0/24 table main proto boot" \
    "route add blackhole 10.1.6.0/24
~ route del blackhole 10.1.6.0/24"
system_config ""
for i in 6 7; do
    ip -n B address flush dev ib$i
    ip -n B address add 172.16.34.$((i + 1))/16 dev ib$i
done
expect_hook 0 B --apply

# IPv6, by the NIC that a socket is bound to.
for i in 0 1; do ip -n B address add "fd00:16::34:$((i + 1))/64" dev ib$i nodad; done
expect_hook 0 B --apply
right=$(state B)
row "IPv6, refused by the NIC" \
    "ib1 error foreign-rule: rule 100: from fd00:16::/64 oif ib1 unreachable" \
    "-6 rule add priority 100 from fd00:16::/64 oif ib1 unreachable
~ -6 rule del priority 100"

# Nothing suppresses an error route, so the rule that asks main first gets that answer.
row "main lacks the rails' subnet, and refuses what it lacks" \
    "$all warning foreign-route: route blackhole 172.0.0.0/8 table main proto boot" \
    "route flush table main
route add blackhole 172.0.0.0/8
~ route del blackhole 172.0.0.0/8"

# An accounting class matches nothing: a rule of others with one routes its rail as one without it does.
ip -n B route add 172.16.0.0/16 dev ib3 table 701
ip -n B rule add priority 3000 from 172.16.34.4 lookup 701 realms 3
expect_hook 0 B --apply
expect_equal "others route it" "" "$(own_rules B | grep "from 172.16.34.4 " || true)"
