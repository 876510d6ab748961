#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What was remembered of one network namespace is not taken for another's: the kernel gives the inode number of one
# that is gone to the next.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
expect_hook 0 B --apply
expect_sysctls B ib0 arp_ignore=1 arp_announce=2

ip netns delete B
unplugged() { [ -z "$(ip -n wire -o link show type veth)" ]; }
wait_until 5 unplugged
new_host B
for i in 0 1; do
    add_nic B ib$i $i "172.16.34.$((i + 1))/16"
    sysctl_set B ib$i arp_ignore 1 # here it is the administrator's value
    sysctl_set B ib$i arp_announce 2
done
wait_until 5 settled B
before=$(state B)
expect_hook 0 B --undo
expect_equal "--undo in the new namespace" "$before" "$(state B)"
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --undo
expect_equal "--apply and --undo in the new namespace" "$before" "$(state B)"

# Nor is a hold: A was never undone.
ip netns add A2
ip netns delete A2
new_host A
for i in 0 1; do add_nic A ib$i $((i + 8)) "172.16.16.$((i + 1))/16"; done
rdma A ib0 ib1
wait_until 5 settled A
expect_hook 1 A --check --json
expect_lacks "nothing is held in a namespace that was never undone" '"held"' "$out"
