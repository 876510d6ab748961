#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An unreachable, blackhole or prohibit route in main around the rails' subnet, which main itself lacks: nothing suppresses it,
# so no rail sends anything. --check names it.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
types="unreachable blackhole prohibit"

# Main lacks the rails' subnet, and refuses what it lacks: the rule that asks it first gets that answer. The fix cures.
for type in $types; do
    expect_hook 0 B --apply
    for i in 0 1; do ip -n B route del 172.16.0.0/16 dev ib$i; done
    ip -n B route add "$type" 172.0.0.0/8
    expect_hook 1 B --check --json
    expect_equal "$type around the subnet: named" "ib0+ib1 foreign-route" \
        "$(json '[.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.code)"] | join(" ")')"
    expect_equal "$type: by its owner" "route $type 172.0.0.0/8 table main proto boot" \
        "$(json '.findings[] | select(.severity != "info") | .owner')"
    ip -n B route del "$type" 172.0.0.0/8
    expect_equal "$type: without it" "ib1" \
        "$(ip -n B route get 172.16.0.1 from 172.16.34.2 | sed -nE 's/.* dev ([^ ]+) .*/\1/p')"
    expect_hook 0 B --undo
    for i in 0 1; do ip -n B route append 172.16.0.0/16 dev ib$i src 172.16.34.$((i + 1)) proto kernel scope link; done
done
