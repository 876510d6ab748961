#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A virtual address moves from rail to rail and from host to host, by the real keepalived and by the agent IPaddr2 of
# Pacemaker: no network manager reports that. --watch routes the address wherever it is, while a client keeps asking.
. "$(dirname "$0")/../netns/lib.sh"
lay_over_usr unpacked-ha

vip=172.16.99.9
make_hosts 2 A B C
watches=()
start_watch() { # HOST
    nsenter --net="/run/netns/$1" "$IB_HOOK" --sysfs "/run/sys/$1" --watch >"$work/watch.$1" 2>&1 &
    watches+=($!)
    stands() { [ "$(our_rules "$1" | wc -l)" = 4 ]; }
    wait_until 10 stands "$1"
}
for host in B C; do start_watch $host; done

# asked HOST NIC: the client, which asks all the time, hears the reply from this NIC, and the reply leaves through it
asked() {
    is_there() {
        on A ping -q -c 1 -W 1 -I 172.16.16.1 $vip >/dev/null &&
            [ "$(learned_mac A $vip | sort -u)" = "$(mac "$1" "${2#ib}")" ] &&
            ip -n "$1" route get 172.16.16.1 from $vip | grep -q " dev $2 "
    }
    wait_until 10 is_there "$@"
    expect_equal "$vip is on $1 $2: no other NIC of that host answers" "$2" "$(arp_answers A ib0 172.16.16.1 "$1" $vip)"
}
client() { # sends 50 echoes a second until it is stopped
    nsenter --net=/run/netns/A ping -q -n -i 0.02 -W 1 $vip >$work/client 2>&1 &
    client=$!
}
client_stop() { # WHAT MOST: how many echoes may be lost while the address is nowhere
    kill -INT $client
    wait $client || true
    local lost
    lost=$(sed -nE 's/([0-9]+) packets transmitted, ([0-9]+) received.*/\1 \2/p' $work/client | { read -r sent got _ && echo $((sent - got)); })
    [ "$lost" -le "$2" ] || fail "$1: at most $2 echoes are lost" "$(<$work/client)"
}

# ---- Pacemaker's agent ----

agent() { # HOST NIC start|stop
    on "$1" env OCF_ROOT=/usr/lib/ocf OCF_RESOURCE_INSTANCE=vip OCF_RESKEY_ip=$vip OCF_RESKEY_cidr_netmask=16 \
        OCF_RESKEY_nic="$2" OCF_RESKEY_arp_bg=false OCF_RESKEY_arp_count=1 HA_RSCTMP=/run/agent \
        /usr/lib/ocf/resource.d/heartbeat/IPaddr2 "$3" >>$work/agent 2>&1 ||
        fail "IPaddr2 $3 on $1 $2" "$(tail -20 $work/agent)"
}
mkdir -p /run/agent
agent B ib0 start
asked B ib0
client
agent B ib0 stop
agent B ib1 start
asked B ib1
agent B ib1 stop
agent C ib1 start
asked C ib1
agent C ib1 stop
agent B ib0 start
asked B ib0
client_stop "IPaddr2" 500
agent B ib0 stop
gone() { [ "$(our_rules B | wc -l)" = 4 ]; }
wait_until 10 gone
forget A

# ---- keepalived ----

keep() { # HOST PRIORITY: a VRRP instance on ib0, whose address is on ib1
    cat >"$work/keepalived.$1" <<END
global_defs {
    router_id $1
}
vrrp_instance vip {
    interface ib0
    state BACKUP
    virtual_router_id 7
    priority $2
    advert_int 0.2
    virtual_ipaddress {
        $vip/16 dev ib1
    }
}
END
    chmod 0644 "$work/keepalived.$1"
    nsenter --net="/run/netns/$1" keepalived --dont-fork --log-console --vrrp --use-file "$work/keepalived.$1" --pid "/run/keepalived.$1.pid" \
        --vrrp_pid "/run/vrrp.$1.pid" >"$work/said.$1" 2>&1 &
    kept=$!
}
keep B 200
first=$kept
asked B ib1
keep C 100
second=$kept
client
kill -TERM $first
wait $first || true
asked C ib1
keep B 200
first=$kept
asked B ib1
client_stop "keepalived" 500
kill -TERM $first $second
wait $first $second || true

told() { grep -c "added rule from $vip to table" "$work/watch.$1" || true; } # HOST: how often it came there
expect_equal "--watch routed it each time, and once" "5 2" "$(told B) $(told C)"
kill -TERM "${watches[@]}"
wait "${watches[@]}" || true
