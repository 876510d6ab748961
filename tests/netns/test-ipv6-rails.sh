#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# IPv6: of two hosts with two NICs each, every pair of addresses uses its own two NICs, there and back; beside IPv4 and
# without it.
. "$(dirname "$0")/lib.sh"

address6() { # HOST N
    echo "fd00:16::$(host_id "$1"):$2"
}

counted() { # HOST → packets in and out of each NIC
    local nic
    for nic in ib0 ib1; do
        ip -n "$1" -s -j link show "$nic" | jq -r '.[0].stats64 | "\(.rx.packets) \(.tx.packets)"'
    done | xargs
}

busy() { # BEFORE AFTER → the NICs that 20 packets came in through and went out by: "ib0 ib1"
    local b0 b1 b2 b3 a0 a1 a2 a3 in="" out=""
    read -r b0 b1 b2 b3 <<<"$1"
    read -r a0 a1 a2 a3 <<<"$2"
    [ $((a0 - b0)) -lt 20 ] || in+=ib0
    [ $((a2 - b2)) -lt 20 ] || in+=ib1
    [ $((a1 - b1)) -lt 20 ] || out+=ib0
    [ $((a3 - b3)) -lt 20 ] || out+=ib1
    echo "${in:-none} ${out:-none}"
}

# way HOST I PEER J → of 20 echoes: "asked out by ib0, in by ib1; answered out by ib1, in by ib0"
way() {
    local from to here there in_here out_here in_there out_there
    from=$(address6 "$1" "$2") to=$(address6 "$3" "$4")
    forget A B
    on "$1" ping -6 -q -n -c 1 -W 1 -I "$from" "$to" >/dev/null || true
    here=$(counted "$1") there=$(counted "$3")
    on "$1" ping -6 -q -n -c 20 -i 0.002 -W 1 -I "$from" "$to" >/dev/null || true
    read -r in_here out_here <<<"$(busy "$here" "$(counted "$1")")"
    read -r in_there out_there <<<"$(busy "$there" "$(counted "$3")")"
    echo "asked out by $out_here, in by $in_there; answered out by $out_there, in by $in_here"
}

# right_way I J → what way says of a pair that uses its own NICs
right_way() {
    echo "asked out by ib$(($1 - 1)), in by ib$(($2 - 1)); answered out by ib$(($2 - 1)), in by ib$(($1 - 1))"
}

wrong6() { # the pairs that do not
    local here there i j got
    for here in A B; do
        [ $here = A ] && there=B || there=A
        for i in 1 2; do
            for j in 1 2; do
                got=$(way $here $i $there $j)
                [ "$got" = "$(right_way $i $j)" ] || echo "$(address6 $here $i) $(address6 $there $j): $got"
            done
        done
    done
}

make_hosts 2
serve A B
for host in A B; do
    for i in 1 2; do ip -n $host address add "$(address6 $host $i)/64" dev ib$((i - 1)); done
    wait_until 5 settled $host
done

expect_differs "before: B's second address does not use its NIC" "$(right_way 2 1)" "$(way B 2 A 1)"
expect_hook 0 A --apply
expect_hook 0 B --apply
expect_equal "every pair uses its NICs, there and back" "" "$(wrong6)"
for j in 1 2; do
    on A ping -6 -q -n -c 1 -W 1 "$(address6 B $j)" >/dev/null
    expect_equal "unbound, B's address $j is learned from its NIC" ib$((j - 1)) \
        "$(learned A "$(address6 B $j)" B | sed 's/.* to //' | sort -u)"
done
expect_hook 0 B --check
expect_matrix_right "IPv4 beside it"

for i in 0 1; do ip -n B -4 address flush dev ib$i scope global; done
expect_hook 0 B --apply --iface ib0 --iface ib1 # by name: they shall have no IPv4
expect_equal "without IPv4 on B: no rule of ours in it" "" "$(our_rules B)"
expect_equal "without IPv4 on B: every pair uses its NICs" "" "$(wrong6)"
expect_hook 0 B --check
expect_hook 0 B --apply --json
expect_equal "a second --apply changes nothing" false "$(json .changed)"
