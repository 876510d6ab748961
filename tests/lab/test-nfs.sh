#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# NFS over RDMA from the server's second NIC, to the client's first and to its second: all bytes go by these.
. "$(dirname "$0")/lib.sh"

make_hosts 2
for host in A B; do sysctl_set $host ib0 ib1 arp_filter=1; done # only ib0 answers, for both: no chance in it

size=8388608
vm B "modprobe -a nfsd rpcrdma
    mount -t nfsd nfsd /proc/fs/nfsd
    mkdir -p /run/export && head -c $size /dev/urandom >/run/export/file
    echo '/run/export 172.16.0.0/16(ro,fsid=0,insecure,no_subtree_check)' >/etc/exports
    exportfs -ra && rpc.mountd -N 2 -N 3 --no-udp && rpc.nfsd -N 3 --rdma=20049 2
    echo Y >/proc/fs/nfsd/v4_end_grace # or it makes clients wait for 90 s
    grep -q rdma /proc/fs/nfsd/portlist" || fail "the NFS server starts"
sum=$(vm B 'md5sum </run/export/file')
vm A "modprobe -a nfsv4 rpcrdma; mkdir -p /mnt"

mount_it="mount.nfs $(address B 1):/ /mnt -o vers=4.2,proto=rdma,port=20049"
expect_equal "before: it cannot be mounted from the second NIC" 137 \
    "$(vm A "timeout -s KILL 4 $mount_it 2>/dev/null; echo \$?" | tail -n 1)"
for host in A B; do hook $host --apply >/dev/null; done

# A mount cannot choose its source. What goes to B's second NIC leaves through the first, or as a route says.
read_file() { # leaves the NICs that carried it in $way: all that had more than 100 of its 8192 packets
    local a b
    b=$(counters B) a=$(counters A)
    vm A "timeout -s KILL 20 $mount_it || exit 1
        grep ' /mnt ' /proc/mounts; md5sum </mnt/file; umount /mnt" >"$work/mount" || fail "mount" "$(<"$work/mount")"
    b+=$'\n'$(counters B) a+=$'\n'$(counters A)
    expect_contains "it is mounted over RDMA" "proto=rdma" "$(<"$work/mount")"
    expect_equal "and what is read is right" "$sum" "$(tail -n 1 "$work/mount")"
    way="$(received 100 "$a")>$(sent 100 "$b")"
}
sent() { used "$1" "$(awk '{ print $1, $2, $3, $3 }' <<<"$2")"; }
received() { used "$1" "$(awk '{ print $1, $2, $4, $4 }' <<<"$2")"; }

read_file
expect_equal "the bytes go by A's first NIC and B's second" "ib0>ib1" "$way"
vm A "ip route add $(address B 1)/32 dev ib1 src $(address A 1)"
read_file
expect_equal "with a route by A's second NIC, by that one and B's second" "ib1>ib1" "$way"
