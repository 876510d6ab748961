#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe at full size: packets as long as the rail's MTU, which may not be cut. What a switch port, the peer or a router
# makes of them is named, with the size that comes through.
. "$(dirname "$0")/lib.sh"
needs nft

make_hosts 2
jumbo() { # HOST
    local i
    for i in 0 1; do
        ip -n "$1" link set ib$i mtu 9000
        ip -n wire link set "$1.$i" mtu 9000
        ip -n "$1" address add "fd00:16::$(host_id "$1"):$((i + 1))/64" dev ib$i nodad
    done
}
jumbo A
jumbo B
wait_until 5 settled A
wait_until 5 settled B
expect_hook 0 A --apply
expect_hook 0 B --apply

sizes() { json '[.pairs[].path_mtu] | join(" ")'; }
probe() { expect_hook "$1" A --probe "${@:2}" --count 1 --json; }
both=(172.16.34.1 172.16.34.2)

probe 0 "${both[@]}" fd00:16::34:1 fd00:16::34:2
expect_equal "right hosts: full size, both families" "9000 9000 9000 9000 9000 9000 9000 9000" "$(sizes)"

# A port of the switch.
ip -n wire link set B.1 mtu 1500
probe 1 "${both[@]}"
expect_equal "the size that passes" "9000 9000 1500 1500" "$(sizes)"
expect_equal "one cause is one finding, from whatever rail" "error path-mtu " "$(codes)"
expect_contains "it says which pairs" "172.16.34.2 to every rail: packets of 1500 bytes" "$(messages)"
expect_equal "the pairs' problem" "path-mtu path-mtu" "$(json '[.pairs[].problems[]] | join(" ")')"
probe 1 fd00:16::34:2
expect_equal "IPv6, too" "1500 1500" "$(sizes)"
expect_hook 1 A --probe "${both[@]}" --count 1
expect_contains "in text" "ib0    172.16.34.2  1/1" "$(grep path-mtu <<<"$out")"
ip -n wire link set B.1 mtu 9000

# The own port: what is too long for it is refused at once, as a full queue refuses.
ip -n wire link set A.1 mtu 1500
probe 1 172.16.34.1
expect_equal "a port too small for its own NIC" "9000 1500 error path-mtu ib1" "$(sizes) $(codes)"
ip -n wire link set A.1 mtu 9000

# The peer's NIC.
ip -n B link set ib0 mtu 1500
probe 1 172.16.34.1
expect_equal "a smaller MTU of the peer" "1500 1500" "$(sizes)"
ip -n B link set ib0 mtu 9000

# The peer takes them, but cuts what it sends: as NICs do that receive more than their MTU.
ip -n B route add 172.16.16.1/32 dev ib0 mtu 1500
ip -n B -6 route add fd00:16::16:1/128 dev ib0 mtu 1500
probe 1 172.16.34.1 --iface ib0
expect_equal "a reply in pieces is told" "1500 warning path-mtu ib0" "$(sizes) $(codes)"
expect_contains "as that" "replies of that size come in pieces of 1500: the peer's MTU is smaller" "$(messages)"
probe 1 fd00:16::34:1 --iface ib0
expect_contains "IPv6, too" "come in pieces of 1496" "$(messages)"
ip -n B route del 172.16.16.1/32 dev ib0
ip -n B -6 route del fd00:16::16:1/128 dev ib0

# A router's advertisement gives IPv6 a smaller MTU, of both hosts, of this one, or of the peer.
lower() { # HOST MTU
    on "$1" sh -c "echo $2 | tee /proc/sys/net/ipv6/conf/ib0/mtu >/proc/sys/net/ipv6/conf/ib1/mtu"
}
lower A 1400
lower B 1400
probe 1 fd00:16::34:1 172.16.34.1
expect_equal "IPv6 at 1400 on all hosts is no peer's fault" "1400 1400 9000 9000 warning router-mtu ib0+ib1" "$(sizes) $(codes)"
expect_contains "both numbers are told" "IPv6 uses the MTU 1400 here, but the link has 9000" "$(messages)"
expect_hook 1 A --check --json
expect_contains "--check says the same" "IPv6 uses the MTU 1400 here, but the link has 9000" "$(messages)"
forget A B
lower B 9000
probe 1 fd00:16::34:1
expect_equal "of this host alone" "warning router-mtu ib0+ib1" "$(codes)"
forget A B
lower A 9000
lower B 1400
probe 1 fd00:16::34:1 --iface ib0
expect_equal "of the peer alone" "warning path-mtu ib0" "$(codes)"
expect_contains "advice shows where" "1400" "$(on B sh -c "$(json '.findings[].advice' | sed 's/.*, grep/grep/')")"
lower B 9000
forget A B

# A firewall that drops what is long.
on B nft "add table ip t; add chain ip t c { type filter hook input priority 0; }; add rule ip t c ip length > 1000 drop"
probe 1 172.16.34.1
expect_equal "packets over 1000 bytes are dropped" "576 576" "$(sizes)"
expect_contains "what comes of it" "connections open, and hang once they send more" "$(messages)"
on B nft flush ruleset

# This host's own queue takes no packet that is longer than its burst: no other one drops them.
untried=
if on A tc qdisc add dev ib1 root tbf rate 100mbit burst 4000 latency 50ms 2>$work/tbf; then
    probe 1 "${both[@]}"
    expect_equal "an own queue, with a burst below one packet" "9000 2044 9000 2044 error path-mtu ib1" "$(sizes) $(codes)"
    expect_contains "it is named, with its counter" "ib1 to 172.16.34.1-.2: packets of 2044 bytes come through, but not those of 9000 bytes, which the rail's MTU allows: this host's own filter or queue drops them, or the replies; the drop counter of its queue (qdisc) grows" "$(messages)"
    expect_lacks "no switch is accused" "switch" "$(json '.findings[].advice')"
    on A tc qdisc del dev ib1 root
else
    untried="an own queue: $(<$work/tbf)"
fi

# A router that says so: nothing is wrong with that, and it is told who said it.
new_host R
add_nic R eth0 0 172.16.50.1/16
ip -n wire link set R.0 mtu 9000
ip -n R link set eth0 mtu 9000
new_host C
ip -n R link add far mtu 1400 type veth peer name ib0 mtu 1400 netns C
ip -n R address add 192.0.2.1/24 dev far
ip -n R link set far up
ip -n C address add 192.0.2.2/24 dev ib0
ip -n C link set ib0 up
ip -n C route add default via 192.0.2.1
on R sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
ip -n A route add default via 172.16.50.1 dev ib0
for host in A R C; do wait_until 5 settled $host; done
expect_hook 0 A --apply
probe 0 192.0.2.2
expect_equal "behind a router, by the rail that has a gateway" "1400" "$(json '[.pairs[].path_mtu | select(.)] | join(" ")')"
expect_equal "it is told" "info path-mtu ib0" "$(codes)"
expect_contains "by whom" "172.16.50.1 says that they are too long" "$(messages)"
[ -z "$untried" ] || skip "all but $untried"
