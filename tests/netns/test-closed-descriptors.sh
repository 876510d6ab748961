#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Standard input, output or error of the command and of each hook may be closed: what is opened in their place is no
# terminal. All works, the exit status is the same, and no message ends up in a file or a socket.
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

files() { # all that is remembered
    find /run/ib-hook -type f -exec cat '{}' +
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

# So it is with each hook. There is no journal here: what a hook has to say would be for standard error.
[ ! -e /dev/log ] || skip "somebody reads /dev/log here"
while read -r hook; do
    program=${hook##*/}
    for fds in 0 1 2 "0 1" "0 2" "1 2" "0 1 2"; do
        rm -rf /run/ib-hook # with the holds of --undo
        status=0
        # shellcheck disable=SC2016,SC2086 # for the inner shell; words
        with_sys B env -i PATH="$PATH" sh -c 'for fd in '"$fds"'; do eval "exec $fd>&-"; done; exec env "$@"' - \
            $hook >$work/out 2>$work/err </dev/null || status=$?
        expect_equal "descriptors $fds closed, $program: exit status" 0 $status
        expect_equal "descriptors $fds closed, $program: the state" "$applied" "$(state B)"
        expect_equal "descriptors $fds closed, $program: the files" "$files_applied" "$(files)"
        expect_equal "descriptors $fds closed, $program: standard output" "" "$(<$work/out)"
        [[ $fds == *2 ]] ||
            expect_contains "descriptors $fds closed, $program: it is said" "ib1: added route" "$(<$work/err)"
        hook B --undo >/dev/null
    done
done <<END
$HOOKS/nm-dispatcher ib1 up
IFACE=ib1 OperationalState=routable $HOOKS/networkd-dispatcher
IFACE=ib1 MODE=start $HOOKS/ifupdown
$HOOKS/rhel-ifcfg ib1
END

# Nothing but /dev/null takes their place.
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
while read -r program; do
    # shellcheck disable=SC2016,SC2086 # for the inner shell; words
    on B strace -o $work/trace -e trace=socket,openat,open sh -c 'exec "$@" <&- >&- 2>&-' - $program
    low=$(sed -n '/"\/dev\/null"/,$p' $work/trace | { grep ' = [012]$' || true; })
    expect_equal "$program: three descriptors take their place" 3 "$(wc -l <<<"$low")"
    expect_equal "$program: and all are /dev/null" 3 "$(grep -c '"/dev/null"' <<<"$low")"
done <<END
$IB_HOOK --sysfs /run/sys/B --apply --verbose
$HOOKS/nm-dispatcher ib1 up
$HOOKS/networkd-dispatcher
$HOOKS/ifupdown
$HOOKS/rhel-ifcfg ib1
END
