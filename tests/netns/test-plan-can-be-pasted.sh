#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --plan changes nothing; its commands, pasted into a shell, lead to the state that --apply leads to.
. "$(dirname "$0")/lib.sh"
needs sysctl

make_hosts 2 B
ip -n B link set ib1 down
ip -n B link set ib1 name ib0.8002
rdma B ib0 ib0.8002
ip -n B link set ib0.8002 up
wait_until 5 settled B
before=$(state B)

expect_hook 0 B --plan
expect_contains "--plan shows a command" "rule add priority 1941 from 172.16.34.2 " "$out"
expect_hook 0 B --plan --json
expect_equal "--plan changed nothing" "$before" "$(state B)"
plan=$out
while read -r command; do
    echo "# $command"
    on B sh -c "$command" >/dev/null
done < <(jq -r '.operations[] | select(.op != "announce") | .command' <<<"$plan")
pasted=$(state B)
expect_differs "the commands did something" "$before" "$pasted"
expect_hook 0 B --plan --json
expect_equal "nothing is left to do" 0 "$(json '.operations | length')"

# The same without the paste.
ip -n B rule flush
ip -n B rule add from all lookup main priority 32766 protocol kernel
ip -n B rule add from all lookup default priority 32767 protocol kernel
ip -n B route flush table 941
ip -n B route flush table 942
for nic in ib0 ib0.8002; do
    sysctl_set B $nic arp_ignore 0
    sysctl_set B $nic arp_announce 0
done
expect_equal "back to the start" "$before" "$(state B)"
expect_hook 0 B --apply
expect_equal "--apply comes to the same state" "$pasted" "$(state B)"
