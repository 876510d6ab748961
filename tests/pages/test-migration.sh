#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/migration.md: its commands, as they stand there, take a host from hand-written scripts to ib-hook alone, and
# lose no packet: from the script that deletes main's routes, and from files of network-scripts with strict sysctls.
. "$(dirname "$0")/../netns/lib.sh"

page=$top/packaging/doc/migration.md
make_hosts 2
rails_by_hand A 2
serve A B
before=$(foreign_state B)

# In this tree B's scripts are: its ib-hook looks there, and "sudo sh" of the page moves them away there.
tree=$work/tree
mkdir -p $tree $work/bin
ln -s /run/sys/B $tree/sys
cat >$work/bin/ib-hook <<END
#!/bin/sh
exec "$IB_HOOK" --sysfs $tree/sys "\$@"
END
cat >$work/bin/sudo <<END
#!/bin/bash
[ "\$1" = sh ] || exec "\$@"
$(declare -f in_tree)
in_tree $tree | sh -e
END
chmod 0755 $work/bin/ib-hook $work/bin/sudo

step() { # NUMBER: its commands; leaves what they print in $out, their status in $status
    local script
    script=$(sed -n "/^$1\. /,/^$(($1 + 1))\. \|^Names/s/^ \{7\}//p" "$page")
    [ -n "$script" ] || fail "step $1 of the page has commands"
    status=0
    out=$(on B env PATH="$work/bin:$PATH" bash -c "$script" 2>&1) || status=$?
}

write() { # MODE PATH: a file in the tree, from standard input
    mkdir -p "$tree/$(dirname "$2")"
    cat >"$tree/$2"
    chmod "$1" "$tree/$2"
}

script_of_a_dispatcher() {
    local place=etc/networkd-dispatcher/routable.d/route-ib-mem34 nic
    documents_script | write 0755 $place
    for nic in ib0 ib1; do on B env IFACE=$nic bash $tree/$place; done
}

files_of_network_scripts() {
    local places=etc/sysconfig/network-scripts i key
    for i in 0 1; do
        echo "172.16.0.0/16 dev ib$i scope link src 172.16.34.$((i + 1)) table $((100 + i))" | write 0644 $places/route-ib$i
        echo "table $((100 + i)) from 172.16.34.$((i + 1))" | write 0644 $places/rule-ib$i
        on B bash -c "ip route add $(<$tree/$places/route-ib$i); ip rule add $(<$tree/$places/rule-ib$i)"
        for key in arp_filter=1 arp_announce=2 arp_ignore=2 rp_filter=1; do sysctl_set B ib$i ${key%=*} ${key#*=}; done
    done
}

system_config '' # /etc/ib-hook is this test's own
for kind in script_of_a_dispatcher files_of_network_scripts; do
    $kind
    forget A B
    # The worst case is a peer with a wrong entry; where strict filters stand already it would be cut off before.
    [ $kind = files_of_network_scripts ] || peer_holds_wrong_mac
    traffic_start
    step 1
    expect_equal "$kind: step 1" 0 $status
    if [ $kind = files_of_network_scripts ]; then # in tables 100 and 101
        expect_equal "$kind: they need no rules of ours" "" "$(our_rules B)"
    fi
    step 3
    expect_equal "$kind: step 3 finds something" 1 $status
    for nic in ib0 ib1; do expect_contains "$kind: it names the script" "$nic: warning legacy-script: /etc/" "$out"; done
    cp -rp $tree/etc $work/before
    step 4
    expect_equal "$kind: step 4 takes all files away" "0 " "$status $(find $tree/etc -type f)"
    step 4
    expect_equal "$kind: once more, nothing happens" "0 " "$status $(find $tree/etc -type f)"
    mv $tree/var/lib/ib-hook/replaced/etc $work/kept
    find $work/kept -type f -exec sh -c 'mv "$1" "${1%.??????}"' sh {} \;
    diff -r $work/before $work/kept || fail "$kind: they are kept as they were"
    rm -r $work/before $work/kept
    step 5
    expect_equal "$kind: step 5" 0 $status
    step 6
    expect_equal "$kind: after step 6 nothing is left to say: $out" 0 $status
    wait_until 2 both_learned_right
    traffic_stop
    expect_settled_right "$kind: all steps under traffic"
    expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    on B ping -q -n -c 1 -W 1 172.16.16.1 >/dev/null || fail "$kind: what names no source arrives, too"
    hook B --undo >/dev/null
    for nic in ib0 ib1; do
        for key in rp_filter arp_filter arp_announce arp_ignore; do sysctl_set B $nic $key 0; done
    done
    expect_equal "$kind: only ib-hook's was left" "$(tidy <<<"$before")" "$(foreign_state B | tidy)"
    rm -r ${tree:?}/etc /run/ib-hook
done
