#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ../managers/boot runs beside a system that is used by ssh: lets $KEY in, and waits until that is over.
. "$(dirname "$0")/../managers/lib.sh"

install -d -m 0700 "$ROOT/root/.ssh"
cp "$KEY.pub" "$ROOT/root/.ssh/authorized_keys"
wait_until 10 host systemctl --quiet is-active ssh
touch "$RESULTS/ready"
wait_until "${LIMIT:-60}" test -e "$RESULTS/over"
