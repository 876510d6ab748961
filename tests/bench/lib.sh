# shellcheck shell=bash disable=SC2034 # what those that use it look at
# SPDX-License-Identifier: GPL-2.0-or-later
# Hosts to measure on, for run and guard: namespaces with nothing but rails in them, and what takes an event back.
. "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

bench=$top/tests/bench
LAUNCH=$(dirname "$FLOW")/launch
HOOK=$HOOKS/nm-dispatcher
trap - EXIT # no "1..N" at the end
for tool in "$IB_HOOK" "$HOOK" "$LAUNCH" "$LISTEN"; do
    [ -x "$tool" ] || fail "there is no $tool: run make all tools"
done

# inside HOST COMMAND…: with /sys as it is there, and the environment of a manager's hook (and these variables)
variables=()
inside() {
    with_sys "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C IFACE="${IFACE:-ib0}" "${variables[@]}" "${@:2}"
}

address() { # N → of ib0, ib1, …: 172.16.34.1, as in the documents
    echo "172.16.$((34 + $1 / 250)).$(($1 % 250 + 1))"
}

# bench_host HOST N: N NICs in one subnet. Each has a cable of its own: on one wire, each would hear the others, and that
# would be measured, too.
bench_host() {
    local host=$1 i nics=()
    [ -e /run/netns/cables ] || ip netns add cables
    new_host "$host"
    for ((i = 0; i < $2; i++)); do
        echo "link add $host.$i type veth peer name ib$i address $(mac "$host" "$i") netns $host"
        echo "link set $host.$i up"
        nics+=("ib$i")
    done >$work/cables
    for ((i = 0; i < $2; i++)); do
        echo "address add $(address "$i")/16 dev ib$i"
        echo "link set ib$i up"
    done >$work/nics
    ip -n cables -batch $work/cables
    ip -n "$host" -batch $work/nics
    rdma "$host" "${nics[@]}"
    mkdir -p "/run/sys/$host/class/infiniband"
    for ((i = 0; i < $2; i++)); do # as /sys says what is stacked on them: nothing
        mkdir -p "/run/sys/$host/class/net/ib$i"
        mac "$host" "$i" >"/run/sys/$host/class/net/ib$i/address"
    done
    wait_until 20 settled "$host"
}

# What others have on a host, as ip -batch takes it: rules by source, and links that are up with five addresses each. Their
# hardware addresses, and so IPv6's, are the same in each run.
other_rules() { # N
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
        printf "rule add priority %d from 10.%d.%d.1 lookup 300\n", 5300 + i, i / 256, i % 256 }'
}

other_links() { # N
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) {
        printf "link add other%d address 02:00:00:01:%02x:%02x type ifb\n", i, i / 256, i % 256
        for (k = 1; k <= 5; k++) printf "address add 10.%d.%d.%d/28 dev other%d\n", i / 256, i % 256, k, i
        printf "link set other%d up\n", i } }'
}

# plan HOST [NIC] → what is to be done there (for that NIC), one "OP COMMAND" a line
plan() {
    hook "$1" --plan --json |
        jq -r --arg nic "${2:-}" '.operations[] | select($nic == "" or .iface == $nic) | "\(.op) \(.command)"'
}

# The plan's operations as ip -batch takes them. An announcement is what ib-hook has the kernel do: it says so when a NIC's
# own address is used as a neighbour's; the neighbour goes again.
as_batch() {
    sed -nE -e 's/^(rule|route)-add ip (-4 )?//p' \
        -e 's/^announce arping .* -I ([^ ]+) ([^ ]+)$/neigh replace \2 dev \1 use nud none\nneigh del \2 dev \1/p'
}

as_sysctls() { # as sysctl -p takes them
    sed -nE 's/^sysctl-set sysctl -w //p'
}

# prepare NAME HOST [NIC]: what is to be done on HOST (for that NIC) becomes files in $work: NAME.batch, NAME.sysctls; and
# three programs: NAME takes all of it back, and what /run remembers of all hosts; NAME-lost lets it remember; NAME-routes
# leaves the sysctls as they are, too.
prepare() {
    local name=$work/$1
    plan "${@:2}" >"$name.plan"
    as_batch <"$name.plan" >"$name.batch"
    as_sysctls <"$name.plan" >"$name.sysctls"
    sed -nE 's/^(rule|route) add/\1 del/p' "$name.batch" >"$name.back"
    {
        echo "#!/bin/sh"
        echo "ip -force -batch $name.back 2>/dev/null"
        echo "true"
    } >"$name-routes"
    {
        cat "$name-routes"
        sed -E 's|(.*)=.*|echo 0 >/proc/sys/\1|' "$name.sysctls"
    } >"$name-lost"
    {
        cat "$name-lost"
        echo 'rm -f /run/ib-hook/[in]*'
    } >"$name"
    chmod +x "$name" "$name-lost" "$name-routes"
}

cpu() { # → nanoseconds that --watch has run so far
    awk '{ n += $1 } END { print n }' /proc/"$watch"/task/*/schedstat
}

# callgrind FILE HOST PREPARE PROGRAM ARGUMENT…: counts its instructions, the kernel's not; of a hook that executes
# ib-hook, those of ib-hook
callgrind() {
    inside "$2" "$3"
    inside "$2" valgrind -q --tool=callgrind --trace-children=yes --callgrind-out-file="$1" "${@:4}" >/dev/null
}
