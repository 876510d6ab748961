#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a real kernel says of Soft-RoCE ports, and what is found in it: on the host itself.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
vm B 'modprobe rdma_ucm; modprobe ib_uverbs; ulimit -l unlimited; ib-hook --apply' >/dev/null

codes() {
    json '[.findings[] | "\(.severity) \(.code) \(.ifaces | join("+"))"] | join(", ")'
}

# check STATUS [BEFORE]: in the guest, after these commands
check() {
    local status=0
    out=$(vm B "ulimit -l unlimited; ${2:-:}; ib-hook --check --json --verbose") || status=$?
    [ $status = "$1" ] || fail "ib-hook --check: expected exit status $1, got $status" "$out"
}

check 0
expect_equal "a right host: silence" "" "$(codes)"

check 1 'ip link set ib1 mtu 1400'
expect_equal "another MTU of one of two" "warning mode-mtu ib0+ib1" "$(codes)"
vm B "$(json '.findings[0] | .fix // .advice' | sed 's,^make them alike.* fits all: ,,')"
check 0
expect_equal "its fix cures it" "" "$(codes)"

check 0 'ip link set ib1 down'
expect_equal "a link that is down is one note" "info carrier-down ib1" "$(json '[.findings[] | select(.code | startswith("r") | not) |
    "\(.severity) \(.code) \(.ifaces | join("+"))"] | join(", ")')"
vm B 'ip link set ib1 up; ib-hook --apply' >/dev/null

check 0 'rmmod rdma_ucm'
expect_equal "a module" "info module-missing " "$(codes)"
vm B "$(json '.findings[0] | .fix // .advice' | sed 's,^make them alike.* is: ,,')"
check 0
expect_equal "its fix cures it" "" "$(codes)"

# Without an RDMA device there is nothing to judge.
check 0 'ib-hook --undo >/dev/null; rdma link delete rxe0; rdma link delete rxe1'
expect_equal "no RDMA: silence" "" "$(codes)"
