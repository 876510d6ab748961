#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A device of link type InfiniBand is a candidate by its type alone, and one without a hardware address cannot be
# announced: that is no failure.
. "$(dirname "$0")/lib.sh"
{ [ -r /dev/net/tun ] && [ -w /dev/net/tun ]; } || skip "/dev/net/tun is missing or not ours"
TUN32=$(dirname "$FLOW")/tun32
[ -x "$TUN32" ] || fail "there is no $TUN32: run make tools"

new_host B
on B "$TUN32" ib0 ib1 ib10 >/dev/null
i=0
for nic in ib0 ib1 ib10; do
    i=$((i + 1))
    ip -n B address add 172.16.34.$i/16 dev $nic
    ip -n B link set $nic up
done
mkdir -p /run/sys/B/class # no RDMA device is listed
before=$(state B)
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2 ib10:943:172.16.34.3
expect_sysctls B ib10 arp_ignore=1 arp_announce=2
for i in 1 2 3; do
    nic=$(ip -n B -j route get 172.16.16.1 from 172.16.34.$i | jq -r '.[0].dev')
    [ "$nic" = "$(sed -n "${i}p" <<<$'ib0\nib1\nib10')" ] || fail "172.16.34.$i leaves through its own NIC" "got $nic"
done
ok "each address leaves through its own NIC"
expect_hook 0 B --check --json
expect_equal "--check knows the type" infiniband "$(json '[.rails[].type] | unique | .[]')"

# InfiniBand ranks before Ethernet, whatever the names.
make_wire
add_nic B eth0 0 172.16.34.9/16
rdma B eth0
wait_until 5 settled B
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2 ib10:943:172.16.34.3 eth0:944:172.16.34.9
remove_nic B eth0
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"
