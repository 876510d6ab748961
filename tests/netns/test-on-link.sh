#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a rail reaches directly: its table has the subnets of its addresses, and main's on-link routes by its own NIC inside
# these, or around an address that has no subnet. So each rail's traffic for them leaves by the rail, not by the NIC that main
# has first. What another NIC alone has stays main's, and so does what only a router claims to be on the link.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/others.sh"

make_wire
new_host A
add_nic A eth0 9 172.16.16.1/16 fd00:16::16:1/64
wait_until 5 settled A
journal_start

# in_tables: "NIC PREFIX…" of both rails, beside the subnets that both have in each case
in_tables() {
    local n
    for n in 0 1; do
        { ip -n B -4 route show table $((941 + n)) metric $MARK && ip -n B -6 route show table $((941 + n)) metric $MARK; } 2>/dev/null |
            awk '$1 != "172.16.0.0/16" && $1 != "fd00:16::/64" { print $1 }' | tidy | xargs echo ib$n
    done
}

leaves_by() { # FROM TO: NIC[,GATEWAY]
    local family=4
    [[ $2 != *:* ]] || family=6
    ip -n B -$family -o route get "$2" from "$1" | sed -E 's/.* via ([^ ]+) dev ([^ ]+).*/\2,\1/; s/.* dev ([^ ]+).*/\1/'
}

# on_link NAME PREFIXES WAYS <LINES of ip. PREFIXES: what both tables then have, or that of ib0|that of ib1, or #N, so many.
# WAYS: "FROM>TO[=NIC]", each for both rails where %n stands in it; where all leave by the own NIC, --check is content.
on_link() {
    local name=$1 of=("${2%%|*}" "${2##*|}") tables n way from to nic
    [ ! -e /run/netns/B ] || delete_host B
    rm -rf /run/ib-hook
    new_host B
    for n in 0 1; do add_nic B ib$n $n 172.16.34.$((n + 1))/16 fd00:16::34:$((n + 1))/64; done
    rdma B ib0 ib1
    each_rail >$work/lines
    ip -n B -batch $work/lines || fail "$name: the kernel takes it"
    wait_until 5 settled B
    an_event
    tables=$(in_tables)
    if [[ $2 = \#* ]]; then
        expect_equal "$name: so many in each table" "${2#?} ${2#?}" "$(awk '{ print NF - 1 }' <<<"$tables" | xargs)"
    else
        expect_equal "$name: the tables" "$(for n in 0 1; do tr ' ' '\n' <<<"${of[n]}" | tidy | xargs echo ib$n; done)" "$tables"
    fi
    for way in $3; do
        for n in 0 1; do
            from=${way%%>*} from=${from//%n/$((n + 1))} to=${way#*>} nic=ib%i
            [[ $to != *=* ]] || nic=${to#*=} to=${to%=*}
            expect_equal "$name: $from to $to" "${nic//%i/$n}" "$(leaves_by "$from" "$to")"
        done
    done
    [[ $3 = *=* ]] || expect_hook 0 B --check
    expect_hook 0 B --plan --json
    expect_equal "$name: a second run has nothing to do" false "$(json .changed)"

    tac $work/lines | sed -E 's/ (add|append) / del /; s/ (expires|valid_lft|preferred_lft) [0-9]+| nodad//g' >$work/gone
    ip -n B -batch $work/gone || fail "$name: it can be taken away"
    an_event
    expect_equal "$name: when it is gone, so is ours" $'ib0\nib1' "$(in_tables)"
}

# ---- inside a rail's subnet, by each NIC ----

# systemd-networkd's RoutesToDNS=, which is its default: a host route to the server that DHCP named, by each NIC.
on_link "the DNS server of each lease" 172.16.0.53 "172.16.34.%n>172.16.0.53 172.16.34.%n>172.16.16.1" <<'END'
route append 172.16.0.53 dev ib%i proto dhcp scope link src 172.16.34.%n metric 1024
END
on_link "a piece of the subnet" 172.16.50.0/24 "172.16.34.%n>172.16.50.1" <<'END'
route append 172.16.50.0/24 dev ib%i proto static scope link
END
on_link "a piece of the subnet, IPv6" fd00:16:0:0:5::/80 "fd00:16::34:%n>fd00:16:0:0:5::1" <<'END'
route append fd00:16:0:0:5::/80 dev ib%i proto static
END
# A router says so, and gives no address by it: main has a route by each NIC, and uses one of them.
on_link "an advertised piece" fd00:16::/96 "fd00:16::34:%n>fd00:16::16:1" <<'END'
route append fd00:16::/96 dev ib%i proto kernel metric 256 expires 3600
END

# ---- around an address without a subnet ----

on_link "a lease of /128 beside the router's subnet" 2001:db8:1::/64 "2001:db8:1::10%n>2001:db8:1::a1 fd00:16::34:%n>fd00:16::16:1" <<'END'
address add 2001:db8:1::10%n/128 dev ib%i
route append 2001:db8:1::/64 dev ib%i proto ra metric 256 expires 3600
END

# ---- what one NIC has alone, or by a gateway, and what is next to no address, is main's ----

on_link "a piece by one rail alone" "172.16.50.0/24|" "172.16.34.%n>172.16.50.1=ib0" <<'END'
route add 172.16.50.0/24 dev ib0 proto static scope link
END
on_link "a piece by a router" "" "172.16.34.%n>172.16.50.1=ib0,172.16.16.1" <<'END'
route add 172.16.50.0/24 via 172.16.16.1 dev ib0
END
on_link "what is next to no address" "" "172.16.34.%n>10.7.0.1=ib0 172.16.34.%n>169.254.7.7=ib0" <<'END'
route append 10.7.0.0/24 dev ib%i scope link
route append 169.254.0.0/16 dev ib%i metric 100%n
END
on_link "a default without a gateway" "" "172.16.34.%n>172.16.16.1" <<'END'
route add default dev ib0 scope link metric 50
END

# ---- what routers may claim ----

on_link "half of the world" "" "fd00:16::34:%n>fd00:16::16:1=ib%i" <<'END'
address add 2001:db8:1::10%n/128 dev ib%i
route append 2000::/3 dev ib%i proto ra metric 256 expires 3600
END
on_link "all private addresses" "" "fd00:16::34:%n>fd00:16::16:1=ib%i" <<'END'
address add fd00:17::10%n/128 dev ib%i
route append fc00::/7 dev ib%i proto kernel metric 256 expires 3600
END

# Four at most of what routers and DHCP say, those with an address of the NIC first; what is configured does not count.
on_link "four of six" "fd00:16:0:1::/80 fd00:16:0:2::/80 fd00:16:0:3::/80 fd00:16:0:4::/80" "fd00:16::34:%n>fd00:16::16:1=ib%i" <<'END'
route append fd00:16:0:0:6::/80 dev ib%i proto ra metric 256 expires 3600
route append fd00:16:0:0:5::/80 dev ib%i proto ra metric 256 expires 3600
address add fd00:16:0:1::%n/80 dev ib%i valid_lft 3600 preferred_lft 3600 nodad
address add fd00:16:0:2::%n/80 dev ib%i valid_lft 3600 preferred_lft 3600 nodad
address add fd00:16:0:3::%n/80 dev ib%i valid_lft 3600 preferred_lft 3600 nodad
address add fd00:16:0:4::%n/80 dev ib%i valid_lft 3600 preferred_lft 3600 nodad
END
on_link "two with an address, and three" "#4" "fd00:16:0:1::%n>fd00:16:0:1::7=ib%i fd00:16:0:2::%n>fd00:16:0:2::7=ib%i" <<'END'
route append fd00:16:0:0:6::/80 dev ib%i proto ra metric 256 expires 3600
route append fd00:16:0:0:5::/80 dev ib%i proto ra metric 256 expires 3600
route append fd00:16:0:0:4::/80 dev ib%i proto ra metric 256 expires 3600
address add fd00:16:0:1::%n/80 dev ib%i valid_lft 3600 preferred_lft 3600 nodad
address add fd00:16:0:2::%n/80 dev ib%i valid_lft 3600 preferred_lft 3600 nodad
END
on_link "five of DHCP" "#4" "172.16.34.%n>172.16.16.1=ib%i" <<'END'
route append 172.16.0.51 dev ib%i proto dhcp scope link metric 1024
route append 172.16.0.52 dev ib%i proto dhcp scope link metric 1024
route append 172.16.0.53 dev ib%i proto dhcp scope link metric 1024
route append 172.16.0.54 dev ib%i proto dhcp scope link metric 1024
route append 172.16.0.55 dev ib%i proto dhcp scope link metric 1024
END
on_link "five that are configured, and one of DHCP" \
    "172.16.0.53 172.16.1.0/24 172.16.2.0/24 172.16.3.0/24 172.16.4.0/24 172.16.5.0/24" \
    "172.16.34.%n>172.16.0.53 172.16.34.%n>172.16.1.1 172.16.34.%n>172.16.5.1" <<'END'
route append 172.16.0.53 dev ib%i proto dhcp scope link metric 1024
route append 172.16.1.0/24 dev ib%i proto static scope link
route append 172.16.2.0/24 dev ib%i proto static scope link
route append 172.16.3.0/24 dev ib%i proto static scope link
route append 172.16.4.0/24 dev ib%i proto static scope link
route append 172.16.5.0/24 dev ib%i proto static scope link
END
