#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An upgrade, and the way back to the older version: no rule or route of ours goes for a moment, and no packet is lost.
. "$(dirname "$0")/lib.sh"
only networkd-252 ifupdown
needs dpkg-deb

newer() { # a package of a later version, of the same files
    dpkg-deb -R "$DEB" "$work/newer"
    sed -i 's/^Version: .*/&+newer/' "$work/newer/DEBIAN/control"
    dpkg-deb --root-owner-group -Zgzip -b "$work/newer" "$ROOT/root/newer.deb" >/dev/null
}

newer
host dpkg -i /root/ib-hook.deb
settle "$RAILS"
watched=$(host systemctl is-active ib-hook-watch || true)

traffic_from_peer
ip -n B monitor rule route >"$work/monitor" &
monitor=$!
host dpkg -i /root/newer.deb
settle "$RAILS"
host dpkg --force-downgrade -i /root/ib-hook.deb
settle "$RAILS"
kill $monitor
traffic_stop
serve_no_more
expect_no_loss "while the package was upgraded, and downgraded"
expect_rails_right "after the upgrade"
expect_equal "of ours, what was taken away for a moment" "" "$(grep Deleted "$work/monitor" | grep "$MARK" || true)"
expect_equal "ib-hook --watch" "$watched" "$(host systemctl is-active ib-hook-watch || true)"
expect_quiet_journal
