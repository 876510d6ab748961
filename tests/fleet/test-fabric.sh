#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A fabric of eight hosts with eight rails on two wires: every host asks every other, and what they say is folded into one
# report. On a right fabric it is silent; faults that are put into it are named, and nothing else is.
# The machine has one table of neighbours for all namespaces, 1024 entries by default: eight hosts that ask each other fit
# into it, twelve (HOSTS=12) are asked in waves. How full it is can be seen from outside of namespaces only.
[ -n "${IBH_INSIDE:-}" ] || exec 9</proc/net/stat/arp_cache
. "$(dirname "$0")/lib.sh"

HOSTS=${HOSTS:-8}
RAILS=8
mkdir $work/reports
hosts=()
for ((i = 1; i <= HOSTS; i++)); do hosts+=("n$i"); done

host_id() { # as lib.sh wants it: the third byte of its addresses
    echo "${1#n}"
}

# Half of the rails are on a wire of their own, as with two planes of switches.
start=$EPOCHREALTIME
make_hosts $RAILS "${hosts[@]}"
ip -n wire link add br1 type bridge forward_delay 0 mcast_snooping 0
ip -n wire link set br1 up
peers=()
for host in "${hosts[@]}"; do
    for ((rail = 0; rail < RAILS; rail++)); do
        peers+=("172.16.${host#n}.$((rail + 1))")
        echo "172.16.${host#n}.$((rail + 1)) $host-ib$rail" >>$work/names
        [ $rail -lt $((RAILS / 2)) ] || ip -n wire link set "$host.$rail" master br1
    done
done
ms() {
    echo $(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))
}
echo "# $HOSTS hosts with $RAILS rails: $(ms) ms"

times_full() { # how often there was no room for a neighbour
    local sum=0 columns
    while read -r -a columns; do
        [ "${columns[0]}" = entries ] || sum=$((sum + 16#${columns[-1]})) # of a processor
    done </proc/self/fd/9
    echo $sum
}
there_is_room() {
    [ $((16#$(sed -n '2s/ .*//p' /proc/self/fd/9))) -lt 200 ]
}

# survey [HOST]…: all hosts but these, one after the other, into $work/reports. Where somebody else filled the table, again.
survey() {
    local before attempt
    for attempt in 1 2 3; do
        before=$(times_full)
        ask_all "$@"
        [ "$(times_full)" != "$before" ] || return 0
        echo "# attempt $attempt: the table of neighbours was full"
    done
    fail "the machine's table of neighbours has room" "it was full in three attempts"
}
ask_all() {
    local host other
    rm -f $work/reports/*
    start=$EPOCHREALTIME
    for host in "${hosts[@]}"; do
        [[ " $* " != *" $host "* ]] || continue
        wait_until 30 there_is_room
        hook "$host" --check --json >"$work/reports/$host" || [ $? = 1 ]
        hook "$host" --probe "${peers[@]}" --count 1 --timeout 0.5 --json >>"$work/reports/$host" || [ $? = 1 ]
        for other in "${hosts[@]}"; do ip -n "$other" neigh flush all; done
    done
    echo "# all asked: $(ms) ms"
}

fold() { # [ARGUMENT]…: leaves its report in $out, its status in $status
    status=0
    out=$(grep -H '' $work/reports/* | jq -nRrf "$fleet/fold.jq" --arg hosts "n[1-$HOSTS]" "$@") || status=$?
}

for host in "${hosts[@]}"; do hook "$host" --apply --quiet >/dev/null; done
survey
fold
expect_equal "a right fabric is all good" "0 hosts: $HOSTS reported, 0 missing, 0 unreadable; $((HOSTS * (HOSTS - 1) * RAILS * RAILS)) pairs of rail and peer; all good" "$status $out"

# What it costs to ask: a host with these rails, as --probe does it by default.
start=$EPOCHREALTIME
read -r user system <<<"$({
    TIMEFORMAT='%U %S'
    time hook n1 --probe "${peers[@]}" --json >$work/probe || true
} 2>&1)"
sent=$(jq '[.pairs[].sent] | add' $work/probe)
echo "# one host: $sent packets in $(ms) ms, $user s + $system s of processor time"
expect_equal "three packets for each pair" $(((HOSTS - 1) * RAILS * RAILS * 3)) "$sent"
expect_at_least "at most 1000 in a second" "$sent" "$(ms)"
for host in "${hosts[@]}"; do ip -n "$host" neigh flush all; done

# ---- faults ----

expect_hook 0 n3 --undo # as if it had no ib-hook: ARP flux
ip -n wire link set n5.2 down
ip -n wire link set n6.3 master br1
ip -n wire link set n6.4 master br0
survey n3
truncate --size=-1000 $work/reports/n7
fold --rawfile names $work/names
flux="172.16.3.1 (n3-ib0), 172.16.3.2 (n3-ib1), 172.16.3.3 (n3-ib2), 172.16.3.4 (n3-ib3), 172.16.3.5 (n3-ib4), 172.16.3.6 (n3-ib5), 172.16.3.7 (n3-ib6), 172.16.3.8 (n3-ib7)"
expect_equal "each fault is named, and nothing else" "missing: n3
unreadable: n7: ...
n5: ib2: error carrier-down: ...
n6 ib3: wrong-wire: it reaches ib4 ib5 ib6 ib7 of other hosts: another rail's cable
n6 ib4: wrong-wire: it reaches ib0 ib1 ib2 ib3 of other hosts: another rail's cable
ib2 of n5: probe-lost: to all peers
$flux: peer-flux: from all rails
$flux: peer-replies-other-nic: from all rails
172.16.5.3 (n5 ib2): probe-lost: from all rails" "$(sed '1d; s/\(^unreadable: n7\|carrier-down\): .*/\1: .../' <<<"$out")"
expect_equal "the exit status says so" 1 $status

