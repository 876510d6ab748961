# shellcheck shell=bash disable=SC2154,SC2034 # what lib.sh offers, and what tests use
# SPDX-License-Identifier: GPL-2.0-or-later
# A real NetworkManager and a bus of its own, in this test's namespaces: `. "$(dirname "$0")/networkmanager.sh"` after lib.sh.
# Its connections are the key files in $work/connections. start_bus leaves its process id in $bus, start_manager in $manager.

lay_over_usr
type -P NetworkManager >/dev/null || skip "NetworkManager is not here: make $IBH_BUILD/unpacked/.complete"
[ -e "$(dirname "$IB_HOOK")/nm.so" ] || skip "there is no nm.so: it was built without libnm"
needs dbus-daemon nmcli
mkdir -p /var/lib/NetworkManager /run/dbus
mkdir -m 0700 "$work/connections"

library=/usr/lib/ib-hook
install_plugin() { install -D -m 0644 "$(dirname "$IB_HOOK")/nm.so" $library/nm.so; }
rm -rf $library
install_plugin

start_bus() {
    cat >"$work/bus.conf" <<-END
	<busconfig><type>system</type><listen>unix:path=/run/dbus/system_bus_socket</listen><auth>EXTERNAL</auth>
	<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="*"/><allow receive_type="*"/>
	<allow send_destination="*"/></policy></busconfig>
	END
    dbus-daemon --config-file="$work/bus.conf" --nofork 2>"$work/bus.log" &
    bus=$!
    wait_until 5 test -S /run/dbus/system_bus_socket
}

start_manager() {
    cat >"$work/manager.conf" <<-END
	[main]
	plugins=keyfile
	dns=none
	rc-manager=unmanaged
	no-auto-default=*
	systemd-resolved=false
	[keyfile]
	path=$work/connections
	END
    NetworkManager --no-daemon --config="$work/manager.conf" --config-dir="$work/none" \
        --intern-config="$work/intern.conf" --state-file="$work/state" >"$work/manager.log" 2>&1 &
    manager=$!
}
