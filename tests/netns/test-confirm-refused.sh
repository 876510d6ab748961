#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where --apply --confirm SECONDS is refused, nothing waits afterwards; and what waits holds nothing of its caller's.
. "$(dirname "$0")/lib.sh"
needs flock

make_hosts 2 B
before=$(state B)
nobody_waits() { ! pgrep -f -x -- "$IB_HOOK .*" >/dev/null; }

# A lock of the script that called it must not outlast the script by an hour.
exec 9>$work/lock
flock 9
expect_hook 0 B --apply --confirm 3600
exec 9>&-
wait_until 1 flock -n $work/lock true
ok "the caller's lock is free when the caller has closed it"
expect_hook 0 B --undo
kill -KILL "$(pgrep -f -x -- "$IB_HOOK .*")"
wait_until 5 nobody_waits

bad=$(config '[bogus')
expect_hook 2 B --config "$bad" --apply --confirm 3600
wait_until 1 nobody_waits
ok "a bad configuration: nobody waits"
expect_hook 2 B --iface nosuch --apply --confirm 3600
wait_until 1 nobody_waits
ok "no such interface: nobody waits"
expect_equal "nothing is changed" "$before" "$(state B)"
