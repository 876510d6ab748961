#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Since Linux 5.11, ignore_routes_with_linkdown of conf/all counts for each NIC: --check knows that the kernel then passes over a
# more exact route of main through a NIC without a carrier, and does not name this route.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
add_nic B eth5 5 10.5.0.1/24
wait_until 5 settled B
ip -n B route add 172.16.50.0/24 dev eth5
expect_hook 0 B --apply
ip -n wire link set B.5 down
has_no_carrier() { [[ $(ip -n B link show eth5) = *NO-CARRIER* ]]; }
wait_until 5 has_no_carrier
leaves_through() { ip -n B -o route get 172.16.50.9 from 172.16.34.1 | sed -E 's/.* dev ([^ ]+).*/\1/'; }

for all in 0 1; do
    sysctl_set B all ignore_routes_with_linkdown $all
    expect_hook 0 B --check --json
    if [ "$(leaves_through)" = eth5 ]; then # also with all=1, before Linux 5.11
        expect_equal "all=$all: the route decides" "foreign-route" "$(json '.findings[].code')"
    else
        expect_equal "all=$all: the kernel passes over the route" "" "$(json '.findings[].code')"
    fi
done
