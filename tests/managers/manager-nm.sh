# shellcheck shell=bash disable=SC2154 # what lib.sh offers
# SPDX-License-Identifier: GPL-2.0-or-later
# NetworkManager: one profile per NIC, named like it (behind PROFILE, where netplan writes the profiles).
PROFILE=
# shellcheck disable=SC2034 # for boot
CONFIGURED_IN=(etc/NetworkManager/system-connections)
# shellcheck disable=SC2034 # for lib.sh
FOREIGN_RULES=kept # when it configures a link

configure() {
    profile ib0 172.16.34.1/16
    profile ib1 172.16.34.2/16
    profile eth0 10.9.0.34/24
    # A veth with such a name would be left alone.
    mkdir -p "$ROOT/etc/udev/rules.d"
    ln -sf /dev/null "$ROOT/etc/udev/rules.d/85-nm-unmanaged.rules"
}

profile() { # NIC ADDRESS
    local file="$ROOT/etc/NetworkManager/system-connections/$1.nmconnection"
    printf '%s\n' "[connection]" "id=$1" "type=ethernet" "interface-name=$1" \
        "[ipv4]" "method=manual" "address1=$2" "[ipv6]" "method=disabled" >"$file"
    chmod 0600 "$file"
}

ready() {
    [ "$(host nmcli -t -f DEVICE,STATE device | grep -c -E '^(ib0|ib1|eth0):connected$')" = 3 ]
}

sees_no_carrier() { # ib1: after 6 s
    [ "$(host nmcli -g GENERAL.STATE device show ib1)" != "100 (connected)" ]
}

restore() {
    host nmcli connection reload
    host nmcli connection up ib0
    host nmcli connection up ib1
}

restart() {
    host systemctl restart NetworkManager
}

readdress() { # NIC ADDRESS
    host nmcli connection modify "$1" ipv4.addresses "$2"
    host nmcli connection up "$1"
}

down() { # NIC
    host nmcli connection down "$PROFILE$1"
}

up() { # NIC
    host nmcli connection up "$PROFILE$1"
}

dhcp() { # ib0 and ib1
    local nic
    for nic in ib0 ib1; do
        host nmcli connection modify $nic ipv4.method auto ipv4.addresses ""
        host nmcli connection up $nic
    done
}

# ib0 static with a gateway, ib1 by DHCP, both with IPv6. The one in 1.52 is in /run only: that is gone after a reboot.
mixed() {
    local temporary=()
    [ "$SYSTEM" = nm-1.42 ] || temporary=(--temporary)
    host nmcli connection modify ib0 ipv4.gateway 172.16.0.254 ipv6.method manual ipv6.addresses fd00:34::1/64
    host nmcli connection modify "${temporary[@]}" ib1 ipv4.method auto ipv4.addresses "" ipv6.method manual ipv6.addresses fd00:34::2/64
    host nmcli connection up ib0
    host nmcli connection up ib1
}

install_rendered() {
    expect_hook 0 B --render nmcli
    printf '%s\n' "$out" >"$work/nmcli"
    host sh -e <"$work/nmcli"
}

remove_rendered() {
    sed 's/ +ipv/ -ipv/' "$work/nmcli" | host sh -e
    host nmcli connection up ib0
    host nmcli connection up ib1
}

# shellcheck source=tests/managers/manager-nm-netplan.sh
[ "$SYSTEM" != nm-netplan ] || . "$managers/manager-nm-netplan.sh"
