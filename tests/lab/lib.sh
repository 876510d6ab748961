# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
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
IBH_BUILD=${IBH_BUILD:-$top/build}
lab=$IBH_BUILD/lab
IB_HOOK=$(realpath -m "${IB_HOOK:-$IBH_BUILD/ib-hook}")
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"

test_name=$(basename "$0" .sh)
consoles=$lab/consoles/$test_name
work=$(mktemp -d)
rm -rf "$consoles"
mkdir -p "$consoles"

# ---- assertions ------------------------------------------------------------------------------------

. "$(dirname "${BASH_SOURCE[0]}")/../expect.sh"

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
    vm_file "$name" "$IB_HOOK:/usr/bin/ib-hook"
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
        fail "the virtual machine $1 has ended" "$(tail -n 5 "$consoles/$1.qemu" "$consoles/$1.log" 2>/dev/null || true)"
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

# vm_answer NAME SECONDS: what it says up to the line "@@ STATUS", in $answer; returns that status
vm_answer() {
    local polls=$(($2 * 2)) line="" part
    answer=
    while :; do
        if IFS= read -r -t 0.5 -u "${vm_from[$1]}" part; then
            line+=$part
            [[ $line != "@@ "* ]] || return "${line#@@ }"
            answer+=$line$'\n'
            line=
        else # what has come of a line is kept
            line+=$part
            vm_lives "$1"
            polls=$((polls - 1))
            [ $polls -gt 0 ] || fail "the virtual machine $1 did not answer within $2 s" "$(tail -n 5 "$consoles/$1.log" 2>/dev/null || true)"
        fi
    done
}

vm_ready() { # NAME…
    local name answer
    for name in "$@"; do
        [ -n "${vm_up[$name]}" ] && continue
        vm_answer "$name" 90
        vm_up[$name]=yes
    done
}

vm() { # NAME SCRIPT…
    local answer status=0
    vm_ready "$1"
    printf '%s\n@@\n' "${*:2}" >&"${vm_to[$1]}"
    vm_answer "$1" 120 || status=$?
    printf '%s' "${answer%$'\n'}" # the line break before "@@" is not its own
    return $status
}

vm_stop() { # NAME
    kill -KILL "${vm_pid[$1]}"
    wait "${vm_pid[$1]}" 2>/dev/null || true
    unset "vm_pid[$1]"
    [ ${#vm_pid[@]} -gt 0 ] || rm -f "$work/wire"
}

# shellcheck source=hosts.sh
. "$tests/hosts.sh"
