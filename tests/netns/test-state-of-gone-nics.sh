#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is remembered of a NIC goes with it: the file does not keep the old sysctl values of an index that is no more.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B

remembered() {
    sed -n 's/^sysctl \([^ ]* [0-9]*\) .*/\1/p' /run/ib-hook/*.state | sort -u
}

expect_hook 0 B --apply
expect_equal "both rails are remembered" "ib0 $(ip -n B -j link show ib0 | jq ".[].ifindex")
ib1 $(ip -n B -j link show ib1 | jq ".[].ifindex")" "$(remembered)"
remove_nic B ib0
remove_nic B ib1
expect_hook 0 B --apply
expect_equal "nothing is remembered of NICs that are gone" "" "$(remembered)"
