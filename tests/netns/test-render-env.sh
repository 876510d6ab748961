#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --render env: what shells have after they sourced it, and what its comments say, for RoCE, InfiniBand, RoCE v1, mixes,
# and GPUs below PCIe switches.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
sys=/run/sys/B
printf '[interface ib*]\nmanage=yes\n' >$work/conf

# sourced NAME: its value, the same in each shell that is here
sourced() {
    local shell value first=
    for shell in sh dash bash zsh; do
        command -v $shell >/dev/null || continue
        value=$(env -i PATH="$PATH" $shell -c "set -eu; . $work/env; printenv $1 || echo '(unset)'") ||
            fail "$shell cannot source it" "$(<$work/env)"
        [ "$value" = "${first:=$value}" ] || fail "$1 is another in $shell: $value" "$first"
    done
    echo "$first"
}
render() {
    on B "$IB_HOOK" --sysfs $sys --config $work/conf --render env "$@" >$work/env || fail "--render env" "$(<$work/env)"
    out=$(<$work/env)
}
gid() { # PORT INDEX TYPE ADDRESS-IN-HEX
    local d=$sys/class/infiniband/mlx5_$1/ports/1
    echo "$4" >"$d/gids/$2"
    echo "$3" >"$d/gid_attrs/types/$2"
}

# ---- without GIDs nobody can use them ----

render
expect_contains "a rail without a GID is named" "# Without ib1: its RDMA port has no GID for it" "$out"
expect_equal "and left out: nothing is set" "(unset)" "$(sourced NCCL_IB_HCA)"

# ---- RoCE ----

for n in 0 1; do
    gid $n 1 "IB/RoCE v1" 0000:0000:0000:0000:0000:ffff:ac10:220$((n + 1))
    gid $n 2 "RoCE v2" 0000:0000:0000:0000:0000:ffff:ac10:220$((n + 1))
done
render
expect_equal "exact names of ports" "=mlx5_0:1,mlx5_1:1" "$(sourced NCCL_IB_HCA)"
expect_equal "exact names of NICs" "=ib0,ib1" "$(sourced NCCL_SOCKET_IFNAME)"
expect_equal "no list for UCX: all that works is a rail" "(unset)" "$(sourced UCX_NET_DEVICES)"
expect_equal "no index: newer libraries choose" "(unset)" "$(sourced NCCL_IB_GID_INDEX)"
expect_equal "nor a list for NVSHMEM" "(unset)" "$(sourced NVSHMEM_HCA_LIST)"
expect_contains "the GID of its own address is named, v2" "# ib1, mlx5_1:1: the RoCE v2 GID of 172.16.34.2 has index 2." "$out"
sed -i 's/^# export /export /' $work/env
expect_equal "uncommented" "2" "$(sourced NCCL_IB_GID_INDEX)"
expect_equal "uncommented" "2" "$(sourced NVSHMEM_IB_GID_INDEX)"
expect_equal "uncommented" "mlx5_0:1,mlx5_1:1,ib0,ib1" "$(sourced UCX_NET_DEVICES)"
expect_lacks "rails share a subnet: NCCL need not look at subnets" "SUBNET" "$out"
render --iface ib1
expect_equal "one rail only" "=mlx5_1:1" "$(sourced NCCL_IB_HCA)"
expect_equal "and UCX would take the other one" "mlx5_1:1,ib1" "$(sourced UCX_NET_DEVICES)"

# ---- a subnet for each rail ----

subnet() { # ADDRESS/LENGTH ADDRESS-IN-HEX: of ib1, with its GIDs
    local index
    ip -n B address flush dev ib1 scope global
    ip -n B address add "$1" dev ib1
    for index in 1 2; do echo "$2" >"$sys/class/infiniband/mlx5_1/ports/1/gids/$index"; done
    render
}
subnet 172.17.34.2/20 0000:0000:0000:0000:0000:ffff:ac11:2202
expect_equal "each has a subnet of its own: a comment, no more" "(unset)" "$(sourced NCCL_IB_SUBNET_AWARE_ROUTING)"
expect_contains "which says when" "Only if no router joins these subnets" "$out"
sed -i 's/^# export /export /' $work/env
expect_equal "uncommented" "1" "$(sourced NCCL_IB_SUBNET_AWARE_ROUTING)"
expect_equal "with the shorter length of the two" "16" "$(sourced NCCL_IB_SUBNET_PREFIX_LEN)"
subnet 172.17.34.2/15 0000:0000:0000:0000:0000:ffff:ac11:2202
expect_lacks "one length for all that would make them one: nothing is said" "SUBNET" "$out"
subnet 172.16.34.2/16 0000:0000:0000:0000:0000:ffff:ac10:2202

# ---- RoCE v1 on one of them, then other indexes ----

gid 1 2 "RoCE v2" 0000:0000:0000:0000:0000:0000:0000:0000
render
expect_contains "v1 only is said" "# ib1, mlx5_1:1: the RoCE v1 (there is no v2) GID of 172.16.34.2 has index 1." "$out"
expect_contains "and that no one index is right" "They differ" "$out"
expect_lacks "so none is offered" "export NCCL_IB_GID_INDEX" "$out"

# ---- InfiniBand ----

for n in 0 1; do
    echo InfiniBand >$sys/class/infiniband/mlx5_$n/ports/1/link_layer
    echo fe80:0000:0000:0000:0000:0000:0000:000$((n + 1)) >$sys/class/infiniband/mlx5_$n/ports/1/gids/0
    ip -n B link show ib$n >/dev/null
done
cp -r $sys/class/infiniband/mlx5_0 $sys/class/infiniband/mlx5_9
rm -rf $sys/class/infiniband/mlx5_9/device
render
expect_contains "InfiniBand has no index" "NVSHMEM_HCA_LIST" "$out"
expect_lacks "InfiniBand has no index" "GID_INDEX" "$out"
expect_equal "a port that works and is not a rail's: UCX gets the list" "mlx5_0:1,mlx5_1:1,ib0,ib1" "$(sourced UCX_NET_DEVICES)"
rm -r $sys/class/infiniband/mlx5_9

# ---- GPUs ----

# pci PATH CLASS NODE: a device below /sys/devices
pci() {
    mkdir -p "$sys/devices/$1" $sys/bus/pci/devices
    echo "$2" >"$sys/devices/$1/class"
    echo "$3" >"$sys/devices/$1/numa_node"
    ln -sfn "../../../devices/$1" $sys/bus/pci/devices/"${1##*/}"
}
switch=pci0000:3a/0000:3a:00.0/0000:3b:00.0
for n in 0 1; do
    pci "${switch/3b:00/3b:0$n}/0000:3c:0$n.0/0000:3d:0$n.0" 0x020700 0
    cp -rn $sys/class/infiniband/mlx5_$n/device/. $sys/devices/"${switch/3b:00/3b:0$n}/0000:3c:0$n.0/0000:3d:0$n.0"/
    rm -r $sys/class/infiniband/mlx5_$n/device
    ln -s ../../../devices/"${switch/3b:00/3b:0$n}/0000:3c:0$n.0/0000:3d:0$n.0" $sys/class/infiniband/mlx5_$n/device
done
pci pci0000:3a/0000:3a:00.0/0000:3b:01.0/0000:3c:08.0/0000:40:00.0 0x030200 0
pci pci0000:5d/0000:5d:00.0/0000:5e:00.0 0x120000 0
pci pci0000:ae/0000:ae:00.0/0000:af:00.0 0x030200 1
pci pci0000:3a/0000:3a:01.0 0x010802 0
render
expect_contains "below one switch" "# GPU 0000:40:00.0: ib1 (mlx5_1:1), by the same PCIe switch" "$out"
expect_contains "of one node" "# GPU 0000:5e:00.0: ib0 (mlx5_0:1), ib1 (mlx5_1:1), by the same NUMA node" "$out"
expect_contains "of another node" "# GPU 0000:af:00.0: no rail is near" "$out"
expect_lacks "a disk is no GPU" "3a:01.0" "$out"

# ---- a name that a shell would take for something else, and none ----

mv $sys/class/infiniband/mlx5_0 "$sys/class/infiniband/m\$(id)';"
render
expect_equal "a name with quotes is left out" "=mlx5_1:1" "$(sourced NCCL_IB_HCA)"
expect_contains "and said" "# Without ib0: its name, or that of its RDMA device, cannot stand in a list." "$out"
rm -r $sys/class/infiniband
render
expect_equal "no RDMA: nothing is set" "(unset)" "$(sourced NCCL_IB_HCA)"
expect_contains "and why" "# Without ib0: it has no RDMA device." "$out"
