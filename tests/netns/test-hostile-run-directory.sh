#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever is in the place of /run/ib-hook and of the files in it - links, pipes, devices, files that are not root's - root
# harms no other file, waits for nothing there, and says so where it has to do without.
. "$(dirname "$0")/lib.sh"
[ "$rooted" = yes ] || skip "the real root has to give files away"

make_hosts 2 B
before=$(state B)
journal_start
expect_hook 0 B --apply
expect_hook 0 B --undo
KEY=$(find /run/ib-hook -name '*.lock')
KEY=${KEY%.lock}
forged=/run/test/forged # a state that, if it were believed, would hold both rails
cp "$KEY.state" $forged
expect_contains "a state that holds the rails" ib1 "$(<$forged)"

n_attacks=0
victims() { # all that is not ours
    (cd /run/test && find victim victims forged -printf '%p %m %U %s\n' | sort && cat victim forged)
}

# begin COMMAND: an empty directory, as it should be, and then what the attacker makes of it
begin() {
    rm -rf /run/ib-hook /run/test/victims /run/test/nowhere
    echo precious >/run/test/victim
    chmod 0600 /run/test/victim
    mkdir -m 0755 /run/ib-hook /run/test/victims
    eval "$1"
    harmless=$(victims)
    n_attacks=$((n_attacks + 1))
}

unharmed() { # WHAT: nothing but what is ours was written, and it is over
    expect_equal "$1: nobody else's file is changed" "$harmless" "$(victims)"
    [ ! -e /run/test/nowhere ] || fail "$1: a file was made where a link leads"
    hook B --undo >/dev/null 2>&1 || true
    rm -rf /run/ib-hook
    hook B --undo >/dev/null 2>&1
    on B sh -c "for key in $CONF/ib[01]/arp_announce $CONF/ib[01]/arp_ignore; do echo 0 >\$key; done"
    expect_equal "$1: all is undone" "$before" "$(state B)"
}

# attack WHAT STATUS NEEDLE COMMAND: --apply ends at once, with this status, and says this, or nothing
attack() {
    local status=0
    begin "$4"
    timeout -s KILL 5 nsenter --net=/run/netns/B "$IB_HOOK" --sysfs /run/sys/B --apply >$work/out 2>$work/err \
        </dev/null || status=$?
    expect_equal "$1: exit status" "$2" $status
    if [ -n "$3" ]; then
        expect_contains "$1: it is said" "$3" "$(<$work/err)"
    else
        expect_equal "$1: nothing is said" "" "$(<$work/err)"
    fi
    if [ "$2" = 0 ]; then
        expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    else
        expect_nothing_of_ours B
    fi
    unharmed "$1"
}

# The directory. Without one that can be trusted, nothing is remembered; what is to be done, is.
for target in victims nowhere ../ib-hook; do
    attack "the directory is a link to $target" 0 "old sysctl values are not remembered" \
        "rmdir /run/ib-hook; ln -s ../run/test/$target /run/ib-hook"
done
attack "the directory is a file" 0 "Not a directory" "rmdir /run/ib-hook; cp -p /run/test/victim /run/ib-hook"
attack "the directory is a pipe" 0 "Not a directory" "rmdir /run/ib-hook; mkfifo /run/ib-hook"
attack "the directory is somebody else's" 0 "it belongs to user 65534" "chown 65534 /run/ib-hook"
attack "the directory is its group's, too" 0 "it can be written by others (mode 0775)" "chmod 0775 /run/ib-hook"
attack "the directory is everybody's" 0 "it can be written by others (mode 1777)" "chmod 1777 /run/ib-hook"

# Each file in it. What is to be done is done without the lock; it is said who is in its place. Any file of root's alone
# may be the lock. What is in the place of the state is no state, and the new state takes its place.
plain="is not a plain file of root's alone; remove it"
attack "the lock is a link" 0 "$KEY.lock: it $plain; going on without a lock" "ln -s ../test/victim $KEY.lock"
attack "the lock is a link to nowhere" 0 "$plain" "ln -s ../test/nowhere $KEY.lock"
attack "the lock is another file, too" 0 "" "ln /run/test/victim $KEY.lock"
attack "the lock is a pipe" 0 "$plain" "mkfifo $KEY.lock"
attack "the lock is a device" 0 "$plain" "mknod $KEY.lock c 1 5"
attack "the lock is a directory" 0 "$plain" "mkdir $KEY.lock"
attack "the lock is somebody else's" 0 "; going on without a lock" "touch $KEY.lock; chown 65534 $KEY.lock"
attack "the lock is everybody's" 0 "$plain" "touch $KEY.lock; chmod 0666 $KEY.lock"
begin "mkfifo $KEY.lock"
manager_calls B "$HOOKS/nm-dispatcher" ib1 up
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
said() { [[ $(journal 1) == *"$plain; going on without a lock"* ]]; }
wait_until 5 said
unharmed "a hook, and the lock is a pipe"
for file in state new; do
    attack "$file is a link" 0 "" "ln -s ../test/victim $KEY.$file"
    attack "$file is a link to nowhere" 0 "" "ln -s ../test/nowhere $KEY.$file"
    attack "$file is another file, too" 0 "" "ln /run/test/victim $KEY.$file"
    attack "$file is a pipe" 0 "" "mkfifo $KEY.$file"
    attack "$file is a device" 0 "" "mknod $KEY.$file c 1 5"
    attack "$file is huge" 0 "" "truncate -s 64G $KEY.$file"
done
attack "state is a directory" 0 "$KEY.state: Is a directory" "mkdir $KEY.state"
attack "new is a directory" 0 "$KEY.state.new: File exists" "mkdir $KEY.state.new"

# A confirmation that nobody waits for: the victim's file is that of a trial without end.
echo "1 9000000000000000" >/run/test/victims.token
for how in "mkfifo" "cp /run/test/victims.token" "install -o 65534 /run/test/victim" \
    "install -m 0666 /run/test/victim" "truncate -s 64G"; do
    begin "$how $KEY.confirm"
    status=0
    timeout -s KILL 5 nsenter --net=/run/netns/B "$IB_HOOK" --confirm >$work/out 2>$work/err </dev/null || status=$?
    case $how in
        cp*) expect_equal "a confirmation of root's" 0 $status ;;
        *) expect_equal "$how as confirmation: nothing waits for it" 2 $status ;;
    esac
    unharmed "$how as confirmation"
done

# believed WHAT YES-OR-NO COMMAND: does a hook respect the holds of a state like this?
believed() {
    begin "$3"
    manager_calls B "$HOOKS/nm-dispatcher" ib1 up
    if [ "$2" = yes ]; then
        expect_nothing_of_ours B
    else
        expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    fi
    unharmed "$1"
}
believed "a state of root's" yes "cp $forged $KEY.state"
believed "a state of somebody else's" no "cp $forged $KEY.state; chown 65534 $KEY.state"
believed "a state that a group may write" no "cp $forged $KEY.state; chmod 0664 $KEY.state"
believed "a state that everybody may write" no "cp $forged $KEY.state; chmod 0646 $KEY.state"
believed "a state that is too large" no "cp $forged $KEY.state; truncate -s 2M $KEY.state"

# Somebody removes the lock that one has and another waits for: the latter does not begin beside a third.
begin true
hook B --undo >/dev/null
exec 9<>"$KEY.lock"
flock 9
nsenter --net=/run/netns/B "$IB_HOOK" --sysfs /run/sys/B --apply >$work/out 2>&1 9>&- &
waits=$!
has_open() { readlink /proc/$waits/fd/* 2>/dev/null | grep -c "^$KEY.lock$1\$" >/dev/null; }
wait_until 5 has_open ""
rm "$KEY.lock"
exec 8<>"$KEY.lock"
flock 8
exec 9>&-
wait_until 5 has_open ""
expect_nothing_of_ours B
exec 8>&-
wait $waits || fail "it goes on in the end" "$(<$work/out)"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
unharmed "a lock that is removed"

ok "$n_attacks attacks, all without harm"
