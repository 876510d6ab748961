#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A pod takes a NIC into its network namespace and gives it back: it is a rail again, ARP values included, within a second
# where --watch runs, else at the next event, whether or not one was seen meanwhile. Nothing of the others is changed.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
ip netns add pod
journal_start
others() { # what concerns the NICs that stay
    state B | grep -v 'ib1\|172\.16\.34\.2\b'
}
leaves() { # with its values, which the kernel keeps for the namespace that it comes into
    ip -n B link set ib1 netns pod
    ip -n pod address add 172.16.34.2/16 dev ib1
    ip -n pod link set ib1 up
}
returns() {
    ip -n pod link set ib1 netns B
    ip -n B address add 172.16.34.2/16 dev ib1
    ip -n B link set ib1 up
    wait_until 5 settled B
}
is_whole() {
    [ "$(rail ib1 942 172.16.34.2)" = whole ]
}
arp_values() { on B cat $CONF/ib1/arp_ignore $CONF/ib1/arp_announce | xargs; }
is_gone() { ! own_rules B | grep -q 172.16.34.2; }
event() { manager_calls B "$HOOKS/nm-dispatcher" "$1" up; }

event ib0
wait_until 5 is_whole
whole=$(state B | tidy)
standing=$(others)

for meanwhile in "no event" "an event"; do
    leaves
    [ "$meanwhile" = "no event" ] || event ib0
    expect_equal "$meanwhile while it is away: the others" "$standing" "$(others)"
    returns
    expect_equal "it comes back without values" "0 0" "$(arp_values)"
    event ib1
    is_whole || fail "$meanwhile meanwhile: a rail again" "$(state B)"
    expect_equal "$meanwhile meanwhile: all is as it was" "$whole" "$(state B | tidy)"
done

watch_start B
from=$(($(journal_lines) + 1))
leaves
wait_until 5 is_gone
expect_equal "--watch: the others" "$standing" "$(others)"
returns
start=${EPOCHREALTIME/[.,]/}
wait_until 5 is_whole
expect_at_least "--watch: a rail again within a second" $(((${EPOCHREALTIME/[.,]/} - start) / 1000)) 1000
expect_equal "--watch: all is as it was" "$whole" "$(state B | tidy)"
expect_equal "and nothing was done on the others" "" "$(journal $from | grep -E '\bib[02]\b' || true)"
watch_stop
expect_hook 0 B --check
