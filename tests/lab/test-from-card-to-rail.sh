#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/from-card-to-rail.md, in its order: modules, Soft-RoCE, rping, ib_read_bw and NFS over RDMA print what the page
# shows. A command that ends with & is a server: the next one begins when it listens.
. "$(dirname "$0")/lib.sh"
. "$tests/../page.sh"
page=$top/packaging/doc/from-card-to-rail.md

vm_start A 2
vm_start B 2
for host in A B; do
    vm $host "$no_dad
        for i in 0 1; do ip address add 172.16.$(host_id $host).\$((i + 1))/16 dev ib\$i && ip link set ib\$i up || exit 1; done"
done

# shellcheck disable=SC2016 # for the shell in the guest
serve='( %s ) >/run/served 2>&1 &
    i=0; until rdma resource show cm_id | grep -q "LISTEN.* comm %s " || [ $i = 1000 ]; do i=$((i + 1)); sleep 0.01; done'

on_page() { # HOST COMMAND
    local host=B command=$2
    [ "$1" = memserver34 ] || host=A
    [[ $2 != rpc.nfsd* ]] || command+=" && echo Y >/proc/fs/nfsd/v4_end_grace" # or the first mount waits for 90 s
    # shellcheck disable=SC2059 # a format of our own
    [[ $2 != *'&' ]] || command=$(printf "$serve" "${2%&}" "${2%% *}")
    vm $host "$command"
}

# vm's output goes by descriptors of this shell, so no part of it may run in the subshell that reads another one's first words.
vm_ready A B
vm B "mkdir -p /run/export; echo it is there >/run/export/file; mkdir -p /etc"
tell_story "$page" "in virtual machines" on_page
expect_at_least "commands that ran" 25 $told
expect_equal "the client reads the server's file" "it is there" "$(vm A 'cat /mnt/file')"
