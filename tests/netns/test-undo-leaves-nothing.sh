#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --undo: rules, routes and sysctls are byte for byte what they were, whatever they were, and other hosts' too.
. "$(dirname "$0")/lib.sh"

make_hosts 3
sysctl_set B ib0 rp_filter 1
sysctl_set B ib1 rp_filter 2
sysctl_set B ib1 arp_ignore 3
sysctl_set B ib2 arp_announce 1
before=$(state B)
other=$(state A)

for arp in auto strict; do
    file=$(config "[defaults]
arp=$arp")
    expect_hook 0 B --config "$file" --apply
    expect_differs "$arp: the state after --apply" "$before" "$(state B)"
    expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2 ib2:943:172.16.34.3
    expect_hook 0 B --config "$file" --apply # a second one must not take our values for the administrator's
    expect_hook 0 B --config "$file" --undo
    expect_equal "$arp: the state after --undo" "$before" "$(state B)"
    expect_hook 0 B --config "$file" --undo
    expect_equal "$arp: the state after a second --undo" "$before" "$(state B)"
done

# From one set of values to the other: the administrator's own are still known.
expect_hook 0 B --config "$(config '[defaults]
arp=strict')" --apply
expect_hook 0 B --apply
expect_hook 0 B --undo
expect_equal "strict, then auto, then --undo" "$before" "$(state B)"

# What somebody changed in between is theirs.
expect_hook 0 B --apply
sysctl_set B ib0 arp_announce 1
expect_hook 0 B --undo
expect_sysctls B ib0 arp_announce=1 rp_filter=1 arp_ignore=0
sysctl_set B ib0 arp_announce 0
expect_equal "all else is as it was" "$before" "$(state B)"
expect_equal "A was never touched" "$other" "$(state A)"

# Undo is not undone by a look, and --apply takes it back.
expect_hook 1 B --check
expect_contains "--check says that the NICs are held" '"held"' "$(hook B --check --json || true)"
expect_equal "--check changed nothing" "$before" "$(state B)"
expect_hook 0 B --apply
expect_hook 0 B --check
