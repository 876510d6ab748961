#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/comparison.md: five ways to give two NICs of one subnet their own routing answer the same questions, on the same
# two hosts. The rows of the page are what is measured here.
. "$(dirname "$0")/../netns/lib.sh"
page=$top/packaging/doc/comparison.md

# ---- the ways: setup HOST, and what they do when ib1 comes up again ----

address() { # HOST NIC
    echo "172.16.$(host_id "$1").$((${2#ib} + 1))"
}

# The first document's hook script, as it stands there, once for each NIC.
setup_script() { for nic in ib0 ib1; do event_script "$1" $nic; done; }
event_script() {
    documents_script | sed "s/172\.16\.34/172.16.$(host_id "$1")/" >$work/script
    on "$1" env IFACE="$2" bash $work/script
}

# The third document's files route-ib0 and rule-ib0, whose lines ifup gives to ip, and its four sysctls for each NIC.
setup_files() {
    local nic pair
    for nic in ib0 ib1; do
        event_files "$1" $nic
        for pair in rp_filter=1 arp_filter=1 arp_announce=2 arp_ignore=2; do sysctl_set "$1" $nic "${pair%=*}" "${pair#*=}"; done
    done
}
event_files() {
    local table=$((100 + ${2#ib})) status=0
    ip -n "$1" route add 172.16.0.0/16 dev "$2" scope link src "$(address "$1" "$2")" table $table || status=$?
    ip -n "$1" rule add from "$(address "$1" "$2")" table $table || status=$?
    return $status
}

# What netplan's routing-policy, systemd-networkd and NetworkManager's routing-rules come to: a rule with a priority, a
# route without a source. They keep both, and add none twice.
setup_manager() { for nic in ib0 ib1; do event_manager "$1" $nic; done; }
event_manager() {
    local table=$((100 + ${2#ib}))
    ip -n "$1" route replace 172.16.0.0/16 dev "$2" scope link table $table
    [ -n "$(ip -n "$1" rule show priority $table)" ] ||
        ip -n "$1" rule add from "$(address "$1" "$2")" table $table priority $table
}

# CNI's real plugins tuning and sbr, called for each NIC as Multus does on ADD, with the sysctls that vendors' examples have.
# There is no call for later events.
setup_cni() {
    local nic
    for nic in ib0 ib1; do
        cni "$1" $nic tuning "\"sysctl\": {$(cni_sysctls all rp_filter=0), $(cni_sysctls IFNAME rp_filter=0)}"
        cni "$1" $nic sbr '"ipam": {}'
    done
}
cni_sysctls() { # WHERE [KEY=VALUE]…
    local pair separator=
    for pair in arp_ignore=1 arp_announce=2 "${@:2}"; do
        printf '%s"net.ipv4.conf.%s.%s": "%s"' "$separator" "$1" "${pair%=*}" "${pair#*=}"
        separator=", "
    done
}
cni() { # HOST NIC PLUGIN SETTINGS
    CNI_COMMAND=ADD CNI_CONTAINERID="$1" CNI_NETNS=/run/netns/"$1" CNI_IFNAME="$2" CNI_PATH=$cni_plugins \
        "$cni_plugins/$3" >$work/cni 2>&1 <<-END || fail "$3 on $1 for $2" "$(<$work/cni)"
	{"cniVersion": "1.0.0", "name": "rails", "type": "$3", $4, "prevResult": {"cniVersion": "1.0.0",
	 "interfaces": [{"name": "$2", "sandbox": "/run/netns/$1"}],
	 "ips": [{"address": "$(address "$1" "$2")/16", "interface": 0}], "routes": []}}
	END
}
event_cni() { :; }

setup_ib_hook() { hook "$1" --apply >/dev/null; }
event_ib_hook() { with_sys "$1" "$HOOKS/boot" 2>/dev/null; }

# ---- the questions ----

leaves_by() { # ADDRESS DESTINATION: B's NIC
    ip -n B -j route get "$2" from "$1" 2>/dev/null | jq -r '.[0].dev // empty' | grep . || echo "no NIC"
}

rules_from() { # ADDRESS: how many rules of B have it
    ip -n B rule show from "$1" | grep -c . || true
}

own_tables_rules() { # ADDRESS: those that lead to a table other than main
    ip -n B rule show from "$1" | grep -vc 'lookup main' || true
}

add_surroundings() { # a bridge of containers, and a route by a management NIC, both inside the subnet
    ip -n B link add docker0 type bridge
    ip -n B address add 172.16.99.1/24 dev docker0
    ip -n B link set docker0 up
    ip -n B link add eno1 type veth peer name far netns wire
    ip -n wire link set far up
    ip -n B address add 192.168.1.5/24 dev eno1
    ip -n B link set eno1 up
    ip -n B route add 172.16.200.0/24 via 192.168.1.1 dev eno1
}

answered() { # COMMAND…
    "$@" >/dev/null 2>&1 && echo yes || echo no
}

measure() { # WAY: a line of answers, each "QUESTION|ANSWER"
    local way=$1 status=0 before
    before=$(state B)
    setup_"$way" A
    setup_"$way" B
    echo "connections (of ten) that use the right NIC on both hosts|$(matrix 2>/dev/null | grep -c ' right: ' || true)"
    forget A B
    echo "NICs that answer ARP for ib1's address|$(arp_answers A ib0 172.16.16.1 B 172.16.34.2)"
    echo "\`ping\` that names no source is answered|$(answered on B ping -q -n -c 1 -W 1 172.16.16.1)"
    add_surroundings
    echo "traffic from 172.16.34.1 to the bridge's 172.16.99.0/24 leaves through|$(leaves_by 172.16.34.1 172.16.99.2)"
    echo "traffic from 172.16.34.1 to eno1's 172.16.200.0/24 leaves through|$(leaves_by 172.16.34.1 172.16.200.1)"
    event_"$way" B ib1 >/dev/null 2>&1 || status=$?
    [ "$way" != cni ] || status="no event"
    echo "exit status if ib1's event comes again|$status"
    echo "after that, rules from ib1's address to ib1's table|$(own_tables_rules 172.16.34.2)"
    ip -n B link set ib1 down
    ip -n B link set ib1 up
    wait_until 5 settled B
    event_"$way" B ib1 >/dev/null 2>&1 || true
    echo "after ib1 went down and up, traffic from its address leaves through|$(leaves_by 172.16.34.2 172.16.16.1)"
    ip -n B address del 172.16.34.2/16 dev ib1
    ip -n B address add 172.16.34.12/16 dev ib1
    event_"$way" B ib1 >/dev/null 2>&1 || true
    echo "after DHCP gave ib1 172.16.34.12, traffic from this address leaves through|$(leaves_by 172.16.34.12 172.16.16.1)"
    echo "rules of ib1's old address that are left|$(rules_from 172.16.34.2)"
    while ip -n B rule del from 172.16.34.1 2>/dev/null; do :; done
    event_"$way" B ib0 >/dev/null 2>&1 || true
    echo "after another program deleted ib0's rules: number of rules to ib0's table that the next event restores|$(own_tables_rules 172.16.34.1)"
    [ "$way" != ib_hook ] || undo_is_exact "$before"
}

undo_is_exact() { # STATE: of before; to standard error, as answers are collected
    ip -n B address del 172.16.34.12/16 dev ib1
    ip -n B address add 172.16.34.2/16 dev ib1
    hook B --apply >/dev/null
    ip -n B route del 172.16.200.0/24
    ip -n B link del docker0
    ip -n B link del eno1
    hook B --undo >/dev/null
    diff <(echo "$1") <(state B) >&2
}

renew_hosts() {
    local host
    for host in A B wire; do [ ! -e /run/netns/$host ] || ip netns del $host; done
    make_hosts 2
    serve A B
}

cni_plugins=$IBH_BUILD/unpacked/usr/lib/cni
[ -x "$cni_plugins/sbr" ] || cni_plugins=/usr/lib/cni # this machine has the package
[ -x "$cni_plugins/sbr" ] || skip "CNI's plugins are not unpacked: make $IBH_BUILD/unpacked/.complete"
ways="script files manager cni ib_hook"
for way in $ways; do
    renew_hosts
    measure "$way" >"$work/answers.$way"
    ok "$way: $(wc -l <"$work/answers.$way") answers"
done

answer() { # WAY QUESTION
    awk -F'|' -v q="$2" '$1 == q { print $2 }' "$work/answers.$1"
}

rows=0
while IFS='|' read -r question _; do
    row="| $question |"
    for way in $ways; do row+=" $(answer "$way" "$question") |"; done
    [ -z "${V:-}" ] || echo "$row"
    printf '%s\n' "$row" >>$work/rows
    rows=$((rows + 1))
done <"$work/answers.script"
expect_equal "the rows of the page are what was measured" "$(<$work/rows)" \
    "$(sed -n '/^## Measured/,/^## /p' "$page" | grep '^|' | tail -n +3)"
expect_at_least "questions" 10 $rows
