# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# netplan, which writes files for systemd-networkd: the documents' files, completed.
# shellcheck source=tests/managers/manager-networkd.sh disable=SC2154 # of lib.sh
. "$managers/manager-networkd.sh"
# shellcheck disable=SC2034 # for boot
CONFIGURED_IN=(etc/netplan)

configure() {
    printf '%s\n' "network:" "  version: 2" "  renderer: networkd" "  ethernets:" \
        "    eth0:" "      accept-ra: false" "      addresses: [10.9.0.34/24]" >"$ROOT/etc/netplan/01-netcfg.yaml"
    ethernets "addresses: [172.16.34.1/16]" "addresses: [172.16.34.2/16]"
    chmod 0600 "$ROOT/etc/netplan"/*.yaml
    touch "$ROOT/etc/cloud/cloud-init.disabled" # but for its test
    chroot "$ROOT" systemctl --quiet enable systemd-networkd
}

ethernets() { # LINE LINE: of ib0 and of ib1
    printf '%s\n' "network:" "  version: 2" "  renderer: networkd" "  ethernets:" \
        "    ib0:" "      accept-ra: false" "      $1" "    ib1:" "      accept-ra: false" "      $2" \
        >"$ROOT/etc/netplan/99-netcfg.yaml"
}

restore() {
    ip -n B link set ib0 up
    ip -n B link set ib1 up
    host netplan apply
}

readdress() { # ib1 ADDRESS
    ethernets "addresses: [172.16.34.1/16]" "addresses: [$2]"
    host netplan apply
}

# Not by netplan apply: it configures every link twice, and systemd-networkd 252 may then lose the address that it just got.
dhcp() { # ib0 and ib1
    ethernets "dhcp4: true" "dhcp4: true"
    host netplan generate
    host networkctl reload
}

mixed() { # ib0 static with a gateway, ib1 by DHCP, both with IPv6
    ethernets 'addresses: [172.16.34.1/16, "fd00:34::1/64"]
      routes: [{to: default, via: 172.16.0.254}]' 'addresses: ["fd00:34::2/64"]
      dhcp4: true'
    host netplan generate
    host networkctl reload
}

install_rendered() { # drop-ins
    render_tree B netplan
    cp -r "$work/tree/etc" "$ROOT/"
}

remove_rendered() {
    rm -r "$ROOT"/etc/systemd/network/*.network.d
    host netplan generate # as for dhcp
    host networkctl reload
}
