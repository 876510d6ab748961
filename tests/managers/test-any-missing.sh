#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A cable that is out: pulled at run time, and at the next boot still. --check names the NIC and the cause whether its manager
# takes the address away or leaves it, and --watch says it in the journal; then it comes back.
. "$(dirname "$0")/lib.sh"

begun() { host journalctl -b -t ib-hook -o cat | grep -c "ib1 (mlx5_1/1) lost its link" >/dev/null; }

carrier ib1 off
wait_until 10 sees_no_carrier
wait_until 20 says "ib1 carrier-down"
ok "pulled: --check names the NIC and the cause"
[ "$MODE" != watch ] || { wait_until 30 begun && ok "the journal says it"; }

power_off
UNPLUGGED=cable power_on
wait_until 20 says "ib1 carrier-down"
ok "after a boot without it, too"
[ "$MODE" != watch ] || { wait_until 30 begun && ok "the journal says it"; } # without it when the wait for the network ends

carrier ib1 on
settle "$RAILS" 30
wait_until 10 says ""
ok "it is back"
