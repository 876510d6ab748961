#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A rail that was there and is not: --check names the cause, whether the network manager takes its address away or leaves
# it, after a boot without it, too; --watch says it once when it begins and once when it ends. Its partner, what was taken
# down on purpose and what is not managed any more are not accused.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
sys=/run/sys/B pci=devices/pci0000:80/0000:81:00.1
in_slot() { # the card of ib1
    mkdir -p $sys/$pci/driver $sys/bus/pci/devices
    ln -sfn ../../../$pci $sys/bus/pci/devices/0000:81:00.1
}
on_pci() {
    in_slot
    cp -r $sys/class/infiniband/mlx5_1/device/. $sys/$pci
    rm -r $sys/class/infiniband/mlx5_1/device
    ln -s ../../../$pci $sys/class/infiniband/mlx5_1/device
}
on_pci
[ "$rooted" = yes ] || mount -t tmpfs tmpfs /var/lib # where this is no real root, it is another one's
mkdir -p /var/lib/ib-hook
journal_start

event() { with_sys B "$HOOKS/nm-dispatcher" ib0 up; } # of another NIC
takes_address() { ip -n B address flush dev ib1 scope global; }
gives_address() {
    ip -n B address add 172.16.34.2/16 dev ib1
    ip -n B link set ib1 up
    wait_until 5 settled B
    event
}

# found WHAT EXIT FINDINGS: with the address first, then without it
found() {
    expect_hook "$2" B --check --json
    expect_equal "$1: one finding, of its cause" "$3" "$(findings)"
}

port() { # STATE PHYSICAL-STATE
    echo "$1" >$sys/class/infiniband/mlx5_1/ports/1/state
    echo "$2" >$sys/class/infiniband/mlx5_1/ports/1/phys_state
}

event
found "both stand" 0 ""

# One family of a rail goes: its prefix expires.
for n in 1 2; do ip -n B address add fd00:16::34:$n/64 dev ib$((n - 1)) nodad; done
event
found "both stand, in both families" 0 ""
ip -n B address change fd00:16::34:2/64 dev ib1 valid_lft 1 preferred_lft 1
expired() { [ -z "$(ip -n B address show dev ib1 to fd00:16::34:2)" ]; }
wait_until 10 expired
found "an IPv6 prefix expired" 1 "ib1 warning no-address"
expect_contains "what it was" "it had fd00:16::34:2" "$(json '.findings[].message')"
expect_contains "how to say that this is right" "if it should have none: sudo ib-hook --apply --iface ib1" \
    "$(json '.findings[].advice')"
ip -n B address del fd00:16::34:1/64 dev ib0
expect_hook 0 B --apply --iface ib0 --iface ib1 # by name: they shall have no IPv6

# The cable: the port tells, else the link.
ip -n wire link set B.1 down
found "no carrier, ifupdown" 1 "ib1 error carrier-down"
takes_address
event
found "no carrier, NetworkManager and networkd" 1 "ib1 error carrier-down"
expect_contains "what it was" "172.16.34.2 is not reachable: its link has no carrier; PCI 0000:81:00.1, " "$(json '.findings[].message')"
expect_hook 1 B --check
expect_equal "the first line says which, and why" "error: ib1: 172.16.34.2 is not reachable: its link has no carrier" "$(sed "1s/;.*//;q" <<<"$out")"
expect_contains "its row says which port, card and NIC" "ib1  mlx5_1/1  172.16.34.2 is not reachable: its link has no carrier; PCI 0000:81:00.1, MAC $(mac B 1)" "$out"
links=/run/sys/run/systemd/netif/links # what networkd says, beside the tree of /sys
mkdir -p $links
link_file=$links/$(ip -n B -json link show ib1 | jq '.[0].ifindex')
printf '%s\n' ADMIN_STATE=configured OPER_STATE=no-carrier NETWORK_FILE=/etc/systemd/network/20-ib1.network >"$link_file"
expect_hook 1 B --check
expect_contains "and who configures it" ", MAC $(mac B 1), configured by systemd-networkd" "$(grep "^ib1  mlx5_1/1  " <<<"$out")"
rm "$link_file"
port "1: DOWN" "2: Polling"
found "the RDMA port says more" 1 "ib1 error port-not-active"
expect_hook 1 B --check
expect_contains "its row has the address and the hardware, too" "; PCI 0000:81:00.1, MAC $(mac B 1)" "$(grep "^ib1  mlx5_1/1  172.16.34.2 is not reachable: " <<<"$out")"
expect_hook 0 B --show --json
expect_equal "--show has it among the missing" "ib1 its link has no carrier" \
    "$(json '.missing[] | "\(.iface) \(.why)"')"
expect_contains "since when" "$(date -u +%Y)" "$(json '.missing[].since')"
expect_hook 0 B --iface ib0 --show --json
expect_equal "for another NIC, nothing is missing" "[]" "$(json '.missing | tojson')"
expect_hook 0 B --show
expect_contains "the NIC beside it is right, for its own reasons" "up          ok: it stays a rail, though no other RDMA NIC shares its subnet now" "$(grep ^ib0 <<<"$out")"
ip -n wire link set B.1 up
wait_until 5 settled B
found "the port is not active, whatever the link says" 1 "ib1 error port-not-active"
port "4: ACTIVE" "5: LinkUp"

# Others that have no address.
links=/run/sys/run/systemd/netif/links # beside /run/sys/B
mkdir -p $links
printf 'ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/20-ib1.network\n' >$links/"$(ip -n B -json link show ib1 | jq '.[].ifindex')"
found "link, and no address" 1 "ib1 warning no-address"
expect_contains "and who should give one" "systemd-networkd configures this NIC, as 20-ib1.network" "$(json '.findings[].advice')"
rm -r /run/sys/run
ip -n B link set ib1 down
found "taken down on purpose" 0 ""
down=$(json .findings)
ip -n B address add 172.16.34.2/16 dev ib1
event
found "it keeps its address" 0 ""
expect_equal "the same note" "$down" "$(json .findings)"
expect_contains "which names it" "172.16.34.2 is not reachable: it is administratively down" "$down"
expect_hook 0 B --check
expect_equal "it is no right rail" "ok: 1 rail; ib1 is down" "${out%%$'\n'*}"
expect_hook 0 B --check --prometheus
expect_contains "nor is it counted as one" "ib_hook_rails 1" "$out"
takes_address
gives_address
found "all is well again" 0 ""
takes_address
ip -n B address add 10.9.9.2/24 dev ib1
event
found "it has another network now" 0 ""
ip -n B address flush dev ib1 scope global
event
found "nobody misses it there" 0 ""
gives_address
system_config "[interface ib1]
manage=no"
takes_address
event
found "not managed" 0 ""
system_config ""
gives_address

# The NIC: in a pod; gone.
ip netns add pod
ip -n B link set ib1 netns pod
event
found "a pod has it" 0 ""
expect_hook 0 B --check
expect_equal "the first line says so" "ok: 1 rail; ib1 is away" "${out%%$'\n'*}"
expect_contains "so does a row" "ib1  mlx5_1/1  note: 172.16.34.2 is not reachable: its hardware is there" "$out"
ip -n pod link set ib1 netns B
gives_address
found "it came back" 0 ""
remove_nic B ib1
rdma B ib0
in_slot
found "something else has it: a virtual machine, an RDMA device in another namespace" 0 ""
rm -r $sys/$pci/driver
found "no driver has it" 1 "ib1 error nic-gone"
rm -r "${sys:?}/$pci" $sys/bus/pci/devices/*
from=$(($(journal_lines) + 1))
event
expect_equal "the journal names it" "6 ib1 is gone: 2 rules and routes removed (NetworkManager: ib0 up)" "$(journal "$from")"
found "it is gone" 1 "ib1 error nic-gone"
expect_hook 0 B --undo --iface ib1
found "--undo forgets it" 0 ""
expect_lacks "and leaves no hold" "hold ib1" "$(cat /run/ib-hook/*.state)"
expect_hook 2 B --undo --iface ib1
add_nic B ib1 1
rdma B ib0 ib1
on_pci
gives_address
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

# --undo holds a NIC that is here without an address, as while systemd-networkd or DHCP sets it again; and a known rail
# that is away, as while its driver restarts. So they stay undone when they are back.
held() { sed -n 's/^hold //p' /run/ib-hook/*.state | sort | xargs; }
takes_address
expect_hook 0 B --undo --iface ib1
expect_contains "the rules that its address left behind are removed" ", until --apply or a reboot" "$out"
expect_equal "it has no address, and is held" ib1 "$(held)"
gives_address
expect_equal "its address is back: no rail" "" "$(own_rules B | grep 172.16.34.2 || true)"
expect_hook 0 B --apply
ip -n wire link set B.1 down
takes_address
event
expect_hook 0 B --undo --iface ib1
expect_equal "it has no carrier, and is held" ib1 "$(held)"
ip -n wire link set B.1 up
gives_address
expect_equal "its link is back: no rail" "" "$(own_rules B | grep 172.16.34.2 || true)"
expect_hook 0 B --apply
expect_equal "--apply releases it" "" "$(held)"
remove_nic B ib1
rdma B ib0
event
expect_hook 0 B --undo
expect_contains "the whole host is undone" ", until --apply or a reboot" "$out"
expect_equal "what is away is held, too" "ib0 ib1" "$(held)"
add_nic B ib1 1
rdma B ib0 ib1
on_pci
gives_address
expect_equal "its driver is back: no rail" "" "$(own_rules B)"
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

# The first of three cards dies, and the others get the names before theirs: it is missed, and no other.
new_host C
for n in 0 1 2; do add_nic C ib$n $n 172.16.34.2$n/16; done
rdma C ib0 ib1 ib2
wait_until 5 settled C
slots() { # NUMBER...: the cards' slots, in the order of their RDMA devices
    local device=0 number path
    for number in "$@"; do
        path=devices/pci0000:80/0000:8$number:00.0
        mkdir -p "/run/sys/C/$path/driver" /run/sys/C/bus/pci/devices
        ln -sfn "../../../$path" "/run/sys/C/bus/pci/devices/0000:8$number:00.0"
        cp -r /run/sys/C/class/infiniband/mlx5_$device/device/. "/run/sys/C/$path"
        rm -r /run/sys/C/class/infiniband/mlx5_$device/device
        ln -s "../../../$path" /run/sys/C/class/infiniband/mlx5_$device/device
        device=$((device + 1))
    done
}
names_shift() {
    local n
    remove_nic C ib0
    for n in 1 2; do
        ip -n C link set ib$n down
        ip -n C link set ib$n name ib$((n - 1))
        ip -n C link set ib$((n - 1)) up
    done
    rm -r /run/sys/C
    rdma C ib0 ib1
    slots 1 2
    wait_until 5 settled C
}
slots 0 1 2
dead=$(mac C 0)
with_sys C "$HOOKS/nm-dispatcher" ib0 up
expect_hook 0 C --check
names_shift
with_sys C "$HOOKS/nm-dispatcher" ib0 up
expect_hook 1 C --check
expect_equal "the first line accuses no NIC that is there" "error: 172.16.34.20 is not reachable: its hardware is gone, or no driver has it" "$(sed "1s/;.*//;q" <<<"$out")"
expect_contains "a row says which it was" "172.16.34.20 is not reachable: its hardware is gone, or no driver has it; formerly ib0, PCI 0000:80:00.0, MAC $dead" "$(grep ^host <<<"$out")"
expect_equal "the others are right" 2 "$(grep -c "^ib[01] .* ok: " <<<"$out")"
expect_hook 0 C --show
expect_contains "--show has it, too" "missing: its hardware is gone" "$out"
expect_hook 1 C --check --json
expect_equal "one finding" "nic-gone 0000:80:00.0" "$(json '"\(.findings[].code) \(.missing[].pci)"')"
expect_contains "how it is forgotten" "sudo ib-hook --undo --iface ib0, and then, for the NIC that has this name now: sudo ib-hook --apply --iface ib0" "$(json '.findings[].advice')"
ip -n C address del 172.16.34.21/16 dev ib0
ip -n C address add 172.16.34.20/16 dev ib0
with_sys C "$HOOKS/nm-dispatcher" ib0 up
expect_hook 1 C --check
expect_equal "its address goes with its name" "error: a rail is missing: its hardware is gone, or no driver has it" "$(sed "1s/;.*//;q" <<<"$out")"
expect_hook 0 C --undo --iface ib0
expect_hook 0 C --apply --iface ib0
expect_hook 0 C --check
delete_host C

# A section of its own wants it, as on a host without a disk.
ip -n B address flush dev ib1 scope global
expect_hook 0 B --undo
rm -rf /run/ib-hook
expect_hook 1 B --config "$(config "[interface ib1]
manage=yes")" --check --json
expect_equal "manage=yes" "ib1 warning no-address" "$(findings)"
gives_address

# --watch says so.
from=$(($(journal_lines) + 1))
watch_start B
said() { [[ $(journal "$from") == *"$1"* ]]; }
lost="4 ib1 (mlx5_1/1) lost its link; its address was 172.16.34.2"
back="5 ib1 (mlx5_1/1) is back"
ip -n wire link set B.1 down # and its manager leaves it its address
wait_until 15 said "$lost"
with_sys B "$HOOKS/boot" </dev/null
ip -n wire link set B.1 up
wait_until 5 said "$back"
ip -n wire link set B.1 down # or takes it away
takes_address
twice() { [ "$(journal "$from" | grep -cF "$lost")" = 2 ]; }
wait_until 15 twice
ip -n wire link set B.1 up
wait_until 5 said "5 ib1 (mlx5_1/1) has a link, but no configured address; its address was 172.16.34.2"
gives_address
back_again() { [ "$(journal "$from" | grep -cF "$back")" = 2 ]; }
wait_until 5 back_again
expect_equal "each once, by --watch alone" 5 "$(journal "$from" | grep -c "mlx5_1/1")"
watch_stop

# A service that routes once says nothing of it: --watch does.
from=$(($(journal_lines) + 1))
ip -n wire link set B.1 down
with_sys B "$HOOKS/boot" </dev/null
expect_equal "ib-hook.service" "" "$(journal "$from" | grep "mlx5_1/1" || true)"
ip -n wire link set B.1 up

# Other network namespaces than that of process 1 keep nothing: what a container has is not missed by the host.
[ ! -e /var/lib/ib-hook/rails ] || fail "it keeps what it knows of a network namespace that ends" "$(</var/lib/ib-hook/rails)"
ok "only the host's own rails are kept"

# The next boot of a host whose process 1 has this network namespace: the file tells; any file does no harm.
kept=/var/lib/ib-hook/rails
echo 0123456789abcdef0123456789abcdef >/etc/machine-id # an image may have none yet
# shellcheck disable=SC2016 # for the inner shell
home() { on B unshare --fork --pid --mount --mount-proc sh -c 'mount --bind '$sys' /sys && exec "$@"' sh "$@"; }
boots() { # WHAT FINDINGS
    rm -rf /run/ib-hook
    home "$HOOKS/nm-dispatcher" ib0 up </dev/null
    home "$IB_HOOK" --check --json >$work/out || [ $? = 1 ]
    out=$(<$work/out)
    expect_equal "$1" "$2" "$(findings)"
}
boots "both stand" ""
cp $kept $work/kept
# The first event comes before /var is mounted: what the file says is taken in later, and not overwritten before.
keeps() { sed -n 's/^known \([^ ]*\) .*/\1/p' $kept | sort | xargs; }
sed -i '1i known ib9 mlx5_9/1 0000:99:00.0/1 02:00:00:00:99:99 0 172.16.34.99' $kept
rm -rf /run/ib-hook
mv /var/lib/ib-hook /var/lib/ib-hook-later
home "$HOOKS/boot" </dev/null
expect_contains "without /var, the rails of this boot are known" "known ib0 " "$(cat /run/ib-hook/*.state)"
mv /var/lib/ib-hook-later /var/lib/ib-hook
home "$HOOKS/nm-dispatcher" ib0 up </dev/null
home "$IB_HOOK" --check --json >$work/out || true
out=$(<$work/out)
expect_equal "what was known before the boot is missed" "ib9 error nic-gone" "$(findings)"
ip -n B address add 172.16.34.77/16 dev ib1
home "$HOOKS/nm-dispatcher" ib1 up </dev/null
expect_equal "and kept" "ib0 ib1 ib9" "$(keeps)"
ip -n B address del 172.16.34.77/16 dev ib1
home "$IB_HOOK" --undo --iface ib9 >/dev/null
expect_equal "until it is forgotten" "ib0 ib1" "$(keeps)"
takes_address
ip -n wire link set B.1 down
home "$IB_HOOK" --apply >/dev/null # a boot would take the rules away
boots "booted with the cable out" "ib1 error carrier-down"
expect_contains "still known" "known ib1 " "$(<$kept)"
for file in "rm -f" "ln -sf /etc/passwd" "mkfifo" "truncate -s 1G" "mkdir"; do
    rm -f $kept
    $file $kept
    boots "$file" ""
    [ ! -d $kept ] || rmdir $kept
done
expect_lacks "what a link led to" "ib-hook: hardware" "$(</etc/passwd)"
size=$(stat -c %s $work/kept)
for cut in 1 5 20 40 $((size - 60)) $((size / 2)); do
    head -c $((size - cut)) $work/kept >$work/cut
    cp $work/cut $kept
    boots "cut short by $cut bytes" ""
done
cp $work/kept $kept
if [ "$rooted" = yes ]; then # only the real root can give a file away
    chown 7 $kept
    boots "not root's" ""
fi
sed '$s/ [^ ]*$/ 00112233445566778899aabbccddeeff/' $work/kept >$work/clone
rm $kept
cp $work/clone $kept
boots "of another machine, whose image this was" ""
cp $work/kept $kept
boots "its own file again" "ib1 error carrier-down"
home "$IB_HOOK" --undo --iface ib1 >/dev/null
boots "--undo forgets it for good" ""
rm -r /var/lib/ib-hook
boots "without the directory" ""
ip -n B link set ib1 name other
system_config "[interface ib1]
manage=yes"
boots "without it, only the configuration names a NIC" "ib1 error nic-gone"
expect_hook 0 B --check --json
expect_equal "and of the host only" "" "$(findings)"
