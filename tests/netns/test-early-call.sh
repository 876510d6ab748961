#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# NetworkManager says "reapply" before it sets the new addresses and routes, and nothing when they are there: the hook
# answers for what comes within a second. No other event is waited for.
. "$(dirname "$0")/lib.sh"
needs_own_processes

reapply() {
    manager_calls B PATH=/usr/bin "$HOOKS/nm-dispatcher" ib1 reapply &
    reapplied=$!
}
leads() { [[ $(ip -n B rule) == *"from 172.16.34.$1 to 172.16.0.0/16 lookup 942"* ]]; }

# Calls it, and stops it between its first look and the end of its second; on a busy machine not each time.
stopped() {
    local stat now
    ip -n B rule delete from "172.16.34.${addresses[0]}" to 172.16.0.0/16 lookup 942 # whoever puts it back has looked
    reapply
    wait_until 5 leads "${addresses[0]}"
    if hook=$(pgrep -x nm-dispatcher) && kill -STOP "$hook"; then
        read -ra stat <"/proc/$hook/stat"
        read -r now _ </proc/uptime
        [ $((10#${now/./} - stat[21])) -ge 100 ] || return 0
        kill -CONT "$hook"
    fi
    wait "$reapplied"
    return 1
}
reapply_and() { # COMMAND…: it comes after the first look
    wait_until 60 stopped
    "$@"
    kill -CONT "$hook"
}
addresses=(2 22) # the one that ib1 has, and another
readdress() {
    printf '%s\n' "address delete 172.16.34.${addresses[0]}/16 dev ib1" "address add 172.16.34.${addresses[1]}/16 dev ib1" |
        ip -n B -batch -
    addresses=("${addresses[1]}" "${addresses[0]}")
}

make_hosts 2 B
new_host A
mkdir -p /run/sys/A/class
journal_start
manager_calls B PATH=/usr/bin "$HOOKS/nm-dispatcher" ib1 up
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

reapply_and readdress
wait "$reapplied"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.22
reapply_and ip -n B route add default via 172.16.0.1 dev ib1
wait "$reapplied"
expect_contains "a route that comes alone is found when the second is over" "via 172.16.0.1 dev ib1" "$(ip -n B route show table 2942)"
ip -n B route delete default

in_time() { # it does not wait for the end of its second; on a busy machine not each time
    local start=${EPOCHREALTIME/[.,]/} took
    reapply_and readdress
    wait_until 5 leads "${addresses[0]}"
    took=$((${EPOCHREALTIME/[.,]/} - start))
    wait "$reapplied"
    [ $took -lt 1000000 ]
}
wait_until 60 in_time
ok "a new address is routed before the second is over"

# Nothing comes: it ends after its second.
start=${EPOCHREALTIME/[.,]/}
from=$(($(journal_lines) + 1))
reapply
wait "$reapplied"
took=$((${EPOCHREALTIME/[.,]/} - start))
[ $took -ge 1000000 ] || fail "a reapply was over after $took us: nothing that came late could have been seen"
[ $took -lt 9000000 ] || fail "a reapply took $took us"
expect_equal "silence when nothing came" "" "$(journal "$from")"

# Not so what is up, and where there is nothing that could be a rail. It takes milliseconds, on a busy machine not each time.
quick() { # HOST ACTION
    local start=${EPOCHREALTIME/[.,]/}
    manager_calls "$1" PATH=/usr/bin "$HOOKS/nm-dispatcher" ib1 "$2"
    [ $((${EPOCHREALTIME/[.,]/} - start)) -lt 1000000 ]
}
wait_until 20 quick B up
ok "what is up is not waited for"
wait_until 20 quick A reapply
ok "without candidates nothing is waited for"
