#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --check finds each thing that is missing or wrong, names it, and gives a fix that cures it.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
expect_hook 1 B --check
expect_hook 1 B --check --iface ib1
expect_hook 0 B --apply
expect_hook 0 B --check
applied=$(state B)

# finds CODE WHAT COMMAND…: what the command breaks is an error of ib1; pasting the fix cures it, and so does --apply
finds() {
    local code=$1 what=$2 fix
    "${@:3}"
    expect_hook 1 B --check --json
    expect_equal "$what: found" "ib1 error" \
        "$(json "[.findings[] | select(.code == \"$code\") | \"\(.ifaces | join(\"+\")) \(.severity)\"] | unique | .[]")"
    expect_equal "$what: ib1 is not ok, ib0 is" "ib0 true ib1 false" "$(json '.rails[] | "\(.iface) \(.ok)"' | xargs)"
    fix=$(json "[.findings[] | select(.code == \"$code\") | .fix][0]")
    expect_hook 1 B --check --iface ib1
    expect_hook 0 B --check --iface ib0
    on B sh -c "$fix" || fail "$what: the fix can be pasted" "$fix"
    expect_hook 0 B --check
    expect_equal "$what: cured by: $fix" "$applied" "$(state B)"
    "${@:3}"
    expect_hook 0 B --apply
    expect_equal "$what: repaired by --apply" "$applied" "$(state B)"
}

finds rule-missing "a rule is missing" \
    ip -n B rule del priority 1941 from 172.16.34.2 lookup 942 suppress_ifgroup $MARK
finds route-missing "a route is missing" ip -n B route del 172.16.0.0/16 dev ib1 table 942 metric $MARK
finds route-wrong "a route without its source" \
    ip -n B route replace 172.16.0.0/16 dev ib1 table 942 metric $MARK proto kernel scope link

# Our own route, led to the other NIC.
ip -n B route replace 172.16.0.0/16 dev ib0 table 942 metric $MARK proto kernel scope link src 172.16.34.2
expect_hook 1 B --check --json
expect_contains "what ib1's address sends leaves by ib0: its cause is found" '"route-missing"' "$out"
expect_hook 0 B --apply
expect_equal "repaired" "$applied" "$(state B)"

# An earlier rule of somebody else that leads the address elsewhere is theirs; --check says what it does.
ip -n B rule add priority 500 from 172.16.34.2 lookup 600
ip -n B route add 172.16.0.0/16 dev ib0 table 600
hook B --apply >/dev/null
expect_hook 1 B --check --json
expect_at_least "a foreign rule that misleads ib1" 1 \
    "$(json '[.findings[] | select((.ifaces | index("ib1")) and .severity == "error")] | length')"
ip -n B rule del priority 500
hook B --apply >/dev/null

# What hand-written scripts leave behind: rails that are right, and a main table without the connected routes.
for nic in ib0 ib1; do ip -n B route del 172.16.0.0/16 dev $nic; done
expect_hook 1 B --check --json
expect_equal "unbound traffic has no way" "ib0 warning route-missing ib1 warning route-missing" \
    "$(json '.findings[] | "\(.ifaces | join("+")) \(.severity) \(.code)"' | xargs)"
on B sh -c "$(json '.findings[].fix')"
expect_hook 0 B --check
for nic in ib0 ib1; do
    expect_contains "main has the route by $nic again, as the kernel made it" \
        "172.16.0.0/16 dev $nic proto kernel scope link src 172.16.34.$((${nic#ib} + 1)) " "$(ip -n B route show)"
    ip -n B route del 172.16.0.0/16 dev $nic
done
add_nic B eth0 7 192.168.7.1/24
wait_until 5 settled B
ip -n B route replace default via 192.168.7.9 dev eth0 metric 40
expect_hook 1 B --check --json
expect_contains "nor is the default route of another NIC one" "leaves by eth0" "$(json '.findings[0].message')"
ip -n B route del default dev eth0
