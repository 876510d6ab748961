#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --confirm: what is wrong is refused before anything changes; no process is started without --confirm SECONDS, and what
# waits holds nothing of its caller's.
. "$(dirname "$0")/lib.sh"
needs flock

make_hosts 2 B
before=$(state B)
for seconds in 0 86401 99999999999999999999 1x 1.5 1s 0x10; do
    expect_hook 2 B --apply --confirm "$seconds"
    expect_hook 2 B --apply "--confirm=$seconds"
done
for seconds in -1 "" " 1" x +1; do
    expect_hook 2 B --apply "--confirm=$seconds"
    expect_hook 2 B --apply --confirm "$seconds"
done
expect_hook 2 B --apply --confirm
expect_hook 2 B --confirm --apply
expect_hook 2 B --apply --confirm --iface ib0
for action in --show --check --plan --undo; do
    expect_hook 2 B $action --confirm 5
    expect_hook 2 B $action --confirm=5
    expect_hook 2 B $action --confirm
done
expect_hook 2 B --confirm 5
expect_hook 2 B --apply --confirm 5 6
expect_hook 2 B --config "$(config '[bogus')" --apply --confirm 3600
expect_hook 2 B --iface nosuch --apply --confirm 3600
expect_hook 2 B --apply --confirm 0 --json
expect_equal "--json: one object" "1 2" "$(jq -s -r '"\(length) \(.[0].error.exit)"' <<<"$out")"
expect_equal "nothing is changed" "$before" "$(state B)"
nobody_waits() { ! pgrep -f -x -- "$IB_HOOK .*" >/dev/null; }
wait_until 1 nobody_waits
ok "nothing waits"

# A lock of the script that called it must not outlast the script by an hour.
exec 9>$work/lock
flock 9
expect_hook 0 B --apply --confirm 3600
exec 9>&-
wait_until 1 flock -n $work/lock true
ok "the caller's lock is free when the caller has closed it"
expect_hook 0 B --undo

# A mistake in a file costs nobody what is on trial.
expect_hook 0 B --apply --confirm 60
expect_hook 0 B --config "$(config '[bogus')" --confirm
expect_hook 0 B --undo

# 86400 is the most; either way of writing it, before or after the action.
for words in "--apply --confirm 86400" "--confirm 86400 --apply" "--apply --confirm=86400" "--confirm=00060 --apply --quiet"; do
    # shellcheck disable=SC2086 # several words
    expect_hook 0 B $words
    expect_hook 0 B --confirm
    expect_hook 0 B --undo
done

needs strace
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
expect_started() { # WHAT PROCESSES STATUS ARGUMENT…: a run starts so many processes, and has this exit status
    local status=0
    on B strace -o $work/trace -e trace=clone,clone3,fork,vfork "$IB_HOOK" --sysfs /run/sys/B "${@:4}" >/dev/null 2>&1 ||
        status=$?
    expect_equal "$1" "$2, status $3" "$(grep -c '^[a-z0-9]*(' $work/trace || true), status $status"
}
expect_started "--apply --confirm 60 starts one process" 1 0 --apply --confirm 60
expect_started "--confirm starts none" 0 0 --confirm
expect_started "--apply starts none" 0 0 --apply
expect_started "nor does one that is refused" 0 2 --apply --confirm 0
