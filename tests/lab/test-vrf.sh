#!/bin/bash
# VRFs: NICs in one are left to its table; rails outside of it work beside it, wherever the local rule stands before theirs,
# and are not programmed where it comes later.
. "$(dirname "$0")/lib.sh"

make_host_and_peer 4
# shellcheck disable=SC2016 # for the shell in the guest
vm B 'ip link add blue type vrf table 100 && ip link set blue up || exit 1
    for i in 0 1 2 3; do
        [ $i -lt 2 ] || ip link set ib$i master blue
        ip link set ib$i up && rdma link add rxe$i type rxe netdev ib$i || exit 1
        ip address add 172.16.34.$((i + 1))/16 dev ib$i
    done'
blue() { vm B 'ip route show table 100; for i in 2 3; do grep . '/proc/sys/net/ipv4/conf/ib\$i/'*_filter; done'; }
before=$(blue)
expect_hook 0 B --apply
expect_hook 0 B --check --json
expect_equal "the rails are those outside of the VRF" "ib0 ib1" "$(json '.rails[].iface' | xargs)"
expect_hook 0 B --show --verbose
expect_contains "--show says why ib2 is none" "ib2: not engaged: a port of blue" "$out"
expect_equal "the VRF is as it was" "$before" "$(blue)"
for i in 0 1; do
    by_which 172.16.34.$((i + 1))
    expect_equal "pings to ib$i beside a VRF" "ib$i" "$way"
done
expect_hook 0 B --check --json --iface ib0
expect_contains "from inside the VRF its own NICs answer" " 0% packet loss" "$(vm B 'ping -c 1 -W 2 -I blue 172.16.16.1')"

# What documents on VRFs advise: the local table after the VRFs', so that a VRF does not reach the host's own addresses.
vm B 'ip rule add priority 1500 lookup local && ip rule del priority 0 && ip -6 rule add priority 1500 lookup local && ip -6 rule del priority 0'
expect_hook 0 B --check
for i in 0 1; do
    by_which 172.16.34.$((i + 1))
    expect_equal "pings to ib$i with the local rule before ours" "ib$i" "$way"
done
expect_hook 0 B --undo
vm B 'ip rule add priority 32765 lookup local && ip rule del priority 1500'
rules=$(vm B 'ip rule')
expect_hook 3 B --apply
expect_equal "with the local rule after ours nothing is programmed" "$rules" "$(vm B 'ip rule')"
expect_hook 1 B --check --json
expect_equal "and --check says so" "local-rule-late" "$(json '[.findings[] | select(.severity == "error") | .code] | unique | .[]')"
