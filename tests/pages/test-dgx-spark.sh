#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/dgx-spark.md: two hosts, each with a port that shows as two RoCE NICs on one wire. The page's commands print what
# stands there, for link-local addresses; addresses of NVIDIA's other files make rails, too, or need manage=yes.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"
page=$top/packaging/doc/dgx-spark.md
make_wire

# spark HOST ADDRESS…: of both NICs of its second port, and of its first one; devices have the names and GIDs that the card gives
spark() {
    local host=$1 sys=/run/sys/$1/class/infiniband n=0 nics=() nic device ports a b c d i
    local names=(enp1s0f1np1 enP2p1s0f1np1 enp1s0f0np0 enP2p1s0f0np0)
    [ ! -e "/run/netns/$host" ] || delete_host "$host"
    rm -rf /run/ib-hook /var/lib/ib-hook/rails
    new_host "$host"
    shift
    for address; do
        add_nic "$host" "${names[n]}" $n "$address"
        nics+=("${names[n]}")
        n=$((n + 1))
    done
    rdma "$host" "${nics[@]}"
    n=0
    for address; do
        nic=${nics[n]} device=roce${nics[n]#en}
        device=${device%np?} ports=$sys/$device/ports/1
        mv "$sys/mlx5_$n" "$sys/$device"
        IFS=./ read -r a b c d _ <<<"$address"
        for i in 0 1 2 3; do # link-local, then of the IPv4 address; RoCE v1, then v2
            [ $i -lt 2 ] && cat "$ports/gids/0" >"$ports/gids/$i.new" ||
                printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' "$a" "$b" "$c" "$d" >"$ports/gids/$i.new"
            mv "$ports/gids/$i.new" "$ports/gids/$i"
            echo "RoCE v$((1 + i % 2))" >"$ports/gid_attrs/types/$i"
            echo "$nic" >"$ports/gid_attrs/ndevs/$i"
        done
        n=$((n + 1))
    done
    wait_until 5 settled "$host"
}

# ---- link-local: the page's own commands ----
spark A 169.254.35.62/16 169.254.217.8/16
spark B 169.254.96.5/16 169.254.142.77/16
for host in A B; do
    mkdir -p "$work/bin.$host"
    printf '#!/bin/sh\nexec "%s" "$@" --sysfs /run/sys/%s\n' "$IB_HOOK" $host >"$work/bin.$host/ib-hook"
    chmod 0755 "$work/bin.$host/ib-hook"
done
on_page() { # HOST COMMAND
    local host
    case $1 in
        spark1) host=A ;;
        spark2) host=B ;;
        *) echo "the page names another host: $1" && return ;;
    esac
    cd "$work" && PATH="$work/bin.$host:$PATH" on $host bash -c "$2"
}
expect_equal "without rules, both NICs answer for the second one" "enP2p1s0f1np1 enp1s0f1np1" \
    "$(arp_answers A enp1s0f1np1 169.254.35.62 B 169.254.142.77 | tr ' ' '\n' | LC_ALL=C sort | xargs)"
tell_story "$page" "in namespaces" on_page
expect_at_least "commands that ran here" 7 $told

# ---- DHCP, and the example for three Sparks: one /24 for both NICs of a port ----
spark B 100.100.100.4/24 100.100.100.5/24
expect_hook 0 B --apply
expect_contains "DHCP from one /24" "ok: 2 rails" "$(hook B --check)"
spark B 192.168.1.1/24 192.168.1.2/24 192.168.0.1/24 192.168.0.2/24
expect_hook 0 B --apply
expect_contains "a /24 for each port" "ok: 4 rails" "$(hook B --check)"

# ---- one NIC of each port has a link-local address: two cables are two wires in one subnet ----
ip -n wire link add br1 type bridge forward_delay 0 mcast_snooping 0
ip -n wire link set br1 up
spark A 169.254.35.62/16 169.254.217.8/16
spark B 169.254.96.5/16 169.254.142.77/16
for host in A B; do
    ip -n wire link set $host.1 master br1
    expect_hook 0 $host --apply
    expect_hook 0 $host --check
done
hook A --probe 169.254.96.5 169.254.142.77 --count 1 --json >$work/out || true
out=$(<$work/out)
expect_equal "NICs of one wire reach each other" "enP2p1s0f1np1 169.254.142.77 enp1s0f1np1 169.254.96.5" \
    "$(json '[.pairs[] | select(.received == .sent) | "\(.iface) \(.peer)"] | sort | join(" ")')"
expect_contains "and --probe says that there are two" separate-wires "$(json '.findings[].code')"

# ---- two subnets ----
spark A 192.168.100.1/24 192.168.101.1/24
spark B 192.168.100.2/24 192.168.101.2/24
page_file "$page" "ested (two subnets" >$work/ib-hook.conf
asked() { arp_answers A enP2p1s0f1np1 192.168.101.1 B 192.168.101.2 | wc -w; }
expect_contains "two subnets make no rails" "no rails" "$(hook B --check)"
expect_equal "and both NICs answer" 2 "$(asked)"
expect_hook 0 B --apply --config $work/ib-hook.conf
expect_contains "manage=yes makes rails" "ok: 2 rails" "$(hook B --check --config $work/ib-hook.conf)"
expect_equal "and one NIC answers" 1 "$(asked)"
