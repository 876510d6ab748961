#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# With a configuration file that cannot be read, no NIC fails to come up; standing rails stay; and the journal names the line. A
# boot with it ends all the same, and says once that no NIC is routed.
. "$(dirname "$0")/lib.sh"

lacks_address() {
    ! has_address ib1 172.16.34.2
}

is_named() { # by a hook or by ib-hook --watch
    [[ $(own_journal) == *"/etc/ib-hook/ib-hook.conf:3: mangae=yes"* ]]
}

up_again() {
    down ib1
    up ib1
}

[ "$SYSTEM.$MODE" != networkd-alone.hooks ] || only none # nobody is called
printf '[interface ib*]\nmanage=yes\nmangae=yes\n' >$ROOT/etc/ib-hook/ib-hook.conf
happens down ib1
wait_until 5 lacks_address
wait_until 5 is_named
event up ib1
wait_until 10 has_address ib1 172.16.34.2
while read -r line; do expect_contains "the other rail stands" "$line" "$(our_rules B)"; done < <(rule_line 172.16.34.1 941)
expect_contains "and its table" "$(route_line 172.16.0.0/16 ib0 941 172.16.34.1)" "$(our_routes B)"

sed -i 3d $ROOT/etc/ib-hook/ib-hook.conf
event up_again
expect_rails_right "with the file put right" "$RAILS"

echo mangae=yes >>$ROOT/etc/ib-hook/ib-hook.conf
power_off
power_on
echo 0 >$work/seen # of a journal that has just begun
wait_until 20 ready
expect_equal "the network is online" active "$(host systemctl is-active network-online.target)"
expect_equal "what could do nothing is not green" failed "$(host systemctl is-failed ib-hook.service)"
expect_equal "nothing is routed" "" "$(our_rules B)"
expect_equal "the journal says so once" 1 "$(own_journal | grep -c '^3 ib-hook.service routed no NIC')"
sed -i 3d $ROOT/etc/ib-hook/ib-hook.conf
host systemctl start ib-hook.service
settle "$RAILS"
expect_equal "what it says to do cures both" inactive "$(host systemctl is-active ib-hook.service || true)"
