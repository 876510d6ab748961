# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel's own routing says, so that two ways to the same end can be compared.

# lookups HOST [PATTERN]: from each address, unbound, and as if it came in through each NIC, to peers, gateways, bridges and itself;
# of these only what matches: 'from' without what main alone decides
# shellcheck disable=SC2154 # of lib.sh
lookups() {
    local family
    for family in 4 6; do
        questions "$1" $family | grep "${2:-}" >"$work/questions"
        cat "$work/questions"
        ip -n "$1" -$family -force -batch "$work/questions" 2>&1 | sed 's/ uid [0-9]*//; s/ *$//' || true
    done
}

questions() { # HOST FAMILY
    local from to nic nics own
    local -A peers=([4]="172.16.16.1 172.16.0.254 172.16.50.7 172.17.0.5 192.0.2.1 198.51.100.1 172.16.255.255"
        [6]="fd00:34::16 fd00:99::1 2001:db8::1")
    own=$(ip -n "$1" -json -"$2" address show scope global | jq -r '.[].addr_info[].local // empty')
    nics=$(ip -n "$1" -json link show up | jq -r '.[].ifname')
    for to in ${peers[$2]} $own; do
        echo "route get $to"
        for from in $own; do echo "route get $to from $from"; done
    done
    for nic in $nics; do
        for from in ${peers[$2]}; do
            for to in $own; do echo "route get $to from $from iif $nic"; done
        done
    done
}

# shellcheck disable=SC2016,SC2086,SC2154
sysctls() { # HOST: of every interface
    on "$1" sh -c 'cd '$CONF' && for key in '"$ARP_KEYS"'; do grep . ./*/"$key"; done'
}

# ---- a host that its own manager configures as ib-hook would -------------------------------------------

# Two rails with all there is: IPv4 and IPv6, a gateway, a route by it, a bridge inside the subnet and one outside.
make_full_host() { # HOST
    RP_FILTER=1 make_hosts 2 "$1"
    ip -n "$1" link add inside type bridge
    ip -n "$1" link add docker0 type bridge
    ip -n "$1" address add 172.16.50.1/24 dev inside
    ip -n "$1" address add 172.17.0.1/24 dev docker0
    ip -n "$1" link set inside up
    ip -n "$1" link set docker0 up
    ip -n "$1" address add fd00:34::1/64 dev ib0 nodad
    ip -n "$1" address add fd00:34::2/64 dev ib1 nodad
    wait_until 5 settled "$1"
}

add_gateways() { # HOST
    ip -n "$1" route replace default via 172.16.0.254 dev ib0
    ip -n "$1" route replace 198.51.100.0/24 via 172.16.0.254 dev ib1
}

# what --render prints → the lines for sysctl.d in its comments
arp_values() {
    sed -n 's,^#   net/,net/,p'
}

# render_tree HOST FORMAT ARGUMENT…: each file below $work/tree
render_tree() {
    rm -rf "$work/tree" && mkdir "$work/tree"
    expect_hook 0 "$1" --render "${@:2}"
    local line file=$work/tree/head
    while IFS= read -r line; do
        if [[ $line == "# /"* ]]; then
            file=$work/tree/${line#\# /}
            mkdir -p "${file%/*}"
        fi
        printf '%s\n' "$line" >>"$file"
    done <<<"$out"
}

# Without what differs between the tables: their numbers, whose rules and routes are, and what makes no difference: the
# source of a route (who is asked for it has one), the scope of none.
normal() {
    sed 's/ \(table\|lookup\) 194/ \1 94/; s/ \(table\|lookup\) 394/ \1 294/; s/ \(proto\|metric\|suppress_ifgroup\) [a-z0-9]*//g
        s/ scope link src [0-9.]*/ scope link/'
}

rules_and_tables() { # HOST TABLE…
    local table family
    for family in 4 6; do
        ip -n "$1" -$family rule
        for table in "${@:2}"; do ip -n "$1" -$family route show table "$table" 2>/dev/null || true; done
    done | tidy | normal
}

# Its routing is that of --apply, in tables of its own; ib-hook sees it, and that all is well. What the manager did is gone
# afterwards, so that ib-hook can do the same.
expect_native() { # WHAT HOST
    local got standing table family
    hook "$2" --render ifupdown --config "$(config "[interface ib*]
manage=yes")" | arp_values >"$work/sysctl"
    on "$2" sysctl -q --load="$work/sysctl"
    expect_hook 0 "$2" --check --json
    expect_equal "$1: ib-hook has no rules of its own" "" "$(our_rules "$2")"
    expect_hook 0 "$2" --plan --json
    expect_equal "$1: and has nothing to do" false "$(json .changed)"
    got=$(lookups "$2")
    standing=$(rules_and_tables "$2" 1941 1942 3941 3942)
    for family in 4 6; do
        for table in 1938 1939 1940 1941 32764 32765; do
            while ip -n "$2" -$family rule del priority $table 2>/dev/null; do :; done
        done
        for table in 1941 1942 3941 3942; do ip -n "$2" -$family route flush table $table 2>/dev/null || true; done
    done
    expect_differs "$1: it makes a difference" "$got" "$(lookups "$2")"
    expect_hook 0 "$2" --apply
    expect_equal "$1: every look-up is as after --apply" "$(lookups "$2" | normal)" "$(normal <<<"$got")"
    expect_equal "$1: rules and tables, too" "$(rules_and_tables "$2" 941 942 2941 2942)" "$standing"
    expect_hook 0 "$2" --undo
    rm -rf /run/ib-hook # no hold
}
