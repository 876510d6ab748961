#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rules of others, where they come to stand when they are added without a priority after ours: before ours. --check names each
# that takes a rail's traffic; of one that was written by hand for a rail the pasted fix cures.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
add_nic B mgmt0 9 10.0.0.2/24
ip -n B link add docker0 type bridge
ip -n B address add 172.17.0.1/16 dev docker0
ip -n B link set docker0 up
ip -n B link add wg0 type bridge # in its place: a device of its own
ip -n B address add 10.8.0.2/24 dev wg0
ip -n B link set wg0 up
wait_until 5 settled B
ip -n B route add default via 10.0.0.1 dev mgmt0
ip -n B route add default dev wg0 table 51820

by() { # FROM TO → the device
    ip -n B route get "$2" ${1:+from "$1"} | sed -nE 's/.* dev ([^ ]+) .*/\1/p'
}

paste() { # every fix of a foreign-rule that is no note
    local fix
    hook B --check --json >$work/found || true
    jq -r '[.findings[] | select(.code == "foreign-rule" and .severity != "info") | .fix] | unique[]' $work/found >$work/fixes
    while read -r fix; do
        on B bash -c "$fix" || fail "its fix" "$fix $(jq -c .findings $work/found)"
    done <$work/fixes
}

expect_cured() { # WHAT
    expect_hook 0 B --check
    for n in 1 2; do expect_equal "$1: rail $n" "ib$((n - 1))" "$(by 172.16.34.$n 172.16.0.9)"; done
}

# wg-quick, started after us: everything without its mark to the tunnel, but for what main has beside its default.
expect_hook 0 B --apply
ip -n B rule add not fwmark 51820 table 51820
ip -n B rule add table main suppress_prefixlength 0
expect_equal "wg-quick's rules take the second rail's traffic" ib0 "$(by 172.16.34.2 172.16.0.9)"
expect_hook 1 B --check --json
expect_equal "named, and nothing else" "ib1 foreign-rule" \
    "$(json '[.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.code)"] | unique | join(" ")')"
expect_contains "which one" "from all lookup main suppress_prefixlength 0" \
    "$(json '.findings[] | select(.severity == "error") | .message')"
expect_equal "a VPN's rule is its own business: a sentence, no command" "null true" \
    "$(json '.findings[] | select(.severity == "error") | "\(.fix) \(.advice | length > 20)"')"
expect_hook 0 B --undo
ip -n B rule flush
for table in local:0 main:32766 default:32767; do ip -n B rule add priority "${table#*:}" table "${table%:*}" 2>/dev/null || true; done

# Tailscale's rules have priorities of their own, after ours: they keep what they had.
ip -n B route add 100.64.0.0/10 dev wg0 table 52
ip -n B rule add priority 5210 fwmark 0x80000/0xff0000 table main
ip -n B rule add priority 5230 fwmark 0x80000/0xff0000 table default
ip -n B rule add priority 5270 table 52
expect_hook 0 B --apply
expect_cured "Tailscale"
expect_equal "from a rail, its peers are reached by its NIC" wg0 "$(by 172.16.34.2 100.64.0.9)"
expect_hook 0 B --undo
for priority in 5210 5230 5270; do ip -n B rule del priority $priority; done

# nm-cloud-setup's: by address, to a table of the NIC's own.
ip -n B route add default via 10.0.0.1 dev mgmt0 table 30400
ip -n B rule add priority 30400 from 10.0.0.2 table 30400
expect_hook 0 B --apply
expect_cured "nm-cloud-setup"
expect_equal "its address keeps its table" mgmt0 "$(by 10.0.0.2 203.0.113.1)"
expect_hook 0 B --undo
ip -n B rule del priority 30400

# The documents' own, without a priority, with a bridge inside the subnet: before us, after us, and between the tiers.
ip -n B link add br-in type bridge
ip -n B address add 172.16.50.1/24 dev br-in
ip -n B link set br-in up
for place in before after between; do
    [ $place != before ] || ip -n B rule add from 172.16.34.1 table 941
    expect_hook 0 B --apply
    [ $place != after ] || ip -n B rule add from 172.16.34.1 table 941
    [ $place != between ] || { ip -n B rule add priority 1941 from 172.16.34.1 table 941 &&
        ip -n B rule add priority 1930 to 172.16.50.0/24 from 172.16.34.2 table 942; }
    paste
    expect_cured "the documents' rule, $place"
    for n in 1 2; do
        expect_equal "the documents' rule, $place: rail $n to the bridge inside the subnet" br-in "$(by 172.16.34.$n 172.16.50.7)"
        expect_equal "the documents' rule, $place: rail $n to docker0" docker0 "$(by 172.16.34.$n 172.17.0.9)"
    done
    expect_hook 0 B --undo
    while ip -n B rule del from 172.16.34.1 2>/dev/null; do :; done
done
