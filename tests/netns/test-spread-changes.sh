#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# main=spread follows what happens to the rails: carrier lost and back, links down and up (one, all), other addresses,
# one rail undone. Runs for one interface leave it alone.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
spread=$(config '[defaults]
main=spread')
table() { ip -n B route show table 940 2>/dev/null || true; } # there is none before the first route
hops() { table | tr -s '\n\t ' ' ' | sed 's/ weight 1//g; s/ *$//'; }
by() { # NIC…: the route as it should be
    local nic text="${subnet:-172.16.0.0/16} proto kernel scope link metric $MARK"
    for nic in "$@"; do text+=" nexthop dev $nic"; done
    echo "$text"
}
rule() { our_rules B | grep -c ' lookup 940 ' || true; }
used() { # the rails that 20 peers of unbound traffic leave by; each with an address of its own
    local i dev source
    for i in {1..20}; do
        read -r dev source < <(ip -n B -j route get "${net:-172.16}.16.$i" | jq -r '.[0] | "\(.dev) \(.prefsrc)"')
        [ -n "$(ip -n B -4 address show dev "$dev" to "$source")" ] || fail "to $i: $source is no address of $dev"
        echo "$dev"
    done | sort -u | xargs
}
run() { # and once more, which has nothing to do
    expect_hook 0 B --config "$spread" --apply
    expect_hook 0 B --config "$spread" --apply --json
    expect_equal "a second run has nothing to do" false "$(json .changed)"
}

# Interfaces by name: neither built nor taken.
expect_hook 0 B --config "$spread" --apply --iface ib1
expect_equal "--iface ib1 does not spread" "" "$(hops)"
expect_equal "nor adds the rule" 0 "$(rule)"
run
expect_equal "all three" "$(by ib0 ib1 ib2)" "$(hops)"
applied=$(state B)
expect_hook 0 B --apply --iface ib1
expect_equal "--iface ib1 without main=spread does not take it" "$applied" "$(state B)"

# The cable.
carrier() { [ "$(on B cat /sys/class/net/"$1"/carrier)" = "$2" ]; }
no_carrier() { [[ $(ip -n B link show "$1") == *NO-CARRIER* ]]; }
ip -n wire link set B.1 down
wait_until 5 no_carrier ib1
run
expect_equal "ib1 without carrier is left out" "$(by ib0 ib2)" "$(hops)"
expect_equal "and carries nothing" "ib0 ib2" "$(used)"
ip -n wire link set B.2 down
wait_until 5 no_carrier ib2
run
expect_equal "one alone is not spread" "" "$(hops)"
expect_equal "without the rule" 0 "$(rule)"
for i in 1 2; do ip -n wire link set B.$i up; done
wait_until 5 settled B
run
expect_equal "both are back" "$applied" "$(state B)"
expect_equal "and carry" "ib0 ib1 ib2" "$(used)"

# Links down and up.
for nics in ib1 ib0 "ib1 ib2" "ib0 ib1 ib2"; do
    for nic in $nics; do ip -n B link set "$nic" down; done
    for nic in $nics; do ip -n B link set "$nic" up; done
    wait_until 5 settled B
    run
    expect_equal "$nics down and up" "$(tidy <<<"$applied")" "$(state B | tidy)"
    expect_equal "$nics down and up: used" "ib0 ib1 ib2" "$(used)"
done
ip -n B link set ib1 down
run
expect_equal "ib1 down is left out" "$(by ib0 ib2)" "$(hops)"
ip -n B link set ib1 up
wait_until 5 settled B
run
expect_equal "up again" "$(by ib0 ib1 ib2)" "$(hops)"

# An address goes and comes back: the kernel leaves a dead nexthop behind.
ip -n B address del 172.16.34.2/16 dev ib1
expect_contains "what the kernel leaves" dead "$(table)"
run
expect_equal "without ib1" "$(by ib0 ib2)" "$(hops)"
ip -n B address add 172.16.34.2/16 dev ib1
run
expect_equal "and with it" "$(by ib0 ib1 ib2)" "$(hops)"
ip -n B address del 172.16.34.2/16 dev ib1
ip -n B address add 172.16.34.2/16 dev ib1
run
expect_equal "it is back at once" "$(by ib0 ib1 ib2)" "$(hops)"
expect_equal "and used" "ib0 ib1 ib2" "$(used)"

# Another address instead: the kernel's nexthop would leave with a source of another subnet.
ip -n B address del 172.16.34.2/16 dev ib1
ip -n B address add 10.66.0.2/24 dev ib1
run
expect_equal "without ib1, which is of another subnet now" "$(by ib0 ib2)" "$(hops)"
ip -n B address add 172.16.34.2/16 dev ib1
run
expect_equal "its first address is still that" "$(by ib0 ib2)" "$(hops)"
expect_equal "its second one is served by ib1 nevertheless" ib1 \
    "$(ip -n B -j route get 172.16.16.1 from 172.16.34.2 | jq -r '.[0].dev')"
ip -n B address del 10.66.0.2/24 dev ib1
run
expect_equal "with ib1" "$(by ib0 ib1 ib2)" "$(hops)"
expect_equal "and used again" "ib0 ib1 ib2" "$(used)"

# Renumbering: all of them.
for i in 0 1 2; do
    ip -n B address del "172.16.34.$((i + 1))/16" dev "ib$i"
    ip -n B address add "172.17.34.$((i + 1))/16" dev "ib$i"
done
run
expect_equal "the new subnet" "$(subnet=172.17.0.0/16 by ib0 ib1 ib2)" "$(hops)"
expect_equal "is spread" "ib0 ib1 ib2" "$(net=172.17 used)"

# Of three, one undone: it is no rail any more and has the prefix.
expect_hook 0 B --config "$spread" --undo --iface ib1
expect_equal "spread ends" "" "$(hops)"
expect_equal "with its rule" 0 "$(rule)"
expect_equal "the other rails stand" "1941: from 172.17.34.1
1941: from 172.17.34.3" "$(own_rules B | cut -d ' ' -f 1-3)"
expect_hook 0 B --config "$spread" --undo
expect_nothing_of_ours B
