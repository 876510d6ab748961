#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What --check must not call ok though every rule and route of ours stands: what link, addresses, neighbours, sysctls and
# others' rules do to the traffic. Each is named once, at the right NIC, and its fix cures it, or leaves no trace.
. "$(dirname "$0")/lib.sh"

make_hosts 2
for n in 1 2; do ip -n B address add fd00:16::34:$n/64 dev ib$((n - 1)) nodad; done
hook A --apply >/dev/null
hook B --apply >/dev/null
expect_hook 0 B --check

# names WHAT FINDINGS BREAK…: where one has a fix, it cures; else `mend` does
names() {
    local fix
    mended=
    "${@:3}"
    expect_hook 1 B --check --json
    expect_equal "$1" "$2" "$(findings)"
    fix=$(json '[.findings[] | select(.severity != "info") | .fix // empty] | unique | join("; ")')
    [ -z "$fix" ] || as_pasted B "$fix" >/dev/null || fail "$1: its fix can be pasted" "$fix"
    if [ -z "$fix" ]; then
        mend
        mended=1
    fi
    expect_hook 0 B --check
}
# advises WHAT FINDINGS BREAK…: no command is right on every such host
advises() {
    names "$@"
    expect_equal "$1: there is advice, and no fix" 1 "$mended"
}
set_proxy() { for key in proxy_arp forwarding; do on B sh -c "echo 1 >/proc/sys/net/ipv4/conf/ib1/$key"; done; }

mend() { for family in -4 -6; do ip -n B $family rule del priority 32766 2>/dev/null || true; ip -n B $family rule add from all lookup main priority 32766; done; }
names "rule 32766 is gone" "ib0 error unbound" ip -n B rule del priority 32766
names "of IPv6, too" "ib0 error unbound" ip -n B -6 rule del priority 32766
names "ARP is off" "ib1 warning arp-off" ip -n B link set ib1 arp off
hook B --apply >/dev/null
expect_hook 0 B --check
names "proxy_arp, and main's first route is another NIC's" "ib1 warning proxy-arp" set_proxy
names "a permanent entry with our own other NIC's address" "ib1 warning neighbour-static" \
    ip -n B neigh replace 172.16.16.1 lladdr "$(mac B 0)" dev ib1 nud permanent

set_of() { on B sh -c "echo $2 >/proc/sys/net/$1"; }
names "it asks for no hardware address" "ib1 warning arp-off" set_of ipv4/neigh/ib1/mcast_solicit 0
names "of IPv6" "ib0 warning arp-off" set_of ipv6/neigh/ib0/mcast_solicit 0
mend() { set_of ipv6/conf/ib1/mtu 1500; }
advises "IPv6's own MTU is smaller" "ib1 warning mode-mtu" set_of ipv6/conf/ib1/mtu 1280
mtu_of_all() { for nic in ib0 ib1; do set_of ipv6/conf/$nic/mtu "$1"; done; }
mend() { mtu_of_all 1500; }
advises "it is smaller on all, as a router's advertisement has it" "ib0+ib1 warning router-mtu" mtu_of_all 1400
set_of ipv6/conf/ib0/accept_ra_mtu 0
set_of ipv6/conf/ib1/accept_ra_mtu 0
mtu_of_all 1400
expect_hook 0 B --check # which says that it is meant
mtu_of_all 1500
ip -n B route replace blackhole 172.16.0.0/16 table 942 metric 1768056939
expect_hook 1 B --check --json
expect_equal "another route has the place of ours" "ib1 error foreign-route, ib1 error table-clash" "$(findings)"
as_pasted B "$(json '[.findings[].fix // empty] | unique | join("; ")')" >/dev/null
expect_hook 0 B --apply
expect_hook 0 B --check
altered() { ip -n B route replace 172.16.0.0/16 dev ib1 proto kernel scope link src 172.16.34.2 table 942 metric 1768056939 mtu lock 1000; }
names "our own route was altered" "ib1 error route-missing" altered
expect_lacks "--apply has replaced it" "lock" "$(ip -n B route show table 942)"
names "our own MAC, of an IPv6 neighbour" "ib0 warning neighbour-static" \
    ip -n B neigh replace fd00:16::16:1 lladdr "$(mac B 1)" dev ib0 nud permanent
ip -n B link add in0 up type ifb
ip -n B address add 172.16.200.1/24 dev in0
expect_hook 0 B --check
mend() { ip -n B route add local 172.16.200.1 dev in0 table local proto kernel scope host src 172.16.200.1; }
names "the local table lacks an address inside the rails' subnet" "in0 error address-unusable" ip -n B route del local 172.16.200.1 dev in0 table local
ip -n B link del in0
ip -n B address add 10.80.0.34/24 dev ib1
hook B --apply >/dev/null
mend() { ip -n B route add local 10.80.0.34 dev ib1 table local proto kernel scope host src 10.80.0.34; }
names "or a second one of a rail" "ib1 error address-unusable" ip -n B route del local 10.80.0.34 dev ib1 table local
ip -n B address del 10.80.0.34/24 dev ib1
mend() {
    ip -n B link del br1
    ip -n B link set ib1 up
    hook B --apply >/dev/null
}
enslaved() {
    ip -n B link add br1 up type bridge
    ip -n B link set ib1 master br1
}
hook B --apply >/dev/null # the address above is gone
names "it became a port, with its address" "ib1 error address-unusable" enslaved
readdress() { # OLD NEW…
    ip -n B address del "$1" dev ib1
    ip -n B address add "${@:2}" dev ib1
    hook B --apply >/dev/null
}
mend() { readdress 172.16.34.2/32 172.16.34.2/16; }
names "a single address, that reaches nobody" "ib1 error address-unusable" \
    readdress 172.16.34.2/16 172.16.34.2/32
# Leases of DHCPv6, and what a router's advertisement says is on the link.
leases() {
    for n in 0 1; do
        readdress6 ib$n fd00:16::34:$((n + 1))/64 fd00:16::34:$((n + 1))/128
        ip -n B -6 route add fd00:16::/64 dev ib$n proto ra metric 102$n
    done
    hook B --apply >/dev/null
}
readdress6() { # NIC OLD NEW
    ip -n B address del "$2" dev "$1"
    ip -n B address add "$3" dev "$1" nodad
}
leases
expect_hook 0 B --check
expect_contains "leases of single addresses leave by their own NICs" "dev ib1" "$(ip -n B -6 route get fd00:16::16:1 from fd00:16::34:2)"
for n in 0 1; do readdress6 ib$n fd00:16::34:$((n + 1))/128 fd00:16::34:$((n + 1))/64; done
ip -n B -6 route flush proto ra
hook B --apply >/dev/null
mend() { ip -n B link set ib1 address "$(mac B 1)"; }
names "both have one hardware address" "ib0+ib1 warning duplicate-mac" \
    ip -n B link set ib1 address "$(mac B 0)"

mend() { readdress 172.16.34.2/24 172.16.34.2/16; }
names "a longer prefix" "ib1 warning prefix-differs" readdress 172.16.34.2/16 172.16.34.2/24

mend() { ip -n B route del 172.16.16.1 table 942; }
names "a route in its table cuts large packets" "ib1 warning foreign-route" \
    ip -n B route add 172.16.16.1 dev ib1 mtu 1280 table 942
names "a route in its table leads to a neighbour by a gateway" "ib1 warning foreign-route" \
    ip -n B route add 172.16.16.1 via 172.16.0.1 dev ib1 table 942

# What the kernel of IPv6 learns about one host, no rule suppresses: here of packets from an address that is not a rail's, which
# main sends through ib0.
too_big() { # A router says that packets to this host have to be smaller.
    on A python3 - "$1" <<'END'
import socket, struct, sys
echo = struct.pack("!BBHHH", 128, 0, 0, 1, 1)
packet = struct.pack("!IHBB", 6 << 28, len(echo), 58, 64) + b"".join(
    socket.inet_pton(socket.AF_INET6, ip) for ip in ("fd00:98::1", sys.argv[1])
) + echo
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.sendto(struct.pack("!BBHI", 2, 0, 0, 1300) + packet, ("fd00:16::34:1", 0))
END
    wait_until 5 has_learned "$1"
}
has_learned() { ip -n B -6 route show cache "$1" | grep -q .; }
ip -n A address add fd00:16::16:1/64 dev ib0 nodad
names "a path MTU was learned by ib0: ib1's packets follow" "ib1 error foreign-route" too_big fd00:16::77

# One cause, one finding.
mend() { ip -n B rule del from 172.16.34.2 priority 9; }
names "a rule jumps over the rail's" "ib1 error foreign-rule" ip -n B rule add from 172.16.34.2 goto 32766 priority 9
late() {
    ip -n B rule add from all lookup local priority 3000
    ip -n B rule del priority 0
}
mend() {
    ip -n B rule add from all lookup local priority 0
    ip -n B rule del priority 3000
}
names "the local rule comes late" "ib0+ib1 error local-rule-late" late
ip -n B link set ib1 down
expect_hook 0 B --check --json
expect_equal "a rail is down: a note" "ib1 info carrier-down" "$(json '.findings[] | "\(.ifaces | join("+")) \(.severity) \(.code)"')"
ip -n B link set ib1 up
for n in 1 2; do ip -n B address replace fd00:16::34:$n/64 dev ib$((n - 1)) nodad; done
wait_until 5 settled B
hook B --apply >/dev/null
on B sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
names "proxy_arp_pvlan" "ib0 warning proxy-arp" on B sh -c 'echo 1 >/proc/sys/net/ipv4/conf/ib0/proxy_arp_pvlan'
on B sh -c 'echo 1 >/proc/sys/net/ipv4/conf/ib1/proxy_arp_pvlan' # main leads to the subnet through ib0: ib1 answers nothing
expect_hook 0 B --check --quiet
on B sh -c 'echo 0 >/proc/sys/net/ipv4/conf/ib1/proxy_arp_pvlan'
names "it answers ARP for a peer" "ib1 warning proxy-arp" ip -n B neigh add proxy 172.16.16.1 dev ib1

# A pod behind B, which B answers ARP for; by a rule of its own it reaches a network behind eth0. Neither fix may cut it.
answered() { # HOST PING…: how many of its packets; A asks for addresses anew
    ip -n A neigh flush dev ib0
    on "$@" | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}
add_host() { ip netns add "$1" && ip -n "$1" link set lo up; }
add_host P
ip -n B link add cali1 type veth peer name eth0 netns P
ip -n B link set cali1 up
ip -n B address add 169.254.1.1/32 dev cali1
ip -n B route add 172.16.34.77/32 dev cali1
ip -n P link set eth0 up
ip -n P address add 172.16.34.77/32 dev eth0
ip -n P route add 169.254.1.1 dev eth0
ip -n P route add default via 169.254.1.1 dev eth0
expect_hook 0 B --check
mend() {
    expect_equal "the pod is reached by it" 2 "$(answered A ping -c2 -W2 -I 172.16.16.1 172.16.34.77)"
    expect_contains "which the advice names" "172.16.34.77 through cali1" "$(json '.findings[].advice')"
    ip -n B neigh add proxy 172.16.34.77 dev ib1
    set_of ipv4/conf/ib1/proxy_arp 0
    expect_equal "and by the entry that is advised" 2 "$(answered A ping -c2 -W2 -I 172.16.16.1 172.16.34.77)"
}
advises "proxy_arp, for a pod, too" "ib1 warning proxy-arp" set_of ipv4/conf/ib1/proxy_arp 1
mend() { set_of ipv4/conf/all/proxy_arp 0; }
advises "proxy_arp of all" "ib1 warning proxy-arp" set_of ipv4/conf/all/proxy_arp 1
both() { for nic in all ib1; do set_of ipv4/conf/$nic/proxy_arp 1; done; }
mend() { for nic in all ib1; do set_of ipv4/conf/$nic/proxy_arp 0; done; }
advises "both: each is named" "ib1 warning proxy-arp, ib1 warning proxy-arp" both
add_host G
add_nic B eth0 99 10.0.0.34/24
ip -n wire link add G.0 type veth peer name g0 netns G
ip -n wire link set G.0 master br0 up
ip -n G link set g0 up
ip -n G address add 10.0.0.1/24 dev g0
ip -n G address add 172.16.200.9/32 dev lo
on G sh -c 'echo 1 >/proc/sys/net/ipv4/conf/g0/arp_ignore'
ip -n G route add default via 10.0.0.34
ip -n B route add 172.16.200.0/24 via 10.0.0.1 dev eth0 table 200
for_pods() { ip -n B rule add from 172.16.34.0/24 to 172.16.200.0/24 lookup 200 priority 100; }
mend() {
    expect_equal "the pod needs the rule" 2 "$(answered P ping -c2 -W2 172.16.200.9)"
    ip -n B rule del priority 100
}
advises "a rule for packets that are forwarded, too" "ib0+ib1 error foreign-rule" for_pods
ip -n B link del eth0
ip -n B link del cali1
ip -n B neigh del proxy 172.16.34.77 dev ib1
on B sh -c 'echo 0 >/proc/sys/net/ipv4/ip_forward'

# What is not a rail's packet: unbound traffic, and virtual addresses.
soft() { # ADDRESS/LENGTH
    ip -n B link add br9 type bridge
    ip -n B link set br9 up
    ip -n B address add "$1" dev br9
}
first_in_main() {
    soft 172.16.99.1/16
    for nic in ib0 ib1; do ip -n B route del 172.16.0.0/16 dev $nic; done
    for n in 1 2; do ip -n B route append 172.16.0.0/16 dev ib$((n - 1)) proto kernel scope link src 172.16.34.$n; done
    expect_equal "no peer is reached without a source" "" "$(on B ping -c1 -W1 172.16.16.1 | grep -o '1 received' || true)"
    hook B --apply >/dev/null
}
mend() {
    ip -n B link del br9
    hook B --apply >/dev/null
}
names "a bridge with the rails' prefix is first in main" "br9 warning address-silent, ib0 warning unbound" first_in_main
virtual() {
    soft 172.16.99.1/32
    for i in 0 1; do sysctl_set B ib$i arp_ignore 0; done
    expect_equal "a virtual address is answered for" "1 received" "$(on A ping -c1 -W1 172.16.99.1 | grep -o '1 received')"
    ip -n A neigh flush dev ib0
    hook B --apply >/dev/null
    expect_equal "and still is after --apply" "1 received" "$(on A ping -c1 -W1 172.16.99.1 | grep -o '1 received')"
    expect_hook 0 B --check
    system_config "[defaults]
arp=strict"
    hook B --apply >/dev/null
    ip -n A neigh flush dev ib0
    expect_equal "but not with arp=strict" "" "$(on A ping -c1 -W1 172.16.99.1 | grep -o '1 received' || true)"
}
end_virtual() {
    ip -n B link del br9
    rm /etc/ib-hook/ib-hook.conf
    hook B --apply >/dev/null
}
strict() { # LINE…: of the configuration
    system_config "[defaults]
arp=strict
$(printf '%s\n' "$@")"
    hook B --apply >/dev/null
    forget A B
}
by_router() { # ADDRESS PREFIX: A is its router, by ib0
    ip -n A address add "$1" dev lo
    ip -n B route add "$2" via 172.16.16.1 dev ib0
}
received() { on B ping -q -c1 -W1 -I 172.16.34.2 "$1" | grep -o '[01] received' || true; }
by_router 10.66.0.1/32 10.66.0.0/16
by_router 172.16.66.1/32 172.16.66.0/24
hook B --apply >/dev/null
expect_equal "ib1 gets answers from where main sends through ib0" "1 received 1 received" "$(received 10.66.0.1) $(received 172.16.66.1)"
expect_hook 0 B --check
strict
expect_equal "but not with arp=strict" "0 received 0 received" "$(received 10.66.0.1) $(received 172.16.66.1)"
expect_hook 1 B --check --json
expect_equal "both networks are named" "ib1 warning foreign-route, ib1 warning gateway-missing" "$(findings)"
advice=$(json '.findings[] | select(.severity == "warning") | .advice')
expect_contains "with what the rail needs" "remote=10.66.0.0/16 via 172.16.16.1 for ib1" "$advice"
expect_contains "inside the subnet, too" "remote=172.16.66.0/24 via 172.16.16.1 for ib1" "$advice"
expect_equal "and no command deletes somebody's route" "" "$(json '.findings[].fix // empty')"
strict "[interface ib1]" "remote=10.66.0.0/16 via 172.16.16.1, 172.16.66.0/24 via 172.16.16.1"
expect_equal "that helps" "1 received 1 received" "$(received 10.66.0.1) $(received 172.16.66.1)"
expect_hook 0 B --check
for network in 10.66.0.0/16 172.16.66.0/24; do ip -n B route del $network; done
rm /etc/ib-hook/ib-hook.conf
hook B --apply >/dev/null

beside() { # a NIC that is not a rail, and whose rp_filter is strict
    add_nic B eth0 97 172.16.34.9/16
    sysctl_set B eth0 rp_filter 1
    sysctl_set B eth0 arp_ignore 1
    wait_until 5 settled B
    hook B --apply >/dev/null
    forget A
    expect_equal "a rail answers for a NIC beside it" "1 received" "$(on A ping -q -c1 -W1 172.16.34.9 | grep -o '1 received')"
    expect_hook 0 B --check
    strict
    expect_equal "but not with arp=strict" "" "$(on A ping -q -c1 -W1 172.16.34.9 | grep -o '1 received' || true)"
}
mend() {
    ip -n B link del eth0
    rm /etc/ib-hook/ib-hook.conf
    hook B --apply >/dev/null
}
names "nobody answers for it" "eth0 warning address-silent" beside
mend() { end_virtual; }
names "nobody answers for a virtual address" "br9 warning address-silent" virtual
virtual
add_nic B eth0 98 172.16.34.9/16
wait_until 5 settled B
expect_equal "a NIC that is not a rail answers for it" 2 "$(answered A ping -c2 -W2 172.16.99.1)"
expect_hook 0 B --check
ip -n B link del eth0
end_virtual

# Another host has the address: the kernel gives it up.
has_failed() { ip -n B address show dev ib1 | grep -q dadfailed; }
failed() {
    on B sh -c "echo 1 >/proc/sys/net/ipv6/conf/ib1/accept_dad; echo 1 >/proc/sys/net/ipv6/conf/ib1/dad_transmits"
    ip -n A address add fd00:16::dd/64 dev ib0 nodad
    ip -n B address add fd00:16::dd/64 dev ib1
    wait_until 10 has_failed
}
mend() { ip -n B address del fd00:16::dd/64 dev ib1; }
names "DAD failed" "ib1 error address-unusable" failed

# What arrives, what is no unicast.
moved() { # RULE: asked before the local table's, which somebody has moved behind it
    ip -n B rule add from all lookup local priority 100
    ip -n B rule del priority 0
    # shellcheck disable=SC2086 # a list of words
    ip -n B rule add $1 priority 9
}
mend() {
    ip -n B rule add from all lookup local priority 0
    ip -n B rule del priority 100
    ip -n B rule del priority 9
}
names "a rule drops what arrives" "ib1 error foreign-rule" moved "iif ib1 blackhole"
mend() { ip -n B -6 route del anycast fd00:16::16:1 dev ib1 table local; }
names "a neighbour is an anycast address" "ib0+ib1 error foreign-route" \
    ip -n B -6 route add anycast fd00:16::16:1 dev ib1 table local
names "our own MAC, of a neighbour that is not asked for" "ib1 warning neighbour-static" \
    ip -n B neigh replace 172.16.16.1 lladdr "$(mac B 0)" dev ib1 nud noarp

# Half of a guide: rules and tables of their own, no settings of ARP. Nothing of that is ours, and it is not right.
hook B --undo >/dev/null
rm -f /run/ib-hook/*
for n in 1 2; do ip -n B address del fd00:16::34:$n/64 dev ib$((n - 1)); done
for n in 1 2; do
    ip -n B route add 172.16.0.0/16 dev ib$((n - 1)) src 172.16.34.$n table $((99 + n))
    ip -n B rule add from 172.16.34.$n lookup $((99 + n))
done
for nic in ib0 ib1; do for key in arp_ignore arp_announce rp_filter; do sysctl_set B $nic $key 0; done; done
expect_hook 1 B --check --json
expect_equal "half of a guide" "ib0+ib1 warning sysctl-wrong" "$(findings)"
expect_hook 0 B --apply
expect_hook 0 B --check

# A subnet of /0 or /1 has 127.0.0.0/8 inside: no host of it.
new_host C
add_nic C ib0 0
add_nic C ib1 1
rdma C ib0 ib1
for length in 0 1; do
    for i in 0 1; do
        ip -n C address flush dev ib$i
        ip -n C address add 10.1.34.$((i + 1))/$length dev ib$i
        ip -n C link set ib$i up
    done
    wait_until 5 settled C
    expect_hook 0 C --apply
    expect_hook 0 C --check --json
    expect_equal "a subnet of /$length: nothing is wrong" "" "$(findings)"
done
