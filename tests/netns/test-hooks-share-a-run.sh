#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A boot calls many hooks at once. Those that wait for the lock leave it to one of them, if it begins after they came:
# it sees what they came for. What was taken down on purpose only its own hook knows.
. "$(dirname "$0")/lib.sh"
needs flock

HOOKS_AT_ONCE=16

ticket() { # → how many runs have begun, and the last that ended well
    awk '{ print $2, $3 }' "$lock"
}
waiting() { # N: so many hooks sleep with the lock file open: they have seen that it is taken
    local stat n=0
    for stat in $(find /proc/[0-9]*/fd -lname "$lock" 2>/dev/null | sed 's|/fd/.*|/stat|'); do
        [[ $(cat "$stat" 2>/dev/null) != *" ("@(ifupdown|ib-hook)") S "* ]] || n=$((n + 1))
    done
    [ $n -ge "$1" ]
}
# shellcheck disable=SC2016 # for the inner shell
call() { # ENVIRONMENT…: the hook of ifupdown, on B
    nsenter --net=/run/netns/B unshare --mount sh -c 'mount --bind "$1" /sys && shift && exec "$@"' sh /run/sys/B \
        env -i "$@" "$HOOKS/ifupdown" </dev/null 9>&- &
    hooks+=($!)
}
numbers() { # BEGUN DONE: into the lock file, as an ib-hook leaves them
    printf '%-10d %20d %20d\n' 1 "$1" "$2" >"$lock"
}
all_ended() {
    local pid
    for pid in "${hooks[@]}"; do wait "$pid"; done
    hooks=()
}

hooks=()
make_hosts 2
system_config "" # there from now on, for all
hook B --apply --quiet
lock=$(find /run/ib-hook -name '*.lock')
ip -n B rule delete from 172.16.34.2
exec 9<>"$lock"

flock 9
for ((i = 0; i < HOOKS_AT_ONCE; i++)); do call IFACE=ib1 MODE=start; done
wait_until 20 waiting $HOOKS_AT_ONCE
flock -u 9
all_ended
read -r begun ended < <(ticket)
expect_equal "all runs ended well" "$begun" "$ended"
expect_at_least "of $HOOKS_AT_ONCE that waited a few have done it for all" "$begun" 4
numbers 1 1
expect_hook 0 B --check

# Numbers as a run that is under way leaves them: it began before the hook came, and may have looked before.
flock 9
numbers 5 4
call IFACE=ib1 MODE=start
wait_until 20 waiting 1
ip -n B rule delete from 172.16.34.2
numbers 5 5
flock -u 9
all_ended
expect_equal "one that was under way does not count" "6 6" "$(ticket)"
expect_hook 0 B --check

# It began after, but never ended: killed, or refused.
flock 9
call IFACE=ib1 MODE=start
wait_until 20 waiting 1
ip -n B rule delete from 172.16.34.2
numbers 7 6
flock -u 9
all_ended
expect_equal "nor does one that did not end well" "8 8" "$(ticket)"
expect_hook 0 B --check

# Nobody waits for the lock when it is done.
flock 9
call IFACE=ib1 MODE=start
wait_until 20 waiting 1
numbers 9 9
all_ended
expect_equal "whoever waits leaves while the lock is held" "9 9" "$(ticket)"
flock -u 9

# What the configuration is when it begins counts: others may have come after it was changed, and leave it to this one.
flock 9
call IFACE=ib1 MODE=start
wait_until 20 waiting 1
system_config "[interface ib1]
table=1942"
flock -u 9
all_ended
expect_contains "the configuration was changed while it waited" "$(own_rule 172.16.34.2 1942)" "$(our_rules B)"

# One with a configuration of its own does what nobody else does.
flock 9
with_sys B "$IB_HOOK" --apply --hook --config "$(config "[interface ib1]
table=1943")" </dev/null 9>&- &
hooks+=($!)
wait_until 20 waiting 1
numbers 20 20
flock -u 9
all_ended
expect_contains "a configuration of its own" "$(own_rule 172.16.34.2 1943)" "$(our_rules B)"

flock 9
call IFACE=ib1 MODE=stop
wait_until 20 waiting 1
ip -n B link set ib1 down
ip -n B address flush dev ib1
numbers 30 30
flock -u 9
all_ended
expect_equal "whoever knows what was taken down looks itself" "31 31" "$(ticket)"
expect_equal "and its rule is gone" "" "$(our_rules B | grep 172.16.34.2 || true)"
