#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --apply --confirm SECONDS: the state before comes back, and stays, unless ib-hook --confirm comes in time.
. "$(dirname "$0")/lib.sh"
needs_own_processes

make_hosts 2 B
know_both_states B
# The processes that are left of this action.
pids() { pgrep -f -x -- "$IB_HOOK .*--apply .*" || true; }
waiting() { pids | wc -w; }
nobody_waits() { [ "$(waiting)" = 0 ]; }
event() { manager_calls "$1" IFACE=ib1 MODE=start "$HOOKS/ifupdown"; } # HOST
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
expect_contains "held by --undo, as before" "since it was undone" "$out"
event B
expect_equal "hooks leave it so" "$before" "$(state B)"
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

# With --json nobody reads "the previous state comes back in": it does all the same; --quiet too.
for option in --json --quiet; do
    expect_hook 0 B --apply --confirm 2 $option
    expect_equal "$option: applied" "$applied" "$(state B)"
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

# A session that uses a rail: C is reached at ib1's address, from beyond a gateway of the fabric; main's default goes by
# another NIC. What the rails had comes back, whatever the change was.
new_host C
add_nic C ib0 0 172.16.50.1/16
add_nic C ib1 1 172.16.50.2/16
rdma C ib0 ib1
ip -n C link add mgmt type veth peer name mgmt-peer
ip -n C address add 192.168.1.2/24 dev mgmt
ip -n C link set mgmt up
ip -n C link set mgmt-peer up
ip -n C route add default via 192.168.1.1 dev mgmt
new_host R
add_nic R e0 7 172.16.0.254/16
ip -n R address add 10.5.0.1/24 dev lo
ip -n R route replace 172.16.0.0/16 dev e0 src 10.5.0.1
wait_until 5 settled C
wait_until 5 settled R
plain=$(state C)
expect_hook 0 C --apply --confirm 1
wait_until 5 nobody_waits
expect_equal "nothing was there before" "$plain" "$(state C)"
event C
expect_equal "nor is with the next hook" "$plain" "$(state C)"
good="[defaults]
gateway=172.16.0.254"
system_config "$good"
expect_hook 0 C --apply
serve C
rails=$(state C | sort)
back() { [ "$(state C | sort)" = "$rails" ]; }
mkfifo $work/ask $work/answer
# shellcheck disable=SC2016 # for the inner shell
nsenter --net=/run/netns/R bash -c 'exec 3<>/dev/tcp/172.16.50.2/9401
    while read -r line; do echo "$line" >&3; read -r line <&3; echo "$line"; done' <$work/ask >$work/answer &
exec 8>$work/ask 9<$work/answer
reaches() { on R ping -q -c 1 -W 1 172.16.50.2 >/dev/null; }
goes_on() { # WHAT: the connection of before
    local answer
    reaches || fail "$1: packets" "no answer"
    echo "$1" >&8
    read -r -t 20 answer <&9 || true
    expect_equal "$1: the session goes on" "$1" "$answer"
}
bad="[defaults]
gateway=172.16.0.99
arp=strict
[interface ib1]
table=700"
worse="[defaults]
manage=no"
not_confirmed() { # CONFIGURATION OPTION…: cuts the session off, then gives it back
    system_config "$1"
    expect_hook 0 C --apply --confirm 1 "${@:2}"
    ! reaches || fail "the change is a bad one" "packets flow"
    wait_until 5 back
    wait_until 5 nobody_waits
}
goes_on "rails standing"
for change in "$bad" "$worse"; do
    not_confirmed "$change"
    goes_on "not confirmed"
    event C
    back || fail "the next hook leaves it so" "$(diff <(echo "$rails") <(state C | sort))"
    goes_on "after the next hook"
done
expect_hook 1 C --check --json
expect_equal "--check" "warning held ib0+ib1" "$(codes)"
expect_contains "as it was" "left as it was before an --apply" "$(messages)"
ip -n C route flush table 942 # as the kernel does when the link goes down
expect_hook 1 C --check --json
expect_contains "its routes went, its rules stand" "ib-hook's route to 172.16.0.0/16 in table 942 is missing" "$(messages)"
expect_hook 0 C --undo
expect_equal "--undo takes what came back" "$plain" "$(state C)"
system_config "$good"
expect_hook 0 C --apply
back || fail "--apply ends the hold" "$(state C)"

# --watch runs all the time; only one interface is tried.
journal_start # with a trial taken back, it says there that the files are not in force
watch_start C
cure="the configuration in /etc/ib-hook is not in force%s correct the configuration first (its trial was not confirmed), and try it: sudo ib-hook --apply --confirm 60"
for options in "" "--iface ib1"; do
    from=$(($(journal_lines) + 1))
    # shellcheck disable=SC2086 # words
    not_confirmed "$bad" $options
    ip -n C address add 172.16.77.1/32 dev ib1
    ip -n C address del 172.16.77.1/32 dev ib1
    wait_until 10 calm
    back || fail "--watch leaves it so" "$(diff <(echo "$rails") <(state C | sort))"
    goes_on "with --watch, ${options:-all}"
    expect_contains "--watch does not say to apply it again" "${cure/\%s/:}" "$(journal "$from")"
    expect_hook 1 C --check --json
    expect_contains "nor does --check" "${cure/\%s/;}" "$(messages)"
done
watch_stop

# What somebody changed meanwhile stays; the rest comes back. A NIC that was undone meanwhile is left alone.
give_back() { # at once
    kill -TERM "$(pids)"
    wait_until 5 nobody_waits
}
expect_hook 0 C --apply --confirm 60
sysctl_set C ib0 arp_ignore 8
give_back
expect_equal "another's value stays" 8 "$(sysctl_get C ib0 arp_ignore)"
sysctl_set C ib0 arp_ignore 1
back || fail "the rest is back" "$(diff <(echo "$rails") <(state C | sort))"
goes_on "with a value of another's"
expect_hook 0 C --apply --confirm 60
expect_hook 0 C --undo --iface ib0
give_back
expect_equal "undone meanwhile" "" "$(our_rules C | grep -F 172.16.50.1 || true)"
goes_on "ib0 undone meanwhile"
system_config "$good"
expect_hook 0 C --apply
back || fail "--apply ends both kinds of hold" "$(diff <(echo "$rails") <(state C | sort))"

# Of two that nobody confirms, the later is taken back first.
system_config "$bad"
expect_hook 0 C --apply --confirm 1
system_config "$worse"
expect_hook 0 C --apply --confirm 2
wait_until 10 back
wait_until 5 nobody_waits
goes_on "two that were not confirmed"

# Confirmed, it stays.
system_config "$bad"
expect_hook 0 C --apply --confirm 1
tried=$(state C)
expect_hook 0 C --confirm
wait_until 5 nobody_waits
event C
expect_equal "confirmed, it stays" "$tried" "$(state C)"

# A NIC vanishes meanwhile.
system_config "$good"
expect_hook 0 C --apply
system_config "$bad"
expect_hook 0 C --apply --confirm 60
journal_start # the hook says that it is gone
remove_nic C ib0
give_back
goes_on "ib0 vanished meanwhile"
event C
goes_on "after the next hook"

# A NIC that was never a rail before has another name when the time is over.
new_host E
for i in 0 1; do add_nic E ib$i $i 172.16.60.$((i + 1))/16; done
wait_until 5 settled E
expect_hook 0 E --config "$(config '[interface ib*]
manage=yes')" --apply --iface ib1 --confirm 1
expect_contains "it is routed" "1941: from 172.16.60.2 to 172.16.0.0/16 lookup" "$(our_rules E)"
ip -n E link set ib1 name other1
not_routed() { [ -z "$(our_rules E)" ]; }
wait_until 10 not_routed
wait_until 5 nobody_waits
ok "a NIC with another name: its rules are gone"

# Without a place for what it has to remember, nothing begins.
rm -rf /run/ib-hook
touch /run/ib-hook
expect_hook 3 B --apply --confirm 1
expect_contains "it says what it needs" /run/ib-hook "$err"
expect_equal "nothing is changed" "$before" "$(state B)"
rm /run/ib-hook
wait_until 5 nobody_waits
ok "and nobody waits"
