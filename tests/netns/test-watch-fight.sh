#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Somebody undoes again and again what --watch does: it says who, leaves that NIC alone for a while, and goes on with
# the other one.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
watch_start B
stands() { ip -n B rule show | grep -q "from 172.16.34.2 lookup 942"; }
complained() { journal 1 | grep -q "something undoes again and again"; }

for _ in $(seq 200); do
    ! complained || break
    stands && ip -n B rule del from 172.16.34.2 lookup 942
done
wait_until 5 complained
line=$(journal 1 | grep "something undoes again and again")
expect_equal "said once" 1 "$(wc -l <<<"$line")"
expect_contains "a warning about ib1" "4 ib1: " "$line"
expect_contains "with what" "ip -4 rule add priority 1941 from 172.16.34.2 lookup 942" "$line"
expect_contains "and for how long" "left alone for 10 s" "$line"

# What it complains of it has yet to do, once.
away=0
stays_away() {
    away=$((away + 1))
    ! stands || { ip -n B rule del from 172.16.34.2 lookup 942 && away=0; }
    [ $away -ge 20 ]
}
wait_until 5 stays_away
ip -n B route flush table 941
other() { [ -n "$(ip -n B route show table 941)" ]; }
wait_until 5 other
ok "the other rail is repaired"
expect_equal "this one is left alone" no "$(stands && echo yes || echo no)"

back() { stands; }
wait_until 20 back
ok "and tried again"
watch_stop
