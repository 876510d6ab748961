# shellcheck shell=bash disable=SC2164 # lib.sh ends it at the first failure
# SPDX-License-Identifier: GPL-2.0-or-later
# Where no user namespaces are allowed, and in a container without the right to make any: what cannot run says so, and what to
# do about it. The limit is set in a user namespace of this case's own, which has all users: it ends with it.
add_person
clone /home/person/ib-hook
chown -R person: /home/person/ib-hook
cd /home/person/ib-hook
packaging/deps.sh build tests
unset CI

forbidden() { # COMMAND, a line for the shell: run by root of a user namespace in which no others can be made
    local pipe status=0
    pipe=$(mktemp -d)
    mkfifo "$pipe/ready" "$pipe/go"
    # shellcheck disable=SC2016 # for the inner shell
    unshare --user sh -euc 'echo $$ >"$1/ready"; read -r _ <"$1/go"
        exec bash -euc "echo 0 >/proc/sys/user/max_user_namespaces; $2"' - "$pipe" "$1" &
    local child=$! pid
    read -r pid <"$pipe/ready"
    echo '0 0 65536' >"/proc/$pid/uid_map"
    echo '0 0 65536' >"/proc/$pid/gid_map"
    echo go >"$pipe/go"
    wait $child || status=$?
    rm -r "$pipe"
    return $status
}

for who in person container; do
    case $who in
        person) command="$(declare -f as_person); as_person 'make demo'" ;;
        container) command="cd /home/person/ib-hook && setpriv --bounding-set -sys_admin,-net_admin make demo" ;;
    esac
    if forbidden "$command" >demo.log 2>&1; then fail "make demo passed for $who: $(<demo.log)"; fi
    expect 'The demonstration cannot run: ' demo.log
    expect 'be root \(in a container: one with --privileged\), or allow user namespaces' demo.log
done
forbidden "$(declare -f as_person); as_person 'make check'" >check.log 2>&1 || { cat check.log && fail "make check"; }
expect '^skipped [0-9]+: no private network namespaces' check.log
expect "^[0-9]+ passed, 0 failed, $(find tests/netns -name 'test-*.sh' | wc -l) skipped$" check.log
seen "make check: $(tail -n 1 check.log)"
