#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# netplan apply with nothing changed: it configures every link twice.
. "$(dirname "$0")/lib.sh"

event host netplan apply
expect_repaired "nothing changed" "$RAILS"
expect_control gone
