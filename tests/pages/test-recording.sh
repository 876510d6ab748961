#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The picture in the README is what this ib-hook shows; make recording makes it anew.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
for tool in script python3; do
    command -v $tool >/dev/null || {
        echo "SKIP: $tool is not installed"
        exit 77
    }
done
picture=$(mktemp)
trap 'rm -f "$picture"' EXIT
"$top/packaging/doc/record" >"$picture"
if ! diff "$top/packaging/doc/recording.svg" "$picture"; then
    echo "not ok 1 - packaging/doc/recording.svg is what ib-hook shows: make recording"
    exit 1
fi
echo "ok 1 - packaging/doc/recording.svg is what ib-hook shows"
