#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An upgrade: no rule or route of ours goes for a moment, no packet is lost, and links that an administrator deleted or masked
# stay as they are.
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
rm "$ROOT/etc/networkd-dispatcher/off.d/50-ib-hook"
ln -sf /dev/null "$ROOT/etc/networkd-dispatcher/degraded.d/50-ib-hook"
watched=$(host systemctl is-active ib-hook-watch || true)

traffic_from_peer
ip -n B monitor rule route >"$work/monitor" &
monitor=$!
host dpkg -i /root/newer.deb
settle "$RAILS"
kill $monitor
traffic_stop
serve_no_more
expect_no_loss "while the package was upgraded"
expect_rails_right "after the upgrade"
expect_equal "of ours, what was taken away for a moment" "" "$(grep Deleted "$work/monitor" | grep "$MARK" || true)"
expect_equal "the link that was deleted" "no" "$([ -L "$ROOT/etc/networkd-dispatcher/off.d/50-ib-hook" ] && echo yes || echo no)"
expect_equal "the link that was masked" /dev/null "$(readlink "$ROOT/etc/networkd-dispatcher/degraded.d/50-ib-hook")"
expect_equal "ib-hook --watch" "$watched" "$(host systemctl is-active ib-hook-watch || true)"
expect_quiet_journal
