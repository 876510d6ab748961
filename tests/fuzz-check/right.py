# SPDX-License-Identifier: GPL-2.0-or-later
"""Right hosts, however unusual: two or more rails, peers on the same wire, a management network, and what else hosts have."""

import ipaddress

NAMES = (("ib0", "ib1", "ib2", "ib3"), ("ens1f0np0", "ens1f1np1", "ens2f0np0", "ens2f1np1"), ("roce0", "roce1", "roce2", "roce3"))
BEYOND = "203.0.113.9"
REMOTE = [ipaddress.ip_network(one) for one in ("10.1.0.0/16", "10.9.0.0/24")]


class Rail:
    def __init__(self, nic):
        self.nic = nic
        self.addresses = []  # (address, length)
        self.more = []  # the same, where it has no peers
        self.peers = []  # addresses that it reaches by itself

    def subnets(self):
        return [ipaddress.ip_network(f"{one}/{length}", strict=False) for one, length in self.addresses + self.more]


class Right:
    """steps make it; rails, unbound (peers that unbound traffic reaches) and others are what the judge has to know."""

    def __init__(self, rng, lacking=()):
        self.lacking = lacking  # kinds of links that this kernel has not
        self.rng, self.steps, self.settings, self.extras = rng, [], [], []
        self.rails, self.unbound, self.others, self.ports = [], [], [], {}
        self.among = []  # peers that reach each other
        self.spare = []  # rails to be, without an address
        self.virtual = []  # addresses on lo that peers ask the rails' wire for
        self.nics = 0
        self.make()

    def chance(self, p):
        return self.rng.random() < p

    def ip(self, line, space="host"):
        self.steps.append(("ip", space, line))

    def set(self, line, space="host"):
        self.steps.append(("set", space, line))

    def plug(self, space, nic, bridge, up=True):
        port = f"{'h' if space == 'host' else 'q'}{self.nics}"
        mac = f"02:00:00:00:{'22' if space == 'host' else '10'}:{self.nics:02x}"
        self.nics += 1
        self.ip(f"link add {port} type veth peer name {nic} address {mac} netns {space}", "wire")
        self.ip(f"link set {port} master {bridge} up", "wire")
        if up:
            self.ip(f"link set {nic} up", space)
        self.ports[port] = (space, nic)
        for family in ("ipv4", "ipv6"):  # a proxy answers at once, or not at all
            self.set(f"net/{family}/neigh/{nic}/proxy_delay=0", space)

    # ---- parts ----

    def make(self):
        for name in ("br0", "br1"):
            self.ip(f"link add {name} type bridge forward_delay 0 mcast_snooping 0", "wire")
            self.ip(f"link set {name} up", "wire")
        for key in ("all", "default"):
            value = self.rng.choice((0, 0, 0, 1, 2)) if key == "default" else self.rng.choice((0, 0, 0, 2))
            if value:
                self.set(f"net/ipv4/conf/{key}/rp_filter={value}")
        self.names = self.rng.choice(NAMES)
        self.number = self.rng.choice((2, 2, 2, 3, 4))
        self.routed = self.chance(0.15)
        families = self.rng.choice(("4", "4", "4", "46", "46", "6"))
        self.families = "4" if self.routed else families
        self.by_name = self.routed or self.chance(0.2)  # manage=yes instead of an RDMA device
        for nic in self.names[:self.number]:
            self.rails.append(Rail(nic))
            self.plug("host", nic, "br0")
            if self.by_name:
                self.settings.append((f"[interface {nic}]", "manage=yes"))
            else:
                self.steps.append(("rdma", nic))
        self.fabric_routed() if self.routed else self.fabric()
        self.management = self.chance(0.75)
        if self.management:
            self.plug("host", "eth0", "br1")
            self.ip("address add 10.0.0.34/24 dev eth0")
            self.plug("gw", "eth0", "br1")
            self.ip("address add 10.0.0.1/24 dev eth0", "gw")
            self.ip(f"address add {BEYOND}/32 dev lo", "gw")
            self.ip("route add default via 10.0.0.1 dev eth0")
            self.ip("route add default via 10.0.0.34 dev eth0", "gw")
            self.others = ["10.0.0.1", BEYOND]
        self.unusual()
        if self.settings:
            self.steps.append(("config", "".join(f"{section}\n{setting}\n" for section, setting in self.settings)))
        order = ("wire", "host", "p0", "p1", "gw", "away")
        self.steps.sort(key=lambda step: order.index(step[1]) if step[0] in ("ip", "set") else len(order))

    def fabric(self):
        base = self.rng.choice(("172.16.0.0/16", "192.168.7.0/24", "10.20.0.0/20", "172.30.0.0/16"))
        self.net4 = ipaddress.ip_network(base)
        self.net6 = ipaddress.ip_network("fd00:16::/64")
        for n, rail in enumerate(self.rails):
            if "4" in self.families:
                self.give(rail, self.host(self.net4, 34 * 256 + n + 1))
            if "6" in self.families:
                self.give(rail, self.net6[0x340000 + n + 1])
        for n, peer in enumerate(("p0", "p1")):
            self.plug(peer, "eth0", "br0")
            for net, number in ((self.net4, 16 * 256 + n + 101), (self.net6, 0x160000 + n + 1)):
                if str(net.version) in self.families:
                    address = self.host(net, number)
                    self.ip(f"address add {address}/{net.prefixlen} dev eth0", peer)
                    self.unbound.append(str(address))
                    self.among.append((peer, str(address)))
                    for rail in self.rails:
                        rail.peers.append((peer, str(address)))

    @staticmethod
    def host(net, number):
        return net[number % (net.num_addresses - 2) + 1] if net.version == 4 else net[number]

    def give(self, rail, address, length=None):
        net = self.net4 if address.version == 4 else self.net6
        length = length or net.prefixlen
        rail.addresses.append((str(address), length))
        self.ip(f"address add {address}/{length} dev {rail.nic}")

    def fabric_routed(self):
        """Each NIC has a small subnet and a gateway of its own; what lies beyond is the same for all."""
        length = self.rng.choice((31, 30, 24))
        self.net4 = ipaddress.ip_network("10.1.0.0/16")
        self.set("net/ipv4/conf/all/arp_ignore=1", "p0")
        self.ip("address add 10.9.0.1/32 dev lo", "p0")
        for n, rail in enumerate(self.rails):
            net = ipaddress.ip_network(f"10.1.{n}.0/{length}")
            gateway, own = (net[0], net[1]) if length == 31 else (net[1], net[2])
            self.plug("p0", f"leaf{n}", "br0")
            self.ip(f"address add {gateway}/{length} dev leaf{n}", "p0")
            rail.addresses.append((str(own), length))
            self.ip(f"address add {own}/{length} dev {rail.nic}")
            rail.peers += [("p0", str(gateway)), ("p0", "10.9.0.1")]
            self.unbound.append(str(gateway))
            self.settings.append((f"[interface {rail.nic}]", f"gateway={'first' if length == 24 else 'peer'}"))
            self.settings.append((f"[interface {rail.nic}]", "remote=10.1.0.0/16,10.9.0.0/24"))
        self.settings.sort(key=lambda pair: pair[0])
        merged = {}
        for section, setting in self.settings:
            merged.setdefault(section, []).append(setting)
        self.settings = [(section, "\n".join(some)) for section, some in merged.items()]

    def remote(self, rail):
        """Where it goes by a gateway of its own: hosts of its siblings' subnets, of remote=, and what lies beyond."""
        if not self.routed:
            return []
        return [BEYOND, "10.9.0.77", "10.1.200.5"] + [one.peers[0][1] for one in self.rails if one is not rail]

    # ---- right but unusual ----

    def unusual(self):
        kinds = [self.bridge_inside, self.static_inside, self.vrf, self.macvlan, self.vlan, self.vip, self.rules_of_others,
                 self.more_addresses, self.forwarding, self.spread, self.strict, self.no_address,
                 self.plain_nic, self.second_subnet, self.other_routes, self.rules_by_mark, self.tailnet, self.second_uplink,
                 self.vip_of_a_rail, self.main_lacks, self.nexthop_objects, self.local_later, self.other_names]
        self.chosen = chosen = self.rng.sample(kinds, self.rng.choice((0, 0, 1, 1, 2, 3)))
        if self.vip in chosen and self.no_address in chosen:  # it is left to answer for the VIP, and so for the rails
            chosen.remove(self.no_address)
        for one in chosen:
            if one.__name__ not in self.lacking and one() is not False:
                self.extras.append(one.__name__)

    def piece(self, number=200):
        """A part of the subnet where no peer and no rail lives."""
        if "4" not in self.families or self.routed:
            return None
        net = self.net4
        length = 28 if net.prefixlen == 24 else 24
        return list(net.subnets(new_prefix=length))[number % (1 << (length - net.prefixlen))]

    def other_names(self):
        """Sections of the configuration that match nothing here: it is one file for many hosts."""
        for section, setting in (("[interface nosuch7]", "manage=no"), (f"[interface {self.rails[0].nic}x*]", "table=4000")):
            self.settings.append((section, setting))
        return True

    def bridge_inside(self):
        net = self.piece(13)
        if not net:
            return False
        self.ip("link add docker0 type bridge forward_delay 0")
        self.ip("link add port0 type veth peer name port0 netns away")
        self.ip("link set port0 up", "away")
        self.ip("link set port0 master docker0 up")
        self.ip("link set docker0 up")
        self.ip(f"address add {net[1]}/{net.prefixlen} dev docker0")
        return True

    def static_inside(self):
        net = self.piece(14)
        if not net or not self.management:
            return False
        self.ip(f"route add {net} via 10.0.0.1 dev eth0")
        return True

    def vrf(self):
        self.ip("link add vrf7 type vrf table 77")
        self.ip("link set vrf7 up")
        self.ip("link add in7 type veth peer name in7 netns away")
        self.ip("link set in7 master vrf7 up")
        self.ip("address add 10.66.0.1/24 dev in7")

    def macvlan(self):
        self.ip(f"link add link {self.rails[0].nic} name mv0 address 02:00:00:00:77:08 type macvlan mode bridge")
        self.set("net/ipv4/conf/mv0/arp_ignore=1")
        self.ip("link set mv0 up")
        self.ip("address add 10.78.0.34/24 dev mv0")

    def vlan(self):
        self.ip(f"link add link {self.rails[-1].nic} name vlan100 type vlan id 100")
        self.ip("link set vlan100 up")
        self.ip("address add 10.77.0.34/24 dev vlan100")

    def vip(self):
        if "4" not in self.families or self.routed:
            return False
        self.virtual = [str(self.host(self.net4, 77))]
        self.ip(f"address add {self.virtual[0]}/32 dev lo")
        return True

    def rules_of_others(self):
        priority = self.rng.choice((100, 900, 5210, 20000, 40000))
        self.ip(f"rule add from 10.55.0.0/16 lookup 700 priority {priority}")
        self.ip(f"rule add fwmark 0x5 to 10.56.0.0/16 lookup 701 priority {priority + 1}")
        self.ip(f"rule add lookup 702 priority {priority + 2}")
        self.ip("route add 10.56.0.0/16 dev lo table 701")
        self.ip("route add blackhole default table 700")

    def more_addresses(self):
        rail = self.rng.choice(self.rails)
        if self.routed:
            return False
        if "4" in self.families:
            self.give(rail, self.host(self.net4, 35 * 256 + 50))
        if "6" in self.families:
            self.give(rail, self.net6[0x350001])
        return True

    def forwarding(self):
        self.set("net/ipv4/ip_forward=1")

    def spread(self):
        if self.routed or "4" not in self.families:
            return False
        self.settings.append(("[defaults]", "main=spread"))
        return True

    def strict(self):
        self.settings.append(("[defaults]", "arp=strict"))

    def no_address(self):
        self.plug("host", "ibspare", "br0")
        self.spare.append(Rail("ibspare"))
        self.steps.append(("rdma", "ibspare"))

    def plain_nic(self):
        self.plug("host", "lan0", "br0")
        self.set("net/ipv4/conf/lan0/arp_ignore=1")
        self.ip("address add 10.79.0.34/24 dev lan0")

    def second_subnet(self):
        rail = self.rng.choice(self.rails)
        if self.routed:
            return False
        self.ip(f"address add 10.80.0.34/24 dev {rail.nic}")
        rail.more.append(("10.80.0.34", 24))
        return True

    def other_routes(self):
        self.ip("route add unreachable 10.90.0.0/16")
        self.ip("route add blackhole 192.0.2.0/24")
        if self.management:
            self.ip("route add 10.91.0.0/16 via 10.0.0.1 dev eth0 proto bird")

    def rules_by_mark(self):
        """As Cilium, Calico, the AWS VPC CNI and Istio have them."""
        mark, table = self.rng.choice((("0x200/0xf00", "2004"), ("0x80/0x80", "main"), ("0x539", "133"), ("0x10000/0xf0000", "254")))
        self.ip(f"rule add fwmark {mark} lookup {table} priority {self.rng.choice((9, 110, 1024, 1939, 1940, 1941))}")
        if table not in ("main", "254"):
            self.ip(f"route add local default dev lo table {table}")

    def tailnet(self):
        """A VPN of its own prefixes, whose rule for all comes after the rails'."""
        self.ip("link add ts0 type veth peer name ts0 netns away")
        self.ip("link set ts0 up")
        self.ip("address add 100.101.0.34/32 dev ts0")
        self.ip("rule add fwmark 0x80000/0xff0000 lookup main priority 5210")
        self.ip("rule add fwmark 0x80000/0xff0000 unreachable priority 5250")
        self.ip("rule add lookup 52 priority 5270")
        self.ip("route add 100.64.0.0/10 dev ts0 table 52")

    def second_uplink(self):
        if not self.management:
            return False
        self.plug("host", "wan1", "br1")
        self.set("net/ipv4/conf/wan1/arp_ignore=1")
        self.ip("address add 10.2.0.34/24 dev wan1")
        self.ip("rule add from 10.2.0.34 lookup 201 priority 201")
        self.ip("rule add fwmark 0x2 lookup 201 priority 202")
        self.ip("route add default via 10.2.0.1 dev wan1 table 201")
        return True

    def vip_of_a_rail(self):
        """As keepalived has it."""
        if "4" not in self.families or self.routed:
            return False
        self.ip(f"address add {self.host(self.net4, 78)}/32 dev {self.rng.choice(self.rails).nic}")
        return True

    def main_lacks(self):
        """Its manager has put the rails' subnet into another table. A virtual address is main's NIC's to answer for: none is here."""
        if "4" not in self.families or self.routed or self.spread in self.chosen or self.vip in self.chosen:
            return False
        for rail in self.rails:
            self.ip(f"route del {self.net4} dev {rail.nic}")
        self.unbound = [one for one in self.unbound if ":" in one]
        return True

    def nexthop_objects(self):
        if not self.management:
            return False
        self.ip("nexthop add id 31 via 10.0.0.1 dev eth0")
        self.ip("nexthop add id 32 blackhole")
        self.ip("route add 10.93.0.0/16 nhid 31 proto zebra")
        self.ip("route add 10.94.0.0/16 nhid 32 proto zebra")
        return True

    def local_later(self):
        """Table local is asked later, but before the rails' rules."""
        self.ip("rule add lookup local priority 100")
        self.ip("rule del priority 0")
