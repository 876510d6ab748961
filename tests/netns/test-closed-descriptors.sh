#!/bin/bash
# Standard input, output or error may be closed: what is opened in their place is no terminal. All works, the exit status
# is the same, and no message ends up in a file or a socket.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
# A warning to put somewhere: undo goes on without a configuration.
bad=$(config 'nonsense')
before=$(state B)

# closed CLOSED ARGUMENT…: ends as with all open
closed() {
    local status=0
    # shellcheck disable=SC2016 # for the inner shell
    on B sh -c 'for fd in '"$1"'; do eval "exec $fd>&-"; done; exec "$@"' - \
        "$IB_HOOK" --sysfs /run/sys/B "${@:2}" >$work/out 2>$work/err </dev/null || status=$?
    [ $status = 0 ] || fail "descriptors $1 closed, ${*:2}: expected exit status 0, got $status" "$(<$work/out)
$(<$work/err)"
    ok "descriptors $1 closed: ${*:2}"
}

files() { # all that is remembered, but for the number of the process that did it last
    find /run/ib-hook -name '*.lock' | while read -r file; do
        [[ $(<"$file") =~ ^[0-9]+\ +0\ +0$ ]] || echo "in the lock: $(<"$file")"
    done
    find /run/ib-hook -type f ! -name '*.lock' -exec cat '{}' +
}

expect_hook 0 B --apply
applied=$(state B)
files_applied=$(files)
hook B --config "$bad" --undo >/dev/null 2>&1
files_undone=$(files)

for fds in 0 1 2 "0 1" "0 2" "1 2" "0 1 2"; do
    closed "$fds" --apply --verbose
    expect_equal "descriptors $fds closed: the state after --apply" "$applied" "$(state B)"
    expect_equal "descriptors $fds closed: the files after --apply" "$files_applied" "$(files)"
    for action in --show --check --plan "--apply --json"; do
        # shellcheck disable=SC2086 # a list of words
        closed "$fds" $action
    done
    closed "$fds" --config "$bad" --undo
    expect_equal "descriptors $fds closed: the state after --undo" "$before" "$(state B)"
    expect_equal "descriptors $fds closed: the files after --undo" "$files_undone" "$(files)"
done

# Nothing but /dev/null takes their place.
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
# shellcheck disable=SC2016 # for the inner shell
on B strace -o $work/trace -e trace=socket,openat,open sh -c 'exec "$@" <&- >&- 2>&-' - \
    "$IB_HOOK" --sysfs /run/sys/B --apply --verbose
low=$(sed -n '/"\/dev\/null"/,$p' $work/trace | grep ' = [012]$')
expect_equal "three descriptors take their place" 3 "$(wc -l <<<"$low")"
expect_equal "and all are /dev/null" 3 "$(grep -c '"/dev/null"' <<<"$low")"
