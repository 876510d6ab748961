#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A first installation routes the NICs that are up; but if one that would become a rail has no carrier, its address may
# be somebody's session, answered by another NIC: nothing is changed then, and all are held.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
ip -n wire link set B.1 down # ib1 has no carrier
wait_until 5 sh -c "! ip -n B link show ib1 | grep -q LOWER_UP"
before=$(state B | tidy)
expect_hook 0 B --apply --install
expect_contains "it says which" "ib1 would become a rail, but has no carrier" "$err"
expect_contains "and how to go on" "ib-hook --apply" "$err"
expect_equal "nothing was changed" "$before" "$(state B | tidy)"
manager_calls B "$HOOKS/boot"
expect_equal "and no hook changes anything" "$before" "$(state B | tidy)"
expect_hook 1 B --check --iface ib0
expect_contains "--check says that it is held" held "$out"
expect_hook 0 B --apply
expect_equal "until --apply" 2 "$(own_rules B | wc -l)"
expect_hook 0 B --undo
rm -rf /run/ib-hook

ip -n wire link set B.1 up
wait_until 5 settled B
expect_hook 0 B --apply --install
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
