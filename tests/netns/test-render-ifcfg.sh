#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --render ifcfg: read as ifup-routes reads them, the lines route as --apply does.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lookups.sh"

needs sysctl

# RHEL's own ifup-routes, where there is one: NETWORK_SCRIPTS=DIR. Its licence is not ours, so there is none here.
scripts=${NETWORK_SCRIPTS:-/etc/sysconfig/network-scripts}
files=$work/tree/etc/sysconfig/network-scripts
if [ "$rooted" = yes ] && [ -e "$scripts/ifup-routes" ]; then
    system_config ""
    mkdir -p /etc/sysconfig/network-scripts
    cp "$scripts"/{ifup-routes,ifdown-routes,network-functions} /etc/sysconfig/network-scripts/ 2>/dev/null || true
    export __sed_discard_ignored_files=none # or else it reads more files
    reader=itself
else
    reader=repeated
fi
echo "# ifup-routes: $reader"

run_routes() { # ifup|ifdown
    local nic
    cp "$files"/r* /etc/sysconfig/network-scripts/
    for nic in ib0 ib1; do
        on B bash "/etc/sysconfig/network-scripts/$1-routes" $nic >$work/said 2>&1 || fail "$1-routes $nic" "$(<$work/said)"
        expect_equal "$1-routes $nic has nothing to complain of" "" "$(<$work/said)"
    done
}

# What ifup-routes does with each line of route-NIC, route6-NIC, rule-NIC, rule6-NIC; ifdown-routes with those of rules.
repeat_routes() { # ifup|ifdown
    local file type family line verb=add pattern=r
    [ "$1" = ifup ] || verb=del pattern=rule
    for file in "$files"/"$pattern"*; do
        type=${file##*/} type=${type%%-*} family=-4
        [ "$type" = "${type%6}" ] || family=-6
        # shellcheck disable=SC2086,SC2162 # as it is there
        while read line; do
            [[ $line =~ ^[[:space:]]*(\#.*)?$ ]] || on B ip $family ${type%6} $verb $line
        done <"$file"
    done
}

routes() { # ifup|ifdown
    if [ $reader = itself ]; then run_routes "$1"; else repeat_routes "$1"; fi
}

check_ifcfg() { # WHAT
    local file before
    before=$(ip -n B rule; ip -n B -6 rule)
    render_tree B ifcfg
    for file in "$files"/r*; do
        expect_lacks "$1: ${file##*/} is not in the form of keys" "ADDRESS" "$(<"$file")"
    done
    routes ifup
    expect_contains "$1: there are rules" "lookup 1942" "$(ip -n B rule)"
    routes ifdown
    expect_equal "$1: ifdown leaves no rule" "$before" "$(ip -n B rule; ip -n B -6 rule)"
    for file in 1941 1942 3941 3942; do
        ip -n B route flush table $file 2>/dev/null || true # a table that has never been used
        ip -n B -6 route flush table $file 2>/dev/null || true
    done
    routes ifup
    expect_native "$1" B
}

make_full_host B
check_ifcfg "no gateway"
add_gateways B
check_ifcfg "gateways"

# What ib-hook had programmed itself goes when somebody else routes the NIC.
expect_hook 0 B --apply
routes ifup
expect_contains "both stand" "lookup 942" "$(ip -n B rule)"
expect_contains "both stand" "lookup 1942" "$(ip -n B rule)"
expect_hook 0 B --apply
expect_lacks "ib-hook's own are gone" "suppress_ifgroup" "$(ip -n B rule; ip -n B -6 rule)"
expect_lacks "and its tables" "metric $MARK" "$(ip -n B route show table all; ip -n B -6 route show table all)"
expect_hook 0 B --render ifcfg
expect_contains "rendered again, the rules of these files are still in it" "from 172.16.34.2 to 172.16.0.0/16 table 1942" "$out"
