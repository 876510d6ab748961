#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each hook, called as its network manager calls it: what it does, that it says one line per interface that changed, and
# that nothing in its arguments or environment does harm.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
state_before=$(state B | tidy)
MANAGER=(PATH=/usr/bin)

gone() { # takes back what the hook did, and the hold that this leaves
    expect_hook 0 B --undo
    rm -rf /run/ib-hook
    expect_equal "as before" "$state_before" "$(state B | tidy)"
}

lost_carrier() { # HOST NIC
    [ "$(on "$1" cat "/sys/class/net/$2/carrier" 2>/dev/null)" = 0 ] || [[ $(ip -n "$1" link show dev "$2") == *NO-CARRIER* ]]
}

called() { # NAME CAUSE ENVIRONMENT-AND-PROGRAM…: routes both rails, with a line for each that has the cause, then is silent
    local from
    from=$(($(journal_lines) + 1))
    manager_calls B "${MANAGER[@]}" "${@:3}"
    expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    expect_equal "$1: one line per interface" "\
6 ib0: added route 172.16.0.0/16 in table 941; added rule from 172.16.34.1 to table 941; set arp_announce=2; set arp_ignore=1; announced 172.16.34.1 ($2)
6 ib1: added route 172.16.0.0/16 in table 942; added rule from 172.16.34.2 to table 942; set arp_announce=2; set arp_ignore=1; announced 172.16.34.2 ($2)" \
        "$(journal "$from")"
    from=$(($(journal_lines) + 1))
    manager_calls B "${MANAGER[@]}" "${@:3}"
    expect_equal "$1: silence when nothing changed" "" "$(journal "$from")"
}

called NetworkManager "NetworkManager: ib1 up" "$HOOKS/nm-dispatcher" ib1 up
gone
called "NetworkManager, before it is announced" "NetworkManager: ib1 pre-up" "$HOOKS/nm-dispatcher" ib1 pre-up
gone
called networkd-dispatcher "networkd-dispatcher: ib1 routable" IFACE=ib1 OperationalState=routable AdministrativeState=configured "$HOOKS/networkd-dispatcher"
gone
called ifupdown "ifupdown: ib1 start" IFACE=ib1 MODE=start PHASE=post-up "$HOOKS/ifupdown"
gone
called "ifupdown, all" "ifupdown: --all start" IFACE=--all MODE=start "$HOOKS/ifupdown"
gone
ln -s "$HOOKS/rhel-ifcfg" $work/ifup-local
ln -s "$HOOKS/rhel-ifcfg" $work/ifdown-local
called network-scripts "network-scripts: ib1 up" $work/ifup-local ib1
gone
called boot ib-hook.service "$HOOKS/boot"
gone

# What ib-hook.service could not do is what systemd shows of it.
boots() { # WHAT STATUS LINES [COMMAND…]: of the journal; a command that runs it
    local status=0 from
    from=$(($(journal_lines) + 1))
    with_sys B env -i "${MANAGER[@]}" "${@:4}" "$HOOKS/boot" </dev/null >$work/out 2>&1 || status=$?
    expect_equal "ib-hook.service, $1: exit status" "$2" $status
    expect_equal "the journal says why" "$3" "$(journal "$from" | sed 's/ (ip .*//')"
    expect_equal "nothing is changed" "$state_before" "$(state B | tidy)"
}
system_config $'[defaults]\narp=loud'
boots "a configuration that is refused" 2 "\
4 /etc/ib-hook/ib-hook.conf:2: arp=loud: not allowed; use auto, strict or keep
3 ib-hook.service routed no NIC, because the configuration is refused: correct it, then run: sudo systemctl start ib-hook.service"
rm /etc/ib-hook/ib-hook.conf
refusal="route-add failed: Operation not permitted"
refusal="4 ib0: $refusal"$'\n'"4 ib1: $refusal"
# In a user namespace, such a process may not open the sysctls, either.
[ "$rooted" = yes ] || refusal="4 ib-hook cannot act: root may not open $CONF/all/arp_ignore here; a security module or a container forbids it"
boots "a kernel that refuses" 3 "$refusal" setpriv --bounding-set=-net_admin --inh-caps=-net_admin

# Commands: the same lines, unless nothing changed, with who ran them.
expect_said() { # WHAT ADDED-OR-REMOVED CAUSE: in the journal, for each rail, and nothing else
    expect_equal "$1: the changes of each rail, and who made them" "ib0 ib1" \
        "$(journal "$from" | sed -n "s|^6 \(ib.\): .*$2 rule from .* ($3)\$|\1|p" | xargs)"
    expect_equal "$1: nothing else" "" "$(journal "$from" | grep -v "^6 ib.: .*$2 rule from " || true)"
    from=$(($(journal_lines) + 1))
}
unset SUDO_USER
login=$(cat /proc/self/loginuid 2>/dev/null || echo 4294967295)
login=${login/#4294967295/}
login=${login:+, loginuid=$login}
from=$(($(journal_lines) + 1))
for n in 1 2; do expect_hook 0 B --apply; done
expect_said --apply added "--apply$login"
SUDO_USER=alice expect_hook 0 B --undo
expect_said "--undo by sudo" removed "--undo, SUDO_USER=alice$login"
expect_hook 0 B --apply --confirm 60
expect_hook 0 B --confirm
expect_equal "--confirm is said" "6 the change stays: --confirm$login" "$(journal "$from" | tail -n 1)"
expect_hook 0 B --undo
if command -v script >/dev/null; then
    from=$(($(journal_lines) + 1))
    script -q -e -c "nsenter --net=/run/netns/B $IB_HOOK --sysfs /run/sys/B --apply" /dev/null </dev/null >/dev/null
    expect_said "at a terminal" added "--apply$login, tty=/dev/[^ ]*"
    expect_hook 0 B --undo
fi
from=$(($(journal_lines) + 1))
expect_hook 0 B --apply --confirm 1
given_back() { [[ $(journal "$from") == *"4 not confirmed in time: "* ]]; }
wait_until 10 given_back
expect_contains "not confirmed: what went with it" "(--apply was not confirmed" "$(journal "$from")"

# A link that is lost is said to be; a NIC that is gone has its name.
expect_hook 0 B --apply
from=$(($(journal_lines) + 1))
ip -n B address flush dev ib1
ip -n wire link set B.1 down
wait_until 5 lost_carrier B ib1
manager_calls B "${MANAGER[@]}" "$HOOKS/nm-dispatcher" ib1 down
expect_contains "why they went" "6 ib1 has no carrier: " "$(journal "$from")"
ip -n wire link set B.1 up
wait_until 5 eval '! lost_carrier B ib1'
ip -n B address add 172.16.34.2/16 dev ib1
expect_hook 0 B --apply
from=$(($(journal_lines) + 1))
ip -n B link del ib1
rm -r /run/sys/B/class/infiniband/mlx5_1
manager_calls B "${MANAGER[@]}" "$HOOKS/nm-dispatcher" ib1 down
expect_contains "a NIC that is gone has its name" "6 ib1 is gone: " "$(journal "$from")"
add_nic B ib1 1 172.16.34.2/16
rdma B ib0 ib1
gone

# What is no event for us.
from=$(($(journal_lines) + 1))
for event in "none|hostname" "|connectivity-change" "ib1|pre-down" "ib1|vpn-up" "ib1|ib1" "ib1" ""; do
    IFS='|' read -ra words <<<"$event"
    manager_calls B "${MANAGER[@]}" "$HOOKS/nm-dispatcher" "${words[@]}"
done
expect_equal "nothing happened" "$state_before" "$(state B | tidy)"
expect_equal "and nothing was said" "" "$(journal "$from")"

# Whatever the name is, the hook looks at what is there.
long=$(head -c 100000 /dev/zero | tr '\0' x)
# shellcheck disable=SC2016 # a name, not a command
for name in ib0:1 gone0 ../../etc/passwd '$(reboot)' "$long" "" %n%n%n; do
    manager_calls B "HUGE=$long" "IFACE=$name" MODE=stop "$HOOKS/ifupdown"
    expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    gone
done

# Without a journal: standard error, for whoever called.
rm /run/systemd/journal/socket
if [ ! -e /dev/log ]; then
    output=$(with_sys B "$HOOKS/nm-dispatcher" ib1 up 2>&1)
    expect_contains "standard error without a journal" "ib-hook: ib1: added route 172.16.0.0/16 in table 942" "$output"
fi
