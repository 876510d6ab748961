#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A peer in nobody's subnet is asked through the rails' own gateways. A rail without one leaves it to main, which is no fault:
# it does not ask, and says why.
. "$(dirname "$0")/lib.sh"

make_hosts 2 A
new_host R
add_nic R eth0 0 172.16.50.1/16
ip -n R address add 192.0.2.1/32 dev lo
add_nic A eth0 9 10.0.0.2/8
sysctl_set A eth0 arp_ignore 1 # it is on the same wire
for host in A R; do wait_until 5 settled $host; done

# The default of ib0 is no gateway of ib1's own.
ip -n A route add default via 172.16.50.1 dev ib0
expect_hook 0 A --apply
expect_hook 0 A --probe 192.0.2.1 172.16.50.1 --json
expect_equal "ib0 reaches what is behind its gateway" "ib0 3 ib0 ib0 null" \
    "$(json '.pairs[] | select(.peer == "192.0.2.1" and .ok) | "\(.iface) \(.received) \(.route_iface) \(.reply_iface) \(.peer_lladdr)"')"
expect_equal "ib1 does not ask, and says why" "ib1 192.0.2.1 null no gateway of its own: main sends it through ib0" \
    "$(json '.pairs[] | select(.ok == null) | "\(.iface) \(.peer) \(.ok) \(.reason)"')"
expect_equal "which is no fault" "true 0" "$(json '"\(.ok) \(.findings | length)"')"
expect_hook 0 A --probe 192.0.2.1
expect_contains "in text, too" "not asked: no gateway of its own: main sends it through ib0" "$(grep ^ib1 <<<"$out")"

# What it is configured to have, it has to use.
system_config "[interface ib1]
remote=192.0.2.0/24 via 172.16.50.1"
expect_hook 1 A --probe 192.0.2.1 --json
expect_equal "a remote= that is not applied" "error routed-other-nic ib1" "$(codes)"
expect_hook 0 A --apply
expect_hook 0 A --probe 192.0.2.1 --json
expect_equal "and that is" "ib0 3, ib1 3" "$(json '[.pairs[] | "\(.iface) \(.received)"] | join(", ")')"
# What main has more exactly through the other rail stays so: both say it.
ip -n A route add 192.0.2.0/28 via 172.16.50.1 dev ib0
expect_hook 0 A --apply
expect_hook 0 A --check --json
expect_contains "a part of remote= by the other rail: a note of --check" "172.16.16.2 to 192.0.2.0/28 leaves through ib0 via 172.16.50.1" "$(messages)"
expect_hook 0 A --probe 192.0.2.1 --json
expect_equal "and of --probe" "ib1 main sends it through ib0 via 172.16.50.1" "$(json '.pairs[] | select(.ok == null) | "\(.iface) \(.reason)"')"
ip -n A route del 192.0.2.0/28
rm -r /etc/ib-hook
expect_hook 0 A --apply
ip -n A route add 10.66.0.0/16 via 172.16.50.1 dev ib0
ip -n R address add 10.66.0.1/32 dev lo
expect_hook 0 A --check --json
expect_contains "a network by one router: a note of --check" "172.16.16.2 to 10.66.0.0/16 leaves through ib0 via 172.16.50.1" "$(messages)"
expect_hook 0 A --probe 10.66.0.1 --json
expect_equal "and of --probe" "ib1 main sends it through ib0 via 172.16.50.1" "$(json '.pairs[] | select(.ok == null) | "\(.iface) \(.reason)"')"
ip -n A route del 10.66.0.0/16

# A gateway that is dead is named, and not the peer.
ip -n A route add default via 172.16.50.1 dev ib1 metric 101
expect_hook 0 A --apply

# A router behind it refuses, and says so.
new_host C
ip -n C link add ib0 type veth peer name far netns R
ip -n R address add 198.51.100.1/30 dev far
ip -n C address add 198.51.100.2/30 dev ib0
ip -n R link set far up
ip -n C link set ib0 up
ip -n C route add default via 198.51.100.1
ip -n C route add prohibit 203.0.113.0/24
ip -n R route add 203.0.113.0/24 via 198.51.100.2
for host in R C; do on $host sysctl -qw net.ipv4.ip_forward=1 net.ipv4.icmp_ratelimit=0; done
for host in R C; do wait_until 5 settled $host; done
expect_hook 1 A --probe 203.0.113.1 --json
expect_equal "a router behind the gateway refuses" "error icmp-refused" "$(codes | xargs)"
expect_contains "it is named" "203.0.113.1 to every rail: 198.51.100.2, on the way, sends an ICMP error: administratively prohibited" "$(messages)"

# The gateway sends replies to another NIC of this host: that is its own neighbour entry, not that of the peer two hops away.
ip -n R neigh replace 172.16.16.1 lladdr "$(mac A 1)" dev eth0 nud permanent
expect_hook 1 A --probe 198.51.100.2 --json
expect_equal "replies by another NIC" "error reply-other-nic ib0" "$(codes)"
expect_contains "as that" "ib0 to 198.51.100.2: replies came in through ib1: the gateway 172.16.50.1's neighbour table has the hardware address of ib1" "$(messages)"
expect_contains "on whom that can be mended" "on the gateway 172.16.50.1: sudo ip neigh flush to 172.16.16.1" "$(json '.findings[].advice')"
ip -n R neigh del 172.16.16.1 dev eth0

# A virtual address of the gateway's inside the subnet, with a route over the gateway: two addresses, and one NIC.
ip -n R address add 172.16.99.9/32 dev lo
ip -n A route add 172.16.99.9 via 172.16.50.1 dev ib0
expect_hook 0 A --apply
expect_hook 0 A --probe 172.16.50.1 172.16.99.9 --iface ib0 --json
expect_equal "a virtual address over a gateway inside the subnet" "2 0" "$(json '"\([.pairs[] | select(.ok)] | length) \(.findings | length)"')"
ip -n A route del 172.16.99.9
expect_hook 0 A --apply

# Beyond the gateway nobody answers: what was seen is said.
ip -n R route add blackhole 192.0.2.77
expect_hook 1 A --probe 192.0.2.77 --json
expect_equal "nothing from beyond the gateway" "error peer-down reply" "$(codes | xargs) $(json '[.pairs[].stage] | unique | join(" ")')"
expect_contains "what was seen before" "192.0.2.77 to every rail: the gateway 172.16.50.1 answers ARP, and echoes were seen to leave for it; nothing came back" "$(messages)"

# Another host has the gateway's address, too.
new_host D
add_nic D eth0 3 172.16.50.1/16
wait_until 5 settled D
ip -n A neigh flush all
ip -n R address add 172.16.99.8/32 dev lo
expect_hook 1 A --probe 192.0.2.1 172.16.99.8 --json
expect_contains "the gateway's address on two hosts" "172.16.50.1: $(mac R 0), $(mac D 3) claim the address, and no other address together: two hosts have it" "$(messages)"
expect_contains "as that" "error duplicate-address" "$(codes)"
delete_host D

# A part of the subnet goes via a gateway inside the subnet, which is dead: this host's own filters did nothing.
new_host B
add_nic B eth0 4 172.16.34.1/16
wait_until 5 settled B
on R sysctl -qw net.ipv4.conf.eth0.send_redirects=0 net.ipv4.conf.all.send_redirects=0
ip -n A route add 172.16.34.0/24 via 172.16.50.1 dev ib0
expect_hook 0 A --apply
expect_hook 0 A --probe 172.16.34.1 --json
expect_equal "main has a part of the subnet through a gateway by another rail: that rail asks" "true " "$(json '[.pairs[].ok] | join(" ")')"
expect_hook 0 A --check --json
expect_contains "--check notes the same" "172.16.16.2 to 172.16.34.0/24 leaves through ib0 via 172.16.50.1" "$(messages)"
expect_hook 0 A --probe 172.16.34.1 --json
expect_equal "and the other one says why not" "main sends it through ib0 via 172.16.50.1" "$(json '.pairs[] | select(.iface == "ib1").reason')"
ip -n A neigh flush all
expect_hook 0 A --probe 172.16.34.1 --iface ib0 --json
ip -n wire link set R.0 down
ip -n A neigh flush all
expect_hook 1 A --probe 172.16.34.1 --iface ib0 --json
expect_equal "a dead gateway inside the subnet" "error gateway-down ib0" "$(codes)"
expect_contains "is named" "ib0 to 172.16.34.1: the gateway 172.16.50.1 does not answer ARP" "$(messages)"
ip -n A route del 172.16.34.0/24
expect_hook 0 A --apply

ip -n A neigh flush all
expect_hook 1 A --probe 192.0.2.1 --json
expect_contains "the gateway" "192.0.2.1 to every rail: the gateway 172.16.50.1 does not answer ARP" "$(messages)"
expect_contains "as its own cause" "error gateway-down" "$(codes)"
ip -n wire link set R.0 up

# A peer that no rail asks: nothing was proved.
ip -n A route flush default
ip -n A route add default via 10.0.0.1 dev eth0
expect_hook 0 A --apply
expect_hook 1 A --probe 192.0.2.1 --json
expect_equal "no rail is at fault" "error no-source " "$(codes)"
expect_contains "where it would go" "(192.0.2.1) were not asked by any rail: no gateway of its own: main sends it through eth0" "$(messages)"
ip -n A route add 192.0.2.0/24 via 10.0.0.1 dev eth0 table 500
ip -n A rule add from 172.16.16.1 to 192.0.2.0/24 lookup 500
expect_hook 1 A --probe 192.0.2.1 --iface ib0 --json
expect_contains "and which table decides" "no gateway of its own: table 500 sends it through eth0" "$(messages)"
ip -n A rule del from 172.16.16.1 to 192.0.2.0/24 lookup 500
ip -n A route flush default
expect_hook 0 A --apply
expect_hook 1 A --probe 192.0.2.1 --json
expect_contains "nor where there is no way at all" "(192.0.2.1) were not asked by any rail: outside its subnets, and no route leads there" "$(messages)"

# A prefix that is too short for the peers looks the same.
for n in 0 1; do
    ip -n A address flush dev ib$n
    ip -n A address add 172.16.16.$((n + 1))/24 dev ib$n
done
expect_hook 0 A --apply
expect_hook 1 A --probe 172.16.50.1 --json
expect_contains "the peer is outside the prefix" "(172.16.50.1) were not asked by any rail: outside its subnets" "$(messages)"
