# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slow motion: ib-hook changes B from one state to another, and each state in between stands for 20 ms, so that the
# packets of numbered streams meet it. Of its peers, A forgets every 20 ms what it has learned of B, and asks again; C
# believes what it has learned until it is told. B asks its peers every 20 ms whether they still are there, and they learn
# from which NIC it asks. What worked before a plan and works after it has to work in each state in between
# (core/plan/order.c).
#
# A busy machine may lose a packet by itself. So a run that loses one or two is repeated, and may not lose any then.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
STREAMS=$(dirname "$FLOW")/streams
[ -x "$STREAMS" ] || fail "there is no $STREAMS: run make tools"

# ---- the hosts ---------------------------------------------------------------------------------------

GATEWAY=172.16.16.1 # A, by its first NIC
BEYOND=10.99.0.1    # A has these addresses, too
BEYOND_V6=fd99::1
AROUND=172.99.0.1
INSIDE=172.16.99.1
FAR=198.51.100.1 # main has no route to this one

make_slow_hosts() {
    local i
    make_hosts 2 A B C
    give_addresses A
    give_addresses B
    give_addresses C
    route_by_main
    # A asks from an address of the subnet, as a router does: a strict rail answers no other.
    for i in $BEYOND $AROUND $INSIDE $FAR $BEYOND_V6; do ip -n A address add "$i" dev lo; done
    for i in ib0 ib1; do sysctl_set A $i arp_announce 2; done
    ip -n C link set ib1 down
    for i in ib0 ib1; do sysctl_set B $i rp_filter "$RP_FILTER_OF_B"; done
    background A serve 172.16.16.1 172.16.16.2 fd00:16::16:1 fd00:16::16:2 $BEYOND $AROUND $INSIDE $FAR $BEYOND_V6
    background C serve 172.16.50.1 fd00:16::50:1
    background B serve 172.16.34.1 172.16.34.2 172.16.34.9 fd00:16::34:1 fd00:16::34:2
}

give_addresses() { # HOST
    local i id
    id=$(host_id "$1")
    for i in 1 2; do
        ip -n "$1" address flush dev ib$((i - 1)) scope global
        ip -n "$1" address add "172.16.$id.$i/16" dev ib$((i - 1))
        ip -n "$1" address add "fd00:16::$id:$i/64" dev ib$((i - 1)) nodad
    done
}

# B reaches these networks as hosts do without ib-hook.
route_by_main() {
    ip -n B route replace 10.99.0.0/16 via $GATEWAY
    ip -n B route replace 172.99.0.0/16 via $GATEWAY
    ip -n B route replace 172.16.99.0/24 via $GATEWAY
    ip -n B route replace fd99::/64 via fd00:16::16:1
}

# ---- the traffic -------------------------------------------------------------------------------------

started=0
background() { # HOST ARGUMENT…: `streams` there; it has started when this returns
    local end
    started=$((started + 1))
    nsenter --net="/run/netns/$1" "$STREAMS" "$2" --started $work/started.$started --count-file $work/count --stop-file $work/stop "${@:3}" \
        >$work/streams.$started 2>&1 &
    pids+=($!)
    end=$((${EPOCHREALTIME/[.,]/} + 10000000))
    until [ -e $work/started.$started ]; do
        [ "${EPOCHREALTIME/[.,]/}" -lt $end ] || {
            touch $work/stop
            wait "${pids[-1]}" || true
            fail "${what:-}: on $1 these do not begin" "$(<$work/streams.$started)"
        }
        sleep 0.01
    done
}

# streams_between HOST NUMBERS PEER NUMBERS: from each of these addresses to each, from none to each; those for $away not
away=
streams_between() {
    local from to here there
    here=$(host_id "$1") there=$(host_id "$3")
    for to in $4; do
        echo "udp,any,172.16.$there.$to udp,any,fd00:16::$there:$to"
        for from in $2; do
            echo "udp,172.16.$here.$from,172.16.$there.$to udp,fd00:16::$here:$from,fd00:16::$there:$to"
            echo "tcp,172.16.$here.$from,172.16.$there.$to tcp,fd00:16::$here:$from,fd00:16::$there:$to"
        done
    done | tr ' ' '\n' | grep -vE ",(${away:-none})(,|$)"
}

# streams_start [STREAM]…: both ways, and these from B
streams_start() {
    local of_a of_b of_c
    rm -f $work/count $work/stop $work/started.* $work/streams.*
    pids=()
    started=0
    forget A B C
    mapfile -t of_a < <(streams_between A "1 2" B "1 2")
    mapfile -t of_b < <(streams_between B "1 2" A "1 2"; streams_between B "1 2" C 1)
    mapfile -t of_c < <(streams_between C 1 B "1 2")
    background A send --rate "$RATE" "${of_a[@]}"
    background B send --rate "$RATE" "${of_b[@]}" "$@"
    background C send --rate "$RATE" "${of_c[@]}"
    background A forget
    background B doubt
    touch $work/count
    sleep 0.1 # of traffic, before anything changes
}

# Leaves what was lost in $lost, and how it was lost in $how. What stands at the end carries packets for half a second.
streams_stop() {
    local pid
    sleep 0.5
    touch $work/stop
    for pid in "${pids[@]}"; do wait "$pid" || true; done
    how=$(cat $work/streams.[123])
    lost=$(jq -s 'map(.lost) | add' <<<"$how")
    [ "$(jq -s 'map(.broken) | add' <<<"$how")" = 0 ] || lost=$((lost + 1000))
}

# ---- a plan in slow motion ------------------------------------------------------------------------------

configuration() { # [DEFAULTS [SETTINGS OF EACH NIC [MORE SECTIONS]]] → the name of a file
    local file
    file=$(mktemp $work/conf.XXXXXX)
    chmod 0644 "$file"
    printf '[defaults]\narp=%s\n%s\n[interface ib*]\nmanage=yes\n%s\n%s\n' "$ARP" "${1:-}" "${2:-}" "${3:-}" >"$file"
    echo "$file"
}

# slowly ARGUMENT…: ib-hook on B. Each message to the kernel and each sysctl that it writes is followed by 20 ms.
slowly() {
    local calls=sendmsg,sendto,write
    on B strace -f -qq --seccomp-bpf -o $work/trace -e trace=$calls -e inject=$calls:delay_exit=20000 \
        "$IB_HOOK" --sysfs /run/sys/B "$@" >$work/out 2>&1 </dev/null || fail "$what: ib-hook $* ends with $?" "$(<$work/out)"
    ! grep -q ': 0 changes' $work/out || fail "$what: ib-hook $* changes nothing"
}

becomes() { # CONFIGURATION
    slowly --config "$1" --apply
}

# stands CONFIGURATION | plain: at once
stands() {
    hook B --undo >/dev/null
    [ "$1" = plain ] || hook B --config "$1" --apply >/dev/null
}

# ---- the judge -----------------------------------------------------------------------------------------

red=()
# shows WHAT FUNCTION ARGUMENT…: the function makes a state, calls streams_start, and changes the state slowly.
shows() {
    what="$1, arp=$ARP"
    [[ -z ${ONLY:-} || $1 =~ $ONLY ]] || return 0
    lost_by "${@:2}"
    if [ "$lost" != 0 ] && [ "$lost" -le 2 ]; then
        echo "# $what: $lost lost; again"
        lost_by "${@:2}"
        [ "$lost" = 0 ] || lost=3
    fi
    if [ "$lost" -le 2 ]; then
        ok "$what: $(jq -s 'map(.sent) | add' <<<"$how") packets"
    else
        echo "# $what: packets are lost:"
        echo "$how"
        red+=("$what")
    fi
}

lost_by() {
    "$@"
    streams_stop
    away=
    clean_up
}

# Each run begins with the same host.
clean_up() {
    hook B --undo >/dev/null
    ip -n wire link set B.1 up
    wait_until 5 carrier_is up
    ip -n B rule del priority 5000 2>/dev/null || true
    ip -n B route flush table 77 2>/dev/null || true
    ip -n B route del default 2>/dev/null || true
    give_addresses B
    route_by_main
}

# ---- the transitions -------------------------------------------------------------------------------------

from_to() { # CONFIGURATION | plain, CONFIGURATION | plain [STREAM]…
    stands "$1"
    streams_start "${@:3}"
    if [ "$2" = plain ]; then slowly --undo; else becomes "$2"; fi
}

both_ways() { # WHAT CONFIGURATION OTHER_CONFIGURATION [STREAM]…
    shows "$1" from_to "$2" "$3" "${@:4}"
    shows "$1, and back" from_to "$3" "$2" "${@:4}"
}

not_confirmed() { # CONFIGURATION | plain, CONFIGURATION
    stands "$1"
    streams_start
    slowly --config "$2" --apply --confirm 1 # strace ends with the process that waits
}

on_b() { # COMMANDS
    on B sh -ec "$1"
}

others_change() { # CONFIGURATION COMMANDS…: each followed by a plan
    local commands
    stands "$1"
    streams_start
    for commands in "${@:2}"; do
        on_b "$commands"
        becomes "$1"
    done
}

# What others do then makes main decide where 172.16.34.2 leaves. Until ib-hook hears of it, a strict rp_filter of ib1 drops
# what arrives for it.
main_decides_meanwhile() {
    [ "$ARP" = auto ] || away=172.16.34.2
}

# The /16 that comes back is longer than the /12 of the rules.
length_16_again() { # CONFIGURATION
    on_b "ip address add 172.16.34.1/12 dev ib0; ip address add 172.16.34.2/12 dev ib1
          ip address del 172.16.34.1/16 dev ib0; ip address del 172.16.34.2/16 dev ib1"
    main_decides_meanwhile
    others_change "$1" "ip address add 172.16.34.1/16 dev ib0; ip address add 172.16.34.2/16 dev ib1" \
        "ip address del 172.16.34.1/12 dev ib0; ip address del 172.16.34.2/12 dev ib1"
}

# With arp=strict, ib0 does not answer for an address of ib1, and a strict rp_filter keeps ib1 from answering.
one_rail() { # DEFAULTS MANAGE
    local both one
    both=$(configuration "$1")
    one=$(configuration "$1" "" "[interface ib1]
manage=no")
    [ "$ARP$RP_FILTER_OF_B" != strict1 ] || away=172.16.34.2
    if [ "$2" = no ]; then from_to "$both" "$one"; else from_to "$one" "$both"; fi
}

others_begin="ip route add 172.16.0.0/16 dev ib1 src 172.16.34.2 table 77
    ip rule add from 172.16.34.2 lookup 77 priority 5000"
others_end() { # CONFIGURATION
    on_b "$others_begin"
    main_decides_meanwhile
    others_change "$1" "ip rule del priority 5000; ip route flush table 77"
}

readdress() { # CONFIGURATION: the kernel may take the new address away with the old one
    stands "$1"
    away=172.16.34.2
    streams_start
    on_b "ip address add 172.16.34.9/16 dev ib1; ip address del 172.16.34.2/16 dev ib1
          ip address show dev ib1 | grep -q 172.16.34.9 || ip address add 172.16.34.9/16 dev ib1"
    becomes "$1"
}

# What a cable loses is no plan's fault: streams begin when it is out, or in again, and do without it.
cable() { # CONFIGURATION FIRST AFTERWARDS
    ip -n wire link set B.1 "$2"
    stands "$1"
    ip -n wire link set B.1 "$3"
    wait_until 5 carrier_is "$3"
    away="172.16.34.2|fd00:16::34:2"
    [ "$3" = up ] || away+="|any"
    streams_start
    becomes "$1"
}

carrier_is() {
    if [ "$1" = up ]; then settled B; else ip -n B link show dev ib1 | grep -q NO-CARRIER; fi
}

all_transitions() {
    local rails spread other gateway
    rails=$(configuration)
    spread=$(configuration main=spread)
    other=$(ARP=$([ "$ARP" = auto ] && echo strict || echo auto) configuration)

    both_ways "plain, rails" plain "$rails"
    both_ways "the other arp=" "$other" "$rails"
    both_ways "main=spread" "$rails" "$spread"
    both_ways "plain, main=spread" plain "$spread"
    shows "plain, not confirmed" not_confirmed plain "$rails"
    shows "rails, not confirmed" not_confirmed "$rails" "$spread"

    shows "one rail away" one_rail "" no
    shows "one rail back" one_rail "" yes
    shows "one rail of spread away" one_rail main=spread no
    shows "one rail of spread back" one_rail main=spread yes
    gateway=$(configuration "" "gateway=$GATEWAY")
    both_ways "a table moves" "$gateway" "$(configuration "" "gateway=$GATEWAY" "[interface ib1]
table=1005")" "udp,172.16.34.1,$FAR" "udp,172.16.34.2,$FAR"
    # With arp=strict this is no promise: it loses a millisecond of traffic, in slow motion all states of it.
    [ "$ARP" = strict ] || shows "two tables change places" from_to "$(configuration "" "" "[interface ib0]
table=1001
[interface ib1]
table=1002")" "$(configuration "" "" "[interface ib0]
table=1002
[interface ib1]
table=1001")"

    shows "a virtual address" others_change "$rails" "ip address add 172.16.34.9/32 dev ib1"
    shows "a second address" others_change "$rails" "ip address add 172.16.34.9/16 dev ib1"
    shows "another address" readdress "$rails"
    shows "length 16, then 12" others_change "$rails" \
        "ip address add 172.16.34.1/12 dev ib0; ip address add 172.16.34.2/12 dev ib1" \
        "ip address del 172.16.34.1/16 dev ib0; ip address del 172.16.34.2/16 dev ib1"
    shows "length 12, then 16" length_16_again "$rails"
    shows "a default of main" others_change "$rails" "ip route add default via $GATEWAY dev ib1" \
        "ip route del default via $GATEWAY dev ib1"
    shows "others route" others_change "$rails" "$others_begin"
    shows "others route no more" others_end "$rails"
    shows "the cable out" cable "$spread" up down
    shows "the cable in" cable "$spread" down up

    # What main reaches by ib0 may not come back by ib1 with arp=strict.
    local beyond=("udp,172.16.34.1,$BEYOND" "udp,any,$BEYOND")
    [ "$ARP" = strict ] || beyond+=("udp,172.16.34.2,$BEYOND")
    both_ways "gateway=" "$rails" "$gateway" "${beyond[@]}"
    both_ways "plain, gateway=" plain "$gateway" "${beyond[@]}"
    both_ways "remote= beyond" "$rails" "$(configuration "" "remote=10.99.0.0/16 via $GATEWAY,fd99::/64 via fd00:16::16:1")" \
        "${beyond[@]}" udp,fd00:16::34:1,$BEYOND_V6 udp,fd00:16::34:2,$BEYOND_V6
    both_ways "remote= around" "$rails" "$(configuration "" "remote=172.0.0.0/8 via $GATEWAY")" \
        "${beyond[@]/%$BEYOND/$AROUND}"
    both_ways "remote= inside" "$rails" "$(configuration "" "remote=172.16.99.0/24 via $GATEWAY")" \
        "${beyond[@]/%$BEYOND/$INSIDE}"
}

# What the machine carries while nothing changes: 10,000 packets/s of three hosts, or fewer.
find_rate() {
    local all
    what="at rest"
    for all in 10000 5000 2500 1200; do
        RATE=$((all / 3))
        stands "$(configuration)"
        streams_start
        sleep 1
        streams_stop
        [ "$lost" != 0 ] || break
    done
    echo "# $all packets/s"
}

slow_motion() { # ARP RP_FILTER
    ARP=$1
    RP_FILTER_OF_B=$2
    make_slow_hosts
    find_rate
    all_transitions
    [ ${#red[@]} = 0 ] || fail "these lose packets" "$(printf '%s\n' "${red[@]}")"
}
