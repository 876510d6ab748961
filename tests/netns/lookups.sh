# shellcheck shell=bash
# What the kernel's own routing says, so that two ways to the same end can be compared.

# lookups HOST: from each address, unbound, and as if it came in by each NIC, to peers, gateways, bridges and itself.
# shellcheck disable=SC2154 # of lib.sh
lookups() {
    local family
    for family in 4 6; do
        questions "$1" $family >"$work/questions"
        cat "$work/questions"
        ip -n "$1" -$family -force -batch "$work/questions" 2>&1 | sed 's/ uid [0-9]*//; s/ *$//' || true
    done
}

questions() { # HOST FAMILY
    local from to nic nics own
    local -A peers=([4]="172.16.16.1 172.16.0.254 172.16.50.7 172.17.0.5 192.0.2.1 198.51.100.1 172.16.255.255"
        [6]="fd00:34::16 fd00:99::1 2001:db8::1")
    own=$(ip -n "$1" -json -"$2" address show scope global | jq -r '.[].addr_info[].local')
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
