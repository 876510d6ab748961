#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# main=spread: unbound traffic uses every rail, with the source that belongs to it; main is not touched; what is bound
# stays where it belongs; switching it off and undoing it leave nothing.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
spread=$(config '[defaults]
main=spread')
add_nic_of_peers() { # many peers behind one NIC
    local i
    new_host A
    add_nic A ib0 0 172.16.16.1/16
    for ((i = 2; i <= 20; i++)); do ip -n A address add "172.16.16.$i/16" dev ib0; done
    wait_until 5 settled A
}
add_nic_of_peers

main_routes() { ip -n B -d route show table main; }
# by_peer: "DEVICE SOURCE" of each of 20 peers, as the kernel answers
by_peer() {
    local i
    for ((i = 1; i <= 20; i++)); do
        ip -n B -j route get "172.16.16.$i" | jq -r '.[0] | "\(.dev) \(.prefsrc)"'
    done
}
received() { # NIC of B: packets of ICMP that the wire took from it
    ip -n wire -j -s link show "B.$1" | jq '.[0].stats64.rx.packets'
}

before=$(state B)
main=$(main_routes)
expect_equal "before: all of it leaves through one rail" "ib0 172.16.34.1" "$(by_peer | sort -u)"
expect_hook 0 B --config "$spread" --plan
expect_contains "--plan says it" "ip -4 rule add priority 4941 from 0.0.0.0 to 172.16.0.0/16 lookup 940" "$out"
expect_equal "--plan changes nothing" "$before" "$(state B)"

expect_hook 0 B --config "$spread" --apply
applied=$(state B)
expect_equal "main, byte for byte" "$main" "$(main_routes)"
expect_contains "the rule" "4941: from 0.0.0.0 to 172.16.0.0/16 lookup 940 suppress_ifgroup $MARK proto kernel" "$(our_rules B)"
expect_equal "the route" "172.16.0.0/16 proto kernel scope link metric $MARK nexthop dev ib0 weight 1 nexthop dev ib1 weight 1 nexthop dev ib2 weight 1" \
    "$(ip -n B route show table 940 | tr -s '\n\t ' ' ' | sed 's/ *$//')"
expect_equal "each rail is used, each with its own address" "ib0 172.16.34.1
ib1 172.16.34.2
ib2 172.16.34.3" "$(by_peer | sort -u)"
for i in 1 2 3; do
    expect_equal "172.16.34.$i leaves through its own rail" ib$((i - 1)) \
        "$(ip -n B -j route get 172.16.16.7 from 172.16.34.$i | jq -r '.[0].dev')"
done
expect_hook 0 B --config "$spread" --check
expect_hook 0 B --config "$spread" --check --json
expect_equal "--check --json says which mode" "spread spread spread" "$(json '.rails[].main' | xargs)"
expect_hook 0 B --config "$spread" --show
expect_contains "--show says by what" "fib_multipath_hash_policy=0" "$out"
expect_hook 0 B --config "$spread" --apply --json
expect_equal "a second run has nothing to do" "false 0" "$(json '"\(.changed) \(.operations | length)"')"
expect_equal "and changes nothing" "$applied" "$(state B)"

# A later rule of the administrator for a part of the subnet: main keeps the subnet, so that the rule is asked.
ip -n B route add default dev ib2 table 100
for selector in "" "iif lo"; do
    read -ra words <<<"$selector"
    ip -n B rule add priority 5000 to 172.16.16.0/24 "${words[@]}" lookup 100
    expect_hook 0 B --config "$spread" --apply
    expect_equal "a rule for a part${selector:+ ($selector)} keeps its traffic" "ib2" "$(by_peer | cut -d' ' -f1 | sort -u)"
    ip -n B rule del priority 5000
done
ip -n B route flush table 100
expect_hook 0 B --config "$spread" --apply
expect_equal "without it, the subnet is spread again" "$applied" "$(state B)"

# Real packets.
counts=()
for i in 0 1 2; do counts+=("$(received $i)"); done
for ((i = 1; i <= 20; i++)); do
    on B ping -q -n -c 3 -i 0.01 -W 2 "172.16.16.$i" >$work/ping.$i &
    pids[i]=$!
done
for ((i = 1; i <= 20; i++)); do
    wait "${pids[i]}" || fail "172.16.16.$i answers an unbound ping" "$(<$work/ping.$i)"
done
ok "20 peers answer unbound pings"
for i in 0 1 2; do
    expect_at_least "ib$i carried echo requests of its own peers" \
        "$((3 * $(by_peer | grep -c "^ib$i ")))" "$(($(received $i) - counts[i]))"
done

# Switched off: the rules before the route.
expect_hook 0 B --apply --json
expect_equal "the operations" "rule-del rule-del route-del" "$(json '[.operations[].op] | join(" ")')"
expect_equal "main, byte for byte" "$main" "$(main_routes)"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2 ib2:943:172.16.34.3
expect_hook 0 B --check

# What is missing or in excess is found, and its fix can be pasted.
expect_hook 0 B --config "$spread" --apply
ip -n B rule del priority 4941 lookup 940 suppress_ifgroup $MARK
expect_hook 1 B --config "$spread" --check --json
expect_equal "the missing rule, and what happens" "warning rule-missing traffic without a source address to 172.16.0.0/16 leaves through ib0" \
    "$(json '.findings[] | select(.severity != "info") | "\(.severity) \(.code) \(.message | split(":")[0])"')"
expect_equal "what cures" "sudo ib-hook --apply" "$(json '.findings[] | select(.code == "rule-missing") | .fix')"
expect_hook 0 B --config "$spread" --apply
expect_equal "cured by its fix" "$applied" "$(state B)"
ip -n B route flush table 940
expect_hook 1 B --config "$spread" --check --json
expect_equal "the missing route" "warning route-missing" "$(json '.findings[] | select(.severity != "info") | "\(.severity) \(.code)"')"
expect_equal "what cures" "sudo ib-hook --apply" "$(json '.findings[] | select(.code == "route-missing") | .fix')"
expect_hook 0 B --config "$spread" --apply
expect_equal "cured by its fix" "$applied" "$(state B)"
none=$work/none.conf
cp /dev/null $none
expect_hook 1 B --config $none --check --json
expect_equal "without main=spread it is left over" stale \
    "$(json '[.findings[] | select(.code == "stale") | .code] | unique[]')"

expect_hook 0 B --config "$spread" --undo
expect_equal "the state after --undo" "$before" "$(state B)"

# Cables are pulled one by one, that of main's NIC first: what is left carries all, also the last one. They come back.
system_config "[defaults]
main=spread"
journal_start
expect_hook 0 B --apply
carrier() { # NIC: on, off
    ip -n wire link set "B.${1#ib}" "$([ "$2" = on ] && echo up || echo down)"
    wait_until 5 carrier_is "$1" "$2"
    manager_calls B "$HOOKS/nm-dispatcher" "$1" "$([ "$2" = on ] && echo up || echo down)"
}
carrier_is() { [ "$(ip -n B link show "$1" | grep -q NO-CARRIER && echo off || echo on)" = "$2" ]; }
answer() { # how many of 20 peers
    local i
    ip -n B neigh flush all
    for ((i = 1; i <= 20; i++)); do on B ping -q -n -c 1 -W 2 "172.16.16.$i" >/dev/null && echo "$i" & done | wc -l
}
both=$'ib1 172.16.34.2\nib2 172.16.34.3'
carrier ib0 off
expect_equal "two cables: the rails that are used" "$both" "$(by_peer | sort -u)"
expect_equal "two cables: peers that answer" 20 "$(answer)"
carrier ib1 off
expect_equal "one cable: the rail that is used" "ib2 172.16.34.3" "$(by_peer | sort -u)"
expect_equal "one cable: peers that answer" 20 "$(answer)"
carrier ib1 on
expect_equal "two cables again: the rails that are used" "$both" "$(by_peer | sort -u)"
carrier ib0 on
expect_equal "all cables: as before" "$applied" "$(state B)"
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"
rm -r /etc/ib-hook /run/ib-hook

# --undo needs no configuration that says so.
expect_hook 0 B --config "$spread" --apply
expect_hook 0 B --undo
expect_equal "the state after --undo without the configuration" "$before" "$(state B)"

# --undo of one NIC, while another subnet's spread loses a rail: its route gets the hops that are left. Memory that is free
# already reads as garbage.
new_host D
for i in 0 1; do add_nic D ib$i $i 10.9.0.$((i + 1))/24; done
for i in 2 3 4; do add_nic D ib$i $i 10.10.0.$((i + 1))/24; done
rdma D ib0 ib1 ib2 ib3 ib4
wait_until 5 settled D
expect_hook 0 D --config "$spread" --apply
ip -n wire link set D.4 down
no_carrier() { ip -n D link show ib4 | grep -q NO-CARRIER; }
wait_until 5 no_carrier
MALLOC_PERTURB_=165 expect_hook 0 D --config "$spread" --undo --iface ib0
expect_equal "the others are left" "10.10.0.0/24 proto kernel scope link metric $MARK nexthop dev ib2 weight 1 nexthop dev ib3 weight 1" \
    "$(ip -n D route show table 940 | tr -s '\n\t ' ' ' | sed 's/ *$//')"
