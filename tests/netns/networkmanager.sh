# shellcheck shell=bash disable=SC2154,SC2034 # what lib.sh offers, and what tests use
# A real NetworkManager and a bus of its own, in this test's namespaces: `. "$(dirname "$0")/networkmanager.sh"` after lib.sh.
# Its connections are the key files in $work/connections. start_bus leaves its process id in $bus, start_manager in $manager.

[ "$rooted" = yes ] || skip "NetworkManager needs the real root"
unpacked=$top/build-unpacked
PATH=$PATH:$unpacked/usr/sbin:$unpacked/usr/bin
type -P NetworkManager >/dev/null || skip "NetworkManager is not here: make build-unpacked/.complete"
[ -e "$(dirname "$IB_HOOK")/nm.so" ] || skip "there is no nm.so: it was built without libnm"
needs dbus-daemon nmcli
libraries=$(printf '%s:' "$unpacked"/usr/lib/*-linux-gnu "$unpacked"/lib/*-linux-gnu)
mount -t sysfs -o ro sysfs /sys # read-only: then NetworkManager does not wait for udev
mount -t tmpfs tmpfs /var/lib
mkdir -p /var/lib/NetworkManager /run/dbus
mkdir -m 0700 "$work/connections"

# /usr/lib, with ib-hook's directory in it.
library=/usr/lib/ib-hook
if [ -d $library ]; then
    mount -t tmpfs -o mode=0755 tmpfs $library
else
    mkdir "$work/lib" "$work/real" "$work/lib/ib-hook"
    mount --bind /usr/lib "$work/real"
    ln -s "$work"/real/* "$work/lib/"
    mount --bind "$work/lib" /usr/lib
fi
install_plugin() { install -m 0644 "$(dirname "$IB_HOOK")/nm.so" $library/nm.so; }
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
    LD_LIBRARY_PATH=$libraries NetworkManager --no-daemon --config="$work/manager.conf" --config-dir="$work/none" \
        --intern-config="$work/intern.conf" --state-file="$work/state" >"$work/manager.log" 2>&1 &
    manager=$!
}
