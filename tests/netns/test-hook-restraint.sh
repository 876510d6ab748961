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
