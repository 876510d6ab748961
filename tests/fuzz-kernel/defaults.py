# SPDX-License-Identifier: GPL-2.0-or-later
"""What a NIC's own routes in main are like: defaults of all forms, by one NIC or by several, and what routes carry: metrics,
encapsulations, a router's preference. Names and numbers of NICs that change hands."""

import random

METRICS = ("mtu lock 1400", "mtu lock 1400", "mtu 1400", "advmss 1300", "initcwnd 20", "initcwnd 20 initrwnd 14", "quickack 1",
           "mtu lock 1300 advmss 1200 initcwnd 5", "rto_min 30ms", "hoplimit 9", "features ecn", "rtt 100ms rttvar 40ms", "cwnd lock 20",
           "window 65535 ssthresh 50", "reordering 5 advmss lock 1300", "congctl reno", "congctl lock reno", "fastopen_no_cookie 1")
ENCAPSULATIONS = ("encap ip id 100 dst 192.0.2.9", "encap mpls 100/200")
ENCAPSULATIONS6 = ("encap seg6 mode encap segs fd00:77::9", "encap ip6 id 100 dst fd00:77::9", "encap mpls 100")
PREFERENCES = ("low", "medium", "high")


class Defaults:
    """What Maker does with them: in half of its worlds, and the others' stay as they are."""

    def choose_defaults(self, seed):
        apart = random.Random(f"defaults {seed}")
        self.defaults, self.next_metric = apart.random() < 0.5, 1000
        self.many = apart.random() < 0.06  # subnets of one NIC

    def ready(self, family=4):
        """NICs that are up and have an address of the family."""
        return [nic for nic in self.rails if self.state.get(nic) == "up" and self.addresses.get(nic) and nic in self.subnet] \
            if family == 4 else [nic for nic in self.rails if self.state.get(nic) == "up" and self.addresses6.get(nic)]

    def router(self, nic):
        if nic in self.leaves:
            return self.rng.choice((self.leaves[nic].gateway(), self.leaves[nic].another()))
        return self.rng.choice((self.subnet[nic].gateway(), self.subnet[nic].host()))

    def router6(self, nic):
        if nic in self.leaves6:
            return self.leaves6[nic]
        return self.rng.choice(("fe80::1", "fe80::2", f"{self.v6_net}fffe", f"{self.v6_net}{self.rng.randrange(0xa000, 0xb000):x}"))

    def more(self):
        """A metric of its own, perhaps other metrics, perhaps a protocol."""
        self.next_metric += 1
        proto = f" proto {self.rng.choice(('dhcp', 'static', 'ra', 'bird'))}" if self.chance(0.6) else ""
        return f"metric {self.next_metric}{proto}{self.carries()}"

    def carries(self, chance=0.4):
        return f" {self.rng.choice(METRICS)}" if self.chance(chance) else ""

    # ---- defaults ----

    def some_defaults(self):
        if not self.defaults:
            return
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            if self.v4 and self.ready() and not self.link_local:
                self.rng.choice((self.one, self.one, self.each, self.each, self.two_of_one, self.hops, self.hops, self.hops_of_one,
                                 self.odd, self.odd, self.default_by_object, self.default_by_object))()
            if self.v6 and self.ready(6):
                self.rng.choice((self.one6, self.one6, self.each6, self.two_of_one6, self.hops6, self.odd6, self.object6))()
        if self.objects and self.chance(0.4):
            self.add("sysctl net/ipv4/nexthop_compat_mode=0")

    def default(self, line):
        self.add(f"ip route append default {line}", self.chance(0.15))

    def one(self):
        nic = self.rng.choice(self.ready())
        self.default(f"via {self.router(nic)} dev {nic} {self.more()}")

    def each(self):
        """As DHCP on each NIC leaves it."""
        for nic in self.ready():
            if self.chance(0.85):
                self.default(f"via {self.router(nic)} dev {nic} {self.more()}")

    def two_of_one(self):
        nic = self.rng.choice(self.ready())
        same = self.router(nic)
        for _ in range(2):
            self.default(f"via {same if self.chance(0.4) else self.router(nic)} dev {nic} {self.more()}")

    def hops(self):
        """One by each NIC."""
        nics = self.rng.sample(self.ready(), min(len(self.ready()), self.rng.choice((2, 2, 3))))
        ways = [f"nexthop via {self.router(nic)} dev {nic}" + (" weight 3" if self.chance(0.2) else "") for nic in nics]
        if self.mgmt and self.chance(0.2):
            ways.append(f"nexthop via {self.mgmt_gateway} dev {self.mgmt}")
        self.default(f"{self.more()} {' '.join(ways)}")

    def hops_of_one(self):
        nic = self.rng.choice(self.ready())
        ways = [f"nexthop via {self.router(nic)} dev {nic}" for _ in range(2)]
        other = self.rng.choice(self.ready())
        if other != nic and self.chance(0.5):
            ways.append(f"nexthop via {self.router(other)} dev {other}")
        self.default(f"{self.more()} {' '.join(ways)}")

    def odd(self):
        """What is no simple default, or hardly one."""
        nic = self.rng.choice(self.ready())
        router, more = self.router(nic), self.more()
        self.default(self.rng.choice((
            f"dev {nic} scope link {more}", f"via {router} dev {nic} tos 0x10 {more}", f"via inet6 fe80::1 dev {nic} {more}",
            f"{self.rng.choice(ENCAPSULATIONS)} via {router} dev {nic} {more}",
            f"via {router} dev {nic} onlink {more}", f"via {self.addresses[nic][0]} dev {self.rng.choice(self.ready())} {more}",
            f"via 198.51.100.254 dev {nic} onlink {more}", f"via {router} dev {nic} src {self.addresses[nic][-1]} {more}")))
        if self.chance(0.5):
            self.default(f"via {router} dev {nic} {self.more()}")

    def default_by_object(self):
        made = []
        for _ in range(self.rng.choice((1, 1, 2, 2, 3))):
            nic = self.rng.choice(self.ready())
            self.objects += 1
            way = f"via {self.router(nic)} dev {nic}"
            if self.chance(0.15):
                way = self.rng.choice((f"dev {nic} scope link", f"via inet6 fe80::1 dev {nic}", f"{self.rng.choice(ENCAPSULATIONS)} {way}"))
            self.add(f"ip nexthop add id {self.objects} {way}")
            made.append(str(self.objects))
        if len(made) > 1 or self.chance(0.3):
            made = [str(100 + self.objects), *made]
            self.add(f"ip nexthop add id {made[0]} group {'/'.join(made[1:])}")
        self.default(f"nhid {made[0]} {self.more()}")

    # ---- the same in IPv6 ----

    def default6(self, line):
        self.add(f"ip -6 route append default {line}", self.chance(0.15))

    def one6(self, nic=None):
        nic = nic or self.rng.choice(self.ready(6))
        preference = f" pref {self.rng.choice(PREFERENCES)}" if self.chance(0.5) else ""
        self.default6(f"via {self.router6(nic)} dev {nic} {self.more()}{preference}")

    def each6(self):
        for nic in self.ready(6):
            self.one6(nic)

    def two_of_one6(self):
        """Two routers on one wire: of one metric the better preference wins."""
        nic = self.rng.choice(self.ready(6))
        metric = self.rng.choice(("metric 1024", "metric 1024", f"metric {self.rng.randrange(100, 900)}"))
        for router in ("fe80::1", "fe80::2"):
            self.default6(f"via {router} dev {nic} proto ra {metric} pref {self.rng.choice(PREFERENCES)}")
            metric = metric if self.chance(0.6) else "metric 1025"

    def hops6(self):
        nics = self.rng.sample(self.ready(6), min(len(self.ready(6)), 2))
        ways = [f"nexthop via {self.router6(nic)} dev {nic}" for nic in (nics if self.chance(0.7) else nics[:1] * 2)]
        self.default6(f"{self.more()} {' '.join(ways)}")

    def odd6(self):
        nic = self.rng.choice(self.ready(6))
        router, more = self.router6(nic), self.more()
        self.default6(self.rng.choice((
            f"dev {nic} {more}", f"{self.rng.choice(ENCAPSULATIONS6)} via {router} dev {nic} {more}",
            f"from {self.addresses6[nic][0]}/128 via {router} dev {nic} {more}", f"from fd00:99::/64 via {router} dev {nic} {more}",
            f"via 2001:db8:5:5::1 dev {nic} onlink {more}")))
        if self.chance(0.5):
            self.one6(nic)

    def object6(self):
        nic = self.rng.choice(self.ready(6))
        self.objects += 1
        self.add(f"ip -6 nexthop add id {self.objects} via {self.router6(nic)} dev {nic}")
        self.default6(f"nhid {self.objects} {self.more()}")

    # ---- own subnets ----

    def some_subnets(self):
        """Main's routes of exactly a NIC's subnet: with metrics, by a gateway as of isolated ports, or by another one's."""
        if self.defaults and self.chance(0.5):
            for nic in self.ready():
                if nic not in self.leaves and self.chance(0.5) and not self.link_local:
                    self.subnet_route(nic, self.addresses[nic][0], self.subnet[nic])
            for nic in self.ready(6):
                if nic not in self.leaves and self.chance(0.4):
                    self.add(f"ip -6 route del {self.v6_net}/64 dev {nic}")
                    self.add(f"ip -6 route append {self.v6_net}/64 dev {nic} proto kernel metric 256{self.carries(1)}")
        if self.many and self.ready():
            self.many_subnets(self.rng.choice(self.ready()))

    def subnet_route(self, nic, address, net):
        whole, number = f"{net.address(0)}/{net.length}", 10 + self.rng.randrange(50)
        self.add(f"ip route del {whole} dev {nic}")
        kind, peer = self.rng.random(), net.host()
        if kind < 0.55:
            self.add(f"ip route append {whole} dev {nic} proto kernel scope link src {address}{self.carries(1)}")
        elif kind < 0.65:
            for metric in (number, number + 1):
                self.add(f"ip route append {whole} dev {nic} proto kernel scope link src {address} metric {metric}{self.carries(0.7)}")
        elif kind < 0.85:
            self.add(f"ip route append {peer} dev {nic} scope link")
            self.add(f"ip route append {whole} via {peer} dev {nic} src {address}{self.carries(0.3)}")
        elif kind < 0.93 and len(self.ready()) > 1:
            ways = " ".join(f"nexthop dev {one}" for one in self.rng.sample(self.ready(), 2))
            self.add(f"ip route {self.rng.choice(('append', 'prepend'))} {whole} metric {number}{self.carries()} {ways}")
        elif self.others_way():
            self.add(f"ip route append {whole} {self.others_way()}{self.carries(0.3)}")

    def many_subnets(self, nic):
        """More than rules name one by one; and as many as routers' advertisements make."""
        number = self.rails.index(nic) + 1
        for n in range(self.rng.choice((3, 5, 8, 14))):
            if self.v6 and self.chance(0.6):
                self.add(f"ip -6 address add 2001:db8:a:{n:x}::{number}/64 dev {nic} nodad")
            elif self.v4:
                self.add(f"ip address add 10.6{n % 4}.{n}.{number}/{self.rng.choice((24, 24, 26))} dev {nic}")

    # ---- what happens ----

    def default_event(self):
        ready, six = self.ready(), self.ready(6)
        kind = self.rng.randrange(7)
        if kind <= 2 and ready and self.v4:
            nic = self.rng.choice(ready)
            return [(f"ip route del default dev {nic}", f"ip route append default via {self.router(nic)} dev {nic} {self.more()}",
                     f"ip route replace default via {self.router(nic)} dev {nic} metric {self.rng.randrange(1001, 1004)}{self.carries()}")[kind]]
        if kind == 3 and six:
            nic = self.rng.choice(six)
            return [self.rng.choice((f"ip -6 route del default dev {nic}", f"ip -6 route append default via {self.router6(nic)} dev {nic} {self.more()}"))]
        if kind == 4 and self.v4 and self.net:
            vip = f"{self.net.host()}/32 dev lo"
            return [f"ip address add {vip}"] + ([f"do hook nm-dispatcher {self.rng.choice(self.rails)} up", f"ip address del {vip}"]
                                                if self.chance(0.4) else [])
        nic = self.rng.choice(self.rails)
        if kind == 5:
            return self.rename(nic)
        return self.reborn(nic, nic if self.chance(0.3) else "new0")

    def rename(self, nic):
        """Another name, and perhaps the old one again; what the configuration says by name may not hold any more."""
        new = self.rng.choice(("ren0", "ib77", "enp9s0"))
        if self.chance(0.4) or nic in self.leaves or new in self.rails:
            return [f"rename {nic} {new}", f"do hook nm-dispatcher {new} up", f"rename {new} {nic}"]
        for known in (self.addresses, self.addresses6, self.subnet, self.state):
            if nic in known:
                known[new] = known.pop(nic)
        self.rails[self.rails.index(nic)] = new
        return [f"rename {nic} {new}"] + ([f"do hook nm-dispatcher {new} up"] if self.chance(0.5) else [])

    def reborn(self, nic, name):
        """Another one has its number now, with an administrator's values."""
        values = [f" {key}={self.rng.choice((1, 2))}" for key in ("arp_ignore", "arp_announce", "rp_filter") if self.chance(0.5)]
        values = values if name != nic else []  # with the same name it may be the same one, whose hardware address has changed
        return [f"reborn {nic} {name}{''.join(values)}"] + \
            ([f"ip address add 10.44.9.9/24 dev {name}", f"ip link set {name} up"] if self.chance(0.5) else [])
