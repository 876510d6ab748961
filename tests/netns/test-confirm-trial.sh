#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A trial (--apply --confirm) beside what happens meanwhile: a plain --apply is part of it; a state that cannot be written is
# tried again; NICs that it was not about stay rails, and what it gave back is in nobody's way.
. "$(dirname "$0")/lib.sh"
needs_own_processes

make_hosts 2 B
know_both_states B
configured() { expect_hook "$1" B --config /etc/ib-hook/ib-hook.conf "${@:2}"; } # STATUS ARGUMENT…
event() { manager_calls B IFACE=ib1 MODE=start "$HOOKS/ifupdown"; }
nobody_waits() { ! pgrep -f -x -- "$IB_HOOK .*--apply .*" >/dev/null; }

# trial_that_changes SECONDS WHAT SAYS: a plain --apply of another configuration within a trial of so many seconds
trial_that_changes() {
    system_config '[defaults]'
    configured 0 --apply --confirm "$1"
    system_config '[defaults]
arp=strict'
    configured 0 --apply
    expect_contains "$2" "the previous state comes back in $3" "$out"
}

# Else values without the rules that they need would stay, and the NIC would be cut off.
trial_that_changes 2 "a plain --apply is part of the trial" ""
wait_until 8 is "$before"
wait_until 5 nobody_waits
expect_equal "all of it is given back" "$before" "$(state B)"
expect_hook 0 B --apply -q
expect_hook 0 B --undo -q

# A trial may take a day.
trial_that_changes 86400 "a plain --apply is part of a long trial, too" 86
expect_hook 0 B --confirm
pkill -f -x -- "$IB_HOOK .*--apply .*" # else it sleeps for a day before it sees that
wait_until 5 nobody_waits
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --undo -q

# Without its state, the next event would route these NICs again.
mkdir -p /run/ib-hook
mount -t tmpfs -o size=64k,mode=0755 tmpfs /run/ib-hook
journal_start
expect_hook 0 B --apply --confirm 1
head -c 1M /dev/zero >/run/ib-hook/junk 2>/dev/null || true
wait_until 8 is "$before"
event
rm /run/ib-hook/junk
wait_until 20 nobody_waits
expect_equal "once there is room again, it is given back for good" "$before" "$(state B)"
event
expect_equal "and hooks leave it so" "$before" "$(state B)"
umount /run/ib-hook

# An --apply after that time ends the attempts, which would take it back, too.
overdue() { [ $((${EPOCHREALTIME/[.,]/} - start)) -gt 7000000 ]; }
expect_hook 0 B --undo -q
mount -t tmpfs -o size=64k,mode=0755 tmpfs /run/ib-hook
expect_hook 0 B --apply --confirm 1 -q
start=${EPOCHREALTIME/[.,]/}
head -c 1M /dev/zero >/run/ib-hook/junk 2>/dev/null || true
wait_until 8 is "$before"
wait_until 10 overdue
on B "$IB_HOOK" --sysfs /run/sys/B --apply >$work/out 2>&1 || true # there is no room for its state
rm /run/ib-hook/junk
wait_until 20 nobody_waits
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
umount /run/ib-hook
expect_hook 0 B --apply -q

# One rail is given back; the other one is cared for, and gives neither its table nor its values away.
sysctl_set B all rp_filter 0
for nic in ib0 ib1; do sysctl_set B $nic rp_filter 1; done
system_config '[defaults]'
configured 0 --apply -q
values="$(sysctl_get B ib0 arp_ignore) $(sysctl_get B ib0 arp_filter)"
system_config '[interface ib1]
gateway=172.16.0.254'
configured 0 --apply --iface ib1 --confirm 1 -q
wait_until 8 nobody_waits
system_config '[interface ib0]
table=942'
event
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_equal "the values of the other one" "$values" "$(sysctl_get B ib0 arp_ignore) $(sysctl_get B ib0 arp_filter)"
ip -n B link set ib0 down
ip -n B link set ib0 up
event
expect_contains "and it is routed again" "dev ib0 table" \
    "$(ip -n B route get 172.16.16.1 from 172.16.34.1)"

# Whose time has long been over, since its process was killed, or tries in vain, no plain --apply is part of.
configured 0 --undo -q
configured 0 --apply --confirm 1
pid=$(pgrep -f -x -- "$IB_HOOK .*--apply .*")
kill -KILL "$pid"
wait_until 5 nobody_waits
start=${EPOCHREALTIME/[.,]/}
wait_until 10 overdue
expect_hook 2 B --confirm
expect_contains "its time is over" "nothing waits for a confirmation" "$err"
expect_hook 0 B --undo --iface ib0 --iface ib1 -q
configured 0 --apply
expect_equal "it is no part of one that was killed" "" "$(grep "comes back" <<<"$out" || true)"

# A trial is about netdevs, not names. C has two rails in each of two subnets.
new_host C
for i in 0 1; do add_nic C ib$i $i 172.16.50.$((i + 1))/16; done
for i in 2 3; do add_nic C ib$i $i 10.9.0.$i/24; done
rdma C ib0 ib1 ib2 ib3
wait_until 5 settled C
event_on() { manager_calls C IFACE="$1" MODE=start "$HOOKS/ifupdown"; } # NIC
give_back() { # at once
    kill -TERM "$(pgrep -f -x -- "$IB_HOOK .*--apply .*")"
    wait_until 5 nobody_waits
}
rules_of() { our_rules C | grep -F "from $1 " || true; } # ADDRESS
remembered() { grep "^$1 " /run/ib-hook/*.state || true; } # WHAT
nothing_remembered() { rm -rf /run/ib-hook; }
restart_driver() { # N…: with a hook for each NIC that goes or comes
    local i
    for i in "$@"; do remove_nic C "ib$i"; done
    event_on ib1
    for i in "$@"; do add_nic C "ib$i" "$i" 172.16.50.$((i + 1))/16; done
    wait_until 5 settled C
    for i in "$@"; do event_on "ib$i"; done
}

# New netdevs have what hooks gave them: rules without the values, or values without the rules, would cut them off.
nothing_remembered
system_config '[defaults]
arp=strict'
expect_hook 0 C --apply --confirm 60 -q
restart_driver 0 1
tried=$(rules_of 172.16.50.1)$(rules_of 172.16.50.2)
expect_contains "hooks have made it a rail" "from 172.16.50.2 " "$tried"
give_back
expect_equal "a new netdev stays as hooks made it" "$tried" "$(rules_of 172.16.50.1)$(rules_of 172.16.50.2)"
expect_equal "others are as they were" "" "$(rules_of 10.9.0.2)$(rules_of 10.9.0.3)"
expect_equal "and stay so" "keep ib2 keep ib3" "$(remembered keep | xargs)"
ip -n C route flush table 942
event_on ib1
expect_hook 0 C --check --iface ib0 --iface ib1
expect_hook 0 C --undo -q

# A hold is a name's: the next hook takes from the new netdev what it got in the trial.
expect_hook 0 C --apply --confirm 60 -q
restart_driver 1
tried=$(rules_of 172.16.50.2)
expect_contains "hooks have made it a rail again" "from 172.16.50.2 " "$tried"
give_back
expect_equal "until then it stays as hooks made it" "$tried" "$(rules_of 172.16.50.2)"
event_on ib1
expect_equal "held again" "hold ib0 hold ib1 hold ib2 hold ib3" "$(remembered hold | sort | xargs)"
expect_equal "nothing is left of the trial" "" "$(our_rules C)$(our_routes C)"
expect_equal "nor of its values" 0 "$(sysctl_get C ib1 arp_ignore)"

# A decision about a NIC of one subnet decides nothing about how another subnet is spread.
nothing_remembered
system_config '[defaults]
main=spread'
expect_hook 0 C --apply --confirm 60 -q
expect_contains "spread" "172.16.0.0/16" "$(ip -n C route show table 940)"
expect_hook 0 C --undo --iface ib3 -q
give_back
expect_equal "no subnet is spread" "" "$(our_rules C)$(our_routes C)"

# What is kept is the NIC, not the name that it had when the trial began.
nothing_remembered
system_config '[defaults]'
expect_hook 0 C --apply --iface ib1 --confirm 60 -q
ip -n C link set ib1 down
ip -n C link set ib1 name fab1
ip -n C link set fab1 up
rdma C ib0 fab1 ib2 ib3
wait_until 5 settled C
give_back
expect_equal "with its new name" "keep fab1" "$(remembered keep | xargs)"
event_on fab1
expect_equal "hooks leave it so" "" "$(rules_of 172.16.50.2)"

# Known again is only what is as it was before.
nothing_remembered
expect_hook 0 C --apply -q
system_config '[defaults]
arp=strict'
expect_hook 0 C --apply --confirm 60 -q
expect_hook 0 C --undo --iface fab1 -q
give_back
expect_equal "--undo has forgotten it" "ib0 ib2 ib3" "$(remembered known | cut -d ' ' -f 2 | sort | xargs)"

# Who deletes /run has confirmed nothing; --undo has ended it all, even if a package's script deletes /run just afterwards.
expect_hook 0 C --undo -q
nothing_remembered
plain=$(state C)
expect_hook 0 C --apply --confirm 60 -q
nothing_remembered
give_back
expect_equal "it is given back without /run/ib-hook" "$plain" "$(state C)"
nothing_remembered
expect_hook 0 C --apply -q
system_config '[defaults]
manage=no'
expect_hook 0 C --apply --confirm 60 -q
expect_hook 0 C --undo -q
nothing_remembered
give_back
expect_equal "what was undone stays undone" "$plain" "$(state C)"

# A trial of one NIC brings the new files into force for all; what it gives back is the configuration of before, too.
nothing_remembered
system_config '[defaults]
arp=auto'
expect_hook 0 C --apply -q
before=$(remembered config)
system_config '[defaults]
arp=strict'
expect_hook 0 C --apply --iface fab1 --confirm 60 -q
give_back
expect_equal "the configuration of before is in force again" "$before" "$(remembered config)"

# What came to another NIC, or to a NIC without an address, during the trial stays as hooks made it; what is spread does not.
expect_hook 0 C --undo -q
nothing_remembered
system_config '[defaults]
main=keep'
ip -n C address add 172.16.50.100/32 dev ib0
ip -n C address flush dev ib2 scope global
ip -n C link set ib2 down
for key in rp_filter arp_ignore arp_announce; do sysctl_set C ib2 $key 0; done
expect_hook 0 C --apply -q
system_config '[defaults]
main=spread'
expect_hook 0 C --apply --confirm 60 -q
expect_hook 0 C --apply
expect_contains "a plain --apply without changes tells of the trial" "the previous state comes back in" "$out"
expect_hook 2 C --iface ib0 --confirm
ip -n C address del 172.16.50.100/32 dev ib0
ip -n C address add 172.16.50.100/32 dev fab1
event_on fab1
ip -n C link set ib2 up
ip -n C address add 172.16.50.3/16 dev ib2
event_on ib2
tried=$(rules_of 172.16.50.100)$(rules_of 172.16.50.3)$(sysctl_get C ib2 arp_ignore)$(sysctl_get C ib2 arp_announce)
expect_contains "a virtual address moved" "lookup $(rules_of 172.16.50.2 | sed -n 's/.*lookup \(9[0-9]*\).*/\1/p' | head -n 1)" "$tried"
ip -n C link set ib0 down
give_back
expect_equal "it stays where it is, with what it needs" "$tried" \
    "$(rules_of 172.16.50.100)$(rules_of 172.16.50.3)$(sysctl_get C ib2 arp_ignore)$(sysctl_get C ib2 arp_announce)"
expect_equal "nothing is spread, though a NIC is down" "" "$(ip -n C route show table 940 2>/dev/null)$(ip -n C rule | grep 4941 || true)"
