#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe asks for this host's own addresses, too: another host that has one, a proxy that stands for them. Our own NICs,
# which all answer on a wire that they share, are neither.
. "$(dirname "$0")/lib.sh"

make_hosts 2
probe() { expect_hook "$1" A --probe 172.16.34.1 172.16.34.2 --count 1 --json; }
expect_hook 0 B --apply
hook A --probe 172.16.34.1 --json >$work/out || [ $? = 1 ]
expect_equal "our own flux is no stranger" "" "$(jq -r '.findings[].code | select(. == "duplicate-address" or . == "proxy-arp")' $work/out)"
expect_hook 0 A --apply
probe 0
expect_equal "right hosts" "" "$(codes)"
expect_equal "who answers ARP now" "$(mac B 0) $(mac B 0) $(mac B 1) $(mac B 1)" "$(json '[.pairs[].arp[]] | join(" ")')"

# A third host has the address of ib1.
new_host C
add_nic C eth0 3 172.16.16.2/16
wait_until 5 settled C
probe 1
expect_contains "another host has our address" "error duplicate-address ib1" "$(codes)"
expect_contains "its hardware address is named" "another host has 172.16.16.2, too: $(mac C 3) claims it, by ARP" "$(json '.findings[].message')"
expect_lacks "a host is no proxy" proxy-arp "$(codes)"
expect_equal "ib0's address is ours alone" "" "$(json '.findings[] | select((.ifaces | index("ib0"))) | .code | select(. == "duplicate-address")')"
ip -n C address flush dev eth0
forget A B
probe 0
expect_equal "without it nothing is said" "" "$(codes)"

# Answers in the name of other hosts accuse the sender of the frames, and nobody else.
cat >$work/forge.py <<'EOF'
import socket, sys
wanted = {}
for word in sys.argv[1:]: # ADDRESS=NAME,NAME…
    ip, names = word.split("=")
    wanted[socket.inet_aton(ip)] = [bytes.fromhex(name.replace(":", "")) for name in names.split(",")]
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
wire.bind(("eth0", 0x0806))
own = wire.getsockname()[4]
print("ready", flush=True)
while True:
    frame = wire.recv(2048)
    if frame[20:22] == b"\0\1":
        for name in wanted.get(frame[38:42], []):
            wire.send(frame[6:12] + own + frame[12:20] + b"\0\2" + name + frame[38:42] + frame[22:28] + frame[28:32])
EOF
forged() { # ADDRESS=NAME,NAME… …: what --probe says meanwhile
    rm -f $work/forge
    nsenter --net=/run/netns/C python3 $work/forge.py "$@" >$work/forge &
    local forger=$!
    wait_until 5 grep -qs ready $work/forge
    forget A B
    probe 1
    kill $forger
    forget A B
}
forged 172.16.16.2="$(mac B 1)"
expect_equal "a forged answer for an address of ours" "error duplicate-address ib0+ib1" "$(codes)"
expect_contains "is told by its sender" "$(mac C 3) sends ARP answers for 172.16.16.2 in the name of $(mac B 1): a forgery" "$(messages)"
expect_contains "who is to be found" "find $(mac C 3)" "$(json '.findings[].advice')"
forged 172.16.16.2="$(for i in {1..300}; do printf '02:00:00:77:%02x:%02x ' $((i / 256)) $((i % 256)); done | xargs | tr ' ' ,)"
expect_equal "300 names: one finding" "error duplicate-address ib0+ib1" "$(codes)"
forged 172.16.34.1="$(mac B 1),$(mac B 0)" 172.16.34.2="$(mac B 0),$(mac B 1)"
expect_equal "for a peer that is right: one finding" "error duplicate-address ib0+ib1" "$(codes)"
expect_contains "which names the forger" "$(mac C 3) sends ARP answers for 172.16.34.1-.2 in the name of" "$(messages)"
expect_equal "and accuses nobody else" "$(mac C 3)" "$(json '[.findings[].owner] | unique | join(" ")')"

# Unasked, C says that a peer's address is its own, again and again: the kernel believes it, and echoes get lost.
cat >$work/announce.py <<'EOF'
import socket, sys, time
ip = socket.inet_aton(sys.argv[1])
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("eth0", 0x0806))
tag = bytes.fromhex(sys.argv[2])
own = wire.getsockname()[4]
while True:
    wire.send(b"\xff" * 6 + own + tag + b"\x08\x06\0\1\x08\0\6\4\0\1" + own + ip + bytes(6) + ip)
    print(".", end="", flush=True)
    time.sleep(0.05)
EOF
learned_thief() { [ "$(learned_mac A 172.16.34.1 | tail -1)" = "$(mac C 3)" ]; }
nsenter --net=/run/netns/C python3 $work/announce.py 172.16.34.1 '' >$work/announced &
thief=$!
on A ping -q -c 1 -W 2 -I 172.16.16.1 172.16.34.1 >$work/ping || true
wait_until 5 learned_thief
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --count 10 --json
kill $thief
expect_equal "a thief by announcements: its echoes do not come back" true "$(json '[.pairs[] | select(.peer == "172.16.34.1").received < 10] | any')"
expect_equal "one finding" "error duplicate-address " "$(codes)"
expect_contains "with both names" "172.16.34.1: $(mac B 0), $(mac C 3) claim the address" "$(messages)"
forget A B

# In VLAN 5, the same address belongs to another network, although the rails' NICs receive its tagged frames.
nsenter --net=/run/netns/C python3 $work/announce.py 172.16.34.1 81000005 >$work/announced-in-vlan &
other=$!
wait_until 5 test -s $work/announced-in-vlan
announced=$(stat -c %s $work/announced-in-vlan)
probe 0
expect_differs "the VLAN announced meanwhile" "$announced" "$(stat -c %s $work/announced-in-vlan)"
kill $other
expect_equal "who has the address in a VLAN is no thief" "" "$(codes)"

# A VIP that both hosts have, on lo here: asked for, as a peer, it is found there.
ip -n A address add 172.16.99.9/32 dev lo
expect_hook 0 A --apply
expect_equal "a rail answers for it" 0 "$(on A cat $CONF/ib0/arp_ignore)"
forget A B
probe_vip() { expect_hook "$1" A --probe 172.16.34.1 172.16.99.9 --count 1 --json; }
probe_vip 0
expect_equal "a VIP of our own is no finding" "" "$(codes)"
ip -n C address add 172.16.99.9/16 dev eth0
probe_vip 1
expect_contains "on both hosts it is" "another host has 172.16.99.9, too: $(mac C 3) claims it, by ARP" "$(messages)"

# As a real server of LVS has it: with arp_ignore, no NIC here answers for lo, and the director alone has it on the wire.
for i in 0 1; do sysctl_set A ib$i arp_ignore 1; done
forget A B
probe_vip 0
expect_equal "a VIP that this host keeps to itself is its director's" "" "$(codes)"
ip -n A address del 172.16.99.9/32 dev lo
expect_hook 0 A --apply
ip -n B address add 172.16.99.9/32 dev lo
forget A B
probe_vip 0
expect_equal "nor is a real server accused by others" "$(mac C 3) $(mac C 3)" "$(json '[.pairs[] | select(.peer == "172.16.99.9").arp[]] | join(" ")')"
ip -n B address del 172.16.99.9/32 dev lo
ip -n C address flush dev eth0
forget A B

# A proxy: it would forward to elsewhere what we are asked for.
ip -n C address add 172.16.50.1/32 dev eth0
ip -n C link add away type veth peer name back
ip -n C link set away up
ip -n C link set back up
ip -n C address add 192.0.2.1/24 dev away
ip -n C route add 172.16.16.0/24 via 192.0.2.2
ip -n C route add 172.16.34.0/24 dev eth0
on C sh -c "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >$CONF/eth0/proxy_arp"
wait_until 5 settled C
probe 1
expect_equal "a proxy answers for both our addresses" "warning proxy-arp ib0+ib1" "$(codes)"
expect_contains "who it is" "$(mac C 3) answers ARP for 172.16.16.1-.2, of this host: a proxy" "$(json '.findings[].message')"

# It also stands for the peers, who answer themselves: none of them is a duplicate. A host that has a peer's address is.
ip -n C route replace 172.16.34.0/24 via 192.0.2.2
forget A B
probe 1
expect_equal "a proxy beside the peers accuses none" "warning proxy-arp ib0+ib1, warning proxy-arp" "$(codes | sed 's/ *$//')"
expect_contains "it is told of all peers at once" "172.16.34.1-.2: ARP answers come from $(mac C 3), too, as for other hosts: a proxy" "$(messages)"
expect_equal "who is to blame" "$(mac C 3)" "$(json '.findings[].owner // empty')"
new_host D
add_nic D eth0 4 172.16.34.2/16
wait_until 5 settled D
forget A B
probe 1
expect_contains "another host with a peer's address" "error duplicate-address" "$(codes)"
expect_contains "is told without the proxy" "172.16.34.2: $(sort <<<"$(mac B 1)"$'\n'"$(mac D 4)" | xargs | sed 's/ /, /') claim the address" "$(messages)"
delete_host D
ip -n C route replace 172.16.34.0/24 dev eth0

# In a private VLAN the ports of hosts are isolated, and the router answers for all of them, and forwards: that is right.
# A switch answers at once; Linux waits up to 0.8 s with each proxied answer, there and back.
ip -n C route replace 172.16.16.0/24 dev eth0
on C sh -c "echo 0 >$CONF/eth0/proxy_arp; echo 1 >$CONF/eth0/proxy_arp_pvlan; echo 0 >$CONF/eth0/send_redirects; echo 0 >$CONF/all/send_redirects; echo 0 >/proc/sys/net/ipv4/neigh/eth0/proxy_delay"
for port in A.0 A.1 B.0 B.1; do ip -n wire link set $port type bridge_slave isolated on; done
forget A B
probe 0
expect_equal "a private VLAN is no fault" "info proxy-arp ib0+ib1" "$(codes)"
expect_contains "but said" "$(mac C 3) answers ARP for 172.16.16.1-.2, of this host, and for all peers, and every peer is reached: it is the router of a private VLAN" "$(messages)"
for port in A.0 A.1 B.0 B.1; do ip -n wire link set $port type bridge_slave isolated off; done
on C sh -c "echo 0 >$CONF/eth0/proxy_arp_pvlan"

# A pod of this host has a rail's address: that is no proxy.
ip netns add pod
ip -n A link add up0 link ib1 address 02:00:00:00:55:01 type macvlan mode bridge
ip -n A link set up0 netns pod
ip -n pod address add 172.16.16.2/32 dev up0
ip -n pod link set up0 up
ip -n pod route add 172.16.0.0/16 dev up0
on pod sh -c "for key in rp_filter arp_ignore; do echo 0 >$CONF/all/\$key; echo 0 >$CONF/up0/\$key; done"
probe 1
expect_equal "a pod with the rail's address" "error duplicate-address ib1" "$(codes)"
expect_contains "as that" "a macvlan of this host, in another network namespace (a pod), has 172.16.16.2, too: 02:00:00:00:55:01 claims it" "$(messages)"
ip netns del pod

# The same of an IPv6 address: another host has it, and a proxy.
ip -n C -4 address flush dev eth0
on C sh -c "echo 0 >/proc/sys/net/ipv4/ip_forward; echo 0 >$CONF/eth0/proxy_arp"
for n in 1 2; do
    ip -n A address add fd00:16::16:$n/64 dev ib$((n - 1)) nodad
    ip -n B address add fd00:16::34:$n/64 dev ib$((n - 1)) nodad
done
for host in A B; do
    wait_until 5 settled $host
    expect_hook 0 $host --apply
done
probe6() { expect_hook "$1" A --probe fd00:16::34:1 fd00:16::34:2 --count 1 --json; }
probe6 0
expect_equal "IPv6: our addresses are ours alone" "" "$(codes)"
ip -n C address add fd00:16::16:2/64 dev eth0 nodad
wait_until 5 settled C
probe6 1
expect_equal "another host has our IPv6 address" "error duplicate-address ib1" "$(codes)"
expect_contains "who it is" "$(mac C 3) claims it, by neighbour discovery" "$(json '.findings[].message')"
ip -n C address del fd00:16::16:2/64 dev eth0
on C sh -c "echo 1 >/proc/sys/net/ipv6/conf/eth0/forwarding; echo 1 >/proc/sys/net/ipv6/conf/eth0/proxy_ndp"
ip -n C address add fe80::50/64 dev eth0 nodad # the flush above took its own
ip -n C -6 neigh add proxy fd00:16::16:1 dev eth0
probe6 1
expect_equal "a proxy for our IPv6 address" "warning proxy-arp ib0" "$(codes)"
expect_contains "what to do there" "proxy_ndp off there" "$(json '.findings[].advice')"

# A management NIC of our own on the rails' wire: the kernel answers ARP by it for all of this host's addresses.
delete_host C
add_nic A eth0 9 10.0.0.16/24
wait_until 5 settled A
probe 1
expect_equal "an own NIC answers for the rails" "warning foreign-nic-answers eth0" "$(codes)"
expect_equal "no command silences it: other addresses may need it" null "$(json '.findings[].fix')"
expect_contains "what --check advises, too" "with arp_ignore=1, this NIC answers only for its own addresses, and peers lose this host's other addresses" "$(json '.findings[].advice')"
add_nic A eth1 10 10.0.1.16/24
wait_until 5 settled A
probe 1
expect_equal "two own NICs: one finding" "eth0 eth1" "$(json '.findings[].ifaces | sort | join(" ")')"
ip -n A link del eth1
sysctl_set A eth0 arp_ignore 1
probe 0
expect_equal "which is true" "" "$(codes)"

# It is no other host: replies do not go there, and a pair that is lost is told with its own cause.
sysctl_set A eth0 arp_ignore 0
ip -n wire link set B.1 down
forget A B
probe 1
expect_equal "what is lost beside it is told, too" "warning foreign-nic-answers eth0, error peer-down" "$(codes | sed 's/ *$//')"
