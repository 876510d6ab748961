#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A copy of /sys may come from anybody. Its links lead nowhere but into itself, its pipes and devices are not opened, its
# names reach no terminal: neither root's files nor another host's say anything.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
mkdir $work/host
cp -a /run/sys/B $work/host/sys
port=sys/class/infiniband/mlx5_0/ports/1
echo "4: secret" >$work/secret
chmod 0600 $work/secret
mkdir -p $work/elsewhere/mlx5_9/ports/1
echo "1: DOWN" >$work/elsewhere/mlx5_9/ports/1/state

n=0
# hostile WHAT COMMAND: what is said of a tree that this is done to
hostile() {
    local tree=$work/tree status=0
    n=$((n + 1))
    rm -rf $tree
    cp -a $work/host $tree
    (cd $tree && eval "$2")
    on B strace -qq -f -o $work/trace -e trace=openat,open timeout -s KILL 10 "$IB_HOOK" --check --json --sysfs $tree/sys \
        >$work/out 2>$work/err </dev/null || status=$?
    [ $status -le 1 ] || fail "$1: exit status $status" "$(<$work/err)"
    jq -e 'has("findings")' $work/out >/dev/null || fail "$1: no JSON" "$(<$work/out)"
    on B timeout -s KILL 10 "$IB_HOOK" --show --verbose --sysfs $tree/sys >>$work/out 2>&1 </dev/null || fail "$1: --show: $?"
    expect_equal "$1: nothing of others is shown" 0 "$(grep -ac 'secret\|mlx5_9' $work/out || true)"
    expect_lacks "$1: nothing of others is opened" "$work/secret" "$(<$work/trace)"
    expect_equal "$1: nor is a pipe or a device" "" "$(sed -n '/\(state\|zero\|kmsg\)".* = [0-9]/p' $work/trace | grep "${3:-nothing}" || true)"
}

hostile "a file is a link out of it" "ln -sf ../../../../../../../secret $port/state"
hostile "by its full path" "ln -sf $work/secret $port/state"
hostile "a link to a link" "ln -s $work/secret sys/x; ln -sf /run/test/tree/sys/x $port/state"
hostile "a directory is one" "rm -r sys/class/infiniband; ln -s $work/elsewhere sys/class/infiniband"
hostile "proc is one" "ln -s /proc proc"
hostile "a link to itself" "ln -sf state $port/state"
hostile "a directory that holds itself" "rm -r sys/class/infiniband; ln -s . sys/class/infiniband"
hostile "a pipe" "rm $port/state; mkfifo $port/state" mlx5_0/ports/1/state
hostile "a link to a pipe" "rm $port/state; mkfifo sys/pipe; ln -s ../../../../../pipe $port/state" mlx5_0/ports/1/state
if [ "$rooted" = yes ]; then
    hostile "a device" "rm $port/state; mknod $port/state c 1 5" mlx5_0/ports/1/state
fi
hostile "a link to a device" "ln -sf /dev/zero $port/state" zero
hostile "a huge file" "truncate -s 64G $port/state"
hostile "a file that is a directory" "rm $port/state; mkdir $port/state"
hostile "a file in the place of a directory" "rm -r $port; touch $port"
hostile "a hundred thousand devices" "cd sys/class/infiniband; seq -f m%g 100000 | xargs mkdir"
hostile "names" "mkdir -p sys/class/infiniband/\$'m\e[2J\n%n'/ports/1 sys/class/net/'..x'; echo x >sys/class/net/..x/ifindex"
ok "$n trees"

# A link inside is what /sys is full of.
rm -rf $work/tree
cp -a $work/host $work/tree
mkdir $work/tree/sys/devices
mv $work/tree/sys/class/infiniband/mlx5_0 $work/tree/sys/devices
ln -s ../../devices/mlx5_0 $work/tree/sys/class/infiniband/mlx5_0
expect_equal "a link inside is followed" "$(on B "$IB_HOOK" --show --verbose --sysfs $work/host/sys)" \
    "$(on B "$IB_HOOK" --show --verbose --sysfs $work/tree/sys)"
