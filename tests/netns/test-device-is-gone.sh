#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A rail whose RDMA device is gone (its driver was unloaded) keeps its netdev and its address. --check says so, before and after
# a hook has taken the rail back, until --undo or the device's return. A plain NIC that was managed by configuration has no device
# to lose.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
expect_hook 0 B --apply
expect_hook 0 B --check

rdma B ib0
expect_hook 1 B --check --json
expect_equal "its device is gone: one finding, nothing beside it" "ib1 error nic-gone" "$(findings)"
expect_contains "the message tells which, and does not say that its address is gone" "a rail is missing: its RDMA device is gone" \
    "$(json '.findings[].message')"
expect_contains "and where it may be" "a container may have kept the device" "$(json '.findings[].advice')"
expect_hook 0 B --apply
expect_equal "it is no longer a rail" "" "$(ip -n B rule show table 942)"
expect_hook 1 B --check --json
expect_equal "it is still told" "ib1 error nic-gone" "$(findings)"

rdma B ib0 ib1
expect_hook 0 B --apply
expect_hook 0 B --check
rdma B ib0
expect_hook 0 B --undo
expect_hook 0 B --apply
ip -n B address flush dev ib1
expect_hook 0 B --check

# By configuration alone.
ip -n B link add plain type veth peer name other
for nic in plain other; do ip -n B link set $nic up; done
ip -n B address add 10.5.0.34/24 dev plain
wait_until 5 settled B
expect_hook 0 B --config "$(config "[interface plain]
manage=yes")" --apply
expect_hook 0 B --apply
expect_hook 0 B --check
