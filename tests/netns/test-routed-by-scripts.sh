#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside scripts of people, whole, half done and odd: as test-routed-by-managers, which see.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/others.sh"
make_others_wire

# The documents' scripts: a table with the subnet for each NIC, and a rule.
form "the documents'" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 94%n
rule add from 172.16.34.%n lookup 94%n
END
form "the documents' beside DHCP" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i metric 15%i
route add 172.16.0.0/16 dev ib%i table 94%n
rule add from 172.16.34.%n lookup 94%n
END
form "the documents', main's routes deleted" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route del 172.16.0.0/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 94%n
rule add from 172.16.34.%n lookup 94%n
END
form "the documents' with priorities" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 94%n
rule add priority 94%n from 172.16.34.%n lookup 94%n
END
form "the documents', and a piece by the router" "own plain plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 10%n
route add 172.16.50.0/24 via 172.16.0.254 dev ib%i table 10%n
rule add from 172.16.34.%n lookup 10%n
END
form "the documents', a piece by the router, beside DHCP" "own plain plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i metric 15%i
route add 172.16.0.0/16 dev ib%i table 10%n
route add 172.16.50.0/24 via 172.16.0.254 dev ib%i table 10%n
rule add from 172.16.34.%n lookup 10%n
END
form "the documents', a piece by the management NIC" "own plain plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 10%n
route add 172.16.50.0/24 via 192.0.2.1 dev eth0 table 10%n
rule add from 172.16.34.%n lookup 10%n
END
form "the documents', with a destination" "own plain plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 10%n
route add 172.16.50.0/24 via 172.16.0.254 dev ib%i table 10%n
rule add from 172.16.34.%n to 172.16.0.0/16 lookup 10%n
END

# Pair by pair: what they do not lead is ours, and what they lead stays theirs.
others="172.16.34.1>10.9.0.0/24 172.16.34.2>10.9.0.0/24 10.9.0.1>10.9.0.0/24 10.9.0.2>10.9.0.0/24 10.9.0.1>172.16.0.0/16 10.9.0.2>172.16.0.0/16"
every="1 2 $others"
form "one of two subnets" "own plain plain plain own own plain plain" "$others" <<'END'
address add 172.16.34.%n/16 dev ib%i
address add 10.9.0.%n/24 dev ib%i
route add 172.16.0.0/16 dev ib%i table 10%n
route add 172.16.50.0/24 via 172.16.0.254 dev ib%i table 10%n
rule add from 172.16.34.%n lookup 10%n
END
system_config "[interface ib*]
manage=yes
remote=198.51.100.0/24 via 172.16.0.254"
others="172.16.34.1>198.51.100.0/24 172.16.34.2>198.51.100.0/24"
every="1 2 $others"
form "the documents', and remote=" "own own router plain" "$others" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 10%n
rule add from 172.16.34.%n lookup 10%n
END
system_config "[interface ib*]
manage=yes"
every="1 2"

# Half done.
form "a rule without a route" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
rule add from 172.16.34.%n lookup 10%n
END
form "a route without a rule" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 10%n
END
form "the second NIC's alone" "own own plain plain" 1 <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib1 table 102
rule add from 172.16.34.2 lookup 102
END

# Rules that select more than an address.
form "for what this host sends itself" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib%i table 10%n
rule add from 172.16.34.%n iif lo lookup 10%n
END
form "all but the default" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default dev ib%i table 10%n
rule add priority 3000%n from 172.16.34.%n lookup 10%n suppress_prefixlength 0
END
form "rules to main" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
rule add priority 3000%n from 172.16.34.%n lookup main
END
form "the whole subnet by one NIC" "own own plain plain" 2 <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib0 table 100
rule add from 172.16.0.0/16 lookup 100
END
form "the whole subnet by one NIC, then the other's" "own own plain plain" 2 <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib0 table 100
rule add priority 20000 from 172.16.0.0/16 lookup 100
route add 172.16.0.0/16 dev ib1 table 102
rule add priority 30000 from 172.16.34.2 lookup 102
END

# Tables whose answer is not by this NIC alone.
form "a wider prefix by the other NIC, and a kill switch" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/12 dev ib0 table 102
route add blackhole default table 102
rule add priority 30000 from 172.16.34.2 lookup 102
END
form "both NICs in one route" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add table 100 172.16.0.0/16 nexthop dev ib0 nexthop dev ib1
rule add priority 20000 from 172.16.0.0/16 lookup 100
END
form "the management NIC by the better metric" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add 172.16.0.0/16 dev ib1 metric 200 table 102
route add 172.16.0.0/16 dev eth0 metric 100 table 102
rule add priority 20000 from 172.16.34.2 lookup 102
END
form "a throw, and a default by the management NIC" "own own plain plain" "1 2" <<'END'
address add 172.16.34.%n/16 dev ib%i
route add throw 172.16.0.0/16 table 10%n
route add default via 192.0.2.1 dev eth0 table 10%n
rule add priority 3000%n from 172.16.34.%n lookup 10%n
END

# Kill switches: an error route is an answer, and no default of ours goes around it.
form "a kill switch beside the subnet" "own own plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i metric 15%i
route add 172.16.0.0/16 dev ib%i table 10%n
route add blackhole default table 10%n
rule add from 172.16.34.%n lookup 10%n
END
form "a kill switch alone" "plain plain plain plain" - <<'END'
address add 172.16.34.%n/16 dev ib%i
route add default via 172.16.0.254 dev ib%i metric 15%i
route add blackhole default table 10%n
rule add priority 3000%n from 172.16.34.%n lookup 10%n
END
