#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What main's routes of a rail say beside the way (mtu, lock, advmss, initcwnd) holds for the rail's traffic, too: large packets
# arrive where somebody on the way takes 1,400 bytes at most, and tells nobody.
. "$(dirname "$0")/lib.sh"

make_hosts 2
new_host R
add_nic R e0 11 172.16.0.254/16 fd00:16::254/64
ip -n R address add 10.1.1.1/16 dev lo
for n in 0 1; do ip -n A link set ib$n mtu 1400; done
ip -n R link set e0 mtu 1400

journal_start
METRICS="mtu lock 1400 advmss 1300 initcwnd 20 rto_min 250ms"

# the_subnets METRICS: main's route of the subnet by each NIC, as a manager sets it that knows better
the_subnets() {
    local n
    for n in 0 1; do
        ip -n B address flush dev ib$n scope global
        ip -n B address add 172.16.34.$((n + 1))/16 dev ib$n noprefixroute
        ip -n B address add fd00:16::34:$((n + 1))/64 dev ib$n nodad noprefixroute
        ip -n B -6 route del fd00:16::/64 dev ib$n proto static 2>/dev/null || true
        # shellcheck disable=SC2086 # words
        ip -n B route append 172.16.0.0/16 dev ib$n proto static scope link src 172.16.34.$((n + 1)) metric 10$n $1
        # shellcheck disable=SC2086
        ip -n B -6 route append fd00:16::/64 dev ib$n proto static metric 10$n $1
    done
    wait_until 5 settled B
}

large() { # FROM TO → how many of three packets of 1,500 bytes arrive, by whoever is to cut them
    local size=1472
    [[ $1 != *:* ]] || size=1452
    on B ping -q -c 3 -i 0.2 -W 1 -M dont -s $size -I "$1" "$2" 2>&1 | grep -o '[0-9]* received' || true
}

expect_large() { # WHAT FROM TO
    expect_equal "$1: large packets from $2 to $3" "3 received" "$(large "$2" "$3")"
}

metrics_of() { # TABLE PREFIX FAMILY → those of our route there, as ip shows them
    ip -n B -"$3" route show "$2" table "$1" 2>/dev/null |
        grep -oE 'mtu (lock )?[0-9]+|advmss [0-9]+|initcwnd [0-9]+|rto_min lock [0-9]+' | sort | xargs || true
}

expect_metrics() { # WHAT TABLE PREFIX FAMILY
    expect_equal "$1: the metrics of $3 in table $2" "advmss 1300 initcwnd 20 mtu lock 1400 rto_min lock 250" "$(metrics_of "$2" "$3" "$4")"
}

expect_none() { # WHAT TABLE PREFIX FAMILY
    expect_equal "$1: no metrics of $3 in table $2" "" "$(metrics_of "$2" "$3" "$4")"
}

expect_done() { # WHAT: all is right, and a second run has nothing to do
    expect_hook 0 B --check
    expect_hook 0 B --plan --json
    expect_equal "$1: a second run has nothing to do" false "$(json .changed)"
}

# apply_as_planned WHAT: what --plan prints, pasted, leaves no rule and no route to do
apply_as_planned() {
    expect_hook 0 B --plan
    grep '^ip ' <<<"$out" >$work/pasted
    on B sh -e $work/pasted || fail "$1: the commands of --plan can be pasted" "$(<$work/pasted)"
    expect_hook 0 B --plan --json
    expect_equal "$1: --plan says all of it" "" "$(json '.operations[] | select(.op | test("^(rule|route)-")) | .command')"
    expect_hook 0 B --apply
}

# ---- the subnet's own route ----

expect_equal "packets of 1,500 bytes do not get there" "0 received" "$(large 172.16.34.1 172.16.16.1)"
the_subnets "$METRICS"
expect_large "plain Linux" 172.16.34.1 172.16.16.1
apply_as_planned "the subnet"
for n in 1 2; do
    expect_metrics "the subnet" 94$n 172.16.0.0/16 4
    expect_metrics "the subnet" 94$n fd00:16::/64 6
    expect_large "the subnet" 172.16.34.$n 172.16.16.$n
    expect_large "the subnet" fd00:16::34:$n fd00:16::254
done
expect_done "the subnet"

# ---- main's default route by the NIC, alone and where gateway= or remote= name its gateway ----

# shellcheck disable=SC2086
main_default() { # METRICS
    ip -n B route replace default via 172.16.0.254 dev ib0 metric 50 $1
    ip -n B -6 route replace default via fd00:16::254 dev ib0 metric 50 $1
}

main_default "$METRICS"
expect_hook 0 B --apply
expect_metrics "main's default" 2941 default 4
expect_metrics "main's default" 2941 default 6
expect_large "main's default" 172.16.34.1 10.1.1.1
expect_done "main's default"

system_config "[interface ib*]
gateway=172.16.0.254
remote=10.1.0.0/16"
apply_as_planned "gateway=, remote="
expect_metrics "gateway=" 2941 default 4
expect_metrics "remote=" 941 10.1.0.0/16 4
expect_large "remote=" 172.16.34.1 10.1.1.1
expect_none "ib1 has no default in main" 2942 default 4
expect_none "ib1 has no default in main" 942 10.1.0.0/16 4
expect_done "gateway=, remote="
rm /etc/ib-hook/ib-hook.conf
expect_hook 0 B --apply

# ---- they change, and go ----

the_subnets "mtu lock 1300" # with the last address goes the IPv4 default
main_default "mtu lock 1300"
manager_calls B IFACE=ib0 MODE=start PHASE=post-up "$HOOKS/ifupdown"
for where in "941 172.16.0.0/16 4" "942 172.16.0.0/16 4" "941 fd00:16::/64 6" "2941 default 4" "2941 default 6"; do
    # shellcheck disable=SC2086
    expect_equal "an event follows them: $where" "mtu lock 1300" "$(metrics_of $where)"
done
the_subnets ""
main_default ""
manager_calls B IFACE=ib0 MODE=start PHASE=post-up "$HOOKS/ifupdown"
for where in "941 172.16.0.0/16 4" "942 172.16.0.0/16 4" "941 fd00:16::/64 6" "2941 default 4" "2941 default 6"; do
    # shellcheck disable=SC2086
    expect_equal "and their end: $where" "" "$(metrics_of $where)"
done
expect_done "without metrics"

# Metrics that only our route has are an alteration of it.
ip -n B route change 172.16.0.0/16 dev ib1 table 942 proto kernel scope link src 172.16.34.2 metric $MARK mtu lock 1000
expect_hook 1 B --check --json
expect_hook 0 B --apply
expect_none "a route of ours that somebody altered" 942 172.16.0.0/16 4
expect_done "a route of ours that somebody altered"

# ---- main's routes by a gateway, which no table of ours has: a network behind a way of 1,400 bytes ----

for n in 0 1; do ip -n A link set ib$n mtu 9000; ip -n B link set ib$n mtu 9000; done
for port in A.0 A.1 B.0 B.1; do ip -n wire link set $port mtu 9000; done
ip -n B route del default
ip -n B route add 10.0.0.0/8 via 172.16.0.254 dev ib0 mtu lock 1400 advmss 1360
expect_large "a network by a gateway, plain" 172.16.34.1 10.1.1.1
manager_calls B IFACE=ib0 MODE=start PHASE=post-up "$HOOKS/ifupdown"
expect_large "a network by a gateway" 172.16.34.1 10.1.1.1
expect_large "a network by a gateway, from the other rail" 172.16.34.2 10.1.1.1

# ---- others' routes: a smaller MTU is the word of who knows the wire. It is no fault, and no fix may take it ----

for n in 0 1; do
    ip -n A link set ib$n mtu 1500
    for host in A B; do ip -n wire link set $host.$n mtu 1500; done
    ip -n B route add 172.16.0.0/16 dev ib$n src 172.16.34.$((n + 1)) mtu 1500 table 10$n proto static
    ip -n B rule add from 172.16.34.$((n + 1)) lookup 10$n priority 10$n
done
expect_hook 0 B --apply
longer() { on B ping -q -c 1 -W 1 -s 4000 -I "$1" 172.16.16.1 | grep -o '[0-9]* received'; }
for n in 1 2; do expect_equal "what others route fits the wire" "1 received" "$(longer 172.16.34.$n)"; done
expect_hook 0 B --check --json
expect_equal "the MTU of others' routes is noted, once for each" "info ib0, info ib1" \
    "$(json '[.findings[] | select(.code == "foreign-route") | "\(.severity) \(.ifaces | join("+"))"] | sort | join(", ")')"
expect_contains "with its value" "172.16.34.1 leaves through ib0 with mtu 1500: route 172.16.0.0/16 dev ib0 table 100" "$(messages)"
ip -n B route add 172.16.16.0/24 dev ib0 table 101
expect_hook 0 B --apply
expect_hook 1 B --check --json
expect_equal "a route beside it is wrong" "ib1 error foreign-rule" "$(findings)"
expect_contains "and no fix takes their MTU away" \
    "before you delete the rule, find out what needs it: because of it, 172.16.34.2 has mtu 1500" "$(json '.findings[].advice')"
expect_equal "nor is there a command" "" "$(json '.findings[].fix // empty')"
