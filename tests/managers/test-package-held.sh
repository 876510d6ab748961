#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What --undo left alone stays so when the package is installed again, in the same version and in a later one; in a hook's
# run and in the watch that starts anew.
. "$(dirname "$0")/lib.sh"
only networkd-252 ifupdown
needs dpkg-deb

dpkg-deb -R "$DEB" "$work/later"
sed -i 's/^Version: .*/&+newer/' "$work/later/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -b "$work/later" "$ROOT/root/later.deb" >/dev/null
host dpkg -i /root/ib-hook.deb
settle "$RAILS"
host ib-hook --undo >/dev/null
settle ""
for package in ib-hook later; do
    host dpkg -i /root/$package.deb >"$work/said"
    host systemctl start ib-hook.service
    settle ""
    ok "$package.deb: what is held stays held"
done
host ib-hook --apply >/dev/null
settle "$RAILS"
