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

# Nor routes that main=remove took out of main.
file=$(config "[defaults]
main=remove")
for i in 0 1; do add_nic B ib$i $i 172.16.34.$((i + 1))/16; done
wait_until 5 settled B
expect_hook 0 B --config "$file" --apply
expect_equal "the routes of both are remembered" 2 "$(grep -c ^route /run/ib-hook/*.state)"
remove_nic B ib0
remove_nic B ib1
expect_hook 0 B --config "$file" --apply
expect_equal "no route is remembered of NICs that are gone" "" "$(grep ^route /run/ib-hook/*.state || true)"
