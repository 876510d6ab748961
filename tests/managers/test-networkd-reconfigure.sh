#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# networkctl reconfigure, of a rail and of a NIC that is none: systemd-networkd deletes all foreign rules in both cases, and
# before 257 flushes the table of the rail.
. "$(dirname "$0")/lib.sh"

event host networkctl reconfigure ib1
expect_repaired "a rail is reconfigured" "$RAILS" networkd-alone
expect_control gone

event host networkctl reconfigure eth0
expect_repaired "another NIC is reconfigured" "$RAILS"
expect_control gone
