#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A NIC is plugged in that has nothing to do with the rails, and systemd-networkd configures it.
. "$(dirname "$0")/lib.sh"
only 'networkd-*'

plug_in() {
    network eth3 Address=10.8.0.1/24
    host networkctl reload
    add_nic B eth3 3
    ip -n wire link set B.3 master br1
    wait_until 10 is_configured
}

is_configured() {
    [[ $(host networkctl --no-legend --no-pager list eth3) == *' configured'* ]]
}

event plug_in
expect_repaired "a NIC is plugged in" "$RAILS"
expect_control gone
remove_nic B eth3
