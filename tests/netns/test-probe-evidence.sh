#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe accuses whom it has seen to do something, and nobody else: hosts that are right in an unusual way have no finding,
# and what stops a packet is told by the act that showed it.
. "$(dirname "$0")/lib.sh"
needs nft

make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply
both=(172.16.34.1 172.16.34.2)
probe() { # STATUS PEER…
    forget A B
    expect_hook "$1" A --probe "${@:2}" --count 2 --json
}
faults() { json '[.findings[] | select(.severity != "info") | "\(.severity) \(.code) \(.ifaces | join("+"))"] | join(", ")'; }
filter() { # HOST FAMILY HOOK RULE…
    on "$1" nft "add table $2 t; add chain $2 t c { type filter hook $3 priority 0; }; add rule $2 t c ${*:4}"
}

# ---- right hosts -----------------------------------------------------------------------------------

ip -n B address add 172.16.99.8/32 dev ib1
expect_hook 0 B --apply
probe 0 "${both[@]}" 172.16.99.8
expect_equal "a VIP on the peer's rail" "" "$(faults)"
ip -n B address del 172.16.99.8/32 dev ib1
expect_hook 0 B --apply

for host in A B; do
    for i in 0 1; do ip -n $host address add "10.7.$(host_id $host).$((i + 1))/16" dev ib$i; done
    wait_until 5 settled $host
    expect_hook 0 $host --apply
done
probe 0 "${both[@]}" 10.7.34.1 10.7.34.2
expect_equal "a second subnet on each rail" "" "$(faults)"
for host in A B; do
    for i in 0 1; do ip -n $host address del "10.7.$(host_id $host).$((i + 1))/16" dev ib$i; done
    expect_hook 0 $host --apply
done

# Containers behind one NIC of a host; a VIP of theirs, for which that host answers.
new_host C
add_nic C eth0 3 172.16.50.1/16
ip -n C route add local 172.16.60.0/28 dev lo
sysctl_set C eth0 proxy_arp 1
on C sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
for i in 1 2; do ip -n C address add 172.16.60.$i/32 dev lo; done
wait_until 5 settled C
probe 0 172.16.50.1 172.16.60.1 172.16.60.2
expect_equal "containers behind one NIC" "" "$(faults)"

# keepalived with use_vmac: a macvlan with the router's virtual address answers; replies come from the NIC itself. The same
# of HSRP and GLBP.
sysctl_set C eth0 arp_ignore 1
for virtual in 00:00:5e:00:01:07 00:00:0c:07:ac:01 00:00:0c:9f:f0:01 00:07:b4:00:01:01; do
    ip -n C link add vrrp link eth0 address $virtual type macvlan mode bridge
    ip -n C address add 172.16.70.1/32 dev vrrp
    ip -n C link set vrrp up
    sysctl_set C vrrp arp_ignore 1
    wait_until 5 settled C
    probe 0 172.16.50.1 172.16.70.1
    expect_equal "a virtual router" "$virtual $(mac C 3) " "$(json '.pairs[-1] | "\(.peer_lladdr) \(.reply_lladdr)"') $(faults)"
    ip -n C link del vrrp
done

# A host damages what it sends: our NICs, which get intact replies of others, are not at fault.
filter wire bridge forward ether saddr "$(mac C 3)" ip protocol icmp @th,256,16 set 0x5555
probe 1 "${both[@]}" 172.16.50.1
expect_equal "a host that damages what it sends: its pairs alone" "error reply-dropped " "$(faults)"
expect_contains "who could have done it" "172.16.50.1 to every rail: replies come in through this NIC with a wrong checksum, so this host drops them: that host's NIC, a cable, a switch or this NIC damages them; 2 of 6 pairs" "$(messages)"
on wire nft flush ruleset
filter wire bridge forward ether saddr "$(mac C 3)" ip protocol icmp ip length gt 1000 @th,256,16 set 0x5555
probe 1 "${both[@]}" 172.16.50.1
expect_contains "the same of long ones" "172.16.50.1 to every rail: packets of" "$(messages)"
on wire nft flush ruleset
delete_host C

# ---- this host's neighbour table ---------------------------------------------------------------------

ip -n A neigh replace 172.16.34.1 lladdr "$(mac B 1)" dev ib0 nud permanent
probe 1 "${both[@]}"
expect_equal "a permanent entry of the peer's other NIC: ours, though echoes come back" "warning neighbour-static ib0" "$(faults)"
expect_equal "at which stage" "entry" "$(json '[.pairs[].stage | select(.)] | unique | join(" ")')"
as_pasted A "$(json '.findings[] | select(.code == "neighbour-static").fix')"
probe 0 "${both[@]}"

forget A B
ip -n A neigh replace 172.16.34.1 lladdr 02:00:00:00:99:99 dev ib0 nud reachable
expect_hook 1 A --probe "${both[@]}" --count 2 --json
expect_equal "an entry that is wrong, of whatever state" "warning neighbour-wrong ib0" "$(faults)"
expect_contains "both are named" "had 02:00:00:00:99:99, before the first packet, but $(mac B 0) answers ARP" "$(messages)"

for n in 1 2; do # the program deletes what it learned
    for peer in "${both[@]}"; do on A ping -q -c 1 -W 2 -I 172.16.16.$n "$peer" >$work/ping; done
done
filter B arp input arp operation request drop
expect_hook 1 A --probe "${both[@]}" --count 2 --json
expect_equal "a warm entry is no answer" "warning arp-unanswered " "$(faults)"
expect_equal "it is no error of echoes" "2 2 2 2" "$(json '[.pairs[].received] | join(" ")')"
on B nft flush ruleset

# ---- what comes back ---------------------------------------------------------------------------------

filter B ip input icmp type echo-request reject with icmp type admin-prohibited
probe 1 "${both[@]}"
expect_equal "the peer says so itself" "error icmp-refused " "$(faults)"
expect_contains "what it says" "172.16.34.1-.2 to every rail: the peer itself sends an ICMP error: administratively prohibited" "$(messages)"
on B nft flush ruleset

new_host R
add_nic R eth0 0 172.16.50.1/16
ip -n R route add prohibit 192.0.2.0/24
on R sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 0 >/proc/sys/net/ipv4/icmp_ratelimit'
wait_until 5 settled R
for n in 0 1; do ip -n A route add default via 172.16.50.1 dev ib$n metric 10$n; done
expect_hook 0 A --apply
probe 1 192.0.2.1
expect_contains "a router does" "192.0.2.1 to every rail: 172.16.50.1, on the way, sends an ICMP error: administratively prohibited" "$(messages)"
ip -n A route flush default
expect_hook 0 A --apply
delete_host R

# Every reply is damaged on its way into one of our NICs; then long ones only.
damage() { # MATCH…: ICMP that the wire sends to A's ib1, 16 bits behind the cookie
    on wire nft flush ruleset
    filter wire bridge forward ether daddr "$(mac A 1)" ip protocol icmp "$@" @th,256,16 set 0x5555
}
damage
probe 1 "${both[@]}"
expect_equal "damaged replies, of all peers, into one rail" "error reply-dropped ib1" "$(faults)"
expect_contains "as that" "replies come in through this NIC with a wrong checksum" "$(messages)"
damage ip length gt 1000
probe 1 "${both[@]}"
expect_equal "long ones, too" "error reply-dropped ib1" "$(faults)"
expect_contains "with what comes through" "but not those of 1500 bytes, which the rail's MTU allows: the replies come in with a wrong checksum" "$(messages)"
on wire nft flush ruleset

# The switch drops what one port sends: nobody was seen to do it.
filter wire bridge forward ether saddr "$(mac A 1)" ether daddr "$(mac B 0)" ip protocol icmp drop
probe 1 "${both[@]}"
expect_contains "what lies between" "ib1 to 172.16.34.1: ARP is answered, echoes are not: they were seen to leave, and nothing came back: the fault is in the wire, in either direction, or in that host" "$(messages)"
expect_lacks "no advice for another host" "on the peer" "$(json '.findings[].advice')"
on wire nft flush ruleset

# The switch delivers twice what is for one NIC: a mirror port, an MLAG. Nobody has a double.
on wire nft "add table netdev t; add chain netdev t c { type filter hook ingress devices = { B.0, B.1 } priority 0; }; add rule netdev t c ether daddr $(mac A 1) dup to \"A.1\""
probe 1 "${both[@]}"
expect_equal "doubled frames" "warning frames-doubled ib1" "$(faults)"
expect_contains "as that" "ib1 to 172.16.34.1-.2: each frame comes in twice" "$(messages)"
on wire nft flush ruleset

# ---- who answers ---------------------------------------------------------------------------------------

new_host C
add_nic C eth0 3 172.16.34.1/16
wait_until 5 settled C
probe 1 "${both[@]}"
expect_equal "two hosts with one address, and no guess beside" "error duplicate-address " "$(faults)"
expect_contains "by name" "$(mac B 0), $(mac C 3) claim the address" "$(messages)"
ip -n C link set eth0 down
ip -n C link set eth0 address "$(mac B 0)"
ip -n C link set eth0 up
wait_until 5 settled C
probe 1 "${both[@]}"
expect_contains "the same with one hardware address" "error duplicate-mac" "$(faults)"
expect_contains "as that" "one question gets two answers from $(mac B 0)" "$(messages)"

# C takes the address with a virtual router's hardware address. Linux keeps the first answer, and the bridge asks C first: so
# packets go to C.
ip -n C link set eth0 down
ip -n C link set eth0 address 00:00:5e:00:01:07
ip -n C link set eth0 up
wait_until 5 settled C
for port in B.0 C.3; do
    ip -n wire link set $port nomaster
    ip -n wire link set $port master br0
done
bridge_forwards() { on wire bridge -json link show | jq -e 'all(.[]; .state == "forwarding")' >/dev/null; }
wait_until 5 bridge_forwards
probe 1 "${both[@]}"
expect_equal "a thief with a virtual hardware address" "error duplicate-address  00:00:5e:00:01:07" "$(faults) $(json '.pairs[0].peer_lladdr')"
expect_contains "both are named" "00:00:5e:00:01:07, $(mac B 0) claim the address" "$(messages)"
delete_host C

# ---- our own way -----------------------------------------------------------------------------------------

add_nic A eth0 9 10.0.0.2/8
sysctl_set A eth0 arp_ignore 1
wait_until 5 settled A
ip -n A route add 172.16.34.0/26 dev eth0
probe 1 "${both[@]}"
expect_contains "the route that decides is named" "leaves through eth0: the route to 172.16.34.0/26 in table main decides" "$(messages)"
ip -n A route del 172.16.34.0/26 dev eth0

# The kernel is asked, and says ib1; but a filter sets the DSCP of what leaves, and a rule for that leads elsewhere.
on A nft "add table ip t; add chain ip t c { type route hook output priority 0; }; add rule ip t c ip saddr 172.16.16.2 ip dscp set 4"
ip -n A rule add tos 0x10 lookup 77 priority 50
ip -n A route add 172.16.0.0/16 dev eth0 table 77
probe 1 "${both[@]}"
expect_equal "what programs send is sent, too" "error routed-other-nic ib1" "$(faults)"
expect_contains "by which NIC it leaves" "a route look-up finds this NIC, but what programs send leaves through eth0: a filter" "$(messages)"
on A nft flush ruleset
ip -n A rule del priority 50

# Another host answers for the peer, and the peer's replies come in elsewhere: by a wire of its own.
ip -n B link add side type veth peer name eth1 netns A
ip -n A address add 192.0.2.1/30 dev eth1
ip -n B address add 192.0.2.2/30 dev side
ip -n A link set eth1 up
ip -n B link set side up
for host in A B; do wait_until 5 settled $host; done
ip -n B rule add to 172.16.16.0/24 lookup 77 priority 50
ip -n B route add default via 192.0.2.1 dev side table 77
probe 1 "${both[@]}"
expect_contains "which is told" "replies came in through eth1, and not from the hardware address that echoes go to" "$(messages)"
expect_lacks "the peer's entry of us is not blamed" "neigh flush" "$(json '.findings[].advice')"
ip -n B rule del priority 50

# A route: the peer is a neighbour, and packets go to another host.
ip -n A route add 172.16.34.1/32 via 172.16.50.1 dev ib0 table 941
new_host R
add_nic R eth0 0 172.16.50.1/16
wait_until 5 settled R
probe 1 "${both[@]}"
expect_contains "a detour is named, with its route" "packets go via 172.16.50.1, although the peer is a neighbour: the route to 172.16.34.1/32 in table 941 decides; nothing came back" "$(messages)"
expect_contains "by what the kernel says" "via 172.16.50.1" "$(on A ip route get 172.16.34.1 from 172.16.16.1 oif ib0)"
ip -n A route del 172.16.34.1/32 table 941
delete_host R

# A gateway knew a better one for the peer, and said so by an ICMP redirect, which this host accepted. Now the gateway has the
# peer's address itself, and the better one does not lead there. What this host asks is its own word: ip route get.
router() { # HOST NUMBER ADDRESS
    new_host "$1"
    add_nic "$1" eth0 "$2" "$3"
    on "$1" sysctl -qe -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
    wait_until 5 settled "$1"
}
follows() { # PEER SOURCE GATEWAY: this host does; a first redirect makes it ask for the gateway's hardware address only
    on A ping -q -c 1 -W 1 -I "$2" "$1" >$work/ping || true
    [[ $(on A ip route get "$1" from "$2" oif ib0) == *"via $3 "* ]]
}
redirect() { # PEER SOURCE GATEWAY BETTER IP…: `ip` or `ip -6`
    local peer=$1 source=$2 gateway=$3 better=$4 ip=("${@:5}")
    "${ip[@]}" -n A route add default via "$gateway" dev ib0
    expect_hook 0 A --apply
    "${ip[@]}" -n R route add "$peer" via "$better" dev eth0
    "${ip[@]}" -n C address add "$peer" dev lo
    wait_until 20 follows "$peer" "$source" "$better"
    probe 0 "$peer"
    expect_equal "$peer: a redirect to where the peer is, is right" "" "$(codes)"
    "${ip[@]}" -n R route del "$peer"
    "${ip[@]}" -n C address flush dev lo scope global
    "${ip[@]}" -n R address add "$peer" dev lo
    probe 1 "$peer"
    expect_equal "$peer: one finding" "error probe-lost ib0" "$(faults)"
    expect_contains "$peer: the gateway in use is named, and what made it" \
        "packets go through ib0 via $better, because this host accepted an ICMP redirect, and not as the route to" "$(messages)"
    advice=$(json '.findings[].advice')
    as_pasted A "$(json '.findings[].fix')"
    probe 0 "$peer"
    expect_equal "$peer: its fix removes it" "" "$(codes)"
    as_pasted A "${advice%%: *}"
    "${ip[@]}" -n R address flush dev lo scope global
    "${ip[@]}" -n R route add "$peer" via "$better" dev eth0
    for n in 1 2 3 4 5; do ! follows "$peer" "$source" "$better" || fail "$peer: as advised, no other redirect is accepted" "$n"; done
}
router R 0 172.16.50.1/16
router C 3 172.16.50.2/16
redirect 198.51.100.1 172.16.16.1 172.16.50.1 172.16.50.2 ip
ip -n A route flush default
for host in R C; do delete_host $host; done

# The same of IPv6: redirected; refused by the peer itself; damaged on the way into one of our NICs.
[ -d /proc/sys/net/ipv6 ] || skip "no IPv6 here: all but its part"
for host in A B; do
    for i in 0 1; do ip -n $host address add "fd00:16::$(host_id $host):$((i + 1))/64" dev ib$i nodad; done
    wait_until 5 settled $host
    expect_hook 0 $host --apply
done
six=(fd00:16::34:1 fd00:16::34:2)
probe 0 "${six[@]}"
link_local() { ip -n "$1" -json -6 address show dev "${2:-eth0}" scope link | jq -r '.[].addr_info[]?.local // empty'; }
router R 0 fd00:16::50:1/64
router C 3 fd00:16::50:2/64
redirect fd00:99::1 fd00:16::16:1 "$(link_local R)" "$(link_local C)" ip -6
ip -n A -6 route flush default
for host in R C; do delete_host $host; done
expect_hook 0 A --apply
filter B ip6 input icmpv6 type echo-request reject with icmpv6 type admin-prohibited
probe 1 "${six[@]}"
expect_contains "IPv6: the peer says so itself" "the peer itself sends an ICMP error: administratively prohibited" "$(messages)"
on B nft flush ruleset
filter wire bridge forward ether daddr "$(mac A 1)" icmpv6 type echo-reply @th,256,16 set 0x5555
probe 1 "${six[@]}"
expect_equal "IPv6: damaged replies into one rail" "error reply-dropped ib1" "$(faults)"
expect_contains "as that, too" "replies come in through this NIC with a wrong checksum" "$(messages)"
on wire nft flush ruleset
filter wire bridge forward ether daddr "$(mac A 1)" icmpv6 type echo-reply @th,16,16 set 0x5555
probe 1 "${six[@]}"
expect_contains "also if only the checksum is damaged" "replies come in through this NIC with a wrong checksum" "$(messages)"
on wire nft flush ruleset
filter wire bridge forward ether daddr "$(mac A 1)" ip6 length gt 1000 icmpv6 type echo-reply @th,256,16 set 0x5555
probe 1 "${six[@]}"
expect_equal "IPv6: long ones, one finding" "error reply-dropped ib1" "$(faults)"
expect_contains "IPv6: and no MTU of others" "the replies come in with a wrong checksum" "$(messages)"
expect_lacks "IPv6: no advice for a switch's MTU" "MTU of the switch" "$(json '.findings[].advice')"

# A redirect that came in through a NIC that is not a rail, by a default route of main, stands before a rail's own gateway, too:
# IPv6 asks that NIC alone whether it accepts one.
ip -n wire link add br9 up type bridge
for host in A R C; do
    [ $host = A ] || new_host $host
    ip -n wire link add $host.eth9 type veth peer name eth9 netns $host
    ip -n wire link set $host.eth9 master br9 up
    ip -n $host address add "fd00:98::$(printf %x "'$host")/64" dev eth9 nodad
    ip -n $host link set eth9 up
done
on R sysctl -q -w net.ipv6.conf.all.forwarding=1
for host in A R C; do wait_until 5 settled $host; done
better=$(link_local C eth9)
ip -n A -6 route add default via "$(link_local R eth9)" dev eth9
ip -n R -6 route add fd00:88::1 via "$better" dev eth9
ip -n C -6 address add fd00:88::1/128 dev lo
config=$(config "[interface ib*]
gateway=fd00:16::34:1")
expect_hook 0 A --config "$config" --apply
follows_unbound() {
    on A ping -q -c 1 -W 1 fd00:88::1 >$work/ping || true
    [[ $(on A ip -6 route get fd00:88::1 from fd00:16::16:1) == *"via $better dev eth9 "* ]]
}
wait_until 20 follows_unbound
expect_hook 1 A --config "$config" --probe fd00:88::1 --count 2 --json
lost=$(json '.findings[] | select(.code == "probe-lost")')
expect_contains "a redirect through a NIC that is not a rail: the NIC and the gateway are named" \
    "packets go through eth9 via $better, because this host accepted an ICMP redirect" "$lost"
advice=$(jq -r .advice <<<"$lost")
as_pasted A "$(jq -r .fix <<<"$lost"); ${advice%%: *}"
for n in 1 2 3 4 5; do ! follows_unbound || fail "as advised, no other redirect is accepted through eth9" "$n"; done
