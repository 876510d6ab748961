#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Routed rails whose gateway is what a router advertises (radvd), kept by the kernel, which calls no hook: --watch follows as it
# comes, changes and ends. Main's default is the management network's all the time.
. "$(dirname "$0")/lib.sh"

lay_over_usr unpacked-routers
type -P radvd >/dev/null || skip "radvd is not here: make $IBH_BUILD/unpacked-routers/.complete"

journal_start
new_host R
new_host A
rdma A ib1
on R sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
on A sh -c 'echo 1 >/proc/sys/net/ipv6/route/gc_interval' # a route that has run out goes after a second, not after thirty

cable() { # NIC NUMBER ADDRESS…: to the router, with its addresses there
    local address
    ip -n R link add "to-$1" type veth peer name "$1" address "$(mac A "$2")" netns A
    for address in "${@:3}"; do ip -n R address add "$address" dev "to-$1"; done
    ip -n R link set "to-$1" up
    ip -n A link set "$1" up
}
cable ib1 1 fd00:1:1::1/64
cable eth9 9 192.168.1.1/24 fd00:9::1/64
ip -n R address add fd00:2::1/128 dev lo
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

advertise() { # LIFETIME
    cat >$work/radvd.conf <<-END
	interface to-ib1 {
	    AdvSendAdvert on;
	    MinRtrAdvInterval 3;
	    MaxRtrAdvInterval 4;
	    AdvDefaultLifetime $1;
	    prefix fd00:1:1::/64 { AdvValidLifetime 3600; AdvPreferredLifetime 3600; };
	};
	END
    chmod 0644 $work/radvd.conf
    nsenter --net=/run/netns/R radvd --nodaemon --logmethod=stderr --config=$work/radvd.conf --pidfile=$work/radvd.pid \
        >>$work/radvd.log 2>&1 &
    router=$!
}

stop_router() { # SIGNAL: with TERM it says that it is none any more, with KILL nothing
    kill -"$1" $router
    wait $router 2>/dev/null || true
}

link_local() { # ADDRESS: what the router is known by
    ip -n R address flush dev to-ib1 scope link
    ip -n R address add "$1/64" dev to-ib1 nodad
}

own6() {
    ip -n A -j -6 address show dev ib1 scope global -tentative | jq -r '[.[].addr_info[]?.local | select(.)][0] // ""'
}

has_own6() { [ -n "$(own6)" ]; }

watch_start A
link_local fe80::1
advertise 60
wait_until 20 has_own6
own=$(own6)
wait_until 10 gateways_are ib1 6 "default fe80::1 fd00::/16 fe80::1"
ok "a router is there: --watch follows"
goes_by "remote=" ib1 "$own" fd00:2::1
goes_by "the management network" eth9 "$own" fd00:9::7
answers "a router" "$own" fd00:2::1
expect_hook 0 A --check

stop_router TERM
wait_until 10 default_is ib1 6 ""
wait_until 10 gateways_are ib1 6 ""
ok "lifetime 0: --watch follows"
goes_by "without a router: as main says" eth9 "$own" fd00:2::1
expect_contains "the rail itself stays" "from $own lookup 941" "$(ip -n A -6 -d rule)"

link_local fe80::2
advertise 4
wait_until 20 gateways_are ib1 6 "default fe80::2 fd00::/16 fe80::2"
ok "another router: --watch follows"
answers "another router" "$own" fd00:2::1

stop_router KILL
wait_until 20 default_is ib1 6 ""
wait_until 10 gateways_are ib1 6 ""
ok "a router that says nothing any more has its time, and --watch follows"
watch_stop

# Not followed by --watch: by a run.
advertise 60
wait_until 20 default_is ib1 6 fe80::2
expect_hook 1 A --check
expect_hook 0 A --apply
expect_equal "--apply follows" "default fe80::2 fd00::/16 fe80::2" "$(gateways ib1 6)"
stop_router TERM
wait_until 10 default_is ib1 6 ""
expect_hook 0 A --apply
expect_equal "--apply follows the end" "" "$(gateways ib1 6)"
