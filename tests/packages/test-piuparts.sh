#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's own test of a package's life: installed, removed, installed again, purged, upgraded; and nothing is left of it.
. "$(dirname "$0")/lib.sh"

needs piuparts dpkg-scanpackages
make_root
# All that this system knows to install: the version that is upgraded from.
mkdir $root/srv/archive $work/tmp
cp "$(older)" $root/srv/archive
(cd $root/srv/archive && dpkg-scanpackages . 2>/dev/null >Packages)
rm -f $root/etc/apt/sources.list.d/* $root/run/calls
echo 'deb [trusted=yes] file:/srv/archive ./' >$root/etc/apt/sources.list
inside apt-get update -q -o APT::Sandbox::User=root >$work/log 2>&1 || fail "apt-get update" "$(<$work/log)"
mkdir -p $root/var/cache/debconf/tmp.ci # apt-utils leaves it behind, whatever is installed
umount $root/proc $root/run # piuparts copies what is there

piuparts --distribution=stable --existing-chroot $root --keep-sources-list --tmpdir $work/tmp --no-eatmydata \
    --install-remove-install --fail-on-broken-symlinks "$deb" >$work/piuparts 2>&1 || fail "piuparts" "$(<$work/piuparts)"
for part in "Installation and purging test" "Installation, upgrade and purging tests" "All tests"; do
    expect_contains "piuparts: $part" "PASS: $part" "$(grep -o 'INFO: .*' $work/piuparts)"
done
expect_equal "and no warning" "" "$(grep -e WARN -e ERROR $work/piuparts || true)"
