#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# main=remove: the rails' connected routes leave main, stay out when the kernel or a manager puts them back, and return
# by --undo, by another main=, or when main needs them for a gateway. The administrator's other routes are nobody's matter.
. "$(dirname "$0")/lib.sh"

make_hosts 2
rails_by_hand A 2
connected() { ip -n B route show proto kernel 172.16.0.0/16 | tidy; }
file=$(config "[defaults]
main=remove")
ip -n B route add 10.9.0.0/16 dev ib0
before=$(state B | tidy)
both=$(connected)

expect_hook 0 B --config "$file" --apply
expect_equal "no connected route of a rail is left in main" "" "$(connected)"
expect_contains "the administrator's own stays" "10.9.0.0/16 dev ib0" "$(ip -n B route)"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
on B ping -q -c 1 -W 2 -I 172.16.34.2 172.16.16.1 >/dev/null || fail "what is bound to a rail gets through"
! on B ping -q -c 1 -W 1 172.16.16.1 >/dev/null 2>&1 || fail "what is not bound finds no way"
expect_hook 0 B --config "$file" --check
expect_hook 0 B --config "$file" --plan --json
expect_equal "a second run has nothing to do" false "$(json .changed)"

# The kernel restores it when the link comes back, a manager with a metric of its own.
ip -n B link set ib1 down
ip -n B link set ib1 up
wait_until 5 settled B
ip -n B route append 172.16.0.0/16 dev ib0 proto kernel scope link src 172.16.34.1 metric 150
expect_contains "the kernel put it back" "dev ib1" "$(connected)"
expect_hook 1 B --config "$file" --check --json
expect_equal "--check finds both" 2 "$(json '[.findings[] | select(.code == "route-wrong")] | length')"
expect_hook 0 B --config "$file" --apply
expect_equal "both are gone again" "" "$(connected)"

# Refused while main has a gateway there: what was taken comes back, and leaves when the gateway does.
ip -n B route add 10.8.0.0/16 via 172.16.16.1 dev ib0 onlink
expect_hook 0 B --config "$file" --apply
expect_contains "with a gateway ib0's is there" "dev ib0" "$(connected)"
expect_contains "with a gateway ib1's is there" "dev ib1" "$(connected)"
ip -n B route del 10.8.0.0/16
expect_hook 0 B --config "$file" --apply
expect_equal "without it they are gone" "" "$(connected)"

# One at a time.
expect_hook 0 B --config "$file" --undo --iface ib1
expect_contains "ib1's is back" "dev ib1" "$(connected)"
expect_lacks "ib0's is not" "dev ib0" "$(connected)"
expect_hook 0 B --config "$file" --apply
expect_equal "and gone again" "" "$(connected)"

# Another main= gives them back, and so does --undo; the route with metric 150 was there, too.
expect_hook 0 B --apply
with_150=$(printf '%s\n172.16.0.0/16 dev ib0 scope link src 172.16.34.1 metric 150\n' "$both" | tidy)
expect_equal "main=keep: all of them" "$with_150" "$(connected)"
expect_hook 0 B --config "$file" --apply
expect_hook 0 B --config "$file" --undo
expect_equal "--undo: all of them" "$with_150" "$(connected)"
ip -n B route del 172.16.0.0/16 dev ib0 metric 150
expect_equal "and nothing else differs" "$before" "$(state B | tidy)"

# Several connected routes of one NIC, to one subnet and to another, come back as they were.
ip -n B address add 172.16.34.11/16 dev ib0
ip -n B address add 172.16.34.21/24 dev ib0
for metric in 0 7; do ip -n B route append 172.16.0.0/16 dev ib0 proto kernel scope link src 172.16.34.11 metric $metric; done
several=$(ip -n B route show proto kernel | sort)
expect_at_least "several connected routes of ib0" 4 "$(grep -c ib0 <<<"$several")"
expect_hook 0 B --config "$file" --apply
expect_equal "all leave" "" "$(ip -n B route show proto kernel)"
expect_hook 0 B --config "$file" --undo
expect_equal "--undo: each is back" "$several" "$(ip -n B route show proto kernel | sort)"
expect_hook 0 B --config "$file" --apply
expect_hook 0 B --apply
expect_equal "main=keep: each is back" "$several" "$(ip -n B route show proto kernel | sort)"
expect_hook 0 B --undo
for n in 11/16 21/24; do ip -n B address del 172.16.34.$n dev ib0; done
for metric in 0 7; do ip -n B route del 172.16.0.0/16 dev ib0 src 172.16.34.11 metric $metric 2>/dev/null || true; done

# Where nothing can be remembered, nothing is taken that could not be given back.
chmod 0777 /run/ib-hook
expect_hook 0 B --config "$file" --apply
expect_contains "it says so" "main=remove is not done" "$err"
expect_equal "main keeps them" "$both" "$(connected)"
chmod 0755 /run/ib-hook

# A route of main that refuses all that main has not better: without the connected routes, a rail's rule would ask main and
# be refused.
for type in unreachable blackhole prohibit; do
    ip -n B route add "$type" default metric 4000
    expect_hook 0 B --config "$file" --apply
    expect_equal "$type default: main keeps the connected routes" "$both" "$(connected)"
    on B ping -q -c 1 -W 2 -I 172.16.34.2 172.16.16.1 >/dev/null || fail "$type default: what is bound to a rail gets through"
    ip -n B route del "$type" default metric 4000
    expect_hook 0 B --config "$file" --apply
    expect_equal "$type default, gone: they leave" "" "$(connected)"
    ip -n B route add "$type" default metric 4000
    expect_hook 0 B --config "$file" --apply
    expect_equal "$type default, later: they return" "$both" "$(connected)"
    ip -n B route del "$type" default metric 4000
done
expect_hook 0 B --config "$file" --undo
