#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ../managers/boot runs beside a system, for test-units.sh: the units write the metrics, once they are enabled as README.md says.
. "$(dirname "$0")/../managers/lib.sh"
fleet=/usr/share/ib-hook/fleet
mkdir -p "$ROOT/var/lib/prometheus/node-exporter"
prom=$ROOT/var/lib/prometheus/node-exporter/ib-hook.prom

# RDMA ports: without them nobody judges how much memory may be locked.
rdma B ib0 ib1
host sh -c 'mkdir -p /run/class/files /run/class/work
    mount -t overlay overlay -o lowerdir=/sys/class,upperdir=/run/class/files,workdir=/run/class/work /sys/class'
tar -C /run/sys/B/class -c infiniband | host tar -C /sys/class -x
expect_contains "what somebody finds who may lock 64 KiB" 'code="memlock-low"' \
    "$(host prlimit --memlock=65536:65536 ib-hook --check --format prometheus)"
without_memlock() {
    grep -v memlock-low
}

host install -m 0644 $fleet/ib-hook-prometheus.service $fleet/ib-hook-prometheus.timer /etc/systemd/system
host systemctl --quiet enable --now ib-hook-prometheus.timer
wait_until 75 test -s "$prom"
ok "the timer starts the service"
expect_differs "and will again" "" "$(host systemctl show --value --property NextElapseUSecRealtime ib-hook-prometheus.timer)"
expect_equal "what it writes" "$(host ib-hook --check --format prometheus | without_memlock)" "$(without_memlock <"$prom")"
expect_contains "both rails" "ib_hook_rails 2" "$(<"$prom")"
expect_equal "its own limit would be nobody's" infinity "$(host systemctl show --value --property LimitMEMLOCK ib-hook-prometheus.service)"
if host prlimit --memlock=unlimited true 2>/dev/null; then # not in every container
    expect_lacks "so none is found" memlock-low "$(<"$prom")"
fi
expect_equal "whoever collects can read it" 644 "$(stat -c %a "$prom")"

ip -n B rule del priority 1941 lookup 942
host systemctl start ib-hook-prometheus.service
expect_contains "a finding is no failure" 'ib_hook_findings{code="rule-missing",device="ib1",severity="error"} 1' "$(<"$prom")"
before=$(<"$prom")
echo nonsense >>"$ROOT/etc/ib-hook/ib-hook.conf"
! host systemctl start ib-hook-prometheus.service 2>/dev/null || fail "the service fails where --check fails"
expect_equal "the old file stays" "$before" "$(<"$prom")"
