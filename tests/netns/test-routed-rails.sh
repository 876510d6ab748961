#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2086,SC2046,SC2016,SC2207 # words of ours without blanks; programs of awk
# Routed rails: NICs with a subnet and a gateway of their own, as behind a leaf switch each. Two hosts with three of them, a
# router between, and a management network that main's default goes by. With one file for all hosts each rail's traffic to the
# other host leaves and arrives by that rail; what main has more exactly stays; without the file nothing changes.
. "$(dirname "$0")/lib.sh"

RP_FILTER=1 # what came in through another NIC than the answer leaves through would be dropped
new_host R
for host in A B; do
    new_host $host
    rdma $host ib0 ib1 ib2
done
for key in ipv4/ip_forward ipv6/conf/all/forwarding; do on R sh -c "echo 1 >/proc/sys/net/$key"; done
on R sh -c 'echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter; echo 0 >/proc/sys/net/ipv4/conf/default/rp_filter'
declare -A number=([A]=1 [B]=2)

# leaf HOST NIC ADDRESS GATEWAY: its cable to the router
leaf() {
    ip -n R link add "$1$2" type veth peer name "$2" address "$(mac "$1" "${2##*[a-z]}")" netns "$1"
    ip -n R link set "$1$2" up
    ip -n "$1" link set "$2" up
    at "$@"
}

at() { # HOST NIC ADDRESS GATEWAY
    ip -n "$1" address add "$3" dev "$2" $([[ $3 != *:* ]] || echo nodad)
    ip -n R address add "$4/${3#*/}" dev "$1$2" $([[ $3 != *:* ]] || echo nodad)
}

for host in A B; do
    for i in 0 1 2; do leaf $host ib$i 10.${number[$host]}.$i.1/31 10.${number[$host]}.$i.0; done
    leaf $host eth9 192.168.${number[$host]}.2/24 192.168.${number[$host]}.1
    ip -n $host route add default via 192.168.${number[$host]}.1 dev eth9
done
ip -n A link add docker0 type bridge
ip -n A address add 10.88.0.1/16 dev docker0
ip -n A link set docker0 up

before=$(state A)
expect_hook 0 A --apply
expect_equal "without the configuration nothing changes" "$before" "$(state A)"

counts() { # I J: what A's ibI sent and received, and B's ibJ
    on A awk '$1 == "ib'$1':" { print $11, $3 }' /proc/net/dev
    on B awk '$1 == "ib'$2':" { print $11, $3 }' /proc/net/dev
}

# pairs WHAT FORMAT: from each rail of A to each of B; FORMAT has the host's number and the rail's
pairs() {
    local i j from to n first last
    for i in 0 1 2; do
        for j in 0 1 2; do
            # shellcheck disable=SC2059 # it is one
            from=$(printf "$2" 1 $i) to=$(printf "$2" 2 $j)
            first=($(counts $i $j))
            on A ping -q -c 20 -i 0.002 -W 2 -I "$from" "$to" >/dev/null || fail "$1: ib$i → ib$j" "$from → $to: no answer"
            last=($(counts $i $j))
            for n in 0 1 2 3; do
                [ $((last[n] - first[n])) -ge 20 ] ||
                    fail "$1: ib$i → ib$j" "${first[*]} → ${last[*]}: not 20 each (sent, received; A, B)"
            done
        done
    done
    ok "$1: all nine pairs by their NICs, both ways"
}

by() { # FROM TO → the device that A sends it by
    ip -n A route get "$2" from "$1" | sed -nE 's/.* dev ([^ ]+) .*/\1/p'
}

apply() { # CONFIGURATION WARNINGS: on both
    local host
    system_config "$1"
    for host in A B; do
        expect_hook 0 $host --apply
        expect_hook "$([ -z "$2" ] && echo 0 || echo 1)" $host --check --json
        expect_equal "--check on $host" "$2" "$(json '[.findings[] | select(.severity != "info") | .code] | unique | join(" ")')"
        expect_hook 0 $host --plan --json
        expect_equal "a second run on $host has nothing to do" false "$(json .changed)"
    done
}

ROUTED="[interface ib*]
manage=yes"
apply "$ROUTED" gateway-missing
expect_equal "a /31 without a gateway: what goes beyond goes by the management NIC, and that is said" eth9 "$(by 10.1.1.1 10.2.1.1)"

apply "$ROUTED
gateway=peer
remote=10.0.0.0/8" ""
pairs "gateway=peer" "10.%d.%d.1"
for i in 0 1 2; do
    expect_equal "ib$i: the bridge's network is the bridge's" docker0 "$(by 10.1.$i.1 10.88.0.5)"
    expect_equal "ib$i: the management network is main's" eth9 "$(by 10.1.$i.1 192.168.1.7)"
    expect_equal "ib$i: beyond all, by its own gateway" ib$i "$(by 10.1.$i.1 203.0.113.1)"
    expect_equal "ib$i: a sibling's gateway, by its own" ib$i "$(by 10.1.$i.1 10.1.$(((i + 1) % 3)).0)"
done
expect_equal "what is bound to no rail goes by main" eth9 "$(by 192.168.1.2 10.2.1.1)"
ip -n A route add 10.2.2.0/24 via 192.168.1.1 dev eth9
expect_equal "a longer prefix of main by the management NIC stays so" eth9 "$(by 10.1.0.1 10.2.2.1)"
ip -n A route del 10.2.2.0/24
expect_hook 0 A --undo
expect_hook 0 B --undo
expect_equal "--undo: as before" "$before" "$(state A)"

# The same in a /30, and in a /24 with its gateway first or last; without remote= the default is asked after main's.
for form in "peer 30 2 1" "first 24 9 1" "last 24 9 254"; do
    read -r place length own gateway <<<"$form"
    for host in A B; do
        for i in 0 1 2; do
            ip -n $host address flush dev ib$i scope global
            ip -n R address flush dev ${host}ib$i scope global
            at $host ib$i 10.${number[$host]}.$i.$own/$length 10.${number[$host]}.$i.$gateway
        done
    done
    apply "$ROUTED
gateway=$place
remote=10.0.0.0/8" ""
    pairs "gateway=$place in a /$length" "10.%d.%d.$own"
    apply "$ROUTED
gateway=$place" ""
    expect_equal "gateway=$place alone: what main has only a default for goes by the rail" ib1 "$(by 10.1.1.$own 10.2.1.$own)"
    expect_equal "gateway=$place alone: the bridge's network is the bridge's" docker0 "$(by 10.1.1.$own 10.88.0.5)"
done

# A gateway from main, as DHCP leaves it, behind the management NIC's default; it changes with the lease.
for host in A B; do
    for i in 0 1 2; do
        ip -n $host route add default via 10.${number[$host]}.$i.254 dev ib$i proto dhcp metric 30$i
    done
done
apply "$ROUTED
remote=10.0.0.0/8" ""
pairs "gateway=auto" "10.%d.%d.9"
ip -n A route del default dev ib1
ip -n R address add 10.1.1.253/24 dev Aib1
ip -n A route add default via 10.1.1.253 dev ib1 proto dhcp metric 301
hook A --check >/dev/null && fail "a gateway that changed is not found" ""
expect_hook 0 A --apply
expect_contains "the lease changed: remote= follows" "10.0.0.0/8 via 10.1.1.253 dev ib1" "$(ip -n A route show table 942)"
expect_contains "and the default" "default via 10.1.1.253 dev ib1" "$(ip -n A route show table 2942)"
pairs "the lease changed" "10.%d.%d.9"

# A gateway that is our own address, and one that is nowhere.
system_config "$ROUTED
gateway=10.1.0.9"
expect_hook 0 A --apply
expect_hook 1 A --check --json
expect_equal "an own address is no gateway" "ib0 gateway-missing" \
    "$(json 'first(.findings[] | select(.code == "gateway-missing" and (.ifaces | index("ib0")))) | "\(.ifaces | join("+")) \(.code)"')"
expect_lacks "and is not programmed" "via 10.1.0.9" "$(state A)"
expect_hook 0 A --undo
expect_hook 0 B --undo

# IPv6: /127 and /64, with gateways of the subnet and of the link.
for host in A B; do
    for i in 0 1 2; do
        ip -n $host route del default dev ib$i
        ip -n $host address flush dev ib$i scope global
        ip -n R address flush dev ${host}ib$i scope global
        at $host ib$i fd00:${number[$host]}:$i::1/127 fd00:${number[$host]}:$i::
    done
done
apply "$ROUTED
gateway=peer
remote=fd00::/16" ""
pairs "IPv6, /127" "fd00:%d:%d::1"
for host in A B; do
    for i in 0 1 2; do
        ip -n $host address flush dev ib$i scope global
        ip -n R address flush dev ${host}ib$i scope global
        at $host ib$i fd00:${number[$host]}:$i::9/64 fd00:${number[$host]}:$i::1
        link_local=$(ip -n R -j -6 address show dev ${host}ib$i scope link | jq -r '[.[].addr_info[]?.local | select(.)][0]')
        ip -n $host -6 route add default via "$link_local" dev ib$i proto ra metric 40$i
    done
done
apply "$ROUTED
remote=fd00::/16" ""
pairs "IPv6, /64, a gateway of the link" "fd00:%d:%d::9"
expect_hook 0 A --undo
expect_hook 0 B --undo

# A cloud's NIC: an address of its own alone, and the gateway by a route of the device.
for i in 0 1 2; do
    ip -n A -6 route del default dev ib$i
    ip -n A address flush dev ib$i scope global
    ip -n R address flush dev Aib$i scope global
    ip -n A address add 10.1.$i.9/32 dev ib$i
    ip -n R address add 10.1.$i.1/24 dev Aib$i
    ip -n A route add 10.1.$i.1 dev ib$i scope link
    ip -n A route add default via 10.1.$i.1 dev ib$i proto dhcp metric 30$i
done
for i in 0 1 2; do
    ip -n B -6 route del default dev ib$i
    ip -n B address flush dev ib$i scope global
    at B ib$i 10.2.$i.9/24 10.2.$i.1
    ip -n B route add default via 10.2.$i.1 dev ib$i proto dhcp metric 30$i
done
apply "$ROUTED
remote=10.0.0.0/8" ""
pairs "an address of its own alone" "10.%d.%d.9"

# A routing daemon's multipath route over the NICs is left alone.
expect_hook 0 A --undo
ip -n A route add 10.2.0.0/16 proto bgp nexthop via 10.1.0.1 dev ib0 nexthop via 10.1.1.1 dev ib1
rm -f /etc/ib-hook/ib-hook.conf
before=$(state A)
expect_hook 0 A --apply
expect_equal "without the configuration a routing daemon's NICs are left alone" "$before" "$(state A)"
