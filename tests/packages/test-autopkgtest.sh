#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The package's own test (packaging/debian/tests), as Debian runs it: the built package is installed, then tested.
. "$(dirname "$0")/lib.sh"

needs autopkgtest dpkg-source
make_root
rm -f $root/etc/apt/sources.list.d/* && : >$root/etc/apt/sources.list # nothing has to be fetched
mount --rbind /dev $root/dev
mount -t tmpfs tmpfs $root/tmp

# autopkgtest has dpkg-source (of dpkg-dev) apply patches there. There are none: one that does nothing is enough.
mkdir -p $work/dpkg-dev/DEBIAN $work/dpkg-dev/usr/bin
ln -s true $work/dpkg-dev/usr/bin/dpkg-source
printf 'Package: dpkg-dev\nVersion: 9\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: a name\n' \
    >$work/dpkg-dev/DEBIAN/control
dpkg-deb -b $work/dpkg-dev $root/dpkg-dev.deb >$work/log
inside dpkg -i /dpkg-dev.deb >$work/log
dpkg-source -x "$(dirname "$deb")"/ib-hook_*.dsc $work/source >$work/log 2>&1

autopkgtest --no-built-binaries --output-dir $work/out $work/source "$deb" -- chroot $root >$work/log 2>&1 ||
    fail "autopkgtest ends with $?" "$(<$work/log)"
expect_equal "its tests pass" "rails PASS" "$(tr -s ' ' <$work/out/summary)"
expect_equal "and leave nothing behind" "" "$(inside dpkg -P ib-hook >$work/log 2>&1; cd $root && find etc run -name '*ib-hook*')"
