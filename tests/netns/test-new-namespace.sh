#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What was remembered of one network namespace is not taken for another's: the kernel gives the inode number of one
# that is gone to the next.
. "$(dirname "$0")/lib.sh"

# in_place_of OLD NEW: the first goes, and the second comes, with the same inode number if the kernel gives it away again
unplugged() { [ -z "$(ip -n wire -o link show type veth)" ]; }
in_place_of() {
    local number
    number=$(stat -c %i "/run/netns/$1")
    ip netns delete "$1"
    wait_until 5 unplugged
    for _ in {1..20}; do
        new_host "$2"
        [ "$(stat -c %i "/run/netns/$2")" != "$number" ] || return 0
        ip netns delete "$2"
        sleep 0.1
    done
    new_host "$2"
    echo "# $2 has not the inode number that $1 had"
}

make_hosts 2 B
expect_hook 0 B --apply
expect_sysctls B ib0 arp_ignore=1 arp_announce=2

in_place_of B B
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

# Nor is a hold: B was undone, A never.
in_place_of B A
for i in 0 1; do add_nic A ib$i $((i + 8)) "172.16.16.$((i + 1))/16"; done
rdma A ib0 ib1
wait_until 5 settled A
expect_hook 1 A --check --json
expect_lacks "nothing is held in a namespace that was never undone" '"held"' "$out"
