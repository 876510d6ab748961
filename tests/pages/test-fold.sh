#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the page for many hosts has for clush: hosts with the same fault say the same, as the page has it, and right ones nothing.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"

page=$top/packaging/fleet/README.md
command=$(sed -n "s/^ *clush .*'\(ib-hook .*\)'$/\1/p" "$page")
expect_equal "pdsh has the same command" "$command" "$(sed -n "s/^ *pdsh .*'\(ib-hook .*\)'.*/\1/p" "$page")"
make_hosts 2 A B
says() { # HOST
    eval "${command/ib-hook/hook $1}" || true
}
expect_equal "a fault reads as on the page" "$(sed -n '/^ *-----/,/^$/{/-----/d; s/^    //p}' "$page")" "$(says A)"
expect_equal "and the same on each host, so it folds" "$(says A)" "$(says B)"
for host in A B; do
    hook $host --apply >/dev/null
    expect_equal "$host is right, and says nothing" "" "$(says $host)"
done
