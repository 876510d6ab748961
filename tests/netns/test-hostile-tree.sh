#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A copy of /sys, and what lies beside it, may come from anybody. Root opens nothing for its maker that the maker could not
# open: its links lead nowhere but into itself, its pipes and devices are not opened, files of root's in it are not read,
# and no name in it moves a terminal. The same before Linux 5.6, where the kernel does not keep links inside. A file that is
# swapped for a link meanwhile: unit/test_sysfs.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
hook B --apply >/dev/null
mkdir $work/host
cp -a /run/sys/B $work/host/sys
port=sys/class/infiniband/mlx5_0/ports/1
echo "2: Polling" >$work/host/$port/phys_state # of such a port the state is shown
echo "4: secret" >$work/secret
chmod 0600 $work/secret
mkdir -p $work/elsewhere/mlx5_9/ports/1
echo "1: DOWN" >$work/elsewhere/mlx5_9/ports/1/state
mkdir -m 0700 $work/private # what it would be asked for, beside sys
printf '#!/bin/sh\nip rule add from 172.16.34.1 table 941\n' >$work/private/secret.sh
chmod 0755 $work/private/secret.sh
printf 'ib0=secret\n' >$work/private/ifstate
mkfifo $work/private/state

n=0
# looks WHAT OPTION…: what ib-hook says of $tree, with strace's options
looks() {
    local status=0
    on B strace --seccomp-bpf -qq -f -o $work/trace -e trace=openat,open,openat2 "${@:2}" timeout -s KILL 10 "$IB_HOOK" --check --json \
        --sysfs $tree/sys >$work/out 2>$work/err </dev/null || status=$?
    [ $status -le 1 ] || fail "$1: exit status $status" "$(<$work/err)"
    jq -e 'has("findings")' $work/out >/dev/null || fail "$1: no JSON" "$(<$work/out)"
    on B timeout -s KILL 10 "$IB_HOOK" --show --verbose --sysfs $tree/sys >>$work/out 2>&1 </dev/null || fail "$1: --show: $?"
    expect_equal "$1: nothing of others is shown" 0 "$(grep -ac 'secret\|mlx5_9' $work/out || true)"
    grep -q O_PATH $work/trace || fail "$1: the trace shows what is opened"
    expect_equal "$1: no name in it is opened, but looked at, and from its directory" "" \
        "$(grep "$tree\|\"class/\|\"etc/\|\"run/" $work/trace | grep -v "O_PATH" || true)"
}
# hostile WHAT COMMAND [FILE]: what is said of a tree that this is done to; this file of it is not opened
hostile() {
    tree=$work/tree
    n=$((n + 1))
    rm -rf $tree
    cp -a $work/host $tree
    (cd $tree && eval "$2")
    looks "$1"
    expect_lacks "$1: and links are kept inside" openat2 "$(grep 'openat2(' $work/trace | grep -v RESOLVE_BENEATH || true)"
    [ -z "$(find $tree -type l)" ] || looks "$1, with an old kernel" -e inject=openat2:error=ENOSYS
}

tree=$work/host
cp $work/secret $tree/$port/state
on B "$IB_HOOK" --check --json --sysfs $tree/sys >$work/out || true
expect_contains "what it reads there is shown" secret "$(<$work/out)"
echo "4: ACTIVE" >$tree/$port/state

hostile "a file is a link out of it" "ln -sf ../../../../../../../secret $port/state"
hostile "by its full path" "ln -sf $work/secret $port/state"
hostile "into another's directory beside sys" "ln -sf ../../../../../../secret $port/state; mv $work/secret .; ln -sf tree/secret $work/secret"
rm $work/secret
cp -a $tree/secret $work/secret
hostile "a link to a link" "ln -s $work/secret sys/x; ln -sf /run/test/tree/sys/x $port/state"
hostile "a directory is one" "rm -r sys/class/infiniband; ln -s $work/elsewhere sys/class/infiniband"
hostile "proc is one" "ln -s /proc proc"
hostile "a directory of scripts is one" "mkdir etc; ln -s $work/private etc/cron.d"
hostile "etc is one" "mkdir $work/private/cron.d; cp -a $work/private/secret.sh $work/private/cron.d; ln -s $work/private etc"
hostile "run is one" "ln -s $work/private run"
hostile "a directory of pipes is one" "mkdir etc; ln -s $work/private etc/cron.d; rm $port/state; ln -s $work/private/state $port/state"
hostile "a link to itself" "ln -sf state $port/state"
hostile "a directory that holds itself" "rm -r sys/class/infiniband; ln -s . sys/class/infiniband"
hostile "a pipe" "rm $port/state; mkfifo $port/state"
hostile "pipes beside it" "mkdir -p etc/cron.d run/network; mkfifo etc/cron.d/x run/network/ifstate"
hostile "a link to a pipe" "rm $port/state; mkfifo sys/pipe; ln -s ../../../../../pipe $port/state"
hostile "a link to a device" "ln -sf /dev/zero $port/state"
hostile "a link to what the process has open" "ln -sf /proc/self/exe $port/state"
hostile "a huge file" "truncate -s 64G $port/state"
hostile "a file that is a directory" "rm $port/state; mkdir $port/state"
hostile "a file in the place of a directory" "rm -r $port; touch $port"
hostile "a hundred thousand devices" "cd sys/class/infiniband; seq -f m%g 100000 | xargs mkdir"
hostile "names" "mkdir -p sys/class/infiniband/\$'m\e[2J\n%n'/ports/1 sys/class/net/'..x'; echo x >sys/class/net/..x/ifindex"
if [ "$rooted" = yes ]; then
    hostile "devices" "rm $port/state; mknod $port/state c 1 5; mkdir -p etc/cron.d; mknod etc/cron.d/x c 1 3"
    # What root could read in a tree of somebody else's, and its maker could not.
    hostile "a hard link to a file of root's" "ln -f $work/secret $port/state; chown nobody . sys"
    hostile "a directory of root's in it" "mkdir -m 0700 closed; cp $work/secret closed/x; chmod 0644 closed/x; mv closed sys; ln -sf ../../../../../closed/x $port/state; chown nobody . sys"
    hostile "a directory that all may write to" "cp -a $work/secret sys/x; ln -sf ../../../../../x $port/state; chmod 1777 sys"
    hostile "scripts of root's in it" "mkdir -m 0700 -p etc/cron.d; cp -a $work/private/secret.sh etc/cron.d; chown nobody ."
fi
ok "$n trees"

# A link inside is what /sys is full of.
rm -rf $work/tree
cp -a $work/host $work/tree
mkdir $work/tree/sys/devices
mv $work/tree/sys/class/infiniband/mlx5_0 $work/tree/sys/devices
ln -s ../../devices/mlx5_0 $work/tree/sys/class/infiniband/mlx5_0
for inject in "" "-e inject=openat2:error=ENOSYS"; do
    # shellcheck disable=SC2086 # two words, or none
    expect_equal "a link inside is followed" "$(on B "$IB_HOOK" --show --verbose --sysfs $work/host/sys)" \
        "$(on B strace -qq -o /dev/null -e trace=openat2 $inject "$IB_HOOK" --show --verbose --sysfs $work/tree/sys)"
done

# The maker's own files are read where everybody may read them.
if [ "$rooted" = yes ]; then
    chown -R nobody $work/tree
    expect_equal "so is somebody's copy" "$(on B "$IB_HOOK" --show --verbose --sysfs $work/host/sys)" \
        "$(on B "$IB_HOOK" --show --verbose --sysfs $work/tree/sys)"
fi

# What is no directory is no copy: an empty answer would look like a host without RDMA.
touch $work/file
mkfifo $work/pipe
for place in $work/nowhere $work/file $work/pipe $work/file/sys; do
    for action in --show --check --plan --apply --undo --watch "--render env"; do
        # shellcheck disable=SC2086 # two words
        expect_hook 2 B $action --sysfs $place
        expect_contains "$action names it" "--sysfs $place: there is no such directory" "$err"
    done
done
