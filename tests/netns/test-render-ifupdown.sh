#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --render ifupdown: a real ifup takes the lines, and what comes of them routes as --apply does.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lookups.sh"

lay_over_usr
type -P ifup >/dev/null || skip "ifupdown is not here: make $IBH_BUILD/unpacked/.complete"
needs sysctl
mkdir -p /run/network

# The stanzas that give ib0 and ib1 their addresses, with the lines that were rendered for them.
write_interfaces() {
    local line number
    while IFS= read -r line; do
        echo "$line"
        case $line in
            "# /etc/network/interfaces: iface ib"*)
                line=${line#*: } number=${line#iface ib} number=${number%% *}
                echo "$line static"
                case $line in
                    *inet) echo "    address 172.16.34.$((number + 1))/16" ;;
                    *inet6) printf '    address fd00:34::%d/64\n    dad-attempts 0\n' $((number + 1)) ;;
                esac
                case $line in
                    *ib0*inet) [ -z "$gateways" ] || echo "    up ip route add default via 172.16.0.254 dev ib0" ;;
                    *ib1*inet) [ -z "$gateways" ] || echo "    up ip route add 198.51.100.0/24 via 172.16.0.254 dev ib1" ;;
                esac
                ;;
        esac
    done <$work/tree/etc/network/"interfaces: iface"* >$work/interfaces
}

run_if() { # up|down NIC
    on B "if$1" --no-scripts -i $work/interfaces "$2" >$work/said 2>&1 || fail "if$1 $2" "$(<$work/said)"
}

check_ifupdown() { # WHAT
    local nic before
    before=$(ip -n B rule; ip -n B -6 rule)
    render_tree B ifupdown
    cat "$work/tree/etc/network/"* >$work/all
    rm "$work/tree/etc/network/"*
    mv $work/all "$work/tree/etc/network/interfaces: iface"
    write_interfaces
    for nic in ib0 ib1; do
        ip -n B address flush dev $nic
        ip -n B link set $nic down
    done
    for nic in ib0 ib1; do run_if up $nic; done
    wait_until 5 settled B # the kernel's own routes of IPv6 addresses come later
    ip -n B route show table all >$work/routes
    ip -n B rule >$work/rules
    for nic in ib0 ib1; do on B ifup --force --no-scripts -i $work/interfaces $nic >$work/said 2>&1 || true; done
    expect_equal "$1: ifup once more adds no route" "$(<$work/routes)" "$(ip -n B route show table all)"
    expect_equal "$1: nor rule" "$(<$work/rules)" "$(ip -n B rule)"
    for nic in ib0 ib1; do run_if down $nic; done
    expect_equal "$1: ifdown leaves no rule" "$before" "$(ip -n B rule; ip -n B -6 rule)"
    expect_lacks "$1: nor route" " table 194" "$(ip -n B route show table all; ip -n B -6 route show table all)"
    for nic in ib0 ib1; do run_if up $nic; done
    expect_native "$1" B
    rm -f /run/network/ifstate* # it knows of nothing
}

gateways=
make_full_host B
check_ifupdown "no gateway"
add_gateways B
gateways=yes
check_ifupdown "gateways"
