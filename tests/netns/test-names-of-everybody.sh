#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel lets a NIC be renamed to "default" or "all" (where it has no IPv6 just then). In /proc/sys these are the
# settings of every NIC to come, and of all there are: they are not touched, and it is said.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
shared() { on B sh -c "cd $CONF && grep . all/* default/*"; }
for name in default all; do sysctl_set B $name arp_announce 1; done # so that nothing that is written there is as it was
before=$(shared)
for name in default all; do
    expect_hook 0 B --apply
    expect_equal "three rails" 3 "$(own_rules B | wc -l)"
    ip -n B link set ib2 down
    ip -n B link set ib2 mtu 1000 # less than IPv6 needs
    ip -n B link set ib2 name $name
    ip -n B link set dev $name up
    rdma B ib0 ib1 $name
    expect_hook 0 B --apply
    expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    expect_equal "$name: settings of all NICs after --apply" "$before" "$(shared)"
    expect_hook 0 B --show --verbose
    expect_contains "$name: it is said" "$name: not engaged: its name: net.ipv4.conf.$name stands for all NICs; rename it" "$out"
    expect_hook 0 B --config "$(config '[interface *]
manage=yes')" --apply
    expect_hook 0 B --undo
    expect_equal "$name: settings of all NICs after --undo" "$before" "$(shared)"
    ip -n B link set dev $name down
    ip -n B link set dev $name mtu 1500
    ip -n B link set dev $name name ib2
    ip -n B link set ib2 up
    rdma B ib0 ib1 ib2
done
