#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sixteen processes at once come to the same state as one.
. "$(dirname "$0")/lib.sh"

make_hosts 4 B
know_both_states B

for round in 1 2 3; do
    pids=()
    for i in {1..16}; do
        hook B --apply --json >"$work/at-once.$i" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || fail "round $round: every process exits 0" "$(cat $work/at-once.*)"; done
    expect_equal "round $round: the same state as after one" "$applied" "$(state B)"
    expect_at_least "round $round: somebody did it" 1 "$(cat $work/at-once.* | jq -s 'map(select(.changed)) | length')"
    expect_hook 0 B --check
    pids=()
    for i in {1..16}; do
        hook B --undo >/dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || fail "round $round: every --undo exits 0"; done
    expect_equal "round $round: and back" "$before" "$(state B)"
done
