#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 64 rails with 8 addresses each, in four subnets: every action takes less than 5 seconds (hooks have 10), and --undo leaves
# nothing. So does --check beside 30 rules by hand and 3,000 addresses of services.
. "$(dirname "$0")/../netns/lib.sh"

make_wire
new_host B
nics=()
for i in {0..63}; do
    nics+=("ib$i")
    echo "link add B.$i type veth peer name ib$i address $(mac B "$i") netns B"
done >$work/wire
for i in {0..63}; do
    echo "link set B.$i master br0 up"
done >>$work/wire
for i in {0..63}; do
    for subnet in {16..19}; do
        echo "address add 172.$subnet.34.$((i + 1))/16 dev ib$i"
        echo "address add 172.$subnet.35.$((i + 1))/16 dev ib$i"
    done
    echo "link set ib$i up"
done >$work/host
ip -n wire -batch $work/wire
ip -n B -batch $work/host
rdma B "${nics[@]}"
wait_until 10 settled B
before=$(state B)

quick() { # ARGUMENT…
    quick_status 0 "$@"
}

quick_status() { # STATUS ARGUMENT…
    local start=$EPOCHREALTIME ms
    expect_hook "$1" B "${@:2}"
    shift
    ms=$(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))
    [ $ms -lt 5000 ] || fail "$*: expected less than 5 s, took $ms ms"
    ok "$*: $ms ms"
}

quick --apply
expect_equal "rules: a pair for each address and subnet" 2048 "$(own_rules B | wc -l)"
expect_equal "routes" 256 "$(our_routes B | wc -l)"
expect_equal "the last rail's route" "$(route_line 172.19.0.0/16 ib63 1004 172.19.34.64)" \
    "$(our_routes B | grep '172.19.0.0/16 dev ib63 ')"
quick --check
quick --show
quick --apply --json
expect_equal "nothing is left to do" false "$(json .changed)"
quick --undo --iface ib63
expect_equal "rules without ib63's" 2016 "$(own_rules B | wc -l)"
quick --apply
quick --undo
expect_equal "the state after --undo" "$before" "$(state B)"

for i in {0..29}; do
    echo "rule add from 172.16.34.$((i + 1)) to 172.16.16.0/24 lookup $((3000 + i)) priority 100"
    echo "route add 172.16.16.0/24 dev ib$((63 - i)) table $((3000 + i))"
done >$work/hand
ip -n B link add kube0 type bridge
for i in {0..2999}; do echo "address add 10.96.$((i / 250)).$((i % 250 + 1))/32 dev kube0"; done >$work/services
ip -n B -batch $work/hand
ip -n B -batch $work/services
quick --apply
quick_status 1 --check
expect_contains "it names a rule" "rule 100 (from 172.16.34.1/32 to 172.16.16.0/24 lookup 3000)" "$out"
