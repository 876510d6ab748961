# shellcheck shell=bash disable=SC2154 # what lib.sh offers
# SPDX-License-Identifier: GPL-2.0-or-later
# ifupdown, ifupdown-ng and ifupdown2: /etc/network/interfaces, kept in parts (they include files in different ways).
# shellcheck disable=SC2034 # for boot
CONFIGURED_IN=(etc/network/interfaces etc/network/parts)
# shellcheck disable=SC2034 # for lib.sh
FOREIGN_RULES=kept # when it configures a link

configure() {
    mkdir -p "$ROOT/etc/network/parts"
    stanza lo "iface lo inet loopback"
    static eth0 10.9.0.34/24
    static ib0 172.16.34.1/16
    static ib1 172.16.34.2/16
}

stanza() { # NIC LINE…
    printf '%s\n' "auto $1" "${@:2}" >"$ROOT/etc/network/parts/$1"
    cat "$ROOT/etc/network/parts"/* >"$ROOT/etc/network/interfaces"
}

static() { # NIC ADDRESS [LINE…]
    stanza "$1" "iface $1 inet static" "    address $2" "${@:3}"
}

ready() { # its commands return when all is done
    host systemctl -q is-active networking
}

sees_no_carrier() { # ib1: it does not look
    [[ $(ip -n B link show ib1) == *NO-CARRIER* ]]
}

restore() {
    local nic
    for nic in ib0 ib1; do
        host ifdown --force $nic || true
        ip -n B address flush dev $nic
        host ifup $nic
    done
}

restart() {
    host systemctl restart networking
}

readdress() { # NIC ADDRESS
    host ifdown "$1"
    static "$1" "$2"
    host ifup "$1"
}

down() { # NIC
    host ifdown "$1"
}

up() { # NIC
    host ifup "$1"
}

dhcp() { # ib0 and ib1
    local nic
    for nic in ib0 ib1; do
        host ifdown $nic
        stanza $nic "iface $nic inet dhcp"
        host ifup $nic
    done
}

mixed() { # ib0 static with a gateway, ib1 by DHCP, both with IPv6
    local nic
    for nic in ib0 ib1; do host ifdown $nic; done
    for nic in ib0 ib1; do
        printf '%s\n' "iface $nic inet6 static" "    address fd00:34::$((${nic#ib} + 1))/64" >"$ROOT/etc/network/parts/$nic-inet6"
    done
    # It would ask for an address of IPv6 by DHCP as well, for a minute: part of the stanza before.
    [ "$SYSTEM" != ifupdown2 ] || echo "    up ip -6 address add fd00:34::2/64 dev ib1" >"$ROOT/etc/network/parts/ib1-inet6"
    static ib0 172.16.34.1/16 "    gateway 172.16.0.254"
    stanza ib1 "iface ib1 inet dhcp"
    for nic in ib0 ib1; do host ifup $nic; done
}

install_rendered() { # at the end of each stanza
    local nic parts=$ROOT/etc/network/parts
    cp -r "$parts" "$work/parts"
    render_tree B ifupdown
    for nic in ib0 ib1; do
        cat "$work/tree/etc/network/interfaces: iface $nic inet" >>"$parts/$nic"
        cat "$work/tree/etc/network/interfaces: iface $nic inet6" >>"$parts/$nic-inet6"
    done
    cat "$parts"/* >"$ROOT/etc/network/interfaces"
}

remove_rendered() {
    local nic
    for nic in ib0 ib1; do host ifdown $nic; done
    cat "$work/parts"/* >"$ROOT/etc/network/interfaces"
    for nic in ib0 ib1; do host ifup $nic; done
}
