#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever libraries, some of them before main(), let the environment decide: exit status, standard output, what is done
# and how long it takes are the same. It is gone before they look.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
before=$(state B)

# session VARIABLE=VALUE…: what a whole session prints, and its exit statuses
session() {
    local arguments status
    for arguments in "--show" "--plan" "--plan --json" "--apply" "--check" "--check --json" "--apply --json" \
        "--show --json" "--apply --iface nosuch" "--undo --iface ib0" "--check --json" "--undo --json"; do
        status=0
        # shellcheck disable=SC2086 # a list of words
        timeout -s KILL 20 nsenter --net=/run/netns/B env "$@" "$IB_HOOK" --sysfs /run/sys/B $arguments \
            2>>$work/err </dev/null || status=$?
        echo "$arguments: exit status $status"
        case $arguments in
            --apply) state B ;;
        esac
    done
}

# Files that a library would read, and a module that it would load.
mkdir -p $work/evil/C/LC_MESSAGES $work/evil/net
for fifo in classid pktloc psched net/psched gconv-modules locale-archive; do mkfifo $work/evil/$fifo; done

huge=$(head -c 131060 /dev/zero | tr '\0' x) # the longest that the kernel takes is 128 KiB, with name and end
expect_equal "a variable of 128 KiB is as long as one can be" 1 \
    "$(env HUGE="$huge$huge" true >/dev/null 2>&1 && echo 0 || echo 1)"

environments="\
NLCB=debug
NLCB=nonsense NLDBG=9
NLSYSCONFDIR=$work/evil PROC_NET_PSCHED=$work/evil/psched HZ=0 TICKS_PER_USEC=nan
PROC_ROOT=$work/evil
G_MESSAGES_DEBUG=all G_MESSAGES_PREFIXED=all DEBUG_INVOCATION=1
G_DEBUG=fatal-warnings,fatal-criticals,gc-friendly,resident-modules,help
G_SLICE=debug-blocks,always-malloc,help G_RANDOM_VERSION=nonsense
CHARSET=UTF-16 GCONV_PATH=$work/evil OUTPUT_CHARSET=UTF-16 G_FILENAME_ENCODING=UTF-16 G_BROKEN_FILENAMES=1
LC_ALL=tr_TR.UTF-8 LANG=tr_TR LANGUAGE=tr LOCPATH=$work/evil NLSPATH=$work/evil/%N TEXTDOMAINDIR=$work/evil
LC_ALL=../../../../run/test/evil LC_CTYPE=%n%n%n LC_NUMERIC=de_DE.UTF-8
MALLOC_PERTURB_=255 MALLOC_CHECK_=3 MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=0 MALLOC_TOP_PAD_=1
GLIBC_TUNABLES=glibc.malloc.perturb=255:glibc.malloc.check=3:glibc.malloc.tcache_count=0
LD_BIND_NOW=1 LD_WARN=1 LD_LIBRARY_PATH=/nowhere LD_PRELOAD=
POSIXLY_CORRECT=1 TZ=:$work/evil/classid TZDIR=$work/evil TMPDIR=/nowhere HOME=/nowhere PATH= SHELL=/nowhere
DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere LIBNM_CLIENT_DEBUG=trace,stdout LIBNM_USE_SESSION_BUS=1 GIO_MODULE_DIR=$work/evil
NOTIFY_SOCKET=/nowhere WATCHDOG_USEC=1 WATCHDOG_PID=1 TERM=%n NO_COLOR=%s IFACE=../.. MODE=stop OperationalState=off
A=$huge B=$huge C=$huge D=$huge E=$huge F=$huge G=$huge H=$huge"

expect_hook 0 B --undo # so that all sessions begin with what the last one leaves
: >$work/err
plain=$(session PLAIN=1)
expect_contains "a session works" "--check: exit status 0" "$plain"
expect_equal "the state after it" "$before" "$(state B)"
quiet=$(<$work/err)
n=0
while IFS= read -r variables; do
    : >$work/err
    what=${variables:0:60}
    # shellcheck disable=SC2086 # a list of words
    expect_equal "$what: exit status and standard output" "$plain" "$(session $variables)"
    expect_equal "$what: standard error" "$quiet" "$(<$work/err)"
    expect_equal "$what: the state after --undo" "$before" "$(state B)"
    n=$((n + 1))
done <<<"$environments"
ok "$n environments, twelve runs in each"

# The hooks, which nobody looks after: each of them in each environment. Where one hung, its caller would.
heard() { [ "$(journal "$from" | wc -l)" -ge 2 ]; }

# attacked WHAT PROGRAM VARIABLE=VALUE…: it does and says what it does in any environment; leaves that in $said
attacked() {
    local from start status=0 ms
    rm -rf /run/ib-hook # with the holds of --undo
    from=$(($(journal_lines) + 1)) start=$EPOCHREALTIME
    with_sys B timeout -s KILL 20 env -i IFACE=ib1 MODE=start OperationalState=routable "${@:3}" "$HOOKS/$2" ib1 up \
        </dev/null >$work/said 2>&1 || status=$?
    ms=$(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))
    expect_equal "$1: $2 ends with 0, and says nothing to its caller" 0 "$status$(<$work/said)"
    [ $ms -lt 5000 ] || fail "$1: $2: expected an end within 5 s, took $ms ms"
    expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    wait_until 5 heard
    said=$(journal "$from")
    hook B --undo >/dev/null
}

for program in nm-dispatcher networkd-dispatcher ifupdown rhel-ifcfg; do
    attacked "a plain environment" $program PLAIN=1
    usual=$said
    while IFS= read -r variables; do
        # shellcheck disable=SC2086 # a list of words
        attacked "${variables:0:60}" $program $variables
        expect_equal "${variables:0:60}: the journal" "$usual" "$said"
    done <<<"$environments"
    attacked "the worst of all that at once" $program NLSYSCONFDIR=$work/evil PROC_NET_PSCHED=$work/evil/psched NLDBG=9 NLCB=debug \
        G_MESSAGES_DEBUG=all G_DEBUG=fatal-warnings CHARSET=UTF-16 GCONV_PATH=$work/evil A="$huge" B="$huge" C="$huge" \
        CONNECTION_ID=$'\e[2J\nMESSAGE=evil' nonsense=
    expect_equal "the worst of all that at once: the journal" "$usual" "$said"
done
expect_lacks "what the environment says is in no message" evil "$(journal 1)"
ok "$((n + 1)) environments, four hooks in each"

# What it reads itself is what is left, and nothing else.
expect_equal "variables that the program knows" "IFACE MODE NOTIFY_SOCKET NO_COLOR OperationalState TERM WATCHDOG_PID WATCHDOG_USEC" \
    "$(grep -oh 'getenv([a-z, ]*"[A-Za-z_]*"' "$top"/core/*/*.c | grep -o '"[^"]*"' | tr -d '"' | sort -u | xargs)"
