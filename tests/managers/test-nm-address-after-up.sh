#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A connection is up as soon as one family is. Where IPv6 is first and NetworkManager (1.52 by default) looks for conflicts
# before it sets the IPv4 address, that comes after the last event: no hook is called for it.
. "$(dirname "$0")/lib.sh"

ipv6_first() {
    host nmcli connection modify "${PROFILE}ib1" ipv6.method link-local ipv4.dad-timeout 2000
    host nmcli connection up "${PROFILE}ib1"
}

event ipv6_first
wait_until 10 has_address ib1 172.16.34.2
expect_repaired "the address came late" "$RAILS" 'nm-*'
