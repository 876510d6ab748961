#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A card that is out at boot is named by what /var keeps of it, and where it keeps nothing by the configuration.
. "$(dirname "$0")/lib.sh"
only networkd-252 ifupdown

power_off
mv "$ROOT/usr/local/lib/rdma/infiniband/mlx5_1" "$work"
UNPLUGGED=card power_on
wait_until 20 says "ib1 nic-gone"
ok "the card is out"

power_off
rm -r "$ROOT/var/lib/ib-hook"
printf '[interface ib%d]\nmanage=yes\n' 0 1 >"$ROOT/etc/ib-hook/ib-hook.conf"
UNPLUGGED=card power_on
wait_until 20 says "ib1 nic-gone"
ok "on a diskless host, too, whose configuration names it"

power_off
mv "$work/mlx5_1" "$ROOT/usr/local/lib/rdma/infiniband/"
mkdir -p "$ROOT/var/lib/ib-hook" # tmpfiles.d may have made it already
rm "$ROOT/etc/ib-hook/ib-hook.conf"
power_on
settle "$RAILS" 30
