#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The reports of many hosts, folded into one: whatever gathers them, whatever is wrong, and however many there are.
. "$(dirname "$0")/lib.sh"

fold() { # [ARGUMENT]…: of standard input; leaves its report in $out, its status in $status
    status=0
    out=$(jq -nRrf "$fleet/fold.jq" "$@") || status=$?
}
reports() { # HOSTS RAILS WIRES NEXT [DEAD [SWAPPED]]
    jq -nr --argjson hosts "$1" --argjson rails "$2" --argjson wires "$3" --argjson next "$4" --argjson same "${SAME:-false}" \
        --argjson dead "${5:-[]}" --argjson swapped "${6:-{\}}" -f "$here/reports.jq"
}

# ---- whatever gathers them ---------------------------------------------------------------------------

reports 3 2 1 2 >$work/lines
good="hosts: 3 reported, 0 missing, 0 unreadable; 24 pairs of rail and peer; all good"
expect_good() { # WHAT, of standard input
    fold --arg hosts 'n[0-1],n2'
    expect_equal "$1" "0 $good" "$status $out"
}
expect_good "lines of clush" <$work/lines
sed 's/:/:   /' $work/lines >$work/padded
expect_good "blanks after the name" <$work/padded
awk '{ print int(NR / 2) ": " $0 }' $work/lines >$work/numbered
expect_good "lines of srun --label, with names" <$work/numbered
mkdir $work/files
while IFS= read -r line; do echo "${line#*: }" >>"$work/files/${line%%:*}.json"; done <$work/lines
grep -H '' $work/files/* >$work/from-files
expect_good "a file per host" <$work/from-files
for n in 0 1 2; do
    printf -- '---------------\nn%s\n---------------\n' $n
    cat $work/files/n$n.json
done >$work/blocks
expect_good "blocks of clush -b" <$work/blocks
printf -- '---------------\nn[0-1] (2)\n---------------\n{"ok":true,"findings":[]}\n---------------\nn2\n---------------\n{"ok":true}\n' >$work/blocks
fold --arg hosts 'n[0-2]' <$work/blocks
expect_equal "a block of several" "0 hosts: 3 reported, 0 missing, 0 unreadable; 0 pairs of rail and peer; all good" "$status $out"
fold --arg hosts 'n[8-10,12]-ib login[01-02] x' <$work/lines
expect_equal "names of many hosts in few words" "missing: login01 login02 n10-ib n12-ib n8-ib n9-ib x" "$(sed -n 2p <<<"$out")"

# ---- whatever is wrong -------------------------------------------------------------------------------

expect_fold() { # WHAT LINES: of standard input, without the first line
    fold --arg hosts 'n[0-2]'
    expect_equal "$1" "1
$2" "$status
$(sed 1d <<<"$out")"
}
fold </dev/null
expect_equal "nobody said anything" \
    "1 hosts: 0 reported, 0 missing, 0 unreadable; 0 pairs of rail and peer; no host reported" "$status $out"
expect_fold "a host is missing" "missing: n2" < <(grep -v '^n2' $work/lines)
n2_says() { # LINE
    grep -v ^n2 $work/lines
    echo "n2: $1"
}
expect_fold "a host says something else" "unreadable: n2: bash: ib-hook: not found" < <(n2_says "bash: ib-hook: not found")
expect_fold "a report is cut short" 'unreadable: n2: {"ok":' < <(n2_says '{"ok":')
expect_fold "one of two" 'unreadable: n2: {"ok":' < <(sed '6s/.*/n2: {"ok":/' $work/lines)
expect_fold "a report of another form ends nothing" 'unreadable: n2: a report of another form: Cannot iterate over string ("none")' \
    < <(n2_says '{"ok":true,"findings":[],"pairs":[{"problems":"none"}]}')
rails_of() { # HOST ADDRESS…: of ib0, ib1, …
    jq -nc '{ok: true, findings: [], rails: [$ARGS.positional | to_entries[] | {iface: "ib\(.key)", addresses: [.value]}]}' \
        --args "${@:2}" | sed "s/^/$1: /"
}
expect_fold "one address on two hosts" "n0 ib0, n2 ib1: error duplicate-address: all of them have 10.0.0.1" < <(
    rails_of n0 10.0.0.1/16 10.0.1.1/16
    rails_of n1 10.0.0.2/16 10.0.1.2/16
    rails_of n2 10.0.0.3/16 10.0.0.1/16
)
expect_fold "a prefix of another length" "n2: ib1: warning prefix-differs: /24, most hosts have /16" < <(
    rails_of n0 10.0.0.1/16 10.0.1.1/16
    rails_of n1 10.0.0.2/16 10.0.1.2/16
    rails_of n2 10.0.0.3/16 10.0.1.3/24
)
with_mtu() { sed "s|\"addresses\"|\"mtu\":$1,&|g"; }
expect_fold "an MTU of its own" "n2: ib0: warning mtu-differs: MTU 2044, most hosts have MTU 4092
n2: ib1: warning mtu-differs: MTU 2044, most hosts have MTU 4092" < <(
    rails_of n0 10.0.0.1/16 10.0.1.1/16 | with_mtu 4092
    rails_of n1 10.0.0.2/16 10.0.1.2/16 | with_mtu 4092
    rails_of n2 10.0.0.3/16 10.0.1.3/16 | with_mtu 2044
)
fold --arg hosts 'n[0-2]' < <(
    rails_of n0 10.0.0.1/16 10.0.1.1/24
    rails_of n1 10.0.0.2/16 10.0.1.2/24
    rails_of n2 10.0.0.3/16 10.0.1.3/24
)
expect_equal "rails of different lengths, alike on all hosts" 0 $status
fold < <(sed '1i n1: Welcome to n1!' $work/lines)
expect_equal "a greeting beside a report is none" "0 $good" "$status $out"
expect_fold "a probe ends before it says anything" "unreadable: n2: Killed" < <(sed '6s/.*/n2: Killed/; 1i n2: Welcome to n2!' $work/lines)
expect_fold "or may not begin" "unreadable: n1: sudo: a password is required
unreadable: n2: sudo: a password is required" \
    < <(sed '4s/.*/n1: sudo: a password is required/; 6s/.*/n2: sudo: a password is required/' $work/lines)
expect_fold "or says nothing" "n2: error incomplete: nothing of --probe, others have it" < <(sed 6d $work/lines)
expect_fold "or probes nothing" "n2: error incomplete: nothing of --probe, others have it" \
    < <(sed '6s/.*/n2: {"ok":true,"findings":[],"pairs":[]}/' $work/lines)
expect_fold "the check ends" "unreadable: n2: Killed" < <(sed '5s/.*/n2: Killed/' $work/lines)
expect_fold "something else than a report" 'unreadable: n2: {"changed":false}' < <(n2_says '{"changed":false}')
expect_fold "an error" "n2: error exit-2: nosuch.conf" < <(n2_says '{"ok":false,"error":{"exit":2,"message":"nosuch.conf"}}')
expect_fold "not ok, and nobody knows why" "n2: error not-ok: and nothing says why" < <(n2_says '{"ok":false,"findings":[]}')
finding() { # SEVERITY MESSAGE
    jq -nc --arg severity "$1" --arg message "$2" \
        '{ok: ($severity == "info"), findings: [{iface: "ib1", severity: $severity, code: "held", message: $message, fix: ""}]}'
}
fold < <(sed "2a n0: $(finding info kept)" $work/lines)
expect_equal "an info is no finding" 0 $status
expect_fold "one finding of two hosts" "n0 n2: ib1: warning held: kept" \
    < <(sed "2a n0: $(finding warning kept)" $work/lines; echo "n2: $(finding warning kept)")
expect_fold "with other words" "n0 n2: ib1: warning held: kept (and more like it)" \
    < <(sed "2a n0: $(finding warning kept)" $work/lines; echo "n2: $(finding warning also)")
fold < <(n2_says "$(finding error $'\e[31mred\xc2\x9b\nline')")
expect_contains "no control character gets to the terminal" "n2: ib1: error held: ?[31mred??line" "$out"
fold < <(sed '1s/{"iface":"ib0"[^}]*},//' $work/lines)
expect_contains "hosts that differ are told" "note: hosts differ: 1 rails: n0; 2 rails: n1 n2" "$out"
expect_equal "which is no fault" 0 $status
fold --argjson rails 2 <$work/lines
expect_equal "as many rails as there should be" "0 $good" "$status $out"
fewer() { # a NIC of n0 is gone, from the check and from the probe
    jq -rRc 'capture("^(?<host>.*): (?<said>.*)$") | .host as $host | .said | fromjson
        | if $host == "n0" then (.rails, .pairs | arrays) |= map(select(.iface != "ib0")) else . end | "\($host): \(.)"' $work/lines
}
fold --argjson rails 2 < <(fewer)
expect_contains "fewer of them" "n0: error rail-gone: 1 rails, expected 2" "$out"
expect_equal "which is a fault, then" 1 $status
fold --argjson rails 2 < <(fewer | grep pairs)
expect_contains "a probe alone tells, too" "n0: error rail-gone: 1 rails, expected 2" "$out"
fold --argjson rails 3 <$work/lines
expect_equal "all of them have fewer" "n0 n1 n2: error rail-gone: 2 rails, expected 3" "$(sed 1d <<<"$out")"

# One direction of one pair.
expect_fold "which pair" "172.16.0.1 (n1 ib0): probe-lost: from ib1 of n0" < <(sed 's/^[^{]*//' $work/lines | jq -rc '
    (.pairs[]? | select(.source == "172.17.0.0" and .peer == "172.16.0.1")) |= (.received = 0 | .problems = ["probe-lost"])
    | "n\(input_line_number / 2 - 0.5 | floor): \(.)"')

fold < <(reports 2 1 1 1 '["n1 ib0"]')
expect_equal "of a rail with one peer that, too" "172.16.0.1 (n1 ib0): probe-lost: from ib0 of n0
172.16.0.0 (n0 ib0): probe-lost: from ib0 of n1" "$(sed 1d <<<"$out")"

# ---- wherever it is wrong ----------------------------------------------------------------------------

# Two faults in a fabric of 7 hosts with 4 rails: a dead rail and, if there are several wires, two cables swapped.
seed=${IBH_SEED:-$RANDOM}
RANDOM=$seed
echo "# IBH_SEED=$seed"
for ((round = 0; round < 12; round++)); do
    wires=$((1 << round % 3)) dead_host=$((RANDOM % 7)) dead_rail=$((RANDOM % 4))
    host=$(((dead_host + 1 + RANDOM % 6) % 7)) one=$((RANDOM % 4)) other=$((RANDOM % 4))
    swapped='{}' expected="ib$dead_rail of n$dead_host: probe-lost: to all peers
172.$((16 + dead_rail)).0.$dead_host (n$dead_host ib$dead_rail): probe-lost: from all rails"
    if [ $((one % wires)) != $((other % wires)) ]; then
        swapped="{\"n$host ib$one\": $other, \"n$host ib$other\": $one}"
        expected+=$(for rail in $one $other; do
            printf '\nn%s ib%s: wrong-wire: it reaches' "$host" "$rail"
            for ((i = 0; i < 4; i++)); do
                [ $((i % wires)) != $(((one + other - rail) % wires)) ] || printf ' ib%s' $i
            done
            printf " of other hosts: another rail's cable"
        done)
    fi
    fold < <(reports 7 4 $wires 6 "[\"n$dead_host ib$dead_rail\"]" "$swapped")
    expect_equal "on $wires wires: a dead rail${swapped#\{\}}" "$(sort <<<"$expected")" "$(sed 1d <<<"$out" | sort)"
    expect_equal "the exit status says so" 1 $status
    fold < <(reports 7 4 $wires 6)
    expect_contains "without these faults" "all good" "$out"
done

# Of a host that says nothing, the others know addresses, not rails.
fold --arg hosts 'n[0-6]' < <(reports 7 4 4 6 | grep -v ^n6)
expect_equal "on 4 wires: a host without ib-hook" "missing: n6" "$(sed 1d <<<"$out")"
fold --arg hosts 'n[0-6]' --rawfile names <(echo "172.18.0.6 n6-ib2 # its third") < <(reports 7 4 4 6 '["n6 ib2"]' | grep -v ^n6)
expect_equal "and one of its rails is dead" "missing: n6
172.18.0.6 (n6-ib2): probe-lost: from all rails" "$(sed 1d <<<"$out")"

# What gets through from wire to wire is said, even if no cable explains it.
fold < <(reports 7 2 2 6 | sed 's/^[^{]*//' | jq -rc '
    (.pairs[]? | select(.source == "172.16.0.0" and .peer == "172.17.0.1")) |= (.received = 3 | .problems = [])
    | "n\(input_line_number / 2 - 0.5 | floor): \(.)"')
expect_equal "on 2 wires: one pair that should not reach each other" "172.17.0.1 (n1 ib1): wrong-wire: from ib0 of n0" "$(sed 1d <<<"$out")"

# ---- however many there are --------------------------------------------------------------------------

# measured HOSTS → ms of processor time, MiB
measured() {
    local pid peak=0 now ticks
    SAME=true reports "$1" 8 1 2 '["n77 ib3"]' >$work/many
    jq -nRrf "$fleet/fold.jq" <$work/many >$work/folded &
    pid=$!
    while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$pid/status 2>/dev/null) && [ -n "$now" ]; do
        peak=$now
        read -r -a ticks </proc/$pid/stat 2>/dev/null || break
        sleep 0.05
    done
    wait $pid || true
    echo $(((ticks[13] + ticks[14]) * 1000 / $(getconf CLK_TCK))) $((peak / 1024))
}
read -r ms_few mib_few <<<"$(measured 1000)"
read -r ms mib <<<"$(measured 10000)"
echo "# 1,000 hosts: $ms_few ms, $mib_few MiB; 10,000 hosts, $(($(wc -c <$work/many) / 1000000)) MB: $ms ms, $mib MiB"
expect_equal "one dead rail of 80,000 is named" "hosts: 10000 reported, 0 missing, 0 unreadable; 160000 pairs of rail and peer; 2 to see to:
ib3 of n77: probe-lost: to all peers
172.19.0.77 (n77 ib3): probe-lost: from all rails" "$(<$work/folded)"
[ "$ms" -lt $((ms_few * 20)) ] || fail "ten times the hosts take less than twenty times the time" "$ms_few ms, $ms ms"
[ "$mib" -lt 1024 ] || fail "and less than 1 GiB" "$mib MiB"
ok "ten times the hosts take less than twenty times the time, and less than 1 GiB"
