#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No action starts another process: one execve, its own, and no thread.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
for action in --show --plan --apply --check --undo; do
    on B strace -f -o $work/trace -e trace=clone,clone3,fork,vfork,execve,execveat \
        "$IB_HOOK" --sysfs /run/sys/B $action >/dev/null 2>&1 || [ $? = 1 ] || fail "$action under strace"
    expect_equal "$action: calls that start a process" "1 execve" \
        "$(sed -n 's/^[0-9]* *\([a-z0-9]*\)(.*/\1/p' $work/trace | sort | uniq -c | xargs)"
done
