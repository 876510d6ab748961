#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel answers is damaged on its way: cut short, other bytes, other lengths, from another process, lost. The
# program ends in time, with a word if it could not go on, and the next run converges.
. "$(dirname "$0")/lib.sh"
GARBLE_SO=$(dirname "$FLOW")/garble.so
[ -e "$GARBLE_SO" ] || fail "there is no $GARBLE_SO: run make tools"

make_hosts 2 B
ip -n B rule add from 10.0.0.1 lookup 77 priority 5000
ip -n B route add 10.1.0.0/16 dev ib0
foreign=$(foreign_state B | grep -v arp_ | tidy)
seed=${IBH_SEED:-$RANDOM}
echo "# seed $seed: IBH_SEED=$seed repeats it"
run() { # GARBLE: on B; its status in $status
    status=0
    on B env GARBLE="$1" LD_PRELOAD="$GARBLE_SO" timeout 20 "$IB_HOOK" --sysfs /run/sys/B --apply \
        >$work/out 2>$work/err </dev/null || status=$?
}

on B strace -o $work/trace -e trace=recvmsg "$IB_HOOK" --sysfs /run/sys/B --apply >/dev/null
answers=$(grep -c recvmsg $work/trace)
expect_at_least "answers per run" 15 "$answers"
hook B --apply >/dev/null
applied=$(state B | tidy)
tried=0
told=0
for kind in cut bytes length intr sender lost empty; do
    for ((at = 1 + (seed + tried) % 2; at <= answers; at += 2)); do
        hook B --undo >/dev/null
        run "$kind $at $((seed + at))"
        case $status in
            0) ;;
            3)
                [ -s $work/err ] || fail "$kind, answer $at: exit status 3, and nothing said"
                told=$((told + 1))
                ;;
            *) fail "$kind, answer $at, seed $((seed + at)): exit status $status" "$(<$work/err)" ;;
        esac
        hook B --apply >/dev/null || fail "$kind, answer $at: the next --apply"
        [ "$(state B | tidy)" = "$applied" ] ||
            fail "$kind, answer $at, seed $((seed + at)): the state after the next --apply" \
                "$(diff <(echo "$applied") <(state B | tidy) || true)"
        [ "$(foreign_state B | grep -v arp_ | tidy)" = "$foreign" ] ||
            fail "$kind, answer $at, seed $((seed + at)): what belongs to others" \
                "$(diff <(echo "$foreign") <(foreign_state B | grep -v arp_ | tidy) || true)"
        tried=$((tried + 1))
    done
done
expect_at_least "most of them are told" 20 $told
ok "$tried answers damaged"
