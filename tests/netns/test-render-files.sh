#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --render rt_tables, and the ARP values that all other formats have as comments: their readers take them, and --apply gives the same.
# Once what is rendered is in force, the same is rendered again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lookups.sh"

needs sysctl

names=("ib0" "ib1.8002" "ib-2")
make_hosts 3 B
name_nics B "${names[@]}"
clean=$(sysctls B)

check_sysctl() { # WHAT CONFIGURATION RP_FILTER: the file leads to the values of --apply
    local what=$1 applied file=$work/90-ib-hook.conf
    config "$2" >$work/config
    on B sh -c "echo $3 >$CONF/all/rp_filter"
    expect_hook 0 B --render netplan --config "$(<$work/config)"
    arp_values <<<"$out" >$file
    expect_hook 0 B --apply --config "$(<$work/config)"
    applied=$(sysctls B)
    expect_hook 0 B --render netplan --config "$(<$work/config)"
    expect_equal "$what: rendered once it is so, it is the same" "$(<$file)" "$(arp_values <<<"$out")"
    expect_hook 0 B --undo
    [ "$what" = nothing ] || expect_differs "$what: undone" "$applied" "$(sysctls B)"
    on B sysctl --load=$file >$work/said 2>&1 || fail "$what: sysctl --load" "$(<$work/said)"
    expect_equal "$what: all are set" "$(grep -c '^net' $file || true)" "$(wc -l <$work/said)"
    expect_equal "$what: to what --apply sets" "$applied" "$(sysctls B)"
    # shellcheck disable=SC2016 # for the inner shell
    on B sh -c 'cd '$CONF' && for k in '"$ARP_KEYS"'; do for f in */$k; do echo 0 >"$f"; done; done'
    expect_equal "$what: and back" "$clean" "$(sysctls B)"
}

check_sysctl "default" "" 1
check_sysctl "arp=strict" "[defaults]
arp=strict" 0
check_sysctl "nothing" "[defaults]
arp=keep" 0

# Names of tables.
expect_hook 0 B --render rt_tables
mkdir -p /etc/iproute2/rt_tables.d
[ -s /etc/iproute2/rt_tables ] || printf '255 local\n254 main\n253 default\n0 unspec\n' >/etc/iproute2/rt_tables
printf '%s\n' "$out" >/etc/iproute2/rt_tables.d/ib-hook.conf
expect_hook 0 B --apply
for nic in "${names[@]}"; do
    routes=$(ip -n B route show table "rail-$nic" 2>&1)
    expect_contains "ip knows the table of $nic" "172.16.0.0/16 dev $nic " "$routes"
done
expect_contains "and shows it" "lookup rail-ib0" "$(ip -n B rule)"
expect_hook 0 B --plan --config "$(config "[interface ib0]
table=native-ib0")"
expect_contains "so does ib-hook: the tables of native formats are other ones" "table 1942" "$out"

# What is rendered while an earlier rendering is in force, as the manual says: after a change of addresses.
render_all() {
    local format
    for format in netplan networkd nmcli ifupdown ifcfg rt_tables env; do
        echo "$format"
        hook B --render $format
    done
}

expect_hook 0 B --apply
render_all >$work/first
sed -n 's/^ *up //p' $work/first >$work/lines
expect_differs "there are lines for ifup" "" "$(<$work/lines)"
on B sh -e $work/lines
expect_hook 0 B --apply
expect_equal "ib-hook leaves the rails to them" "" "$(our_rules B)"
render_all >$work/second
expect_equal "rendered again, it is the same in every format" "" "$(diff $work/first $work/second || true)"
ip -n B address add 172.16.35.1/16 dev ib0
render_all >$work/third
expect_equal "with a new address, only lines for this one are added" "" \
    "$(diff $work/first $work/third | grep '^[<>]' | grep -v -e '^> .*172\.16\.35\.1\b' -e '^> *$' -e '^> \[RoutingPolicyRule\]' \
        -e '^> \(Priority\|To\|Table\|SuppressPrefixLength\)=' || true)"
expect_equal "two rules" 2 "$(grep -c '^ *up .* rule add .*172\.16\.35\.1 ' $work/third)"

# An address that a rule of somebody else routes, and a table that somebody else has, are not written.
ip -n B route add 172.16.0.0/16 dev ib0 table 200
ip -n B rule add from 172.16.35.1 lookup 200 priority 100
expect_hook 0 B --render ifupdown
expect_contains "it says which rule routes the address" \
    "# Without 172.16.35.1: rule 100 (from 172.16.35.1/32 lookup 200) routes it." "$out"
expect_contains "the others are still in it" "from 172.16.34.1 to 172.16.0.0/16 table 1942" "$out"
while read -r line; do on B sh -c "${line/rule add/rule del}"; done < <(grep 'rule add' $work/lines)
ip -n B rule add from 10.0.0.34 lookup 1941 priority 500
expect_hook 0 B --render ifupdown
expect_lacks "a table that another program's rule leads to is not written" "table 1941" "$out"
expect_contains "but one that is free" "from 172.16.34.1 to 172.16.0.0/16 table 3942" "$out"

# IPv4 by an IPv6 gateway, as BGP unnumbered has it: ip takes the line; nmcli would take no such command.
ip -n B -4 route add default via inet6 fe80::5 dev ib0
expect_hook 0 B --render ifupdown
line=$(sed -n 's/^ *up \(ip -4 route replace 0\.0\.0\.0\/0 .*\)/\1/p' <<<"$out")
expect_contains "the gateway's family" " via inet6 fe80::5 dev ib0 table " "$line"
on B sh -c "$line"
ok "ip takes it"
expect_hook 0 B --render nmcli
expect_contains "nmcli" "# Without the route to 0.0.0.0/0: NetworkManager takes no IPv6 gateway for it." "$out"
expect_lacks "no command has the gateway" "fe80::5" "$out"
