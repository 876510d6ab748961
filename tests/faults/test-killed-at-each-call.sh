#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --apply, --undo and a hook are killed at each of their system calls. The next run converges, what was there before can
# still be given back, and the lock is free.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
sysctl_set B ib1 arp_announce 1
before=$(state B | tidy)
hook B --apply >/dev/null
applied=$(state B | tidy)

expect_state() {
    [ "$(state B | tidy)" = "$1" ] || fail "$what: the state afterwards" "$(diff <(echo "$1") <(state B | tidy) || true)"
}

# each PROGRAM FROM COMMAND…
each() {
    local program=$1 state_from=$2 name n count=0
    shift 2
    hook B "--$state_from" >/dev/null
    [ "$state_from" = apply ] || rm -rf /run/ib-hook
    traced "" "$@"
    calls $work/trace >$work/calls
    while read -r name n; do
        [ "$name" != execve ] || continue # no place where a program is between two calls
        what="$program killed at $name number $n"
        hook B "--$state_from" >/dev/null || fail "$what: to begin with"
        if [ "$state_from" = undo ]; then # also what the last one that was killed had to remember
            expect_state "$before"
            rm -rf /run/ib-hook
        fi
        traced "$name:signal=KILL:when=$n" "$@"
        if [ $status != 137 ]; then # a run that found nothing changed between two dumps makes fewer calls
            ! calls $work/trace | grep -qx "$name $n" || fail "$what: it was not" "exit status $status"
            continue
        fi
        if [ "$program" = undo ]; then
            hook B --undo >/dev/null || fail "$what: the next --undo"
            expect_state "$before"
        else
            manager_calls B "$HOOKS/nm-dispatcher" ib1 up >/dev/null
            expect_state "$applied"
        fi
        count=$((count + 1))
    done <$work/calls
    [ $count -gt 50 ] || fail "$program: only $count calls were tried"
    hook B --undo >/dev/null
    what="$program, after all that: --undo"
    expect_state "$before"
    ok "$program: killed at each of $count system calls"
}

case ${ONLY:-all} in
    all | hook) each hook undo "$HOOKS/nm-dispatcher" ib1 up ;;&
    all | apply) each apply undo "$IB_HOOK" --apply ;;&
    all | undo) each undo apply "$IB_HOOK" --undo ;;
esac
