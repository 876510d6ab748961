#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --render networkd and netplan: a real systemd-networkd, and netplan before it, take the files, and what comes of them
# routes as --apply does.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lookups.sh"

lay_over_usr
networkd=/usr/lib/systemd/systemd-networkd
generate=/usr/libexec/netplan/generate
[ -x $generate ] || generate=/usr/lib/netplan/generate
[ -x $networkd ] || skip "systemd-networkd is not here: make $IBH_BUILD/unpacked/.complete"
[ -x $generate ] || skip "netplan is not here: make $IBH_BUILD/unpacked/.complete"
needs sysctl

rm -rf /etc/systemd/network /usr/lib/systemd/network /etc/systemd/networkd.conf.d
if ! getent passwd systemd-network >/dev/null; then # it is unpacked, not installed
    echo 'systemd-network:x:998:998::/:/usr/sbin/nologin' >>/etc/passwd
    echo 'systemd-network:x:998:' >>/etc/group
fi
mkdir -p /run/systemd/netif/{links,leases,lldp} /run/systemd/network
chown -R systemd-network: /run/systemd/netif

network() { # NIC ADDRESS…: the file of its addresses, below $work/tree; with $gateways, its routes of main
    local file=$1.network address
    mkdir -p "$work/tree/etc/systemd/network"
    {
        printf '[Match]\nName=%s\n[Network]\nIPv6AcceptRA=no\nLinkLocalAddressing=no\n' "$1"
        for address in "${@:2}"; do printf '[Address]\nAddress=%s\nDuplicateAddressDetection=none\n' "$address"; done
        case $gateways$1 in
            yesib0) printf '[Route]\nDestination=0.0.0.0/0\nGateway=172.16.0.254\n' ;;
            yesib1) printf '[Route]\nDestination=198.51.100.0/24\nGateway=172.16.0.254\n' ;;
        esac
    } >"$work/tree/etc/systemd/network/$file"
}

run_networkd() { # what is below $work/tree is configured
    cp -r $work/tree/etc/systemd/network /run/systemd/
    chmod -R a+rX /run/systemd/network # networkd is not root, and netplan gave the files to its group
    ip -n B address flush dev ib0
    ip -n B address flush dev ib1
    nsenter --net=/run/netns/B env -u NOTIFY_SOCKET SYSTEMD_LOG_TARGET=console SYSTEMD_LOG_LEVEL=info \
        $networkd >$work/networkd.log 2>&1 &
    daemon=$!
    wait_until 10 is_configured ib0
    wait_until 10 is_configured ib1
}

is_configured() { # NIC
    kill -0 $daemon 2>/dev/null || fail "systemd-networkd ended" "$(<$work/networkd.log)"
    grep -qs ADMIN_STATE=configured "/run/systemd/netif/links/$(ip -n B -json link show "$1" | jq '.[0].ifindex')"
}

stop_networkd() {
    kill $daemon
    wait $daemon || true
    rm -rf /run/systemd/network/* /run/systemd/netif/links/* /run/ib-hook
}

check_networkd() { # WHAT
    render_tree B networkd
    network ib0 172.16.34.1/16 fd00:34::1/64
    network ib1 172.16.34.2/16 fd00:34::2/64
    run_networkd
    expect_equal "$1: networkd has nothing to complain of" "" "$(grep -i 'ignor\|invalid\|unknown\|fail' $work/networkd.log | grep -v cgroup || true)"
    expect_native "$1" B
    stop_networkd
}

gateways=
make_full_host B
check_networkd "networkd"
gateways=yes
add_gateways B
check_networkd "networkd, gateways"

# netplan: what it makes of a file that gives the NICs their addresses, and the rendered drop-ins, are for networkd.
check_netplan() { # WHAT
    local n routes=()
    [ -z "$gateways" ] || routes=('      routes: [{to: default, via: 172.16.0.254}]' '      routes: [{to: 198.51.100.0/24, via: 172.16.0.254}]')
    render_tree B netplan
    mkdir -p $work/tree/etc/netplan
    {
        printf 'network:\n  version: 2\n  renderer: networkd\n  ethernets:\n'
        for n in 0 1; do
            printf '    ib%d:\n      addresses: [172.16.34.%d/16, "fd00:34::%d/64"]\n' $n $((n + 1)) $((n + 1))
            printf '      accept-ra: false\n      link-local: []\n%s\n' "${routes[n]:-}"
        done
    } >$work/tree/etc/netplan/50-addresses.yaml
    chmod 0600 $work/tree/etc/netplan/*
    $generate --root-dir $work/tree >$work/said 2>&1 || fail "$1: netplan generate" "$(<$work/said)"
    expect_equal "$1: netplan has nothing to complain of" "" "$(<$work/said)"
    cp -r $work/tree/run/systemd/network/. $work/tree/etc/systemd/network/
    run_networkd
    expect_native "$1" B
    stop_networkd
}

check_netplan "netplan, gateways"
gateways=
ip -n B route del default 2>/dev/null || true
ip -n B route del 198.51.100.0/24 2>/dev/null || true
check_netplan "netplan"
