#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ../managers/boot runs beside a system, for test-units.sh: the units write the metrics, once they are enabled as README.md says.
. "$(dirname "$0")/../managers/lib.sh"
fleet=/usr/share/ib-hook/fleet
textfiles=$ROOT/var/lib/prometheus/node-exporter
mkdir -p "$textfiles"
prom=/var/lib/prometheus/node-exporter/ib-hook.prom

# The exporter's directory is another user's: what he plants there leads nobody to a file of root's.
host chown -R nobody /var/lib/prometheus
echo secret >"$ROOT/root/secret" && chmod 0600 "$ROOT/root/secret"
for name in ib-hook.prom.new new ib-hook.prom.tmp ib-hook-expected.prom; do
    host setpriv --reuid=nobody --clear-groups ln -s /root/secret "/var/lib/prometheus/node-exporter/$name"
done

expect_contains "what somebody finds who may lock 64 KiB" 'code="memlock-low"' \
    "$(host prlimit --memlock=65536:65536 ib-hook --check --prometheus)"
without_memlock() {
    grep -v memlock-low
}

host install -m 0644 $fleet/ib-hook-prometheus.service $fleet/ib-hook-prometheus.timer /etc/systemd/system
host systemctl --quiet enable --now ib-hook-prometheus.timer
host ln -s /var/lib/ib-hook-prometheus/ib-hook.prom /var/lib/prometheus/node-exporter
wait_until 75 host test -s "$prom"
host sh -c "$(sed -n 's/^    \(echo ib_hook_rails_expected .*\)/\1/p' "$ROOT$fleet/README.md")"
ok "the timer starts the service"
expect_differs "and will again" "" "$(host systemctl show --value --property NextElapseUSecRealtime ib-hook-prometheus.timer)"
expect_equal "what it writes" "$(host ib-hook --check --prometheus | without_memlock)" "$(host cat "$prom" | without_memlock)"
expect_contains "both rails" "ib_hook_rails 2" "$(host cat "$prom")"
expect_equal "its own limit would be nobody's" infinity "$(host systemctl show --value --property LimitMEMLOCK ib-hook-prometheus.service)"
if host prlimit --memlock=unlimited true 2>/dev/null; then # not in every container
    expect_lacks "so none is found" memlock-low "$(host cat "$prom")"
fi
expect_equal "whoever collects can read it" 644 "$(host stat -Lc %a "$prom")"

# Without its rule, a rail's traffic leaves through the NIC of main's first route: only for the other rail is that an error.
case $(ip -n B -json route show 172.16.0.0/16 | jq -r '.[0].dev') in
    ib0) rail=ib1 table=942 ;;
    *) rail=ib0 table=941 ;;
esac
ip -n B rule del priority 1941 lookup $table
host systemctl start ib-hook-prometheus.service
expect_contains "a finding is no failure" 'ib_hook_findings{code="rule-missing",device="'$rail'",severity="error"} 1' "$(host cat "$prom")"
before=$(host cat "$prom")
echo nonsense >>"$ROOT/etc/ib-hook/ib-hook.conf"
! host systemctl start ib-hook-prometheus.service 2>/dev/null || fail "the service fails where --check fails"
expect_equal "the old file stays" "$before" "$(host cat "$prom")"
expect_equal "no link of another user's was followed" secret "$(<"$ROOT/root/secret")"
expect_equal "nor anything else written there" ib-hook.prom "$(host find /var/lib/prometheus/node-exporter -user root -printf '%f\n' | grep -v '^node-exporter$')"
