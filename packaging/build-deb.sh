#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the Debian package from a copy of the tree: build-deb.sh DIRECTORY
set -eu
umask 022
here=$(dirname "$0")
rm -rf "$1"
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$here/debian/changelog")
"$here/source-tree.sh" "$1/ib-hook-$version"
cd "$1/ib-hook-$version"
mv packaging/debian .
dpkg-buildpackage --build=binary --unsigned-changes --unsigned-buildinfo >../log 2>&1 || {
    cat ../log >&2
    exit 1
}
ls "$(dirname "$PWD")"/*.deb
