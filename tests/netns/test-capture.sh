#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --capture writes what is read of RDMA ports, and nothing else; unpacked anywhere it is judged as on the host itself.
. "$(dirname "$0")/lib.sh"

new_host A
run() { # STATUS ARGUMENT…: in A, which has no such NICs
    local status=0
    on A "$IB_HOOK" "${@:2}" >$work/out 2>$work/err </dev/null || status=$?
    out=$(<$work/out)
    err=$(<$work/err)
    [ $status = "$1" ] || fail "ib-hook ${*:2}: expected exit status $1, got $status" "$out
$err"
    ok "ib-hook ${*:2} exits $1"
}

host=$work/memserver34
plant mlx5-infiniband "$host"
echo "4: secret" >"$host/sys/class/infiniband/mlx5_0/ports/1/secret"
echo "secret" >"$host/sys/class/net/ib0/secret"
echo "secret" >"$host/secret"
cd $work

# ---- what is written ----

run 0 --capture node.tar --sysfs "$host/sys"
expect_contains "it says how to go on" "tar xf node.tar; ib-hook --check --sysfs node" "$out"
expect_equal "nobody else can read it" 600 "$(stat -c %a node.tar)"
tar tf node.tar | sort >list
expect_lacks "nothing else is in it" secret "$(<list)"
expect_contains "ports are" "node/sys/class/infiniband/mlx5_1/ports/1/state" "$(<list)"
expect_contains "netdevs are" "node/sys/class/net/ib1/mode" "$(<list)"
expect_contains "the limits are" "node/proc/self/limits" "$(<list)"
expect_equal "each once" "" "$(uniq -d list)"
tar xf node.tar
while read -r file; do # ${file#*/} is the path below the host
    [[ $file == */ || $file == node/ib-hook-capture ]] || cmp -s "$file" "$host/${file#*/}" ||
        fail "every file as it was" "$file differs"
done <list
ok "every file as it was"
expect_equal "and a word on what it is" "$("$IB_HOOK" --version)" "$(<node/ib-hook-capture)"

# ---- reading it ----

needs strace
strace -f -o trace -e trace=open,openat -- "$IB_HOOK" --check --sysfs node >/dev/null
grep -o '"node/[^"]*"' trace | tr -d '"' | sort -u >was-read
while read -r file; do
    [ ! -f "$file" ] || grep -qxF "$file" list || fail "nothing is read that is not in it" "$file"
done <was-read
ok "nothing is read that is not in it"
while read -r file; do
    [[ $file == */ || $file == */ib-hook-capture ]] || grep -qxF "$file" was-read || fail "nothing is in it that is not read" "$file"
done <list
ok "nothing is in it that is not read"

run 0 --check --sysfs node
expect_contains "a right host" "ok: its RDMA ports" "$out"
run 0 --check --sysfs node/sys/ --verbose
expect_contains "its ports" "checked: mlx5_1/1: ib1, InfiniBand: ACTIVE, LinkUp, with a subnet manager" "$out"
run 0 --show --sysfs node
expect_contains "--show lists them" "checked: mlx5_0/1: ib0" "$out"
run 0 --check --sysfs node --quiet
expect_equal "--quiet: silence" "" "$out"

echo "1: DOWN" >node/sys/class/infiniband/mlx5_1/ports/1/state
echo "2: Polling" >node/sys/class/infiniband/mlx5_1/ports/1/phys_state
run 1 --check --sysfs node
expect_contains "a fault" "ib1  error    port-not-active: port mlx5_1/1 is DOWN (physical state..." "$out"
expect_contains "what it is about" "captured: RDMA ports were judged" "$out"
run 1 --check --sysfs node --json
expect_equal "in JSON" '["captured","findings","ok","others","rails"]' "$(jq -c keys <<<"$out")"
expect_equal "its findings" "ib1 error port-not-active" "$(json '.findings[] | "\(.ifaces | join("+")) \(.severity) \(.code)"')"
run 0 --check --sysfs node --iface ib0
run 1 --check --sysfs node --iface ib1
run 2 --check --sysfs node --iface eth5
expect_contains "no such NIC in it" "no such RDMA interface in the captured tree" "$err"

# What is no port is none. Captured where numbers have their bytes the other way round, subnets are the same.
mkdir node/sys/class/infiniband/mlx5_0/ports/{x,01}
run 0 --show --sysfs node
expect_equal "one port" 1 "$(grep -c "mlx5_0/.*: ib0" <<<"$out")"
rmdir node/sys/class/infiniband/mlx5_0/ports/{x,01}
echo 4096 >node/sys/class/net/ib1/mtu
run 1 --check --sysfs node --iface ib1 --json
here=$(json .findings)
expect_contains "who shares a subnet is known" mode-mtu "$here"
swap='s/\<(\w\w)(\w\w)(\w\w)(\w\w)\>/\4\3\2\1/g'
sed -E -i "$swap" node/proc/net/route
expect_contains "the other way round" "AC100000" "$(<node/proc/net/route)"
run 1 --check --sysfs node --iface ib1 --json
expect_equal "the same findings" "$here" "$(json .findings)"
sed -E -i "$swap" node/proc/net/route

# A capture of what was captured is the same again.
run 0 --capture again.tar --sysfs node --json
expect_equal "in JSON: how many files" "true $(tar tf again.tar | grep -vc /$)" "$(json '"\(.ok) \(.files)"')"
tar xf again.tar
expect_equal "captured again: the same" "" "$(diff -r node again)"

# ---- what cannot be read ----

# without_descriptor FILE STATUS ARGUMENT…: there is none when it opens this file
without_descriptor() {
    local n
    strace -o trace -e trace=openat -- "$IB_HOOK" "${@:3}" >/dev/null 2>&1 || true
    n=$(grep openat trace | grep -nF "/$1\"" | head -n 1 | cut -d: -f1)
    rm -f cut.tar
    status=0
    strace -o /dev/null -e trace=openat -e inject=openat:error=EMFILE:when="$n" -- "$IB_HOOK" "${@:3}" \
        >out 2>err || status=$?
    [ $status = "$2" ] || fail "without a descriptor for $1: expected exit status $2, got $status" "$(<out)$(<err)"
    ok "without a descriptor for $1: ib-hook ${*:3} exits $2"
    expect_contains "and says why" "Too many open files" "$(<err)"
}
without_descriptor mlx5_0/ports/1/gids/0 3 --check --sysfs again
without_descriptor mlx5_0/ports/1/state 1 --check --sysfs again
without_descriptor mlx5_0/ports/1/gids/0 3 --capture cut.tar --sysfs again
without_descriptor mlx5_0/ports/1/state 3 --capture cut.tar --sysfs again
[ ! -e cut.tar ] || fail "half a capture is none" "$(tar tf cut.tar)"
ok "half a capture is none"

# ---- another host's tree is no ground to change this one ----

for action in --apply --undo --plan "--apply --hook" "--apply --install"; do
    before=$(state A)
    # shellcheck disable=SC2086 # words
    if [ "$action" = "--apply --hook" ]; then run 0 $action --sysfs node; else run 2 $action --sysfs node; fi
    expect_equal "$action changes nothing" "$before" "$(state A)"
done

# ---- all the hosts ----

for tree in "$top"/tests/unit/fabric/*.tree; do
    name=$(basename "$tree" .tree)
    plant "$name" "hosts/$name"
    run 0 --capture "$name.tar" --sysfs "hosts/$name/sys"
    tar xf "$name.tar"
    run 0 --check --json --sysfs "$name"
    expect_equal "$name: right, and silent" "[]" "$(jq -c .findings <<<"$out")"
done

# ---- the file ----

echo precious >there
run 2 --capture there --sysfs "$host/sys"
expect_contains "nothing is overwritten" "nothing is overwritten" "$err"
expect_equal "it is as it was" precious "$(<there)"
ln -s nowhere link
run 2 --capture link --sysfs "$host/sys"
expect_equal "no link is followed" "" "$(ls nowhere 2>/dev/null || true)"
run 3 --capture no/such/dir/x.tar --sysfs "$host/sys"
mkdir full
mount -t tmpfs -o size=4k,mode=0755 tmpfs full
run 3 --capture full/x.tar --sysfs "$host/sys"
expect_equal "half an archive is none" "" "$(ls full)"
run 2 --capture
run 2 --capture x.tar --check
run 2 --capture x.tar --iface ib0
expect_equal "nothing was written" "" "$(ls x.tar 2>/dev/null || true)"

# shellcheck disable=SC2016 # not to be expanded
for odd in '$(id).tar' '-x.tar' '.tar' 'a b.tar' 'a-name-that-is-longer-than-any-directory-should-be.tar' $'a\tb'; do
    run 0 --capture "./$odd" --sysfs "$host/sys"
    expect_equal "$odd: one directory" 1 "$(tar tf "./$odd" | cut -d/ -f1 | sort -u | grep -cE '^[A-Za-z0-9_][A-Za-z0-9._-]*$')"
done

# Long names of devices are cut as ustar wants it.
device="a-device-whose-name-is-as-long-as-the-kernel-lets-it-be-63-byt"
mv "$host/sys/class/infiniband/mlx5_1" "$host/sys/class/infiniband/$device"
run 0 --capture long.tar --sysfs "$host/sys"
tar xf long.tar
expect_equal "a long name" "4: ACTIVE" "$(<long/sys/class/infiniband/$device/ports/1/state)"

device=$(printf 'x%.0s' {1..150})
mv "$host"/sys/class/infiniband/a-device* "$host/sys/class/infiniband/$device"
run 3 --capture too-long.tar --sysfs "$host/sys"
expect_contains "which is too long is said" "$device/ports" "$err"
[ ! -e too-long.tar ] || fail "half an archive is none"

# ---- a real /sys ----

run 0 --capture real.tar
tar xf real.tar
expect_contains "this machine's own netdevs" lo "$(ls real/sys/class/net)"
