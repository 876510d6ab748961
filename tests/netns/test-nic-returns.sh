#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A pod takes a NIC into its network namespace and gives it back: it is a rail again, ARP values included, at once where
# --watch runs (times/test-watch-is-quick), else at the next event, whether or not one was seen meanwhile. Nothing of the
# others is changed. The same holds of all NICs of a host, one after the other, whether they come home with their address or
# get it later. --check accuses none while a pod has it, and says of one without its address that it lacks it.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
ip netns add pod
journal_start
others() { # what concerns the NICs that stay
    state B | grep -v 'ib1\|172\.16\.34\.2\b'
}
leaves() { # [N]: with its values, which the kernel keeps for the namespace that it comes into
    ip -n B link set "ib${1:-1}" netns pod
    ip -n pod address add "172.16.34.$((${1:-1} + 1))/16" dev "ib${1:-1}"
    ip -n pod link set "ib${1:-1}" up
}
returns() {
    comes_home 1
    gets_address 1
}
comes_home() { # N
    ip -n pod link set "ib$1" netns B
    ip -n B link set "ib$1" up
    wait_until 5 settled B
}
gets_address() { # N
    ip -n B address add "172.16.34.$(($1 + 1))/16" dev "ib$1"
    wait_until 5 settled B
}
is_whole() { # [N]
    [ "$(rail "ib${1:-1}" $((941 + ${1:-1})) "172.16.34.$((${1:-1} + 1))")" = whole ]
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
wait_until 5 is_whole
expect_equal "--watch: all is as it was" "$whole" "$(state B | tidy)"
expect_equal "and nothing was done on the others" "" "$(journal $from | grep -E '\bib[02]\b' || true)"
watch_stop
expect_hook 0 B --check

# ---- both NICs of a host ----

delete_host B
new_host B
for n in 0 1; do add_nic B ib$n $n 172.16.34.$((n + 1))/16; done
rdma B ib0 ib1
wait_until 5 settled B
happens() { # N: something of this NIC, where no --watch sees it
    [ "$watching" = yes ] || event "ib$1"
}
is_clean() { hook B --check --quiet >/dev/null 2>&1; }
none_is_accused() { # WHAT
    [ "$watching" = no ] || wait_until 5 is_clean # --watch needs a moment
    expect_hook 0 B --check --json
    expect_equal "$1: no error, no warning" "" "$(findings)"
}
is_as_before() { [ "$(state B | tidy)" = "$whole" ]; }
both_are_whole() { is_whole 0 && is_whole 1; }
for watching in no yes; do
    [ $watching = no ] || watch_start B
    for n in 0 1; do happens $n; done
    wait_until 5 both_are_whole
    whole=$(state B | tidy)
    for order in "0 1" "1 0"; do
        for address in "at once" "later"; do
            for n in $order; do
                leaves "$n"
                happens "$n"
                none_is_accused "ib$n goes away"
            done
            for n in $order; do
                comes_home "$n"
                if [ "$address" = later ]; then
                    happens "$n"
                    expect_hook 1 B --check --json
                    expect_equal "back without its address" "ib$n warning no-address" "$(findings)"
                fi
                gets_address "$n"
                happens "$n"
                [ "$n" = "${order#* }" ] || none_is_accused "ib$n is back"
            done
            wait_until 5 both_are_whole
            wait_until 5 is_as_before
            ok "watched: $watching, $order, address $address: all is as it was"
            none_is_accused "both are back"
        done
    done
done
watch_stop
