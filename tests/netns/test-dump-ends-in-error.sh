#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A dump that the kernel breaks off says so only at its end. What came of it is not the whole truth: nothing is changed
# for it, and standing rails stay.
. "$(dirname "$0")/lib.sh"
needs cc

make_hosts 2 B
cat >$work/broken-dump.c <<'END'
/* Of each answer to the request whose number is in FILE_NAME nothing arrives but the end, and that says -EMSGSIZE. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static int request;

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t (*real)(int, const struct msghdr *, int);

    *(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
    request = ((const struct nlmsghdr *)message->msg_iov[0].iov_base)->nlmsg_type;
    return real(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t (*real)(int, struct msghdr *, int), n;
    struct nlmsghdr *header = message->msg_iov[0].iov_base;
    FILE *file = fopen(FILE_NAME, "re");
    int error = -EMSGSIZE, broken = 0;

    *(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
    n = real(fd, message, flags);
    if (file) {
        (void)!fscanf(file, "%d", &broken);
        fclose(file);
    }
    for (int left = (int)n; request == broken && n > 0 && NLMSG_OK(header, left);
         header = NLMSG_NEXT(header, left)) {
        if (header->nlmsg_type == NLMSG_DONE)
            memcpy(NLMSG_DATA(header), &error, sizeof error);
        else if (header->nlmsg_type >= NLMSG_MIN_TYPE)
            header->nlmsg_type = NLMSG_NOOP;
    }
    return n;
}
END
cc -D_GNU_SOURCE -DFILE_NAME=\"$work/broken-dump\" -shared -fPIC -o $work/broken-dump.so $work/broken-dump.c -ldl

broken() { # REQUEST ARGUMENT… → exit status
    local status=0
    echo "$1" >$work/broken-dump
    on B env LD_PRELOAD=$work/broken-dump.so "$IB_HOOK" --sysfs /run/sys/B "${@:2}" \
        >$work/out 2>$work/err </dev/null || status=$?
    echo $status
}

# refused REQUEST WHAT ARGUMENT…: exit status 3, it names what could not be read, and nothing is changed
refused() {
    local before
    before=$(state B)
    expect_equal "the dump of $2 breaks off: exit status of ${*:3}" 3 "$(broken "$1" "${@:3}")"
    expect_contains "it says of what" "cannot read the $2" "$(<$work/err)"
    expect_contains "and why" "Message too long" "$(<$work/err)"
    expect_equal "the state" "$before" "$(state B)"
}

dumps=("18 interfaces" "22 addresses" "34 routing rules" "26 routes") # RTM_GETLINK, GETADDR, GETRULE, GETROUTE
before=$(state B)
expect_equal "without harm it works" 0 "$(broken 0 --apply)"
expect_equal "and back" 0 "$(broken 0 --undo)"
for dump in "${dumps[@]}"; do refused "${dump%% *}" "${dump#* }" --apply; done
expect_equal "no rail, no trace" "$before" "$(state B)"

expect_hook 0 B --apply
for dump in "${dumps[@]}"; do
    for action in --apply --undo --check --plan; do refused "${dump%% *}" "${dump#* }" $action; done
done
refused 30 neighbours --undo # RTM_GETNEIGH
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --check
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"
