#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What rules cost packets of other NICs is as the manual and comparison.md say, in per cent of a host without rules, give or
# take 10. Alone on the machine.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
export IB_HOOK=${IB_HOOK:-$top/build/ib-hook} FLOW=${FLOW:-$top/build/flow} ROUNDS=${ROUNDS:-15}
measured=$("$top/tests/bench/run" packets)
manual=$(tr '\n' ' ' <"$top/packaging/man/ib-hook.8")
comparison=$(tr '\n' ' ' <"$top/packaging/doc/comparison.md")

tests=0 failed=0
# says WHAT PAGE PATTERN: the page's number is before that; the figure of the bench begins with WHAT
says() {
    local said got
    said=$(grep -oE "[0-9]+$3" <<<"$2" | grep -oE -m 1 '^[0-9]+')
    got=$(sed -nE "s/^packets of another NIC per CPU second: $1.*, against no rule: ([0-9.]+) .*/\\1/p" <<<"$measured")
    tests=$((tests + 1))
    if [ -n "$said" ] && [ -n "$got" ] && awk -v a="$said" -v b="$got" 'BEGIN { d = a - 100 * b; exit d > 10 || d < -10 }'; then
        echo "ok $tests - $1: the page has $said%, measured: $got"
    else
        echo "not ok $tests - $1: the page has ${said:-nothing}%, measured: ${got:-nothing}"
        failed=1
    fi
}
says '2 rails' "$manual" '% as many packets with 2 rails'
says '8 rails \(16 rules\)' "$manual" '% with 8'
says '16 rails' "$manual" '% with 16'
says '64 rails' "$manual" '% with 64'
says '8 rails of the documents' "$comparison" '% of their rate \(script, CNI sbr'
says '8 rails of CNI' "$comparison" '% of their rate \(script, CNI sbr'
says '8 rails \(16 rules\)' "$comparison" '% \(ib-hook: 16 rules'
echo "1..$tests"
exit $failed
