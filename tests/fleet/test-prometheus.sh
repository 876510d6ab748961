#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ib-hook's metrics on their whole way: --check, the unit that writes the file, Prometheus' node exporter, Prometheus, the
# and the alerts, all of them the real ones.
. "$(dirname "$0")/lib.sh"

needs curl
export PATH="$PATH:$UNPACKED/usr/bin"
command -v promtool >/dev/null || skip "there is no promtool: run make check-fleet"

# ---- what is written ---------------------------------------------------------------------------------

lint() { # WHAT: of the last output
    local said
    said=$(promtool check metrics <<<"$out" 2>&1) || fail "$1: promtool check metrics" "$said
$out"
    expect_equal "$1: promtool check metrics" "" "$said"
}
value() { # SERIES: of the last output
    awk -v series="$1" 'index($0, series " ") == 1 { print $NF }' <<<"$out"
}

make_hosts 2 B
expect_hook 1 B --check --prometheus
lint "rails that are not yet routed"
expect_equal "the host is not ok" 0 "$(value ib_hook_check_ok)"
expect_at_least "what is missing is counted" 1 "$(value 'ib_hook_findings{code="rule-missing",device="ib1",severity="error"}')"
expect_hook 0 B --apply
expect_hook 0 B --check --prometheus
lint "rails that are right"
expect_equal "the host is ok, and its rails are" "1 2 1 1" \
    "$(value ib_hook_check_ok) $(value ib_hook_rails) $(value 'ib_hook_rail_ok{device="ib0"}') $(value 'ib_hook_rail_ok{device="ib1"}')"
written=$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' <<<"$out" | sort)
expect_equal "all are gauges with a help" "$written" "$(sed -n 's/^# HELP \([^ ]*\) .*/\1/p' <<<"$out" | sort)"
expect_equal "ib-hook(8) has them all, and no other" "$written" \
    "$(grep -o '^ib_hook_[a-z_]*' "$top/packaging/man/ib-hook.8" | grep -v ib_hook_probe_ | sort)"
expect_hook 2 B --check --prometheus --config /nowhere
expect_equal "an error is no metric" "" "$out"

# ---- the unit ----------------------------------------------------------------------------------------

# Its command, as systemd reads it; metrics.sh runs the unit in a booted system.
mkdir $work/metrics $work/textfiles
ln -s $work/metrics/ib-hook.prom $work/textfiles
unit=$(sed -n 's/^ExecStart=//p' "$fleet/ib-hook-prometheus.service" | sed -e 's/\$\$/$/g' -e "s,%S/ib-hook-prometheus,$work/metrics,")
expect_contains "the unit runs ib-hook --check" "/usr/bin/ib-hook --check --prometheus" "$unit"
run_unit() { # [IB_HOOK]
    with_sys B setpriv --bounding-set -all sh -c "${unit//\/usr\/bin\/ib-hook/${1:-$IB_HOOK}}"
}
touch $work/metrics/new # of a run that was ended
run_unit
expect_equal "it writes one file, without any capability" ib-hook.prom "$(ls -A $work/metrics)"
out=$(with_sys B "$IB_HOOK" --check --prometheus)
expect_equal "with the metrics" "$out" "$(<$work/textfiles/ib-hook.prom)"

printf '#!/bin/sh\necho half; exit 3\n' >$work/refused
chmod +x $work/refused
! run_unit $work/refused || fail "the unit fails where --check fails"
expect_equal "where --check fails, the file stays as it was" "$out" "$(<$work/textfiles/ib-hook.prom)"
expect_equal "and is the only one" ib-hook.prom "$(ls -A $work/metrics)"

# Whoever reads while it is written reads all of it.
# shellcheck disable=SC2016 # for the inner shell
printf '#!/bin/sh\nfor i in 1 2 3 4 5; do echo "$i"; sleep 0.002; done\n' >$work/slow
chmod +x $work/slow
run_unit $work/slow
for ((i = 0; i < 20; i++)); do run_unit $work/slow; done &
writer=$!
reads=0 halves=0
while kill -0 $writer 2>/dev/null; do
    read -r -d '' text <$work/textfiles/ib-hook.prom || true
    [ "$text" = $'1\n2\n3\n4\n5' ] || halves=$((halves + 1))
    reads=$((reads + 1))
done
wait $writer
expect_at_least "the file is read while it is written" 20 $reads
expect_equal "never half of it" 0 $halves

# ---- the node exporter -------------------------------------------------------------------------------

# A rail that is gone is an error.
add_nic B ib2 2 172.16.34.3/16
rdma B ib0 ib1 ib2
wait_until 5 settled B
expect_hook 0 B --apply
remove_nic B ib2
rdma B ib0 ib1
expect_hook 0 B --apply

# An interface's name may hold what ends a label. Renamed, it keeps its table and rules; down, it lost its route.
odd='a"b\n{}=,'
ip -n B link set ib1 down
ip -n B link set ib1 name "$odd"
ip -n B link set dev "$odd" up
rdma B ib0 "$odd"
wait_until 5 settled B
run_unit
out=$(<$work/textfiles/ib-hook.prom)
lint "an odd name"

# What its own collector wants to know of an RDMA port.
for port in /run/sys/B/class/infiniband/*/ports/1; do
    mkdir "$port/counters"
    echo "100 Gb/sec (4X EDR)" >"$port/rate"
    for file in fw_ver board_id hca_type; do echo 1 >"$port/../../$file"; done
done
echo ib_hook_rails_expected 3 >$work/textfiles/ib-hook-expected.prom
nsenter --net=/run/netns/B prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.infiniband \
    --path.sysfs=/run/sys/B --collector.textfile.directory=$work/textfiles --web.listen-address=127.0.0.1:9100 2>$work/exporter.log &
answers() { # PORT PATH
    http B "$1" "$2" >/dev/null 2>&1
}
wait_until 10 answers 9100 /metrics
scraped=$(http B 9100 /metrics)
expect_contains "the node exporter takes the file" "node_textfile_scrape_error 0" "$scraped"
expect_equal "all of it" "$(grep '^ib_hook' <<<"$out" | sort)" "$(grep '^ib_hook' <<<"$scraped" | grep -v _expected | sort)"
expect_equal "and knows of both RDMA ports" 2 "$(grep -c '^node_infiniband_state_id{' <<<"$scraped")"

# ---- Prometheus and alerts ---------------------------------------------------------------------------

alerts=$(sed -n 's/.*- alert: //p' "$fleet/ib-hook.rules.yml")
mkdir $work/rules
cp "$fleet/ib-hook.rules.yml" "$here/ib-hook.rules.test.yml" $work/rules
(cd $work/rules && promtool test rules ib-hook.rules.test.yml) >$work/said 2>&1 || fail "promtool test rules" "$(<$work/said)"
ok "promtool test rules: every alert as expected"
for alert in $alerts; do
    expect_at_least "$alert is tested where it does not fire" 1 "$(grep -c "alertname: $alert, .*exp_alerts: \[\]" $work/rules/ib-hook.rules.test.yml || true)"
    # Without the alert, its tests fail: it is tested where it fires.
    awk -v alert="$alert" '/- alert: / { mute = $3 == alert } mute && /^ *expr: / { sub(/expr: .*/, "expr: vector(0) > 1") } 1' \
        "$fleet/ib-hook.rules.yml" >$work/rules/ib-hook.rules.yml
    ! (cd $work/rules && promtool test rules ib-hook.rules.test.yml) >$work/said 2>&1 || fail "$alert: a test notices that it never fires"
    ok "$alert is tested where it fires"
done

cat >$work/prometheus.yml <<E2
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$fleet/ib-hook.rules.yml]
scrape_configs:
  - job_name: node
    static_configs: [{targets: ["127.0.0.1:9100"]}]
E2
nsenter --net=/run/netns/B prometheus --config.file=$work/prometheus.yml --storage.tsdb.path=$work/tsdb \
    --web.listen-address=127.0.0.1:9090 2>$work/prometheus.log &
query() { # EXPRESSION → its result
    http B 9090 "/api/v1/query?query=$(jq -rn --arg expr "$1" '$expr | @uri')" | jq -c .data.result
}
has_series() {
    [[ $(query ib_hook_check_ok 2>/dev/null) == '[{'* ]]
}
wait_until 20 has_series
expect_equal "an odd name is one name in Prometheus" "$odd" "$(query 'ib_hook_rail_ok{device!="ib0"}' | jq -r '.[0].metric.device')"
stale=$(sed -n 's/.*expr: time() - \(.*\) > 600$/\1/p' "$fleet/ib-hook.rules.yml")
expect_equal "IbHookStale finds the file's age" 1 "$(query "$stale" | jq length)"
missing=$(sed -n 's/.*expr: \(count .*\) unless .*/\1/p' "$fleet/ib-hook.rules.yml")
expect_equal "IbHookMissing finds the RDMA ports" 2 "$(query "$missing" | jq -r '.[0].value[1]')"
gone=$(sed -n 's/.*expr: \(ib_hook_rails <\)/\1/p' "$fleet/ib-hook.rules.yml")
expect_equal "IbHookRailGone goes by the number of rails that somebody wrote" 2 "$(query "$gone" | jq -r '.[0].value[1]')"
alerts() { # → NAME DEVICE CODE, but for IbHookRailGone, which is evaluated every 5 minutes only
    http B 9090 /api/v1/alerts | jq -r '.data.alerts[].labels | select(.alertname != "IbHookRailGone") | "\(.alertname) \(.device) \(.code)"' |
        sort
}
raised() {
    [[ $(alerts 2>/dev/null) == *nic-gone* ]]
}
wait_until 10 raised
expect_equal "a missing route and a rail that is gone raise IbHookError, and a new name leaves nothing behind" \
    "IbHookError $odd route-missing
IbHookError ib2 nic-gone" "$(alerts)"
