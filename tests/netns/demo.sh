#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A look at ib-hook working: two hosts with two NICs each in one subnet, before, with, and after it.
# They live in private network namespaces; nothing of this machine is touched, and no root is needed where user
# namespaces are allowed. It ends with one line that says what was seen, and fails if that was not seen.
cannot="The demonstration cannot run:"
. "$(dirname "$0")/lib.sh"
trap '[ $? = 0 ] || echo "The demonstration failed."' EXIT

green='' red='' bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    green=$'\e[32m' red=$'\e[31m' bold=$'\e[1m' plain=$'\e[0m'
fi

say() { printf '%s\n' "$@"; }
title() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

run() { # ARGUMENT…: ib-hook on host B, shown as it would be typed
    printf '  B# ib-hook %s\n' "$*"
    hook B "$@" 2>&1 | sed 's/^/     /'
}

# Which NIC really answers: for every pair of addresses, by which NIC A sent and at which NIC of B it arrived.
n_right=0
cell() { # TALLY, from stdin
    jq -r '"\(.out_iface) → \(.server_iface)  " + if .right == 5 then "right"
        elif .received == 0 then "lost"
        elif .first_wrong | contains("reply left by another") then "wrong way back" else "wrong" end'
}
show_matrix() {
    local i j text colour
    n_right=0
    forget A B
    echo '  A sends → B gets it  to 172.16.34.1 (ib0)    to 172.16.34.2 (ib1)'
    for i in 1 2; do
        printf '  from 172.16.16.%d     ' $i
        for j in 1 2; do
            text=$(flow_on A --from 172.16.16.$i --to 172.16.34.$j --expect-iface "ib$((i - 1))" \
                --expect-server "ib$((j - 1))" --count 5 | cell)
            colour=$red
            if [[ $text == *right ]]; then
                colour=$green
                n_right=$((n_right + 1))
            fi
            printf '%s%-26s%s' "$colour" "$text" "$plain"
        done
        echo
    done
}

make_hosts 2
serve A B
before=$(state B)

say "Host A has ib0 172.16.16.1 and ib1 172.16.16.2, host B has ib0 172.16.34.1 and ib1 172.16.34.2," \
    "all in 172.16.0.0/16 on one network."

title "1. Plain Linux"
show_matrix
on_ib0=$(arp_answers A ib0 172.16.16.1 B 172.16.34.1)
on_ib1=$(arp_answers A ib0 172.16.16.1 B 172.16.34.2)
say "  Who answers ARP for 172.16.34.1: $on_ib0. For 172.16.34.2: $on_ib1. The first to answer gets all the traffic," \
    "  and everything leaves through the first NIC: the second one is idle, and RDMA connections to it are rejected."
right_before=$n_right

title "2. B starts with ib-hook installed, as A has it already"
hook A --apply >/dev/null
ip -n B address del 172.16.34.2/16 dev ib1
say "  ib0 comes up, its event runs:"
run --apply
[ -z "$(our_rules B)" ] || fail "one NIC alone needs no rules" "$(our_rules B)"
say "  ib1 comes up, its event runs the same:"
ip -n B address add 172.16.34.2/16 dev ib1
run --apply

title "3. Afterwards"
show_matrix
right_after=$n_right
run --iface ib1 --check

title "4. And back"
run --undo
after=$(state B)
title "Seen"
[ "$right_before" -lt 4 ] || fail "before, some pairs should have been wrong"
[ "$right_after" = 4 ] || fail "with ib-hook, 4 of 4 pairs should have been right, got $right_after"
[ "$before" = "$after" ] || fail "--undo left something" "$(diff <(echo "$before") <(echo "$after") || true)"
say "  ${green}Without ib-hook $right_before of 4 pairs used their own NICs, with it 4 of 4; after --undo rules, routes and sysctls are byte for byte as before.$plain"
