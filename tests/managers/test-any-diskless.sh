#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A node without a disk: each boot begins with the files of the image, which has ib-hook and rails=2, and keeps what it writes
# in memory. At the second boot a cable is out: no memory tells of that rail, the number does.
. "$(dirname "$0")/lib.sh"
only nm-1.52 networkd-252

power_off
printf '[defaults]\nrails=2\n' >"$ROOT/etc/ib-hook/ib-hook.conf"
rm -r "$ROOT/var/lib/ib-hook"
: >"$ROOT/etc/machine-id"
image=$ROOT ROOT=$work/node
mkdir -p "$ROOT" $work/memory

boot_image() {
    mount -t tmpfs tmpfs $work/memory
    mkdir $work/memory/files $work/memory/work
    mount -t overlay overlay -o "lowerdir=$image,upperdir=$work/memory/files,workdir=$work/memory/work" "$ROOT"
    power_on
}

forget_boot() {
    power_off
    umount "$ROOT" $work/memory
}

boot_image
settle "$RAILS" 30
expect_check "$RAILS"
forget_boot

[ ! -e "$image/var/lib/ib-hook" ] || fail "the image remembers nothing"
UNPLUGGED=cable boot_image
wait_until 30 says " rails-missing"
expect_contains "--check names the port" "mlx5_1/1" "$(jq -r '.findings[] | select(.code == "rails-missing") | .message' $work/check.json)"
forget_boot

rm "$image/etc/ib-hook/ib-hook.conf"
mkdir -p "$image/var/lib/ib-hook"
ROOT=$image power_on
settle "$RAILS" 30
