#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel refuses one route in the middle of a plan: that rail is rolled back, the other one stands, the message has
# the interface and the kernel's own words, and the exit status is 3.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
ip -n B address add 10.1.0.2/24 dev ib1
ip -n B route del local 10.1.0.2 dev ib1 table local # now the kernel takes no route with this source
if ip -n B route add 10.1.0.0/24 dev ib1 src 10.1.0.2 table 77 2>/dev/null; then fail "the kernel refuses such a route"; fi
ok "the kernel refuses such a route"
before=$(state B)

for arp in auto strict; do
    file=$(config "[defaults]
arp=$arp")
    expect_hook 3 B --config "$file" --apply
    expect_contains "$arp: it names the interface" ib1 "$err"
    expect_contains "$arp: it names the operation" 10.1.0.0/24 "$err"
    expect_contains "$arp: it has the kernel's words" "nvalid" "$err"
    expect_rails B ib0:941:172.16.34.1
    expect_sysctls B ib1 rp_filter=0 arp_filter=0 arp_announce=0 arp_ignore=0
    expect_hook 3 B --config "$file" --apply --json
    expect_equal "$arp: --json says so too" false "$(json .ok)"
    expect_hook 0 B --config "$file" --undo
    expect_equal "$arp: the state after --undo" "$before" "$(state B)"
done

ip -n B address del 10.1.0.2/24 dev ib1
ip -n B address add 10.1.0.2/24 dev ib1
expect_hook 0 B --apply
expect_hook 0 B --check
expect_contains "with the cause gone, so is the trouble" "from 10.1.0.2 " "$(our_rules B)"

# An answer of the kernel is lost, and no other socket can be opened: what may have been done is not said to be taken back.
hook B --undo >/dev/null
before=$(state B)
if strace -o /dev/null true 2>/dev/null; then
    lost=0
    for i in $(seq 300); do
        on B strace -o /dev/null -e inject=recvmsg:error=ENOBUFS:when="$i" -e inject=socket:error=EMFILE:when=2+ \
            "$IB_HOOK" --sysfs /run/sys/B --apply >$work/out 2>$work/err && break
        if grep -q "route-add failed" $work/err; then
            lost=$((lost + 1))
            expect_equal "answer $i is lost: what is said of ib0" \
                "$([ "$(state B)" = "$before" ] && echo back || echo "not back")" \
                "$(grep -q "ib0: .*the state before is back" $work/err && echo back || echo "not back")"
        fi
        hook B --undo >/dev/null
    done
    [ "$i" -lt 300 ] || fail "--apply succeeds once no answer is lost" "$(<$work/err)"
    [ $lost -gt 0 ] || fail "answers to changes were lost"
    hook B --undo >/dev/null
fi

# Sysctls that cannot be written.
readonly=(unshare --mount sh -c 'mount -o bind,ro /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"' -)
before=$(state B)
if on B "${readonly[@]}" sh -c "echo 0 > $CONF/ib0/arp_ignore" 2>/dev/null; then
    skip "/proc/sys cannot be made read-only here"
fi
status=0
on B "${readonly[@]}" "$IB_HOOK" --sysfs /run/sys/B --apply >$work/out 2>$work/err || status=$?
expect_equal "a read-only /proc/sys: exit status" 3 $status
expect_contains "a read-only /proc/sys: the message" "Read-only" "$(<$work/err)"
expect_equal "a read-only /proc/sys: all is rolled back" "$before" "$(state B)"
