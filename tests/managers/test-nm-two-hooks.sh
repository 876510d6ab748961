#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# NetworkManager of Debian 12 runs ifupdown's directories, too: two of our hooks for one event, one line in the journal.
. "$(dirname "$0")/lib.sh"
only nm-1.42

# shellcheck disable=SC2016 # for the inner shell
printf '#!/bin/sh\n[ "$IFACE" != ib1 ] || echo "$METHOD" >>/run/if-up.d\n' >$ROOT/etc/network/if-up.d/witness
chmod 0755 $ROOT/etc/network/if-up.d/witness
happens down ib1
settle "ib0:941:172.16.34.1"
remember_journal
event up ib1
expect_repaired "ib1 is up" "$RAILS"
wait_until 5 test -s "/proc/$(<$work/leader)/root/run/if-up.d"
ok "if-up.d was run, too"
expect_equal "lines in the journal" 1 "$(own_journal | wc -l)"
rm $ROOT/etc/network/if-up.d/witness
