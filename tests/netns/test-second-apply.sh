#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A second --apply has nothing to do, and says so.
. "$(dirname "$0")/lib.sh"

make_hosts 2
for arp in auto strict; do
    file=$(config "[defaults]
arp=$arp")
    expect_hook 0 B --config "$file" --plan --json
    expect_equal "$arp: --plan would change something" true "$(json .changed)"
    expect_hook 0 B --config "$file" --apply --json
    expect_equal "$arp: the first --apply changed something" true "$(json .changed)"
    expect_equal "$arp: and it is ok" true "$(json .ok)"
    expect_at_least "$arp: it lists its operations" 4 "$(json '.operations | length')"
    expect_equal "$arp: each has an interface, a name, a command and a reason" 0 \
        "$(json '[.operations[] | select((.iface and .op and .command and .why) | not)] | length')"
    applied=$(state B)
    for again in 1 2; do
        expect_hook 0 B --config "$file" --plan --json
        expect_equal "$arp: then --plan is empty ($again)" "false 0" "$(json '"\(.changed) \(.operations | length)"')"
        expect_hook 0 B --config "$file" --apply --json
        expect_equal "$arp: --apply changes nothing ($again)" "false 0" "$(json '"\(.changed) \(.operations | length)"')"
    done
    expect_equal "$arp: the state is the same" "$applied" "$(state B)"
    expect_hook 0 B --config "$file" --check --json
    expect_equal "$arp: --check is content" true "$(json .ok)"
    expect_hook 0 B --config "$file" --undo --json
    expect_equal "$arp: --undo changed something" true "$(json .changed)"
    expect_hook 0 B --config "$file" --undo --json
    expect_equal "$arp: a second --undo does not" false "$(json .changed)"
done
