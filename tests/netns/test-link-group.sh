#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A NIC comes back from a pod with our mark as its link group: rules of ours pass over its routes, so main decides for it. That
# is its own affair: no other rail is touched, nothing is written again and again, and with another group it is right at once.
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
ip -n B link set ib1 group default
expect_equal "with another group each leaves by itself" "ib0 ib1 ib2" "$(leaves_by)"
expect_equal "and reaches the peer" "1 2 3" "$(pings 1 2 3)"
expect_equal "as it was before" "$applied" "$(state B | tidy)"
