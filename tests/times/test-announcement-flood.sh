#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A peer floods the wire with announcements, right, wrong and cut short: --watch does not wake up for them, rails are
# repaired, and everything else ends in its time, with the same result.
. "$(dirname "$0")/../netns/lib.sh"
ANNOUNCER=$(dirname "$FLOW")/announcer
[ -x "$ANNOUNCER" ] || fail "there is no $ANNOUNCER: run make tools"

make_hosts 2
new_host C
add_nic C ib0 0 172.16.50.1/16
expect_hook 0 A --apply
before=$(state B)
for nic in ib0 ib1; do on B sh -c "echo 1 >$CONF/$nic/arp_accept"; done # each announcement is a neighbour of B's
journal_start
watch_start B
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
wait_until 10 calm
woken() { sed -n 's/^voluntary_ctxt_switches:[[:blank:]]*//p' "/proc/$watch/status"; }
before_flood=$(woken)

nsenter --net=/run/netns/C "$ANNOUNCER" ib0 172.16.34.1 172.16.34.2 172.16.16.1 172.16.16.2 >$work/announcer &
flood=$!
wait_until 5 grep -q ready $work/announcer
flooded() { [ "$(ip -n B neigh show | wc -l)" -ge 200 ]; }
wait_until 10 flooded
ok "B has $(ip -n B neigh show | wc -l) neighbours"
changed() { [ "$(wc -l <$work/neighbours)" -ge 50 ]; }
nsenter --net=/run/netns/B ip monitor neigh >$work/neighbours &
monitor=$!
wait_until 20 changed
kill $monitor
wait $monitor 2>/dev/null || true
expect_equal "--watch slept through $(wc -l <$work/neighbours) changes of neighbours" "$before_flood" "$(woken)"

# in_time SECONDS STATUS ARGUMENT…: on B
in_time() {
    local start=$EPOCHREALTIME ms
    expect_hook "$2" B "${@:3}"
    ms=$(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))
    [ $ms -lt $(($1 * 1000)) ] || fail "${*:3}: expected an end within $1 s, took $ms ms"
    ok "${*:3}: an end after $ms ms"
}
ip -n B rule del from 172.16.34.1 lookup 941
repaired() { [ "$(own_rules B | wc -l)" = 2 ]; }
wait_until 5 repaired
ok "a rule that is gone is back"
in_time 10 0 --show
status=0
in_time 10 0 --plan
hook B --check --json >$work/out 2>&1 </dev/null || status=$?
[ $status -le 1 ] || fail "--check ends: status $status" "$(<$work/out)"
expect_equal "--check finds no errors" "" "$(jq -r '.findings[] | select(.severity == "error") | .code' $work/out)"
in_time 10 0 --apply
hook B --probe 172.16.16.1 172.16.16.2 --json >$work/out 2>&1 </dev/null || true
expect_equal "--probe: as many pairs as without" 4 "$(jq '.pairs | length' $work/out)"
expect_equal "--probe: no reply is invented" "" "$(jq -r '.pairs[] | select(.received > .sent) | .peer' $work/out)"
[ "$(awk '/VmRSS/ { print $2 }' "/proc/$watch/status")" -lt 10240 ] || fail "--watch has more than 10 MiB"
watch_stop
in_time 10 0 --undo
expect_equal "--undo leaves nothing" "$before" "$(state B)"
kill $flood
wait $flood || true
