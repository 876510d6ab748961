#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# NetworkManager says "reapply" before it sets the new addresses, and nothing when they are there: the hook answers for
# what comes within a second. No other event is waited for.
. "$(dirname "$0")/lib.sh"

reapply() {
    manager_calls B PATH=/usr/bin "$HOOKS/nm-dispatcher" ib1 reapply &
    reapplied=$!
}
rule_is_back() { [[ $(ip -n B rule) == *"from 172.16.34.2 lookup 942"* ]]; }

make_hosts 2 B
new_host A
mkdir -p /run/sys/A/class
journal_start
manager_calls B PATH=/usr/bin "$HOOKS/nm-dispatcher" ib1 up
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

ip -n B rule delete from 172.16.34.2 # whoever puts it back has looked
reapply
wait_until 5 rule_is_back
ip -n B address delete 172.16.34.2/16 dev ib1
ip -n B address add 172.16.34.22/16 dev ib1
wait "$reapplied"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.22

# Nothing comes: it ends after its second.
start=${EPOCHREALTIME/[.,]/}
from=$(($(journal_lines) + 1))
reapply
wait "$reapplied"
took=$((${EPOCHREALTIME/[.,]/} - start))
[ $took -ge 1000000 ] || fail "a reapply was over after $took us: nothing that came late could have been seen"
[ $took -lt 5000000 ] || fail "a reapply took $took us"
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
