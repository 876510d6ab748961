#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 200 peers on two rails: at most 4,000 packets in any second, all side by side while the neighbour table has room, in
# fewer where it has not; and a line for each peer with a problem instead of a matrix.
. "$(dirname "$0")/../netns/lib.sh"

make_hosts 2 A
new_host B
add_nic B eth0 0
peers=()
for i in {1..200}; do
    peers+=("172.16.34.$i")
    echo "address add 172.16.34.$i/16 dev eth0"
done >$work/addresses
ip -n B -batch $work/addresses
ip -n B link set eth0 up
wait_until 5 settled B
expect_hook 0 A --apply

capture_echoes A 1600 expect_hook 1 A --probe "${peers[@]}" --json
expect_equal "all are asked, all answer" "400 1200 1200" "$(json '"\(.pairs | length) \([.pairs[].sent] | add) \([.pairs[].received] | add)"')"
expect_equal "one hardware address for all: the only thing to find" "peer-flux" "$(json '[.findings[].code] | unique | join(" ")')"
expect_equal "on the wire: these, and one of full size for each pair" 1600 "$(wc -l <$work/echoes)"
expect_equal "at most 4000 packets in any second" "" \
    "$(awk '{ at[NR] = $1 } NR > 400 && $1 - at[NR - 400] < 0.095 { print "401 packets in", $1 - at[NR - 400]; exit }' $work/echoes)"

expect_hook 1 A --probe "${peers[@]}" --count 1
expect_contains "and a summary for each rail" "ib0: 0 of 200 peers ok, 200 of 200 replies" "$out"

# Where the machine keeps only 64 neighbours, half of that at a time, and their entries go as they came. One that was there
# before stays.
mkdir -p $work/neigh/default
echo 64 >$work/neigh/default/gc_thresh3
on A mount --bind $work/neigh /proc/sys/net/ipv4/neigh
forget A
# B asks for A's hardware address by its first one, whenever it likes, and is remembered for that.
entries() { ip -n A -4 neigh show nud all | awk '!/NOARP/ && $1 != "172.16.34.1" { print $1, $3 }' | sort; }
ip -n A neigh add 172.16.34.7 lladdr "$(mac B 0)" dev ib0 nud stale
start=${EPOCHREALTIME/[.,]/}
capture_echoes A 160 expect_hook 1 A --probe "${peers[@]:0:40}" --count 2 --json
expect_at_least "no pause between the waves: less than 5 s" $(((${EPOCHREALTIME/[.,]/} - start) / 1000)) 5000
expect_equal "all 80 pairs are asked" "160 160" "$(json '"\([.pairs[].sent] | add) \([.pairs[].received] | add)"')"
expect_equal "the entries are gone, but the one of before" "172.16.34.7 ib0" "$(entries)"
expect_equal "the table is too small for them" "neighbour-table-small warning" \
    "$(json '.findings[] | select(.code != "peer-flux") | "\(.code) \(.severity)"')"
expect_contains "and what would do" "net.ipv4.neigh.default.gc_thresh3=1024" "$(json '.findings[] | select(.code == "neighbour-table-small") | .fix')"

# Who may not delete them waits until they are old.
if command -v setpriv >/dev/null; then
    forget A
    captured() {
        on A setpriv --bounding-set=-all,+net_raw --inh-caps=-all,+net_raw --ambient-caps=-all,+net_raw "$IB_HOOK" --sysfs /run/sys/A \
            --probe "${peers[@]:0:30}" --count 2 --json >/dev/null </dev/null || true
    }
    capture_echoes A 120 captured
    expect_equal "at most 64 new neighbours in 5 seconds" "" "$(awk '
        !seen[$2 $4]++ { at[++n] = $1 }
        n > 64 && at[n] - at[n - 64] < 5 { print "65 in", at[n] - at[n - 64], "s"; exit }' $work/echoes)"
fi
on A umount /proc/sys/net/ipv4/neigh
