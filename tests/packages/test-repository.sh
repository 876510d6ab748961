#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make repo` makes: apt and dnf install from it by file:, with its signatures, in a fresh system; with another key they
# refuse.
. "$(dirname "$0")/lib.sh"

needs gpg apt-ftparchive createrepo_c rpmsign dnf
export GNUPGHOME=$work/gnupg
key() { # NAME: a throw-away key
    gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key "$1 <$1@example.org>" rsa2048 sign never 2>>$work/log
}
mkdir -m 0700 $GNUPGHOME
key owner
key stranger
build() { # KEY
    REPO_KEY=$1 "$top/packaging/build-repo.sh" $work/repo "$deb" "$rpm" "$selinux" "$network_scripts" 2>&1
}
expect_contains "without a key it says which variable names one" "REPO_KEY" "$(build "" || true)"
expect_contains "a key that gpg has not is named" "REPO_KEY=nobody@example.org" "$(build nobody@example.org || true)"
expect_equal "with a key it says where the repositories are" $work/repo "$(build owner@example.org)"

make_root
mkdir -p $root/srv/repo $root/etc/apt/keyrings
mount --bind $work/repo $root/srv/repo
gpg --armor --export stranger@example.org >$root/etc/apt/keyrings/stranger.asc
cp $work/repo/ib-hook.asc $root/etc/apt/keyrings

# ---- apt, as it is in the system -------------------------------------------------------------------

rm -rf $root/etc/apt/sources.list $root/etc/apt/sources.list.d/*
by_apt() { # KEY COMMAND…
    echo "deb [signed-by=/etc/apt/keyrings/$1.asc] file:/srv/repo/apt ./" >$root/etc/apt/sources.list.d/ib-hook.list
    inside apt-get -q -o APT::Sandbox::User=root -o Debug::NoLocking=1 "${@:2}" </dev/null 2>&1
}
expect_contains "apt refuses another key's" "NO_PUBKEY" "$(by_apt stranger update --error-on=any || true)"
by_apt ib-hook update --error-on=any >$work/log || fail "apt-get update" "$(<$work/log)"
by_apt ib-hook install -y --no-install-recommends ib-hook >$work/log || fail "apt-get install" "$(<$work/log)"
# shellcheck disable=SC2016 # dpkg's
expect_equal "apt installs it" "install ok installed" "$(inside dpkg-query -W -f='${Status}' ib-hook)"
expect_equal "and it runs" "$("$IB_HOOK" --version)" "$(inside ib-hook --version)"
by_apt ib-hook purge -y ib-hook >$work/log || fail "apt-get purge" "$(<$work/log)"

# ---- dnf, of this machine, into the system; what the RPMs need of others, a package claims to be ----

cat >$work/system.spec <<'SPEC'
Name: system
Version: 1
Release: 1
Summary: What the packages need
License: None
BuildArch: noarch
%description
What the packages need.
%files
SPEC
for one in "$rpm" "$selinux" "$network_scripts"; do rpm -qp --requires "$one" 2>/dev/null; done |
    sed -n '/^rpmlib\|^ib-hook\|^config(\|^(/!s/^/Provides: /p' | sort -u >$work/provides
sed -i "/^BuildArch/r $work/provides" $work/system.spec
rpmbuild -bb --define "_topdir $work/system" $work/system.spec >$work/log 2>&1 || fail "rpmbuild" "$(<$work/log)"
createrepo_c --quiet $work/system/RPMS/noarch

by_dnf() { # KEY COMMAND…
    mkdir -p $work/dnf
    printf '%s\n' "[main]" "reposdir=$work/dnf" "cachedir=$work/dnf/cache" "logdir=$work/dnf" "persistdir=$work/dnf/state" "plugins=0" \
        "[system]" "name=system" "baseurl=file://$work/system/RPMS/noarch" "gpgcheck=0" \
        "[ib-hook]" "name=ib-hook" "baseurl=file://$work/repo/dnf" "gpgcheck=1" "repo_gpgcheck=1" \
        "gpgkey=file://$root/etc/apt/keyrings/$1.asc" >$work/dnf.conf
    dnf --config $work/dnf.conf --installroot "$root" --releasever 9 -y "${@:2}" </dev/null 2>&1
}
expect_contains "dnf refuses another key's" "GPG" "$(by_dnf stranger install ib-hook || true)"
[ ! -e $root/usr/bin/ib-hook ] || fail "it is installed"
rm -rf $work/dnf
by_dnf ib-hook install ib-hook ib-hook-network-scripts >$work/log || fail "dnf install" "$(<$work/log)"
expect_equal "dnf installs it" "ib-hook ib-hook-network-scripts" \
    "$(rpm --root $root -qa 2>/dev/null | sed -n 's/^\(ib-hook.*\)-[0-9].*-.*/\1/p' | grep -v selinux | sort | xargs)"
expect_equal "and it runs" "$("$IB_HOOK" --version)" "$(inside ib-hook --version)"

# ---- the README's command, with the packages that make rpm left, where SELinux's policy is installed ----

packages=$(sed -n 's,.*sudo dnf install build/\(rpm/[^ ]*\).*,\1,p' "$top/README.md")
by_readme() { # SYSTEM GLOB
    local files
    eval "files=('$IBH_BUILD'/$2)" # the README's pattern, which the user's shell expands
    root=$1 by_dnf ib-hook --disablerepo=ib-hook --setopt=tsflags=test install system "${files[@]}"
}
by_readme $work/readme "$packages" >$work/log || fail "dnf install $packages" "$(<$work/log)"
expect_contains "ib-hook alone is refused there: the policy needs a module" "requires (ib-hook-selinux if selinux-policy" \
    "$(by_readme $work/alone 'rpm/RPMS/*/ib-hook-[0-9]*.rpm' || true)"
