#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cloud-init at a node's first boot, with the data source NoCloud: it configures both NICs by netplan, and installs the package
# when they are up already. The rails are there when cloud-init is done, and after a reboot.
. "$(dirname "$0")/lib.sh"
only netplan

power_off
rm "$ROOT/etc/cloud/cloud-init.disabled" "$ROOT"/etc/netplan/*
mkdir -p "$ROOT/var/lib/cloud/seed/nocloud"
cd "$ROOT/var/lib/cloud/seed/nocloud"
echo 'datasource_list: [NoCloud]' >"$ROOT/etc/cloud/cloud.cfg.d/90-seed.cfg"
echo 'instance-id: node1' >meta-data
cat >user-data <<'U'
#cloud-config
runcmd:
  - apt-get install -y /root/ib-hook.deb
U
cat >network-config <<'N'
version: 2
ethernets:
  eth0: {accept-ra: false, addresses: [10.9.0.34/24]}
  ib0: {accept-ra: false, addresses: [172.16.34.1/16]}
  ib1: {accept-ra: false, addresses: [172.16.34.2/16]}
N
cd /
power_on
is_done() { [ -e "/proc/$(<$work/leader)/root/run/cloud-init/result.json" ]; }
wait_until 45 is_done
expect_rails_right "when cloud-init is done"

power_off
power_on
wait_until 20 ready
expect_rails_right "after a reboot"
