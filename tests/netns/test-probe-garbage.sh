#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the wire brings may be anything: only the right reply counts, once, and a flood of others does no harm.
. "$(dirname "$0")/lib.sh"
REPLIER=$(dirname "$FLOW")/replier
[ -x "$REPLIER" ] || fail "there is no $REPLIER: run make tools"

make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply
on B sh -c 'echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all'

# replies HOW: from now on B answers so
replier=
replies() {
    [ -z "$replier" ] || kill "$replier"
    nsenter --net=/run/netns/B "$REPLIER" "$1" >"$work/replier.$1" &
    replier=$!
    wait_until 5 grep -q ready "$work/replier.$1"
}

replies garbage
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "garbage is no reply" "0" "$(json '[.pairs[].received] | unique | .[]')"
expect_equal "nor has a reply come in that was dropped" "probe-lost" "$(json '[.pairs[].problems[]] | unique | .[]')"

replies among
expect_hook 0 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "right replies among garbage are found, and counted once" "3/3" \
    "$(json '[.pairs[] | "\(.received)/\(.sent)"] | unique | .[]')"

replies flood
start=$EPOCHREALTIME
expect_hook 1 A --probe 172.16.34.1 --json
ms=$(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))
[ $ms -lt 5000 ] || fail "a flood: expected an end within 5 s, took $ms ms"
ok "a flood of wrong replies: an end after $ms ms"
expect_equal "none of them counts" "0" "$(json '[.pairs[].received] | unique | .[]')"
