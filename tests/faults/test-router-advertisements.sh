#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What routers advertise (radvd), kept by the kernel, which calls no hook: --watch follows as it comes, changes and ends. One
# router's default is the rail's own; of several main chooses, as without ib-hook; a flood of prefixes costs what 16 addresses
# cost, and nothing when it is over.
. "$(dirname "$0")/lib.sh"

lay_over_usr unpacked-routers
type -P radvd >/dev/null || skip "radvd is not here: make $IBH_BUILD/unpacked-routers/.complete"

journal_start
make_wire
new_host R
new_host R2
new_host A
rdma A ib1
for router in R R2; do
    on $router sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
    ip -n $router address add fd00:2::1/128 dev lo
    ip -n $router address add fd00:8::1/128 dev lo
done
on A sh -c 'echo 1 >/proc/sys/net/ipv6/route/gc_interval' # a route that has run out goes after a second, not after thirty
add_nic R e0 1 fd00:1:1::1/64
add_nic R2 e0 2 fd00:1:1::2/64
ip -n R2 link set e0 address 02:00:00:00:52:02
add_nic A ib1 3
ip -n A link set ib1 up
ip -n R link add to-eth9 type veth peer name eth9 address "$(mac A 9)" netns A
ip -n R address add 192.168.1.1/24 dev to-eth9
ip -n R address add fd00:9::1/64 dev to-eth9
ip -n R link set to-eth9 up
ip -n A link set eth9 up
ip -n A address add 192.168.1.2/24 dev eth9
ip -n A address add fd00:9::2/64 dev eth9
ip -n A route add default via 192.168.1.1 dev eth9
ip -n A -6 route add default via fd00:9::1 dev eth9 metric 50
system_config "[interface ib*]
manage=yes
remote=fd00::/16"

default_of() { # NIC FAMILY → the gateway that main has by it
    ip -n A "-$2" route show default dev "$1" table main | sed -n 's/^default via \([^ ]*\) .*/\1/p' | xargs
}

default_is() { # NIC FAMILY GATEWAY
    [ "$(default_of "$1" "$2")" = "$3" ]
}

gateways() { # NIC FAMILY → "PREFIX GATEWAY" of our routes by a gateway, in one line
    ip -n A "-$2" route show table all dev "$1" metric $MARK | sed -n 's/^\([^ ]*\) via \([^ ]*\) .*/\1 \2/p' | sort | xargs
}

gateways_are() { # NIC FAMILY "PREFIX GATEWAY"…
    [ "$(gateways "$1" "$2")" = "$3" ]
}

goes_by() { # WHAT NIC FROM TO
    local family=4
    [[ $4 != *:* ]] || family=6
    expect_equal "$1" "$2" "$(ip -n A -$family route get "$4" from "$3" | sed -nE 's/.* dev ([^ ]+) .*/\1/p')"
}

answers() { # WHAT FROM TO
    on A ping -q -c 1 -W 2 -I "$2" "$3" >/dev/null || fail "$1" "$2 → $3: no answer"
    ok "$1: $2 → $3"
}

# ---- router advertisements ----

declare -A radvd

# advertise HOST LIFETIME [PREFERENCE [PREFIX]…]: as a router that lasts so long; with a prefix of five seconds for each more
advertise() {
    local host=$1 prefix conf=$work/radvd.$1.conf
    {
        echo "interface e0 { AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4; AdvDefaultLifetime $2;"
        echo "AdvDefaultPreference ${3:-medium};"
        echo "prefix fd00:1:1::/64 { AdvValidLifetime 3600; AdvPreferredLifetime 3600; };"
        for prefix in "${@:4}"; do echo "prefix $prefix { AdvValidLifetime 5; AdvPreferredLifetime 5; };"; done
        echo "};"
    } >"$conf"
    chmod 0644 "$conf"
    nsenter --net="/run/netns/$host" radvd --nodaemon --logmethod=stderr --config="$conf" --pidfile="$work/radvd.$host.pid" \
        >>$work/radvd.log 2>&1 &
    radvd[$host]=$!
}

stop_router() { # HOST SIGNAL: with TERM it says that it is none any more, with KILL nothing
    kill -"$2" "${radvd[$1]}"
    wait "${radvd[$1]}" 2>/dev/null || true
}

link_local() { # HOST ADDRESS: what the router is known by
    ip -n "$1" address flush dev e0 scope link
    ip -n "$1" address add "$2/64" dev e0 nodad
}

own6() {
    ip -n A -j -6 address show dev ib1 scope global -tentative | jq -r '[.[].addr_info[]?.local | select(.)][0] // ""'
}

has_own6() { [ -n "$(own6)" ]; }

watch_start A
link_local R fe80::1
advertise R 60
wait_until 20 has_own6
own=$(own6)
wait_until 10 gateways_are ib1 6 "default fe80::1 fd00::/16 fe80::1"
ok "a router is there: --watch follows"
goes_by "remote=" ib1 "$own" fd00:2::1
goes_by "the management network" eth9 "$own" fd00:9::7
answers "a router" "$own" fd00:2::1
expect_hook 0 A --check

stop_router R TERM
wait_until 10 default_is ib1 6 ""
wait_until 10 gateways_are ib1 6 ""
ok "lifetime 0: --watch follows"
goes_by "without a router: as main says" eth9 "$own" fd00:2::1
expect_contains "the rail itself stays" "from $own to fd00:1:1::/64 lookup 941" "$(ip -n A -6 -d rule)"

link_local R fe80::2
advertise R 4
wait_until 20 gateways_are ib1 6 "default fe80::2 fd00::/16 fe80::2"
ok "another router: --watch follows"
answers "another router" "$own" fd00:2::1

stop_router R KILL
wait_until 20 default_is ib1 6 ""
wait_until 10 gateways_are ib1 6 ""
ok "a router that says nothing any more has its time, and --watch follows"
watch_stop

# Not followed by --watch: by a run.
advertise R 60
wait_until 20 default_is ib1 6 fe80::2
expect_hook 1 A --check
expect_hook 0 A --apply
expect_equal "--apply follows" "default fe80::2 fd00::/16 fe80::2" "$(gateways ib1 6)"
stop_router R TERM
wait_until 10 default_is ib1 6 ""
expect_hook 0 A --apply
expect_equal "--apply follows the end" "" "$(gateways ib1 6)"

# ---- two routers by one NIC: main chooses, by what they say of themselves and whether they are there ----

system_config "[interface ib*]
manage=yes"
hook A --apply >/dev/null # --watch waits for somebody who puts the file into force
ip -n A -6 route del default dev eth9
for key in base_reachable_time_ms=1000 retrans_time_ms=200 delay_first_probe_time=1 gc_stale_time=1; do
    on A sh -c "echo ${key#*=} >/proc/sys/net/ipv6/neigh/ib1/${key%=*}"
done
watch_start A

# shellcheck disable=SC2016 # for awk
asked() { # HOST → echo requests so far
    on "$1" awk '/^Icmp6InEchos / { print $2 }' /proc/net/snmp6
}

# gets_to HOST: an echo to what is behind both routers gets there
gets_to() {
    local before
    before=$(asked "$1")
    on A ping -6 -q -c 1 -W 1 -I "$own" fd00:8::1 >/dev/null 2>&1 && [ $(($(asked "$1") - before)) = 1 ]
}

# main_chooses: D has no default, so its rules are not there either
main_chooses() {
    gateways_are ib1 6 "" && [[ "$(ip -n A -6 rule)" != *"lookup 2941"* ]]
}

both_are_there() { [ "$(default_of ib1 6 | wc -w)" = 2 ]; }

link_local R fe80::1
link_local R2 fe80::2
advertise R 60 low
wait_until 20 gateways_are ib1 6 "default fe80::1"
own=$(own6)
wait_until 10 gets_to R
ok "one router, even of low preference, is the rail's own"
advertise R2 60 high
wait_until 20 both_are_there
wait_until 10 main_chooses
ok "two routers: D is empty"
wait_until 20 gets_to R2
ok "the one of high preference is used"
ip -n R2 link set e0 down # without a word
wait_until 20 gets_to R
ok "and when it is gone without a word, the other one"
stop_router R2 KILL
ip -n R2 link set e0 up
ip -n R2 address add fd00:1:1::2/64 dev e0
link_local R2 fe80::2
advertise R2 60 high
wait_until 20 gets_to R2
stop_router R2 TERM
wait_until 20 gateways_are ib1 6 "default fe80::1"
ok "a router that withdraws leaves the other one to the rail"
gets_to R || fail "what the rail sends beyond gets there" "$(ip -n A -6 route get fd00:8::1 from "$own" 2>&1)"
expect_hook 0 A --check
watch_stop
stop_router R TERM
wait_until 10 default_is ib1 6 ""

# ---- a flood: 480 prefixes, in more than ten advertisements at a time, of five seconds each ----

advertise R 60
wait_until 20 default_is ib1 6 fe80::1
expect_hook 0 A --apply
rules() { ip -n A -d -6 rule | marked suppress_ifgroup; }
before="$(rules)
$(gateways ib1 6)"
stop_router R KILL
flood=()
for ((i = 0; i < 480; i++)); do flood+=("$(printf 'fd01:%x::/64' $i)"); done
advertise R 60 medium "${flood[@]}"

flooded() { [ "$(ip -n A -6 route show dev ib1 | grep -c '^fd01:')" -ge 480 ]; }
full() { [ "$(ip -n A -6 address show dev ib1 | grep -c ' inet6 ')" -ge 16 ]; }
wait_until 20 flooded
wait_until 20 full

# An event costs a tenth of a second of a processor at most, and 16 addresses have at most four rules each.
took=$( (TIMEFORMAT='%3U %3S' && time with_sys A env -i "$HOOKS/networkd-dispatcher" </dev/null 2>/dev/null) 2>&1 |
    awk '{ print int(($1 + $2) * 1000) }')
[ "$took" -lt 100 ] || fail "an event during the flood takes at most 100 ms" "it took $took ms"
ok "an event during the flood takes $took ms"
n_rules=$(rules | wc -l)
[ "$n_rules" -le 64 ] || fail "at most 64 rules for 16 addresses" "got $n_rules"
ok "$n_rules rules for 16 addresses"
n_routes=$(ip -n A -6 route show table 941 metric $MARK | grep -c '^fd01:' || true)
[ "$n_routes" -le 16 ] || fail "routes of ours to prefixes with an address of ours alone" "got $n_routes"
ok "$n_routes routes for 480 prefixes"

over() { [[ "$(ip -n A -6 address show dev ib1)$(ip -n A -6 route show dev ib1)" != *fd01:* ]]; }
stop_router R KILL
wait_until 30 over
expect_hook 0 A --apply
expect_equal "when it is over, all is as it began" "$before" "$(rules)
$(gateways ib1 6)"
expect_hook 0 A --check
