#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A caller may leave any limit, umask and set of signals behind. A hook ends with 0 all the same, each rail is whole or
# absent, it is said if it is absent, and the next run, by whomever, finds nothing in its way.
. "$(dirname "$0")/lib.sh"
needs prlimit

make_hosts 2 B
before=$(state B)
journal_start

# run PROGRAM…: on B, for no more than 15 s; leaves its $status. Its output goes into a pipe, which has no limits.
run() {
    status=0
    with_sys B timeout -s KILL 15 "$@" </dev/null 2>&1 | cat >$work/said || status=${PIPESTATUS[0]}
}

fresh() { # where nothing could be remembered, old sysctl values are lost
    hook B --undo >/dev/null 2>&1
    rm -rf /run/ib-hook
    on B sh -c "for key in $CONF/ib[01]/arp_announce $CONF/ib[01]/arp_ignore; do echo 0 >\$key; done"
    expect_equal "$1: all is undone" "$before" "$(state B)"
}

heard() { grep -q cannot $work/said || journal "$1" | grep -c '^[0-4] ' >/dev/null; } # FROM: a warning, what it cannot do

n=0 n_unstarted=0
# limited WHAT PROGRAM…: a hook, called by this program
limited() {
    local from rails
    n=$((n + 1))
    run "${@:2}" "$HOOKS/nm-dispatcher" ib1 hostname # an event that is none for us
    if [ "$status" != 0 ]; then
        n_unstarted=$((n_unstarted + 1))
        echo "# $1: no program with these libraries gets as far as its beginning: $status $(<$work/said)"
        return
    fi
    from=$(($(journal_lines) + 1))
    run "${@:2}" "$HOOKS/nm-dispatcher" ib1 up
    rails="$(rail ib0 941 172.16.34.1) $(rail ib1 942 172.16.34.2)"
    expect_equal "$1: exit status" 0 "$status"
    [[ $rails != *torn* ]] || fail "$1: a rail is $rails" "$(<$work/said)"
    ok "$1: $rails"
    [ "$rails" = "whole whole" ] || wait_until 5 heard "$from"
    manager_calls B "$HOOKS/nm-dispatcher" ib1 up
    expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    fresh "$1"
}

for files in 3 4 5 6 8 16; do limited "$files descriptors" prlimit --nofile=$files; done
for kilobytes in 4000 8000 10000 12000 16000 24000; do
    limited "$kilobytes kB of address space" prlimit --as=$((kilobytes * 1024))
done
for kilobytes in 0 64 128 256 512 1024; do limited "$kilobytes kB of data" prlimit --data=$((kilobytes * 1024)); done
for kilobytes in 64 128 256; do limited "$kilobytes kB of stack" prlimit --stack=$((kilobytes * 1024)); done
for limit in fsize=0 fsize=1 fsize=100 nproc=0 memlock=0 msgqueue=0 sigpending=0 locks=0 nice=0 rtprio=0 rttime=1 cpu=1 core=0; do
    limited "$limit" prlimit --$limit
done
limited "all of them" prlimit --nofile=16 --stack=131072 --fsize=0 --nproc=0 --memlock=0 --sigpending=0 --cpu=1
limited "all signals blocked" env --block-signal
limited "all signals ignored" env --ignore-signal
# shellcheck disable=SC2016 # for the inner shell
for mask in 0 0777 0077 0666; do
    limited "umask $mask" sh -c 'umask '$mask' && exec "$@"' -
    run sh -c "umask $mask && exec \"\$@\"" - "$IB_HOOK" --apply
    expect_equal "umask $mask: exit status of --apply" 0 "$status"
    expect_equal "umask $mask: who may do what in /run/ib-hook" "600 lock 644 state 755" \
        "$(find /run/ib-hook ! -type l -printf '%m %f\n' | sed 's/ [^.]*\./ /; s/ ib-hook//' | sort | xargs)"
    hook B --undo >/dev/null
    fresh "umask $mask"
done
[ $n_unstarted -le 10 ] || fail "$n_unstarted of $n limits are too small for any program: nothing was tried"
ok "$n limits, $n_unstarted of them too small for the loader"

# The command says what it could not do, and undoes what it has begun.
for limit in fsize=0 fsize=30; do
    run prlimit --$limit "$IB_HOOK" --apply
    expect_equal "$limit: --apply does what can be done" "0 whole whole" \
        "$status $(rail ib0 941 172.16.34.1) $(rail ib1 942 172.16.34.2)"
    expect_contains "$limit: and says what it cannot" "File too large; old sysctl values and holds are not remembered" "$(<$work/said)"
    fresh "$limit"
done
status=0
hook B --apply >/dev/null
with_sys B prlimit --fsize=10 "$IB_HOOK" --show 2>&1 >$work/short </dev/null | cat >$work/said || status=${PIPESTATUS[0]}
expect_equal "output into a file that may not grow: exit status" 3 "$status"
expect_contains "it is said" "cannot write to standard output" "$(<$work/said)"
fresh "output into a file"

# A report of what is wrong that was cut is no report: a program that keeps the last one must not take it for one.
hook B --apply >/dev/null
ip -n B rule del priority 1941 from 172.16.34.2
status=0
with_sys B "$IB_HOOK" --check --json 2>$work/said >/dev/full </dev/null || status=$?
expect_equal "findings on a full disk: exit status" 3 "$status"
for i in {10..40}; do ip -n B address add "172.16.34.$i/16" dev ib1; done
status=0
with_sys B "$IB_HOOK" --plan 2>$work/said >$work/plan </dev/null
expect_at_least "a plan longer than the buffer of what is printed" 8192 "$(wc -c <$work/plan)"
with_sys B "$IB_HOOK" --plan 2>$work/said >/dev/full </dev/null || status=$?
expect_equal "a long plan on a full disk: exit status" 3 "$status"
for i in {10..40}; do ip -n B address del "172.16.34.$i/16" dev ib1; done
fresh "findings on a full disk"

# --probe tells a limit from a privilege that it lacks.
: >$work/probes
hook B --apply >/dev/null
for files in {6..16}; do
    run prlimit --nofile="$files" "$IB_HOOK" --probe 172.16.16.1 --count 1
    cat $work/said >>$work/probes
done
expect_contains "--probe names the limit" "--probe cannot open a packet socket: Too many open files: raise the limit" "$(<$work/probes)"
expect_equal "and accuses no privilege" "" "$(grep CAP_NET_RAW $work/probes || true)"
