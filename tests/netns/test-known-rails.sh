#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What was a rail is kept in /var/lib/ib-hook for the next boot: written when hardware or a family of a rail is new, or
# forgotten on purpose, never because something was lost, and never while the lock is held.
. "$(dirname "$0")/lib.sh"
needs strace

make_wire
new_host B
for n in 0 1; do add_nic B ib$n $n 172.16.34.$((n + 1))/16 fd00:16::34:$((n + 1))/64; done
rdma B ib0 ib1
wait_until 5 settled B
keep_rails
calls() { # PROGRAM…: its calls in $work/calls
    at_home B strace -f -y -o $work/calls -e trace=openat,rename,close,flock "$@" >>$work/said 2>&1
}
event() { calls env -i IFACE=ib1 MODE=start PHASE=post-up "$HOOKS/ifupdown"; }
known() { # NIC: its addresses in the file
    sed -n "s/^known $1 .* //p" $rails
}
line_of() { grep -n "$1" $work/calls | head -1 | cut -d: -f1; } # PATTERN: of the first such call
lost() { # WHAT FINDINGS: a family of ib1 has gone
    event
    expect_equal "$1: nothing is written" "$file" "$(kept_rails)"
    rm -r /run/ib-hook # as by a boot
    event
    expect_equal "$1: nor after a boot" "$file" "$(kept_rails)"
    at_home B "$IB_HOOK" --check --json >$work/out || true
    out=$(<$work/out)
    expect_equal "$1: --check misses it, after a boot, too" "$2" "$(findings)"
}

strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
event
expect_equal "a rail is kept with both families" "172.16.34.2,fd00:16::34:2" "$(known ib1)"
taken=$(line_of 'flock(.*LOCK_EX') given=$(line_of 'close(.*\.lock>') renamed=$(line_of "rename(.*$rails")
expect_equal "the lock is taken, given back, and then /var is written" "$taken $given $renamed" \
    "$(printf '%s\n' "$taken" "$given" "$renamed" | sort -n | xargs)"
# Whoever may read the directory may lock it, but ib-hook waits for no lock that others can take.
if [ "$rooted" = yes ]; then
    rm -r /run/ib-hook $rails
    setpriv --reuid 65534 --clear-groups flock ${rails%/*} sleep 60 &
    holder=$!
    is_locked() { ! flock -n ${rails%/*} true; }
    wait_until 5 is_locked
    at_home B timeout 8 env -i IFACE=ib1 MODE=start PHASE=post-up "$HOOKS/ifupdown"
    expect_equal "a user holds a lock: the rail is kept all the same" "172.16.34.2,fd00:16::34:2" "$(known ib1)"
    kill $holder
fi
rm -r /run/ib-hook
event
read=$(line_of "openat(.*$rails")
[ "$read" -lt "$(line_of 'flock(.*LOCK_EX')" ] || fail "/var is read before the lock is taken" "$(<$work/calls)"
expect_equal "what is known already is not written again" 0 "$(grep -c "rename(.*$rails" $work/calls || true)"
file=$(kept_rails)

# A family goes: its lease ends, or somebody deletes the address.
ip -n B address del 172.16.34.2/16 dev ib1
lost "IPv4 is lost" "ib1 warning no-address"
ip -n B address add 172.16.34.2/16 dev ib1
ip -n B address del fd00:16::34:2/64 dev ib1
lost "IPv6 is lost" "ib1 warning no-address"

# Both go, and the cable.
ip -n B address flush dev ib1 scope global
ip -n wire link set B.1 down
lost "all is lost" "ib1 error carrier-down"
ip -n wire link set B.1 up
for n in 0 1; do ip -n B address add 2001:db8::$n/64 dev ib$n valid_lft 3600 preferred_lft 3600 nodad; done
lost "only what a router advertised is there" "ib1 warning no-address"
for n in 0 1; do ip -n B address del 2001:db8::$n/64 dev ib$n; done

# What a person applies to a NIC by name is what the NIC shall have.
ip -n B address add 172.16.34.2/16 dev ib1
wait_until 5 settled B
event
expect_equal "it came back with one family: nothing is written" "$file" "$(kept_rails)"
calls "$IB_HOOK" --apply --iface ib1
expect_equal "--apply --iface: it shall have no other" 172.16.34.2 "$(known ib1)"
at_home B "$IB_HOOK" --check >$work/out || fail "nothing is missed then" "$(<$work/out)"

# Forgotten on purpose.
calls "$IB_HOOK" --undo --iface ib1
expect_equal "--undo --iface: the rail is not kept" "" "$(known ib1)"
calls "$IB_HOOK" --apply
ip -n B address flush dev ib1 scope global
ip -n B address add 10.9.9.2/24 dev ib1
ip -n B address flush dev ib0 scope global
ip -n B address add 10.8.8.1/24 dev ib0
event
expect_equal "both are there, and share no subnet any more" "" "$(known ib0)$(known ib1)"

# A host that remembers nothing says how many rails it shall have.
ip -n B address flush dev ib1 scope global
ip -n B address add 172.16.34.2/16 dev ib1
ip -n B address flush dev ib0 scope global
ip -n B address add 172.16.34.1/16 dev ib0
through=()
counted() { # RAILS EXIT FINDINGS
    system_config "[defaults]
rails=$1"
    calls "$IB_HOOK" --apply
    rm -rf /run/ib-hook $rails
    local status=0
    at_home B "${through[@]}" "$IB_HOOK" --check --json >$work/out || status=$?
    expect_equal "rails=$1: exit status" "$2" $status
    out=$(<$work/out)
    expect_equal "rails=$1" "$3" "$(json '[.findings[] | select(.code == "rails-missing") | "\(.severity) \(.message)"] | join(", ")')"
}
counted 2 0 ""
counted 1 0 "info 2 RDMA ports have a rail, more than rails=1 says"
counted 3 1 "error 2 RDMA ports have a rail, expected 3 (rails=); without one: 1 port is not there"
# Where /proc shows process 1 to a group alone, root sees it by a capability that a run gives up, also as a service.
bounding=$(sed -n 's/^CapabilityBoundingSet=//p' "$top/packaging/systemd/ib-hook-watch.service" | sed 's/CAP_/+/g; s/ /,/g')
expect_contains "the service has a bounding set" "+NET_ADMIN" "$bounding"
# shellcheck disable=SC2016 # for the inner shell
through=(bash -c 'mount -o remount,hidepid=2,gid=12345 /proc && setpriv --bounding-set "-all,$1" "${@:2}"; exit $?' sh "${bounding,,}")
counted 3 1 "error 2 RDMA ports have a rail, expected 3 (rails=); without one: 1 port is not there"
through=()
ip -n B link add link ib1 name ib1v type macvlan mode bridge
ip -n B link set ib1v up
ip -n B address add 172.16.34.9/16 dev ib1v
counted 2 0 "" # the port below it counts once
ip -n B link del ib1v
ip -n B address flush dev ib1 scope global
counted 2 1 "error 1 RDMA ports have a rail, expected 2 (rails=); without one: mlx5_1/1 (ib1: it has no address)"
