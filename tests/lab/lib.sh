# shellcheck shell=bash
# What every test here starts with: `. "$(dirname "$0")/lib.sh"`. Virtual machines with Debian's kernel:
#
#   vm_start A 2 [OPTION]…   starts one with two NICs ib0 ib1; all NICs of all machines are on one Ethernet
#   vm_ready A               waits until it has booted (the first `vm` does, too)
#   vm A 'SCRIPT'            runs it there, by sh: its output, its status
#   vm_stop A                for a test that starts another one in its place
#
#   options of vm_start      file=SOURCE:PLACE  a file for the guest (its libraries too, if it is a program)
#                            append=WORDS       to the kernel's command line
#                            memory=MEGABYTES   instead of 512
#   modules                  what tests/lab/image lists is there: modprobe; others with file= and insmod
#   build/lab                kernel-release, vmlinuz, base.cpio; consoles/TEST/A.log of the last run of each test
#
# and two hosts with rails on Soft-RoCE, their truth, and assertions. No privileges, no device of this machine, no network:
# the Ethernet is a socket between the machines.
set -Eeuo pipefail

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$tests/../.." && pwd)
lab=$top/build/lab
IB_HOOK=$(realpath -m "${IB_HOOK:-$top/build/ib-hook}")
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"

test_name=$(basename "$0" .sh)
consoles=$lab/consoles/$test_name
work=$(mktemp -d)
rm -rf "$consoles"
mkdir -p "$consoles"

# ---- assertions ------------------------------------------------------------------------------------

n_ok=0
n_fail=0

ok() {
    n_ok=$((n_ok + 1))
    echo "ok $n_ok - $1"
}

# fail MESSAGE [DETAIL]
fail() {
    n_fail=1
    echo "not ok $((n_ok + 1)) - $1"
    [ -z "${2:-}" ] || echo "  ${2//$'\n'/$'\n'  }"
    exit 1
}

on_error() {
    n_fail=1
    echo "not ok $((n_ok + 1)) - line $1: '$2' failed with status $3"
}

at_exit() {
    local vm
    exec 2>/dev/null # bash would report each machine as killed
    for vm in "${!vm_pid[@]}"; do kill -KILL "${vm_pid[$vm]}" || true; done
    wait || true
    rm -rf "$work"
    if [ $n_fail = 0 ]; then
        rm -rf "$consoles"
        echo "1..$n_ok"
    else
        echo "consoles: $consoles"
    fi
}
trap 'on_error "${BASH_LINENO[0]:-$LINENO}/$LINENO" "$BASH_COMMAND" $?' ERR
trap 'at_exit' EXIT
trap 'n_fail=1; exit 143' TERM INT

# expect_equal WHAT EXPECTED GOT
expect_equal() {
    [ "$2" = "$3" ] || fail "$1" "expected:
$2
got:
$3
$(diff <(echo "$2") <(echo "$3") || true)"
    ok "$1"
}

expect_contains() { # WHAT NEEDLE HAYSTACK
    [[ $3 == *"$2"* ]] || fail "$1" "expected to find: $2
got: $3"
    ok "$1"
}

expect_lacks() { # WHAT NEEDLE HAYSTACK
    [[ $3 != *"$2"* ]] || fail "$1" "expected not to find: $2
got: $3"
    ok "$1"
}

expect_at_least() { # WHAT LEAST GOT
    [ "$3" -ge "$2" ] || fail "$1" "expected at least $2, got $3"
    ok "$1"
}

# ---- virtual machines --------------------------------------------------------------------------------

declare -A vm_pid=() vm_to=() vm_from=() vm_up=()

vm_start() { # NAME NICS [OPTION]…
    local name=$1 nics=$2 option i uplink to from memory=512 append=""
    local -a net=()
    shift 2
    [ -e "$lab/base.cpio" ] || fail "there is no $lab/base.cpio: use tests/lab/run"
    [ -x "$IB_HOOK" ] || fail "there is no $IB_HOOK: run make"
    rm -rf "${work:?}/$name"
    mkdir -p "$work/$name/root/usr/sbin"
    vm_file "$name" "$IB_HOOK:/usr/sbin/ib-hook"
    for option in "$@"; do
        case $option in
            file=*) vm_file "$name" "${option#file=}" ;;
            append=*) append=${option#append=} ;;
            memory=*) memory=${option#memory=} ;;
            *) fail "vm_start $name: unknown option $option" ;;
        esac
    done
    { cat "$lab/base.cpio" && cd "$work/$name/root" && find . -print0 | cpio -0 -o -H newc --quiet -R 0:0; } >"$work/$name/initrd"

    # Each machine's NICs and the wire to the other machine are on a hub: every frame reaches every other port.
    for ((i = 0; i < nics; i++)); do
        net+=(-netdev "hubport,id=nic$i,hubid=0"
            -device "virtio-net-pci,netdev=nic$i,romfile=,mac=$(vm_mac "$name" $i)")
    done
    if [ -e "$work/wire" ]; then uplink=server=off; else uplink=server=on; fi
    net+=(-netdev "stream,id=wire,$uplink,addr.type=unix,addr.path=$work/wire" -netdev "hubport,id=uplink,hubid=0,netdev=wire")

    mkfifo "$work/$name/control.in" "$work/$name/control.out"
    setpriv --pdeathsig KILL qemu-system-x86_64 -nodefaults -no-user-config -nographic -no-reboot \
        -accel tcg,thread=multi -cpu max -smp 1 -m "$memory" \
        -kernel "$lab/vmlinuz" -initrd "$work/$name/initrd" \
        -append "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off no_timer_check random.trust_cpu=on $append" \
        -serial "file:$consoles/$name.log" -device virtio-rng-pci \
        -device virtio-serial -chardev "pipe,id=control,path=$work/$name/control" \
        -device virtserialport,chardev=control,name=control \
        "${net[@]}" >"$consoles/$name.qemu" 2>&1 </dev/null &
    vm_pid[$name]=$!
    exec {to}<>"$work/$name/control.in" {from}<>"$work/$name/control.out"
    vm_to[$name]=$to
    vm_from[$name]=$from
    vm_up[$name]=
    until [ -e "$work/wire" ]; do # the next machine joins it
        vm_lives "$name"
        sleep 0.01
    done
}

# In the guests /bin, /sbin and /lib are links into /usr, which must not be overwritten by directories.
vm_file() { # NAME SOURCE:PLACE
    local source=${2%%:*} place=${2##*:} library root=$work/$1/root
    for library in "$source:$place" $({ ldd "$source" 2>/dev/null || true; } | sed -n 's/.*[[:blank:]]\(\/[^ ]*\) .*/\1:\1/p'); do
        source=${library%%:*} place=${library##*:}
        case $place in
            /bin/* | /sbin/* | /lib/* | /lib64/*) place=/usr$place ;;
        esac
        mkdir -p "$root${place%/*}"
        cp -rL "$source" "$root$place"
    done
}

vm_lives() { # NAME
    kill -0 "${vm_pid[$1]}" 2>/dev/null ||
        fail "the virtual machine $1 has ended" "$(tail -n 5 "$consoles/$1.qemu" "$consoles/$1.log" 2>/dev/null)"
}

# The third byte of the addresses as in the documents: A is 172.16.16.x, B is 172.16.34.x.
host_id() {
    case $1 in
        A) echo 16 ;;
        B) echo 34 ;;
        *) echo 50 ;;
    esac
}

vm_mac() { # NAME N → the hardware address of its NIC number N
    printf '02:00:00:00:%02x:%02x\n' "$(host_id "$1")" "$2"
}

vm_answer() { # NAME SECONDS: one line from it, in $answer
    local polls=$(($2 * 2)) part
    answer=
    until IFS= read -r -t 0.5 -u "${vm_from[$1]}" part; do
        answer+=$part
        vm_lives "$1"
        polls=$((polls - 1))
        [ $polls -gt 0 ] || fail "the virtual machine $1 did not answer within $2 s" "$(tail -n 5 "$consoles/$1.log")"
    done
    answer+=$part
}

vm_ready() { # NAME…
    local name answer
    for name in "$@"; do
        [ -n "${vm_up[$name]}" ] && continue
        vm_answer "$name" 90
        [ "$answer" = ready ] || fail "the virtual machine $name said '$answer' instead of 'ready'"
        vm_up[$name]=yes
    done
}

vm() { # NAME SCRIPT…
    local answer name=$1 status text
    shift
    vm_ready "$name"
    base64 -w 0 <<<"$*" >&"${vm_to[$name]}"
    echo >&"${vm_to[$name]}"
    vm_answer "$name" "${VM_SECONDS:-60}"
    read -r status text <<<"$answer"
    base64 -d <<<"$text"
    return "$status"
}

vm_stop() { # NAME
    kill -KILL "${vm_pid[$1]}"
    wait "${vm_pid[$1]}" 2>/dev/null || true
    unset "vm_pid[$1]"
    [ ${#vm_pid[@]} -gt 0 ] || rm -f "$work/wire"
}

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
        ip netns exec peer ping -q -c 20 -i 0.01 -w 3 $1 >/dev/null
        $frames_script")
    way=$(used 18 "$frames")
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

# ip_ping SOURCE TARGET: twenty pings from A's NIC number SOURCE ("-": no source given) to B's address number TARGET.
# Leaves in $way the NICs that carried them both ways, "ib0>ib1".
ip_ping() {
    local bind="" a b
    [ "$1" = - ] || bind="-I $(address A "$1")"
    b=$(vm B "$frames_script")
    a=$(vm A "$frames_script
        ping -q -c 20 -i 0.01 -w 3 $bind $(address B "$2") >/dev/null || true
        $frames_script")
    b+=$'\n'$(vm B "$frames_script")
    way="$(used 18 "$a")>$(used 18 "$b")"
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
# Leaves in $done how often it came through, in $way the NICs that carried it, "ib0>ib1", in $cause what rping said.
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
    done=$(grep -c 'ping data: rdma-ping-9' <<<"$said" || true)
    cause=$({ grep -v -e 'ping data' -e '^counter ' <<<"$said" || true; } | sort | uniq -c | xargs)
    least=$((done > 0 ? 40 * done / times : 1)) # 62 packets each way in one rping, some of them by another NIC with spread
    way="$(used $least "$(grep '^counter ' <<<"$said")")>$(used $least "$b")"
}

# expect_rdma SOURCE TARGET WAY: it comes through, by these NICs
expect_rdma() {
    rdma_ping "$1" "$2"
    [ "$done $way" = "1 $3" ] ||
        fail "rping ${1/#[0-9]/-I $(address A "${1/-/0}")} to $(address B "$2"): expected it to come through by $3" \
            "came through $done times of 1, by $way; rping: $cause"
    ok "rping from ${1/-/anywhere} to $2 goes by $3"
}
