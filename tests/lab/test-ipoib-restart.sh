#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A restart of openibd: the NICs go and come again under their names, with other indexes and other queue pairs in their
# hardware addresses. Rules outlive it, routes do not, and peers hold hardware addresses that nobody has any more.
# A hook, or --watch, puts the rails back; interfaces that --undo left alone stay so.
# shellcheck source-path=SCRIPTDIR source=ipoib/lib.sh
. "$(dirname "$0")/ipoib/lib.sh"

restart() { # B's openibd alone
    on B 'echo 1 >/sys/module/ipoib_lab/parameters/restart'
}

ours() { # → B's rules and routes of ours
    on B 'ip rule | grep suppress_ifgroup; ip route show table all | grep "metric 1768056939"; true'
}

state() { # → all that --undo must give back, of B
    on B 'ip rule; ip route; cd /proc/sys/net/ipv4/conf && grep "" ib?/arp_ignore ib?/arp_announce ib?/rp_filter'
}

# B alone runs ib-hook here: there is one state file. It knows interfaces by name and index.
remembered() {
    on B 'sed -n "s/^sysctl \([^ ]* [0-9]*\) .*/\1/p" /run/ib-hook/*.state | sort -u'
}

present() {
    # shellcheck disable=SC2016 # for the guest's shell
    on B 'echo ib0 $(cat /sys/class/net/ib0/ifindex); echo ib1 $(cat /sys/class/net/ib1/ifindex)'
}

ipoib_start
set_addresses A B
before=$(state)
hook 0 B --apply
rails=$(ours)
pings "the rails work" A 172.16.34.1 172.16.34.2
index=$(present) lladdr=$(lladdr B ib1)

restart
[ "$(present)" != "$index" ] || fail "the indexes are others" "$index"
expect_equal "the first 12 bytes are others, the port's GUID stays" "differ ${lladdr:36}" \
    "$([ "${lladdr:0:35}" = "$(lladdr B ib1 | cut -c 1-35)" ] || echo differ) $(lladdr B ib1 | cut -c 37-)"
event B
expect_equal "of NICs that are gone, a hook leaves nothing" "" "$(ours)"
set_addresses B
expect_equal "A holds a hardware address that is no more" "$lladdr" "$(learned A ib0 172.16.34.2)"
event B
expect_equal "rules and routes are back" "$rails" "$(ours)"
expect_equal "only what is there is remembered" "$(present)" "$(remembered)"
expect_answers "A has learned the new hardware addresses" A B 172.16.34.1=ib0 172.16.34.2=ib1
pings "the rails work after a restart" A 172.16.34.1 172.16.34.2
hook 0 B --check
event B
expect_equal "another hook has nothing to say" "" "$out"

# The whole fabric: the module away and back, the subnet with another prefix. Hooks run while there are no NICs.
vm lab 'rmmod ipoib_lab'
event B
expect_equal "of NICs that are gone nothing is left" "" "$(ours)$(remembered)"
vm lab 'insmod /usr/lib/ipoib_lab.ko subnet_prefix=0xfec0000000000001'
set_addresses A B
event B
expect_equal "rules and routes are back with another subnet prefix" "$rails" "$(ours)"
expect_contains "which is in the hardware address" ":fe:c0:00:00:00:00:00:01:" "$(lladdr B ib1)"
pings "the rails work with another subnet prefix" A 172.16.34.1 172.16.34.2
hook 0 B --check

# What --undo leaves alone is known by name.
hook 0 B --undo --iface ib1
restart
set_addresses B
event B
expect_equal "a hook leaves alone what --undo left alone, though the NIC is another" "$(grep -v -e 942 -e "from 172.16.34.2 " <<<"$rails")" "$(ours)"
hook 1 B --check --iface ib1 --json
expect_contains "and --check says so" held "$(jq -r '.findings[].code' <<<"$out")"
hook 0 B --apply
expect_equal "until --apply" "$rails" "$(ours)"

# --watch needs nobody to call it.
# shellcheck disable=SC2016 # for the guest's shell
on B 'ib-hook --watch >/run/watch.log 2>&1 & echo $! >/run/watch.pid'
restart
set_addresses B
wait_for_rails() {
    local end=$((SECONDS + 10))
    while [ "$(ours)" != "$rails" ] && [ $SECONDS -le $end ]; do sleep 0.1; done
}
wait_for_rails
expect_equal "--watch: rules and routes are back" "$rails" "$(ours)"
expect_answers "--watch: A has learned the new hardware addresses" A B 172.16.34.1=ib0 172.16.34.2=ib1
# shellcheck disable=SC2016
vm lab 'kill $(cat /run/watch.pid)'
hook 0 B --check

hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state)"
