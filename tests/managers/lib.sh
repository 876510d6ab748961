# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every test here starts with: `. "$(dirname "$0")/lib.sh"`. It runs beside a booted system (see boot), which is host B of
# ../netns/lib.sh: all of that is offered, too. In addition
#
#   the system    host COMMAND…, ib0 and ib1 (172.16.34.1 and .2 /16, the rails), eth0 (10.9.0.34/24, nobody's business)
#   its manager   restart, ready, readdress NIC ADDRESS…, down NIC, up NIC, dhcp: from manager-*.sh
#   what happens  event COMMAND… (happens COMMAND… where a NIC stays down); then expect_repaired
#   its journal   own_journal, expect_quiet_journal
#
# Environment, set by boot: SYSTEM, MODE (before, hooks, watch). Its files are in $ROOT.
managers=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! declare -F learned_mac >/dev/null; then
    # shellcheck source=tests/netns/lib.sh
    . "$managers/../netns/lib.sh"
fi
work=/run/test ROOT=/run/root

# shellcheck source=tests/managers/machine.sh
. "$managers/machine.sh"
# shellcheck disable=SC1090 # one of those beside this file
case $SYSTEM in
    ifupdown*) . "$managers/manager-ifupdown.sh" ;;
    *) . "$managers/manager-${SYSTEM%-*}.sh" ;;
esac

RAILS="ib0:941:172.16.34.1 ib1:942:172.16.34.2"
CONTROL="from 198.51.100.7 lookup main proto static"

only() { # SYSTEM…: ends a test that is for other systems than these (patterns)
    local pattern
    # shellcheck disable=SC2053 # a pattern
    for pattern in "$@"; do [[ $SYSTEM != $pattern ]] || return 0; done
    n_fail=1
    exit 78
}

says() { # FINDING: all that --check finds, without information, and that no hook is called where expect_check says it
    host /usr/bin/ib-hook --check --json >"$work/check.json" || true
    [ "$(jq -r '[.findings[] | select(.severity != "info" and .owner != "there is no networkd-dispatcher.service") | "\(.ifaces | join("+")) \(.code)"] | join(", ")' "$work/check.json")" = "$1" ]
}

# ---- the system ------------------------------------------------------------------------------------

host() { # COMMAND…: in the booted system
    nsenter -t "$(<$work/leader)" -m -u -i -n -p -C -- "$@"
}

carrier() { # NIC on|off: at the other end of its cable
    local port=B.${1#ib}
    if [ "$2" = on ]; then ip -n wire link set "$port" up; else ip -n wire link set "$port" down; fi
}

has_address() { # NIC ADDRESS
    [[ $(ip -n B -4 -o address show dev "$1") == *" $2/"* ]]
}

# traffic_from_peer: traffic_start between hosts that know each other: nothing is lost for a neighbour that has to be found
# first.
traffic_from_peer() {
    local i j
    serve B
    for i in 1 2; do
        for j in 1 2; do on A ping -q -n -c 1 -W 2 -I 172.16.16.$i 172.16.34.$j >/dev/null; done
    done
    # shellcheck disable=SC2119 # none of its arguments are ours
    traffic_start
}

# serve_dhcp ADDRESS ADDRESS: what ib0 and ib1 get from now on. Asked for again every 3 s; leases of before are unknown.
serve_dhcp() {
    local i
    dhcp_stop
    : >"$work/dhcp.hosts"
    for i in 0 1; do echo "$(mac B $i),${*:i+1:1},120" >>"$work/dhcp.hosts"; done
    nsenter --net=/run/netns/A dnsmasq --conf-file=/dev/null --no-daemon --user=root --port=0 --interface=ib0 --bind-interfaces --dhcp-authoritative \
        --dhcp-range=172.16.0.0,static,255.255.0.0,120 --dhcp-hostsfile="$work/dhcp.hosts" --dhcp-leasefile="$work/dhcp.leases" \
        --dhcp-option=3 --dhcp-option=6 --dhcp-option-force=58,3 --dhcp-option-force=59,5 --no-ping \
        </dev/null >>"$work/dhcp.log" 2>&1 &
    echo $! >"$work/dhcp.pid"
}

dhcp_stop() {
    [ ! -e "$work/dhcp.pid" ] || { kill "$(<$work/dhcp.pid)" && wait "$(<$work/dhcp.pid)" 2>/dev/null; } || true
    rm -f "$work/dhcp.pid" "$work/dhcp.leases"
}

# ---- what stands there -------------------------------------------------------------------------------

our_state() { # of IPv4
    our_rules B
    our_routes B | { grep -v ' pref ' || true; }
}

wanted() { # "NIC:TABLE:ADDRESS…": what our_state says when exactly these are rails
    local one nic table address rules="" routes=""
    for one in $1; do
        IFS=: read -r nic table address <<<"$one"
        rules+=$(rule_line "$address" "$table")$'\n'
        routes+=$(route_line 172.16.0.0/16 "$nic" "$table" "$address")$'\n'
    done
    printf %s "$rules" | sort
    printf %s "$routes" | sort
}

foreign_routing() { # all rules and routes but ours; temporary ones of IPv6 come and go
    { ip -n B -d rule && ip -n B route show table all && ip -n B -6 -d rule && ip -n B -6 route show table all; } |
        { grep -vw -e "suppress_ifgroup $MARK" -e "metric $MARK" || true; } | sed 's/ expires [0-9]*sec//' | tidy
}

without_metrics() { # one that NetworkManager chooses is the next one that nobody had
    sed 's/ metric [0-9]*//'
}

# settle "NIC:TABLE:ADDRESS…" [SECONDS]: waits until exactly these are rails, and stay it for half a second: what a
# manager does last may come a little after it says that it is ready.
settle() {
    local wanted got since now limit=$((${EPOCHREALTIME/[.,]/} + ${2:-10} * 1000000))
    wanted=$(wanted "$1") since=
    while :; do
        got=$(our_state) now=${EPOCHREALTIME/[.,]/}
        if [ "$got" != "$wanted" ]; then
            [ "$now" -lt $limit ] || fail "the rails in the end" "$(diff <(echo "$wanted") <(echo "$got"))"
            since=
        elif [ $((now - ${since:=$now})) -ge 500000 ]; then
            return 0
        fi
        sleep 0.02
    done
}

expect_rails_right() { # WHAT ["NIC:TABLE:ADDRESS…"]: in the end, and the traffic, and the check says so
    local rails=${2:-$RAILS} one nic address
    settle "$rails"
    ok "$1: $rails"
    for one in $rails; do
        nic=${one%%:*} address=${one##*:}
        expect_sysctls B "$nic" arp_ignore=1 arp_announce=2
        expect_peer_uses "$nic" "$address"
    done
    expect_check "$rails"
}

expect_peer_uses() { # NIC ADDRESS: only this NIC answers for it, its hardware address is learned, and traffic takes it
    forget A
    expect_equal "who answers for $2" "$1" "$(arp_answers A ib0 172.16.16.1 B "$2")"
    serve B
    expect_equal "$2 from the peer: by $1, of 5" 5 \
        "$(flow_on A --from 172.16.16.1 --to "$2" --expect-server "$1" --expect-iface ib0 --count 5 | jq .right)"
    serve_no_more
    expect_equal "learned for $2" "$(mac B "${1#ib}")" "$(learned_mac A "$2" | sort -u)"
}

serve_no_more() {
    kill "$(<"$work/server.B")"
    wait_until 5 eval "! kill -0 $(<"$work/server.B") 2>/dev/null"
}

expect_check() { # "NIC:TABLE:ADDRESS…": exit status 0, and exactly these
    local status=0
    host /usr/bin/ib-hook --check --json >"$work/check.json" || status=$?
    expect_checked "ib-hook --check" "$1" "$status" $work/check.json
}

expect_checked() { # WHAT RAILS STATUS FILE: where nothing calls our hooks, that is found, and no more
    local found=0
    [ "$SYSTEM.$MODE" != networkd-alone.hooks ] || found="1 host hook-inactive"
    expect_equal "$1: status, findings and rails" "$found $2" \
        "$3 $(jq -r '.findings[] | select(.severity != "info") | "\(.ifaces | join("+") | if . == "" then "host" else . end) \(.code) "' "$4" | tr -d '\n')$(checked_rails "$4")"
}

checked_rails() { # FILE → NIC:TABLE:ADDRESS… of the rails that are ok
    jq -r '[.rails[] | select(.ok) | .iface as $i | .table as $t | .addresses[] | split("/")[0] | select(test(":") | not) |
        "\($i):\($t):\(.)"] | join(" ")' "$1"
}

# ---- what happens ------------------------------------------------------------------------------------

control_stands() {
    [[ $(ip -n B rule show) == *"$CONTROL"* ]]
}

# happens COMMAND…: something happens to the system, beside a rule as an administrator's script would have added it.
happens() {
    remember_journal
    # shellcheck disable=SC2086 # a list of words
    control_stands || ip -n B rule add priority 30001 $CONTROL
    "$@" >"$work/event.log" 2>&1 || fail "$*" "$(<$work/event.log)"
}

event() { # COMMAND…: returns when the manager is done with it, and all NICs are up
    happens "$@"
    wait_until 20 ready
}

event_over() {
    control_after=$(control_stands && echo kept || echo gone)
    ip -n B rule delete priority 30001 2>/dev/null || true
}

# expect_control gone|kept: whether what happened was something in which other people's rules are lost. By default, what
# this manager does to them whenever it configures a link.
expect_control() {
    event_over
    set -- "${1:-$FOREIGN_RULES}"
    expect_equal "the rule with protocol static" "$1" "$control_after"
}

# expect_repaired WHAT "NIC:TABLE:ADDRESS…" [SYSTEM…]: in the end these are rails. On the systems named (patterns) no hook is
# called for what happened: there, only ib-hook --watch repairs it, and without it all stays as it is until somebody looks.
expect_repaired() {
    local what=$1 rails=$2 pattern
    for pattern in "${@:3}"; do
        # shellcheck disable=SC2053 # a pattern
        [[ $MODE = hooks && $SYSTEM == $pattern ]] || continue
        expect_unrepaired "$what" rails_are "$rails"
        host /usr/bin/ib-hook --apply >/dev/null
        what="$what, after --apply"
        break
    done
    expect_rails_right "$what" "$rails"
    expect_quiet_journal
}

# expect_unrepaired WHAT COMMAND…: for a second, the command does not say that all is right
expect_unrepaired() {
    local what=$1 end=$((${EPOCHREALTIME/[.,]/} + 1000000))
    shift
    while [ "${EPOCHREALTIME/[.,]/}" -lt $end ]; do
        ! "$@" || fail "$what: repaired, though no hook is called for it; is this a test of ib-hook --watch only?"
        sleep 0.05
    done
    ok "$what: not repaired, as no hook is called"
}

rails_are() { # "NIC:TABLE:ADDRESS…"
    [ "$(our_state)" = "$(wanted "$1")" ]
}

# ---- its journal -------------------------------------------------------------------------------------

own_journal() { # PRIORITY MESSAGE, since the last remember_journal
    host journalctl --sync
    host journalctl -b -t ib-hook -o json | jq -r '"\(.PRIORITY) \(.MESSAGE)"' | tail -n +"$(($(<$work/seen) + 1))"
}

echo 0 >"$work/seen"
remember_journal() {
    echo 0 >"$work/seen"
    own_journal | wc -l >"$work/seen.new"
    mv "$work/seen.new" "$work/seen"
}

expect_quiet_journal() { # no warning of ours
    expect_equal "warnings of ours in the journal" "" "$(own_journal | grep '^[0-4] ' || true)"
}

# The state of a system that failed a test.
describe() {
    echo "--- the last lines of ours in the journal"
    host journalctl -b -t ib-hook --no-pager -n 25 -o short-monotonic
    echo "--- the last lines of all"
    host journalctl -b --no-pager -n 25 -o short-monotonic
    echo "--- ib-hook --show and --plan"
    host ib-hook --show
    host ib-hook --plan
    echo "--- addresses, rules, tables"
    ip -n B -br address
    ip -n B rule
    ip -n B route show table all | grep -v 'table local'
    ip -n B -6 rule
}
