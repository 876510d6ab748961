# shellcheck shell=bash disable=SC2154 # lib.sh sets "work"
# SPDX-License-Identifier: GPL-2.0-or-later
# What lib.sh offers beyond machines: two hosts with rails on Soft-RoCE, and their truth.
#
#   hosts         make_hosts, make_host_and_peer, hook, expect_hook, expect_rails, config, sysctl_set
#   what ARP says arp_answers, learned
#   which NICs    ip_ping, by_which, rdma_ping, expect_rdma, counters, used

# ---- two hosts with rails ------------------------------------------------------------------------------

CONF=/proc/sys/net/ipv4/conf

address() { # HOST N → the address of its NIC number N, as in the documents
    echo "172.16.$(host_id "$1").$(($2 + 1))"
}

# make_hosts N [HOST | OPTION]…: A and B, or those named, with N rails each: Soft-RoCE device rxe0 on ib0 …
make_hosts() {
    local rails=$1 host i script word
    local -a hosts=() options=()
    for word in "${@:2}"; do
        case $word in
            *=*) options+=("$word") ;;
            *) hosts+=("$word") ;;
        esac
    done
    [ ${#hosts[@]} -gt 0 ] || hosts=(A B)
    for host in "${hosts[@]}"; do vm_start "$host" "$rails" "${options[@]}"; done
    for host in "${hosts[@]}"; do
        script="$no_dad"
        for ((i = 0; i < rails; i++)); do
            script+="
                ip address add $(address "$host" $i)/16 dev ib$i && ip link set ib$i up &&
                rdma link add rxe$i type rxe netdev ib$i || exit 1"
        done
        vm "$host" "$script"
    done
}

# shellcheck disable=SC2016 # for the shell in the guest
no_dad='for f in /proc/sys/net/ipv6/conf/*/accept_dad; do [ ! -e $f ] || echo 0 >$f; done'

# make_host_and_peer N: one machine B with N NICs, and a network namespace "peer" in it with the NIC peer0: addresses of A
make_host_and_peer() {
    vm_start B $(($1 + 1))
    vm B "$no_dad
        ip netns add peer && ip link set ib$1 netns peer name peer0 || exit 1
        ip -n peer link set lo up && ip -n peer link set peer0 up && ip -n peer address add 172.16.16.1/16 dev peer0"
}

# by_which ADDRESS: pings from the peer; leaves the NICs of B that carried them both ways in $way
by_which() {
    local frames
    frames=$(vm B "$frames_script
        ip netns exec peer ping -q -c 10 -i 0.01 -w 3 $1 >/dev/null
        $frames_script")
    way=$(used 9 "$frames")
}

# hook HOST ARGUMENT…: ib-hook there
hook() {
    vm "$1" "ib-hook ${*:2}"
}

# expect_hook STATUS HOST ARGUMENT…: leaves its output in $out
out=
expect_hook() {
    local status=0
    out=$(hook "${@:2}") || status=$?
    [ $status = "$1" ] || fail "ib-hook ${*:3} on $2: expected exit status $1, got $status" "$out"
    ok "ib-hook ${*:3} on $2 exits $1"
}

json() { # EXPRESSION: of the last output
    jq -r "$1" <<<"$out"
}

# expect_rails HOST NIC…: --check finds exactly these rails, each of them ok, and nothing else
expect_rails() {
    expect_hook 0 "$1" --check --json
    expect_equal "--check on $1 says exactly ${*:2}, each ok" "$(printf '%s true\n' "${@:2}")" \
        "$(json '.rails[] | "\(.iface) \(.ok)"')"
    expect_equal "and on $1 it finds nothing to repair" "true" \
        "$(json '.ok, (.findings[] | select(.severity != "info") | .code)')"
}

# config HOST LINE…: its configuration file; without lines, none
config() {
    vm "$1" "mkdir -p /etc/ib-hook && rm -f /etc/ib-hook/ib-hook.conf"
    [ $# = 1 ] || vm "$1" "printf '%s\n' $(printf "'%s' " "${@:2}") >/etc/ib-hook/ib-hook.conf"
}

sysctl_set() { # HOST NIC… KEY=VALUE
    local host=$1 pair=${*: -1} nic script=
    for nic in "${@:2:$#-2}"; do script+="echo ${pair#*=} >$CONF/$nic/${pair%=*};"; done
    vm "$host" "$script"
}

rp_filter() { # VALUE: of "all" on both hosts
    sysctl_set A all rp_filter="$1"
    sysctl_set B all rp_filter="$1"
}

# ---- what ARP says ---------------------------------------------------------------------------------------

forget() { # HOST…: their neighbours
    local host
    for host in "$@"; do vm "$host" "ip neigh flush all nud all 2>/dev/null || true"; done
}

# arp_answers NIC TARGET: the NICs of B that answer when A's NIC number NIC asks for B's address number TARGET
arp_answers() {
    vm A "arping -c 2 -w 2 -I ib$1 -s $(address A "$1") $(address B "$2") || true" |
        sed -n 's/.*\[02:00:00:00:22:0\([0-9a-f]\)\].*/ib\1/p' | sort -u | xargs
}

# learned RAILS: pings every pair once; how many of the 2 × RAILS × RAILS neighbour entries name the NIC that they
# should: A's about B on the NIC it sent from, and B's about A on the NIC whose address was asked
learned() {
    local rails=$1 right=0 i j script=
    forget A B
    for ((i = 0; i < rails; i++)); do
        for ((j = 0; j < rails; j++)); do
            script+="ping -c 1 -W 2 -I $(address A $i) $(address B $j) & "
        done
    done
    vm A "$script wait" >"$work/pings"
    vm A "ip -o neigh" >"$work/neigh.A"
    vm B "ip -o neigh" >"$work/neigh.B"
    for ((i = 0; i < rails; i++)); do
        for ((j = 0; j < rails; j++)); do
            ! grep -q "^$(address B $j) dev ib$i lladdr $(vm_mac B $j)" "$work/neigh.A" || right=$((right + 1))
            ! grep -q "^$(address A $i) dev ib$j lladdr $(vm_mac A $i)" "$work/neigh.B" || right=$((right + 1))
        done
    done
    echo $right
}

# ---- which NICs carried it ---------------------------------------------------------------------------------

# used PACKETS COUNTERS: the latter are those from before, then those from after; the NICs that sent and received at least so
# many, "ib0,ib1", or "none"
used() {
    awk -v n="$1" '!($2 in sent) { sent[$2] = $3; received[$2] = $4; next }
        $3 - sent[$2] >= n && $4 - received[$2] >= n { s = s (s ? "," : "") $2 }
        END { print s ? s : "none" }' <<<"$2"
}

# shellcheck disable=SC2016 # for the shell in the guest
frames_script='for d in /sys/class/net/*/statistics; do
    nic=${d#/sys/class/net/}; read -r tx <$d/tx_packets; read -r rx <$d/rx_packets
    echo "counter ${nic%/statistics} $tx $rx"
done;'

# ip_ping SOURCE TARGET: ten pings from A's NIC number SOURCE ("-": no source given) to B's address number TARGET.
# Leaves in $way the NICs that carried them both ways, "ib0>ib1".
ip_ping() {
    local bind="" a b
    [ "$1" = - ] || bind="-I $(address A "$1")"
    b=$(vm B "$frames_script")
    a=$(vm A "$frames_script
        ping -q -c 10 -i 0.01 -w 3 $bind $(address B "$2") >/dev/null || true
        $frames_script")
    b+=$'\n'$(vm B "$frames_script")
    way="$(used 9 "$a")>$(used 9 "$b")"
}

# ---- RDMA --------------------------------------------------------------------------------------------------

# rping_serve RAILS: fresh servers on B, one for each address; ready when it returns
rping_serve() {
    local j script="killall -KILL rping 2>/dev/null; "
    for ((j = 0; j < $1; j++)); do script+="rping -s -P -a $(address B $j) -p 9401 >/run/rping.$j 2>&1 & "; done
    vm B "$script
        until [ \$(rdma resource show cm_id | grep -c 'LISTEN.*:9401 ') = $1 ]; do :; done"
}

# What one counter counts is every packet of RDMA by that NIC, those of connection management included.
# shellcheck disable=SC2016 # for the shell in the guest
counters_script='for d in /sys/class/infiniband/rxe*/ports/1; do
    read -r nic <$d/gid_attrs/ndevs/0; read -r tx <$d/hw_counters/sent_pkts; read -r rx <$d/hw_counters/rcvd_pkts
    echo "counter $nic $tx $rx"
done;'

counters() { # HOST: a line for each NIC, "counter ib0 SENT RECEIVED"
    vm "$1" "$counters_script"
}

# rdma_ping SOURCE TARGET [TIMES]: rping from A's NIC number SOURCE ("-": without -I) to B's address number TARGET.
# Leaves in $through how often it came through, in $way the NICs that carried it, "ib0>ib1", in $cause what rping said.
rdma_ping() {
    local bind="" times=${3:-1} least b said
    [ "$1" = - ] || bind="-I $(address A "$1")"
    b=$(counters B)
    # The ping spares rping a cold ARP entry, which costs RDMA's connection manager two seconds.
    said=$(vm A "ping -q -c 1 -W 1 $bind $(address B "$2") >/dev/null
        $counters_script
        for i in $(seq -s ' ' "$times"); do
            timeout ${RPING_SECONDS:-10} rping -c $bind -a $(address B "$2") -p 9401 -C 10 -v || true
        done
        $counters_script")
    b+=$'\n'$(counters B)
    through=$(grep -c 'ping data: rdma-ping-9' <<<"$said" || true)
    cause=$({ grep -v -e 'ping data' -e '^counter ' <<<"$said" || true; } | sort | uniq -c | xargs)
    least=$((through > 0 ? 40 * through / times : 1)) # 62 packets each way in one rping, some of them by another NIC with spread
    way="$(used $least "$(grep '^counter ' <<<"$said")")>$(used $least "$b")"
}

# expect_rdma SOURCE TARGET WAY: it comes through, by these NICs
expect_rdma() {
    rdma_ping "$1" "$2"
    [ "$through $way" = "1 $3" ] ||
        fail "rping ${1/#[0-9]/-I $(address A "${1/-/0}")} to $(address B "$2"): expected it to come through by $3" \
            "came through $through times of 1, by $way; rping: $cause"
    ok "rping from ${1/-/anywhere} to $2 goes by $3"
}
