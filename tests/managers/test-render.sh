#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What --render writes for this manager and sysctl.d, and for rt_tables.d: put where it belongs, ib-hook removed, the system
# booted again. It routes as --apply did, look-up by look-up; and what is taken away again leaves nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../netns/lookups.sh"
only nm-1.42 nm-1.52 networkd-252 networkd-257 netplan 'ifupdown*'

hook() { # HOST ARGUMENT…: the one of the package
    host /usr/bin/ib-hook "${@:2}"
}

add_bridges() { # as containers' daemons make them
    local bridge
    for bridge in inside:172.16.50.1/24 docker0:172.17.0.1/24; do
        ip -n B link add ${bridge%:*} type bridge
        on B sh -c "echo 1 >/proc/sys/net/ipv6/conf/${bridge%:*}/disable_ipv6"
        ip -n B address add ${bridge#*:} dev ${bridge%:*}
        ip -n B link set ${bridge%:*} up
    done
}

has_all_addresses() {
    has_address ib0 172.16.34.1 && has_address ib1 172.16.34.102 &&
        [[ $(ip -n B -6 address show dev ib0) == *fd00:34::1/64* && $(ip -n B -6 address show dev ib1) == *fd00:34::2/64* &&
            $(ip -n B route show default) == *172.16.0.254* && -z $(ip -n B -6 address show tentative) ]]
}

is_there() { # the host, as its files say it
    ready && has_all_addresses
}

routing() { # all that does not depend on which NIC came first
    lookups B from | normal | sed 's/^\(broadcast .*\) dev ib[01] /\1 /'
}

is_as_wanted() {
    [ "$(routing)" = "$wanted" ]
}

others() { # all that does not depend on the moment
    foreign_routing | without_metrics | sed 's/ linkdown//'
}

is_as_before() {
    [ "$(others)" = "$before" ]
}

# soon COMMAND…: what a manager does last may come a little later; if it never does, the comparison tells
soon() {
    (wait_until 5 "$@") >/dev/null || true
}

arp() {
    sysctls B | grep '^\./ib[01]/'
}

# What is to be: as ib-hook does it.
serve_dhcp none 172.16.34.102
mixed
wait_until 20 is_there
add_bridges
before=$(others) without=$(routing)
host dpkg -i /root/ib-hook.deb >"$work/dpkg.log"
host ib-hook --apply >/dev/null
wanted=$(routing) tables=$(rules_and_tables B 941 942) values=$(arp)
expect_differs "--apply makes a difference" "$without" "$wanted"

# The same, from files.
install_rendered
mkdir -p "$ROOT/etc/sysctl.d" "$ROOT/etc/iproute2/rt_tables.d"
host ib-hook --render ifupdown | sed -n "s,^#   net/,net/,p" >"$ROOT/etc/sysctl.d/90-ib-hook.conf"
host ib-hook --render rt_tables >"$ROOT/etc/iproute2/rt_tables.d/ib-hook.conf"
host dpkg -P ib-hook >"$work/dpkg.log"
power_off
power_on
wait_until 20 is_there
add_bridges
[ ! -e "$ROOT/usr/bin/ib-hook" ] || fail "ib-hook is gone"
soon is_as_wanted
expect_equal "every look-up is as after --apply" "" "$(diff <(echo "$wanted") <(routing) || true)"
expect_equal "rules and tables, too" "$tables" "$(rules_and_tables B 1941 1942)"
expect_equal "who answers ARP" "$values" "$(arp)"
expect_contains "ip knows the tables by name" "172.16.0.0/16 dev ib1 " "$(host ip route show table native-ib1)"
expect_equal "nobody complains of these files" "" \
    "$(host journalctl -b -p warning -o cat --no-pager | grep -e ib-hook -e nmconnection -e ipv4/conf || true)"
expect_peer_uses ib0 172.16.34.1
expect_peer_uses ib1 172.16.34.102

# If ib-hook came back, these NICs would need no rules of its own.
rdma B ib0 ib1
on B "$IB_HOOK" --sysfs /run/sys/B --plan --json >"$work/plan.json" || fail "ib-hook --plan" "$(<$work/plan.json)"
expect_equal "ib-hook has no rules of its own to add" 0 "$(jq '[.operations[] | select(.op == "rule-add")] | length' "$work/plan.json")"

# Back.
remove_rendered
wait_until 20 is_there
soon is_as_before
expect_equal "taken away, rules and routes are as before" "$before" "$(others)"
