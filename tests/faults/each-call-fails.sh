# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests test-each-call-fails-*.sh share: every system call of a program fails in turn. A rail is whole or absent,
# what failed is said, the lock is free, and the next run converges.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

make_hosts 2 B
journal_start
before=$(state B | tidy)
hook B --apply >/dev/null
applied=$(state B | tidy)

back_to() { # before | applied, whatever stands now
    if [ "$1" = before ]; then
        hook B --undo >/dev/null || fail "$what: --undo afterwards"
        give_back_by_hand
        expect_state "$before"
        rm -rf /run/ib-hook # its holds
    else
        hook B --apply >/dev/null || fail "$what: --apply afterwards"
        expect_state "$applied"
    fi
}

# Without its file the old values of sysctls are lost, and that was said.
said=
give_back_by_hand() {
    local nic key
    [[ $said == *"not remembered"* ]] || return 0
    for nic in ib0 ib1; do
        for key in arp_announce arp_ignore; do sysctl_set B $nic $key 0; done
    done
    said=
}

expect_state() {
    [ "$(state B | tidy)" = "$1" ] || fail "$what: the state afterwards" "$(diff <(echo "$1") <(state B | tidy))"
}

judge() { # PROGRAM FROM TO: after a run with a fault
    local got
    got=$(rails)
    said=$(<$work/err)$(journal "$from")
    [[ $got != *torn* || $said == *"not remembered"* ]] || fail "$what: expected whole or absent rails, got: $got" "exit status $status
$said"
    case $1:$status in
        hook:0 | *:0) ;;
        apply:3 | undo:3) [ -n "$said" ] || fail "$what: exit status 3, and nothing said" ;;
        apply:2 | undo:2) [ "$got" = "$2" ] || fail "$what: exit status 2, but: $got" ;;
        apply:13[34] | undo:13[34]) ;; # out of memory: GLib aborts; what stands is judged all the same
        *) fail "$what: exit status $status" "$said" ;;
    esac
    if [ "$got" != "$3" ] && [ -z "$said" ]; then fail "$what: not done ($got), and nothing said"; fi
}

# each PROGRAM FROM TO COMMAND…: from one state to the other
each() {
    local program=$1 state_from=$2 name n rails_from rails_to count=0
    shift 3
    what="$program"
    back_to "$state_from"
    rails_from=$(rails)
    traced "" "$@"
    rails_to=$(rails)
    [ "$rails_from" != "$rails_to" ] || fail "$program: it does not change anything"
    calls $work/trace >$work/calls
    while read -r name n; do
        [ -n "${ERRORS[$name]}" ] || continue
        back_to "$state_from"
        from=$(($(journal_lines) + 1))
        what="$program: $name number $n fails with $(error_for "$name" "$n")"
        traced "$name:error=$(error_for "$name" "$n"):when=$n" "$@"
        judge "$program" "$rails_from" "$rails_to"
        if [ "$program" != undo ]; then
            manager_calls B "$HOOKS/nm-dispatcher" ib1 up >/dev/null
            expect_state "$applied"
        fi
        count=$((count + 1))
    done <$work/calls
    [ $count -gt 50 ] || fail "$program: only $count calls were tried"
    ok "$program: each of $count system calls failed"
}
