#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# P_Key children have a dot in their names (ib0.8002), which the sysctl program takes for a slash.
. "$(dirname "$0")/lib.sh"

make_wire
new_host B
add_nic B ib0.8002 0 172.16.34.1/16
add_nic B ib1.8002 1 172.16.34.2/16
rdma B ib0.8002 ib1.8002
wait_until 5 settled B
before=$(state B)
expect_hook 0 B --apply
expect_rails B ib0.8002:941:172.16.34.1 ib1.8002:942:172.16.34.2
for nic in ib0.8002 ib1.8002; do
    expect_sysctls B $nic arp_ignore=1 arp_announce=2
done
expect_hook 0 B --check --iface ib1.8002
expect_hook 0 B --apply --iface ib0.8002 --json
expect_equal "nothing is left to do" false "$(json .changed)"
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"
