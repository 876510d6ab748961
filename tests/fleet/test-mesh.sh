#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who asks whom in a fabric of many hosts, and the matrix of what they say: mesh.awk, mesh.jq.
. "$(dirname "$0")/lib.sh"

N=128 RAILS=8
for ((i = 0; i < N; i++)); do
    echo "n$i$(for ((rail = 0; rail < RAILS; rail++)); do printf ' 172.%d.0.%d' $((16 + rail)) $i; done)"
done >$work/hosts
whom() { # HOST [ARGUMENT…] → the last numbers of the addresses it asks, each once
    awk -v me="$1" "${@:2}" -f "$fleet/mesh.awk" $work/hosts | sed 's/.*\.//' | uniq | xargs
}
expect_equal "who asks whom" "69 37 21" "$(whom n5)"
expect_equal "beyond the end of the list" "36 4 116" "$(whom n100)"
expect_equal "found by an address" "69 37 21" "$(whom nobody -v own='10.0.0.1 172.20.0.5 fe80::1')"
expect_equal "more of them" "69 37 21 13 9 7 6" "$(whom n5 -v k=9)"
expect_equal "each rail's address" 24 "$(awk -v me=n5 -f "$fleet/mesh.awk" $work/hosts | wc -l)"
status=0
out=$(awk -v me=n500 -f "$fleet/mesh.awk" $work/hosts 2>&1) || status=$?
expect_equal "who is not on the list" "1 mesh.awk: this host is none of the 128 of the list: -v own=\"ITS ADDRESSES\" or -v me=NAME" "$status $out"
head -n 3 $work/hosts >$work/three
expect_equal "of three, each asks the next" "172.16.0.0 172.17.0.0" \
    "$(awk -v me=n2 -f "$fleet/mesh.awk" $work/three | head -n 2 | xargs)"

asked=$(for ((i = 0; i < N; i++)); do echo "n$i $(whom n$i)"; done | jq -nRc '[inputs | split(" ") | {key: .[0], value: .[1:] | map(tonumber)}] | from_entries')
mesh() { # DEAD CUT [ARGUMENT…]: the report in $out, its status in $status
    status=0
    out=$(jq -nr --argjson hosts $N --argjson rails $RAILS --argjson asked "$asked" --argjson dead "$1" --argjson cut "$2" -f "$here/mesh.jq" |
        jq -nRrf "$fleet/mesh.jq" "${@:3}") || status=$?
}

mesh '[]' '{}'
expect_equal "all is well" "0 128 hosts; 3072 pairs; 0 dead rails, 0 other pairs lost" "$status $out"
mesh '[]' '{}' --argjson all true
expect_equal "a row for each host, if asked for" "129 n77   .     .     .     .     .     .     .     ." \
    "$(sed 1d <<<"$out" | wc -l) $(grep '^n77 ' <<<"$out")"

mesh '["n9 ib2", "n40 ib7"]' '{}'
expect_equal "two dead rails, and who asked them is not accused" "1
128 hosts; 3072 pairs; 2 dead rails, 0 other pairs lost
host  ib0   ib1   ib2   ib3   ib4   ib5   ib6   ib7
n9    .     .     dead  .     .     .     .     .
n40   .     .     .     .     .     .     .     dead
dead: ib2 of n9
dead: ib7 of n40" "$status
$out"

leaf=$(jq -nc '[range(32; 64) | "n\(.) ib4"]')
mesh "$leaf" '{}'
expect_contains "a dead leaf" "32 dead rails, 0 other pairs lost" "$out"
expect_contains "is a row, and none for those who asked it" "n32 +31  .     .     .     .     dead  .     .     .
dead" "$out"
expect_contains "is all of its hosts" "dead: ib4 of n32 n33 n34" "$out"
expect_lacks "and no other" " n31 " "$out"
expect_lacks "on either side" " n64 " "$out"

mesh '["n9 ib2"]' '{"ib3": 32}'
expect_contains "cut uplinks: hosts of one leaf still reach each other" "1 dead rails, 320 other pairs lost" "$out"
expect_contains "which is no dead rail, and one line for all hosts but one" "n0 +126  .     .     .     1/6   .     .     .     .
n9       .     .     dead  1/6   .     .     .     ." "$out"
expect_contains "and named" "lost: n0 ib3 to n64 ib3, " "$out"

status=0
out=$(jq -nRrf "$fleet/mesh.jq" </dev/null) || status=$?
expect_equal "nobody said anything" "1 0 hosts; 0 pairs; 0 dead rails, 0 other pairs lost" "$status $out"
status=0
out=$(printf 'n1: Killed\nn2: {"ok":\n' | jq -nRrf "$fleet/mesh.jq") || status=$?
expect_equal "or no report" "1 0 hosts" "$status ${out%%;*}"
