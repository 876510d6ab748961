# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests of faults share, over the hosts of ../netns/lib.sh: every system call of a program, one after the other,
# fails or is the last one.
. "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"
needs strace
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

# How each call can fail, in turn where there are several. What is not here cannot fail, or belongs to the loader.
declare -A ERRORS=(
    [socket]="EMFILE EPERM" [bind]="ENOMEM EADDRINUSE" [setsockopt]="EPERM" [getsockname]="ENOBUFS"
    [sendmsg]="ENOBUFS EPERM ENODEV EINTR EAGAIN ENOMEM" [recvmsg]="EINTR ENOBUFS ENOMEM EAGAIN"
    [sendto]="ENOBUFS EAGAIN ENETDOWN" [recvfrom]="EINTR ENOBUFS"
    [openat]="EMFILE ENFILE ENOMEM EINTR" [read]="EIO EINTR" [write]="ENOSPC EINVAL EIO EPERM" [pwrite64]="ENOSPC EIO"
    [getdents64]="EIO" [mkdir]="ENOSPC EROFS" [fchmod]="EPERM" [flock]="EINTR ENOLCK EBADF"
    [renameat]="ENOSPC EIO" [unlinkat]="EROFS" [fsync]="EIO" [mmap]="ENOMEM" [capget]="EPERM" [capset]="EPERM"
    [prctl]="EINVAL" [ioctl]="ENOTTY" [poll]="EINTR ENOMEM" [signalfd4]="EMFILE" [alarm]=""
    [execve]="ENOENT ENOMEM EACCES" [connect]="EAGAIN ECONNREFUSED"
)

# calls TRACE [loaded] → one line "NAME N" per call but the loader's, where N counts the calls of that name from the first
calls() {
    sed 's/^[0-9]* *//' "$1" | sed -n 's/^\([a-z0-9_]*\)(.*/\1/p' |
        awk -v known=" ${!ERRORS[*]} " -v loaded="${2:-}" 'BEGIN { n["execve"] = -1 } # strace does not count the first one
            { n[$1]++ } $1 == "prlimit64" { loaded = 1 }
            loaded && index(known, " " $1 " ") { print $1, n[$1] }
            $1 == "execve" { loaded = 0 } # what a hook executes has a loader of its own'
}

# spread N: of each name at most N lines, evenly spread
spread() {
    awk -v max="$1" '{ line[NR] = $0; name[NR] = $1; total[$1]++ }
        END { for (i = 1; i <= NR; i++) { k = seen[name[i]]++; t = total[name[i]]
            if (t <= max || int(k * max / t) != int((k - 1) * max / t) || k == 0) print line[i] } }'
}

# error_for NAME N: one of its errors
error_for() {
    local errors
    read -r -a errors <<<"${ERRORS[$1]}"
    echo "${errors[$2 % ${#errors[@]}]}"
}

# traced INJECTION PROGRAM…: on B; leaves its output in $work/out and $work/err, and its status in $status
status=0
traced() {
    status=0
    with_sys B strace -f -qq -o $work/trace ${1:+-e "inject=$1"} "${@:2}" </dev/null >$work/out 2>$work/err || status=$?
}

rails() {
    echo "ib0 $(rail ib0 941 172.16.34.1), ib1 $(rail ib1 942 172.16.34.2)"
}
