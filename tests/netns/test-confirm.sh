#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --apply --confirm SECONDS: undone again, and held, unless ib-hook --confirm comes in time.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
know_both_states B
# The processes of this program that are left.
waiting() { pgrep -c -f -x -- "$IB_HOOK .*" || true; }
nobody_waits() { [ "$(waiting)" = 0 ]; }
confirm_is_too_late() { # MESSAGE
    expect_hook 2 B --confirm
    expect_contains "$1: and says so" "nothing waits" "$err"
    expect_hook 2 B --confirm --json
    expect_equal "$1: as one object" "false 2" "$(json '"\(.ok) \(.error.exit)"')"
}

confirm_is_too_late "never asked for"

# Nobody confirms.
start=${EPOCHREALTIME/[.,]/}
expect_hook 0 B --apply --confirm 1
expect_contains "it says how to keep it" "ib-hook --confirm" "$out"
expect_contains "and how long there is" "1 s" "$out"
expect_equal "it is applied" "$applied" "$(state B)"
expect_equal "one process waits" 1 "$(waiting)"
wait_until 5 is "$before"
expect_at_least "it is undone, not before the second is over" 1000 $(((${EPOCHREALTIME/[.,]/} - start) / 1000))
wait_until 5 nobody_waits
ok "nobody waits any more"
expect_hook 1 B --check
expect_contains "undone means held" held "$out"
confirm_is_too_late "too late"
expect_equal "being too late changes nothing" "$before" "$(state B)"

# Somebody does.
expect_hook 0 B --apply --confirm 1
expect_hook 0 B --confirm
expect_contains "in words" confirmed "$out"
wait_until 5 nobody_waits
expect_equal "it stays" "$applied" "$(state B)"
expect_hook 0 B --check
confirm_is_too_late "a second time"
expect_equal "it stays still" "$applied" "$(state B)"
expect_hook 0 B --undo

# A second one takes the place of the first: the time of the first ends nothing.
expect_hook 0 B --apply --confirm 1
expect_hook 0 B --apply --confirm 3
start=${EPOCHREALTIME/[.,]/}
past_the_first() { [ $((${EPOCHREALTIME/[.,]/} - start)) -gt 1500000 ]; }
wait_until 5 past_the_first
expect_equal "the first has ended and undone nothing" "$applied" "$(state B)"
expect_hook 0 B --confirm
expect_hook 0 B --undo
expect_hook 0 B --apply --confirm 2
expect_hook 0 B --apply --confirm 1
wait_until 5 is "$before"
wait_until 5 nobody_waits
expect_equal "the second one was shorter: undone once" "$before" "$(state B)"
confirm_is_too_late "undone by the second"

# --undo in between ends it: what is applied afterwards stays.
expect_hook 0 B --apply --confirm 1
expect_hook 0 B --undo
expect_equal "undone at once" "$before" "$(state B)"
confirm_is_too_late "after --undo"
expect_hook 0 B --apply
wait_until 5 nobody_waits
expect_equal "the process that waited has left it" "$applied" "$(state B)"
expect_hook 0 B --undo

# One interface only.
expect_hook 0 B --apply --iface ib0
one=$(state B)
expect_hook 0 B --apply --iface ib1 --confirm 1
expect_equal "both" "$applied" "$(state B)"
wait_until 5 is "$one"
ok "--iface ib1: ib0 stays as it was"
wait_until 5 nobody_waits
expect_hook 0 B --undo

# --json is one object, each time.
expect_hook 0 B --apply --confirm 1 --json
expect_equal "--apply --confirm --json" "1 object true true" \
    "$(jq -s -r '"\(length) \(.[0] | type) \(.[0].ok) \(.[0].changed)"' <<<"$out")"
expect_hook 0 B --confirm --json
expect_equal "--confirm --json" "1 object true" "$(jq -s -r '"\(length) \(.[0] | type) \(.[0].ok)"' <<<"$out")"
wait_until 5 nobody_waits
expect_equal "it stays" "$applied" "$(state B)"
expect_hook 0 B --undo

# With --json nobody reads "undone again in": it is undone all the same; --quiet too.
for option in --json --quiet; do
    expect_hook 0 B --apply --confirm 1 $option
    wait_until 5 is "$before"
    wait_until 5 nobody_waits
    ok "$option: undone"
done

# Main spread as well.
spread=$(config '[defaults]
main=spread')
expect_hook 0 B --config "$spread" --apply --confirm=1
expect_contains "spread" nexthop "$(ip -n B route show table 940)"
wait_until 5 is "$before"
wait_until 5 nobody_waits
ok "spread is undone with the rest"

# Without a place for what it has to remember, nothing begins.
rm -rf /run/ib-hook
touch /run/ib-hook
expect_hook 3 B --apply --confirm 1
expect_contains "it says what it needs" /run/ib-hook "$err"
expect_equal "nothing is changed" "$before" "$(state B)"
rm /run/ib-hook
wait_until 5 nobody_waits
ok "and nobody waits"
