#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Stanzas for both families: the hook is called for each, and both are routed. An IPv6 address is usable about a second after
# it was set, when the kernel knows that nobody else has it: only ifupdown waits for that before it calls hooks.
. "$(dirname "$0")/lib.sh"

both_families() {
    local i
    for i in 0 1; do
        host ifdown ib$i
        on B sh -c "echo 1 >/proc/sys/net/ipv6/conf/ib$i/accept_dad"
        static ib$i "172.16.34.$((i + 1))/16" "iface ib$i inet6 static" "    address fd00:34::$((i + 1))/64"
        host ifup ib$i
    done
}

our_rules6() {
    ip -n B -6 -d rule show | { grep -w "suppress_ifgroup $MARK" || true; } | tidy
}

both_families_stand() {
    [ "$(our_rules6)" = "$({ rule_line fd00:34::1 941 fd00:34::/64 && rule_line fd00:34::2 942 fd00:34::/64; } | sort)" ]
}

usable() {
    [ -z "$(ip -n B -6 address show tentative)" ]
}

event both_families
wait_until 10 usable
if [[ $MODE = watch || $SYSTEM = ifupdown ]]; then
    wait_until 10 both_families_stand
else
    expect_unrepaired "when the addresses are usable" both_families_stand
    host /usr/bin/ib-hook --apply >/dev/null
    both_families_stand || fail "not even by --apply" "$(our_rules6)"
fi
expect_rails_right "IPv4" "$RAILS"
for i in 0 1; do
    expect_equal "from fd00:34::$((i + 1))" "ib$i" \
        "$(ip -n B -j -6 route get fd00:34::99 from fd00:34::$((i + 1)) | jq -r '.[0].dev')"
done
expect_quiet_journal
