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

# finds CODE WHAT COMMAND…: what the command breaks is an error of ib1; the fix is ib-hook's own, and cures it
finds() {
    local code=$1 what=$2
    "${@:3}"
    expect_hook 1 B --check --json
    expect_equal "$what: found, once" "ib1 error sudo ib-hook --apply" \
        "$(json ".findings[] | select(.code == \"$code\") | \"\(.ifaces | join(\"+\")) \(.severity) \(.fix)\"")"
    expect_equal "$what: ib1 is not ok, ib0 is" "ib0 true ib1 false" "$(json '.rails[] | "\(.iface) \(.ok)"' | xargs)"
    expect_hook 1 B --check --iface ib1
    expect_hook 0 B --check --iface ib0
    expect_hook 0 B --apply
    expect_equal "$what: repaired by --apply" "$applied" "$(state B)"
}

finds rule-missing "a rule is missing" \
    ip -n B rule del priority 1941 from 172.16.34.2 lookup 942 suppress_ifgroup $MARK
finds route-missing "a route is missing" ip -n B route del 172.16.0.0/16 dev ib1 table 942 metric $MARK
finds route-missing "a route without its source" \
    ip -n B route replace 172.16.0.0/16 dev ib1 table 942 metric $MARK proto kernel scope link

# Our own route, led to the other NIC.
ip -n B route replace 172.16.0.0/16 dev ib0 table 942 metric $MARK proto kernel scope link src 172.16.34.2
expect_hook 1 B --check --json
expect_contains "what ib1's address sends leaves by ib0" "172.16.34.2 to 172.16.0.0/16 leaves by ib0" "$out"
expect_hook 0 B --apply
expect_equal "repaired" "$applied" "$(state B)"

# An earlier rule of another program that leads the address elsewhere is theirs; --check names it, once.
ip -n B rule add priority 500 from 172.16.34.2 lookup 600
ip -n B route add 172.16.0.0/16 dev ib0 table 600
hook B --apply >/dev/null
expect_hook 1 B --check --json
expect_at_least "a foreign rule that misleads ib1" 1 \
    "$(json '[.findings[] | select((.ifaces | index("ib1")) and .severity == "error")] | length')"
ip -n B rule del priority 500
hook B --apply >/dev/null

# What hand-written scripts leave behind: rails that are right, and a main table without the connected routes. Whether main
# has them is its manager's choice, and so it is where they lie in another table.
for nic in ib0 ib1; do ip -n B route del 172.16.0.0/16 dev $nic; done
expect_hook 0 B --check --json
expect_equal "what has no source has no way: a note" "info unbound" \
    "$(json '.findings[] | select(.code == "unbound") | "\(.severity) \(.code)"')"
