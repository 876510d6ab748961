#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The package is removed, and purged: nothing of ours runs, stands or lies about, and no session is cut off.
. "$(dirname "$0")/lib.sh"
only nm-1.42 networkd-252 ifupdown

before=$(state B)
host dpkg -i /root/ib-hook.deb
settle "$RAILS"

traffic_from_peer
for i in 1 2; do # not bound to an address, too
    flow_on A --to 172.16.34.$i --expect-server any --expect-iface any --rate 500 --started "$work/unbound.$i" \
        --stop-file "$work/stop" >"$work/stream.unbound.$i" &
    traffic+=($!)
    wait_until 5 test -e "$work/unbound.$i"
done
host dpkg -r ib-hook
settle ""
traffic_stop
expect_no_loss "while the package was removed"
expect_equal "rules, routes and sysctls" "$(tidy <<<"$before")" "$(state B | tidy)"
expect_equal "processes of ours" "" "$(host pgrep -a ib-hook || true)"
expect_equal "hooks that are left" "" "$(find "$ROOT/etc" -name '*ib-hook' -type l)"
restart
wait_until 20 ready
settle ""
ok "after a restart of the manager, nothing of ours stands"

rm "$ROOT/root/ib-hook.deb" # what is the administrator's
host dpkg -P ib-hook
expect_equal "files that are left" "" "$(host find / -xdev -name '*ib-hook*' -not -path '/proc/*' -not -path '/sys/*')$(host find /run -name '*ib-hook*')"
