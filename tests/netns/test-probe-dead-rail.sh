#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A rail without carrier loses all, and is named; the other one is not affected. So is a peer that is down.
. "$(dirname "$0")/lib.sh"

make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply
expect_hook 0 A --probe 172.16.34.1 172.16.34.2

ip -n wire link set A.1 down
no_carrier() {
    ip -n A link show dev ib1 | grep -q NO-CARRIER
}
wait_until 5 no_carrier
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "only ib1's pairs are lost" "ib0 3/3 true ib1 0/3 false ib0 3/3 true ib1 0/3 false" \
    "$(json '.pairs[] | "\(.iface) \(.received)/\(.sent) \(.ok)"' | xargs)"
expect_equal "no round trip, no reply" "null null" "$(json '[.pairs[] | select(.iface == "ib1") | "\(.rtt_ms) \(.reply_iface)"] | unique | .[]')"
expect_equal "why, once" "carrier-down" "$(json '[.findings[] | select((.ifaces | index("ib1"))) | .code] | sort | join(" ")')"
expect_contains "with what it explains" "which explains what 2 pairs lost" "$(json '.findings[].message')"
expect_equal "ib0 has no finding" "" "$(json '.findings[] | select((.ifaces | index("ib0"))) | .code')"
expect_hook 1 A --probe 172.16.34.1 172.16.34.2
expect_contains "the matrix says how many" "lost 3/3" "$(grep ^ib1 <<<"$out" | head -1)"
expect_lacks "ib0's row has no loss" lost "$(grep ^ib0 <<<"$out" | head -1)"

# Administratively down: its routes are gone, and the kernel sends elsewhere, or not at all.
ip -n A link set ib1 down
expect_hook 1 A --probe 172.16.34.1 --json
expect_equal "a rail that is down" "carrier-down" \
    "$(json '[.findings[] | select((.ifaces | index("ib1"))) | .code] | map(select(. == "carrier-down")) | .[]')"
expect_equal "has no reply" 0 "$(json '.pairs[] | select(.iface == "ib1") | .received')"
ip -n A link set ib1 up
ip -n wire link set A.1 up
wait_until 5 settled A
expect_hook 0 A --apply

# Nobody has this address.
expect_hook 1 A --probe 172.16.34.1 172.16.77.7
expect_contains "a peer that is not there" "peer-down: 172.16.77.7 to every rail: nothing answers" "$out"
expect_equal "is said once" 1 "$(grep -c ": error" <<<"$out")"
