#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a host on the wire says becomes no state: a router advertisement, as the kernel, systemd-networkd and NetworkManager take
# it, makes no rail and keeps none alive, is not remembered, and writes nothing to /var. On a NIC that is a rail for another
# reason its addresses are served as long as they last.
. "$(dirname "$0")/lib.sh"

# advertise HOST NIC SECONDS PREFIX…: one advertisement of prefixes of /64, 4294967295: for ever; with ROUTER=SECONDS, of a
# router, too
advertise() {
    on "$1" python3 - "${@:2}" <<-'END'
	import ipaddress, os, socket, struct, sys
	index, seconds = socket.if_nametoindex(sys.argv[1]), int(sys.argv[2])
	s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
	s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
	s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
	message = struct.pack(">BBHBBHII", 134, 0, 0, 64, 0, int(os.environ.get("ROUTER", 0)), 0, 0)
	for prefix in sys.argv[3:]:
	    message += struct.pack(">BBBBIII", 3, 4, 64, 0xC0, seconds, seconds, 0) + ipaddress.IPv6Address(prefix).packed
	s.sendto(message, ("ff02::1", 0, 0, index))
	END
}

has_address() { # HOST NIC PREFIX
    ip -n "$1" -6 address show dev "$2" to "$3/64" -tentative | grep -q inet6
}

ours() { # HOST: what is ours, and its NICs' ARP values
    state "$1" | grep -E "suppress_ifgroup $MARK|metric $MARK|^ib[0-9]*/"
}

runs() { # HOST: an event, and an --apply
    manager_calls "$1" IFACE=ib1 MODE=start PHASE=post-up "$HOOKS/ifupdown"
    expect_hook 0 "$1" --apply
}

journal_start
make_wire
new_host X
add_nic X eth0 9
ip -n X link set eth0 up
ip -n wire link add br1 type bridge forward_delay 0 mcast_snooping 0
ip -n wire link set br1 up

# ---- two NICs on wires of their own: an advertisement of the one's subnet on the other's wire makes them no rails ----

hint="advertised: no rails without manage=yes"

# apart FORM [RAILS] <COMMANDS on B: ib1 gets an address in ib0's configured subnet. RAILS: they are rails all the same
apart() {
    local form=$1 before n
    [ ! -e /run/netns/B ] || delete_host B
    rm -rf /run/ib-hook
    RP_FILTER=1 new_host B
    add_nic B ib0 0 10.1.0.5/24 fd00:1::5/64
    add_nic B ib1 1 10.2.0.5/24
    ip -n wire link set B.1 master br1
    ip -n wire link set X.9 master br1
    rdma B ib0 ib1
    wait_until 5 settled B
    before=$(ours B)
    # shellcheck disable=SC1090 # the commands
    . /dev/stdin
    wait_until 10 has_address B ib1 fd00:1::
    runs B
    if [ $# -gt 1 ]; then
        expect_equal "$form: both are rails" "2 2" "$(on B cat $CONF/ib0/arp_announce $CONF/ib1/arp_announce | xargs)"
        return
    fi
    expect_equal "$form: the host is left as it was" "$before" "$(ours B)"
    expect_hook 0 B --show
    expect_contains "$form: --show says why" "$hint" "$out"
    expect_hook 0 B --check
    expect_contains "$form: so does --check" "$hint" "$out"
    ip -n B -6 address flush dev ib1 scope global
    ip -n B -6 route flush dev ib1 fd00:1::/64
    runs B
    expect_equal "$form: nor is anything left of it" "$before" "$(ours B)"
}

apart "an advertisement for an hour" <<'END'
advertise X eth0 3600 fd00:1::
END
apart "one for ever" <<'END'
advertise X eth0 4294967295 fd00:1::
END
apart "taken by systemd-networkd" <<'END'
ip -n B address add fd00:1::6/64 dev ib1 noprefixroute nodad
ip -n B route append fd00:1::/64 dev ib1 proto ra metric 256
END
apart "taken by NetworkManager" <<'END'
ip -n B address add fd00:1::6/64 dev ib1 valid_lft 3600 preferred_lft 3600 noprefixroute nodad
ip -n B route append fd00:1::/64 dev ib1 proto ra metric 101
END
apart "to both NICs" <<'END'
ip -n B address del fd00:1::5/64 dev ib0
ip -n wire link set B.0 master br1
advertise X eth0 3600 fd00:1::
END
apart "beside manage=yes" rails <<'END'
system_config "[interface ib*]
manage=yes"
advertise X eth0 3600 fd00:1::
END
rm /etc/ib-hook/ib-hook.conf
apart "not advertised: configured" rails <<'END'
ip -n B address add fd00:1::6/64 dev ib1 nodad
END
delete_host B
ip -n wire link set X.9 master br0

# ---- rails by IPv4 and by a configured subnet: advertised ones are served, and are remembered nowhere ----

rm -rf /run/ib-hook
RP_FILTER=0 new_host B
for n in 0 1; do add_nic B ib$n $n 172.16.34.$((n + 1))/16 fd00:16::34:$((n + 1))/64; done
rdma B ib0 ib1
wait_until 5 settled B
keep_rails
at_home_event() { at_home B env -i IFACE=ib1 MODE=start PHASE=post-up "$HOOKS/ifupdown" >>$work/said 2>&1; }
own_of() { # NIC PREFIX: its address there
    ip -n B -j -6 address show dev "$1" to "$2/64" | jq -r '.[].addr_info[]?.local // empty'
}
pairs_of() { # ADDRESS: the prefixes for which its rules name its table
    ip -n B -6 rule | sed -nE "s/.*from $1 to ([^ ]+) lookup 94[0-9] .*/\1/p" | sort | xargs
}

at_home_event
before=$(ours B)
file=$(kept_rails)
advertise X eth0 3600 fd00:18:: fd00:19::
for n in 0 1; do
    for prefix in fd00:18:: fd00:19::; do wait_until 10 has_address B ib$n $prefix; done
done
at_home_event
for n in 0 1; do
    own=$(own_of ib$n fd00:18::)
    expect_equal "ib$n: the address of an advertised prefix leaves by it" ib$n \
        "$(ip -n B -o -6 route get fd00:18::7 from "$own" | sed -E 's/.* dev ([^ ]+).*/\1/')"
    expect_equal "ib$n: it has rules for its own prefix and the configured one" "fd00:16::/64 fd00:18::/64" "$(pairs_of "$own")"
    expect_equal "ib$n: a configured one has them for all" "fd00:16::/64 fd00:18::/64 fd00:19::/64" "$(pairs_of fd00:16::34:$((n + 1)))"
done
expect_hook 0 B --check
expect_equal "nothing is written to /var" "$file" "$(kept_rails)"
expect_lacks "nor remembered for this boot" fd00:18: "$(grep ^known /run/ib-hook/*.state)"
ip -n B -6 address flush to fd00:18::/32
ip -n B -6 address flush to fd00:19::/32
at_home_event
expect_equal "when they end, what was made for them ends" "$before" "$(ours B)"
expect_equal "still nothing is written to /var" "$file" "$(kept_rails)"
expect_hook 0 B --check --json
expect_lacks "nobody misses them" no-address "$(codes)"

# Prefixes that come and go cost no writing.
for n in 1 2 3; do
    ip -n B address add fd00:2$n::5/64 dev ib1 valid_lft 60 preferred_lft 60 nodad
    at_home_event
    ip -n B address del fd00:2$n::5/64 dev ib1
    at_home_event
done
expect_equal "three prefixes that come and go: nothing is written to /var" "$file" "$(kept_rails)"

# ---- an advertisement diverts no packet of a configured address ----

add_nic B eth0 5 fd00:99::2/64
for n in 0 1; do ip -n B -6 route add default via fd00:16::16:$((n + 1)) dev ib$n metric 10$n; done
wait_until 5 settled B
at_home_event
ways() { # from each rail's address to eth0's network, and beyond
    local from
    for from in fd00:16::34:1 fd00:16::34:2; do
        for to in fd00:99::7 2001:db8::7; do ip -n B -o -6 route get $to from $from | sed -E 's/ table .*//; s/ proto .*//'; done
    done
}
before=$(ways)
expect_equal "each leaves where its network is, or by its rail's gateway" "eth0 ib0 eth0 ib1" "$(sed -E 's/.* dev ([^ ]+).*/\1/' <<<"$before" | xargs)"
ROUTER=1800 advertise X eth0 3600 fd00:99::
for n in 0 1; do wait_until 10 has_address B ib$n fd00:99::; done
at_home_event
expect_contains "the kernel has the router" "default via fe80::" "$(ip -n B -6 route show dev ib1)"
expect_equal "after an advertisement of that network, and of a router" "$before" "$(ways)"
expect_equal "the advertised address itself leaves by its rail" ib1 "$(ip -n B -o -6 route get fd00:99::7 from "$(own_of ib1 fd00:99::)" | sed -E 's/.* dev ([^ ]+).*/\1/')"
expect_hook 0 B --check
for nic in ib0 ib1; do
    ip -n B -6 route flush default dev $nic
    ip -n B -6 address flush dev $nic to fd00:99::/64
done
ip -n B link del eth0

# A router whose lifetime is over is listed for a while, and not used.
ROUTER=2 advertise X eth0 3600 fd00:18::
wait_until 10 has_address B ib1 fd00:18::
at_home_event
expect_contains "a router alone gives the rails their defaults" "default via fe80::" "$(our_routes B)"
is_over() { ip -n B -6 route show default dev ib1 | grep -q 'expires -'; }
wait_until 10 is_over
at_home_event
expect_lacks "and takes them when its lifetime is over" default "$(our_routes B)"
for nic in ib0 ib1; do ip -n B -6 address flush dev $nic to fd00:18::/64; done
at_home_event

# ---- a rail whose configured addresses go is none for what is advertised ----

advertise X eth0 3600 fd00:16::
wait_until 10 has_address B ib1 fd00:16::
ip -n B address del 172.16.34.2/16 dev ib1
ip -n B address del fd00:16::34:2/64 dev ib1
wait_until 10 has_address B ib1 fd00:16::
expect_hook 0 B --apply
expect_equal "ib1 has an advertised address" 1 "$(own_of ib1 fd00:16:: | wc -l)"
expect_lacks "it is no longer a rail" " dev ib1 " "$(our_routes B)"
expect_contains "its partner stays one" " dev ib0 " "$(our_routes B)"
