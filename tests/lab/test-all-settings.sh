#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which settings make RDMA work, side by side: what an administrator may find or may try, and ib-hook with each value of
# arp and main, whatever rp_filter the host has for all interfaces. Writes build/lab/table.md. Every row of ours must be full.
. "$(dirname "$0")/lib.sh"

table=$work/table.md
make_hosts 2

# row STATE [TIMES]: measures, and adds a line to the table; each pair TIMES times
row() {
    local i j times=${2:-2} free=0 free_right=0 bound=0 bound_right=0 entries ip=0
    entries=$(learned 2)
    for j in 0 1; do
        for i in - 0 1; do
            ip_ping $i $j
            case $i$way in
                -ib[01]">ib$j" | "${i}ib$i>ib$j") ip=$((ip + 1)) ;;
            esac
        done
    done
    rping_serve 2
    for j in 0 1; do
        rdma_ping - $j "$times"
        free=$((free + through))
        case $way in
            ib[01]">ib$j" | "ib0,ib1>ib$j") free_right=$((free_right + through)) ;;
        esac
        for i in 0 1; do
            rdma_ping $i $j "$times"
            bound=$((bound + through))
            [ "$way" != "ib$i>ib$j" ] || bound_right=$((bound_right + through))
        done
    done
    printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$free/$((2 * times))" "$free_right/$((2 * times))" \
        "$bound/$((4 * times))" "$bound_right/$((4 * times))" "$ip/6" "$entries/8" | tee -a "$table"
}

expect_row() { # STATE: it must measure all in full
    row "$1"
    expect_equal "$1" "4/4 | 4/4 | 8/8 | 8/8 | 6/6 | 8/8" "$(tail -n 1 "$table" | sed 's/^| [^|]* | \(.*\) |$/\1/')"
}

by_hand() { # SCRIPT: on both hosts, for each NIC; "$nic", "$address" and "$table" are its own
    local host i
    for host in A B; do
        for i in 0 1; do
            vm $host "nic=ib$i address=$(address $host $i) table=$((941 + i)); $1"
        done
    done
}

plain() { # both hosts as they were; a link that was down has its route in main again
    # shellcheck disable=SC2016
    by_hand 'ip rule del from $address 2>/dev/null; ip route flush table $table 2>/dev/null
        ip link set $nic down; ip link set $nic up
        for k in rp_filter arp_filter arp_announce arp_ignore; do echo 0 >'"$CONF"'/$nic/$k; done'
    rp_filter 0
}

cat >"$table" <<'END'
| state of both hosts | rping | right NICs | rping -I | right NICs | pings on the right NICs | ARP entries right |
| --- | --- | --- | --- | --- | --- | --- |
END

# ---- what is found, and what the documents do (once each: what fails here takes its time) ----------------
export RPING_SECONDS=3
row "nothing, rp_filter=0" 1
rp_filter 1
row "nothing, rp_filter=1" 1
rp_filter 0
sysctl_set A ib0 ib1 arp_filter=1
sysctl_set B ib0 ib1 arp_filter=1
row "nothing but arp_filter=1" 1
expect_contains "without rules RDMA to the second NIC fails" "| 1/2 | 1/2 | 2/4 |" "$(tail -n 1 "$table")"
plain
# shellcheck disable=SC2016
{
    own_table='ip route add 172.16.0.0/16 dev $nic proto kernel scope link src $address table $table
        ip rule add from $address table $table;'
    by_hand "ip route del 172.16.0.0/16 dev \$nic; $own_table"
    row "tables and rules, main's routes deleted (route-ib-mem34)" 1
    plain
    by_hand "$own_table"'cd '"$CONF"'/$nic; echo 1 >rp_filter; echo 1 >arp_filter; echo 2 >arp_announce; echo 2 >arp_ignore'
    row "tables and rules, four sysctls (*files*)" 1
    plain
}

# ---- ib-hook ------------------------------------------------------------------------------------------
unset RPING_SECONDS
for arp in auto strict; do
    for main in keep spread; do
        for host in A B; do config $host "[defaults]" "arp=$arp" "main=$main"; done
        for rp in 0 1 2; do
            rp_filter $rp
            for host in A B; do hook $host --apply >/dev/null; done
            expect_row "ib-hook, arp=$arp main=$main, rp_filter=$rp"
            for host in A B; do hook $host --undo >/dev/null; done
        done
    done
done
mv "$table" "$lab/table.md"
