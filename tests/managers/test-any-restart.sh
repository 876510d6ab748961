#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The manager is restarted. systemd-networkd 252 flushes the rails' tables then; nobody loses a rule of ours.
. "$(dirname "$0")/lib.sh"

event restart
expect_repaired "after the restart" "$RAILS"
expect_control
