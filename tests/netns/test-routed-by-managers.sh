#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside what network managers, clouds' and storage vendors' tools make of RDMA NICs: a rail's packets that such a tool leads
# by the rail's own NIC are left to it, all other pairs of an address and a prefix get rules of ours, and nothing else changes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/others.sh"
make_others_wire

form "no tool" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
END
form "DHCP on each NIC" "own own router plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i metric 15%i
END

# NetworkManager: ipv4.route-table and ipv4.routing-rules of each connection (nm-settings-nmcli(5)).
form "NetworkManager, route-table" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i noprefixroute
route add 172.16.0.0/16 dev ib%i src 172.16.34.%n metric 15%i table 10%n
rule add priority 10%n from 172.16.34.%n lookup 10%n
END
form "NetworkManager, route-table with a gateway" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i noprefixroute
route add 172.16.0.0/16 dev ib%i src 172.16.34.%n metric 15%i table 10%n
route add default via 172.16.0.254 dev ib%i table 10%n
rule add priority 10%n from 172.16.34.%n lookup 10%n
END
form "NetworkManager, rules with a late priority" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 10%n
rule add priority 3000%n from 172.16.34.%n lookup 10%n
END
form "NetworkManager, one table for both" "own own plain plain" 2 <<'END'
address add 172.16.34.%n/16 dev ib%i noprefixroute
route add 172.16.0.0/16 dev ib%i src 172.16.34.%n metric 15%i table 100
rule add priority 20000 from 172.16.0.0/16 lookup 100
END

# nm-cloud-setup(8): three tiers of rules, 30200 and 30400 with a table each, and main without its default between them.
form "nm-cloud-setup" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i metric 15%i
rule add priority 30350 lookup main suppress_prefixlength 0
route add 172.16.0.0/16 dev ib%i metric 10 table 3020%n
rule add priority 3020%n from 172.16.34.%n lookup 3020%n
route add default via 172.16.0.254 dev ib%i metric 10 table 3040%n
rule add priority 3040%n from 172.16.34.%n lookup 3040%n
END
form "nm-cloud-setup without its first tier" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
rule add priority 30350 lookup main suppress_prefixlength 0
route add 172.16.0.0/16 dev ib%i scope link table 3040%n
route add default via 172.16.0.254 dev ib%i table 3040%n
rule add priority 3040%n from 172.16.34.%n lookup 3040%n
END

# netplan: routes: with table:, and routing-policy: (netplan's reference, "source routing").
form "netplan" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i scope link table 10%n
route add default via 172.16.0.254 dev ib%i table 10%n
rule add from 172.16.34.%n lookup 10%n
END
form "netplan beside DHCP" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i metric 15%i
route add 172.16.0.0/16 dev ib%i scope link table 10%n
route add default via 172.16.0.254 dev ib%i table 10%n
rule add from 172.16.34.%n lookup 10%n
END
form "netplan, a default alone" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i table 10%n
rule add from 172.16.34.%n lookup 10%n
END
form "netplan, a default alone, beside DHCP" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i metric 15%i
route add default via 172.16.0.254 dev ib%i table 10%n
rule add from 172.16.34.%n lookup 10%n
END

# amazon-ec2-net-utils 2: a table and a priority of 10000 and more for each interface.
form "amazon-ec2-net-utils" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i table 1000%n
route add 172.16.0.0/16 dev ib%i scope link table 1000%n
rule add priority 1000%n from 172.16.34.%n lookup 1000%n
END
# Oracle Cloud's script for secondary VNICs: tables with a default alone.
form "Oracle Cloud's secondary VNICs" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i table 20%n
rule add priority 3000%n from 172.16.34.%n lookup 20%n
END
# Lustre's ksocklnd-config, at each `lnetctl net add`: rules without a priority.
form "Lustre's ksocklnd-config" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i src 172.16.34.%n table 10%n
rule add from 172.16.34.%n lookup 10%n
END
# WEKA's documentation for several NICs in one subnet: rules from and to each address. That "to" meets the other rail first.
form "WEKA" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i src 172.16.34.%n table 10%n
route add default via 172.16.0.254 dev ib%i table 10%n
rule add from 172.16.34.%n lookup 10%n
rule add to 172.16.34.%n lookup 10%n
END
# AMD Instinct's system acceptance guide, "Configure Network Routing": a /31 for each NIC, with a default in its table.
every="172.16.34.1>172.16.34.0/31 172.16.34.3>172.16.34.2/31"
form "AMD Instinct, /31" "plain plain plain plain" "$every" <<'END'
address add 172.16.34.1/31 dev ib0
address add 172.16.34.3/31 dev ib1
route add default via 172.16.34.0 dev ib0 table 101
route add default via 172.16.34.2 dev ib1 table 102
rule add priority 1010 from 172.16.34.1 lookup 101
rule add priority 1020 from 172.16.34.3 lookup 102
END
# keepalived: a virtual address with a table and a rule of its own (virtual_routes, virtual_rules).
every="1 2 172.16.99.9>172.16.0.0/16"
form "keepalived" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
address add 172.16.99.9/32 dev ib1
route add 172.16.0.0/16 dev ib1 src 172.16.99.9 table 100
rule add from 172.16.99.9 lookup 100
END
# What a VRF set-up adds: its rule, with no VRF there.
every="1 2"
form "the rule of VRFs" "own own plain plain" 1 <<'END'
address add 172.16.34.%n/16 dev ib%i
rule add priority 1000 l3mdev
route add 172.16.0.0/16 dev ib1 table 102
rule add from 172.16.34.2 lookup 102
END
