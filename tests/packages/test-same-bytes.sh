#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Both packages, built a second time somewhere else, have the same bytes: the Debian package from its source package, as a
# distribution builds it, and the RPM in another place; both with the unit tests.
. "$(dirname "$0")/lib.sh"

build_source_package() {
    dpkg-source -x "$(dirname "$deb")"/ib-hook_*.dsc $work/deb/ib-hook
    cp "$(dirname "$deb")"/*.orig.tar.gz $work/deb
    cd $work/deb/ib-hook
    env -u DEB_BUILD_OPTIONS -u DEB_BUILD_PROFILES dpkg-buildpackage --build=full -us -uc
}
mkdir $work/deb
place="$work/a päth with blanks & 100%/rpm"
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
build_source_package >$work/log 2>&1 &
"$top/packaging/build-rpm.sh" "$place" --with unit_tests >$work/log.rpm
wait $! || fail "the source package cannot be built" "$(tail -n 40 $work/log)"
expect_contains "the unit tests have passed in the RPM's build" " passed, 0 failed, 0 skipped" "$(grep passed "$place/log" || true)"
for one in "$deb" "${deb/ib-hook_/ib-hook-dbgsym_}" "$(dirname "$deb")"/*.dsc "$(dirname "$deb")"/*.debian.tar.xz; do
    cmp "$one" "$work/deb/$(basename "$one")" || fail "$(basename "$one") differs"
    ok "$(basename "$one")"
done
(umask 077 && "$top/packaging/source-tarball.sh" "$work/ib-hook-$("$IB_HOOK" --version | sed 's/.* //').tar.gz" >$work/log.tar)
cmp "$(dirname "$deb")"/*.orig.tar.gz $work/ib-hook-*.tar.gz || fail "the release's tarball differs"
ok "the release's tarball"
expect_contains "its unit tests have passed" " passed, 0 failed, 0 skipped" "$(grep passed $work/log || true)"
expect_lacks "which make deb leaves to make check" " passed, " "$(grep passed "$(dirname "$deb")/log" || true)"
cmp "$rpm" "$place"/RPMS/*/"${rpm##*/}" || fail "$(basename "$rpm") differs"
ok "$(basename "$rpm")"
