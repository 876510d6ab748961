#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a real kernel says of Soft-RoCE ports, and what is found in it: on the host itself, and elsewhere by --capture.
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
expect_contains "the port" "rxe1/1: ib1, Ethernet: ACTIVE, LinkUp" "$(json '.checked[]')"
expect_contains "its version of RoCE" "rxe1/1: RoCE v2" "$(json '.checked[]')"
expect_contains "its MTU, from the kernel's own files" "ib1: MTU 1500, as ib0" "$(json '.checked[]')"
expect_contains "the modules" "modules: loaded: ib_core ib_uverbs rdma_ucm" "$(json '.checked[]')"
expect_contains "the limit" "memlock: unlimited" "$(json '.checked[]')"

vm B 'ulimit -l unlimited; cd /tmp; ib-hook --capture node.tar >/dev/null; base64 node.tar' | base64 -d >"$work/node.tar"
tar -C "$work" -xf "$work/node.tar"
"$IB_HOOK" --check --json --verbose --sysfs "$work/node" >"$work/json" || fail "the capture is right" "$(<"$work/json")"
expect_equal "captured: silence, too" "[]" "$(jq -c .findings "$work/json")"
# of the rails netlink knows more, and a captured tree has no rules
expect_equal "captured: the same was seen" "$(json '.checked[] | select(contains("rules stand") | not)')" \
    "$(jq -r '.checked[]' "$work/json")"
expect_at_least "it is small" "$(wc -c <"$work/node.tar")" 200000

check 1 'ip link set ib1 mtu 1400'
expect_equal "another MTU of one of two" "warning mode-mtu ib0, warning mode-mtu ib1" "$(codes)"
vm B "$(json '.findings[0] | .fix // .advice' | sed 's,^make them alike.* is: ,,')"
check 0
expect_equal "its fix cures it" "" "$(codes)"

check 1 'ip link set ib1 down'
expect_equal "a link that is down is one error" "error carrier-down ib1" "$(json '[.findings[] | select(.code | startswith("r") | not) |
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
