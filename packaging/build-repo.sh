#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes signed repositories of built packages: build-repo.sh DIRECTORY PACKAGE…
#
#   DIRECTORY/apt  of .deb files    DIRECTORY/dnf  of .rpm files    DIRECTORY/ib-hook.asc  the public key of both
#
# REPO_KEY in the environment names the key: an address or a fingerprint, in the keyring of the one who runs this (GNUPGHOME).
# The .rpm files get its signature, too; the packages that were given stay as they are.
set -eu
umask 022
[ $# -gt 1 ] || {
    sed -n '3,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
[ -n "${REPO_KEY:-}" ] || {
    echo "build-repo.sh: REPO_KEY does not name a key: set it to an address or a fingerprint that \`gpg --list-secret-keys\` shows" >&2
    exit 2
}
top=$(realpath -m "$1")
shift
rm -rf "$top"
mkdir -p "$top/apt" "$top/dnf"
gpg --batch --armor --export "$REPO_KEY" >"$top/ib-hook.asc"
[ -s "$top/ib-hook.asc" ] || {
    echo "build-repo.sh: REPO_KEY=$REPO_KEY: gpg knows no such key; \`gpg --list-secret-keys\` shows those that it has" >&2
    exit 1
}

sign() { # OPTION…
    gpg --batch --yes --quiet --local-user "$REPO_KEY" "$@"
}

for package in "$@"; do
    case $package in
        *.deb) cp "$package" "$top/apt" ;;
        *.rpm) cp "$package" "$top/dnf" ;;
        *)
            echo "build-repo.sh: $package: only .deb and .rpm files are packages" >&2
            exit 2
            ;;
    esac
done

cd "$top/apt"
apt-ftparchive packages . >Packages
gzip -9kn Packages
apt-ftparchive -o APT::FTPArchive::Release::Origin=ib-hook -o APT::FTPArchive::Release::Label=ib-hook release . >"$top/Release"
mv "$top/Release" .
sign --clearsign --output InRelease Release
sign --armor --detach-sign --output Release.gpg Release

cd "$top/dnf"
set -- *.rpm
[ ! -e "$1" ] || rpmsign --define "_gpg_name $REPO_KEY" --define "__gpg $(command -v gpg)" --addsign "$@" >"$top/log" 2>&1 || {
    cat "$top/log" >&2
    exit 1
}
rm -f "$top/log"
createrepo_c --quiet .
sign --armor --detach-sign --output repodata/repomd.xml.asc repodata/repomd.xml
echo "$top"
