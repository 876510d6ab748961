#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever happens to a --watch that is asked - stopped, killed, restarted, busy, flooded, of another build - and whoever
# takes its place: the hook does all itself, in time, with exit status 0.
. "$(dirname "$0")/lib.sh"
needs flock

PEER=$(dirname "$FLOW")/hookpeer
make_hosts 2 B
journal_start
system_config ""
watch_listen B
socket=$(find /run/ib-hook -type s)
slow=$socket.slow
applied=$(state B | tidy)
broken() { sysctl_set B ib1 arp_announce 0; } # nobody but a hook, or who is asked by one, repairs it

# called WHAT LEAST MOST: the hook does all itself, within so many milliseconds
called() {
    local start=${EPOCHREALTIME/[.,]/} took
    manager_calls B "$HOOKS/nm-dispatcher" ib1 up
    took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
    expect_equal "$1: all is done" "$applied" "$(state B | tidy)"
    { [ $took -ge "$2" ] && [ $took -lt "$3" ]; } || fail "$1: expected an end within $2 to $3 ms" "it took $took ms"
    ok "$1: it took $took ms"
}
queued() { [ "$(on B ss -xlH | awk -v path="$socket" '$5 == path { print $3 }')" = "$1" ]; }
call_and_wait() { # the hook, which has asked, and waits
    broken
    manager_calls B "$HOOKS/nm-dispatcher" ib1 up >$work/called &
    hook=$!
    wait_until 5 queued 1
}
ended() { # WHAT: it has, and did it itself
    wait $hook || fail "$1" "$(<$work/called)"
    expect_equal "$1: all is done" "$applied" "$(state B | tidy)"
}

# Suspended: the first one waits for two seconds, the next ones do not, until it answers again.
kill -STOP "$watch"
broken
called "suspended" 1900 9000
expect_equal "who it was is remembered" "$watch $(awk '{ print $22 }' "/proc/$watch/stat")" "$(<"$slow")"
broken
called "still suspended" 100 1500
kill -CONT "$watch"
awake() {
    manager_calls B "$HOOKS/nm-dispatcher" ib1 up >/dev/null
    [ ! -e "$slow" ]
}
wait_until 10 awake
ok "it is awake again"

# More than it takes.
kill -STOP "$watch"
on B "$PEER" fill "$socket" >$work/filled &
filler=$!
wait_until 5 test -s $work/filled
expect_contains "its queue is full" "129 Resource temporarily unavailable" "$(<$work/filled)"
broken
called "a full queue" 0 1500
kill $filler
wait $filler 2>/dev/null || true
kill -CONT "$watch"
wait_until 5 queued 0

# Killed, and ended, while a hook waits; what it leaves behind is in nobody's way.
kill -STOP "$watch"
call_and_wait
start=${EPOCHREALTIME/[.,]/}
kill -KILL "$watch"
ended "killed"
[ $((${EPOCHREALTIME/[.,]/} - start)) -lt 1500000 ] || fail "the hook waits for a --watch that was killed"
ok "it does not wait for who was killed"
expect_equal "its socket is still there" "$socket" "$(find /run/ib-hook -type s)"
broken
called "nobody listens" 0 1500
wait "$watch" 2>/dev/null || true
watch_listen B
kill -STOP "$watch"
call_and_wait
kill -TERM "$watch"
kill -CONT "$watch"
ended "restarted"
wait "$watch"
expect_equal "its socket is gone" "" "$(find /run/ib-hook -type s)"
broken
called "nobody is there" 0 1500

# Somebody else has the lock: the hook waits for it by itself.
watch_listen B
exec 9<"$(find /run/ib-hook -name '*.lock')"
flock 9
broken
from=$(($(journal_lines) + 1))
manager_calls B "$HOOKS/nm-dispatcher" ib1 up >$work/called 9>&- &
hook=$!
waits() { find /proc/[0-9]*/exe -lname "$IB_HOOK" 2>/dev/null | grep -qv "/proc/$watch/"; }
wait_until 5 waits
flock -u 9
exec 9>&-
ended "busy"
expect_lacks "busy: no complaint of --watch" "gave up" "$(journal "$from")"

# Two of them: the first one is asked; the second one takes over, when it looks.
first=$watch
watch_listen B
second=$watch
broken
kill -STOP "$second"
called "two of them" 0 1500
kill -CONT "$second"
kill -TERM "$first"
wait "$first"
expect_equal "nobody listens" "" "$(find /run/ib-hook -type s)"
kill -HUP "$second"
wait_until 5 test -S "$socket"
ok "the second one listens"

# Requests of others. The first one is true, and so is its answer.
watch_stop
on B "$PEER" serve "$socket" eof >$work/requests &
peer=$!
wait_until 5 test -S "$socket"
broken
called "the end of file" 0 1500
kill $peer
read -r request <$work/requests
expect_at_least "a request" 100 ${#request}
expect_contains "it names the NIC" "$(printf ib1 | od -An -tx1 | tr -d ' ')" "$request"
watch_listen B
true=$(on B "$PEER" ask "$socket" "$request")
expect_equal "the answer to it" "${#true} 010000" "16 ${true:12:2}${true:14:2}00"
other=${true:0:12}0200
for wrong in "ffffffff${request:8}" "${request:0:8}0200${request:12}" "${request%????}3130" "${request}00" "${request:0:20}" \
    "$(printf 'ff%.0s' {1..300})" 00; do
    expect_equal "${wrong:0:30}…: another build" "$other" "$(on B "$PEER" ask "$socket" "$wrong")"
done
name=$(printf ib1 | od -An -tx1 | tr -d ' ')
expect_equal "a name that none can have" "$other" "$(on B "$PEER" ask "$socket" "${request/"$name"/2f2f2f}")"
nsenter --net=/run/netns/B "$PEER" ask "$socket" - >$work/silent & # asks nothing, and delays no other; kill ends itself
silent=$!
broken
called "beside one that asks nothing" 0 1500
kill $silent
gone() { ! on B ss -xH | grep -q "$socket"; }
wait_until 5 gone
ok "it is not kept"
watch_stop

# Answers of others: nobody but root could give one, and "done" of another version is none.
serve() { # REPLY…
    on B "$PEER" serve "$socket" "$@" >/dev/null &
    peer=$!
    wait_until 5 test -S "$socket"
}
stop_serving() {
    kill $peer
    wait $peer 2>/dev/null || true
    rm -f "$socket"
}
for reply in "$other" "${true:0:12}0300" "${true:0:12}0000" "${true:0:12}ff00" "ff${true:2}" "${true:0:8}0200${true:12}" "${true}00" \
    "${true:0:14}" 00 "$(printf 'ff%.0s' {1..300})"; do
    serve "$reply"
    broken
    called "the answer ${reply:0:30}" 0 1500
    stop_serving
done
serve "$true"
broken
manager_calls B "$HOOKS/nm-dispatcher" ib1 up
expect_equal "root is believed" 0 "$(on B cat $CONF/ib1/arp_announce)"
if [ "$rooted" = yes ]; then
    chown 65534 "$socket"
    called "somebody else's socket" 0 1500
    chown 0 "$socket"
    chmod 0666 "$socket"
    broken
    called "a socket for everybody" 0 1500
    chmod 0600 "$socket"
    chmod 0777 /run/ib-hook
    broken
    manager_calls B "$HOOKS/nm-dispatcher" ib1 up
    expect_equal "a directory for everybody: nobody is asked" 2 "$(on B cat $CONF/ib1/arp_announce)"
    chmod 0755 /run/ib-hook
fi
stop_serving
serve silence
broken
called "no answer" 1900 9000
stop_serving
rm -f "$slow"
