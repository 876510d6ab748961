#!/bin/sh
# Copies this tree as it would be committed to an empty directory: source-tree.sh DIRECTORY
set -eu
umask 022
target=$(realpath -m "$1")
cd "$(dirname "$0")/.."

files() { # without git: a released tree, in which only build/ is made
    if [ -e .git ] && git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard
    else
        find . \( -path './build*' -o -path ./.git \) -prune -o ! -type d -print | sed 's,^[.]/,,'
    fi
}

mkdir -p "$target"
files | while read -r file; do [ ! -e "$file" ] || echo "$file"; done | xargs -d '\n' cp -a --parents -t "$target"
