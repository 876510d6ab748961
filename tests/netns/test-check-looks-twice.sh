#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is wrong for a moment is no finding: where --check finds something, it looks and asks once more, and the second look
# counts. Here the moment is made long, by strace, between the two.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
hook B --apply >/dev/null
on B strace -o $work/trace -e inject=clock_nanosleep,nanosleep:delay_enter=1 true || skip "strace cannot delay a call here"
pauses() { grep -c nanosleep $work/trace || true; }
waits() { [ "$(pauses)" = 1 ]; }

# checked COMMAND…: is done between both looks
checked() {
    : >$work/trace
    { on B strace -o $work/trace -e trace=clock_nanosleep,nanosleep -e inject=clock_nanosleep,nanosleep:delay_enter=1000000 \
        "$IB_HOOK" --sysfs /run/sys/B --check --json >$work/out 2>$work/err </dev/null || exit $?; } &
    wait_until 5 waits
    "$@"
    status=0
    wait $! || status=$?
    out=$(<$work/out)
    expect_equal "it looks twice at most" 1 "$(pauses)"
}

ip -n B route del local 172.16.34.2 dev ib1 table local
checked ip -n B route add local 172.16.34.2 dev ib1 table local proto kernel scope host src 172.16.34.2
expect_equal "table local lacks an address for a moment" "0 " "$status $(findings)"

ip -n B rule del priority 1941 from 172.16.34.2
checked hook B --apply -q
expect_equal "a rule comes a moment later" "0 " "$status $(findings)"

ip -n B rule del priority 1941 from 172.16.34.2
checked true
expect_equal "what stays wrong is a finding" "1 ib1 error rule-missing" "$status $(findings)"
checked ip -n B rule del priority 1941 from 172.16.34.1
expect_equal "the second look counts" "1 ib0+ib1 error rule-missing" "$status $(findings)"

hook B --apply >/dev/null
on B strace -o $work/trace -e trace=clock_nanosleep,nanosleep "$IB_HOOK" --sysfs /run/sys/B --check >/dev/null
expect_equal "where nothing is wrong, it looks once" 0 "$(pauses)"
