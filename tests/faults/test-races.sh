#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 64 hooks at once, while links flap, addresses come and go, NICs vanish, come back with another index, and are renamed.
# Every hook exits with 0; when it is over, one more makes everything right.
. "$(dirname "$0")/lib.sh"

make_hosts 4 B
journal_start
seed=${IBH_SEED:-$RANDOM}
RANDOM=$seed
echo "# seed $seed: IBH_SEED=$seed repeats it"
before=$(state B | tidy)
hook B --apply >/dev/null
applied=$(state B | tidy)

disturb() { # ROUND
    local nic=ib$((RANDOM % 3)) # ib3 is the one that vanishes
    case $((RANDOM % 5)) in
        0) ip -n B link set $nic down && ip -n B link set $nic up ;;
        1)
            ip -n B address del 172.16.34.$((${nic#ib} + 1))/16 dev $nic
            ip -n B address add 172.16.34.$((${nic#ib} + 1))/16 dev $nic
            ;;
        2)
            remove_nic B ib3
            add_nic B ib3 3 172.16.34.4/16
            ;;
        3)
            ip -n B link set ib3 down
            ip -n B link set ib3 name ib9
            ip -n B link set ib9 name ib3
            ip -n B link set ib3 up
            ;;
        4) ip -n B route flush table $((941 + RANDOM % 4)) ;;
    esac 2>/dev/null || true
}

for round in $(seq 6); do
    hooks=()
    for i in $(seq 64); do
        with_sys B env "IFACE=ib$((i % 4))" MODE=start "$HOOKS/ifupdown" </dev/null >>$work/said 2>&1 &
        hooks+=($!)
        [ $((i % 4)) != 0 ] || disturb
    done
    for pid in "${hooks[@]}"; do
        wait "$pid" || fail "round $round: a hook ended with $?"
    done
done
ok "384 hooks, all of them exited with 0"
expect_equal "they said nothing to their callers" "" "$(<$work/said)"

wait_until 5 settled B
manager_calls B "$HOOKS/nm-dispatcher" ib0 up
expect_equal "one more makes everything right" "$applied" "$(state B | tidy)"
expect_hook 0 B --check
hook B --undo >/dev/null
expect_equal "and what was before can still be given back" "$before" "$(state B | tidy)"

# The same with --watch alone, and nobody who calls it.
hook B --apply >/dev/null
watch_start B
for _ in $(seq 40); do disturb; done
wait_until 5 settled B
right() { [ "$(state B | tidy)" = "$applied" ]; }
wait_until 15 right
ok "--watch makes everything right"
watch_stop
