#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What people put into hook directories, rule-IFACE files and netplan to do the same by hand: --check names the file, the line
# and the rails, in one finding for each file. What others do there is not meant.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
tree=$work/tree
mkdir -p $tree
ln -s /run/sys/B $tree/sys
hook B --apply >/dev/null

check() { hook B --sysfs $tree/sys --check --json >$work/out || [ $? = 1 ]; }
ifindex() { ip -n B -j link show dev "$1" | jq ".[0].ifindex"; }
found() { jq -r '.findings[] | select(.code == "legacy-script") | "\(.ifaces | join("+")) \(.severity) \(.owner) \(.message | sub(".*: (?<l>line)"; "\(.l)"))"' $work/out; }

write() { # MODE PATH: a file in the tree, from standard input
    mkdir -p "$tree/$(dirname "$2")"
    cat >"$tree/$2"
    chmod "$1" "$tree/$2"
}

# The first document's, for networkd-dispatcher and for ifupdown: variables alone, so what it left says whom it means.
for place in etc/networkd-dispatcher/routable.d/route-ib-mem34 etc/network/if-up.d/route-ib-mem34; do
    documents_script | write 0755 $place
    check
    for iface in ib0 ib1; do on B env IFACE=$iface bash "$tree/$place" 2>/dev/null || true; done
    check
    expect_contains "the document's script" "ib0+ib1 info /$place line " "$(found)"
    expect_equal "and only one" 1 "$(found | wc -l)"
    expect_equal "advice, and nothing to paste" "null look" "$(jq -r '.findings[] | select(.code == "legacy-script") | "\(.fix) \(.advice[0:4])"' $work/out)"
    hook B --apply >/dev/null
    rm -r "${tree:?}"/etc
done

# With variables, in short words, over lines.
place=etc/NetworkManager/dispatcher.d/pre-up.d/10-rails
write 0755 $place <<-'END'
	#!/bin/sh
	# ip rule add from 172.16.34.1 table 7 is only a comment
	case $1 in ib*) ;; *) exit 0 ;; esac
	T=$((941 + ${1#ib}))
	ip -4 ru a from "$(ip -4 -o addr show dev "$1" | sed 's,.*inet \([0-9.]*\)/.*,\1,')" \
	    lookup "$T" pref 500; ip r replace 172.16.0.0/16 dev $1 table $T
	END
check
expect_contains "with variables" "ib0+ib1 info /$place line 5: ip -4 ru a from" "$(found)"
for table in 941 942; do ip -n B route flush table $table proto boot; done
while ip -n B rule del priority 32763 2>/dev/null || ip -n B rule del priority 1939 2>/dev/null; do :; done
rm -r "${tree:?}"/etc

not_shown="(not shown: not all users may read this file)"
# The second document's, for network-scripts, with names of tables; netplan; and a stanza.
places=etc/sysconfig/network-scripts
echo "172.16.0.0/16 scope link src 172.16.34.2 table t2" | write 0644 $places/route-ib1
echo "table t1 from 172.16.34.1" | write 0644 $places/rule-ib0
write 0644 etc/netplan/99-rails.yaml <<-'END'
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
chmod 0640 $tree/$places/rule-ib0 # of files that not everybody may read, no line is quoted
# Bytes of an old encoding, beside what is found and in it.
printf '%b' 'auto ib1\niface ib1 inet static\n    wpa-ssid B\0374ro\n' \
    '    up ip rule add from 172.16.34.2 table 942; echo B\0374ro # B\0374ro\n' |
    write 0644 etc/network/interfaces
check
expect_equal "files of the managers" "ib0 warning /$places/rule-ib0 line 1: $not_shown
ib0+ib1 warning /etc/netplan/99-rails.yaml line 4: ib0: {addresses: [172.16.34.1/16], routing-policy: [{from: 172.16.34.1, table: 941}]}
ib1 info /etc/network/interfaces line 4: up ip rule add from 172.16.34.2 table 942; echo B�ro
ib1 info /$places/route-ib1 line 1: 172.16.0.0/16 scope link src 172.16.34.2 table t2" "$(found | sort)"
rm -r "${tree:?}"/etc

# A preferred source is no rule's source, and a table may be for a mark.
write 0644 etc/netplan/50-others.yaml <<-'END'
	network:
	  ethernets:
	    ib0:
	      routes:
	       - to: 10.50.0.0/16
	         via: 172.16.0.9
	         from: 172.16.34.1
	    eth0:
	      routing-policy:
	       - from: 192.0.2.5
	         table: 7
	END
write 0755 etc/NetworkManager/dispatcher.d/30-mark <<-'END'
	#!/bin/sh
	ip rule add fwmark 7 table 100
	ip route replace default via 172.16.0.254 dev ib0 src 172.16.34.1 table 100
	END
printf '%s\n' '[RoutingPolicyRule]' FirewallMark=7 Table=100 '[Route]' PreferredSource=172.16.34.1 Table=100 |
    write 0644 etc/systemd/network/30-mark.network
check
expect_equal "routes with a preferred source, and a table for a mark" "" "$(found)"
rm -r "${tree:?}"/etc

# systemd-networkd's own: a rule in any file; a route in the file by which it configures the NIC, or in a drop-in of that.
mkdir -p $tree/run/systemd/netif/links
for nic in ib0 ib1; do
    printf 'ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/20-%s.network\n' $nic >"$tree/run/systemd/netif/links/$(ifindex $nic)"
done
write 0644 etc/systemd/network/20-ib0.network <<-'END'

	[Match]
	Name=ib0
	[Network]
	Address=172.16.34.1/16
	; Table=7
	[RoutingPolicyRule]
	# the first rail
	From=172.16.34.1
	Table=941
	END
printf '%s\n' '[Route]' Destination=172.16.0.0/16 Scope=link Table=942 | write 0644 etc/systemd/network/20-ib1.network.d/table.conf
printf '%s\n' '[Match]' Name=eth7 '[Route]' Scope=link Table=942 | write 0644 etc/systemd/network/20-ib1.network7.network
# What a boot runs.
echo '@reboot root ip rule add from 172.16.34.1 table 941' | write 0644 etc/cron.d/rails
printf '[Service]\nExecStart=/sbin/ip rule add from 172.16.34.2 table 942\n' | write 0644 etc/systemd/system/rails.service
documents_script | write 0755 etc/rc.local
check
expect_equal "systemd-networkd's files, and what a boot runs" "ib0 warning /etc/cron.d/rails line 1: @reboot root ip rule add from 172.16.34.1 table 941
ib0 warning /etc/systemd/network/20-ib0.network line 7: [RoutingPolicyRule]  From=172.16.34.1 Table=941
ib0+ib1 warning /etc/rc.local $(documents_script | grep -n 'route add' | head -n 1 | sed 's/:[ \t]*/: /; s/^/line /')
ib1 info /etc/systemd/network/20-ib1.network.d/table.conf line 1: [Route] Destination=172.16.0.0/16 Scope=link Table=942
ib1 info /etc/systemd/system/rails.service line 2: ExecStart=/sbin/ip rule add from 172.16.34.2 table 942" "$(found | sort)"
rm -r "${tree:?}"/etc

# A route's table counts if a rule leads a rail's address there: another line has it, or the kernel.
printf '%s\n' 'ip route add 172.16.0.0/16 dev ib0 table t7' 'ip rule add from 172.16.34.1 table t7' | write 0755 etc/cron.d/rails
printf '%s\n' 'ip route add 172.16.0.0/16 dev ib1 table 0x4d' | write 0755 etc/rc.local
ip -n B rule add from 172.16.34.0/28 lookup 77 priority 30000
check
expect_equal "routes of tables that a rail's address is led to" "ib0 warning /etc/cron.d/rails line 1: ip route add 172.16.0.0/16 dev ib0 table t7
ib1 info /etc/rc.local line 1: ip route add 172.16.0.0/16 dev ib1 table 0x4d" "$(found | sort)"
ip -n B rule del priority 30000
rm -r "${tree:?}"/etc

# What is not meant: others' addresses, main's table, a table for a mark, what nobody runs, links, what is not root's, what is
# too long.
write 0755 etc/network/if-up.d/others <<-'END'
	ip route add default via 172.16.0.1 dev ib0 table 100
	ip route add default via 172.16.0.1 dev $1 table 100
	ip rule add fwmark 0x64 lookup 100
	ip rule add from 192.168.7.1 table 941
	ip rule add from 172.16.34.1 table main
	ip rule del from 172.16.34.1 table 941
	ip route add 172.16.0.0/16 dev ib0
	ip route add 10.0.0.0/8 dev eth0 table 77
	echo "add ip rule for ib interface"
	END
printf '%s\n' '[Match]' Name=ib0 '[Route]' Destination=172.16.0.0/16 '[RoutingPolicyRule]' From=192.168.7.1 Table=941 |
    write 0644 etc/systemd/network/20-ib0.network
printf '%s\n' '[Match]' Name=eth0 '[Route]' Gateway=10.9.0.1 Table=77 | write 0644 etc/systemd/network/eth0.network
documents_script | write 0644 etc/network/if-up.d/not-executable
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
