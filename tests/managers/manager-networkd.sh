# shellcheck shell=bash disable=SC2154 # what lib.sh offers
# SPDX-License-Identifier: GPL-2.0-or-later
# systemd-networkd: one .network file per NIC.
# shellcheck disable=SC2034 # for boot
CONFIGURED_IN=(etc/systemd/network)
# shellcheck disable=SC2034 # for lib.sh
FOREIGN_RULES=gone # when it configures a link

configure() {
    network ib0 Address=172.16.34.1/16
    network ib1 Address=172.16.34.2/16
    network eth0 Address=10.9.0.34/24
    chroot "$ROOT" systemctl --quiet enable systemd-networkd
}

network() { # NIC LINE…
    printf '%s\n' "[Match]" "Name=$1" "[Network]" "IPv6AcceptRA=no" "${@:2}" >"$ROOT/etc/systemd/network/$1.network"
}

ready() {
    [ "$(host networkctl --no-legend --no-pager list ib0 ib1 eth0 | grep -c ' routable *configured')" = 3 ]
}

sees_no_carrier() { # ib1
    [[ $(host networkctl --no-legend --no-pager list ib1) == *no-carrier* ]]
}

restore() {
    ip -n B link set ib0 up
    ip -n B link set ib1 up
    host networkctl reload
    host networkctl reconfigure ib0 ib1 eth0
}

restart() {
    host systemctl restart systemd-networkd
}

readdress() { # NIC ADDRESS
    network "$1" "Address=$2"
    host networkctl reload
}

down() { # NIC
    host networkctl down "$1"
}

up() { # NIC
    host networkctl up "$1"
}

dhcp() { # ib0 and ib1
    network ib0 DHCP=ipv4
    network ib1 DHCP=ipv4
    host networkctl reload
}

mixed() { # ib0 static with a gateway, ib1 by DHCP, both with IPv6
    network ib0 Address=172.16.34.1/16 Address=fd00:34::1/64 Gateway=172.16.0.254
    network ib1 DHCP=ipv4 Address=fd00:34::2/64
    host networkctl reload
}

install_rendered() {
    render_tree B networkd
    cp -r "$work/tree/etc" "$ROOT/"
}

remove_rendered() {
    rm -r "$ROOT"/etc/systemd/network/*.network.d
    host networkctl reload
}
