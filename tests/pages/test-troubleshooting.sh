#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guide of packaging/doc: the symptom is made, the program prints what the guide quotes, and the guide's command finds its
# cause. After what the guide says to do, the symptom is gone.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../guide.sh"

# sees SYMPTOM COMMAND…: COMMAND's output has it; programs of different ages differ in capital letters
sees() {
    local output
    output=$("${@:2}" 2>&1 || true)
    expect_contains "\"$1\" is what ${*:2} prints" "${1,,}" "${output,,}"
    [ -n "$(guide_section "$1")" ] || fail "the guide has a section \"$1\""
}

# named SYMPTOM HOST CODE…: the guide's first command for it, on HOST, finds CODE
named() {
    local symptom=$1 host=$2 command found code
    read -r command < <(guide_asks "$symptom")
    command=${command//\$(cat addresses)/172.16.34.1 172.16.34.2}
    command=${command#sudo }
    read -ra words <<<"${command#ib-hook }"
    expect_hook 1 "$host" "${words[@]}" "${tree[@]}" --json
    found=$(json '.findings[] | select(.severity != "info") | .code' | sort -u)
    for code in "${@:3}"; do expect_contains "$command finds $code for \"$symptom\"" " $code " " ${found//$'\n'/ } "; done
}

tree=() # where hand-written scripts are looked for, if not in this system

# finds SYMPTOM HOST CODE: info counts if one of the page's commands has --verbose, which prints it
finds() {
    local shown='.severity != "info"'
    [[ $(guide_asks "$1") != *--verbose* ]] || shown=true
    hook "$2" --check "${tree[@]}" --json >$work/out || true
    expect_contains "--check names $3 for \"$1\"" " $3 " " $(jq -r ".findings[] | select($shown) | .code" $work/out | xargs) "
    [ -n "$(guide_asks "$1")" ] || fail "the guide asks for \"$1\""
}

sysctls() { # HOST KEY=VALUE…: on both NICs
    local nic pair
    for nic in ib0 ib1; do
        for pair in "${@:2}"; do sysctl_set "$1" $nic "${pair%=*}" "${pair#*=}"; done
    done
}

ping_from() { # HOST ARGUMENT…
    on "$1" ping -n -c 2 -i 0.2 -W 1 "${@:2}"
}

passes() { # HOST ARGUMENT…
    ping_from "$@" >/dev/null || fail "ping ${*:2} on $1 passes"
    ok "ping ${*:2} on $1 passes"
}

make_hosts 2
for nic in ib0 ib1; do echo 100 | on A tee /proc/sys/net/ipv4/neigh/$nic/retrans_time_ms >/dev/null; done # ARP gives up soon

# Plain Linux: ping is fine, and one NIC idle.
sees "received, 0% packet loss" ping_from A 172.16.34.2
named "received, 0% packet loss" A peer-flux routed-other-nic
for host in A B; do expect_hook 0 $host --apply; done
forget A B
expect_hook 0 A --probe 172.16.34.1 172.16.34.2
for host in A B; do
    expect_hook 0 $host --undo
    rm -rf /run/ib-hook # the holds
done

# A strict rp_filter on the server, whose NICs do not answer for each other.
sysctls B rp_filter=1 arp_ignore=1
forget A B
sees "Destination Host Unreachable" on A ping -n -c 1 -W 3 172.16.34.2
named "Destination Host Unreachable" B rule-missing
named "cma event RDMA_CM_EVENT_REJECTED, error 8" B rule-missing
named "mount.nfs: Connection timed out" B rule-missing
expect_hook 0 B --apply
passes A 172.16.34.2
ip -n wire link set B.1 down
forget A
sees "Destination Host Unreachable" on A ping -n -c 1 -W 3 172.16.34.2
named "Destination Host Unreachable" B carrier-down
named "cma event RDMA_CM_EVENT_UNREACHABLE, error -110" A peer-down
named "Transport retry count exceeded" A peer-down
ip -n wire link set B.1 up
wait_until 5 settled B
expect_hook 0 B --apply

# A strict rp_filter on the client.
sysctls A rp_filter=1
forget A B
sees "100% packet loss" ping_from A -I ib1 172.16.34.1
named "100% packet loss" A reply-dropped routed-other-nic
expect_hook 0 A --apply
forget A B
passes A -I ib1 172.16.34.1

# The documents' script, run twice, with the slip that one of them has.
ln -s /run/sys/A $work/sys
tree=(--sysfs "$work/sys")
script=$work/etc/network/if-up.d/route-ib
mkdir -p "${script%/*}"
cat >$script <<'END'
#!/bin/bash
ip route del 172.16.0.0/16 dev ib0
ip route add 172.16.0.0/16 dev ib0 proto kernel scope link src 172.16.16.1 table 941
ip rule add from 172.16.16.1 tible 941
ip rule add from 172.16.16.1 table 941
ip route del 172.16.0.0/16 dev ib1
END
chmod 0755 $script
said=$(on A bash $script 2>&1 || true)$(on A bash $script 2>&1 || true)
for text in 'Error: argument "tible" is wrong' "RTNETLINK answers: No such process" "RTNETLINK answers: File exists"; do
    expect_contains "the script prints what the guide quotes" "$text" "$said"
    expect_contains "the guide quotes it" "\`${text/tible/…}\`" "$(guide_section "RTNETLINK answers: No such process")"
done
finds "RTNETLINK answers: No such process" A legacy-script
sees "ping: connect: Network is unreachable" ping_from A 172.16.34.1
named "ping: connect: Network is unreachable" A stale
finds "ping: connect: Network is unreachable" A legacy-script
rm $script
expect_hook 0 A --apply "${tree[@]}"
expect_hook 0 A --check "${tree[@]}"
ip -n A route add 172.16.0.0/16 dev ib0
passes A 172.16.34.1
tree=()

# Rails of different MTU: what is too long for one arrives by the other.
mkdir -p /run/sys/A/class/net/ib{0,1}
for nic in 0 1; do echo $((1500 + 7500 * nic)) >/run/sys/A/class/net/ib$nic/mtu; done
ip -n A link set ib1 mtu 9000
sees "Message too long" on A ping -I ib0 -n -c 1 -W 1 -M "do" -s 8000 172.16.34.1
named "Message too long" A mode-mtu
ip -n A link set ib1 mtu 1500
rm -r /run/sys/A/class/net

# What RDMA ports, modules and limits say: no program is here that would print the symptom, but its cause can be made.
host=$work/host
mkdir -p $host/sys/module/{ib_core,ib_ipoib,rdma_ucm} $host/proc/self
cp -r /run/sys/A/class $host/sys
tree=(--sysfs "$host/sys")
port=$host/sys/class/infiniband/mlx5_1/ports/1
echo InfiniBand >$port/link_layer
echo 0x0 >$port/sm_lid
echo "2: INIT" >$port/state
echo "Max locked memory         8388608              8388608              bytes" >$host/proc/self/limits
named "Physical state: Polling" A sm-missing
finds "Failed to get IB devices list" A module-missing
finds "Please set max locked memory" A memlock-low
echo "1: DOWN" >$port/state
echo "2: Polling" >$port/phys_state
named "Physical state: Polling" A port-not-active
tree=()

# A virtual address comes as Pacemaker and keepalived bring it: no manager says so.
ip -n A address add 172.16.16.77/16 dev ib1
named "A virtual address moved" A rule-missing
expect_hook 0 A --apply
ip -n A address del 172.16.16.77/16 dev ib1
expect_hook 0 A --apply

# Held; a host whose local table comes late.
expect_hook 0 A --undo
named "It used to work, and no longer does" A held
expect_hook 0 A --apply
ip -n A rule add priority 32000 from all lookup local
ip -n A rule del priority 0
if on A ping -n -c 1 -W 1 172.16.16.2 >/dev/null; then
    fail "a host whose local table comes late cannot ping itself"
fi
named "A host cannot ping its own other address" A local-rule-late
ip -n A rule add priority 0 from all lookup local
passes A 172.16.16.2
