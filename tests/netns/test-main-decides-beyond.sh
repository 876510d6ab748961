#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beyond a rail's subnets main decides as without ib-hook: none of its routes via a gateway gets into a rail's tables, but its
# one default by that NIC. So all that such a route says (encapsulation, source prefix, next hop object, weights, type)
# counts as before. Each case is a host of its own, with what stands there in main.
. "$(dirname "$0")/lib.sh"

journal_start
make_wire
new_host R
add_nic R e0 11 172.16.0.254/16 172.16.0.253/16 fd00:16::fe/64 fd00:26::fe/64 fd00:16::99/64

begin() { # a new B: two rails with two IPv6 subnets each
    local n
    [ ! -e /run/netns/B ] || delete_host B
    new_host B
    for n in 0 1; do
        add_nic B ib$n $n 172.16.34.$((n + 1))/16 fd00:16::34:$((n + 1))/64 fd00:26::34:$((n + 1))/64
    done
    rdma B ib0 ib1
    wait_until 5 settled B
}

ways() { # how B reaches what is beyond from each of its addresses: NIC, gateway, or an error
    local from to
    for from in 172.16.34.1 172.16.34.2; do
        for to in 10.1.1.1 10.5.1.1 10.6.1.1 10.7.1.1 10.8.1.1 198.51.100.1; do echo "route get $to from $from"; done
    done >$work/ways
    for from in fd00:16::34:1 fd00:16::34:2 fd00:26::34:1 fd00:26::34:2; do
        for to in fd00:9::1 fd00:19::1 2001:db8::1; do echo "route get $to from $from"; done
    done >>$work/ways
    ip -n B -o -force -batch $work/ways 2>$work/no-ways |
        sed -E 's/ (uid|table|proto|metric|pref|hoplimit|nhid|src) [^ ]*//g; s/ onlink//; s/ *\\.*//; s/ *$//' || true
    cat $work/no-ways # failures, with the numbers of their lines
}

beyond_in() { # TABLE: our routes there beyond the subnets, as "PREFIX GATEWAY"
    local family
    for family in 4 6; do
        ip -n B -$family route show table "$1" metric $MARK 2>/dev/null | grep -vE '^(172\.16\.0\.0/16|fd00:[12]6::/64) ' |
            sed -E 's/ via ([^ ]+) .*/ \1/; s/ dev .*//' || true
    done
}

an_event() {
    manager_calls B IFACE=ib0 MODE=start PHASE=post-up "$HOOKS/ifupdown"
}

expect_defaults() { # WHAT OF_IB0 OF_IB1: what D of each rail has; T has none
    expect_equal "$1: T has the subnets alone" "" "$(beyond_in 941)$(beyond_in 942)"
    expect_equal "$1: ib0's default" "$2" "$(beyond_in 2941 | xargs)"
    expect_equal "$1: ib1's default" "$3" "$(beyond_in 2942 | xargs)"
}

# as_before NAME [OF_IB0 [OF_IB1]] <COMMANDS of the host
as_before() {
    local before
    begin
    on B sh -e >$work/said 2>&1 || skip "this kernel cannot have: $1 ($(tail -n 1 $work/said))"
    before=$(ways)
    an_event
    expect_equal "$1: every way is as before" "$before" "$(ways)"
    expect_defaults "$1" "${2:-}" "${3:-}"
    expect_hook 0 B --check
    expect_hook 0 B --plan --json
    expect_equal "$1: a second run has nothing to do" false "$(json .changed)"
}

# ---- one default by the NIC is the rail's ----

as_before "one default by ib0" "default 172.16.0.254" <<END
ip route add default via 172.16.0.254 dev ib0
END
as_before "one default by ib0, IPv6" "default fe80::1" <<END
ip -6 route add default via fe80::1 dev ib0
END
as_before "an object" "default 172.16.0.254" <<END
ip nexthop add id 5 via 172.16.0.254 dev ib0
ip route add default nhid 5
END
as_before "an object, whose gateway and NIC routes do not tell (nexthop_compat_mode)" "default 172.16.0.254" <<END
echo 0 >/proc/sys/net/ipv4/nexthop_compat_mode
ip nexthop add id 5 via 172.16.0.254 dev ib0
ip route add default nhid 5
END
ip -n B nexthop replace id 5 via 172.16.0.253 dev ib0
an_event
expect_defaults "the object changed" "default 172.16.0.253" ""
ip -n B nexthop replace id 5 via 172.16.0.254 dev ib1
an_event
expect_defaults "the object is another NIC's" "" "default 172.16.0.254"
ip -n B nexthop del id 5
an_event
expect_defaults "and is gone, with its route" "" ""

# Of several NICs' hops each rail has its own.
begin
ip -n B route add default nexthop via 172.16.0.254 dev ib0 nexthop via 172.16.0.253 dev ib1
an_event
expect_defaults "a hop by each rail" "default 172.16.0.254" "default 172.16.0.253"
begin
ip -n B nexthop add id 1 via 172.16.0.254 dev ib0
ip -n B nexthop add id 2 via 172.16.0.253 dev ib1
ip -n B nexthop add id 10 group 1/2
ip -n B route add default nhid 10
an_event
expect_defaults "a group with an object by each rail" "default 172.16.0.254" "default 172.16.0.253"

# ---- where it is not that simple, D is empty ----

as_before "two routers by one NIC" <<END
ip route add default via 172.16.0.254 dev ib0 metric 100
ip route add default via 172.16.0.253 dev ib0 metric 200
END
as_before "two hops by one NIC" <<END
ip route add default nexthop via 172.16.0.254 dev ib0 nexthop via 172.16.0.253 dev ib0
END
as_before "two routers by one NIC, IPv6" <<END
ip -6 route add default via fe80::1 dev ib0 metric 100
ip -6 route append default via fe80::2 dev ib0 metric 100
END
as_before "a default for one source prefix beside the one for all" <<END
ip -6 route add default via fd00:16::fe dev ib0 metric 100
ip -6 route add default from fd00:26::/64 via fd00:26::fe dev ib0 metric 100
END
as_before "a default for one source prefix" <<END
ip -6 route add default from fd00:26::/64 via fd00:26::fe dev ib0
END
as_before "a default in a tunnel" <<END
ip -6 route add default encap seg6 mode encap segs fd00:16::99 via fd00:16::fe dev ib0
END
as_before "a default that leads nowhere" <<END
ip nexthop add id 30 blackhole
ip route add default nhid 30
ip -6 route add unreachable default metric 50
END
as_before "a default by a gateway that is this host" <<END
ip route add default via 172.16.34.2 dev ib0
END

# ---- networks by a gateway ----

as_before "objects and groups" "default 172.16.0.254" <<END
ip nexthop add id 1 via 172.16.0.254 dev ib0
ip nexthop add id 2 via 172.16.0.253 dev ib1
ip nexthop add id 10 group 1/2
ip nexthop add id 20 via fe80::1 dev ib0
ip nexthop add id 30 blackhole
ip route add default nhid 1
ip route add 10.5.0.0/16 nexthop via 172.16.0.254 dev ib0 weight 3 nexthop via 172.16.0.253 dev ib0
ip route add 10.6.0.0/16 nhid 20
ip route add 10.7.0.0/16 nhid 30
ip route add 10.8.0.0/16 nhid 10
END
as_before "from a daemon, by each NIC, by itself and by no NIC's subnet" <<END
ip route add 10.1.0.0/16 via 172.16.0.254 dev ib0 proto bgp
ip route add 10.1.1.0/24 via 172.16.0.253 dev ib1 proto bgp
ip route add unreachable 10.5.0.0/16 proto bgp
ip route add 10.6.0.0/16 dev ib1 scope link
ip route add 10.8.0.0/16 via 172.16.0.254 dev ib0 tos 0x10
ip -6 route add fd00:9::/48 via fe80::1 dev ib1 proto ra
ip -6 route add fd00:19::/48 from fd00:26::/64 via fd00:26::fe dev ib0
END
as_before "600 networks from a daemon, by both NICs" <<END
for i in \$(seq 0 599); do
    echo "route add 10.\$((i / 100)).\$((i % 100)).0/24 via 172.16.0.254 dev ib\$((i % 2)) proto bgp"
done | ip -batch -
END
many=$(state B | grep -c "suppress_ifgroup $MARK")
ip -n B route flush proto bgp
an_event
expect_equal "600 networks more, and not a rule more" "$(state B | grep -c "suppress_ifgroup $MARK")" "$many"

# ---- by packets: in the tunnel that main says, from both rails ----

as_before "a network in a tunnel" <<END
ip -6 route add fd00:9::/48 encap seg6 mode encap segs fd00:16::99 via fd00:16::fe dev ib0
END
nsenter --net=/run/netns/R python3 - >$work/seen <<'END' &
import socket, struct, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86DD))
s.bind(("e0", 0x86DD))
s.settimeout(10)
print("ready", flush=True)
seen = set()
while len(seen) < 2:
    frame = s.recv(2000)
    routing, last = frame[20] == 43, socket.inet_ntop(socket.AF_INET6, frame[38:54])
    if routing and last == "fd00:16::99":
        inner = 14 + 40 + (frame[55] + 1) * 8
        seen.add(socket.inet_ntop(socket.AF_INET6, frame[inner + 8 : inner + 24]))
    elif frame[20] == 17:
        seen.add("plain to " + last)
print(*sorted(seen), flush=True)
END
listener=$!
wait_until 5 grep -q ready $work/seen
for n in 1 2; do
    on B python3 -c "import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(('fd00:16::34:$n', 0))
s.sendto(b'x', ('fd00:9::1', 9))"
done
wait $listener || true
expect_equal "what is sent from each rail is in the tunnel" "fd00:16::34:1 fd00:16::34:2" "$(sed 1d $work/seen)"
