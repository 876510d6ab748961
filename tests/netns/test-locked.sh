#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Only one at a time: while another process holds the lock, --apply waits, as locked-without-signals has it not for ever.
# Looking needs no lock.
. "$(dirname "$0")/lib.sh"
needs flock strace
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

make_hosts 2 B
expect_hook 0 B --apply
expect_hook 0 B --undo
before=$(state B)
lock=$(find /run/ib-hook -name '*.lock')
expect_equal "there is one lock per namespace" 1 "$(wc -w <<<"$lock")"

exec 9<>"$lock"
flock 9
expect_hook 0 B --show
expect_hook 1 B --check
expect_hook 0 B --plan
: >$work/trace
on B strace -o $work/trace -e trace=flock "$IB_HOOK" --sysfs /run/sys/B --apply >$work/out 2>&1 9>&- &
pid=$!
waits() { [ "$(grep -c EAGAIN $work/trace)" -ge 2 ]; } # it has asked again
wait_until 5 waits
expect_equal "nothing is changed" "$before" "$(state B)"
flock -u 9
wait $pid || fail "freed, --apply goes on" "$(<$work/out)"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
