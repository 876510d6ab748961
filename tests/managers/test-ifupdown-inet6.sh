#!/bin/bash
# Stanzas for both families: the hook is called for each, and both are routed.
. "$(dirname "$0")/lib.sh"

both_families() {
    local i
    for i in 0 1; do
        host ifdown ib$i
        static ib$i "172.16.34.$((i + 1))/16" "iface ib$i inet6 static" "    address fd00:34::$((i + 1))/64"
        host ifup ib$i
    done
}

our_rules6() {
    ip -n B -6 -d rule show | { grep -w "suppress_ifgroup $MARK" || true; } | tidy
}

both_families_stand() {
    [ "$(our_rules6)" = "$(rule_line fd00:34::1 941)
$(rule_line fd00:34::2 942)" ]
}

event both_families
wait_until 10 both_families_stand
expect_rails_right "IPv4" "$RAILS"
for i in 0 1; do
    expect_equal "from fd00:34::$((i + 1))" "ib$i" \
        "$(ip -n B -j -6 route get fd00:34::99 from fd00:34::$((i + 1)) | jq -r '.[0].dev')"
done
expect_quiet_journal
