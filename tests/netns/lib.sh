# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every test here starts with: `. "$(dirname "$0")/lib.sh"`.
#
# It runs the test again inside private namespaces (network, mount and, where possible, process: nothing outlives the
# test, and nothing outside of it is touched). There it offers
#
#   two hosts     A 172.16.16.1 .2 …   B 172.16.34.1 .2 …   NICs ib0 ib1 …, all on one Ethernet, in 172.16.0.0/16
#   their truth   state, our_rules, our_routes, learned_mac, arp_answers, matrix
#   traffic       serve, flow_on, traffic_start, traffic_stop
#   assertions    expect_…, ok, fail, skip (each says what was expected and what it got)
#
# Environment: IBH_BUILD what make built (build/), IB_HOOK the program under test and FLOW the traffic tool, if they are not
# there; IBH_KEEP a directory that is not hidden; CI makes a skip a failure, IBH_SEED repeats a random run.
set -Eeuo pipefail

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$tests/../.." && pwd)
IBH_BUILD=${IBH_BUILD:-$top/build}
IB_HOOK=$(realpath -m "${IB_HOOK:-$IBH_BUILD/ib-hook}")
FLOW=$(realpath -m "${FLOW:-$IBH_BUILD/flow}")
HOOKS=$(dirname "$IB_HOOK")/hooks
LISTEN=$(dirname "$FLOW")/listen
ECHOES=$(dirname "$FLOW")/echoes
export IBH_BUILD IB_HOOK FLOW HOOKS LC_ALL=C
export PATH="$PATH:/usr/sbin:/sbin"

MARK=1768056939 # "ibhk": metric of our routes, suppress_ifgroup of our rules
CONF=/proc/sys/net/ipv4/conf
ARP_KEYS="rp_filter arp_filter arp_announce arp_ignore accept_local ignore_routes_with_linkdown"

# ---- namespaces ------------------------------------------------------------------------------------

if [ -z "${IBH_INSIDE:-}" ]; then
    user=(--user --map-root-user)
    # All that a test does to begin with: it is no use to have namespaces in which nothing may be mounted.
    can="mount -t tmpfs tmpfs /run && ip netns add here && ip -n here link set lo up"
    [ "$(id -u)" = 0 ] && unshare --net --mount sh -c "$can" 2>/dev/null && user=()
    if ! why=$(unshare "${user[@]}" --net --mount sh -c "$can" 2>&1); then
        echo "${cannot:-SKIP:} no private network namespaces here (${why%%$'\n'*}): be root (in a container: one with" \
            "--privileged), or allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone," \
            "kernel.apparmor_restrict_unprivileged_userns, whichever forbids them)"
        exit 77
    fi
    process=(--pid --fork --kill-child=KILL --mount-proc)
    unshare "${user[@]}" --net --mount "${process[@]}" true 2>/dev/null || process=()
    IBH_INSIDE=$([ ${#user[@]} = 0 ] && echo root || echo user)
    export IBH_INSIDE
    exec unshare "${user[@]}" --net --mount "${process[@]}" bash "$0" "$@"
fi
[ "$IBH_INSIDE" = root ] && rooted=yes || rooted=no # for tests that need the real root
: "$rooted"

work=/run/test

# mount_over DIRECTORY COMMAND…: the command mounts something there; what is under test stays visible in it
mount_over() {
    local one directory hidden=()
    for one in "$top" "$(dirname "$IB_HOOK")" "$(dirname "$FLOW")" ${IBH_KEEP:+"$IBH_KEEP"} ${IBH_IMAGES:+"$IBH_IMAGES"}; do
        [[ $one/ != "$1"/* ]] || { exec {directory}<"$one" && hidden+=("$directory $one"); }
    done
    "${@:2}"
    for one in "${hidden[@]}"; do
        read -r directory one <<<"$one"
        mkdir -p "$one"
        mount --no-canonicalize --bind "/proc/self/fd/$directory" "$one"
        exec {directory}<&-
    done
}

# lay_over DIRECTORY [BELOW]: what is changed there is in memory, and gone with the test; with the files of BELOW in it
lay_over() {
    local files="$work/over$1/files" place="$work/over$1/work"
    mkdir -p "$files" "$place"
    mount_over "$1" mount -t overlay overlay -o "lowerdir=${2:+$2:}$1,upperdir=$files,workdir=$place" "$1"
}

# lay_over_usr [DIRECTORY]…: the programs that are unpacked there, not installed, where a package has them
lay_over_usr() {
    local one below=
    [ "$rooted" = yes ] || skip "laying programs over /usr needs the real root: sudo make check-netns"
    [ $# -gt 0 ] || set -- unpacked
    for one in "$@"; do
        [ -e "$IBH_BUILD/$one/.complete" ] || skip "what it needs is not unpacked: make $IBH_BUILD/$one/.complete"
        mkdir -p "$IBH_BUILD/$one/usr"
        below+=${below:+:}$IBH_BUILD/$one/usr
    done
    lay_over /usr "$below"
}

copy_over() { # DIRECTORY: the same where overlays are refused, of what may be read
    mkdir -p "$work/over$1"
    cp -r --preserve=mode,links "$1/." "$work/over$1" 2>/dev/null || true
    mount_over "$1" mount --bind "$work/over$1" "$1"
}

# Tests see nothing that this machine has configured and remembers, and change nothing of it. Without root's rights only
# what everybody may write has to be hidden, and /etc to be written.
make_private() {
    mount_over /run mount -t tmpfs -o mode=0755 tmpfs /run
    mkdir -p $work /run/sys /run/lock
    mount_over /tmp mount -t tmpfs -o mode=1777 tmpfs /tmp
    if [ "$rooted" = yes ]; then
        lay_over /etc 2>/dev/null || copy_over /etc
        lay_over /var 2>/dev/null || mount_over /var/tmp mount -t tmpfs -o mode=1777 tmpfs /var/tmp
    else
        copy_over /etc
        mount_over /var/tmp mount -t tmpfs -o mode=1777 tmpfs /var/tmp
    fi
    rm -rf /etc/ib-hook /etc/iproute2
    mkdir /etc/iproute2
    mount -t sysfs -o ro sysfs /sys 2>/dev/null || true # of this network namespace; a container may have its own alone
    [ ! -d /sys/class/infiniband ] || mount -t tmpfs -o ro tmpfs /sys/class/infiniband
}

if [ -z "${IBH_LAB:-}" ]; then # several tests may share a lab: tests/managers boots a system for them
    make_private
    ip link set lo up
fi

# ---- assertions ------------------------------------------------------------------------------------

. "$tests/../expect.sh"

skip() {
    echo "SKIP: $1"
    n_fail=1
    exit 77
}

trap 'on_error "${BASH_LINENO[0]:-$LINENO}/$LINENO" "$BASH_COMMAND" $?' ERR
trap '[ $n_fail = 1 ] || echo "1..$n_ok"' EXIT

expect_differs() { # WHAT ONE OTHER
    succeeded "$1" "$2"
    succeeded "$1" "$3"
    [ "$2" != "$3" ] || fail "$1" "expected a difference, got twice:
$2"
    ok "$1"
}

# wait_until SECONDS COMMAND…: polls until it is true; fails after that time.
wait_until() {
    local limit=$1 end # from 5 s on it is no claim about time, and a busy machine may need more
    [ "$limit" -lt 5 ] || limit=$((limit * 4))
    shift
    end=$((${EPOCHREALTIME/[.,]/} + limit * 1000000))
    until "$@"; do
        [ "${EPOCHREALTIME/[.,]/}" -lt $end ] || fail "waited ${limit} s in vain for: $*"
        sleep 0.01
    done
}

needs() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
}
needs ip ping jq nsenter

needs_own_processes() { # whoever looks for processes by their names finds those of other tests elsewhere
    [ $$ = 1 ] || skip "needs a process namespace of its own"
}

# ---- hosts -----------------------------------------------------------------------------------------

on() { # HOST COMMAND…
    nsenter --net="/run/netns/$1" "${@:2}"
}

# shellcheck disable=SC2016 # for the inner shell
# new_host HOST: an empty one, with the kernel's own defaults whatever the machine has. The first IPv4 rule of a namespace
# may cost a packet, because the kernel then separates main from local while packets are looked up: so there was one already.
new_host() {
    ip netns add "$1"
    mkdir -p "/run/sys/$1"
    on "$1" sh -c '
        for c in all default; do for k in '"$ARP_KEYS"'; do echo 0 > '$CONF'/$c/$k; done; done
        echo '"${RP_FILTER:-0}"' > '$CONF'/all/rp_filter
        echo '"${RP_FILTER:-0}"' > '$CONF'/default/rp_filter
        echo 0 > /proc/sys/net/ipv4/ip_forward # it may be inherited, and decides about fixes
        [ ! -d /proc/sys/net/ipv6 ] || echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
        [ ! -d /proc/sys/net/ipv6 ] || echo 0 > /proc/sys/net/ipv6/conf/default/router_solicitations
        ip link set lo up
        ip rule add from 127.0.0.2 lookup main priority 32000
        ip rule del from 127.0.0.2 lookup main priority 32000'
}

# With its ends on the wire, at once: the kernel takes its time for what a namespace that is gone leaves behind.
delete_host() {
    local end
    for end in $(ip -n wire -o link show type veth | grep -oE " $1\.[0-9]+"); do ip -n wire link delete "$end"; done
    ip netns delete "$1"
}

# The wire: a bridge in a namespace of its own.
make_wire() {
    ip netns add wire
    ip -n wire link add br0 type bridge forward_delay 0 mcast_snooping 0
    ip -n wire link set br0 up
}

host_id() { # HOST → the third byte of its addresses
    case $1 in
        A) echo 16 ;;
        B) echo 34 ;;
        *) echo 50 ;;
    esac
}

mac() { # HOST N → the hardware address of its NIC number N
    printf '02:00:00:00:%02x:%02x\n' "$(host_id "$1")" "$2"
}

# add_nic HOST NIC N [ADDRESS/LENGTH]…: a NIC on the wire; up if it gets an address
add_nic() {
    local host=$1 nic=$2 number=$3 address
    ip -n wire link add "$host.$number" type veth peer name "$nic" address "$(mac "$host" "$number")" netns "$host"
    ip -n wire link set "$host.$number" master br0 up
    for address in "${@:4}"; do
        ip -n "$host" address add "$address" dev "$nic"
    done
    [ $# -lt 4 ] || ip -n "$host" link set "$nic" up
}

remove_nic() { # HOST NIC
    ip -n "$1" link delete "$2"
}

# rdma HOST NIC…: what /sys/class/infiniband says: one device mlx5_N with one port per NIC, in this order
rdma() {
    local host=$1 nic n=0 d a b c e f g
    rm -rf "/run/sys/$host"
    shift
    for nic in "$@"; do
        d=/run/sys/$host/class/infiniband/mlx5_$n
        IFS=: read -r a b c e f g <<<"$(mac "$host" $n)"
        mkdir -p "$d/device/net/$nic" "$d/ports/1/gid_attrs/ndevs" "$d/ports/1/gid_attrs/types" "$d/ports/1/gids"
        echo "$nic" >"$d/ports/1/gid_attrs/ndevs/0"
        echo "RoCE v2" >"$d/ports/1/gid_attrs/types/0"
        printf 'fe80:0000:0000:0000:%02x%s:%sff:fe%s:%s%s\n' $((0x$a ^ 2)) "$b" "$c" "$e" "$f" "$g" >"$d/ports/1/gids/0"
        echo Ethernet >"$d/ports/1/link_layer"
        echo "4: ACTIVE" >"$d/ports/1/state"
        echo "5: LinkUp" >"$d/ports/1/phys_state"
        n=$((n + 1))
    done
}

settled() { # HOST: every NIC is up and no address is tentative any more
    [ -z "$(ip -n "$1" -6 address show tentative)" ] &&
        [ -z "$(ip -n "$1" link show up type veth | grep '^[0-9].* state ' | grep -v ' state UP ' || true)" ]
}

# make_hosts N_RAILS [HOST…]: A and B, or those named, with N rails each: ib0 has .1, ib1 has .2 …
make_hosts() {
    local rails=$1 host i nics
    shift
    [ $# -gt 0 ] || set -- A B
    make_wire
    for host in "$@"; do
        new_host "$host"
        nics=()
        for ((i = 0; i < rails; i++)); do
            add_nic "$host" "ib$i" "$i" "172.16.$(host_id "$host").$((i + 1))/16"
            nics+=("ib$i")
        done
        rdma "$host" "${nics[@]}"
    done
    for host in "$@"; do wait_until 5 settled "$host"; done
}

make_peers() { # N: B has so many addresses on one NIC; they become $peers
    local i
    new_host B
    add_nic B eth0 0
    peers=()
    for ((i = 0; i < $1; i++)); do
        peers+=("172.16.34.$i")
        echo "address add 172.16.34.$i/16 dev eth0"
    done >$work/addresses
    ip -n B -batch $work/addresses
    ip -n B link set eth0 up
    wait_until 5 settled B
}

name_nics() { # HOST NAME…: what ib0, ib1 … of it are called from now on
    local host=$1 i=0 name
    for name in "${@:2}"; do
        ip -n "$host" link set ib$i down
        ip -n "$host" link set ib$i name "$name"
        ip -n "$host" link set dev "$name" up
        i=$((i + 1))
    done
    rdma "$host" "${@:2}"
    wait_until 5 settled "$host"
}

# plant HOST DIR: the tree of another one in DIR, as sysfs and procfs show it (the format: tests/unit/fabric_tree.h)
plant() {
    local path text
    sed -E '/^#/d; :a; s,^([^ ]+): (.*) \| (.*)$,\1: \2\n\1/\3,; ta; s,^([^ ]+): ,\1/,' "$top/tests/unit/fabric/$1.tree" |
        while read -r path text; do
            mkdir -p "$2/${path%/*}"
            [[ $path = */ ]] || printf '%b\n' "$text" >"$2/$path"
        done
}

# ---- the program under test -------------------------------------------------------------------------

# The kernel keeps the neighbours of all namespaces in one table, whose limits only the machine's own can change: what fills
# it elsewhere is waited for.
neighbours_have_room() {
    ip -s ntable show name arp_cache | awk '/ entries / { n = $NF } END { exit n >= 512 }'
}

hook() { # HOST ARGUMENT…
    [ -x "$IB_HOOK" ] || fail "there is no $IB_HOOK: run make"
    [[ " $* " != *" --probe "* ]] || wait_until 20 neighbours_have_room
    on "$1" "$IB_HOOK" --sysfs "/run/sys/$1" "${@:2}"
}

# shellcheck disable=SC2016 # for the inner shell
# as_pasted HOST COMMANDS: as --check prints them; sudo is what root needs not, and ib-hook is the one that is tested
as_pasted() {
    mkdir -p "$work/bin.$1"
    printf '#!/bin/sh\n[ "$1" != ib-hook ] || { shift; exec %s --sysfs /run/sys/%s "$@"; }\nexec "$@"\n' "$IB_HOOK" "$1" \
        >"$work/bin.$1/sudo"
    chmod +x "$work/bin.$1/sudo"
    on "$1" env PATH="$work/bin.$1:$PATH" sh -ec "$2"
}

# expect_hook STATUS HOST ARGUMENT…: leaves its output in $out and $err
out=
err=
expect_hook() {
    local status=0
    hook "${@:2}" >$work/out 2>$work/err </dev/null || status=$?
    out=$(<$work/out)
    err=$(<$work/err)
    [ $status = "$1" ] || fail "ib-hook ${*:3} on $2: expected exit status $1, got $status" "$out
$err"
    ok "ib-hook ${*:3} on $2 exits $1"
}

json() { # EXPRESSION: of the last output
    jq -r "$1" <<<"$out"
}

codes() { # of all its findings: "SEVERITY CODE NIC, …"
    json '[.findings[] | "\(.severity) \(.code) \(.ifaces | join("+"))"] | join(", ")'
}

messages() {
    json '.findings[] | .message'
}

findings() { # of the last --check --json, without information: "NIC SEVERITY CODE, …"
    json '[.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.severity) \(.code)"] | sort | join(", ")'
}

# ---- the hooks, --watch, and what they say ----------------------------------------------------------

# From now on the journal is a file; `journal` prints its lines as "PRIORITY MESSAGE".
journal_start() {
    mkdir -p /run/systemd/journal
    "$LISTEN" /run/systemd/journal/socket >$work/journal &
    wait_until 5 test -S /run/systemd/journal/socket
}

journal_settled() { # it has all that was sent
    local mark="MARK=$RANDOM$RANDOM"
    logger --udp --socket /run/systemd/journal/socket "$mark"
    wait_until 5 grep -q "$mark" $work/journal
}

journal() { # FROM: its lines, from this number on
    journal_settled
    sed -n "$1,\$p" $work/journal | sed -n 's/.*PRIORITY=\([0-9]\).*SYSLOG_IDENTIFIER=ib-hook.*\tMESSAGE=/\1 /p'
}

journal_lines() {
    journal_settled
    wc -l <$work/journal
}

# system_config TEXT: as the system's own configuration
system_config() {
    mkdir -p /etc/ib-hook
    printf '%s\n' "$1" >/etc/ib-hook/ib-hook.conf
    chmod 0644 /etc/ib-hook/ib-hook.conf
}

# with_sys HOST COMMAND…: in HOST, with /sys as it is there
# shellcheck disable=SC2016 # for the inner shell
with_sys() {
    on "$1" unshare --mount sh -c 'mount --bind "$1" /sys && shift && exec "$@"' sh "/run/sys/$1" "${@:2}"
}

# at_home HOST COMMAND…: the same, where HOST is the machine's own network namespace, that of process 1: /var/lib/ib-hook counts
# shellcheck disable=SC2016 # for the inner shell
at_home() {
    on "$1" unshare --fork --kill-child=KILL --pid --mount --mount-proc sh -c 'mount --bind "$1" /sys && shift && exec "$@"' sh "/run/sys/$1" \
        "${@:2}" </dev/null
}

# keep_rails: what programs that run at_home keep of rails for the next boot is this test's own, and empty
keep_rails() {
    echo 0123456789abcdef0123456789abcdef >/etc/machine-id # an image may have none yet
    rails=/var/lib/ib-hook/rails
    [ "$rooted" = yes ] || mount -t tmpfs tmpfs /var/lib # where this is no real root, it is another one's
    mkdir -p /var/lib/ib-hook
}

kept_rails() { stat --format='%i %s %Y %Z' "$rails" && cat "$rails"; } # another answer after each writing

# A hook as its manager calls it, with nothing but the environment given.
# manager_calls HOST [VARIABLE=VALUE]… PROGRAM ARGUMENT…: exits 0 and says nothing, or fails the test
manager_calls() {
    local host=$1 status=0 output what
    shift
    what="${*: -3}" # words may be very long, and the shell slow with them
    what=${what:0:200}
    what=${what##*/}
    output=$(with_sys "$host" env -i "$@" </dev/null 2>&1) || status=$?
    [ $status = 0 ] || fail "hook on $host: $what" "expected exit status 0, got $status: $output"
    [ -z "$output" ] || fail "hook on $host: $what" "expected no output, got: $output"
    ok "hook on $host: $what"
}

# Context switches of --watch so far; and whether it has had none for a moment.
switches() {
    awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$watch/status"
}

calm() {
    local before
    before=$(switches)
    sleep 0.3
    [ "$(switches)" = "$before" ]
}

# watch_start HOST [ARGUMENT]…: returns once it is ready; its process id is in $watch
watch=
watch_start() {
    [ -S $work/notify ] || { "$LISTEN" $work/notify >$work/notified & }
    wait_until 5 test -S $work/notify
    : >$work/notified
    NOTIFY_SOCKET=$work/notify nsenter --net="/run/netns/$1" "$IB_HOOK" --sysfs "/run/sys/$1" --watch "${@:2}" >$work/watch.out 2>&1 &
    watch=$!
    wait_until 5 grep -q READY=1 $work/notified
}

watch_stop() {
    kill -TERM "$watch"
    wait "$watch" || fail "--watch ends with 0 on SIGTERM" "got $?: $(<$work/watch.out)"
    expect_equal "--watch writes nothing to its output" "" "$(<$work/watch.out)"
}

# config TEXT: writes a configuration file, prints its name
config() {
    printf '%s\n' "$1" >$work/ib-hook.conf
    chmod 0644 $work/ib-hook.conf
    echo $work/ib-hook.conf
}

# rail NIC TABLE ADDRESS → whole | absent | torn: what stands of it
rail() {
    local rules routes sysctls
    rules=$(ip -n B rule show | grep -c "from $3 to [^ ]* lookup \(main\|$2\) suppress" || true)
    routes=$(ip -n B route show table "$2" 2>/dev/null | grep -c "dev $1 .*metric $MARK" || true)
    sysctls=$(on B cat "$CONF/$1/arp_announce" "$CONF/$1/arp_ignore" | xargs)
    case "$rules $routes $sysctls" in
        "2 1 2 1") echo whole ;;
        "0 0 0 0") echo absent ;;
        *) echo "torn ($rules rules, $routes routes, arp_announce and arp_ignore $sysctls)" ;;
    esac
}

# What people write by hand: a hook for networkd-dispatcher or ifupdown.
documents_script() {
    cat <<-'END'
	#!/bin/bash
	set -e
	if [ "$IFACE" == "ib0" ]; then
	    ip route del 172.16.0.0/16 dev ib0
	    ip route add 172.16.0.0/16 dev ib0 proto kernel scope link src 172.16.34.1 table 941
	    ip rule add from 172.16.34.1 table 941
	elif [ "$IFACE" == "ib1" ]; then
	    ip route del 172.16.0.0/16 dev ib1
	    ip route add 172.16.0.0/16 dev ib1 proto kernel scope link src 172.16.34.2 table 942
	    ip rule add from 172.16.34.2 table 942
	fi
	END
}

# The contract by hand, for the host that is not under test.
rails_by_hand() { # HOST N_RAILS
    local i address key
    for ((i = 0; i < $2; i++)); do
        address=172.16.$(host_id "$1").$((i + 1))
        ip -n "$1" route add 172.16.0.0/16 dev "ib$i" scope link src "$address" table $((941 + i))
        ip -n "$1" rule add from "$address" lookup $((941 + i)) priority 1941
        for key in arp_ignore=1 arp_announce=2; do
            sysctl_set "$1" "ib$i" "${key%=*}" "${key#*=}"
        done
    done
}

# ---- what the kernel says ---------------------------------------------------------------------------

sysctl_get() { # HOST NIC KEY
    on "$1" cat "$CONF/$2/$3"
}

sysctl_set() { # HOST NIC KEY VALUE
    on "$1" sh -c "echo $4 > $CONF/$2/$3"
}

expect_sysctls() { # HOST NIC KEY=VALUE…
    local keys=("${@:3}")
    keys=("${keys[@]%=*}")
    expect_equal "sysctls of $2 on $1: ${*:3}" "$(printf '%s\n' "${@:3}" | sed 's/.*=//')" \
        "$(on "$1" cat "${keys[@]/#/$CONF/$2/}")"
}

# All that can be programmed, byte for byte.
# shellcheck disable=SC2016 # for the inner shell
state() { # HOST
    on "$1" sh -c '
        ip -d rule
        ip route show table all
        ip -d -6 rule
        ip -6 route show table all
        cd '$CONF' && grep . */'"${ARP_KEYS// / */}"
}

# $before and $applied: what the host is without and with what --apply does, which is taken back
# shellcheck disable=SC2034 # the tests use them
know_both_states() { # HOST OPTION…
    before=$(state "$1")
    expect_hook 0 "$@" --apply
    applied=$(state "$1")
    expect_hook 0 "$1" --undo
    expect_equal "the state after --undo" "$before" "$(state "$1")"
}

is() { [ "$(state B)" = "$1" ]; }

tidy() { # squeezes blanks, drops those at both ends, sorts
    awk '{ $1 = $1; print }' | sort
}

marked() { # WORD: tidy, of the lines that have the mark behind this word
    awk -v mark="$1 $MARK " 'index($0 " ", mark) { $1 = $1; print }' | sort
}

our_rules() { # HOST
    ip -n "$1" -d rule show | marked suppress_ifgroup
}

our_routes() { # HOST
    ip -n "$1" route show table all | marked metric
}

foreign_state() { # HOST: the state without what is ours
    state "$1" | { grep -vw -e "suppress_ifgroup $MARK" -e "metric $MARK" || true; }
}

rule_line() { # ADDRESS TABLE [SUBNET]…: the pairs of an address, for 172.16.0.0/16 if none is said
    local subnet priority=${PRIORITY:-1941}
    [ $# -gt 2 ] || set -- "$@" 172.16.0.0/16
    for subnet in "${@:3}"; do
        main_line "$1" "$subnet" $((priority - 1))
        own_rule "$1" "$2" "$priority" "$subnet"
    done
}

own_rule() { # ADDRESS TABLE [PRIORITY [SUBNET]]: the rule of a pair that leads to the table
    echo "${3:-1941}: from $1 to ${4:-172.16.0.0/16} lookup $2 suppress_ifgroup $MARK proto kernel"
}

own_rules() { # HOST: those that lead to tables of ours
    our_rules "$1" | { grep -v ' lookup main ' || true; }
}

main_line() { # ADDRESS SUBNET PRIORITY: what main has more exactly
    echo "$3: from $1 to $2 lookup main suppress_prefixlength ${2#*/} suppress_ifgroup $MARK proto kernel"
}

default_lines() { # ADDRESS TABLE: the rules for a default route
    echo "32764: from $1 lookup main suppress_prefixlength 0 suppress_ifgroup $MARK proto kernel"
    echo "32765: from $1 lookup $(($2 + 2000)) suppress_ifgroup $MARK proto kernel"
}

route_line() { # SUBNET NIC TABLE SOURCE
    echo "$1 dev $2 table $3 proto kernel scope link src $4 metric $MARK"
}

# expect_rails HOST NIC:TABLE:ADDRESS…: exactly these rules and routes in 172.16.0.0/16 are ours, no more
expect_rails() {
    local host=$1 nic table address rules="" routes=""
    for one in "${@:2}"; do
        IFS=: read -r nic table address <<<"$one"
        rules+=$(rule_line "$address" "$table")$'\n'
        routes+=$(route_line 172.16.0.0/16 "$nic" "$table" "$address")$'\n'
    done
    expect_rules "$host" "${rules%$'\n'}"
    expect_routes "$host" "${routes%$'\n'}"
}

expect_rules() { # HOST LINES
    expect_equal "the rules of ours on $1" "$(sort <<<"$2")" "$(our_rules "$1")"
}

expect_routes() { # HOST LINES
    expect_equal "the routes of ours on $1" "$(sort <<<"$2")" "$(our_routes "$1")"
}

expect_nothing_of_ours() { # HOST
    expect_equal "no rule of ours on $1" "" "$(our_rules "$1")"
    expect_equal "no route of ours on $1" "" "$(our_routes "$1")"
}

nic_of() { # HOST MAC
    ip -n "$1" -o link show | sed -n "s/^[0-9]*: \([^@:]*\).* $2 .*/\1/p"
}

learned_mac() { # HOST ADDRESS: what its neighbour table holds, on any NIC
    ip -n "$1" neigh show to "$2" | sed -n 's/.* lladdr \([0-9a-f:]*\) .*/\1/p'
}

# learned HOST ADDRESS PEER → "via ib0 to ib1": by which NIC it sends there, and whose hardware address it learned
learned() {
    ip -n "$1" neigh show to "$2" | sed -n 's/.* dev \([^ ]*\) lladdr \([0-9a-f:]*\) .*/\1 \2/p' |
        while read -r dev lladdr; do echo "via $dev to $(nic_of "$3" "$lladdr")"; done
}

# arp_answers HOST NIC FROM PEER ADDRESS → the peer's NICs that answer for it, sorted, in one line
arp_answers() {
    has_flow
    { on "$1" "$FLOW" arp --iface "$2" --from "$3" --to "$5" || true; } |
        while read -r _ lladdr; do nic_of "$4" "$lladdr"; done | sort | xargs
}

# ---- traffic -----------------------------------------------------------------------------------------

has_flow() {
    [ -x "$FLOW" ] || fail "there is no $FLOW: run make tools"
}

serve() { # HOST…: echo servers, until the test ends
    local host
    has_flow
    for host in "$@"; do on "$host" "$FLOW" serve --detach >"$work/server.$host"; done
}

flow_on() { # HOST ARGUMENT…: its tally, even if packets were lost
    on "$1" "$FLOW" send "${@:2}" || true
}

forget() { # HOST…: their neighbour tables
    local host
    for host in "$@"; do ip -n "$host" neigh flush all; done
}

# The ten pairs: both hosts' two addresses with the source bound, in both directions, and A to B unbound.
# One line each: what was learned of the peer and how traffic flows. Needs: serve A B
matrix() {
    local here there i j from to
    for here in A B; do
        [ $here = A ] && there=B || there=A
        for i in 1 2; do
            for j in 1 2; do
                from=172.16.$(host_id $here).$i to=172.16.$(host_id $there).$j
                forget A B
                on $here ping -q -n -c 1 -W 1 -I "$from" "$to" >/dev/null || true
                echo "$from $to $(pair $here $there "$from" "$to" "ib$((i - 1))" "ib$((j - 1))")"
            done
        done
    done
    for j in 1 2; do
        to=172.16.34.$j
        forget A B
        on A ping -q -n -c 1 -W 1 "$to" >/dev/null || true
        echo "unbound $to $(pair A B unbound "$to" "" "ib$((j - 1))")"
    done
}

pair() { # HOST PEER FROM TO NIC PEER_NIC → right | wrong, and why
    local route tally bound=() via
    route=$(learned "$1" "$4" "$2" | xargs)
    via=${route#via } via=${via%% *}
    [ "$3" = unbound ] || { bound=(--from "$3" --expect-iface "$5") && via=$5; }
    tally=$(flow_on "$1" --to "$4" "${bound[@]}" --expect-server "$6" --count 5)
    if [ "$(jq .right <<<"$tally")" = 5 ] && [ "$route" = "via $via to $6" ]; then
        echo "right: $route"
    elif [ "$(jq .received <<<"$tally")" = 0 ]; then
        echo "lost"
    else
        echo "wrong: $route; $(jq -r .first_wrong <<<"$tally")"
    fi
}

expect_matrix_right() { # WHAT
    local got
    got=$(matrix)
    [ "$(grep -c ' right: ' <<<"$got")" = 10 ] || fail "$1: expected ten pairs right, got $(grep -c ' right: ' <<<"$got" || true)" "$got"
    ok "$1: all ten pairs right"
}

expect_matrix_wrong() { # WHAT
    local got
    got=$(matrix)
    [ "$(grep -c ' right: ' <<<"$got")" -lt 10 ] || fail "$1: expected some pair to be wrong, got ten right" "$got"
    ok "$1: only $(grep -c ' right: ' <<<"$got" || true) of ten pairs are right"
}

# capture_echoes HOST NUMBER COMMAND…: the echo requests that leave HOST while it runs, so many: $work/echoes, a line
# each: time NIC source peer
capture_echoes() {
    [ -x "$ECHOES" ] || fail "there is no $ECHOES: run make tools"
    : >$work/captured
    nsenter --net="/run/netns/$1" "$ECHOES" >$work/captured &
    local echoes=$!
    wait_until 5 grep -q ready $work/captured
    "${@:3}"
    wait_until 5 echoes_are "$2"
    kill $echoes
    wait $echoes || true
}

echoes_are() {
    sed 1d $work/captured >$work/echoes
    [ "$(wc -l <$work/echoes)" -ge "$1" ]
}

# traffic_start: RATE packets/s (500) from each of A's addresses to each of B's, and one TCP connection to each of B's, until
# traffic_stop. Returns once all have had a reply.
traffic=()
traffic_start() {
    local i j
    rm -f $work/stop $work/started.* $work/stream.* $work/tcp.*
    for j in 1 2; do
        for i in 1 2; do
            flow_on A --from 172.16.16.$i --to 172.16.34.$j --expect-server "ib$((j - 1))" --rate "${RATE:-500}" \
                --started $work/started.$i.$j --stop-file $work/stop >$work/stream.$i.$j &
            traffic+=($!)
        done
        on A "$FLOW" hold --from 172.16.16.$j --to 172.16.34.$j --started $work/started.tcp.$j --stop-file $work/stop \
            >$work/tcp.$j &
        traffic+=($!)
    done
    wait_until 5 traffic_flows
}

traffic_flows() {
    [ "$(find $work -name 'started.*' | wc -l)" = 6 ]
}

traffic_stop() {
    local pid
    touch $work/stop
    for pid in "${traffic[@]}"; do wait "$pid" || true; done
    traffic=()
}

# After traffic_stop.
expect_no_loss() { # WHAT
    local file lost sent=0
    for file in "$work"/stream.*; do
        lost=$(jq .lost "$file")
        [ "$lost" = 0 ] || fail "$1: stream ${file##*/stream.}: expected no loss, got $lost packets lost" "$(<"$file")"
        sent=$((sent + $(jq .sent "$file")))
    done
    for file in "$work"/tcp.*; do
        [ "$(jq '.problem == ""' "$file")" = true ] || fail "$1: TCP to B's address ${file##*.}" "$(<"$file")"
    done
    ok "$1: none of $sent packets lost, no TCP connection stalled"
}

expect_settled_right() { # WHAT: the last 100 packets and more of every stream went by the right NICs
    local file
    for file in "$work"/stream.*; do
        [ "$(jq .settled "$file")" -ge 100 ] ||
            fail "$1: stream ${file##*/stream.}: expected right NICs at the end, got: $(jq -r .first_wrong "$file")" "$(<"$file")"
    done
    ok "$1: at the end all packets use the right NICs"
}

# The worst case for a change: A holds the address of B's ib0 for both of B's addresses.
peer_holds_wrong_mac() {
    local nic to
    for nic in ib0 ib1; do
        for to in 172.16.34.1 172.16.34.2; do
            ip -n A neigh replace $to lladdr "$(mac B 0)" dev $nic nud reachable
        done
    done
}

both_learned_right() { # A's entries for B's addresses name the right NICs
    [ "$(learned A 172.16.34.1 B | sort -u | sed 's/.* to //' | sort -u)" = ib0 ] &&
        [ "$(learned A 172.16.34.2 B | sort -u | sed 's/.* to //' | sort -u)" = ib1 ]
}
