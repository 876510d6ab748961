#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a hook is made of: the library, as far as an event needs it, and nothing of the doctor; 250 KB at most.
. "$(dirname "$0")/lib.sh"
needs nm strip

doctor=$(nm --defined-only "$IBH_BUILD/libibhook-doctor.a" 2>/dev/null | awk '$2 == "T" { print $3 }' | sort -u)
expect_at_least "functions of the doctor" 50 "$(wc -l <<<"$doctor")"
for hook in nm-dispatcher networkd-dispatcher ifupdown rhel-ifcfg boot; do
    linked=$(nm --defined-only "$HOOKS/$hook" | awk '$2 == "T" { print $3 }' | sort -u)
    expect_contains "$hook does the run itself" "ibh_event_run" "$linked"
    expect_equal "$hook has nothing of the doctor" "" "$(comm -12 <(echo "$doctor") <(echo "$linked"))"
    expect_equal "$hook has no --watch" "" "$(grep -x ibh_watch_run <<<"$linked" || true)"
    strip -o "$work/stripped" "$HOOKS/$hook"
    [ "$(stat -c %s "$work/stripped")" -le 250000 ] || fail "$hook is small" "$(stat -c %s "$work/stripped") bytes"
    ok "$hook is small: $(stat -c %s "$work/stripped") bytes"
done
