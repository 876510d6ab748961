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

# In the middle: its own alarm, and faults.
for signal in SIGALRM SIGABRT SIGSEGV; do
    status=0
    with_sys B strace -qq -o $work/trace -e inject=sendmsg:signal=$signal:when=3 "$HOOKS/networkd-dispatcher" \
        2>$work/err || status=$?
    expect_equal "$signal: exit status" 0 "$status"
    expect_contains "$signal: it is said" "ib-hook: the hook" "$(<$work/err)"
done

# An alarm that the caller does not want to hear is ours all the same.
(
    trap '' ALRM
    manager_calls B "$HOOKS/networkd-dispatcher"
)
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
