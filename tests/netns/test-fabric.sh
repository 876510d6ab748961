#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the RDMA ports of this host say, beside what netlink says of the same NICs. Each fault by itself: unit/fabric.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
expect_hook 0 B --apply
sys=/run/sys/B

# A port that is right: RoCE v2, everything as the kernel has it. lib.sh has no modules and no proc: they are not known.

# port N ATTRIBUTE TEXT
port() {
    echo "$3" >"$sys/class/infiniband/mlx5_$1/ports/1/$2"
}

# as_infiniband: the same two NICs, with ports that are InfiniBand's
as_infiniband() {
    local n
    for n in 0 1; do
        port $n link_layer InfiniBand
        port $n sm_lid 0x1
    done
}

# finds WHAT CODES COMMAND…: what the command breaks in the tree is named so, and mended again by copying the tree back
finds() {
    local status=1
    rm -rf /run/keep
    cp -a "$sys" /run/keep
    "${@:3}"
    [[ $2 != *error* && $2 != *warning* ]] && status=0
    expect_hook $status B --check --json
    expect_equal "$1" "$2" "$(codes)"
    rm -rf "$sys"
    mv /run/keep "$sys"
}

# ---- a right host ----

expect_hook 0 B --check --json
expect_equal "a right host: silence" "" "$(codes)"
expect_hook 0 B --check --verbose
expect_lacks "what is right is not listed" "ACTIVE" "$out"

# ---- ports ----

as_infiniband
expect_hook 0 B --check --json
expect_equal "as InfiniBand: silence" "" "$(codes)"
polling() {
    port 1 state "1: DOWN"
    port 1 phys_state "2: Polling"
    port 1 sm_lid 0x0
}
finds "Polling" "error port-not-active ib1" polling

# What somebody took down is a note, whatever its port says.
ip -n B link set ib1 down
for port in "is active" "has no link, either"; do
    expect_hook 0 B --check --json
    expect_equal "the link is down, and the port $port" "info carrier-down ib1" \
        "$(json '.findings[] | "\(.severity) \(.code) \(.ifaces | join("+"))"')"
    polling
done
expect_contains "the table of --show says so, too" " down: " "$(hook B --show | grep '^ib1 ')"
ip -n B link set ib1 up
rdma B ib0 ib1
expect_hook 0 B --apply
wait_until 5 settled B

# A port without an interface: in /sys, whose interfaces are all there, it is a container's; of a copy nobody knows.
rdma B ib0 ib1 pod0
rm -r $sys/class/infiniband/mlx5_2/device
port 2 state "1: DOWN"
port 2 phys_state "2: Polling"
expect_hook 1 B --check --json
expect_equal "in a copy" "error port-not-active " "$(codes)"
out=$(with_sys B "$IB_HOOK" --check --json) || fail "in /sys" "$out"
expect_equal "in /sys" "" "$(json '.findings[].code | select(. == "port-not-active")')"
rdma B ib0 ib1

# ---- GIDs: the addresses are netlink's ----

gid() { # PORT INDEX TYPE ADDRESS-IN-HEX
    local d=$sys/class/infiniband/mlx5_$1/ports/1
    echo "$4" >"$d/gids/$2"
    echo "$3" >"$d/gid_attrs/types/$2"
}
full_tables() { # as RoCE cards have them; the last is empty
    local n
    for n in 0 1; do
        gid $n 1 "RoCE v2" 0000:0000:0000:0000:0000:ffff:ac10:220$((n + 1))
        echo 0000:0000:0000:0000:0000:0000:0000:0000 >$sys/class/infiniband/mlx5_$n/ports/1/gids/2
    done
}
no_gid() {
    full_tables
    echo 0000:0000:0000:0000:0000:0000:0000:0000 >$sys/class/infiniband/mlx5_1/ports/1/gids/1
}
other_gid() { # of another host in the subnet
    full_tables
    gid 1 1 "RoCE v2" 0000:0000:0000:0000:0000:ffff:ac10:2209
}
finds "each address has its GID" "" full_tables
finds "one has none" "error gid-missing ib1" no_gid
finds "a GID of the same subnet is not enough" "error gid-missing ib1" other_gid

# ---- not in anybody's way ----

# Neither --apply nor a hook reads what only --check wants.
needs strace
on B strace -f -o $work/trace -e trace=openat,openat2,newfstatat,stat,access "$IB_HOOK" --sysfs $sys --apply >/dev/null
expect_contains "strace sees what is read" "gid_attrs/ndevs/0" "$(<$work/trace)"
expect_lacks "--apply does not read the ports' state" "ports/1/state" "$(<$work/trace)"
expect_lacks "nor the limits" "limits" "$(<$work/trace)"
for attribute in rate counters fw_ver board_id current_link uevent gids/1 sm_lid; do
    expect_lacks "nor $attribute" "/$attribute" "$(<$work/trace)"
done
