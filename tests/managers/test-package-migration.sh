#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/migration.md, by its own commands, on a host that routes by hand as the documents do: by a script of
# networkd-dispatcher or of ifupdown's directory, which NetworkManager of Debian 12 calls, too, by a script in root's home that
# somebody runs after each boot, by lines in /etc/network/interfaces, by netplan's routing-policy and strict values of ARP, by
# files of systemd-networkd, by a profile of NetworkManager. Nothing is lost under traffic, and after a reboot nothing is left
# of it. On the way back there are no rules before a reboot, as the page says.
. "$(dirname "$0")/lib.sh"
only nm-1.42 nm-1.52 networkd-252 networkd-257 netplan ifupdown ifupdown2

page=$managers/../../packaging/doc/migration.md
commands() { # STEP: of the page, as root has them here, with the package beside
    sed -n "/^$1\. /,/^$(($1 + 1))\. \|^\*\*To go back/s/^ \{7\}//p" "$page" | sed 's,^sudo ,,; s,apt install ./build/deb/,dpkg -i /root/,; s,_\*\.deb,.deb,'
}
routed_by_hand() {
    ip -n B rule | grep -c -E 'from 172.16.34.[12] lookup (94|10)[0-9]( proto static)? *$' || true
}
# script FILE: the documents', as it stands there; it deletes main's connected routes
script() {
    place=$1
    mkdir -p "$ROOT${place%/*}"
    documents_script >"$ROOT$place"
    chmod 0755 "$ROOT$place"
}
# shellcheck disable=SC2016 # Markdown's quotes
# step 3 of the page: delete it where it is
take_away() {
    case $SYSTEM in
        nm-1.52)
            for n in 0 1; do
                host sh -c "$(sed -n 's/^ *| NetworkManager.s profiles | `sudo \(nmcli[^`]*\)`.*/\1/p' "$page" | sed "s/ib0/ib$n/")"
            done
            ;;
        netplan)
            sed -i '/routing-policy:\|table: /d' "$ROOT$place"
            rm "$ROOT/etc/sysctl.d/50-multihoming-arp.conf"
            ;;
        networkd-257)
            sed -i '/^\[Route\]/,$d' "$ROOT/etc/systemd/network/ib0.network"
            sed -i '/^\[RoutingPolicyRule\]/,$d' "$ROOT/etc/systemd/network/ib1.network"
            rm -r "$ROOT/etc/systemd/network/ib1.network.d"
            ;;
        ifupdown) sed -i '/^ *up ip r/d' "$ROOT$place" "$ROOT"/etc/network/parts/* ;;
        *) host rm "$place" ;;
    esac
}

case $SYSTEM in
    nm-1.42) script /etc/network/if-up.d/route-ib-cpu16 ;;
    ifupdown2)
        script /root/route-ib-mem34.sh
        ;;
    networkd-257) # rules in both files, the second rail's route in a drop-in
        place=/etc/systemd/network/ib0.network
        drop_in=/etc/systemd/network/ib1.network.d/table.conf
        mkdir -p "$ROOT${drop_in%/*}"
        network ib0 Address=172.16.34.1/16 '[Route]' Destination=172.16.0.0/16 Scope=link Table=941 \
            '[RoutingPolicyRule]' From=172.16.34.1 Table=941 Priority=941
        network ib1 Address=172.16.34.2/16 '[RoutingPolicyRule]' From=172.16.34.2 Table=942 Priority=942
        printf '%s\n' '[Route]' Destination=172.16.0.0/16 Scope=link Table=942 >"$ROOT$drop_in"
        ;;
    networkd*)
        script /etc/networkd-dispatcher/routable.d/route-ib-mem34
        host systemctl restart networkd-dispatcher.service
        ;;
    nm*)
        place=/etc/NetworkManager/system-connections/ib0.nmconnection
        for i in 0 1; do
            host nmcli connection modify ib$i ipv4.route-table $((941 + i)) \
                ipv4.routing-rules "priority $((941 + i)) from 172.16.34.$((i + 1)) table $((941 + i))"
        done
        ;;
    netplan)
        place=/etc/netplan/99-netcfg.yaml
        for i in 0 1; do
            lines[i]="addresses: [172.16.34.$((i + 1))/16]
      routes: [{to: 172.16.0.0/16, scope: link, table: $((100 + i))}]
      routing-policy: [{from: 172.16.34.$((i + 1)), table: $((100 + i)), priority: $((100 + i))}]"
        done
        ethernets "${lines[@]}"
        chmod 0600 "$ROOT$place"
        host netplan generate
        printf 'net.ipv4.conf.%s\n' ib{0,1}.{rp_filter,arp_filter}=1 ib{0,1}.arp_{announce,ignore}=2 >"$ROOT/etc/sysctl.d/50-multihoming-arp.conf"
        host sysctl -q -p /etc/sysctl.d/50-multihoming-arp.conf
        ;;
    *)
        place=/etc/network/interfaces
        for i in 0 1; do
            static ib$i 172.16.34.$((i + 1))/16 "    up ip route add 172.16.0.0/16 dev ib$i src 172.16.34.$((i + 1)) table $((941 + i))" \
                "    up ip rule add from 172.16.34.$((i + 1)) table $((941 + i))"
        done
        ;;
esac
restart
wait_until 20 ready
by_hand() { [ "$(routed_by_hand)" = 2 ]; }
is_routed_by_hand() {
    if [ "$SYSTEM" = ifupdown2 ]; then # by hand, after the boot
        for nic in ib0 ib1; do host env IFACE=$nic bash "$place"; done
    fi
    wait_until 10 by_hand
}
is_routed_by_hand
ok "the host routes by hand"
mkdir $work/by-hand
cp -a $ROOT/etc $ROOT/root $work/by-hand

traffic_from_peer
host sh -c "$(commands 1)" >"$work/said" 2>&1
expect_contains "step 2 finds it" "${place#/etc/}" "$(host sh -c "$(commands 2)" 2>&1 || true)"
if [ "${place#/root/}" = "$place" ] && [ "$SYSTEM" != nm-1.52 ]; then
    expect_contains "and --check names the line" "$place" \
        "$(host ib-hook --check --json | jq -r '.findings[] | select(.code == "legacy-script") | .message' || true)"
fi
take_away
expect_equal "then step 2 finds nothing, and has no error to say" "" "$(host sh -c "$(commands 2)" 2>&1 || true)"
traffic_stop
serve_no_more
expect_no_loss "while it moved"

power_off
power_on
wait_until 20 ready
expect_rails_right "after the reboot"
expect_equal "of what routed by hand, nothing is left" 0 "$(routed_by_hand)"

host dpkg -r ib-hook
cp -a $work/by-hand/. $ROOT
expect_equal "on the way back, nobody's rules are there" "0 " "$(routed_by_hand) $(our_rules B)"
power_off
power_on
wait_until 20 ready
is_routed_by_hand
ok "after a reboot, the host routes by hand again"
