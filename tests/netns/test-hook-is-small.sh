#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a hook is made of: the library, each file of which some hook needs, and nothing else of core/; 250 KB at most.
. "$(dirname "$0")/lib.sh"
needs nm strip

functions_of() { nm --defined-only "$@" 2>/dev/null | awk '$2 == "T" { print $3 }' | sort -u; }

all=
command=$(functions_of "$IBH_BUILD/libibhook-command.a")
expect_at_least "functions of the command" 50 "$(wc -l <<<"$command")"
for hook in nm-dispatcher networkd-dispatcher ifupdown rhel-ifcfg boot; do
    linked=$(functions_of "$HOOKS/$hook")
    all+=$'\n'$linked
    expect_contains "$hook does the run itself" "ibh_event_run" "$linked"
    expect_equal "$hook has nothing of the command" "" "$(comm -12 <(echo "$command") <(echo "$linked"))"
    strip -o "$work/stripped" "$HOOKS/$hook"
    [ "$(stat -c %s "$work/stripped")" -le 250000 ] || fail "$hook is small" "$(stat -c %s "$work/stripped") bytes"
    ok "$hook is small: $(stat -c %s "$work/stripped") bytes"
done

objects=("$IBH_BUILD"/core/{model,config,plan,kernel,host,run}/*.o)
idle=$(nm -A --defined-only "${objects[@]}" | awk -v all="$all" '
    BEGIN { n = split(all, names, "\n"); for (i = 1; i <= n; i++) linked[names[i]] = 1 }
    { sub(/:.*/, "", $1); needed[$1] += $2 == "T" && $3 in linked }
    END { for (object in needed) if (!needed[object]) print object }')
expect_equal "each file of the library is in a hook" "" "$idle"
