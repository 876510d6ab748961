#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/pods.md: two pods, or nodes, with two NICs each in one subnet. The rows of the page are what is measured here:
# CNI's plugins are the real ones, DRANET is emulated from its source (dranet.py says how).
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"
page=$top/packaging/doc/pods.md
plugins=/usr/lib/cni
[ -x $plugins/sbr ] || plugins=/usr/libexec/cni
[ -x $plugins/sbr ] || skip "containernetworking-plugins is not installed"

# ---- what is measured ----

counters() { # HOST NIC
    ip -n "$1" -json -statistics link show "$2" | jq -r '.[0].stats64 | "\(.tx.packets) \(.rx.packets)"'
}

# carried NUMBER BEFORE AFTER: so many packets and more were sent and received
carried() {
    local sent received sent_then received_then
    read -r sent received <<<"$2"
    read -r sent_then received_then <<<"$3"
    [ $((sent_then - sent)) -ge "$1" ] && [ $((received_then - received)) -ge "$1" ]
}

# right_pairs HOST PEER: of the four pairs of their addresses, those whose pings left and arrived by the addresses' own NICs
right_pairs() {
    local i j here there right=0
    for i in 0 1; do
        for j in 0 1; do
            forget "$1" "$2"
            here=$(counters "$1" "ib$i")
            there=$(counters "$2" "ib$j")
            on "$1" ping -q -n -c 5 -i 0.02 -W 1 -I "172.16.$id_a.$((i + 1))" "172.16.$id_b.$((j + 1))" >/dev/null || continue
            if carried 5 "$here" "$(counters "$1" "ib$i")" && carried 5 "$there" "$(counters "$2" "ib$j")"; then
                right=$((right + 1))
            fi
        done
    done
    echo $right
}
id_a=$(host_id A) id_b=$(host_id B)

unbound() { # HOST PEER: whether a ping that names no source is answered
    forget "$1" "$2"
    on "$1" ping -q -n -c 1 -W 1 172.16.34.1 >/dev/null 2>&1 && echo yes || echo no
}

row() { # HOST PEER WORDS [RANGE]: a row of the page. Where both NICs answer ARP, the first answer decides: that is a range.
    local line pairs
    pairs=$(right_pairs "$1" "$2")
    [[ " ${4:-} " != *" $pairs "* ]] || pairs=$4
    line="| $3 | $pairs | $(unbound "$1" "$2") |"
    [ -z "${V:-}" ] || echo "$line"
    echo "$line" >>$work/rows
}

# A pod's own network, by which main has its default route.
add_pod_network() { # HOST
    ip -n "$1" link add eth0 type veth peer name "$1.pod" netns wire
    ip -n wire link set "$1.pod" up
    ip -n "$1" address add "10.244.0.$(host_id "$1")/24" dev eth0
    ip -n "$1" link set eth0 up
    ip -n "$1" route add default via 10.244.0.254 dev eth0
}

renew() {
    local host
    for host in A B wire podA podB; do [ ! -e /run/netns/$host ] || ip netns del $host; done
    make_hosts 2
    for host in A B; do add_pod_network $host; done
}

# ---- CNI ----

# plugin HOST NIC TYPE MORE: as libcni calls it, after ipam has given the NIC its address
plugin() {
    local number=$((${2#ib} + 1)) result
    result='{"cniVersion": "1.0.0", "interfaces": [{"name": "'$2'", "sandbox": "/run/netns/'$1'"}], "routes": [],
        "ips": [{"address": "172.16.'$(host_id "$1").$number'/16", "interface": 0}]}'
    jq -n --argjson result "$result" --argjson more "$4" --arg type "$3" \
        '{cniVersion: "1.0.0", name: "rail", type: $type, prevResult: $result} + $more' |
        env -i CNI_COMMAND=ADD CNI_CONTAINERID="$1" CNI_NETNS="/run/netns/$1" CNI_IFNAME="$2" CNI_PATH=$plugins \
            $plugins/"$3" >$work/plugin 2>&1 || fail "CNI's $3 on $2 of $1" "$(<$work/plugin)"
}

chain() { # HOST NIC: the two plugins, with the values that stand on the page
    plugin "$1" "$2" tuning "$(page_file "$page" "Tested by" | jq '.plugins[] | select(.type == "tuning")')"
    plugin "$1" "$2" sbr '{}'
}

# ---- the rows ----

version=$(dpkg-query -W -f='${Version}' containernetworking-plugins 2>/dev/null || rpm -q --qf '%{VERSION}' containernetworking-plugins)
expect_contains "the page names the version of CNI's plugins that is measured here" "plugins ${version%%[+-]*}" "$(<"$page")"

renew
row A B "NICs without any set-up | Linux" "0 or 1"
for host in A B; do for nic in ib0 ib1; do chain $host $nic; done; done
row A B "Multus: \`tuning\`, \`sbr\` | plugins ${version%%[+-]*}"
expect_equal "after the chain main has no route to the subnet" "" "$(ip -n A route show table main 172.16.0.0/16)"
chain A ib1
expect_equal "a second ADD of a NIC adds its rule again" 2 "$(ip -n A rule show from 172.16.16.2 | wc -l)"

renew
for host in A B; do hook $host --apply >/dev/null; done
row A B "hostNetwork, ib-hook on the nodes | ib-hook $("$IB_HOOK" --version | grep -oE -m1 '[0-9]+[.][0-9.]+')"

# claimed ARP: two pods that have got all NICs of their nodes, A's in podA and B's in podB
claimed() {
    local host
    for host in A B; do
        new_host pod$host
        "$(dirname "$0")/dranet.py" $host pod$host "$1" ib0 ib1
    done
    for host in podA podB; do wait_until 5 settled $host; done
}
for arp in arp no-arp; do
    renew
    claimed $arp
    if [ $arp = arp ]; then
        words="DRANET, ARP fields" plain="" beside=""
    else
        words="DRANET" plain="0 or 1" beside="2 or 3"
    fi
    row podA podB "$words | f258477, emulated" "$plain"
    renew
    for host in A B; do
        ip -n $host address add "fd00:16::$(host_id $host)/64" dev ib0 nodad
        ip -n $host address add "fd00:16::1$(host_id $host)/64" dev ib1 nodad
        hook $host --apply >/dev/null
    done
    claimed $arp
    row podA podB "$words, ib-hook on the nodes | f258477, emulated" "$beside"
    expect_equal "IPv4's tables have come into the pod" "941 942" \
        "$(ip -n podA -4 -json route show table all 172.16.0.0/16 | jq -r '.[].table // empty' | sort | xargs)"
    expect_equal "IPv6's have not" "" "$(ip -n podA -6 -json route show table all fd00:16::/64 | jq -r '.[].table // empty' | xargs)"
done

expect_equal "the rows of the page are what was measured" "$(<$work/rows)" \
    "$(sed -n '/^## Measured/,/^## /p' "$page" | grep '^|' | tail -n +3)"
