#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ifdown -a and ifup -a, and what they are called with: IFACE=--all is neither an option nor an interface.
. "$(dirname "$0")/lib.sh"

all_down_and_up() {
    host ifdown -a
    host ifup -a
}

event all_down_and_up
expect_repaired "all are up again" "$RAILS"
