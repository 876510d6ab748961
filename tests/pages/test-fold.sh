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
expect_equal "a fault reads as on the page" "$(sed -n '/^ *-----/,/^$/{/-----/d; /^ *node/d; s/^    //p}' "$page")" "$(says A)"
expect_equal "and the same on each host, so it folds" "$(says A)" "$(says B)"
for host in A B; do
    hook $host --apply >/dev/null
    expect_equal "$host is right, and says nothing" "" "$(says $host)"
done

# A fix that has an address of the host, of either version, does not keep them apart, nor is half of it shown.
for host in A B; do
    number=$([ $host = A ] && echo 16 || echo 34)
    for i in 0 1; do ip -n $host address add "fd00:16::$number:$((i + 1))/64" dev ib$i nodad; done
    hook $host --apply >/dev/null
    ip -n $host rule add priority 100 from "172.16.$number.2" lookup main
    ip -n $host -6 rule add priority 100 from "fd00:16::$number:2" lookup main
done
expect_contains "each has fixes of its own" "fix: sudo ip -6 rule del" "$(hook A --check --verbose || true)"
expect_equal "they fold" "ib1: error foreign-rule
ib1: error foreign-rule" "$(says A)"
expect_equal "the same on the other" "$(says A)" "$(says B)"
