#!/bin/bash
# Whoever holds the lock for ever, and however the hook ends: its caller goes on after ten seconds, with exit status 0.
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

# Killed in the middle by the kernel's answer not coming: its own alarm.
on B unshare --mount sh -c 'mount --bind /run/sys/B /sys && exec "$@"' sh strace -qq -o $work/trace \
    -e inject=sendmsg:signal=SIGALRM:when=3 "$HOOKS/networkd-dispatcher" 2>$work/err && status=0 || status=$?
expect_equal "out of time: exit status" 0 $status
for signal in SIGABRT SIGSEGV; do
    status=0
    on B unshare --mount sh -c 'mount --bind /run/sys/B /sys && exec "$@"' sh strace -qq -o $work/trace \
        -e inject=sendmsg:signal=$signal:when=3 "$HOOKS/networkd-dispatcher" 2>$work/err || status=$?
    expect_equal "$signal: exit status" 0 $status
done
expect_contains "it is said" "ib-hook: the hook ended early" "$(<$work/err)"

# An alarm that the caller left running, and signals that it blocked, are not ours.
perl -e 1 2>/dev/null && on B unshare --mount sh -c 'mount --bind /run/sys/B /sys && exec "$@"' sh \
    perl -e '$SIG{ALRM} = "IGNORE"; exec @ARGV' "$HOOKS/networkd-dispatcher"
ok "called with SIGALRM ignored"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
