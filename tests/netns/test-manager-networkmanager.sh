#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real NetworkManager: --show says which of its connections configures each NIC. Where it is stopped, or it or the bus
# hangs, or nm.so may not be loaded, the number in its state file has to do, and nothing waits for long. No environment
# leads elsewhere, and nothing but --show and --check looks at any of it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/networkmanager.sh"
needs strace
make_wire # a namespace for the other ends

uuid() { echo "3e2b4f5c-9a51-4a0c-8f57-7a6d6b1e9a0$1"; }

connection() { # N: a profile for its NIC
    cat >"$work/connections/rail$1.nmconnection" <<-END
	[connection]
	id=rail $1
	uuid=$(uuid "$1")
	type=ethernet
	interface-name=ib$1
	[ipv4]
	method=manual
	route-table=254
	address1=172.16.34.$(($1 + 1))/16
	[ipv6]
	method=disabled
	END
    chmod 0600 "$work/connections/rail$1.nmconnection"
}

for n in 0 1 2; do
    ip -n wire link add B.$n type veth peer name ib$n netns $$
    ip -n wire link set B.$n master br0 up
done
connection 0
connection 1
ip link set ib2 up # of nobody: NetworkManager calls it managed all the same
ip address add 172.16.34.3/16 dev ib2
only=$(config "[interface ib*]
manage=yes")

state_of() { echo "/run/NetworkManager/devices/$(ip -json link show "$1" | jq '.[0].ifindex')"; }
is_active() { grep -qs "^connection-uuid=$2" "$(state_of "$1")"; }

look() { # COMMAND…: --check, by that command; the milliseconds it took
    local start=${EPOCHREALTIME/[.,]/}
    "$@" "$IB_HOOK" --config "$only" --show --json >$work/out
    ms=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
}

says() { # WHAT EXPECTED
    expect_equal "$1" "$2" "$(jq -r '.rails[] | "\(.iface) \(.manager) \(.connection)"' $work/out)"
}

named="ib0 NetworkManager rail 0
ib1 NetworkManager rail 1
ib2 null null"
numbered="ib0 NetworkManager $(uuid 0)
ib1 NetworkManager $(uuid 1)
ib2 NetworkManager"

expect_number() { # WHAT
    expect_contains "$1: what the files say" "$numbered" \
        "$(jq -r '.rails[] | "\(.iface) \(.manager) \(.connection)"' $work/out)"
    [ $ms -lt 4000 ] || fail "$1: it took $ms ms"
}

start_bus
start_manager
wait_until 15 is_active ib0 "$(uuid 0)"
wait_until 15 is_active ib1 "$(uuid 1)"
wait_until 15 is_active ib2 ""

look
says "by name; what NetworkManager only watches is nobody's" "$named"
text=$("$IB_HOOK" --config "$only" --show --verbose)
expect_contains "and in the table" "NetworkManager (rail 1)" "$text"

# The environment.
look env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere LIBNM_USE_SESSION_BUS=1 LIBNM_CLIENT_DEBUG=trace \
    LIBNM_CLIENT_DEBUG_FILE=$work/debug
says "whatever the environment" "$named"
[ ! -e $work/debug ] || fail "no file was written for the environment"

# This version leaves other tables alone, whatever its connection says.
"$IB_HOOK" --config "$only" --apply >/dev/null
routes=$(ip route show table 941)
nmcli device reapply ib0 >/dev/null
expect_equal "a reapply leaves the rail's table" "$routes" "$(ip route show table 941)"
ln -s "$IB_HOOK" /usr/bin/ib-hook # as on a host where it is installed: its hook should be, too
"$IB_HOOK" --config "$only" --check --verbose >$work/out && fail "--check finds no hook of ours" "$(<$work/out)"
expect_contains "the next event will not be answered" "host: warning hook-inactive: ib-hook misses the next event of NetworkManager" "$(<$work/out)"
"$IB_HOOK" --config "$only" --watch >$work/watch.out 2>&1 &
watch=$!
is_watched() { "$IB_HOOK" --config "$only" --check --verbose >$work/out; }
wait_until 5 is_watched
expect_contains "unless --watch follows changes" "host: info hook-inactive: NetworkManager does not call ib-hook, and only --watch" "$(<$work/out)"
kill $watch
wait $watch
mkdir -p /etc/NetworkManager/dispatcher.d
ln -s "$HOOKS/nm-dispatcher" /etc/NetworkManager/dispatcher.d/50-ib-hook
"$IB_HOOK" --config "$only" --check --json >$work/out || fail "--check is happy" "$(<$work/out)"
out=$(<$work/out)
expect_lacks "no word of it" manager-removes-foreign "$(codes)"

# Who programs does not look.
strace -f -e trace=openat,connect -o $work/trace "$IB_HOOK" --config "$only" --apply >/dev/null
strace -f -e trace=openat,connect -o $work/trace.plan "$IB_HOOK" --config "$only" --plan >/dev/null
expect_lacks "--apply and --plan do not look at managers" NetworkManager "$(cat $work/trace*)"
expect_lacks "nor load anything" nm.so "$(cat $work/trace*)"
expect_lacks "nor ask anybody" dbus "$(cat $work/trace*)"

# The plugin is missing, cannot be loaded, or could be anybody's.
chmod 0666 $library/nm.so
look
expect_number "others can write nm.so"
chmod 0755 $library/nm.so
chmod 0777 $library
look
expect_number "others can write its directory"
chmod 0755 $library
chown 1 $library/nm.so
look
expect_number "nm.so is not root's"
mv $library/nm.so $library/real.so
ln -s real.so $library/nm.so
chown 0 $library/real.so
look
expect_number "nm.so is a link"
rm $library/nm.so
: >$library/nm.so
chmod 0644 $library/nm.so
look
expect_number "nm.so is no library"
rm $library/nm.so
"$IB_HOOK" --config "$only" --show >/dev/null 2>$work/err
expect_equal "no nm.so: silently" "" "$(<$work/err)"
install_plugin
look
says "it is back" "$named"

# Whoever hangs is not waited for.
kill -STOP $manager
look
expect_number "NetworkManager hangs"
expect_at_least "it had its time" 1500 $ms
kill -CONT $manager
kill -STOP $bus
look
expect_number "the bus hangs"
kill -CONT $bus
wait_until 10 is_active ib0 "$(uuid 0)"
look
says "both go on" "$named"
kill -KILL $manager
wait $manager || true
look
expect_number "NetworkManager is gone"
kill $bus
wait $bus || true
look
expect_number "the bus is gone"
[ $ms -lt 1000 ] || fail "nobody there is nothing to wait for, but it took $ms ms"
