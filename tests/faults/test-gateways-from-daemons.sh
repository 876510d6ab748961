#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Routed rails whose gateways come from real daemons, as they come, change and end: ib0 has a lease of a DHCP server (dnsmasq),
# got by systemd-networkd, whose hook follows; ib1 has what a router advertises (radvd), kept by the kernel, which calls no hook:
# --watch follows. Main's default is the management network's all the time.
. "$(dirname "$0")/lib.sh"

lay_over_usr unpacked unpacked-routers
networkd=/usr/lib/systemd/systemd-networkd
[ -x $networkd ] || skip "systemd-networkd is not here: make $IBH_BUILD/unpacked/.complete"
for daemon in dnsmasq radvd; do
    type -P $daemon >/dev/null || skip "$daemon is not here: make $IBH_BUILD/unpacked-routers/.complete"
done

rm -rf /etc/systemd/network /usr/lib/systemd/network /etc/systemd/networkd.conf.d
if ! getent passwd systemd-network >/dev/null; then # it is unpacked, not installed
    echo 'systemd-network:x:998:998::/:/usr/sbin/nologin' >>/etc/passwd
    echo 'systemd-network:x:998:' >>/etc/group
fi
mkdir -p /run/systemd/netif/{links,leases,lldp} /run/systemd/network
chown -R systemd-network: /run/systemd/netif

journal_start
new_host R
new_host A
rdma A ib0 ib1
for key in ipv4/ip_forward ipv6/conf/all/forwarding; do on R sh -c "echo 1 >/proc/sys/net/$key"; done
on A sh -c 'echo 1 >/proc/sys/net/ipv6/route/gc_interval' # a route that has run out goes after a second, not after thirty

cable() { # NIC NUMBER ADDRESS…: to the router, with its addresses there
    local address
    ip -n R link add "to-$1" type veth peer name "$1" address "$(mac A "$2")" netns A
    for address in "${@:3}"; do ip -n R address add "$address" dev "to-$1"; done
    ip -n R link set "to-$1" up
    ip -n A link set "$1" up
}
cable ib0 0 10.1.0.1/24 10.1.0.2/24
cable ib1 1 fd00:1:1::1/64
cable eth9 9 192.168.1.1/24 fd00:9::1/64
ip -n R address add 10.2.0.1/32 dev lo
ip -n R address add fd00:2::1/128 dev lo
ip -n A address add 192.168.1.2/24 dev eth9
ip -n A address add fd00:9::2/64 dev eth9
ip -n A route add default via 192.168.1.1 dev eth9
ip -n A -6 route add default via fd00:9::1 dev eth9 metric 50
system_config "[interface ib*]
manage=yes
[interface ib0]
remote=10.0.0.0/8
[interface ib1]
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

# ---- DHCP ----

serve_dhcp() { # GATEWAY: leases of eight seconds, asked for again after two
    local given=()
    [ -z "$1" ] || given=("--dhcp-option=3,$1")
    nsenter --net=/run/netns/R dnsmasq --no-daemon --conf-file=/dev/null --port=0 --user=root --pid-file= \
        --dhcp-leasefile=$work/leases --dhcp-authoritative --no-ping --interface=to-ib0 --bind-interfaces \
        --dhcp-range=10.1.0.9,10.1.0.9,255.255.255.0,2m \
        --dhcp-option-force=51,8 --dhcp-option-force=58,2 --dhcp-option-force=59,5 "${given[@]:---dhcp-option=3}" \
        >>$work/dnsmasq.log 2>&1 &
    server=$!
}

stop_server() {
    kill $server
    wait $server || true
}

start_networkd() {
    printf '[Match]\nName=ib0\n[Network]\nDHCP=ipv4\nIPv6AcceptRA=no\nLinkLocalAddressing=no\n[DHCPv4]\nClientIdentifier=mac\n' \
        >/run/systemd/network/ib0.network
    nsenter --net=/run/netns/A env -u NOTIFY_SOCKET SYSTEMD_LOG_TARGET=console $networkd >$work/networkd.log 2>&1 &
    networkd_pid=$!
}

networkd_calls() { # STATE: as networkd-dispatcher does it
    manager_calls A IFACE=ib0 "OperationalState=$1" AdministrativeState=configured "$HOOKS/networkd-dispatcher"
}

serve_dhcp 10.1.0.1
start_networkd
wait_until 20 default_is ib0 4 10.1.0.1
goes_by "a lease, and no hook yet: main has it" eth9 10.1.0.9 10.2.0.1
networkd_calls routable
expect_equal "the lease's gateway" "10.0.0.0/8 10.1.0.1 default 10.1.0.1" "$(gateways ib0 4)"
goes_by "remote=" ib0 10.1.0.9 10.2.0.1
goes_by "beyond" ib0 10.1.0.9 203.0.113.1
goes_by "the management network" eth9 10.1.0.9 192.168.1.7
answers "a lease" 10.1.0.9 10.2.0.1
expect_hook 0 A --check

stop_server
serve_dhcp 10.1.0.2
wait_until 20 default_is ib0 4 10.1.0.2
expect_hook 1 A --check --json
# Wrong, or missing: where the lease ended before it was asked for again, the address was away for a moment.
expect_contains "another gateway: --check says so" error:route- \
    "$(json '[.findings[] | select((.ifaces | index("ib0"))) | "\(.severity):\(.code)"] | join(" ")')"
networkd_calls routable
expect_equal "another gateway" "10.0.0.0/8 10.1.0.2 default 10.1.0.2" "$(gateways ib0 4)"
answers "another gateway" 10.1.0.9 10.2.0.1
expect_hook 0 A --check

stop_server
serve_dhcp ""
wait_until 20 default_is ib0 4 ""
networkd_calls routable
expect_equal "a lease without a gateway" "" "$(gateways ib0 4)"
goes_by "remote= without a gateway: as main says" eth9 10.1.0.9 10.2.0.1
expect_contains "the rail itself stays" "from 10.1.0.9 lookup 941" "$(our_rules A)"
expect_hook 1 A --check --json
expect_contains "and that is said" gateway-missing \
    "$(json '[.findings[] | select(.severity != "info") | .code] | unique | join(" ")')"

stop_server
serve_dhcp 10.1.0.1
wait_until 20 default_is ib0 4 10.1.0.1
expect_hook 0 A --apply
expect_equal "the gateway is back" "10.0.0.0/8 10.1.0.1 default 10.1.0.1" "$(gateways ib0 4)"

stop_server # nobody answers any more: the lease ends
has_no_lease() { [ -z "$(ip -n A -4 address show dev ib0)" ]; }
wait_until 20 has_no_lease
networkd_calls degraded
expect_hook 0 A --apply
expect_nothing_of_ours A
serve_dhcp 10.1.0.2
wait_until 20 default_is ib0 4 10.1.0.2
networkd_calls routable
expect_equal "a new lease" "10.0.0.0/8 10.1.0.2 default 10.1.0.2" "$(gateways ib0 4)"
answers "a new lease" 10.1.0.9 10.2.0.1

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
expect_contains "the rail itself stays" "from $own lookup 942" "$(ip -n A -6 -d rule)"

link_local fe80::2
advertise 4
wait_until 20 gateways_are ib1 6 "default fe80::2 fd00::/16 fe80::2"
ok "another router: --watch follows"
answers "another router" "$own" fd00:2::1

stop_router KILL
wait_until 20 default_is ib1 6 ""
wait_until 10 gateways_are ib1 6 ""
ok "a router that says nothing any more has its time, and --watch follows"
wait_until 10 gateways_are ib0 4 "10.0.0.0/8 10.1.0.2 default 10.1.0.2"
ok "ib0 has what it had"
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

stop_server
kill $networkd_pid
wait $networkd_pid || true
