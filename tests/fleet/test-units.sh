#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The metrics' service and timer, in a booted system: metrics.sh runs beside it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
managers=$here/../managers
DEB=${DEB:-$(find "$here/../../build" -maxdepth 2 -name 'ib-hook_*.deb' | sort | tail -n 1)}
export DEB
[ -d "$("$managers/images" layers networkd-252 | cut -d: -f1)" ] || {
    echo "SKIP: there is no system: tests/managers/images build networkd-252"
    exit 77
}

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
bash "$managers/boot" networkd-252 hooks "$results" "$here/metrics.sh"
cat "$results/metrics.log"
exit "$(cut -d' ' -f1 "$results/metrics.status")"
