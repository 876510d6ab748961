#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --render nm-keyfile and nmcli: a real NetworkManager takes them, and what comes of them routes as --apply does.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lookups.sh"
. "$(dirname "$0")/networkmanager.sh"
needs sysctl

manager_is_up() {
    start_manager
    wait_until 15 is_active 0
    wait_until 15 is_active 1
}

stop_manager() { # the links keep what they have
    kill $manager
    wait $manager || true
}

is_active() { # N
    grep -qs '^connection-uuid=..' "/run/NetworkManager/devices/$(ip -json link show "ib$1" | jq '.[0].ifindex')" &&
        ip address show "ib$1" | grep -q 172.16.34
}

write_connection() { # N [LINE OF IPV4]: a profile for its NIC, with something of its own
    cat >"$work/connections/rail$1.nmconnection" <<-END
	[connection]
	id=rail $1's
	uuid=3e2b4f5c-9a51-4a0c-8f57-7a6d6b1e9a0$1
	type=ethernet
	interface-name=ib$1
	[ipv4]
	method=manual
	dns=192.0.2.53;
	address1=172.16.34.$(($1 + 1))/16
	${2:-}
	[ipv6]
	method=manual
	addr-gen-mode=eui64
	address1=fd00:34::$(($1 + 1))/64
	END
    chmod 0600 "$work/connections/rail$1.nmconnection"
}

write_connections() {
    write_connection 0 gateway=172.16.0.254
    write_connection 1 route1=198.51.100.0/24,172.16.0.254
}

cli() { # ARGUMENT…
    nmcli "$@" >$work/said 2>&1 || fail "nmcli $*" "$(<$work/said)"
}

activate() {
    cli connection reload
    cli connection up "rail 0's"
    cli connection up "rail 1's"
    wait_until 10 settled self
}

# It asks NetworkManager, which is only done for the real /sys; that has no RDMA device here.
hook() { # HOST ARGUMENT…
    local how=(--sysfs /run/sys/self)
    [[ " $* " != *" nm"* ]] || how=(--config "$only")
    "$IB_HOOK" "${how[@]}" "${@:2}"
}

ip netns attach self $$
make_wire
for n in 0 1; do
    ip -n wire link add B.$n type veth peer name ib$n netns $$
    ip -n wire link set B.$n master br0 up
    ip link set ib$n up
done
rdma self ib0 ib1
only=$work/only.conf
printf '[interface ib*]\nmanage=yes\n' >$only
write_connections
start_bus
manager_is_up
wait_until 10 settled self

render_tree self nm-keyfile
expect_equal "the files are NetworkManager's own" "rail0.nmconnection rail1.nmconnection" \
    "$(cd $work/tree$work/connections && echo *)"
expect_contains "and keep what is theirs" "dns=192.0.2.53;" "$(<$work/tree$work/connections/rail0.nmconnection)"
cp $work/tree$work/connections/* $work/connections/
chmod 0600 $work/connections/*
activate
expect_native "nm-keyfile" self

write_connections
activate
expect_lacks "without them, there are no rules" "1941" "$(ip rule)"
expect_hook 0 self --render nmcli
expect_contains "nmcli: by name" "modify 'rail 0'\\''s' +ipv4.routes" "$out"
printf '%s\n' "$out" >$work/script
sh -e $work/script >$work/said 2>&1 || fail "nmcli takes it" "$(<$work/said)"
profile=$(cat $work/connections/*)
sh -e $work/script >$work/said 2>&1 || fail "nmcli takes it again" "$(<$work/said)"
expect_equal "nmcli: said again, it adds nothing" "$profile" "$(cat $work/connections/*)"
activate
expect_native "nmcli" self

# Of a NIC that NetworkManager does not manage.
stop_manager
rm -rf /run/NetworkManager/devices $work/connections/*
ip route replace default via 172.16.0.254 dev ib0
ip route replace 198.51.100.0/24 via 172.16.0.254 dev ib1
render_tree self nm-keyfile
first=$(cat $work/tree/etc/NetworkManager/system-connections/*)
render_tree self nm-keyfile
expect_equal "rendered again, it is the same" "$first" "$(cat $work/tree/etc/NetworkManager/system-connections/*)"
cp $work/tree/etc/NetworkManager/system-connections/* $work/connections/
chmod 0600 $work/connections/*
for n in 0 1; do ip address flush dev ib$n; done
manager_is_up
wait_until 10 settled self
ip route replace default via 172.16.0.254 dev ib0 # the addresses' gateways are main's, not the rails'
ip route replace 198.51.100.0/24 via 172.16.0.254 dev ib1
expect_native "a new connection" self
stop_manager

# IPoIB, and a child of it, whose name and P_Key belong together.
profile() { # ARGUMENT…
    "$(dirname "$FLOW")/profile" $library/nm.so "$@" >$work/said || fail "the profile of $1" "$(<$work/said)"
}
ip link add name ib7 type veth peer name peer
profile ib7
expect_contains "IPoIB is infiniband" "type=infiniband" "$(<$work/said)"
expect_contains "with the mode that all have" "transport-mode=datagram" "$(<$work/said)"
profile ib7.8002 ib7 8002
expect_contains "a child's P_Key" "p-key=$((0x8002))" "$(<$work/said)"
expect_contains "and its parent" "parent=ib7" "$(<$work/said)"

# Without the plugin.
rm $library/nm.so
expect_hook 3 self --render nm-keyfile
expect_contains "no nm.so: it says what to do" "--render nmcli" "$err"
expect_equal "and writes nothing" "" "$out"
