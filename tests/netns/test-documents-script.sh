#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The hand-written script that people use, with the same tables, 941 and 942: whole, it needs no rules
# of ours beside it, and the ARP values make the rails right.
. "$(dirname "$0")/lib.sh"

script() { # TABLE TABLE
    ip -n B route del 172.16.0.0/16 dev ib0
    ip -n B route del 172.16.0.0/16 dev ib1
    ip -n B route add 172.16.0.0/16 dev ib0 proto kernel scope link src 172.16.34.1 table "$1"
    ip -n B route add 172.16.0.0/16 dev ib1 proto kernel scope link src 172.16.34.2 table "$2"
    ip -n B rule add from 172.16.34.1 table "$1"
    ip -n B rule add from 172.16.34.2 table "$2"
}

make_hosts 2
serve A B
script 941 942
before=$(state B)
expect_hook 0 A --apply
expect_matrix_wrong "after the script alone"
expect_hook 0 B --apply
expect_nothing_of_ours B
for i in 1 2; do
    expect_contains "the script's route in table 94$i stands" \
        "172.16.0.0/16 dev ib$((i - 1)) table 94$i proto kernel scope link src 172.16.34.$i"$'\n' "$(ip -n B route show table all | tidy)"$'\n'
    expect_contains "and its rule" "from 172.16.34.$i lookup 94$i"$'\n' "$(ip -n B rule | tidy)"$'\n'
done
expect_matrix_right "the script and --apply"
expect_hook 0 B --check --json
expect_equal "what the script left in the tables leads where ours do" "" \
    "$(json '.findings[] | select(.code == "foreign-table") | .code')"
expect_hook 0 B --apply --json
expect_equal "nothing is left to do" false "$(json .changed)"
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"
