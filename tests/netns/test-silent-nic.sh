#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An RDMA NIC that is up without an IPv4 address, on the rails' wire, answers ARP for their addresses: peers learn its hardware
# address. While rails of its kind stand it has arp_ignore=1, and nothing else; where it has to answer for an address of the host
# itself (one on lo, or by a route of main's: IPv4 unnumbered), arp_filter=1 instead; nothing against the configuration. Its
# old value comes back.
. "$(dirname "$0")/lib.sh"

make_hosts 2
add_nic B ib2 2
rdma B ib0 ib1 ib2
journal_start
expect_hook 0 A --apply
expect_sysctls() { # VALUES
    expect_equal "$1: ib2's own values" "$2" "$(on B cat $CONF/ib2/arp_ignore $CONF/ib2/arp_announce $CONF/ib2/arp_filter $CONF/ib2/rp_filter | xargs)"
}
answers() { # → how many of the NICs of B answer A for ib0's address
    on A "$FLOW" arp --iface ib0 --from 172.16.16.1 --to 172.16.34.1 | sort -u | wc -l
}

expect_hook 0 B --apply
expect_sysctls "a NIC that is down" "0 0 0 0"
ip -n B link set ib2 up
wait_until 5 settled B
expect_at_least "it answers for the rails" 2 "$(answers)"
expect_hook 0 B --plan
expect_contains "said" "it has no IPv4 address, and does not answer ARP for the rails" "$out"
manager_calls B "$HOOKS/nm-dispatcher" ib2 up
expect_sysctls "a hook" "1 0 0 0"
expect_equal "one NIC answers" 1 "$(answers)"
expect_hook 0 B --apply --json
expect_equal "nothing is left to do" false "$(json .changed)"
expect_hook 0 B --check
on B sh -c "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >$CONF/ib2/proxy_arp"
expect_hook 1 B --check --json
expect_equal "as a proxy it answers all the same" "ib2 warning proxy-arp" "$(findings)"
as_pasted B "$(json '.findings[] | select(.code == "proxy-arp") | .fix')"
expect_hook 0 B --check
on B sh -c "echo 0 >/proc/sys/net/ipv4/ip_forward"

# It becomes a rail, and hands the old value on; then it is none again.
ip -n B address add 172.16.34.3/16 dev ib2
manager_calls B "$HOOKS/nm-dispatcher" ib2 up
expect_sysctls "a rail" "1 2 0 0"
ip -n B address del 172.16.34.3/16 dev ib2
expect_hook 0 B --plan
expect_contains "a value that goes back is not silence" "arp_announce=0  # ib2: as it was before" "$out"
expect_hook 0 B --apply
expect_sysctls "without its address again" "1 0 0 0"
expect_hook 0 B --undo
expect_sysctls "--undo" "0 0 0 0"

# No rail is left: nothing to be silent for.
expect_hook 0 B --apply
expect_sysctls "--apply" "1 0 0 0"
for i in 0 1; do ip -n B address flush dev ib$i scope global; done
expect_hook 0 B --apply
expect_sysctls "no rail stands" "0 0 0 0"
for i in 0 1; do ip -n B address add 172.16.34.$((i + 1))/16 dev ib$i; done

# Where it has to answer for an address of the host, it does so, and not for the rails: on lo; by a route of its own to a peer
# that reaches a borrowed address, as IPv4 unnumbered is.
reaches() { # ADDRESS: how many of three echoes from B2, on ib2's own wire, come back
    forget B B2
    { on B2 ping -q -c 3 -i 0.2 -W 1 -I eth0 "$1" || true; } | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}
ip -n B address add 192.0.2.1/32 dev lo
expect_hook 0 B --apply
expect_sysctls "an address on lo" "0 0 1 0"
expect_equal "an address on lo: one NIC answers for a rail" 1 "$(answers)"
ip -n B address del 192.0.2.1/32 dev lo
expect_hook 0 B --apply
expect_sysctls "no address on lo any more" "1 0 0 0"

ip netns add B2
ip -n B2 link set lo up
ip -n wire link set B.2 netns B2 name eth0
ip -n B2 address add 10.0.0.9/32 dev eth0
ip -n B2 link set eth0 up
ip -n B2 route add 172.16.34.1 dev eth0 scope link src 10.0.0.9
wait_until 5 settled B2
ip -n B route add 10.0.0.9 dev ib2 scope link src 172.16.34.1
expect_equal "unnumbered, without ib-hook's values" 3 "$(sysctl_set B ib2 arp_ignore 0 && reaches 172.16.34.1)"
for how in "manager_calls B $HOOKS/nm-dispatcher ib2 up" "expect_hook 0 B --apply"; do
    $how
    expect_sysctls "unnumbered" "0 0 1 0"
    expect_equal "unnumbered: the peer is answered" 3 "$(reaches 172.16.34.1)"
done
ip -n B route del 10.0.0.9 dev ib2
expect_hook 0 B --apply
expect_sysctls "its route is gone" "1 0 0 0"
expect_hook 0 B --undo
rm -rf /run/ib-hook
sysctl_set B ib2 arp_ignore 0

for setting in manage=no arp=keep; do
    expect_hook 0 B --config "$(config "[interface ib2]
$setting")" --apply
    expect_sysctls "$setting" "0 0 0 0"
done
expect_hook 0 B --undo --iface ib2
cp /dev/null $work/none.conf
expect_hook 0 B --config $work/none.conf --apply --iface ib0
manager_calls B "$HOOKS/nm-dispatcher" ib2 up
expect_sysctls "held" "0 0 0 0"
