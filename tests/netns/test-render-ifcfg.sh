#!/bin/bash
# --render ifcfg: read as ifup-routes reads them, the lines route as --apply does.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lookups.sh"

needs sysctl

# What RHEL's ifup-routes does with each line of route-NIC, route6-NIC, rule-NIC, rule6-NIC.
read_file() { # FILE
    local name=${1##*/} type family=-4 line
    type=${name%%-*}
    [ "$type" = "${type%6}" ] || family=-6
    # shellcheck disable=SC2086,SC2162 # as it is there
    while read line; do
        [[ $line =~ ^[[:space:]]*(\#.*)?$ ]] || on B ip $family ${type%6} add $line
    done <"$1"
}

check_ifcfg() { # WHAT
    local file
    render_tree B ifcfg
    for file in "$work"/tree/etc/sysconfig/network-scripts/r*; do
        expect_lacks "$1: ${file##*/} is not in the form of keys" "ADDRESS" "$(<"$file")"
        read_file "$file"
    done
    expect_native "$1" B
}

make_full_host B
check_ifcfg "no gateway"
add_gateways B
check_ifcfg "gateways"

# What ib-hook had programmed itself goes when somebody else routes the NIC.
expect_hook 0 B --apply
for file in "$work"/tree/etc/sysconfig/network-scripts/r*; do read_file "$file"; done
expect_contains "both stand" "lookup 942" "$(ip -n B rule)"
expect_contains "both stand" "lookup 1942" "$(ip -n B rule)"
expect_hook 0 B --apply
expect_lacks "ib-hook's own are gone" "suppress_ifgroup" "$(ip -n B rule; ip -n B -6 rule)"
expect_lacks "and its tables" "metric $MARK" "$(ip -n B route show table all; ip -n B -6 route show table all)"
expect_hook 0 B --render ifcfg
expect_contains "a NIC that is deferred is left out" "Without ib1, no rail" "$out"
expect_contains "so are all" "There is no rail" "$out"
