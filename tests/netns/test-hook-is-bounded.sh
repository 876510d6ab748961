#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whoever holds the lock for ever, or however long the kernel takes: its caller goes on after ten seconds, with exit status 0.
. "$(dirname "$0")/lib.sh"
needs strace

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
gave_up() { # WHAT: the kernel was asked for nothing more
    expect_equal "$1: the alarm came" 1 "$(grep -c '^--- SIGALRM {' $work/trace || true)"
    expect_equal "$1: it was the end" "" "$(sed '1,/^--- SIGALRM {/d' $work/trace | grep '^sendmsg' || true)"
}
status=0
with_sys B strace -qq -o $work/trace -e inject=sendmsg:signal=SIGALRM:when=3 "$HOOKS/networkd-dispatcher" 2>$work/err ||
    status=$?
expect_equal "its own alarm: exit status" 0 "$status"
gave_up "its own alarm"

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
gave_up "a caller that does not read"
took=$((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}))
[ $took -lt 9000000 ] || fail "they took $took us"
ok "neither waited for its alarm"

# An alarm that the caller does not want to hear is ours all the same.
(
    trap '' ALRM
    manager_calls B "$HOOKS/networkd-dispatcher"
    with_sys B strace -qq -o $work/trace -e inject=sendmsg:signal=SIGALRM:when=3 "$HOOKS/networkd-dispatcher" 2>$work/err
)
gave_up "a caller that ignores alarms"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

# With gateway=, a rule of others to a large table by this rail is asked at every event whether it routes the world.
system_config '[interface ib1]
gateway=172.16.0.254'
{
    echo "route add 172.16.0.0/16 dev ib1 table 200"
    echo "route add default via 172.16.0.254 dev ib1 onlink table 200"
    for ((i = 0; i < 64000; i++)); do
        echo "route add 20.0.$((i / 256)).$((i % 256)) via 172.16.0.254 dev ib1 onlink table 200 proto bgp"
    done
} >$work/batch
ip -n B -batch $work/batch
ip -n B rule add from 172.16.34.2 lookup 200 priority 30000
start=$EPOCHREALTIME
with_sys B env -i IFACE=ib1 MODE=start "$HOOKS/ifupdown" >$work/said 2>&1
took=$((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}))
[ $took -lt 5000000 ] || fail "beside a table of 64,000 routes the hook took $took us"
expect_contains "it found that all of it goes by this rail" "ib1: removed rule from 172.16.34.2 to table 942" "$(<$work/said)"
