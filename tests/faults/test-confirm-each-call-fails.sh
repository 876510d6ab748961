#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An --apply --confirm is not confirmed, and each system call in turn of the process that waits fails while it gives the
# state before back. A rail is whole or absent, and what failed is said in the journal. The process tries again, and gives
# all of it back; if it has ended, the next --undo converges.
. "$(dirname "$0")/lib.sh"

ERRORS+=([openat2]="EMFILE EINTR" [rename]="ENOSPC EIO" [unlink]="EROFS" [ftruncate]="EIO" [pread64]="EIO")

make_hosts 2 B
journal_start
before=$(state B | tidy)
hook B --apply >/dev/null
applied=$(state B | tidy)

expect_state() {
    [ "$(state B | tidy)" = "$1" ] || fail "$what: the state afterwards" "$(diff <(echo "$1") <(state B | tidy))"
}

waits() { kill -0 "$waiter" 2>/dev/null; }
ended() { ! waits; }
is_traced() { grep -q 'TracerPid:[[:space:]]*[1-9]' "/proc/$waiter/status"; }

# Its last call is the wait for a signal or for the time to be over, and it has not returned.
rests() { ended || tail -n 1 $work/trace | grep -q 'rt_sigtimedwait([^=]*$'; }
tries() { grep -c 'rt_sigtimedwait(.*=' $work/trace || true; }
has_tried() { { ended || [ "$(tries)" -ge "$1" ]; } && rests; }

# try N: a service that stops makes it give the state back at once; the N-th time
try() {
    kill -TERM "$waiter" 2>/dev/null || true
    wait_until 5 has_tried "$1"
}

# give_back [INJECTION]: the first try of the process that waits
give_back() {
    hook B --undo >/dev/null
    rm -rf /run/ib-hook # its holds
    expect_state "$before"
    from=$(($(journal_lines) + 1))
    hook B --apply --confirm 60 >/dev/null
    expect_state "$applied"
    waiter=$(pgrep -f -x -- "$IB_HOOK .*--apply --confirm 60")
    rm -f $work/trace
    strace -qq -o $work/trace ${1:+-e "inject=$1"} -p "$waiter" 2>$work/err &
    tracer=$!
    wait_until 5 is_traced
    wait_until 5 rests
    try 1
}

judge() {
    local got said
    got=$(rails)
    said=$(journal "$from" | grep -v '(--apply)$' || true)
    [[ $got != *torn* || $said == *"not remembered"* ]] || fail "$what: expected whole or absent rails, got: $got" "$said"
    [ "$got" = "ib0 absent, ib1 absent" ] || [ -n "$said" ] ||
        fail "$what: not done ($got), and nothing said" "$(tail -n 5 $work/trace)"
    if waits; then
        try 2
        wait_until 5 ended
        expect_state "$before"
    fi
    wait "$tracer" || true
}

what="without a fault"
give_back
judge
calls $work/trace loaded >$work/calls
count=0
while read -r name n; do
    [ -n "${ERRORS[$name]}" ] || continue
    error=$(error_for "$name" "$n")
    what="$name number $n fails with $error"
    give_back "$name:error=$error:when=$n"
    judge
    count=$((count + 1))
done <$work/calls
[ $count -gt 100 ] || fail "only $count calls were tried"
ok "each of $count system calls failed"
