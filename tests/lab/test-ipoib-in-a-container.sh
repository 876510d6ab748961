#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# P_Key children in a network namespace of their own, as containers have them. The kernel says which index their parent
# has, but not in which namespace: here another NIC has that index, and is not taken for their parent.
# shellcheck source-path=SCRIPTDIR source=ipoib/lib.sh
. "$(dirname "$0")/ipoib/lib.sh"

ipoib_start
on B 'echo 0x8002 >/sys/class/net/ib0/create_child && ip link set ib0.8002 name child netns A'
add_address A ib0 172.16.16.1/16
add_address A child 172.16.16.2/16
expect_equal "the child's parent has an index that another NIC has here" "$(on A 'cat /sys/class/net/ib0/ifindex')" \
    "$(on A 'cat /sys/class/net/child/iflink')"
hook 0 A --apply
hook 0 A --check --json
expect_equal "they are rails" "child 941
ib0 942" "$(jq -r '.rails[] | "\(.iface) \(.table)"' <<<"$out")"
