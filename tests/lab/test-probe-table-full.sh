#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The neighbour table is full: --probe says so, and accuses no peer.
. "$(dirname "$0")/lib.sh"

make_hosts 2
hook A --apply >/dev/null
hook B --apply >/dev/null
vm A 'cd /proc/sys/net/ipv4/neigh/default && echo 1 >gc_thresh1 && echo 8 >gc_thresh2 && echo 16 >gc_thresh3'

# Entries that are in use cannot be collected for 5 s.
# shellcheck disable=SC2016 # for the shell in the guest
vm A 'for i in $(seq 1 40); do echo "neigh replace 172.16.99.$i lladdr 02:00:00:00:99:01 dev ib0 nud reachable"; done >/run/fill'
probe_full() {
    out=$(vm A "ip neigh flush all; ip -force -batch /run/fill 2>/dev/null; ib-hook --probe 172.16.34.1 172.16.34.2 --count 2 $*; true")
}
probe_full --json
expect_equal "a full table is named, and nothing else" "error neighbour-table-small" "$(json '[.findings[] | "\(.severity) \(.code)"] | unique | join(", ")')"
expect_contains "whose fault it is" "the peers are not at fault" "$(json '.findings[0].message')"
expect_contains "what was not sent" "0" "$(json '[.pairs[] | .sent] | unique | join(" ")')"
probe_full
expect_contains "in text" "the kernel's table of neighbours is full" "$out"

vm A 'ip neigh flush all; cd /proc/sys/net/ipv4/neigh/default && echo 1024 >gc_thresh3 && echo 512 >gc_thresh2'
expect_hook 0 A --probe 172.16.34.1 172.16.34.2
