#!/bin/bash
# Whatever libraries let the environment decide (callbacks, debugging): exit status and standard output are the same, and
# so is what is done.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
before=$(state B)

# session VARIABLE=VALUE…: what a whole session prints, and its exit statuses
session() {
    local arguments status
    for arguments in "--show" "--plan" "--plan --json" "--apply" "--check" "--check --json" "--apply --json" \
        "--show --json" "--apply --iface nosuch" "--undo --iface ib0" "--check --json" "--undo --json"; do
        status=0
        # shellcheck disable=SC2086 # a list of words
        on B env "$@" "$IB_HOOK" --sysfs /run/sys/B $arguments 2>>$work/err </dev/null || status=$?
        echo "$arguments: exit status $status"
        case $arguments in
            --apply) state B ;;
        esac
    done
}

expect_hook 0 B --undo # so that all sessions begin with what the last one leaves
: >$work/err
plain=$(session PLAIN=1)
expect_contains "a session works" "--check: exit status 0" "$plain"
expect_equal "the state after it" "$before" "$(state B)"
quiet=$(<$work/err)
for variables in NLCB=debug NLCB=verbose NLCB=default NLDBG=4 G_MESSAGES_DEBUG=all "G_DEBUG=resident-modules" \
    "NLCB=debug NLDBG=4 G_MESSAGES_DEBUG=all"; do
    : >$work/err
    # shellcheck disable=SC2086 # a list of words
    expect_equal "$variables: exit status and standard output" "$plain" "$(session $variables)"
    [[ $variables = *NLDBG* ]] || expect_equal "$variables: standard error" "$quiet" "$(<$work/err)"
    expect_equal "$variables: the state after --undo" "$before" "$(state B)"
done
