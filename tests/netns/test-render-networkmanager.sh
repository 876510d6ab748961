#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --render nmcli: a real NetworkManager takes it, and what comes of it routes as --apply does.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lookups.sh"
. "$(dirname "$0")/networkmanager.sh"
needs sysctl

manager_is_up() {
    start_manager
    wait_until 15 is_active 0
    wait_until 15 is_active 1
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
