#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --undo needs no configuration: where it is bad, or gone, that is said on standard error, and everything is given back.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
sysctl_set B ib0 rp_filter 1
sysctl_set B ib1 arp_announce 1
before=$(state B)
good=$(config '[defaults]
arp=strict
[interface ib0]
table=700')
mv "$good" $work/good.conf

# undone WHAT NEEDLE FILE: from standing rails, with this configuration
undone() {
    expect_hook 0 B --config $work/good.conf --apply
    expect_contains "$1: the rails stand" "1941: from 172.16.34.1 to 172.16.0.0/16 lookup 700" "$(our_rules B)"
    expect_hook 0 B --config "$3" --undo --json
    expect_contains "$1: the warning names the culprit" "$2" "$err"
    expect_equal "$1: --json is one object, and says what was done" "1 true true" \
        "$(jq -rs '"\(length) \(.[0].ok) \(.[0].changed)"' <<<"$out")"
    expect_equal "$1: the state after --undo" "$before" "$(state B)"
    expect_hook 0 B --config "$3" --undo
    expect_contains "$1: a second --undo says so, too" "$2" "$err"
    expect_hook 1 B --check --json
    expect_equal "$1: the NICs are held" "ib0 ib1" "$(json '.findings[] | select(.code == "held") | .ifaces[]' | sort | xargs)"

    expect_hook 0 B --config $work/good.conf --apply
    expect_hook 0 B --config "$3" --undo --iface ib1
    expect_contains "$1: --iface ib1: the warning" "$2" "$err"
    expect_rules B "$(rule_line 172.16.34.1 700)"
    expect_sysctls B ib0 rp_filter=1 arp_filter=1 arp_announce=2 arp_ignore=2 # a rail that stands stays as it is
    expect_hook 0 B --config "$3" --undo --iface ib0
    expect_equal "$1: the state after both" "$before" "$(state B)"
}

file=$work/ib-hook.conf
config 'nonsense' >/dev/null
undone "a line that is none" "$file:1" "$file"
config '[interface ib0]
table=700
[interface ib1]
table=700' >/dev/null
undone "one table for two" 700 "$file"
chmod 0666 "$file"
undone "a file that others can write" "$file" "$file"
undone "no file" "$work/nosuch.conf" $work/nosuch.conf

# All else refuses such a configuration, and changes nothing.
config '[interface ib*]
table=700' >/dev/null
expect_hook 0 B --apply
applied=$(state B)
for action in --apply --plan --check --show; do
    expect_hook 2 B --config "$file" $action
done
expect_equal "the state after those" "$applied" "$(state B)"
