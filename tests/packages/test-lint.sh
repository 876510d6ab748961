#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What Debian, Fedora and systemd think of the packages.
. "$(dirname "$0")/lib.sh"

needs lintian blhc rpmlint systemd-analyze
expect_equal "lintian --pedantic" "" "$("$top/tests/packages/lintian" "$(dirname "$deb")"/*.changes)"
expect_equal "blhc: every file is compiled and linked with all that hardens it" "" "$(blhc --all "$(dirname "$deb")/log" 2>&1 || true)"
expect_equal "and with the latest checks of buffers" "" "$(grep -e '-c -o build/' "$(dirname "$deb")/log" | grep -v -e '-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3' || true)"
expect_equal "blhc has seen every file compiled" "$(printf '%s\n' "$top"/core/*/*.c "$top"/{,packaging/}*/main.c | wc -l)" \
    "$(grep -c -e '-c -o build/' "$(dirname "$deb")/log")"

# Its warnings are matters of taste; errors are not.
out=$(rpmlint -c "$top/packaging/rpm/rpmlint.toml" "$rpm" "$selinux" "$network_scripts" "$top/packaging/rpm/ib-hook.spec" 2>&1 || true)
expect_contains "rpmlint: no error" " 0 errors, " "$out"

for unit in ib-hook.service ib-hook-watch.service; do
    sed "s,=/usr/bin/ib-hook,=$IB_HOOK,; s,=/usr/libexec/ib-hook/,=$HOOKS/," "$top/packaging/systemd/$unit" >$work/$unit
    expect_equal "systemd-analyze verify $unit" "" "$(systemd-analyze verify --man=no $work/$unit 2>&1 | grep ib-hook || true)"
done
mkdir $work/fleet
cp "$top"/packaging/fleet/*.timer $work/fleet
sed "s,/usr/bin/ib-hook,$IB_HOOK," "$top/packaging/fleet/ib-hook-prometheus.service" >$work/fleet/ib-hook-prometheus.service
expect_equal "systemd-analyze verify of the fleet's units" "" "$(systemd-analyze verify --man=no $work/fleet/* 2>&1 | grep ib-hook || true)"
for unit in ib-hook-watch.service:25 ib-hook.service:25 fleet/ib-hook-prometheus.service:25; do
    systemd-analyze security --offline=yes --threshold="${unit#*:}" "$work/${unit%:*}" >$work/log || fail "systemd-analyze security" "$(<$work/log)"
    ok "systemd-analyze security: $(tail -n 1 $work/log)"
done
# What --check reads of managers is in no directory that the unit hides.
mapfile -t files < <(sed -n '/^} rows\[\] = {/,/^};/{ s/^    {[^,]*, "\(\/[^"]*\)".*/\1/p; s/^     "\(\/[^"]*\)",$/\1/p; }' "$top/core/check/managers_io.c")
expect_at_least "files of managers" 6 ${#files[@]}
for file in "${files[@]}"; do
    case $file in
        /tmp/* | /var/tmp/*) hides=PrivateTmp ;;
        /home/* | /root/* | /run/user/*) hides=ProtectHome ;;
        *) continue ;;
    esac
    expect_equal "ib-hook-prometheus.service sees $file" "" "$(grep "^$hides=" "$work/fleet/ib-hook-prometheus.service" || true)"
done
expect_equal "a stop keeps the holds of --undo" "$(grep -l ^RuntimeDirectory= $work/*.service)" "$(grep -l ^RuntimeDirectoryPreserve=yes $work/*.service)"
expect_equal "what routes at boot waits for no /var from the network" "" "$(grep -e ^StateDirectory= -e ^PrivateTmp= $work/ib-hook.service || true)"

# Root's shell is what debhelper and the macros generate, and ten lines of ours in all of a package's scripts.
expect_at_least "the Debian package's own lines" "$(cat "$top"/packaging/debian/ib-hook.p{ostinst,rerm,ostrm} | grep -cv -e '^#' -e '^set -e$' -e '^ *$')" 10
expect_at_least "the RPMs' own lines" "$(awk '/^%(pre|post)(un|trans)?( |$)/ { script = 1; next } /^%(files|description|package|changelog|check|install|build|prep)/ { script = 0 }
    script && NF && !/^ *[%#]/' "$top/packaging/rpm/ib-hook.spec" | wc -l)" 10
