#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whoever holds the lock for ever, or however long the kernel takes: its caller goes on after ten seconds, with exit status 0.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
manager_calls B "$HOOKS/nm-dispatcher" ib1 up
lock=$(find /run/ib-hook -name '*.lock')
exec 9<"$lock"
flock 9
from=$(($(journal_lines) + 1))
start=$EPOCHREALTIME
manager_calls B IFACE=ib1 MODE=start "$HOOKS/ifupdown"
took=$((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}))
[ $took -lt 11000000 ] || fail "the hook took $took us"
ok "the hook came back"
expect_contains "and said why" "4 gave up after 8 s: another ib-hook" "$(journal "$from")"
flock -u 9

# In the middle: its own alarm.
status=0
with_sys B strace -qq -o $work/trace -e inject=sendmsg:signal=SIGALRM:when=3 "$HOOKS/networkd-dispatcher" 2>$work/err ||
    status=$?
expect_equal "its own alarm: exit status" 0 "$status"

# No journal, no syslog, and a caller that does not read what is written to it.
rm /run/systemd/journal/socket
[ ! -S /dev/log ] || mount --bind /dev/null /dev/log
mkfifo $work/full
exec 8<>$work/full
dd if=/dev/zero of=$work/full oflag=nonblock bs=4096 count=1024 2>/dev/null && fail "a pipe is full at some time"
hook B --undo >/dev/null
rm -rf /run/ib-hook
start=$EPOCHREALTIME
with_sys B timeout -s KILL 15 "$HOOKS/nm-dispatcher" ib1 up >&8 2>&8 </dev/null || fail "the hook failed, or waits for its caller"
ok "a caller that does not read: the hook ends with 0"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
with_sys B timeout -s KILL 15 strace -qq -o $work/trace -e inject=sendmsg:signal=SIGALRM:when=3 \
    "$HOOKS/nm-dispatcher" ib1 up >&8 2>&8 </dev/null || fail "its last words wait for its caller"
ok "nor do its last words wait"
took=$((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}))
[ $took -lt 9000000 ] || fail "they took $took us"
ok "neither waited for its alarm"

# An alarm that the caller does not want to hear is ours all the same.
(
    trap '' ALRM
    manager_calls B "$HOOKS/networkd-dispatcher"
)
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
