#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the RPM from a copy of the tree, also on Debian: build-rpm.sh DIRECTORY [-bs] [OPTION of rpmbuild]…
# With -bs, only the source package. The unit tests are not run: they are those of `make check`. --with unit_tests runs them, as a distribution does.
set -eu
umask 022
here=$(dirname "$0")
top=$(realpath -m "$1")
shift
what=-bb
[ "${1:-}" != -bs ] || {
    what=-bs
    shift
}
[ $# -gt 0 ] || set -- --without unit_tests
rm -rf "$top"
version=$(sed -n 's/^Version: *//p' "$here/rpm/ib-hook.spec")
date=$(sed -n '/^ -- /{s/.*>  //p;q}' "$here/debian/changelog")
SOURCE_DATE_EPOCH=$(date -d "$date" +%s)
export SOURCE_DATE_EPOCH

# rpmbuild takes a blank for the end of a name, and % for a macro: where the path has such a character it is given a link.
place=$top
case $top in
    *[!A-Za-z0-9/._~+,:@=-]*)
        links=$(mktemp -d)
        trap 'rm -r "$links"' EXIT
        ln -s "$top" "$links/rpm"
        place=$links/rpm
        ;;
esac

"$here/source-tarball.sh" "$top/SOURCES/ib-hook-$version.tar.gz" >/dev/null
tar -x -z -O -f "$top/SOURCES/ib-hook-$version.tar.gz" "ib-hook-$version/packaging/rpm/ib-hook.spec" >"$top/ib-hook.spec"

# Elsewhere than on Fedora and RHEL the macros of systemd and SELinux that the spec asks for are these.
[ -n "$(rpm --eval '%{?systemd_post:1}')" ] || set -- --load "$(realpath "$here/rpm/macros")" "$@"

# --nodeps: Debian's rpm knows nothing of the packages that dpkg has installed. The rest makes equal bytes of equal trees.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES BUILD PREFIX # what the calling make was told is not for this one
rpmbuild $what --noclean --nodeps "$@" --define "_topdir $place" --define '_buildhost localhost' \
    --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
    "$place/ib-hook.spec" >"$top/log" 2>&1 || {
    cat "$top/log" >&2
    exit 1
}
find "$top" -path "$top/*RPMS/*" -name '*.rpm'
