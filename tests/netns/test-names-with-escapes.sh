#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel lets a name hold escape sequences of terminals, and characters that turn text around. None of them gets to a
# terminal, from a name or from a file.
. "$(dirname "$0")/lib.sh"
needs iconv

names=($'\e[2J\e[31mib' $'c1\xc2\x9b2Jib' $'raw\x9b2Jib' $'bi\xe2\x80\xaedi' $'is\xe2\x81\xa6o' $'bel\a\b\x7f' $'si\x0e\x01')
make_hosts ${#names[@]} B
name_nics B "${names[@]}"
mv /run/sys/B/class/infiniband/mlx5_0 $'/run/sys/B/class/infiniband/mlx\e]0;x\a'

# Bytes below a blank but the newline, DEL, C1 controls in UTF-8, marks and overrides of direction, and what is no UTF-8.
harmful() { # FILE…, or standard input
    [ $# != 0 ] || { cat >$work/harmful && set -- $work/harmful; }
    cat "$@" | iconv -f UTF-8 -t UTF-8 >/dev/null 2>&1 || echo "no UTF-8"
    grep -aoP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]' "$@" | cat -v || true
}

# clean STATUS ARGUMENT…
clean() {
    local status=0
    hook B "${@:2}" >$work/out 2>$work/err </dev/null || status=$?
    expect_equal "$(printf '%q ' "${@:2}"): exit status" "$1" $status
    expect_equal "$(printf '%q ' "${@:2}"): what could harm a terminal" "" "$(harmful $work/out $work/err)"
}

for name in "${names[@]}"; do
    echo "$name" >$work/name
    expect_differs "$(printf %q "$name") could harm" "" "$(harmful $work/name)"
done

before=$(state B)
clean 0 --plan
clean 0 --show --verbose
clean 1 --check --verbose
clean 1 --check --prometheus
clean 0 --apply --verbose
expect_equal "all are rails" ${#names[@]} "$(own_rules B | wc -l)"
clean 0 --check
clean 0 --undo --verbose
expect_equal "the state after --undo" "$before" "$(state B)"
clean 1 --check
clean 0 --show

for name in "${names[@]}"; do
    clean 1 --check --iface "$name"
    clean 2 --check --iface "${name}X"
    clean 2 "--$name"
    clean 2 --config "$work/$name" --check
    clean 2 --config "$(config "[interface ib$name]
$name=1")" --apply
    clean 2 --config "$(config "[defaults]
arp=$name")" --apply
done

# Something that fails names the NIC.
ip -n B address add 10.1.0.2/24 dev "${names[0]}"
ip -n B route del local 10.1.0.2 dev "${names[0]}" table local
clean 3 --apply
expect_contains "it says what failed" "10.1.0.0/24" "$(<$work/err)"

# Hooks, and --watch, in the journal: there the names are the same for journalctl, a pager, a terminal.
said() { journal 1 | tee $work/said | harmful; }
journal_start
ip -n B address del 10.1.0.2/24 dev "${names[0]}"
hook B --apply >/dev/null 2>&1 # lifts the hold
for ((i = 0; i < ${#names[@]}; i++)); do ip -n B route flush table $((941 + i)); done
manager_calls B IFACE="${names[0]}" MODE=start CONNECTION_ID="${names[1]}" "$HOOKS/ifupdown"
for name in $'ib0\nMESSAGE=x' ib0%n 'a/b' .. . "${names[0]}X" ''; do
    manager_calls B "IFACE=$name" MODE=stop "$HOOKS/ifupdown"
    manager_calls B "$HOOKS/nm-dispatcher" "$name" down
done
all_named() { [ "$(journal 1 | grep -c "added route.*(ifupdown: ")" = ${#names[@]} ]; }
wait_until 5 all_named
ok "the journal names each NIC"
expect_equal "what could harm who reads it" "" "$(said)"

# Who deletes a rule may have any name, too.
evil=$'/run/test/\e[2J%n\n'
cp "$(command -v ip)" "$evil"
watch_start B
mkfifo $work/orders
"$evil" -n B -force -batch $work/orders >/dev/null 2>&1 &
exec {orders}>$work/orders
named() { [[ $(journal 1) == *"another program keeps undoing"*"perhaps "*"[2J%n"*" ("[1-9]*"):"* ]]; }
named_at_last() {
    echo "rule del from 172.16.34.2" >&$orders
    named
}
wait_until 20 named_at_last
ok "who it was is said"
exec {orders}>&-
watch_stop
expect_equal "without what could harm" "" "$(said)"

# Names of connections, as a manager's state file has them.
mkdir -p /run/sys/run/systemd/netif/links
for ((i = 0; i < ${#names[@]}; i++)); do
    printf 'ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/%s%%n.network\n' "${names[i]}" \
        >"/run/sys/run/systemd/netif/links/$(on B cat "/sys/class/net/ib$i/ifindex" 2>/dev/null || ip -n B -o link show dev "${names[i]}" | cut -d: -f1)"
done
clean 0 --show --verbose
expect_contains "connections are shown" "%n.network" "$(<$work/out)"
hook B --show --json >$work/out
expect_equal "and in JSON, which is valid" ${#names[@]} "$(jq '[.. | .connection? | select(. != null and endswith("%n.network"))] | length' $work/out)"
expect_equal "without control characters" "" "$(LC_ALL=C grep -aoP '[\x00-\x09\x0b-\x1f\x7f]' $work/out | cat -v || true)"

# JSON has the true names.
unset 'names[2]' # but for what is no UTF-8
hook B --show --json >$work/out
for name in "${names[@]}"; do
    expect_equal "--json has $(printf %q "$name")" 1 \
        "$(jq --arg name "$name" '[.rails[], .others[] | select(.iface == $name)] | length' $work/out)"
done
