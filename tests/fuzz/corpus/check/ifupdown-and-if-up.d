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
== file 644 etc/network/interfaces
auto ib1
iface ib1 inet static
    address 172.16.34.2/16
    wpa-ssid Buro
    up ip rule add from 172.16.34.2 table 942; echo Buro # Buro
== file 755 etc/network/if-up.d/route-ib
#!/bin/sh
[ "$IFACE" = ib0 ] || exit 0
ip rule add from "172.16.34.1" \
    lookup 941 pref 500
== file 755 etc/network/if-up.d/ib-hook
== file 644 run/network/ifstate
lo=lo
ib0=ib0
ib1=rail1
== file 755 usr/bin/ib-hook
