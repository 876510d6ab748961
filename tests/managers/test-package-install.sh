#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The first installation on a running system: the NICs that are up are routed, while traffic flows; nothing is lost of what
# worked, and the next events find the hooks.
. "$(dirname "$0")/lib.sh"
only nm-1.42 networkd-252 ifupdown

traffic_from_peer
host dpkg -i /root/ib-hook.deb
settle "$RAILS"
traffic_stop
serve_no_more
expect_no_loss "while the package was installed"
expect_rails_right "after the installation"
expect_equal "its service did what it may" success "$(host systemctl show --value --property Result ib-hook.service)"
expect_equal "and waits for no file system that may come from the network" "" \
    "$(host systemctl show --value --property RequiresMountsFor ib-hook.service | xargs -n 1 | grep -v ^/run || true)"
expect_equal "other people's rules and routes" "$(<"$RESULTS/../foreign.$SYSTEM")" "$(foreign_routing)"

printf '[interface ib1]\nmanage=no\n' >$ROOT/etc/ib-hook/ib-hook.conf
event host systemctl reload ib-hook-watch
settle "ib0:941:172.16.34.1"
ok "a reload puts a configuration into force"
rm $ROOT/etc/ib-hook/ib-hook.conf
event host systemctl reload ib-hook-watch
expect_repaired "and its end" "$RAILS"

host systemctl stop ib-hook-watch
happens down ib1
settle "ib0:941:172.16.34.1"
ok "a hook was called when ib1 went down"
event up ib1
expect_repaired "and when it came up" "$RAILS"
