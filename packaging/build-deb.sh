#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the Debian package, and its source package beside it, from a copy of the tree:
# build-deb.sh DIRECTORY [OPTION of dpkg-buildpackage]…
# --build=source makes only the source package; --sign-key=KEY signs it. IBH_SERIES=NAME in the environment makes it one for this
# series of a distribution: ib-hook (VERSION~NAME1), as a PPA has one for each of Ubuntu's.
# The unit tests are not run: they are those of `make check`. Who sets DEB_BUILD_OPTIONS decides: DEB_BUILD_OPTIONS= runs them,
# as a build of the source package does.
set -eu
umask 022
here=$(dirname "$0")
top=$(realpath -m "$1")
shift
rm -rf "$top"
mkdir -p "$top"
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$here/debian/changelog")
upstream=${version%-*}
"$here/source-tarball.sh" "$top/ib-hook-$upstream.tar.gz" >/dev/null
tar -x -C "$top" -f "$top/ib-hook-$upstream.tar.gz"
mv "$top/ib-hook-$upstream.tar.gz" "$top/ib-hook_$upstream.orig.tar.gz"

cd "$top/ib-hook-$upstream"
cp -a packaging/debian .
[ -z "${IBH_SERIES:-}" ] || sed -i "1s/(\(.*\)) [a-z]*;/(\1~${IBH_SERIES}1) $IBH_SERIES;/" debian/changelog
case " $*" in *' --build='*) ;; *) set -- --build=full "$@" ;; esac
case " $*" in *' --sign-key='*) ;; *) set -- --unsigned-source --unsigned-changes --unsigned-buildinfo "$@" ;; esac
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-nocheck}"
case " $DEB_BUILD_OPTIONS " in
    *' nocheck '*) export DEB_BUILD_PROFILES="${DEB_BUILD_PROFILES:-} nocheck" ;;
esac
# What the calling make was told is not for this one.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES BUILD PREFIX
dpkg-buildpackage "$@" >../log 2>&1 || {
    cat ../log >&2
    exit 1
}
find "$top" -maxdepth 1 \( -name '*.deb' -o -name '*.dsc' -o -name '*_source.changes' \)
