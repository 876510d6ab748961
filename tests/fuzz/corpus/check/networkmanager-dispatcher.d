nic ib0 infiniband rdma mlx5_0/1 arp_announce=2 arp_ignore=1
nic ib1 infiniband rdma mlx5_1/1 arp_announce=2 arp_ignore=1
ip address add 172.16.34.1/16 dev ib0
ip address add 172.16.34.2/16 dev ib1
ip route add 172.16.0.0/16 dev ib0 src 172.16.34.1 table 941 metric mark protocol kernel
ip rule add priority 1940 from 172.16.34.1 to 172.16.0.0/16 lookup main suppress_prefixlength 16 suppress_ifgroup mark protocol kernel
ip rule add priority 1941 from 172.16.34.1 lookup 941 suppress_ifgroup mark protocol kernel
ip route add 172.16.0.0/16 dev ib1 src 172.16.34.2 table 942 metric mark protocol kernel
ip rule add priority 1940 from 172.16.34.2 to 172.16.0.0/16 lookup main suppress_prefixlength 16 suppress_ifgroup mark protocol kernel
ip rule add priority 1941 from 172.16.34.2 lookup 942 suppress_ifgroup mark protocol kernel
== file 755 etc/NetworkManager/dispatcher.d/10-rails
#!/bin/sh
case $1 in ib*) ;; *) exit 0 ;; esac
T=$((941 + ${1#ib}))
ip -4 ru a from "$(ip -4 -o addr show dev "$1" | sed 's,.*inet \([0-9.]*\)/.*,\1,')" \
    lookup "$T" pref 500; ip r replace 172.16.0.0/16 dev $1 table $T
== file 755 etc/NetworkManager/dispatcher.d/pre-up.d/x
ip route replace 172.16.0.0/16 dev ib0 table 941
== file 644 run/NetworkManager/devices/2
[device]
managed=true
connection-uuid=8c7f4b1a-0d6e-4f9e-9b1c-0123456789ab
== file 755 usr/bin/ib-hook
