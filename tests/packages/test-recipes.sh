#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What services that build packages are given, is enough for them: COPR makes a source RPM of a clone, the Open Build Service takes the
# files that its _service names, and a PPA builds our source package in a system that has nothing but a compiler and what the
# package asks for; there without a network, not as root, with the unit tests.
. "$(dirname "$0")/lib.sh"

needs rpmbuild rpm2cpio cpio git xmllint
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
version=$("$IB_HOOK" --version | sed 's/.* //')

# ---- COPR ----
"$top/packaging/source-tree.sh" $work/clone
(cd $work/clone && git init -q && git add . && git -c user.name=nobody -c user.email=nobody@localhost commit -qm clone)
(cd $work/clone && make -f .copr/Makefile srpm outdir=$work/copr spec=packaging/rpm/ib-hook.spec) >$work/log 2>&1 || fail "make srpm" "$(<$work/log)"
expect_equal "COPR's make srpm leaves a source package" "ib-hook-$version-1.src.rpm" "$(ls $work/copr)"
mkdir $work/srpm
rpm2cpio $work/copr/*.src.rpm | (cd $work/srpm && cpio --quiet -id)
expect_equal "with the spec and the release's tarball" "ib-hook-$version.tar.gz ib-hook.spec" "$(cd $work/srpm && echo *)"
"$top/packaging/source-tarball.sh" "$work/release/ib-hook-$version.tar.gz" >$work/log
expect_equal "and with the same bytes" "" "$(cmp $work/srpm/*.tar.gz $work/release/*.tar.gz)"
expect_equal "the clone is as it was" "" "$(git -C $work/clone status --short --ignored)"

# ---- the Open Build Service ----
# Its names are those of its services; the tarball is packed as they pack it.
service=$top/packaging/obs/_service
param() { # SERVICE NAME
    xmllint --xpath "string(//service[@name='$1']/param[@name='$2'])" "$service"
}
xmllint --noout "$service"
expect_equal "its services, in their order" "obs_scm set_version tar recompress" "$(xmllint --xpath '//service/@name' "$service" | sed 's/.*="\(.*\)"/\1/' | xargs)"
# shellcheck disable=SC2001 # a pattern of theirs
tag=$(sed "s/$(param obs_scm versionrewrite-pattern | sed 's/(\(.*\))/\\(\1\\)/')/\1/" <<<"v$version")
expect_equal "a tag is the version" "$version" "$tag"
mkdir -p $work/obs/SOURCES
cp "$work/clone/$(param obs_scm extract)" $work/obs/SOURCES
name=$(param obs_scm filename)-$tag
git -C $work/clone archive --prefix="$name/" HEAD >"$work/obs/SOURCES/$name.tar"
gzip "$work/obs/SOURCES/$name.tar"
expect_equal "compressed, it is what the spec wants" "$(rpmspec -P $work/obs/SOURCES/ib-hook.spec | sed -n 's/^Source0: *//p')" "$name.tar.$(param recompress compression)"
rpmbuild -bp --nodeps --load "$top/packaging/rpm/macros" --define "_topdir $work/obs" $work/obs/SOURCES/ib-hook.spec >$work/log 2>&1 || fail "rpmbuild -bp" "$(<$work/log)"
expect_equal "and the spec finds the sources in it" ib-hook.spec "$(basename "$(echo $work/obs/BUILD/*/packaging/rpm/*.spec)")"

# ---- a PPA ----
CHROOT=$IBH_BUILD/packages/builder
make_root
mkdir $root/build
cp "$(dirname "$deb")"/*.dsc "$(dirname "$deb")"/*.orig.tar.gz "$(dirname "$deb")"/*.debian.tar.xz $root/build
chown -R nobody $root/build
mount --rbind /dev $root/dev
mount -t tmpfs -o mode=1777 tmpfs $root/tmp
expect_equal "what the package does not ask for is not there" "" "$(inside sh -c 'command -v git strace ip || :')"
inside runuser -u nobody -- sh -c 'cd /build && dpkg-source -x *.dsc tree && cd tree && dpkg-buildpackage --build=binary -us -uc' >$work/log 2>&1 ||
    fail "dpkg-buildpackage" "$(tail -n 40 $work/log)"
expect_contains "the unit tests have passed" " passed, 0 failed, 0 skipped" "$(grep passed $work/log || true)"
expect_equal "the packages have the same files as ours" "$(dpkg-deb --contents "$deb" | awk '{ print $1, $2, $6 }')" \
    "$(dpkg-deb --contents $root/build/"${deb##*/}" | awk '{ print $1, $2, $6 }')"
