#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Of many peers most are switched off: their echoes wait for ARP, and keep none that go to the others. Who is up is right, who is
# down is down, and this host is not said to send nothing.
. "$(dirname "$0")/lib.sh"

make_hosts 2 A B
expect_hook 0 A --apply
expect_hook 0 B --apply
silent=$(printf '172.16.60.%d ' {1..250}; printf '172.16.61.%d ' {1..50})
# shellcheck disable=SC2086 # several addresses
out=$(with_sys A "$IB_HOOK" --probe $silent 172.16.34.1 --iface ib0 --json) || [ $? = 1 ]
expect_equal "who is up" '{"ok":true,"received":3}' \
    "$(json '.pairs[] | select(.peer == "172.16.34.1") | {ok, received}' | jq -c .)"
expect_equal "who is down" "error probe-lost" "$(json '.findings[] | "\(.severity) \(.code)"' | sort -u)"
expect_equal "each of them" 300 "$(json '[.pairs[] | select(.ok == false)] | length')"
