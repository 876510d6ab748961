#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# To publish is one file: with packaging/project filled in, nothing is missing. A release says on all its pages who answers; lintian
# says nothing, rpmlint has no error, and neither says that it is not known who publishes, though nothing of that is left out. The
# RPM is signed as `make repo` does it.
. "$(dirname "$0")/lib.sh"

needs lintian rpmlint gpg rpmsign createrepo_c apt-ftparchive mandoc man xmllint
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
cat >$work/project <<'E'
MAINTAINER="Jane Roe <jane.roe@debian.org>"
HOMEPAGE="https://ib-hook.example.org/?page=1&rail=2"
REPORT="https://git.example.org/ib-hook/issues"
VCS="https://git.example.org/ib-hook.git"
E
make -s -C "$top" BUILD=$work/release PROJECT=$work/project dist >$work/log 2>&1 || fail "make dist" "$(<$work/log)"
tree=$work/published/tree
mkdir -p $work/published
tar -x -C $work/published -f $work/release/dist/ib-hook-*.tar.gz
mv $work/published/ib-hook-* $tree

# ---- pages ----
help=$(sed -n '/^## Help and bugs$/,/^## Work on it$/p' $tree/README.md)
for said in "<https://ib-hook.example.org/?page=1&rail=2>" "<https://git.example.org/ib-hook/issues>" "Jane Roe <jane.roe@debian.org>"; do
    expect_contains "README.md, Help and bugs" "$said" "$help"
done
manual=$(LC_ALL=C MANWIDTH=200 man --local-file $tree/packaging/man/ib-hook.8 | col -b)
expect_contains "ib-hook(8), BUGS" "listed at https://git.example.org/ib-hook/issues." "$(sed -n '/^BUGS$/,/^REPORTING/p' <<<"$manual")"
reporting=$(sed -n '/^REPORTING BUGS$/,$p' <<<"$manual" | tr -s ' \n' ' ')
expect_contains "REPORTING BUGS" "at https://git.example.org/ib-hook/issues." "$reporting"
expect_contains "and whom to write to in private" "write to Jane Roe <jane.roe@debian.org> in private" "$reporting"
expect_equal "mandoc -Tlint has nothing more to say" "$(mandoc -Tlint -Wwarning "$top/packaging/man/ib-hook.8" | sed 's/.*ib-hook.8://')" \
    "$(mandoc -Tlint -Wwarning $tree/packaging/man/ib-hook.8 | sed 's/.*ib-hook.8://')"
expect_contains "core/SECURITY.md sends to somebody" "write to Jane Roe <jane.roe@debian.org> in private" "$(<$tree/core/SECURITY.md)"
expect_equal "NEWS has the day" "$("$IB_HOOK" --version | sed 's/.* //') ($(date -u -d "$(dpkg-parsechangelog -l $tree/packaging/debian/changelog -S Date)" +%F))" "$(sed 1q $tree/NEWS)"
expect_equal "the Open Build Service takes the repository" https://git.example.org/ib-hook.git \
    "$(xmllint --xpath 'string(//service[@name="obs_scm"]/param[@name="url"])' $tree/packaging/obs/_service)"
expect_equal "nothing is left that was empty" "" "$(grep -rl ib-hook@invalid $tree --exclude-dir=tests || true)"

# ---- again ----
make -s -C $tree dist >$work/log 2>&1 || fail "make dist, in a release" "$(<$work/log)"
cmp $work/release/dist/*.tar.gz $tree/build/dist/*.tar.gz || fail "a release of a release differs"
ok "a release of a release has the same bytes"
rm -r $tree/build
"$top/packaging/source-tree.sh" $work/own
make -s -C $work/own project PROJECT=$work/project
expect_equal "make project writes the same into the tree" "" "$(diff -r $tree $work/own)"
sed -i 's/issues"/bugs"/' $work/own/packaging/project
make -s -C $work/own project
expect_equal "and later what has changed since, in place of it" "" "$({ diff -r $tree $work/own || true; } | sed -n '/^< .*\/issues/d; /^> .*\/bugs/d; /^[<>]/p')"
rm -r $work/own

# ---- packages ----
"$tree/packaging/build-deb.sh" $work/deb >$work/log 2>&1 || fail "build-deb.sh" "$(<$work/log)"
expect_equal "lintian --pedantic" "" "$("$tree/tests/packages/lintian" $work/deb/*.changes)"
# shellcheck disable=SC2016 # dpkg's
expect_equal "the package says who and where" "Jane Roe <jane.roe@debian.org> https://ib-hook.example.org/?page=1&rail=2" \
    "$(dpkg-deb --showformat '${Maintainer} ${Homepage}' --show $work/deb/ib-hook_*.deb)"
expect_equal "the source package says from which repository" "Vcs-Browser: https://git.example.org/ib-hook
Vcs-Git: https://git.example.org/ib-hook.git" "$(grep ^Vcs- $work/deb/*.dsc)"

export GNUPGHOME=$work/gnupg
mkdir -m 0700 $GNUPGHOME
gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key "Jane Roe <jane.roe@debian.org>" rsa2048 sign never 2>$work/log
REPO_KEY=jane.roe@debian.org "$tree/packaging/build-repo.sh" $work/repo "$(repack_rpm $work/published)" >$work/log 2>&1 || fail "build-repo.sh" "$(<$work/log)"
expect_equal "the RPM says who and where" "Jane Roe <jane.roe@debian.org>
https://ib-hook.example.org/?page=1&rail=2
https://git.example.org/ib-hook/issues
git:https://git.example.org/ib-hook.git" \
    "$(rpm -qp --queryformat '%{PACKAGER}\n%{URL}\n%{BUGURL}\n%{VCS}' $work/repo/dnf/ib-hook-[0-9]*.rpm 2>/dev/null)"
export HOME=$work # its keyring is there on Debian, and rpmlint asks for the key
rpm --import $work/repo/ib-hook.asc
sed '/no-signature\|no-packager-tag\|no-url-tag/d' $tree/packaging/rpm/rpmlint.toml >$work/rpmlint.toml
out=$(rpmlint -c $work/rpmlint.toml $work/repo/dnf/ib-hook-[0-9]*.rpm 2>&1 || true)
expect_contains "rpmlint: no error" " 0 errors, " "$out"
expect_equal "and nothing of who publishes" "" "$(grep -e signature -e packager -e url <<<"$out" || true)"

# ---- a source package for a PPA, signed ----
REPO_KEY=jane.roe@debian.org make -s -C "$top" BUILD=$work/release PROJECT=$work/project dist-deb SERIES=noble >$work/log 2>&1 ||
    fail "make dist-deb" "$(<$work/log)"
cd $work/release/dist-deb
expect_equal "it is of its series" "$("$IB_HOOK" --version | sed 's/.* //')-1~noble1 noble" "$(sed -n 's/^Distribution: //p; s/^Version: //p' ./*_source.changes | xargs)"
expect_equal "it has no packages" "" "$(find . -name '*.deb')"
expect_equal "its tarball is the release's" "" "$(cmp ./*.orig.tar.gz ../dist/*.tar.gz)"
for file in *.dsc *_source.changes; do
    gpg --verify "$file" >$work/log 2>&1 || fail "$file is not signed" "$(<$work/log)"
    ok "$file is signed"
done
