#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Routed rails: four NICs in each of two hosts, each with a subnet of its own, a /31, and a router between (a namespace of A
# with a NIC of its own). gateway=peer and remote= route them with one file for both hosts: RDMA of each of the 16 pairs goes
# by its own two NICs, and so does TCP.
. "$(dirname "$0")/lib.sh"

declare -A number=([A]=1 [B]=2)
address() { # HOST N
    echo "10.${number[$1]}.$2.1"
}

FLOW=${FLOW:-$IBH_BUILD/flow} # a TCP client that names its source
[ -x "$FLOW" ] || fail "there is no $FLOW: run make tools"
vm_start A 5 "file=$FLOW:/usr/bin/flow"
vm_start B 4 "file=$FLOW:/usr/bin/flow"
gateways=
for host in A B; do
    script=$no_dad
    for i in 0 1 2 3; do
        gateways+="ip -n router address add 10.${number[$host]}.$i.0/31 dev r0 && "
        script+="
            ip address add $(address $host $i)/31 dev ib$i && ip link set ib$i up &&
            rdma link add rxe$i type rxe netdev ib$i || exit 1"
    done
    vm $host "$script"
done
vm A "ip netns add router && ip link set ib4 netns router name r0 && ip -n router link set r0 up &&
    $gateways ip netns exec router sh -c '
        echo 1 >/proc/sys/net/ipv4/ip_forward
        echo 0 >$CONF/all/send_redirects && echo 0 >$CONF/r0/send_redirects'"

for host in A B; do
    expect_hook 0 $host --apply --json
    expect_equal "$host: without the configuration nothing changes" false "$(json .changed)"
done
ip_ping 1 2
expect_equal "and nothing gets there" "none>none" "$way"
for host in A B; do
    config $host '[interface ib*]' manage=yes gateway=peer remote=10.0.0.0/8
    expect_hook 0 $host --apply
    expect_rails $host ib0 ib1 ib2 ib3
done

rping_serve 4
vm B 'flow serve --seconds 60 >/dev/null 2>&1 &'
for i in 0 1 2 3; do
    script=$counters_script tcp=$frames_script
    for j in 0 1 2 3; do
        script+="ping -q -c 1 -W 1 -I $(address A $i) $(address B $j) >/dev/null
            timeout 20 rping -c -I $(address A $i) -a $(address B $j) -p 9401 -C 10 -v;"
        tcp+="flow hold --from $(address A $i) --to $(address B $j) --seconds 1 && echo held;"
    done
    b=$(counters B)
    a=$(vm A "$script $counters_script")
    b+=$'\n'$(counters B)
    expect_equal "RDMA from A's NIC $i to each of B's comes through" 4 "$(grep -c 'ping data: rdma-ping-9' <<<"$a" || true)"
    # One rping is 62 packets each way.
    expect_equal "all of it goes by ib$i of A, and a quarter by each NIC of B" "ib$i ib0,ib1,ib2,ib3 none" \
        "$(used 40 "$(grep '^counter ' <<<"$a")") $(used 50 "$b") $(used 90 "$b")"
    b=$(vm B "$frames_script")
    a=$(vm A "$tcp $frames_script")
    b+=$'\n'$(vm B "$frames_script")
    expect_equal "TCP from A's NIC $i to each of B's comes through" 4 "$(grep -c '^held$' <<<"$a" || true)"
    expect_equal "by ib$i of A, and a quarter by each NIC of B" "ib$i ib0,ib1,ib2,ib3" \
        "$(used 60 "$(grep '^counter ' <<<"$a")") $(used 20 "$b")"
done

for host in A B; do expect_hook 0 $host --undo; done
ip_ping 1 2
expect_equal "after --undo nothing gets there, as before" "none>none" "$way"
