#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/profiles.md: each configuration on the page gives the values that stand beside it, rails stay right with it, and
# --undo restores the host.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"
page=$top/packaging/doc/profiles.md

# shellcheck disable=SC2016 # for awk
values() { # HOST NIC: the lines of standard input that are not in effect there; "all" and the NIC together decide
    local key value
    while IFS="=" read -r key value; do
        on "$1" awk -v key="$2: $key" -v want="$value" '{ v = $1 > v ? $1 : v } END { if (v + 0 != want) print key "=" v ", not " want }' \
            "$CONF/all/$key" "$CONF/$2/$key"
    done
}

values_of() { # HOST
    on "$1" grep . $CONF/{all,ib0,ib1}/{rp_filter,arp_filter,arp_announce,arp_ignore,accept_local,ignore_routes_with_linkdown}
}

sysctls() { # HOST: sets the lines of a file of sysctl.d, ib1's as those of ib0
    local key value
    while IFS=' =' read -r key value; do
        on "$1" tee "/proc/sys/${key//.//}" <<<"$value" >/dev/null
    done
}

make_hosts 2
ip -n A address add 172.16.255.254/16 dev ib0 # the router of the subnet
ip -n B link add eno1 type veth peer name far netns wire # the management network, on a wire of its own
ip -n wire link set far up
ip -n B address add 10.1.0.2/24 dev eno1
ip -n B link set eno1 up
ip -n B route add default via 10.1.0.1 dev eno1
wait_until 5 settled B
for host in A B; do on $host tee $CONF/all/rp_filter <<<1 >/dev/null; done # as on many distributions
start=$(values_of B)
expect_hook 0 A --apply

profiles=0
for profile in WEKA DAOS Lustre NFS; do
    page_file "$page" "ested (the configuration for $profile" >$work/ib-hook.conf
    lines=$(page_file "$page" "ested (the sysctls for $profile" | grep . || true)
    wanted=$({ page_file "$page" "ested (the values for $profile" && sed -n 's/.*\.ib0\.//p' <<<"$lines"; } | grep .)
    expect_at_least "$profile: the page has values" 2 "$(wc -l <<<"$wanted")"
    [ -z "$lines" ] || sysctls B < <(echo "$lines" && sed -n 's/\.ib0\./.ib1./p' <<<"$lines")
    old=$(values_of B)
    expect_hook 0 B --apply --config $work/ib-hook.conf
    for nic in ib0 ib1; do
        expect_equal "$profile: the values of $nic are those of the page" "" "$(values B $nic <<<"$wanted")"
    done
    expect_hook 0 B --check --config $work/ib-hook.conf
    forget A B
    expect_hook 0 A --probe 172.16.34.1 172.16.34.2
    expect_hook 0 B --probe 172.16.16.1 172.16.16.2 --config $work/ib-hook.conf
    case $profile in
        WEKA) # the first rule with an address, its table, and the two routes there; a default of each rail's own
            for n in 0 1; do
                address=172.16.34.$((n + 1))
                table=$(ip -n B -json rule | jq -r "[.[] | select(.src == \"$address\")][0].table")
                routes=$(ip -n B -json route show table "$table")
                expect_equal "the table of the first rule has the subnet of ib$n, and a default route" "2" \
                    "$(jq "[.[] | select((.dst == \"172.16.0.0/16\" and .dev == \"ib$n\" and .prefsrc == \"$address\") or .dst == \"default\")] | length" <<<"$routes")"
                expect_contains "ib$n has a default route of its own" "default via 172.16.255.254 dev ib$n" \
                    "$(ip -n B route show table $((2941 + n)))"
            done
            ;;
        NFS)
            expect_contains "unbound traffic goes by both rails" "nexthop dev ib1" "$(ip -n B route show table 940)"
            for nic in ib0 ib1; do # as UCX asks
                expect_contains "main has the subnet by $nic" "172.16.0.0/16" "$(ip -n B route show table main dev $nic)"
            done
            ;;
    esac
    expect_hook 0 B --undo
    expect_equal "$profile: --undo restores every value" "$old" "$(values_of B)"
    while IFS=: read -r key value; do on B tee "$key" <<<"$value" >/dev/null; done <<<"$start"
    profiles=$((profiles + 1))
done
expect_equal "every configuration of the page was applied" "$profiles" "$(page_blocks "$page" | grep -c '^@ [Tt]ested (the configuration')"
