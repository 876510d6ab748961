#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# With packaging/project filled in, nothing is missing to publish: lintian says nothing, rpmlint has no error, and neither
# says that it is not known who publishes, though nothing of that is left out. The RPM is signed as `make repo` does it.
. "$(dirname "$0")/lib.sh"

needs lintian rpmlint gpg rpmsign createrepo_c apt-ftparchive
tree=$work/published/tree
"$top/packaging/source-tree.sh" $tree
sed -i 's|^MAINTAINER=.*|MAINTAINER="Jane Roe <jane.roe@debian.org>"|; s|^HOMEPAGE=.*|HOMEPAGE="https://ib-hook.example.org"|' $tree/packaging/project

"$tree/packaging/build-deb.sh" $work/deb >$work/log 2>&1 || fail "build-deb.sh" "$(<$work/log)"
expect_equal "lintian --pedantic" "" "$("$tree/tests/packages/lintian" $work/deb/*.changes)"
# shellcheck disable=SC2016 # dpkg's
expect_equal "the package says who and where" "Jane Roe <jane.roe@debian.org> https://ib-hook.example.org" \
    "$(dpkg-deb --showformat '${Maintainer} ${Homepage}' --show $work/deb/ib-hook_*.deb)"

export GNUPGHOME=$work/gnupg
mkdir -m 0700 $GNUPGHOME
gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key "Jane Roe <jane.roe@debian.org>" rsa2048 sign never 2>$work/log
REPO_KEY=jane.roe@debian.org "$tree/packaging/build-repo.sh" $work/repo "$(repack_rpm $work/published)" >$work/log 2>&1 || fail "build-repo.sh" "$(<$work/log)"
export HOME=$work # its keyring is there on Debian, and rpmlint asks for the key
rpm --import $work/repo/ib-hook.asc
sed '/no-signature\|no-packager-tag\|no-url-tag/d' $tree/packaging/rpm/rpmlint.toml >$work/rpmlint.toml
out=$(rpmlint -c $work/rpmlint.toml $work/repo/dnf/ib-hook-[0-9]*.rpm 2>&1 || true)
expect_contains "rpmlint: no error" " 0 errors, " "$out"
expect_equal "and nothing of who publishes" "" "$(grep -e signature -e packager -e url <<<"$out" || true)"
