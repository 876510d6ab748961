#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Packs this tree as a release: source-tarball.sh FILE. Equal trees make equal bytes, at any time and with any umask.
set -eu
here=$(dirname "$0")
date=$(sed -n '/^ -- /{s/.*>  //p;q}' "$here/debian/changelog")
name=$(basename "$1" .tar.gz)
mkdir -p "$(dirname "$1")"
place=$(cd "$(dirname "$1")" && pwd)
rm -rf "${place:?}/$name"
"$here/source-tree.sh" "$place/$name"
tar -c -C "$place" --sort=name --mtime="$date" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX "$name" |
    gzip -9n >"$place/$name.tar.gz"
rm -r "${place:?}/$name"
echo "$1"
