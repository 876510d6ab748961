#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/from-card-to-rail.md: nmcli, netplan and ifupdown take the addresses as the page writes them.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"
page=$top/packaging/doc/from-card-to-rail.md

lay_over_usr
needs nmcli ifquery
generate=/usr/libexec/netplan/generate
[ -x $generate ] || generate=/usr/lib/netplan/generate

# ---- NetworkManager: the profile that it would write ----
n=0
while read -r command; do
    profile=$(bash -c "${command/nmcli/nmcli --offline}") || fail "$command"
    expect_contains "$command: InfiniBand" "type=infiniband" "$profile"
    expect_contains "in datagram mode" "transport-mode=datagram" "$profile"
    expect_contains "of this NIC" "interface-name=ib$n" "$profile"
    expect_contains "with this address" "address1=172.16.34.$((n + 1))/16" "$profile"
    n=$((n + 1))
done < <(page_file "$page" "nmcli --offline" | sed -n 's/^# //p')
expect_equal "two of them" 2 $n

# ---- netplan, and what it makes of it for systemd-networkd ----
mkdir -p $work/root/etc/netplan
page_file "$page" "with \`netplan generate" >$work/root/etc/netplan/60-rdma.yaml
chmod 0600 $work/root/etc/netplan/60-rdma.yaml
$generate --root-dir $work/root || fail "netplan generate"
expect_equal "netplan writes the lines that the page has for systemd-networkd" "" \
    "$(grep -vxF -f "$work/root/run/systemd/network/10-netplan-ib0.network" <(page_file "$page" "netplan generates these lines" | grep .) || true)"
expect_contains "and the other address" "Address=172.16.34.2/16" "$(<$work/root/run/systemd/network/10-netplan-ib1.network)"

# ---- ifupdown ----
page_file "$page" ifquery >$work/interfaces
for n in 0 1; do
    said=$(ifquery --interfaces=$work/interfaces ib$n) || fail "ifquery ib$n" "$said"
    expect_contains "ifquery ib$n" "address: 172.16.34.$((n + 1))
broadcast: 172.16.255.255
netmask: 255.255.0.0" "$said"
done
