#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Eight NICs that come up in any order, with --apply run in between, twice, for one interface, while links flap:
# the end state is always the same, but for automatic numbers of tables. IBH_SEED repeats a run.
. "$(dirname "$0")/lib.sh"

seed=${IBH_SEED:-$((SRANDOM % 100000))}
echo "# IBH_SEED=$seed"
RANDOM=$seed
names=(ib0 ib1 ib2 ib3 ib4 ib5 ib6 ib7)
make_wire

routing() { # without the order in which things came, and without numbers of tables, which may depend on it
    local numbers="" nic table
    while read -r nic table; do numbers+="s/\\(table\\|lookup\\) $table /\\1 of $nic /;"; done < <(
        ip -n B route show table all | sed -n "s/.* dev \(ib[0-9]*\) table \([0-9]*\) .* metric $MARK.*/\1 \2/p")
    { ip -n B -d rule; ip -n B route show table all; } | sed "$numbers" | tidy
    on B sh -c "cd $CONF && grep . ib*/rp_filter ib*/arp_*"
}

shuffle() { # into `order`; no subshell, which would have random numbers of its own
    local i j one
    for ((i = ${#order[@]} - 1; i > 0; i--)); do
        j=$((RANDOM % (i + 1)))
        one=${order[i]} order[i]=${order[j]} order[j]=$one
    done
}

apply() { # ARGUMENT…
    echo "# --apply $*"
    hook B --apply "$@" >/dev/null || fail "ib-hook --apply $* exits 0"
}

come() { # NIC: it appears with its address
    add_nic B "$1" "${1#ib}" "172.16.34.$((${1#ib} + 1))/16"
}

disturb() { # NIC: something happens to it, or a hook runs
    case $((RANDOM % 6)) in
        0 | 1) apply ;;
        2) apply --iface "$1" ;;
        3) ip -n B link set "$1" down && ip -n B link set "$1" up ;;
        4)
            ip -n B address del "172.16.34.$((${1#ib} + 1))/16" dev "$1"
            [ $((RANDOM % 2)) = 0 ] || apply
            ip -n B address add "172.16.34.$((${1#ib} + 1))/16" dev "$1"
            ;;
        5) ;;
    esac
}

unplugged() {
    [ -z "$(ip -n wire -o link show type veth)" ]
}

reference=
for round in in-order 1 2 3; do
    new_host B
    rdma B "${names[@]}"
    order=("${names[@]}")
    [ $round = in-order ] || shuffle
    present=()
    echo "# ${order[*]}"
    for nic in "${order[@]}"; do
        come "$nic"
        present+=("$nic")
        [ $round = in-order ] || disturb "${present[RANDOM % ${#present[@]}]}"
    done
    expect_hook 0 B --apply
    expect_hook 0 B --apply --json
    expect_equal "$round: nothing is left to do" false "$(json .changed)"
    if [ $round = in-order ]; then
        reference=$(routing)
        expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2 ib2:943:172.16.34.3 ib3:944:172.16.34.4 \
            ib4:945:172.16.34.5 ib5:946:172.16.34.6 ib6:947:172.16.34.7 ib7:948:172.16.34.8
    fi
    expect_equal "order ${order[*]}, seed $seed" "$reference" "$(routing)"
    ip netns delete B
    wait_until 5 unplugged
done
