#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# systemd-networkd 252 takes every address away when it restarts: a hook that runs in between leaves the rules. What
# was taken down on purpose goes, with what --undo left alone left alone.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
up() { manager_calls B "$HOOKS/nm-dispatcher" "${1:-ib1}" up; }
up
applied=$(state B | tidy)

# In the gap.
ip -n B address del 172.16.34.2/16 dev ib1
from=$(($(journal_lines) + 1))
up ib0
expect_equal "its rule stands" "$(own_rule 172.16.34.1 941)
$(own_rule 172.16.34.2 942)" "$(own_rules B)"
expect_sysctls B ib1 arp_ignore=1 arp_announce=2
expect_equal "silence" "" "$(journal "$from")"
ip -n B address add 172.16.34.2/16 dev ib1
up
expect_equal "back as it was" "$applied" "$(state B | tidy)"

# The last address of both at once.
ip -n B address del 172.16.34.1/16 dev ib0
ip -n B address del 172.16.34.2/16 dev ib1
up
expect_equal "both rules stay" 2 "$(own_rules B | wc -l)"
ip -n B address add 172.16.34.1/16 dev ib0
ip -n B address add 172.16.34.2/16 dev ib1
up
expect_equal "back as it was" "$applied" "$(state B | tidy)"

# Renumbered: the old address will not come back.
ip -n B address del 172.16.34.2/16 dev ib1
ip -n B address add 172.16.34.7/16 dev ib1
up
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.7
ip -n B address del 172.16.34.7/16 dev ib1
ip -n B address add 172.16.34.2/16 dev ib1
up

# Taken down on purpose.
ip -n B address del 172.16.34.2/16 dev ib1
manager_calls B "$HOOKS/nm-dispatcher" ib1 down
expect_rules B "$(rule_line 172.16.34.1 941)"
expect_sysctls B ib1 arp_announce=0 arp_ignore=1 # it does not answer for the rails
ip -n B address add 172.16.34.2/16 dev ib1
up
expect_equal "back as it was" "$applied" "$(state B | tidy)"

# A NIC that is gone.
remove_nic B ib1
up ib0
expect_rules B "$(rule_line 172.16.34.1 941)"
add_nic B ib1 1 172.16.34.2/16
wait_until 5 settled B
up
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

# Held.
expect_hook 0 B --undo --iface ib1
up
expect_rules B "$(rule_line 172.16.34.1 941)"
manager_calls B "$HOOKS/boot"
expect_rules B "$(rule_line 172.16.34.1 941)"
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

# A bad configuration: standing rails stay, new ones stay unrouted, and it is said where.
system_config '[defaults]
arp=loud'
ip -n B address add 172.16.34.3/16 dev ib1
from=$(($(journal_lines) + 1))
up
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_contains "the file and the line are named" "4 /etc/ib-hook/ib-hook.conf:2: " "$(journal "$from")"
expect_equal "in one line" 1 "$(journal "$from" | wc -l)"

# A rail without addresses, where the administrator has a strict rp_filter: hooks of other NICs leave its values alone, and say
# nothing, however many come.
rm -rf /etc/ib-hook
RP_FILTER=1 new_host C
for n in 0 1 2; do add_nic C ib$n $n 172.16.50.$((n + 1))/16; done
rdma C ib0 ib1 ib2
wait_until 5 settled C
manager_calls C "$HOOKS/nm-dispatcher" ib0 up
ip -n C address flush dev ib2
values() { on C sh -c "cd $CONF/ib2 && grep . rp_filter arp_ignore arp_announce arp_filter"; }
before=$(values)
from=$(($(journal_lines) + 1))
for _ in 1 2 3; do manager_calls C "$HOOKS/nm-dispatcher" ib0 up; done
expect_equal "three hooks: silence" "" "$(journal "$from")"
expect_equal "its values stay" "$before" "$(values)"
