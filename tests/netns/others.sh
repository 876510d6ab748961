# shellcheck shell=bash disable=SC2154 # of lib.sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Hosts whose own tools lead the RDMA NICs by rules and tables. B has ib0 172.16.34.1 and ib1 172.16.34.2 in 172.16.0.0/16, and
# eth0 with the default route; A has 172.16.16.1, is the router 172.16.0.254, and 172.16.50.0/24 is behind it.

make_others_wire() {
    make_wire
    new_host A
    add_nic A eth0 9 172.16.16.1/16 172.16.0.254/16 172.16.50.1/32
    ip -n A route add 10.9.0.0/24 dev eth0
    wait_until 5 settled A
    system_config "[interface ib*]
manage=yes"
    journal_start
}

begin() { # a new B, without addresses on its rails
    local n
    [ ! -e /run/netns/B ] || delete_host B
    rm -rf /run/ib-hook
    new_host B
    for n in 0 1; do add_nic B ib$n $n; done
    ip -n B -batch - <<-END
	link add eth0 type veth peer name office
	link set office up
	link set eth0 up
	address add 192.0.2.5/24 dev eth0
	route add default via 192.0.2.1 dev eth0 metric 100
	link set ib0 up
	link set ib1 up
	END
    rdma B ib0 ib1
    wait_until 5 settled B
}

# each_rail <LINES of ip: one where "%n" (1, 2) or "%i" (0, 1) stands is there for each rail
each_rail() {
    local line i
    while read -r line; do
        if [[ $line = *%[ni]* ]]; then
            for i in 0 1; do
                line_of_rail=${line//%n/$((i + 1))}
                echo "${line_of_rail//%i/$i}"
            done
        else
            echo "$line"
        fi
    done
}

# ways: "FROM TO NIC [GATEWAY]" or "FROM TO refused" from each address of B, and of what is unbound (0.0.0.0), to the peer, to
# what is behind the router, to the world and to the management network
ways() {
    local from to
    for from in "${!nic_with[@]}" 192.0.2.5 0.0.0.0; do
        for to in 172.16.16.1 172.16.50.1 198.51.100.1 192.0.2.77; do echo "$from $to"; done
    done >"$work/questions"
    sed 's/\(.*\) \(.*\)/route get \2 from \1/; s/ from 0.0.0.0//' "$work/questions" >"$work/asked"
    ip -n B -o -force -batch "$work/asked" >"$work/answers" 2>"$work/refused" || true
    awk 'FILENAME ~ /refused/ { if (/^Command failed/) { sub(/.*:/, ""); refused[$0 + 0] = 1 }; next }
        FILENAME ~ /answers/ { nic = via = ""
            for (i = 1; i < NF; i++) { if ($i == "dev") nic = $(i + 1); if ($i == "via") via = " " $(i + 1) }
            answer[++n] = nic via; next }
        { print $0, (FNR in refused) ? "refused" : answer[++m] }' "$work/refused" "$work/answers" "$work/questions" | sort
}

# right WORD…: what $plain, the ways without ib-hook, should become. Four words, for the four destinations, of the rails'
# addresses: own (its NIC, directly), router (its NIC, by the router), plain; four more for those of another subnet
right() {
    local from to way words word
    while read -r from to way; do
        words=("${@:1:4}")
        [[ $# = 4 || $from = 172.16.* ]] || words=("${@:5:4}")
        case $to in
            172.16.16.1) word=${words[0]} ;;
            172.16.50.1) word=${words[1]} ;;
            198.51.100.1) word=${words[2]} ;;
            *) word=${words[3]} ;;
        esac
        [ -n "${nic_with[$from]:-}" ] || word=plain
        case $word in
            own) way=${nic_with[$from]} ;;
            router) way="${nic_with[$from]} 172.16.0.254" ;;
        esac
        echo "$from $to $way"
    done <<<"$plain"
}

pairs() { # of ours: "ADDRESS>PREFIX" for each rule that leads an address to its table
    our_rules B | sed -nE 's/^[0-9]+: from ([^ ]+) to ([^ ]+) lookup [0-9]+ .*/\1>\2/p' | sort
}

expand() { # WORD…: a number is the pair of that rail; "-": none
    local word
    for word in "$@"; do
        case $word in
            -) ;;
            [12]) echo "172.16.34.$word>172.16.0.0/16" ;;
            *) echo "$word" ;;
        esac
    done | sort
}

an_event() {
    manager_calls B IFACE=ib0 MODE=start PHASE=post-up "$HOOKS/ifupdown"
}

pings_leave() {
    local from
    for from in "${!nic_with[@]}"; do
        on B ping -q -n -c 1 -W 2 -I "$from" 172.16.16.1 >/dev/null || fail "$form: 172.16.16.1 answers $from"
    done
}

# form NAME WAYS PAIRS <LINES of ip that a tool makes. WAYS: the words of right. PAIRS: those that have rules of ours beside it,
# the others are left to the tool. When its part goes, every pair ($every, both rails') has them; when it comes again, it is
# as before.
# shellcheck disable=SC2086 # words
form() {
    local form=$1 ours plain part nic address
    local -A nic_with=()
    ours=$(expand $3)
    begin
    each_rail >"$work/form"
    ip -n B -batch "$work/form" || fail "$form: the kernel takes it"
    while read -r _ nic _ address _; do
        [[ $nic != ib* ]] || nic_with[${address%/*}]=$nic
    done < <(ip -n B -o -4 address show)
    plain=$(ways)
    expect_hook 0 B --apply
    expect_equal "$form: where packets go" "$(right $2)" "$(ways)"
    expect_equal "$form: the pairs that are ours" "$ours" "$(pairs)"
    expect_equal "$form: each NIC is a rail" "2 2" "$(on B cat $CONF/ib0/arp_announce $CONF/ib1/arp_announce | xargs)"
    expect_hook 0 B --plan --json
    expect_equal "$form: a second run has nothing to do" false "$(json .changed)"
    if [[ $2 = own* ]]; then
        capture_echoes B ${#nic_with[@]} pings_leave
        expect_equal "$form: each echo leaves by its own NIC" \
            "$(for address in "${!nic_with[@]}"; do echo "${nic_with[$address]} $address"; done | sort)" \
            "$(awk '{ print $2, $3 }' "$work/echoes" | sort)"
    fi

    part=$(grep -E '^(rule|route) add ' "$work/form" || true)
    ip -n B -batch <(tac <<<"$part" | sed 's/ add / del /') || fail "$form: the tool takes it away"
    an_event
    expect_equal "$form: when the tool's part is gone, every pair is ours" "$(expand ${every:-1 2})" "$(pairs)"
    ip -n B -batch <(echo "$part")
    an_event
    expect_equal "$form: when it is there again, it is as before" "$ours" "$(pairs)"
}
