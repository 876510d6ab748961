#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A NIC that is no longer a rail forgets what it learned by ARP, or it would go on asking peers and win them back. What
# somebody entered, or a control plane keeps, is theirs.
. "$(dirname "$0")/lib.sh"

make_hosts 2

neighbours() { # of ib1: addresses and what is special about them, without what ARP makes of them
    ip -n B neigh show dev ib1 nud all | grep '^172\.16\.99\.' | sort |
        sed 's/ *lladdr [0-9a-f:]*//; s/ *\(INCOMPLETE\|REACHABLE\|STALE\|DELAY\|PROBE\|FAILED\) *$//' || true
}

enter() { # LAST-BYTE OPTION…
    ip -n B neigh add "172.16.99.$1" lladdr 02:00:00:00:99:01 dev ib1 "${@:2}" 2>/dev/null
}

# round WHAT ARGUMENT…: from standing rails
round() {
    local theirs
    expect_hook 0 B --apply
    enter 1 nud permanent
    enter 2 nud noarp
    enter 3 nud reachable extern_learn
    enter 4 nud stale extern_learn
    enter 5 nud permanent extern_learn
    enter 6 managed || echo "# no managed entries here"
    theirs=$(neighbours)
    expect_contains "$1: there are some" extern_learn "$theirs"
    enter 8 nud reachable
    enter 9 nud stale
    expect_hook 0 B "${@:2}"
    # Alone, ib1 answers for its addresses again: what it learned may stay.
    [ "$1" = "--undo" ] || for n in 8 9; do ip -n B neigh del "172.16.99.$n" dev ib1; done
    expect_equal "$1: what is left of ib1's neighbours" "$theirs" "$(neighbours)"
    hook B --undo >/dev/null
    expect_equal "$1: after a whole --undo, too" "$theirs" "$(neighbours)"
    ip -n B neigh flush dev ib1 nud all
    wait_until 5 forgotten
}

forgotten() {
    local i
    for i in 1 2 3 4 5 6; do ip -n B neigh del "172.16.99.$i" dev ib1 2>/dev/null || true; done
    [ -z "$(neighbours)" ]
}

round "--undo" --undo
round "--undo --iface ib1" --undo --iface ib1
round "manage=no" --apply --config "$(config '[interface ib1]
manage=no')"
