# shellcheck shell=bash disable=SC2034,SC2154 # what lib.sh offers, and what it wants
# SPDX-License-Identifier: GPL-2.0-or-later
# netplan, which writes profiles for NetworkManager, as on Ubuntu's desktop and DGX OS. It calls them netplan-NIC.
CONFIGURED_IN=(etc/netplan)
PROFILE=netplan-

configure() {
    printf '%s\n' "network:" "  version: 2" "  renderer: NetworkManager" "  ethernets:" \
        "    eth0:" "      addresses: [10.9.0.34/24]" >"$ROOT/etc/netplan/01-network-manager-all.yaml"
    ethernets "addresses: [172.16.34.1/16]" "addresses: [172.16.34.2/16]"
    chmod 0600 "$ROOT/etc/netplan"/*.yaml
    # A veth with such a name would be left alone.
    mkdir -p "$ROOT/etc/udev/rules.d"
    ln -sf /dev/null "$ROOT/etc/udev/rules.d/85-nm-unmanaged.rules"
}

ethernets() { # LINE LINE: of ib0 and of ib1
    printf '%s\n' "network:" "  version: 2" "  ethernets:" "    ib0:" "      $1" "    ib1:" "      $2" \
        >"$ROOT/etc/netplan/40-cx7.yaml"
}

restore() {
    host netplan apply # restarts NetworkManager
}

readdress() { # ib1 ADDRESS
    ethernets "addresses: [172.16.34.1/16]" "addresses: [$2]"
    host netplan apply
}

dhcp() { # ib0 and ib1
    ethernets "dhcp4: true" "dhcp4: true"
    host netplan apply
}
