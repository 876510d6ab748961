#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Main's routes by a rail's gateway are copied, unless they are a routing protocol's: of more than 512 only the default is.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
routes() { # HOW MANY: by a gateway in the rails' subnet
    local i
    ip -n B route flush root 10.0.0.0/8
    for ((i = 0; i < $1; i++)); do echo "route add 10.$((i / 250)).$((i % 250)).0/24 via 172.16.0.1 dev ib0 proto bgp"; done >$work/batch
    ip -n B -batch $work/batch
}
in_table() { ip -n B route show table "$1" | wc -l; } # beside the default route, which lies in another one
ip -n B route add default via 172.16.0.1 dev ib0

routes 500
expect_hook 0 B --apply
expect_equal "500 are copied, beside the subnet" 501 "$(in_table 941)"
expect_equal "for the other rail, too" 501 "$(in_table 942)"
expect_hook 0 B --check
routes 600
expect_hook 0 B --apply
expect_equal "of 600 only the default is" "1 1" "$(in_table 941) $(in_table 2941)"
expect_contains "that one" "default via 172.16.0.1" "$(ip -n B route show table 2942)"
expect_hook 0 B --check
routes 3
expect_hook 0 B --apply
expect_equal "few again" 4 "$(in_table 942)"
