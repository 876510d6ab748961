#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --undo in both families: rules, routes and sysctls are byte for byte what they were, with default routes, VIPs and a
# bridge, after moves and of one interface alone.
. "$(dirname "$0")/lib.sh"

make_hosts 2
for i in 1 2; do
    ip -n B address add fd00:16::34:$i/48 dev ib$((i - 1))
done
ip -n B address add fd00:99::9/128 dev ib1
ip -n B address add 172.16.99.9/32 dev ib1
ip -n B link add docker0 type bridge forward_delay 0
ip -n B address add 172.16.5.1/24 dev docker0
ip -n B address add fd00:16:0:5::1/64 dev docker0
ip -n B link set docker0 up
ip -n B route add default via 172.16.0.1 dev ib0
ip -n B -6 route add default via fd00:16::1 dev ib1
ip -n B route add 10.0.0.0/8 via 172.16.0.3 dev ib1
ip -n B -6 route add 2001:db8::/32 via fe80::1 dev ib0
ip -n B rule add from 172.16.34.1 lookup 100 priority 5000
ip -n B -6 rule add from fd00:16::34:1 lookup 941 priority 5000
ip -n B -6 route add fd00:20::/64 dev ib0 table 941 metric 77
wait_until 5 settled B
before=$(state B)

for config in '[defaults]' '[defaults]
arp=strict' '[interface ib1]
table=777
gateway=fd00:16::9'; do
    file=$(config "$config")
    what=${config//$'\n'/ }
    expect_hook 0 B --config "$file" --apply
    expect_differs "$what: the state after --apply" "$before" "$(state B)"
    expect_equal "$what: what was there is there" "$(grep -v '^[^ ]*/[a-z_]*:[0-9]' <<<"$before")" \
        "$(foreign_state B | grep -v '^[^ ]*/[a-z_]*:[0-9]')"
    applied=$(state B)
    expect_hook 0 B --config "$file" --apply --json
    expect_equal "$what: a second --apply changes nothing" false "$(json .changed)"
    expect_equal "$what: really nothing" "$applied" "$(state B)"
    expect_hook 0 B --config "$file" --undo
    expect_equal "$what: the state after --undo" "$before" "$(state B)"
done

# From one to the other, without an --undo between.
expect_hook 0 B --config "$(config '[interface ib0]
table=777')" --apply
expect_hook 0 B --apply
expect_hook 0 B --apply --json
expect_equal "tables moved: a second --apply changes nothing" false "$(json .changed)"
expect_lacks "nothing is left in the old table" "table 777" "$(state B)"
expect_hook 0 B --undo --iface ib1
expect_lacks "of ib1 nothing is left" "fd00:16::34:2 lookup" "$(state B)"
expect_contains "ib0 is as it was" "from fd00:16::34:1 lookup 943 suppress_ifgroup" "$(state B)"
expect_hook 0 B --undo
expect_equal "the state after both are undone" "$before" "$(state B)"
