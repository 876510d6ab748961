#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# NICs that a routing daemon has: FRR's zebra and bgpd on a host and on its two leaf switches. The host announces an address on
# lo, and reaches what is behind the leaves by multipath routes over both NICs: first numbered (a /31 each), then unnumbered
# (BGP by IPv6 link-local addresses, IPv4 routes `via inet6`).
. "$(dirname "$0")/lib.sh"

lay_over_usr unpacked-frr
frr=/usr/lib/frr
[ -x $frr/bgpd ] || skip "FRR is not here: make $IBH_BUILD/unpacked-frr/.complete"
sed -i '/^frrvty:/d' /etc/group
echo 'frrvty:x:990:root' >>/etc/group # the daemons' user has to be in it
mkdir -p /etc/frr /etc/pam.d
rm -f /etc/frr/*
touch /etc/frr/vtysh.conf
cp "$IBH_BUILD/unpacked-frr/etc/pam.d/frr" /etc/pam.d/

MANAGED="[interface ib*]
manage=yes
remote=10.0.0.0/8"

# ---- the daemons ----

declare -A pids
start() { # HOST DAEMON [ARGUMENT]…: its configuration is $work/HOST/DAEMON.conf
    local dir=$work/$1
    touch "$dir/$2.conf"
    nsenter --net="/run/netns/$1" $frr/"$2" -u root -g root -f "$dir/$2.conf" -i "$dir/$2.pid" -z "$dir/zserv" \
        --vty_socket "$dir" -P 0 --log "file:$dir/$2.log" "${@:3}" >>"$dir/$2.out" 2>&1 &
    pids[$1.$2]=$!
    wait_until 10 test -S "$dir/$2.vty"
}

stop() { # HOST DAEMON SIGNAL
    kill -"$3" "${pids[$1.$2]}"
    wait "${pids[$1.$2]}" 2>/dev/null || true
    rm -f "$work/$1/$2.vty"
}

end_of() { # HOST…
    local host daemon
    for daemon in zebra bgpd; do
        for host in "$@"; do stop "$host" $daemon TERM; done
    done
}

vty() { # HOST DAEMON COMMAND…
    local one words=()
    for one in "${@:3}"; do words+=(-c "$one"); done
    vtysh --vty_socket "$work/$1" -d "$2" "${words[@]}"
}

# router HOST AS ADDRESS NEIGHBOR…: announces what `networks` has; a neighbor is "ADDRESS AS", or "NIC interface AS"
networks=
of_leaves="10.9.0.0/24 10.9.7.0/24 0.0.0.0/0"
router() {
    local host=$1 as=$2 id=$3 one name
    mkdir -p "$work/$host"
    {
        echo "router bgp $as"
        echo " bgp router-id $id"
        echo " no bgp ebgp-requires-policy"
        echo " no bgp network import-check"
        echo " bgp bestpath as-path multipath-relax"
        echo " timers bgp 1 3"
        for one in "${@:4}"; do
            name=${one%% *}
            echo " neighbor $name ${one#* }"
            echo " neighbor $name timers connect 1"
            echo " neighbor $name advertisement-interval 0"
        done
        echo " address-family ipv4 unicast"
        for one in $networks; do echo "  network $one"; done
        echo "  maximum-paths 8"
    } >"$work/$host/bgpd.conf"
    start "$host" zebra
    start "$host" bgpd
}

# ---- what it comes to ----

paths() { # PREFIX → whose protocol it is in main, and the NICs by which main has it
    ip -n "$here" -j route show "$1" table main |
        jq -r '.[] | "\(.protocol) \([.dev // (.nexthops | map(.dev) | sort[])] | join(" "))"'
}

paths_are() { # PREFIX "PROTOCOL NIC…"
    [ "$(paths "$1")" = "$2" ]
}

have_paths() { # "PROTOCOL NIC…": of everything that the leaves announce
    paths_are 10.9.0.0/24 "$1" && paths_are 10.9.7.0/24 "$1" && paths_are default "$1"
}

is_known() { # ADDRESS LEAF…: they have a route to what the host announces
    local leaf
    for leaf in "${@:2}"; do [ -n "$(ip -n "$leaf" route show "$1" proto bgp)" ] || return; done
}

by_both() { # ADDRESS LEAF…: waits until both NICs have all paths, and the leaves the way back
    wait_until 20 have_paths "bgp ib0 ib1"
    wait_until 20 is_known "$@"
}

frr_routes() { # without the numbers of nexthop objects, which change
    ip -n "$here" route show table all proto bgp | sed 's/ nhid [0-9]*//; s/ *$//'
}

without_numbers() {
    state "$here" | sed 's/ nhid [0-9]*//; s/ expires [0-9a-z]*//; s/ hoplimit [0-9]*//'
}

ours() {
    our_rules "$here"
    our_routes "$here" | sed 's/ linkdown$//'
}

goes_by() { # WHAT NIC FROM TO
    expect_equal "$1: $3 → $4" "$2" "$(ip -n "$here" route get "$4" from "$3" | sed -nE 's/.* dev ([^ ]+) .*/\1/p')"
}

answers() { # WHAT FROM TO
    on "$here" ping -q -c 1 -W 2 -I "$2" "$3" >/dev/null || fail "$1" "$2 → $3: no answer"
    ok "$1: $2 → $3 is answered"
}

cable() { # LEAF NIC NUMBER [ADDRESS OF THE HOST, OF THE LEAF]
    ip -n "$1" link add "to-$here" type veth peer name "$2" address "$(mac "$here" "$3")" netns "$here"
    [ $# -lt 5 ] || ip -n "$1" address add "$5" dev "to-$here"
    [ $# -lt 4 ] || ip -n "$here" address add "$4" dev "$2"
    ip -n "$1" link set "to-$here" up
    ip -n "$here" link set "$2" up
}

fabric() { # HOST ADDRESS LEAF…: the host with an address on lo, and its leaves, each with what is behind it on lo
    local leaf
    here=$1
    new_host "$here"
    rdma "$here" ib0 ib1
    ip -n "$here" address add "$2/32" dev lo
    for leaf in "${@:3}"; do
        new_host "$leaf"
        on "$leaf" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
        ip -n "$leaf" address add 10.9.0.1/32 dev lo
    done
}

# ---- numbered ----

fabric A 10.8.0.1 L0 L1
cable L0 ib0 0 10.1.0.1/31 10.1.0.0/31
cable L1 ib1 1 10.1.1.1/31 10.1.1.0/31
wait_until 5 settled A
networks=$of_leaves
router L0 65001 10.1.0.0 "10.1.0.1 remote-as 65100"
router L1 65002 10.1.1.0 "10.1.1.1 remote-as 65100"
networks=10.8.0.1/32
router A 65100 10.8.0.1 "10.1.0.0 remote-as 65001" "10.1.1.0 remote-as 65002"
by_both 10.8.0.1 L0 L1
ok "FRR has its routes by both NICs"
before=$(without_numbers)
routes=$(frr_routes)
answers "FRR alone" 10.8.0.1 10.9.0.1

expect_hook 0 A --apply
expect_equal "without a configuration nothing changes" "$before" "$(without_numbers)"
expect_hook 0 A --check
expect_contains "and --check says why" "no rails" "$out"

system_config "$MANAGED
gateway=peer"
expect_hook 0 A --apply
programmed=$(ours)
expect_equal "FRR's routes stay" "$routes" "$(frr_routes)"

rails_are_right() { # WHAT
    expect_equal "$1: what is ours stands" "$programmed" "$(ours)"
    for i in 0 1; do
        goes_by "$1" ib$i 10.1.$i.1 10.9.0.1
        goes_by "$1, the sibling's subnet" ib$i 10.1.$i.1 10.1.$((1 - i)).0
        goes_by "$1, beyond" ib$i 10.1.$i.1 203.0.113.1
        answers "$1" 10.1.$i.1 10.9.0.1
    done
    answers "$1, the address on lo" 10.8.0.1 10.9.0.1
}
rails_are_right "manage=yes"
expect_hook 0 A --check

# A leaf withdraws its paths, and has them again.
vty L0 bgpd "configure terminal" "router bgp 65001" "neighbor 10.1.0.1 shutdown"
wait_until 20 have_paths "bgp ib1"
rails_are_right "a path withdrawn"
expect_hook 0 A --check
expect_hook 0 A --apply
expect_equal "a path withdrawn: nothing to do" "$programmed" "$(ours)"
vty L0 bgpd "configure terminal" "router bgp 65001" "no neighbor 10.1.0.1 shutdown"
by_both 10.8.0.1 L0 L1
rails_are_right "the path is back"
expect_hook 0 A --check

# A leaf without power: the kernel marks its routes, FRR withdraws its own.
ip -n L1 link set to-A down
wait_until 20 have_paths "bgp ib0"
expect_equal "a leaf that is off: what is ours stands" "$programmed" "$(ours)"
answers "a leaf that is off" 10.1.0.1 10.9.0.1
answers "a leaf that is off, the address on lo" 10.8.0.1 10.9.0.1
ip -n L1 link set to-A up
has_both_again() { [ "$(vty A zebra "show ip route 10.9.0.0/24" | grep -c "via ib[01]")" = 2 ]; }
wait_until 20 has_both_again # zebra 8.4 does not put the path back into its nexthop group in the kernel, until it starts again
wait_until 20 is_known 10.8.0.1 L0 L1
rails_are_right "the leaf is back"
expect_hook 0 A --check

# zebra ends in each of its ways, and starts again; bgpd with it, as watchfrr does it.
begin() { # [ARGUMENT OF ZEBRA]…
    stop A bgpd TERM
    start A zebra "$@"
    start A bgpd
    by_both 10.8.0.1 L0 L1
}

has_no_routes() { [ -z "$(frr_routes)" ]; }
stop A zebra TERM
wait_until 10 has_no_routes
expect_equal "zebra has ended, and took its routes along: what is ours stands" "$programmed" "$(ours)"
begin --retain
expect_equal "zebra starts again: FRR's routes" "$routes" "$(frr_routes)"
rails_are_right "zebra starts again"

stop A zebra TERM
expect_equal "--retain: FRR's routes stay" "$routes" "$(frr_routes)"
ip -n A route add 10.77.0.0/24 via 10.1.0.0 proto bgp metric 20
begin --graceful_restart=1
wait_until 20 paths_are 10.77.0.0/24 "" # a second after its start it sweeps what nobody announces any more
rails_are_right "--graceful_restart"

stop A zebra KILL
expect_equal "zebra is killed: its routes are left over" "$routes" "$(frr_routes)"
begin
rails_are_right "a killed zebra starts again"
expect_equal "a killed zebra starts again: FRR's routes" "$routes" "$(frr_routes)"
expect_hook 0 A --check

# Main's default, by FRR, is each rail's own gateway.
system_config "$MANAGED"
expect_hook 0 A --apply
expect_equal "gateway=auto is the same gateway" "$programmed" "$(ours)"
expect_hook 0 A --check

expect_hook 0 A --undo
rm /etc/ib-hook/ib-hook.conf
expect_equal "--undo leaves what was there before" "$before" "$(without_numbers)"
expect_hook 0 A --check

end_of A L0 L1

# ---- unnumbered ----

fabric U 10.8.0.2 L2 L3
cable L2 ib0 2
cable L3 ib1 3
wait_until 5 settled U
networks=$of_leaves
router L2 65003 10.1.2.0 "to-U interface remote-as 65100"
router L3 65004 10.1.3.0 "to-U interface remote-as 65100"
networks=10.8.0.2/32
router U 65100 10.8.0.2 "ib0 interface remote-as external" "ib1 interface remote-as external"
by_both 10.8.0.2 L2 L3
routes=$(frr_routes)
before=$(without_numbers)
expect_contains "unnumbered: FRR's routes are" "via inet6" "$(frr_routes)"
answers "unnumbered" 10.8.0.2 10.9.0.1

expect_hook 0 U --apply
expect_equal "unnumbered, without a configuration: nothing changes" "$before" "$(without_numbers)"
expect_hook 0 U --check --json
expect_equal "and --check says why" "info:no-address:ib0 info:no-address:ib1" \
    "$(json '[.findings[] | "\(.severity):\(.code):\(.ifaces | join("+"))"] | sort | join(" ")')"
system_config "$MANAGED"
expect_hook 0 U --apply
expect_equal "unnumbered, manage=yes: nor does it then" "$before" "$(without_numbers)"

# With an address of their own alone, rails have no gateway that could be used: an IPv6 one is FRR's. That is said.
lacks_gateway() { # WHAT
    expect_hook 1 U --check --json
    expect_equal "$1: --check says so" "warning:gateway-missing:ib0 warning:gateway-missing:ib1" \
        "$(json '[.findings[] | select(.severity != "info") | "\(.severity):\(.code):\(.ifaces | join("+"))"] | sort | join(" ")')"
}
for i in 0 1; do ip -n U address add 10.8.2.$i/32 dev ib$i; done
expect_hook 0 U --apply
expect_equal "single addresses: rules alone" "$(own_rule 10.8.2.0 941; own_rule 10.8.2.1 942)" "$(ours)"
expect_equal "single addresses: FRR's routes stay" "$routes" "$(frr_routes)"
lacks_gateway "single addresses"
answers "single addresses, the address on lo" 10.8.0.2 10.9.0.1

# One path alone is a route by one NIC.
vty L3 bgpd "configure terminal" "router bgp 65004" "neighbor to-U shutdown"
wait_until 20 have_paths "bgp ib0"
programmed=$(ours)
expect_hook 0 U --apply
expect_equal "one path, via inet6: no route of ours" "$programmed" "$(ours)"
lacks_gateway "one path"
answers "one path" 10.8.0.2 10.9.0.1
vty L3 bgpd "configure terminal" "router bgp 65004" "no neighbor to-U shutdown"
by_both 10.8.0.2 L2 L3

expect_hook 0 U --undo
for i in 0 1; do ip -n U address del 10.8.2.$i/32 dev ib$i; done
wait_until 10 have_paths "bgp ib0 ib1"
expect_equal "unnumbered: --undo leaves what was there before" "$before" "$(without_numbers)"
answers "unnumbered, after --undo" 10.8.0.2 10.9.0.1
end_of U L2 L3
