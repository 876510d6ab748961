#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What Debian, Fedora and systemd think of the packages.
. "$(dirname "$0")/lib.sh"

needs lintian blhc rpmlint systemd-analyze
expect_equal "lintian --pedantic" "" "$(lintian --allow-root --pedantic --fail-on none "$(dirname "$deb")"/*.changes 2>&1)"
expect_equal "blhc: every file is compiled and linked with all that hardens it" "" "$(blhc --all "$(dirname "$deb")/log" 2>&1 || true)"
expect_at_least "blhc has seen files compiled" 100 "$(grep -c -e '-c -o build/' "$(dirname "$deb")/log")"

# Its warnings are matters of taste; errors are not.
out=$(rpmlint -c "$top/packaging/rpm/rpmlint.toml" "$rpm" "$selinux" "$top/packaging/rpm/ib-hook.spec" 2>&1 || true)
expect_contains "rpmlint: no error" " 0 errors, " "$out"

for unit in ib-hook.service ib-hook-watch.service; do
    sed "s,=/usr/sbin/ib-hook,=$IB_HOOK," "$top/packaging/systemd/$unit" >$work/$unit
    expect_equal "systemd-analyze verify $unit" "" "$(systemd-analyze verify --man=no $work/$unit 2>&1 | grep ib-hook || true)"
done
mkdir $work/fleet
cp "$top"/packaging/fleet/*.timer $work/fleet
sed "s,/usr/sbin/ib-hook,$IB_HOOK," "$top/packaging/fleet/ib-hook-prometheus.service" >$work/fleet/ib-hook-prometheus.service
expect_equal "systemd-analyze verify of the fleet's units" "" "$(systemd-analyze verify --man=no $work/fleet/* 2>&1 | grep ib-hook || true)"
systemd-analyze security --offline=yes --threshold=20 $work/ib-hook-watch.service >$work/log || fail "systemd-analyze security" "$(<$work/log)"
ok "systemd-analyze security: $(tail -n 1 $work/log)"
expect_equal "a stop keeps the holds of --undo" "" "$(grep ^RuntimeDirectory= $work/*.service || true)"
