#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What people put into hook directories, rule-IFACE files and netplan to do the same by hand: --check names it, and its
# fix takes it back, so that nothing but ours is left of routing, and all else that stood there. Each script here is run as its
# manager would run it.
. "$(dirname "$0")/lib.sh"

make_hosts 2
rails_by_hand A 2
tree=$work/tree
mkdir -p $tree
ln -s /run/sys/B $tree/sys
before=$(state B)
hook B --apply >/dev/null

check() { hook B --sysfs $tree/sys --check --json >$work/out || true; }
found() { jq -r '.findings[] | select(.code == "legacy-script") | "\(.ifaces | join("+")) \(.severity) \(.message)"' $work/out; }
fix_of() { jq -r --arg iface "$1" '[.findings[] | select(.code == "legacy-script" and .iface == $iface) | .fix // .advice][0]' $work/out; }

write() { # MODE PATH: a file in the tree, from standard input
    mkdir -p "$tree/$(dirname "$2")"
    cat >"$tree/$2"
    chmod "$1" "$tree/$2"
}

run() { # PATH [IFACE]…
    local iface
    for iface in "${@:2}"; do
        on B env IFACE="$iface" DEVICE_IFACE="$iface" bash "$tree/$1" "$iface" up
    done
}

paste_fix() { # WHAT NIC: where the tree is the root; somebody has looked at the script
    local fix
    fix=$(fix_of "$2" | looked_at | in_tree $tree | sed "s,ib-hook --apply,$IB_HOOK --sysfs $tree/sys --apply,")
    on B sh -ec "$fix" >/dev/null 2>$work/err || fail "$1: the fix for $2 can be pasted" "$fix
$(<$work/err)"
    expect_equal "$1: it says nothing" "" "$(<$work/err)"
}

kept() { # PATH: the copies of it, moved or with lines that were taken out
    find "$tree/var/lib/ib-hook/replaced/$1".?????? 2>/dev/null || true
}

# fixes WHAT: --check is not happy, the fixes are pasted, then it is, and nothing is left
fixes() {
    local nic
    for nic in ib0 ib1; do paste_fix "$1" $nic; done
    expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    expect_lacks "$1: no rule of the script is left" "from 172.16.34" "$(ip -n B -d rule | grep -v "suppress_ifgroup $MARK")"
    expect_equal "$1: no route of it is left in a table of its own" "" \
        "$(ip -n B route show table all | grep -v -e "metric $MARK" -e 'table local' | grep ' table ' || true)"
    hook B --undo >/dev/null
    for nic in ib0 ib1; do # the script took them out of main
        [[ $(ip -n B route show) == *"172.16.0.0/16 dev $nic"* ]] ||
            ip -n B route append 172.16.0.0/16 dev $nic proto kernel scope link src 172.16.34.$((${nic#ib} + 1))
    done
    expect_equal "$1: nothing else differs" "$(tidy <<<"$before")" "$(state B | tidy)"
    hook B --apply >/dev/null
    rm -rf "${tree:?}"/etc
}

# The first document's, for networkd-dispatcher and for ifupdown.
for place in etc/networkd-dispatcher/routable.d/route-ib-mem34 etc/network/if-up.d/route-ib-mem34; do
    documents_script | write 0755 $place
    run $place ib0 ib1
    hook B --apply >/dev/null
    check
    cp -p $tree/$place $work/script
    expect_equal "the document's script" "ib0 warning /$place routes it, too (ip route add 172.16.0.0/16 dev ib0 proto kernel scope link src 172.16.34.1 table 941): it knows of no change, and what it deletes stays away; one of the two is enough; look at it first, it may do other things, too
ib1 warning /$place routes it, too (ip route add 172.16.0.0/16 dev ib1 proto kernel scope link src 172.16.34.2 table 942): it knows of no change, and what it deletes stays away; one of the two is enough; look at it first, it may do other things, too" "$(found)"
    fixes "/$place"
    expect_equal "/$place: it is kept, once" 1 "$(kept $place | wc -l)"
    cmp $work/script "$(kept $place)" || fail "/$place: as it was"
    expect_equal "/$place: and can be put back" 755 "$(stat -c %a "$(kept $place)")"
done

# A loop over variables: what stands in the kernel says that it is about the rails.
place=etc/NetworkManager/dispatcher.d/pre-up.d/10-rails
write 0755 $place <<-'END'
	#!/bin/sh
	# ip rule add from 172.16.34.1 table 7 is only a comment
	case $1 in ib*) ;; *) exit 0 ;; esac
	T=$((941 + ${1#ib}))
	ip -4 ru a from "$(ip -4 -o addr show dev "$1" | sed 's,.*inet \([0-9.]*\)/.*,\1,')" \
	    lookup "$T" pref 500; /sbin/ip r replace 172.16.0.0/16 dev $1 table $T
	END
check
expect_equal "no trace of it yet: nobody knows whom it means" "" "$(found)"
sed -i 's,/sbin/ip,ip,' $tree/$place
run $place ib0 ib1
hook B --apply >/dev/null
check
expect_contains "with variables" "ib1 warning /$place routes it, too (ip -4 ru a from \$ lookup \$T pref 500)" "$(found)"
fixes "with variables"

# The second document's, for network-scripts, with names of tables.
places=etc/sysconfig/network-scripts
echo "172.16.0.0/16 dev ib0 scope link src 172.16.34.1 table t1" | write 0644 $places/route-ib0
echo "172.16.0.0/16 scope link src 172.16.34.2 table t2" | write 0644 $places/route-ib1
echo "table t1 from 172.16.34.1" | write 0644 $places/rule-ib0
echo "table t2 from 172.16.34.2" | write 0644 $places/rule-ib1
check
expect_equal "rule and route files" "ib0 /$places/rule-ib0
ib0 /$places/route-ib0
ib1 /$places/rule-ib1
ib1 /$places/route-ib1" "$(found | cut -d' ' -f1,3)"
paste_fix "a rule file" ib1
expect_equal "it is moved" "172.16.34.2 1" "$(sed 's/.* //' "$(kept $places/rule-ib1)") $(kept $places/rule-ib1 | wc -l)"
expect_equal "and it alone" "route-ib0 route-ib1 rule-ib0" "$(cd $tree/$places && echo *)"
paste_fix "a rule file" ib1
echo "table t3 from 172.16.34.2" | write 0644 $places/rule-ib1
check
paste_fix "the next one of that name" ib1
expect_equal "does not take the place of the one before" "table t2 table t3" "$(kept $places/rule-ib1 | xargs sed 's/ from.*//' | sort | xargs)"
rm -r "${tree:?}"/etc

# Other lines in such a file survive, and what the file is to its readers: owner, mode and the inode of a link.
write 0640 $places/route-ib0 <<-'END'
	# storage
	10.7.0.0/16 via 172.16.0.7 dev ib0
	172.16.0.0/16 dev ib0 scope link src 172.16.34.1 table 941
	172.16.0.0/16 dev ib1 scope link src 172.16.34.2 table 942
	10.8.0.0/16 via 172.16.0.8 # it's "here"
	END
cp -p $tree/$places/route-ib0 $work/script
ln $tree/$places/route-ib0 $work/link
check
expect_contains "the finding says so" "one of the two is enough; look at it first, it does other things, too (10.7.0.0/16 via 172.16.0.7 dev ib0)" \
    "$(found)"
paste_fix "a mixed file" ib0
expect_equal "only the rails' lines are taken out" "$(grep -v table $work/script)" "$(<$tree/$places/route-ib0)"
expect_equal "the file is the same one" "640 2" "$(stat -c '%a %h' $tree/$places/route-ib0)"
paste_fix "a mixed file, the other rail's" ib1
expect_equal "nothing is done twice" "$(grep -v table $work/script)" "$(<$tree/$places/route-ib0)"
expect_equal "as it was, it is kept, once" 1 "$(kept $places/route-ib0 | wc -l)"
cmp $work/script "$(kept $places/route-ib0)" || fail "as it was, it is kept"
check
expect_equal "nothing is left to say of it" "" "$(found)"
rm -r "${tree:?}"/etc

# A script that does other things, too, is for people: there is advice, and no fix that could be pasted blindly.
place=etc/NetworkManager/dispatcher.d/50-ib
for line in 'ip link set ib0 mtu 4092' 'mount /scratch' 'echo connected >/sys/class/net/ib0/mode' 'sysctl -w net.core.rmem_max=1'; do
    { documents_script && echo "$line"; } | write 0755 $place
    cp -p $tree/$place $work/script
    check
    expect_equal "a script with $line: both findings say it" 2 "$(found | grep -c "look at it first, it may do other things, too$")"
    expect_equal "$line: nothing to paste" "null" "$(jq -r '[.findings[] | select(.code == "legacy-script") | .fix] | unique[]' $work/out)"
    expect_contains "$line: what is to be done" "look at /$place first, all that it does will end; then: " "$(fix_of ib0)"
done
rm -r "${tree:?}"/etc

# netplan, and a stanza: what else stands in these files stays.
write 0600 etc/netplan/99-rails.yaml <<-'END'
	network:
	  version: 2
	  ethernets:
	    ib0: {addresses: [172.16.34.1/16], routing-policy: [{from: 172.16.34.1, table: 941}]}
	    ib1:
	      addresses: [172.16.34.2/16]
	      routing-policy:
	       - from: "172.16.34.2/32"
	         table: 942
	END
write 0644 etc/network/interfaces <<-'END'
	auto ib1
	iface ib1 inet static
	    address 172.16.34.2/16
	    up ip rule add from 172.16.34.2 table 942
	END
ip -n B rule add from 172.16.34.2 lookup 942 priority 600
hook B --apply >/dev/null
check
expect_equal "netplan and interfaces" "ib0 /etc/netplan/99-rails.yaml
ib1 /etc/network/interfaces
ib1 /etc/netplan/99-rails.yaml" "$(found | cut -d' ' -f1,3)"
expect_equal "the file is not to be removed" "take \"ip rule add from 172.16.34.2 table 942\" out of /etc/network/interfaces, which does other things, too; then: ip -4 rule del priority 600 from 172.16.34.2 lookup 942 protocol 0; ib-hook --apply" "$(fix_of ib1)"
ip -n B rule del priority 600
rm -r "${tree:?}"/etc

# What is not meant: others' addresses, main's table, what nobody runs, links, what is not root's, what is too long.
write 0755 etc/network/if-up.d/others <<-'END'
	ip rule add from 192.168.7.1 table 941
	ip rule add from 172.16.34.1 table main
	ip rule del from 172.16.34.1 table 941
	ip route add 172.16.0.0/16 dev ib0
	ip route add 10.0.0.0/8 dev eth0 table 77
	echo "add ip rule for ib interface"
	END
documents_script | write 0644 etc/network/if-up.d/not-executable
documents_script | write 0755 etc/network/if-up.d/$'a\nb' # its name is no word of a command to paste
if [ "$rooted" = yes ]; then
    documents_script | write 0755 etc/network/if-up.d/of-somebody
    chown 1 $tree/etc/network/if-up.d/of-somebody
fi
documents_script | write 0755 elsewhere
ln -s $tree/elsewhere $tree/etc/network/if-up.d/link
{
    documents_script
    head -c 100000 /dev/zero | tr '\0' '#'
} | write 0755 etc/network/if-up.d/long
mkfifo -m 0755 $tree/etc/network/if-up.d/pipe
ln -s /dev/null $tree/etc/network/if-up.d/masked
check
expect_equal "nothing of that" "" "$(found)"
