#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nmcli device reapply, with nothing changed and with another address. NetworkManager says that it is done before the address
# is there: 1.42 a moment before, 1.52 0.2 s, in which it looks for conflicts.
. "$(dirname "$0")/lib.sh"

event host nmcli device reapply ib0
expect_repaired "nothing changed" "$RAILS"
expect_control kept

modify_and_reapply() {
    host nmcli connection modify "${PROFILE}ib1" ipv4.addresses 172.16.34.22/16
    host nmcli device reapply ib1
}

event modify_and_reapply
expect_repaired "another address" "ib0:941:172.16.34.1 ib1:942:172.16.34.22"
expect_control kept
