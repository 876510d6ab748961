#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# IPoIB NICs are found by themselves and ranked: ports first, then P_Key children, in the order of their names. A parent
# and its own child do not engage each other; children of two ports do, and are rails as their parents are.
# shellcheck source-path=SCRIPTDIR source=ipoib/lib.sh
. "$(dirname "$0")/ipoib/lib.sh"

child() { # HOST NIC PKEY ADDRESS/LENGTH
    on "$1" "echo $3 >/sys/class/net/$2/create_child"
    add_address "$1" "$2.${3#0x}" "$4"
}

rails() { # → of the last --json: each rail, its link type and table
    jq -r '.rails[] | "\(.iface) \(.type) \(.table)"' <<<"$out"
}

ipoib_start
add_address B ib0 172.16.34.1/16
child B ib0 0x8002 172.16.34.3/16
hook 0 B --check --json
expect_equal "a parent and its own child are no rails" "" "$(rails)"
hook 0 B --apply --json
expect_equal "and nothing is done" false "$(jq .changed <<<"$out")"

on B 'ip address flush dev ib0.8002'
for host in A B; do
    id=$(host_id $host)
    [ $host = B ] || child $host ib0 0x8002 "172.18.$id.1/16"
    child $host ib1 0x8002 "172.18.$id.2/16"
done
add_address B ib0.8002 172.18.34.1/16
child B ib0 0x000a 172.19.34.1/16
child B ib1 0x000a 172.19.34.2/16
add_address A ib0 172.16.16.1/16
add_address B ib1 172.16.34.2/16
expect_equal "a partition is named as it was asked for" 0x800a "$(on B 'cat /sys/class/net/ib0.000a/pkey')"
before=$(on B 'sysctl -a 2>/dev/null | grep "conf[./]ib"')

# What the kernel has of HCAs whose ports have these GUIDs.
# shellcheck disable=SC2016 # for the guest's shell
on B 'for n in 0 1; do
    port=/run/sys/class/infiniband/mlx5_$n/ports/1
    mkdir -p $port/gids
    cut -c 13- /sys/class/net/ib$n/address | sed "s/\(..\):\(..\)/\1\2/g" >$port/gids/0
done'
hook 0 B --show --json --sysfs /run/sys
expect_equal "a child belongs to its port" "ib0 mlx5_0/1
ib0.000a mlx5_0/1
ib0.8002 mlx5_0/1
ib1 mlx5_1/1
ib1.000a mlx5_1/1
ib1.8002 mlx5_1/1" "$(jq -r '.rails[] | "\(.iface) \(.rdma)"' <<<"$out" | sort)"

nics="ib0.8002 ib1.8002"
ask_all A 172.18.34.1 172.18.34.2
expect_answers "before: A's children learned one of B's for both" A B 172.18.34.1=ib0.8002 172.18.34.2=ib0.8002
hook 0 A --apply
hook 0 B --apply
hook 0 B --check --json
expect_equal "all are rails of type infiniband, children last" "ib0 infiniband 941
ib1 infiniband 942
ib0.000a infiniband 943
ib0.8002 infiniband 944
ib1.000a infiniband 945
ib1.8002 infiniband 946" "$(rails)"
expect_equal "the sysctls of a name with a dot" "1 2" \
    "$(on B 'cd /proc/sys/net/ipv4/conf/ib1.8002 && cat arp_ignore arp_announce' | paste -sd ' ')"
expect_answers "announced: they have learned the right child" A B 172.18.34.1=ib0.8002 172.18.34.2=ib1.8002
ask_all A 172.18.34.1 172.18.34.2
expect_answers "asked: they have learned the right child" A B 172.18.34.1=ib0.8002 172.18.34.2=ib1.8002
pings "every child answers, bound and not" A 172.18.34.1 172.18.34.2

# A child that is gone changes no other one's table; it comes and goes with its creator, and nobody misses it. The other
# child of its subnet is alone now, and so is no rail any more.
on B 'echo 0x000a >/sys/class/net/ib0/delete_child'
hook 0 B --apply
hook 0 B --check --json
expect_equal "what --check names" "" \
    "$(jq -r '.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.code)"' <<<"$out")"
expect_equal "without ib0.000a, and without ib1.000a, which is alone in its subnet" "ib0 infiniband 941
ib1 infiniband 942
ib0.8002 infiniband 944
ib1.8002 infiniband 946" "$(rails)"
pings "every child answers still" A 172.18.34.1 172.18.34.2

hook 0 B --undo
expect_equal "no rule is left" "" "$(on B 'ip rule' | grep -v 'from all' || true)"
expect_equal "the sysctls are what they were" "$(grep -v 'ib0[./]000a' <<<"$before")" \
    "$(on B 'sysctl -a 2>/dev/null | grep "conf[./]ib"')"
