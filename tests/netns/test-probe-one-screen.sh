#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What --probe says of eight rails and eight peers fits a screen, whatever single fault there is, and names it once.
. "$(dirname "$0")/lib.sh"
needs nft

make_hosts 8
peers=(172.16.34.{1..8})
expect_hook 0 A --apply
expect_hook 0 B --apply

# fault WHAT CODE COMMAND UNDO: commands of a shell on the machine that has all hosts
fault() {
    local status=1
    [ -n "$2" ] || status=0
    bash -ec "$3"
    forget A B
    expect_hook $status A --probe "${peers[@]}" --count 1
    [ "$(wc -l <<<"$out")" -le 24 ] || fail "$1: a screen has 24 lines" "$out"
    ok "$1: $(wc -l <<<"$out") lines"
    expect_hook $status A --probe "${peers[@]}" --count 1 --json
    expect_equal "$1: one cause is one finding" "$2" "$(json '[.findings[] | select(.severity != "info") | .code] | join(" ")')"
    bash -ec "$4"
    for host in A B; do
        wait_until 5 settled $host
        expect_hook 0 $host --apply
    done
}
net="nsenter --net=/run/netns"
fault "nothing" "" true true
fault "the peer's host has no ib-hook" peer-flux \
    "$net/B $IB_HOOK --sysfs /run/sys/B --undo >/dev/null" true
fault "a cable of ours is loose" carrier-down "ip -n wire link set A.3 down" "ip -n wire link set A.3 up"
fault "a cable of the peer's is loose" peer-down "ip -n wire link set B.3 down" "ip -n wire link set B.3 up"
fault "a firewall there" peer-down "$net/B nft 'add table ip t; add chain ip t c { type filter hook input priority 0; }; add rule ip t c icmp type echo-request drop'" \
    "$net/B nft flush ruleset"
fault "a firewall here" probe-not-sent "$net/A nft 'add table ip t; add chain ip t c { type filter hook output priority 0; }; add rule ip t c icmp type echo-request drop'" \
    "$net/A nft flush ruleset"
fault "a smaller MTU on the way" path-mtu "ip -n wire link set B.3 mtu 1400" "ip -n wire link set B.3 mtu 1500"
fault "an address twice" duplicate-address "ip -n B address add 172.16.16.3/16 dev ib4" "ip -n B address del 172.16.16.3/16 dev ib4"
