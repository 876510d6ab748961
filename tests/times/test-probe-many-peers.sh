#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 200 addresses of one NIC on two rails: at most 4,000 packets in any second, all side by side; a row for each rail.
. "$(dirname "$0")/../netns/lib.sh"

make_hosts 2 A
make_peers 200
expect_hook 0 A --apply

capture_echoes A 2000 expect_hook 0 A --probe "${peers[@]}" --json
expect_equal "all are asked, all answer" "400 1200 1200" "$(json '"\(.pairs | length) \([.pairs[].sent] | add) \([.pairs[].received] | add)"')"
expect_equal "one NIC has all addresses: no fault" "" "$(json '[.findings[].code] | unique | join(" ")')"
expect_equal "on the wire: these, one of full size and one bound to no NIC for each pair" 2000 "$(wc -l <$work/echoes)"
expect_equal "at most 4000 packets in any second" "" \
    "$(awk '{ at[NR] = $1 } NR > 400 && $1 - at[NR - 400] < 0.095 { print "401 packets in", $1 - at[NR - 400]; exit }' $work/echoes)"

expect_hook 0 A --probe "${peers[@]}" --count 1
expect_equal "and a row for each rail" "ib0 200/200 ok ib1 200/200 ok" \
    "$(sed -n 's|^\(ib[01]\) .* \([0-9]*/[0-9]*\)  .*  \(.*\)|\1 \2 \3|p' <<<"$out" | xargs)"
