#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ctrl-C, or SIGTERM, ends the asking: what is known by then is said, and what was not asked.
. "$(dirname "$0")/lib.sh"
env --default-signal=INT true 2>/dev/null || skip "no env --default-signal"

make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply

# interrupted SIGNAL STATUS ARGUMENT…: probes, and gets the signal once so many ECHOES have left; its text in $out
interrupted() {
    local status=0 pid echoes
    : >$work/captured
    nsenter --net=/run/netns/A "$ECHOES" >$work/captured &
    echoes=$!
    wait_until 5 grep -q ready $work/captured
    (exec nsenter --net=/run/netns/A env --default-signal=INT "$IB_HOOK" --sysfs /run/sys/A --probe "${@:3}") \
        >$work/out 2>$work/err </dev/null &
    pid=$!
    wait_until 10 echoes_are "${ECHOES_FIRST:-6}"
    start=${EPOCHREALTIME/[.,]/}
    kill -s "$1" $pid
    wait $pid || status=$?
    expect_at_least "it ends at once" $(((${EPOCHREALTIME/[.,]/} - start) / 1000)) 1000
    kill $echoes
    wait $echoes || true
    out=$(<$work/out)
    [ $status = "$2" ] || fail "--probe ${*:3}, SIG$1: expected exit status $2, got $status" "$out$(<$work/err)"
    ok "--probe ${*:3} ends with exit status $2 by SIG$1"
}
long=(--count 1000)

for signal in INT TERM; do
    forget A B
    interrupted $signal 0 172.16.34.1 172.16.34.2 "${long[@]}" --json
    expect_equal "SIG$signal: all that is known is good" "true 4" "$(json '"\(.ok) \(.pairs | length)"')"
    expect_equal "no echo counts as lost" "true" "$(json '[.pairs[] | .received == .sent and .sent > 0] | all')"
    expect_equal "it says that it was ended" "info interrupted" "$(json '.findings[] | "\(.severity) \(.code)"')"
done

# What is known to be wrong by then is said, and is the exit status.
ip -n wire link set B.1 down
forget A B
ECHOES_FIRST=60 interrupted INT 1 172.16.34.1 172.16.34.2 "${long[@]}" --json
expect_contains "a peer that is gone" "172.16.34.2 true" "$(json '.pairs[] | select(.received == 0) | "\(.peer) \(.sent > 0)"')"
expect_equal "and the other is well" "true" "$(json '[.pairs[] | select(.peer == "172.16.34.1") | .ok] | all')"
ip -n wire link set B.1 up

# There is room for a few at a time: the others were not asked, and nothing is said of them.
mkdir -p $work/neigh/default
echo 8 >$work/neigh/default/gc_thresh3
on A mount --bind $work/neigh /proc/sys/net/ipv4/neigh
forget A B
interrupted INT 0 172.16.34.1 172.16.34.{10..40} "${long[@]}" --json
unasked=$(json '[.pairs[] | select(.reason == "interrupted")] | length')
expect_at_least "pairs that were not asked" 1 "$unasked"
expect_equal "each pair is the one or the other" 64 "$(json "$unasked + ([.pairs[] | select(.ok != null)] | length)")"
expect_contains "which is counted" "$unasked of 64 pairs were not asked" "$(json '.findings[] | select(.code == "interrupted").message')"
on A umount /proc/sys/net/ipv4/neigh

# Who called it with SIGINT ignored meant it (nohup, a job in the background).
forget A B
: >$work/captured
(exec nsenter --net=/run/netns/A env --ignore-signal=INT "$IB_HOOK" --sysfs /run/sys/A --probe 172.16.34.1 --count 20 --json) >$work/out </dev/null &
pid=$!
runs() { [ "/proc/$pid/exe" -ef "$IB_HOOK" ]; } # before, bash and nsenter might end by it
wait_until 5 runs
kill -s INT $pid
wait $pid || fail "an ignored signal ends nothing" "$?"
expect_equal "an ignored signal is none" "true 0" "$(jq -r '"\(.ok) \(.findings | length)"' $work/out)"
