#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the rule of the local table comes later than ours (VRF set-ups do that), our rules would cut the host off from
# itself: no rail is programmed, --check says why, and --apply takes away those that stand.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B

# The trap itself.
late() {
    ip -n B rule add from all lookup local priority 2500
    ip -n B rule del from all lookup local priority 0
}
in_time() {
    ip -n B rule add from all lookup local priority 0
    ip -n B rule del from all lookup local priority 2500
}
expect_hook 0 B --apply
expect_equal "a rail's address reaches another by lo" lo "$(ip -n B -j route get 172.16.34.1 from 172.16.34.2 | jq -r '.[0].dev')"
late
expect_equal "with a late local rule, by the wire" ib1 "$(ip -n B -j route get 172.16.34.1 from 172.16.34.2 | jq -r '.[0].dev')"

expect_hook 1 B --check
expect_contains "--check sees it on rails that stand" local-rule-late "$out"
hook B --apply >/dev/null 2>&1 || true
expect_nothing_of_ours B

before=$(state B)
hook B --apply >/dev/null 2>&1 || true
expect_equal "nothing is programmed" "$before" "$(state B)"
expect_hook 1 B --check --json
expect_contains "--check says so" '"local-rule-late"' "$out"
expect_equal "as an error" error "$(json '[.findings[] | select(.code == "local-rule-late") | .severity] | unique | .[]')"
expect_hook 1 B --probe 172.16.16.1
expect_contains "--probe, too, which has no rails to send by" local-rule-late "$out"

# Below ours it is late enough for nobody.
ip -n B rule add from all lookup local priority 1000
ip -n B rule del from all lookup local priority 2500
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
ip -n B rule add from all lookup local priority 2500
ip -n B rule del from all lookup local priority 1000
in_time
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
