#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# main-error-route: an unreachable, blackhole or prohibit default in main comes before the gateway in a rail's table,
# and nothing suppresses it. Without a gateway of the rail there is nothing that it could hide.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
fd6() { for i in 0 1; do ip -n B address add "fd00:16::34:$((i + 1))/64" dev "ib$i" nodad; done; }

# expect_error WHAT IFACE…: --check finds it on these rails, and nothing else
expect_error() {
    expect_hook 1 B --check --json
    expect_equal "$1: found" "$(printf '%s error main-error-route\n' "${@:2}")" \
        "$(json '.findings[] | select(.severity != "info") | select(.code == "main-error-route") | "\(.ifaces | join("+")) \(.severity) \(.code)"')"
}
expect_none() {
    expect_hook 0 B --check --json
    expect_equal "$1: nothing found" "" "$(json '.findings[] | select(.code == "main-error-route") | .ifaces[]')"
}
types="unreachable blackhole prohibit"

expect_hook 0 B --apply
for type in $types; do
    ip -n B route add "$type" default metric 4000000
    expect_none "$type, where no rail has a gateway"
    ip -n B route del "$type" default metric 4000000
done

ip -n B route add default via 172.16.0.1 dev ib0 metric 5000000
expect_hook 0 B --apply
expect_none "a gateway, no error route"
for type in $types; do
    ip -n B route add "$type" default metric 4000000
    applied=$(state B)
    expect_hook 1 B --check
    expect_contains "$type: in words" "main has a default route that is an error" "$out"
    expect_error "$type" ib0 ib1
    expect_equal "$type: --check changes nothing" "$applied" "$(state B)"
    expect_hook 1 B --check --iface ib1 --json
    expect_equal "$type: of ib1 alone" ib1 "$(json '[.findings[] | select(.code == "main-error-route") | .ifaces[]] | unique[]')"
    expect_differs "$type: the kernel refuses indeed" 0 \
        "$(ip -n B route get 8.8.8.8 from 172.16.34.1 >/dev/null 2>&1 && echo 0 || echo refused)"
    ip -n B route del "$type" default metric 4000000
done

# An error route that is no default hides no gateway.
ip -n B route add unreachable 10.0.0.0/8
expect_none "unreachable 10.0.0.0/8"
ip -n B route del unreachable 10.0.0.0/8

# IPv6: of its own family only; the kernel's own unreachable (metric 4294967295) is none.
fd6
ip -n B -6 route add default via fd00:16::1 dev ib0 metric 5000
expect_hook 0 B --apply
expect_none "IPv6: a gateway, no error route"
ip -n B -6 route add unreachable default metric 4000
expect_error "IPv6" ib0 ib1
ip -n B -6 route del unreachable default metric 4000
expect_none "IPv6: cured"

# Main lacks the rails' subnet, and refuses what it lacks: the rule that asks it first gets that answer. The fix cures.
expect_hook 0 B --undo
for type in $types; do
    expect_hook 0 B --apply
    for i in 0 1; do ip -n B route del 172.16.0.0/16 dev ib$i; done
    ip -n B route add "$type" 172.0.0.0/8
    expect_hook 1 B --check --json
    expect_equal "$type around the subnet: named" "ib0 main-error-route ib1 main-error-route" \
        "$(json '[.findings[] | select(.severity == "error") | .ifaces[], .code] | join(" ")')"
    fix=$(json 'first(.findings[] | select(.code == "main-error-route") | .fix)')
    on B bash -c "$fix" || fail "$type: its fix" "$fix"
    expect_equal "$type: the fix cures" "ib1" \
        "$(ip -n B route get 172.16.0.1 from 172.16.34.2 | sed -nE 's/.* dev ([^ ]+) .*/\1/p')"
    expect_hook 0 B --undo
    for i in 0 1; do ip -n B route append 172.16.0.0/16 dev ib$i src 172.16.34.$((i + 1)) proto kernel scope link; done
done
