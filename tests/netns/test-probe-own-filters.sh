#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What this host itself does to echoes, or to replies, is named as this host's: filters of ARP, of a NIC, NAT, a queue. The
# same at the peer is the peer's.
. "$(dirname "$0")/lib.sh"
needs nft

[ -d /proc/sys/net/ipv6 ] || skip "no IPv6 here"

make_hosts 2
for host in A B; do
    for i in 0 1; do ip -n $host address add "fd00:16::$(host_id $host):$((i + 1))/64" dev ib$i nodad; done
    wait_until 5 settled $host
    expect_hook 0 $host --apply
done
both=(172.16.34.1 172.16.34.2)
both6=(fd00:16::34:1 fd00:16::34:2)

table() { # HOST FAMILY CHAIN RULE…
    on "$1" nft "table $2 t { chain c { type $3; }; }; add rule $2 t c ${*:4}"
}

case_of() { # WHAT CODES MESSAGE ADDRESS…
    forget A B
    expect_hook 1 A --probe "${@:4}" --count 2 --json
    expect_equal "$1" "$2" "$(codes)"
    expect_contains "$1: why" "$3" "$(messages)"
    on A nft flush ruleset
    on B nft flush ruleset
}

# Questions for hardware addresses do not leave; those of --probe itself do, which nft does not see.
table A arp "filter hook output priority 0" oifname ib1 drop
case_of "a filter of outgoing ARP" "error probe-not-sent ib1" \
    "ib1 to 172.16.34.1-.2: no echo leaves by this NIC, or answers to ARP are dropped: this host's own filter" \
    "${both[@]}"
table A arp "filter hook input priority 0" iifname ib1 arp operation reply drop
case_of "a filter of answers to ARP" "error probe-not-sent ib1" "no echo leaves by this NIC, or answers to ARP are dropped" "${both[@]}"
table B arp "filter hook input priority 0" iifname ib1 drop
case_of "the peer's is the peer's" "error peer-down " "nothing answers, not even ARP" 172.16.34.2 172.16.34.1

# What the NIC's own chains drop, before the kernel's IP sees it, or behind it.
for family in 4 6; do
    [ $family = 4 ] && peers=("${both[@]}") || peers=("${both6[@]}")
    table A netdev "filter hook ingress device ib1 priority 0" icmp type echo-reply drop
    on A nft add rule netdev t c icmpv6 type echo-reply drop
    case_of "replies, at the NIC, IPv$family" "error reply-dropped ib1" "replies come in by this NIC, and this host drops them at once" "${peers[@]}"
    table A netdev "filter hook ingress device ib1 priority 0" drop
    case_of "all, at the NIC, IPv$family" "error probe-not-sent ib1" "this host's own filter" "${peers[@]}"
    table A netdev "filter hook egress device ib1 priority 0" icmp type echo-request drop
    on A nft add rule netdev t c icmpv6 type echo-request drop
    case_of "echoes, behind IP, IPv$family" "error probe-not-sent ib1" "no echo leaves by this NIC" "${peers[@]}"
    table B netdev "filter hook ingress device ib1 priority 0" meta l4proto '{ icmp, icmpv6 }' drop
    on B nft add rule netdev t c icmpv6 type nd-neighbor-solicit accept
    case_of "the peer's is the peer's, IPv$family" "error peer-down " "" "${peers[1]}" "${peers[0]}"
done

# NAT: the peer answers another address.
table A ip "nat hook postrouting priority 100" oifname ib1 snat to 172.16.16.99
case_of "source NAT" "error address-translated ib1" \
    "this host's own address translation (nft, iptables) sends echoes from 172.16.16.99" "${both[@]}"

# To another address of this host: all seems well here.
ip -n A address add 172.16.16.99/32 dev ib1
expect_hook 0 A --apply
table A ip "nat hook postrouting priority 100" oifname ib1 snat to 172.16.16.99
case_of "source NAT that answers come back from" "warning address-translated ib1" "ib1 to 172.16.34.1-.2: this host's own address translation changes" "${both[@]}"
ip -n A address del 172.16.16.99/32 dev ib1
expect_hook 0 A --apply

# What the kernel counts, and what is attached to the NIC, is named as that.
on A ip xfrm policy add src 172.16.34.0/24 dst 172.16.16.2 dir in tmpl src 172.16.34.1 dst 172.16.16.2 proto esp mode transport
case_of "an IPsec policy for what comes in" "error reply-dropped ib1" "an IPsec policy of this host drops replies that are not encrypted" "${both[@]}"
on A ip xfrm policy flush
on A ip xfrm policy add src 172.16.16.2 dst 172.16.34.0/24 dir out tmpl src 172.16.16.2 dst 172.16.34.1 proto esp mode transport
case_of "an IPsec policy without a key" "error probe-not-sent ib1" "an IPsec policy of this host encrypts what leaves, and has no key for it" "${both[@]}"
on A ip xfrm policy flush
ip -n A link add over link ib1 type macvlan mode passthru
ip -n A link set over up
case_of "a macvlan that takes all" "error reply-dropped ib1" "a macvlan in mode passthru on it takes all that arrives" "${both[@]}"
ip -n A link del over
if on A "$(dirname "$FLOW")/xdp" ib1 2>/dev/null; then
    case_of "an XDP program that drops all" "error reply-dropped ib1" "an XDP program is attached" "${both[@]}"
    ip -n A link set dev ib1 xdpgeneric off
fi

# Long packets only, on their way out, and in.
for family in 4 6; do
    [ $family = 4 ] && peers=("${both[@]}") || peers=("${both6[@]}")
    table A inet "filter hook output priority 0" oifname ib1 meta length '>' 1400 drop
    case_of "long packets, IPv$family" "error path-mtu ib1" \
        "packets of 1400 bytes come through, but not 1500, as the rail's MTU allows: this host's own firewall drops them" "${peers[@]}"
    table A inet "filter hook input priority 0" iifname ib1 meta length '>' 1400 drop
    case_of "long replies, IPv$family" "error path-mtu ib1" "this host's own firewall drops the replies, which come in whole" "${peers[@]}"
    table B inet "filter hook input priority 0" iifname ib1 meta length '>' 1400 drop
    case_of "the peer's is the peer's: long, IPv$family" "error path-mtu " "without an ICMP error" "${peers[@]}"
done

forget A B
expect_hook 0 A --probe "${both[@]}" "${both6[@]}" --count 2 --json
expect_equal "without all that" "" "$(codes)"
