#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whose fault it is when echoes get no reply: this host's own causes are named first, then what ARP tells of the peer; each
# cause is one line.
. "$(dirname "$0")/lib.sh"
needs nft

make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply
probe() { expect_hook "$1" A --probe "${@:2}" --count 2 --json; }
both=(172.16.34.1 172.16.34.2)
firewall() { # HOST HOOK RULE…
    on "$1" nft "flush ruleset; add table ip t; add chain ip t c { type filter hook $2 priority 0; }; add rule ip t c ${*:3}"
}

# shows WHAT OBJECT: in the output of the commands that the first finding advises
shows() {
    local command commands
    commands=$(json '.findings[0].advice | sub(": .*"; "") | split("; ") | .[]')
    while read -r command; do
        on A sh -c "${command/#ib-hook/$IB_HOOK --sysfs /run/sys/A}" 2>&1 || true
    done <<<"$commands" >$work/shown
    expect_contains "$1: what is advised shows it" "$2" "$(<$work/shown)"
}

# A permanent entry with a hardware address that is nobody's: the peer is not accused.
ip -n A neigh replace 172.16.34.2 lladdr 02:00:00:00:99:99 dev ib1 nud permanent
probe 1 "${both[@]}"
expect_equal "a permanent neighbour entry" "warning neighbour-static ib1" "$(codes)"
fix=$(json '.findings[].fix')
as_pasted A "$fix"
probe 0 "${both[@]}"
expect_equal "its fix cures it" "" "$(codes)"
ip -n A neigh replace 172.16.34.2 lladdr "$(mac B 1)" dev ib1 nud permanent
probe 0 "${both[@]}"
expect_equal "a right one is no finding" "" "$(codes)"
ip -n A neigh del 172.16.34.2 dev ib1

# ARP off, here.
ip -n A link set ib1 arp off
probe 1 "${both[@]}"
expect_equal "arp off" "warning arp-off ib1" "$(codes)"
as_pasted A "$(json '.findings[].fix')"
probe 0 "${both[@]}"

# The peer: it answers ARP, not echoes; then it answers nothing.
firewall B input icmp type echo-request drop
probe 1 "${both[@]}"
expect_equal "a peer that drops echoes" "error peer-down " "$(codes)"
expect_contains "but answers ARP" "172.16.34.1-.2 to every rail: ARP is answered, echoes are not: they were seen to leave, and nothing came back: the fault is in the wire" "$(messages)"
on B nft flush ruleset
probe 1 172.16.34.1 172.16.34.77
expect_contains "who answers nothing" "172.16.34.77 to every rail: nothing answers, not even ARP" "$(messages)"
ip -n wire link set B.1 down
probe 1 "${both[@]}" 172.16.34.77
expect_equal "one cause is one line" "error peer-down " "$(codes)"
expect_contains "for all peers" "172.16.34.2, 172.16.34.77 to every rail: nothing answers" "$(messages)"
ip -n wire link set B.1 up

# A cached entry is no answer: the peer is gone, but the kernel still knows its hardware address.
wait_until 5 settled B
expect_hook 0 A --probe "${both[@]}"
ip -n wire link set B.0 down
probe 1 172.16.34.1
expect_contains "an entry of before proves nothing" "nothing answers, not even ARP" "$(messages)"
ip -n wire link set B.0 up

# The kernel's errno for a route that is none is told as that route, not as a NIC.
ip -n A route add blackhole 172.16.34.1/32 table 941
probe 1 "${both[@]}" --iface ib0
expect_contains "a blackhole is named" "ib0 to 172.16.34.1: this address's own traffic does not leave at all: a blackhole route" "$(messages)"
ip -n A route del blackhole 172.16.34.1/32 table 941

# A route says that the peer is ourselves.
ip -n A route add local 172.16.34.1/32 dev lo
probe 1 "${both[@]}"
expect_contains "the peer's address is this host's own, by a route" "172.16.34.1: the address has a route of type local, so nothing leaves" "$(messages)"
shows "a local route" "local 172.16.34.1 dev lo"
ip -n A route del local 172.16.34.1/32 dev lo

# What is no host's address. There is no prohibit route.
probe 1 172.16.255.255 172.16.34.1
expect_equal "a broadcast address: one finding" "error probe-not-sent ib0+ib1" "$(codes)"
expect_contains "a broadcast address" "172.16.255.255: the address has a route of type broadcast, so nothing leaves" "$(messages)"
shows "a broadcast address" "broadcast 172.16.255.255 dev ib0 table local"

# The kernel's answer is right, but a filter marks what leaves, and a rule refuses that.
on A nft "add table ip t; add chain ip t c { type route hook output priority 0; }; add rule ip t c ip saddr 172.16.16.2 meta mark set 7"
ip -n A rule add fwmark 7 prohibit priority 50
probe 1 "${both[@]}"
expect_equal "a rule refuses a mark: one finding" "error probe-not-sent ib1" "$(codes)"
expect_contains "a rule refuses a mark" "ib1 to 172.16.34.1-.2: a route look-up finds this NIC, but packets are refused (a prohibit route): a filter of this host sets a mark" "$(messages)"
shows "a rule refuses a mark" "fwmark 0x7 prohibit"
shows "and what sets it" "meta mark set 0x00000007"
ip -n A rule del priority 50
on A nft flush ruleset

untried=
# not_tried WHAT LINUX REASON: that is all right before this version, which has it first
not_tried() {
    echo "# not tried, $1: $3"
    printf '%s\n' "$2" "$(uname -r)" | sort -V -C || return 0
    untried+="${untried:+; }$1: $3"
}

# What is attached to a NIC takes what comes in, or leaves.
if ip -n A link add over link ib1 type macvlan mode source nodst 2>$work/macvlan; then
    ip -n A link set over type macvlan macaddr add "$(mac B 0)"
    ip -n A link set over up
    forget A # ARP's answer is for the macvlan then
    probe 1 "${both[@]}"
    expect_equal "a macvlan with a list" "error probe-not-sent ib1" "$(codes)"
    expect_contains "a macvlan with a list: it is named" "a macvlan on ib1, in mode passthru or source, takes what arrives" "$(messages)"
    shows "a macvlan with a list" "macvlan mode source nodst"
    ip -n A link del over
else
    not_tried "a macvlan with a list" 5.13 "$(<$work/macvlan)"
fi

# tcx WAY CODE: a tcx program drops what passes ib1 in this way, ingress or egress
tcx() {
    if ! on A "$IBH_BUILD/xdp" ib1 "$1" 2>$work/tcx; then
        not_tried "tcx $1" 6.6 "$(<$work/tcx)"
        return 0
    fi
    forget A # what the peer's questions have taught before
    probe 1 "${both[@]}"
    expect_equal "tcx $1" "error $2 ib1" "$(codes)"
    expect_contains "tcx $1: it is named" "a tcx program (BPF) is attached to ib1" "$(messages)"
    expect_contains "tcx $1: what lists it" "bpftool net show dev ib1" "$(json '.findings[].advice')"
    remove_nic A ib1
    add_nic A ib1 1 172.16.16.2/16
    wait_until 5 settled A
    expect_hook 0 A --apply
}
tcx ingress probe-not-sent # ARP is not answered either
tcx egress probe-not-sent

# A route has a program of its own: the kernel's error is a firewall's, too.
mkdir $work/bpf
if { mount -t bpf bpf $work/bpf && "$IBH_BUILD/xdp" pin $work/bpf/drop &&
    ip -n A route add 172.16.34.1/32 dev ib1 table 942 encap bpf out pinned $work/bpf/drop; } 2>$work/encap; then
    probe 1 "${both[@]}" --iface ib1
    expect_equal "a program of the route" "error probe-not-sent ib1" "$(codes)"
    expect_contains "it is named as a possibility" "do not leave through this NIC (Operation not permitted); the BPF program or tunnel of its route (encap) can drop them, too; what can drop packets on the way out: nft" "$(messages)"
    shows "a program of the route" "encap bpf out drop"
    ip -n A route del 172.16.34.1/32 dev ib1 table 942
else
    not_tried "a program of a route" 4.10 "$(<$work/encap)"
fi

# An XDP program takes all that comes in: no packet shows it, and the wire may do the same. It is told beside what is seen.
if on A "$IBH_BUILD/xdp" ib1 2>$work/xdp; then
    probe 1 "${both[@]}"
    expect_equal "XDP" "error probe-lost ib1" "$(codes)"
    expect_contains "XDP: it is named" "an XDP program is attached to ib1, which could drop what arrives" "$(messages)"
    expect_contains "XDP: what lists it" "; bpftool net show dev ib1" "$(json '.findings[].advice')"
    probe 1 "${both[@]}" 172.16.34.77
    expect_contains "XDP: a peer that answers no rail stays one finding" "172.16.34.77 to every rail: nothing answers" "$(messages)"
    remove_nic A ib1
    add_nic A ib1 1 172.16.16.2/16
    wait_until 5 settled A
    expect_hook 0 A --apply
else
    not_tried XDP 4.12 "$(<$work/xdp)"
fi

# Main has a part of the subnet through another NIC: the rule and the route are found by what is advised.
add_nic A eth0 9 10.0.0.2/8
sysctl_set A eth0 arp_ignore 1
wait_until 5 settled A
ip -n A route add 172.16.34.0/26 dev eth0
probe 1 "${both[@]}"
expect_contains "a part of the subnet" "leaves through eth0: the route to 172.16.34.0/26 in table main decides" "$(messages)"
shows "a part of the subnet" "172.16.34.1 from 172.16.16.1 dev eth0"
shows "and --check the route" "172.16.34.0/26 dev eth0"
remove_nic A eth0

# IPv6: whether solicitations are answered.
if [ -d /proc/sys/net/ipv6 ]; then
    for host in A B; do
        for i in 0 1; do ip -n $host address add "fd00:16::$(host_id $host):$((i + 1))/64" dev ib$i nodad; done
        wait_until 5 settled $host
        expect_hook 0 $host --apply
    done
    on B nft "add table ip6 t; add chain ip6 t c { type filter hook input priority 0; }; add rule ip6 t c icmpv6 type echo-request drop"
    probe 1 fd00:16::34:1 fd00:16::34:99
    expect_contains "IPv6: answered, echoes are not" "fd00:16::34:1 to every rail: neighbour discovery is answered, echoes are not" "$(messages)"
    expect_contains "IPv6: nothing is" "fd00:16::34:99 to every rail: nothing answers, not even neighbour discovery" "$(messages)"
    on B nft flush ruleset

    # The subnet's first address is every router's: this host's own, if it is one.
    on A sysctl -qw net.ipv6.conf.all.forwarding=1
    probe 1 fd00:16:: fd00:16::34:1
    on A sysctl -qw net.ipv6.conf.all.forwarding=0
    expect_equal "IPv6: a router's anycast address: one finding" "error probe-not-sent ib0+ib1" "$(codes)"
    expect_contains "IPv6: a router's anycast address" "fd00:16::: the address has a route of type anycast, so nothing leaves" "$(messages)"
fi
[ -z "$untried" ] || skip "all but $untried"
