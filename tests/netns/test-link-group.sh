#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A NIC comes back from a pod with our mark as its link group: rules of ours pass over its routes, so main decides for it. That
# is its own affair: no other rail is touched, nothing is written again and again. --check says so, and what it advises makes
# it right at once.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
new_host A
add_nic A eth0 9 172.16.16.1/16
wait_until 5 settled A
journal_start
event() { manager_calls B "$HOOKS/nm-dispatcher" ib1 up; }
leaves_by() { # of each rail: the NIC
    local n
    for n in 1 2 3; do ip -n B -o route get 172.16.16.1 from 172.16.34.$n; done | sed -E 's/.* dev ([^ ]+) .*/\1/' | xargs
}
pings() { # NUMBER…: rails that reach the peer
    local n
    for n in "$@"; do on B ping -q -n -c 1 -W 2 -I "172.16.34.$n" 172.16.16.1 >/dev/null && echo "$n"; done | xargs
}

event
applied=$(state B | tidy)
ip netns add pod
ip -n B link set ib1 netns pod
ip -n pod link set ib1 group $MARK
ip -n pod link set ib1 netns B
ip -n B address add 172.16.34.2/16 dev ib1
ip -n B link set ib1 up
wait_until 5 settled B
event
expect_equal "it leaves as main says, the others by themselves" "ib0 ib0 ib2" "$(leaves_by)"
expect_equal "the others reach the peer" "1 3" "$(pings 1 3)"
from=$(($(journal_lines) + 1))
event
expect_hook 0 B --apply --json
expect_equal "there is nothing to do" false "$(json .changed)"
expect_equal "nothing is said" "" "$(journal "$from")"
expect_hook 1 B --check --json
expect_equal "--check names the group, and nothing else" "error link-group ib1" "$(json '.findings[] | "\(.severity) \(.code) \(.ifaces[])"')"
expect_contains "and what it does" "172.16.34.2 leaves through ib0: ib1 is in link group $MARK" "$(json '.findings[].message')"
expect_equal "its fix" "sudo ip link set dev ib1 group default" "$(json '.findings[].fix')"
ip -n B rule add priority 9 to 198.18.0.0/15 lookup 200 suppress_ifgroup 0
expect_hook 1 B --check --json
expect_contains "where a rule asks for groups the command is advice" "if that is right: sudo ip link set dev ib1 group default" \
    "$(json '.findings[] | select(.code == "link-group") | .advice')"
ip -n B rule del priority 9
expect_hook 1 B --check --json
as_pasted B "$(json '.findings[].fix')"
expect_hook 0 B --check
expect_equal "with another group each leaves by itself" "ib0 ib1 ib2" "$(leaves_by)"
expect_equal "and reaches the peer" "1 2 3" "$(pings 1 2 3)"
expect_equal "as it was before" "$applied" "$(state B | tidy)"
