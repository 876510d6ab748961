#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Only one at a time: while another process holds the lock, --apply waits, as locked-without-signals has it not for ever.
# Looking needs no lock.
. "$(dirname "$0")/lib.sh"
needs flock

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
hook B --apply >$work/out 2>&1 9>&- &
pid=$!
still_waits() { [ -d /proc/$pid ]; }
for _ in 1 2 3 4 5 6 7 8 9 10; do still_waits || fail "--apply waits for the lock" "$(<$work/out)"; done
expect_equal "nothing is changed" "$before" "$(state B)"
flock -u 9
wait $pid || fail "freed, --apply goes on" "$(<$work/out)"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
