#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every system call of --probe fails in turn, and each kind of them forever. It ends in time, with a status that fits, one
# whole JSON object, and never more replies than requests.
. "$(dirname "$0")/lib.sh"

make_hosts 2
ip -n A address add fd00:16::16:1/64 dev ib0 nodad
ip -n B address add fd00:16::34:1/64 dev ib0 nodad
ERRORS+=([ppoll]="EINTR ENOMEM" [getrandom]="ENOSYS")
program=("$IB_HOOK" --probe 172.16.16.1 fd00:16::16:1 --count 2 --json)

# judge: after a run with a fault
judge() {
    [[ $(<$work/err) != *"cannot write to standard output"* ]] || return 0
    case $status in
        0 | 1) expect="true, or false with findings" ok='(.ok == (([.findings[] | select(.severity != "info")] | length) == 0))
            and ([.pairs[] | .received <= .sent and .sent <= 2] | all)' ;;
        2 | 3) expect="false and an error" ok=".ok == false and .error.exit == $status and (.error.message | length > 10)" ;;
        134) return ;; # out of memory: GLib aborts
        *) fail "$what: exit status $status" "$(<$work/out)
$(<$work/err)" ;;
    esac
    [ "$(jq "$ok" $work/out 2>&1)" = true ] || fail "$what: exit status $status: expected ok: $expect" "$(<$work/out)
$(<$work/err)"
}

what="without a fault"
traced "" "${program[@]}"
judge
[ $status = 1 ] || fail "before --apply: expected findings, got $status" "$(<$work/out)"
calls $work/trace | spread 12 >$work/calls
count=0
while read -r name n; do
    [ -n "${ERRORS[$name]}" ] || continue
    what="$name number $n fails with $(error_for "$name" "$n")"
    traced "$name:error=$(error_for "$name" "$n"):when=$n" "${program[@]}"
    judge
    count=$((count + 1))
done <$work/calls
expect_at_least "system calls failed" 60 $count

for name in ppoll recvmsg recvfrom sendmsg sendto socket bind setsockopt getsockname getrandom; do
    read -r -a errors <<<"${ERRORS[$name]}"
    for error in "${errors[@]}"; do
        first=$(grep -m 1 "^$name " $work/calls | cut -d ' ' -f 2)
        [[ -n $first && $name$error != recvmsgEINTR ]] || continue # libnl tries again, for ever
        what="$name fails with $error, again and again"
        traced "$name:error=$error:when=$((first + 1))+" "${program[@]}"
        judge
        ok "$what: exit status $status"
    done
done
