#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `nsenter -t PID -n ib-hook --check` asks about a pod from its node, whose /sys it then has: the pod's NICs are found, whether
# RDMA devices are shared among namespaces or each belongs to one. (Soft-RoCE's cannot be moved: they stay the node's.)
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016 # for the shell in the guest
pod='ip netns add pod || exit 1
    for n in 0 1; do
        ip link set ib$n netns pod && ip -n pod address add 172.16.34.$((n + 1))/16 dev ib$n &&
            ip -n pod link set ib$n up && nsenter --net=/run/netns/pod rdma link add rxe$n type rxe netdev ib$n || exit 1
    done
    nsenter --net=/run/netns/pod sleep 100000 >/dev/null 2>&1 & echo $! >/run/pod.pid'

for mode in exclusive shared; do
    vm_start B 2
    vm B "modprobe ib_core; modprobe rdma_rxe; rdma system set netns $mode" || fail "RDMA's namespaces are $mode"
    vm B "$pod"
    expect_equal "the mode" "netns $mode" "$(vm B 'rdma system' | grep -o "netns $mode")"
    # shellcheck disable=SC2016 # for the shell in the guest
    out=$(vm B 'nsenter -t $(cat /run/pod.pid) -n ib-hook --check --json; true')
    expect_equal "$mode: the NICs that are found from the node" "ib0 rxe0/1
ib1 rxe1/1" "$(json '.rails[] | "\(.iface) \(.rdma)"')"
    expect_equal "$mode: and the cause" "rule-missing" "$(json '.findings[] | select(.severity == "error") | .code' | sort -u)"
    # shellcheck disable=SC2016 # for the shell in the guest
    vm B 'nsenter -t $(cat /run/pod.pid) -n ib-hook --apply --quiet'
    # shellcheck disable=SC2016 # for the shell in the guest
    vm B 'nsenter -t $(cat /run/pod.pid) -n ib-hook --check --quiet' || fail "$mode: a pod whose rails are right"
    ok "$mode: a pod whose rails are right"
    vm_stop B
done
