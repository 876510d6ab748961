#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever somebody puts into the place of /etc/ib-hook and of the files in it is refused by its name, at once; nothing is
# changed for it, a hook's rails stand, and its caller never knows.
. "$(dirname "$0")/lib.sh"
[ "$rooted" = yes ] || skip "the real root has to give files away"
needs setfacl strace

make_hosts 2 B
journal_start
system_config '[interface ib0]
table=700'
before=$(state B)
manager_calls B "$HOOKS/nm-dispatcher" ib1 up
expect_rails B ib0:700:172.16.34.1 ib1:942:172.16.34.2
standing=$(state B)
mv /etc/ib-hook/ib-hook.conf $work/good.conf
evil=$work/evil # somebody's directory, with a configuration that would switch all off
mkdir $evil $evil/conf.d
printf '[interface *]\nmanage=no\n' >$evil/ib-hook.conf
cp $evil/ib-hook.conf $evil/conf.d/x.conf
chown -R 65534 $evil
cp $evil/ib-hook.conf /etc/evil.conf # of the same file system: for hard links
chown 65534 /etc/evil.conf

clean_up() { # as it should be
    rm -rf /etc/ib-hook
    mkdir -m 0755 /etc/ib-hook /etc/ib-hook/conf.d
    cp $work/good.conf /etc/ib-hook/ib-hook.conf
    chmod 0644 /etc/ib-hook/ib-hook.conf
}

heard() { [[ $(journal "$1") == *"$2"* ]]; }

n=0
# attack WHAT NEEDLE COMMAND
attack() {
    local status from
    n=$((n + 1))
    clean_up
    eval "$3"
    for action in --apply --check --plan --show; do
        status=0
        timeout -s KILL 5 nsenter --net=/run/netns/B "$IB_HOOK" --sysfs /run/sys/B $action >$work/out 2>$work/err </dev/null || status=$?
        expect_equal "$1: exit status of $action" 2 $status
        expect_contains "$1: $action says it" "$2" "$(<$work/err)"
    done
    from=$(($(journal_lines) + 1))
    manager_calls B "$HOOKS/nm-dispatcher" ib1 up
    wait_until 5 heard "$from" "$2"
    ok "$1: a hook says it"
    expect_equal "$1: and nothing is changed" "$standing" "$(state B)"
}

main=/etc/ib-hook/ib-hook.conf
for file in $main /etc/ib-hook/conf.d/50.conf; do
    put="rm -f $main; cp $evil/ib-hook.conf $file; chmod 0644 $file"
    attack "$file is a link to somebody's" "$file: refused: it belongs to user 65534" "ln -sf $evil/ib-hook.conf $file"
    attack "$file is a hard link to somebody's" "$file: refused: it belongs to user 65534" "ln -f /etc/evil.conf $file"
    expect_equal "$file: two names, one file" "2 65534" "$(stat -c '%h %u' "$file")"
    attack "$file is somebody's file" "$file: refused: it belongs to user 65534" "$put; chown 65534 $file"
    attack "$file may be written by its group" "$file: refused: it can be written by others (mode 0664)" "$put; chmod 0664 $file"
    attack "$file may be written by all" "$file: refused: it can be written by others (mode 0602)" "$put; chmod 0602 $file"
    attack "$file is a pipe" "$file: refused: it is a device, pipe or socket" "rm -f $file; mkfifo -m 0644 $file"
    attack "$file is a device" "$file: refused: it is a device, pipe or socket" "rm -f $file; mknod -m 0644 $file c 1 5"
    attack "$file is a link to a device" "$file: refused: it is a device, pipe or socket" "ln -sf /dev/zero $file"
    attack "$file is a directory" "$file: refused: it is a directory" "rm -f $file; mkdir $file"
    attack "$file is huge" "$file: refused: it is larger than 1048576 bytes" "truncate -s 64G $file; chmod 0644 $file"
    attack "$file is a link to itself" "Too many levels of symbolic links" "ln -sf ${file##*/} $file"
    attack "$file has bytes that are no text" "$file:1:" "head -c 4096 /dev/urandom >$file; chmod 0644 $file; printf '\1\2\n' | cat - $file >$work/x; cp $work/x $file"
    attack "$file has escape sequences" "$file:1:" "printf '\e[2J=%%n\n' >$file; chmod 0644 $file"
    expect_lacks "and none of them gets out" $'\e' "$(cat $work/err $work/out)$(journal 1)"
done
for name in ib-hook.conf conf.d/x.conf conf.d ''; do
    attack "a link that dangles instead of /etc/ib-hook/$name" "No such file" "rm -rf /etc/ib-hook/$name; ln -s /nowhere /etc/ib-hook${name:+/$name}"
done
attack "a name with an escape sequence and a newline" 'conf.d/\033[2J\n.conf: refused' "cp $evil/ib-hook.conf \$'/etc/ib-hook/conf.d/\e[2J\n.conf'; chown 65534 /etc/ib-hook/conf.d/*"
for directory in /etc/ib-hook /etc/ib-hook/conf.d; do
    attack "$directory is somebody's" "$directory: refused: it belongs to user 65534" "chown 65534 $directory"
    attack "$directory may be written by its group" "$directory: refused: it can be written by others" "chmod 0775 $directory"
    attack "$directory is a link to somebody's" "$directory: refused: it belongs to user 65534" "rm -r $directory; ln -s $evil $directory"
    attack "$directory is a file" "Not a directory" "rm -r $directory; touch $directory"
    attack "$directory is a pipe" "Not a directory" "rm -r $directory; mkfifo $directory"
done
acls=no # whether its file system has such
if setfacl -m u:65534:r $main 2>/dev/null; then
    acls=yes
    attack "an ACL lets somebody write" "$main: refused: it can be written by others" "setfacl -m u:65534:rw $main"
fi

# Who is allowed to name any file learns nothing of those that not everybody may read.
mkdir -p $work/place
printf 'root:secret:1::\n' >$work/place/shadow
for modes in "0640 0755" "0644 0700"; do
    read -r of_file of_place <<<"$modes"
    chmod "$of_file" $work/place/shadow
    chmod "$of_place" $work/place
    for file in $work/place/shadow $work/link; do
        ln -sf place/shadow $work/link
        hook B --check --config "$file" >$work/out 2>&1 || true
        expect_contains "$file, $modes: it is refused" "$file:1: (not shown: not all users may read this file): not understood" "$(<$work/out)"
        expect_lacks "$file, $modes: and not quoted" secret "$(<$work/out)"
    done
done

mkdir -m 0700 $work/names
mkdir $work/names/conf.d
echo nonsense >$work/names/conf.d/secret.conf
hook B --check --config $work/names >$work/out 2>&1 || true
expect_contains "a directory for root's eyes: it is refused" "$work/names/conf.d: a file in it cannot be used" "$(<$work/out)"
expect_lacks "and no name in it is shown" secret "$(<$work/out)"

# To open a device or a pipe has an effect: a watchdog reboots, a tape rewinds, a writer goes on. So neither is opened.
mkdir $work/kinds
mkfifo $work/kinds/pipe
mknod $work/kinds/device c 10 130
ln -s device $work/kinds/link
mkdir $work/kinds/ib-hook
mkfifo -m 0644 $work/kinds/ib-hook/ib-hook.conf
for named in pipe device link ib-hook; do
    status=0
    on B strace -o $work/trace -e trace=open,openat "$IB_HOOK" --sysfs /run/sys/B --check --config $work/kinds/$named \
        >$work/out 2>$work/err </dev/null || status=$?
    expect_equal "--config names a $named: exit status" 2 $status
    expect_contains "--config names a $named: it is said" "refused: it is a device, pipe or socket" "$(<$work/err)"
    expect_equal "--config names a $named: it is looked at, and not opened" 1 \
        "$(grep "$work/kinds\|/proc/self/fd" $work/trace | grep -vc O_DIRECTORY)"
    expect_contains "--config names a $named: with" O_PATH "$(grep "$work/kinds" $work/trace)"
done

# Files that change between one look and the next: either the good ones are believed, or they are refused.
clean_up
(
    set +e
    while :; do
        ln -sfn $evil/ib-hook.conf /etc/ib-hook/x && mv -T /etc/ib-hook/x $main
        cp $work/good.conf /etc/ib-hook/x && mv -T /etc/ib-hook/x $main
        mv -T /etc/ib-hook /etc/aside && ln -s $evil /etc/ib-hook
        rm /etc/ib-hook && mv -T /etc/aside /etc/ib-hook
    done
) 2>/dev/null &
racer=$!
for _ in $(seq 100); do
    status=0
    timeout -s KILL 5 nsenter --net=/run/netns/B "$IB_HOOK" --sysfs /run/sys/B --plan --json >$work/out 2>$work/err </dev/null || status=$?
    case $status in
        0) ! grep -q '"op":"rule-del","command":"[^"]*172.16.34.2' $work/out || fail "somebody's configuration was believed" "$(<$work/out)" ;;
        2) ;;
        *) fail "races: exit status $status" "$(<$work/err)" ;;
    esac
done
kill $racer || fail "nobody raced"
wait $racer 2>/dev/null || true
rm -rf /etc/aside
ok "races: somebody's configuration is never believed"
clean_up
expect_hook 0 B --undo
expect_equal "what was before comes back" "$before" "$(state B)"
ok "$n attacks"
[ $acls = yes ] || skip "the file system of /etc has no ACLs: all attacks but that one"
