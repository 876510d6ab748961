#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copies this tree as it would be committed to an empty directory: source-tree.sh DIRECTORY
set -eu
umask 022
target=$(realpath -m "$1")
cd "$(dirname "$0")/.."

# PROJECT= may name another file that says who publishes this.
project=$(realpath "${IBH_PROJECT:-packaging/project}")

# BUILD= may name a directory in the tree that .gitignore does not know.
build=$(realpath -m "${IBH_BUILD:-build}")
build=${build#"$PWD"/}

files() { # without git: a released tree, in which only build/ is made
    if [ -e .git ] && git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard
    else
        find . \( -path './build*' -o -path ./.git \) -prune -o ! -type d -print | sed 's,^[.]/,,'
    fi
}

mkdir -p "$target"
files | while read -r file; do
    case $file in
        "$build"/*) ;;
        *) [ ! -e "$file" ] || echo "$file" ;;
    esac
done | xargs -d '\n' cp -a --parents -t "$target"
cd "$target"

cp "$project" packaging/project
packaging/fill-in.sh .
