#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Somebody undoes again and again what --watch does: it says so, leaves that NIC alone for a while, and goes on with the
# others, also with one that only goes down and up, or whose addresses come and go.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
journal_start

# start_fighter COMMAND…: a process that stays, in B; fight LINE: it does this to B's rules or routes
start_fighter() {
    rm -f $work/orders
    mkfifo $work/orders
    nsenter --net=/run/netns/B "$@" -force -batch $work/orders >/dev/null 2>&1 &
    fighter=$!
    exec {orders}>$work/orders
}
fight() { echo "$*" >&$orders; }
stop_fighter() {
    exec {orders}>&-
    wait $fighter || true
}
stands() { ip -n B rule show | grep -q "from $1 to 172.16.0.0/16 lookup $2"; }
# Where the machine is slow, a rail's pause ends, and it is fought over anew.
complaints() { journal 1 | grep "^4 $1: another program keeps undoing" || true; }
complained_of() { [ -n "$(complaints ib0)" ] && [ -n "$(complaints ib1)" ]; }

# Two rails are fought over; a third one goes down and up, and an address of its own comes and goes, while a hook collects
# what belonged to it.
watch_start B
start_fighter ip
third() { stands 172.16.34.3 943; }
for n in $(seq 200); do
    ! complained_of || [ "$n" -lt 8 ] || break
    ip -n B link set ib2 down
    ip -n B address del 172.16.34.3/16 dev ib2
    on B "$IB_HOOK" --sysfs /run/sys/B --apply >/dev/null
    ip -n B address add 172.16.34.3/16 dev ib2
    ip -n B link set ib2 up
    for i in 1 2; do ! stands 172.16.34.$i 94$i || fight rule del from 172.16.34.$i to 172.16.0.0/16 lookup 94$i; done
    wait_until 5 third
done
wait_until 5 complained_of
line=$(complaints ib1 | head -n 1)
expect_contains "with what" "ip -4 rule add priority 1941 from 172.16.34.2 to 172.16.0.0/16 lookup 942" "$line"
expect_contains "and for how long" "left alone for 10 s" "$line"
expect_contains "who it may be" "perhaps ip ($fighter)" "$line"
expect_contains "ib0 as well" "from 172.16.34.1 to 172.16.0.0/16 lookup 941" "$(complaints ib0)"
expect_equal "not the third one" "" "$(complaints ib2)"

# What it complains of it has yet to do, once.
away=0 last_fight=$SECONDS
stays_away() {
    away=$((away + 1))
    for i in 1 2; do
        ! stands 172.16.34.$i 94$i || { fight rule del from 172.16.34.$i to 172.16.0.0/16 lookup 94$i && away=0 last_fight=$SECONDS; }
    done
    [ $away -ge 20 ]
}
wait_until 5 stays_away
stop_fighter
ip -n B route flush table 943
ip -n B rule del from 172.16.34.3 lookup 943
other() { third && [ -n "$(ip -n B route show table 943)" ]; }
wait_until 5 other
fought_over=$(stands 172.16.34.2 942 && echo repaired || echo left)
ok "the other rail is repaired"
[ $((SECONDS - last_fight)) -ge 9 ] || expect_equal "these are left alone" left "$fought_over"

back() { stands 172.16.34.1 941 && stands 172.16.34.2 942; }
wait_until 20 back
ok "and tried again"
for rail in ib0 ib1; do # each pause is longer than the one before
    expect_equal "said once for each pause of $rail" "" "$(complaints $rail | grep -o "alone for [0-9]* s" | sort | uniq -d)"
done
watch_stop

# A process is known by its number in its own PID namespace. Here it is 1, which is another one in this test's.
watch_start B
start_fighter unshare --pid --fork ip
before=$(complaints ib1 | wc -l)
complained_again() { [ "$(complaints ib1 | wc -l)" -gt "$before" ]; }
for _ in $(seq 200); do
    ! complained_again || break
    ! stands 172.16.34.2 942 || fight rule del from 172.16.34.2 lookup 942
done
wait_until 5 complained_again
expect_contains "who it may be, from another PID namespace" "perhaps ip ($(pgrep -P $fighter))" "$(complaints ib1 | tail -n 1)"
stop_fighter
watch_stop

# main=spread is no NIC's own: the message names the setting that ends the fight.
printf '[defaults]\nmain=spread\n' >$work/spread.conf
watch_start B --config $work/spread.conf
start_fighter ip
spread_stands() { ip -n B rule show | grep -q "from 0.0.0.0 to 172.16.0.0/16 lookup 940"; }
wait_until 10 spread_stands
spread_is_said() { [ -n "$(complaints main=spread)" ]; }
for _ in $(seq 200); do
    ! spread_is_said || break
    ! spread_stands || fight rule del from 0.0.0.0/32 to 172.16.0.0/16 lookup 940
done
wait_until 5 spread_is_said
expect_contains "main=spread is fought over" "main=spread is left alone for 10 s; stop that program, or set main=keep" \
    "$(complaints main=spread | head -n 1)"
stop_fighter
watch_stop
