#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Right hosts, more unusual than those of fuzz-check: after --apply, --check has no error and no warning. Each is a host of its
# own with two rails, ib0 and ib1, a management NIC eth0 with the default route, and what stands here; A is its peer and the
# gateway of both.
. "$(dirname "$0")/lib.sh"

make_hosts 1 A
for address in 172.16.0.1/16 172.16.0.2/16 10.0.0.1/24; do ip -n A address add $address dev ib0; done
ip -n A address add fd00:16::1/64 dev ib0 nodad

begin() { # N_RAILS: B, without what the last one had
    local i nics=()
    [ ! -e /run/netns/B ] || delete_host B
    new_host B
    for ((i = 0; i < $1; i++)); do
        add_nic B "ib$i" "$i" "172.16.34.$((i + 1))/16"
        nics+=("ib$i")
    done
    add_nic B eth0 99 10.0.0.34/24
    ip -n B route add default via 10.0.0.1 dev eth0
    rdma B "${nics[@]}"
}

serious() { json '.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.severity) \(.code): \(.message)"'; }

# right NAME [CONFIGURATION [N_RAILS]] <COMMANDS, run on it
right() {
    local status=0
    begin "${3:-2}"
    on B sh -ec "set_to() { echo \"\$2\" >/proc/sys/\$1; }
$(cat)" || fail "$1: the host can be made"
    wait_until 5 settled B
    file=$(config "${2:-}")
    hook B --config "$file" --apply >$work/said 2>&1 || fail "$1: --apply" "$(<$work/said)"
    hook B --config "$file" --check --json >$work/out 2>$work/err || status=$?
    out=$(<$work/out)
    [ $status = 0 ] || fail "$1: --check is silent" "$(serious)$(<$work/err)"
    ok "$1"
}

# ---- NICs and their addresses ----

right "a bridge without ports has an address of the subnet, and the rails go on answering for it" "[defaults]
arp=keep" <<END
ip link add br9 type bridge
ip link set br9 up
ip address add 172.16.99.1/16 dev br9
END
right "a host is its own gateway" <<END
ip route add 172.16.16.1 via 172.16.16.1 dev ib1 table 942
END
right "a rule for all, whose table hides a right source rule behind it" <<END
ip route add 172.16.0.0/16 dev ib1 table 52
ip rule add priority 5270 lookup 52
ip route add 172.16.0.0/16 dev ib0 table 101
ip rule add priority 32764 from 172.16.34.1 lookup 101
END
right "more routes than --check reads" "[defaults]
gateway=172.16.0.1
remote=192.168.0.0/16" <<END
ip route add 192.168.0.0/17 via 10.0.0.1 dev eth0
seq 10010 | while read -r n; do echo "route add 1.\$((n / 256)).\$((n % 256)).0/24 via 10.0.0.1 dev eth0"; done | ip -batch -
END
ip -n B route del 192.168.0.0/17
ip -n B rule add priority 100 from 172.16.34.1 to 192.168.0.0/16 lookup main
hook B --config "$file" --check --json >$work/out 2>$work/err || true
out=$(<$work/out)
expect_contains "but not if a rule leads the rail's packets to main's default" "ib0 " "$(serious)"
right "a value of all that is -1" <<END
set_to net/ipv4/conf/all/rp_filter -1
END
right "a router of IPv6" <<END
for n in 1 2; do ip address add fd00:16::34:\$n/64 dev ib\$((n - 1)) nodad; done
for nic in all ib0 ib1; do set_to net/ipv6/conf/\$nic/forwarding 1; done
END
right "a NIC that is down keeps a single IPv6 address of the rails' subnet" <<END
for n in 1 2; do ip address add fd00:16::34:\$n/64 dev ib\$((n - 1)) nodad; done
ip link add eth1 type veth peer name other
set_to net/ipv6/conf/eth1/keep_addr_on_down 1
ip link set eth1 up
ip address add fd00:16::99/128 dev eth1 nodad
ip link set eth1 down
END
right "a rail that is down keeps its IPv6 address" <<END
set_to net/ipv6/conf/ib1/keep_addr_on_down 1
for n in 1 2; do ip address add fd00:16::34:\$n/64 dev ib\$((n - 1)) nodad; done
ip link set ib1 down
END
right "IPv6 switched off on the rails" <<END
for n in 0 1; do set_to net/ipv6/conf/ib\$n/disable_ipv6 1; done
END
right "addresses from DHCP" <<END
for n in 0 1; do
    ip address flush dev ib\$n
    ip address add 172.16.34.\$((n + 1))/16 dev ib\$n noprefixroute valid_lft 3600 preferred_lft 3600
    ip route append 172.16.0.0/16 dev ib\$n proto dhcp scope link src 172.16.34.\$((n + 1)) metric 1024
done
END
right "link-local addresses, too" <<END
for n in 1 2; do ip address add 169.254.7.\$n/16 dev ib\$((n - 1)); done
END
right "a multicast group that the kernel joins" <<END
ip address add 239.1.2.3/32 dev ib1 autojoin
END
right "a deprecated address" <<END
ip address add 172.16.41.1/16 dev ib1 preferred_lft 0
END
right "a rail with a nested subnet of both" <<END
for n in 1 2; do ip address add 172.16.34.1\$n/24 dev ib\$((n - 1)); done
END
right "a third RDMA NIC that is down and has none" "" 3 <<END
ip address flush dev ib2
ip link set ib2 down
END
right "a proxy for a container behind a bridge inside the subnet" <<END
ip link add br9 type bridge
ip link set br9 up
ip address add 172.16.99.1/24 dev br9
set_to net/ipv4/ip_forward 1
ip neigh add proxy 172.16.99.2 dev ib1
END
right "a port of a bridge among the RDMA NICs" "" 3 <<END
ip address flush dev ib2
ip link add br0 type bridge
ip link set ib2 master br0
ip address add 10.45.0.1/24 dev br0
ip link set br0 up
END

# ---- main's routes ----

right "the default route by a rail's gateway" <<END
ip route replace default via 172.16.0.1 dev ib0
END
right "a default route by both rails at once" <<END
ip route replace default nexthop via 172.16.0.1 dev ib0 nexthop via 172.16.0.2 dev ib1
END
right "a network behind both gateways of the rails" <<END
ip route add 10.50.0.0/16 nexthop via 172.16.0.1 dev ib0 nexthop via 172.16.0.2 dev ib1
END
right "a pod's /32 inside the subnet" <<END
ip link add cali1 type veth peer name pod1
ip link set cali1 up
ip link set pod1 up
ip route add 172.16.77.5 dev cali1 scope link
END
right "service addresses on a NIC without ARP" <<END
ip link add kube0 type ifb
ip link set kube0 up
for n in 1 2 3; do ip address add 10.96.0.\$n/32 dev kube0; done
END

right "an overlay of containers (flannel) by a rail" <<END
ip link add flannel.1 type vxlan id 1 dev ib0 local 172.16.34.1 dstport 8472
ip address add 10.244.3.0/32 dev flannel.1
ip link set flannel.1 up
ip route add 10.244.7.0/24 via 10.244.7.0 dev flannel.1 onlink
END
right "IPv6's default route by a rail" <<END
for n in 1 2; do ip address add fd00:16::34:\$n/64 dev ib\$((n - 1)) nodad; done
ip route add default via fd00:16::1 dev ib0
END
right "a management NIC with a /32 and a gateway by its device" <<END
ip address flush dev eth0
ip address add 10.0.0.34/32 dev eth0
ip route add 10.0.0.1 dev eth0 scope link
ip route add default via 10.0.0.1 dev eth0
END

# ---- others' rules ----

right "wg-quick's rules" <<END
ip link add wg0 type veth peer name wg1
ip link set wg0 up
ip link set wg1 up
ip route add default dev wg0 table 51820
ip rule add not fwmark 51820 lookup 51820
ip rule add lookup main suppress_prefixlength 0
END
right "a namespace's l3mdev rule and a late default" <<END
ip rule add from all lookup 300 priority 40000
ip route add default via 10.0.0.1 dev eth0 table 300
END
right "goto, nop, and a protocol that RDMA does not ask with" <<END
ip rule add from 10.0.0.34 goto 32766 priority 500
ip rule add nop priority 600
ip rule add ipproto 17 lookup main priority 601
END
right "policy routing of the same NICs by files, with ARP settings: left alone" <<END
for n in 0 1; do
    ip route add 172.16.0.0/16 dev ib\$n src 172.16.34.\$((n + 1)) table \$((100 + n))
    ip rule add from 172.16.34.\$((n + 1)) lookup \$((100 + n)) priority \$((100 + n))
    set_to net/ipv4/conf/ib\$n/arp_ignore 1
    set_to net/ipv4/conf/ib\$n/arp_announce 2
done
END
right "the documents' script" <<END
for n in 0 1; do
    ip route add 172.16.0.0/16 dev ib\$n src 172.16.34.\$((n + 1)) proto kernel scope link table \$((941 + n))
    ip rule add from 172.16.34.\$((n + 1)) lookup \$((941 + n))
    set_to net/ipv4/conf/ib\$n/rp_filter 1
    set_to net/ipv4/conf/ib\$n/arp_filter 1
    set_to net/ipv4/conf/ib\$n/arp_ignore 2
    set_to net/ipv4/conf/ib\$n/arp_announce 2
done
END

# ---- sysctls ----

right "all.rp_filter=1" <<END
set_to net/ipv4/conf/all/rp_filter 1
END

# ---- configurations ----

right "tables and a gateway by configuration" "[interface ib0]
table=500
gateway=172.16.0.1
[interface ib1]
table=501
gateway=none" </dev/null
right "manage=no for everything" "[interface *]
manage=no" </dev/null
right "DAOS: accept_local" "[defaults]
arp=keep" <<END
for n in 0 1; do set_to net/ipv4/conf/ib\$n/accept_local 1; done
END
right "a NIC without RDMA by manage=yes" "[interface eth1]
manage=yes" <<END
ip link add eth1 type veth peer name other
ip address add 172.16.34.9/16 dev eth1
ip link set eth1 up
ip link set other up
END

expect_at_least "hosts that are right" 28 $n_ok
