# SPDX-License-Identifier: GPL-2.0-or-later
"""Random routed rails: NICs with a subnet and a gateway of their own, each behind a leaf switch."""

import random

FORMS = (31, 31, 30, 30, 24, 24, 26, 32)
REMOTES = ("10.0.0.0/8", "10.0.0.0/8", "10.128.0.0/9", "10.131.0.0/16,198.18.0.0/15", "172.16.0.0/12,10.0.0.0/8",
           "198.51.100.0/24", "10.0.0.0/8,10.131.0.0/16")
REMOTES6 = ("fd00::/16", "fd00:a::/32", "2001:db8::/32,fd00:a::/32")


def dotted(value):
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


class Leaf:
    """A NIC's own subnet, with the gateway in it; what maker.Net is to a subnet of rails."""

    def __init__(self, rng, number):
        self.rng, self.length = rng, rng.choice(FORMS)
        third = 10 << 24 | (128 + rng.choice((1, 2, 3))) << 16 | number << 8
        self.size = 1 << (32 - self.length)
        self.base = third + self.size * rng.randrange(256 // self.size)
        if self.length == 32:  # a cloud's: an address alone, and the gateway by a route of the device
            self.gate = third + (1 if self.base & 255 != 1 else 2)
            hosts = [self.base]
        else:
            hosts = [self.base, self.base + 1] if self.length == 31 else [self.base + 1, self.base + self.size - 2]
            self.gate = rng.choice(hosts)
            hosts = [one for one in hosts if one != self.gate] if self.length > 29 else [self.base + 7, self.base + 9]
        self.hosts, self.place = hosts, "last" if self.gate == max(self.gate, self.base + self.size - 2) else "first"

    def address(self, offset):
        return dotted(self.base + offset)

    def host(self):
        return dotted(self.hosts.pop(0) if len(self.hosts) > 1 else self.hosts[0])

    def gateway(self):
        return dotted(self.gate)

    def another(self):
        """The gateway that a later lease names."""
        return dotted(self.base + 5 if self.size > 8 else self.gate)

    def piece(self):
        length = max(self.length, self.rng.choice((26, 28, 32)))
        return f"{dotted(self.base & ~((1 << (32 - length)) - 1))}/{length}"


class Leaves:
    """What Maker does with the routed rails of its world. The others' worlds stay as they are: the choice is made apart."""

    def choose_leaves(self, seed):
        apart = random.Random(f"routed {seed}")
        self.leaves, self.leaves6, self.metric = {}, {}, 300
        self.routed = apart.random() < 0.35
        self.all_routed = apart.random() < 0.5

    def pick_leaves(self):
        """Which of the NICs: all of them, or some beside ordinary rails."""
        if not self.routed:
            return
        names = self.rails if self.all_routed else self.rng.sample(self.rails, self.rng.randrange(1, len(self.rails) + 1))
        for nic in names:
            self.leaves[nic] = Leaf(self.rng, self.rails.index(nic))
        self.leaf_configuration()

    def leaf_configuration(self):
        globs = [one for one in ("ib*", "ibs*", "en*", "e*", "ib?") if any(nic.startswith(one[:-1]) for nic in self.leaves)]
        by_glob = bool(globs) and self.chance(0.5)
        every = f"[interface {self.rng.choice(globs)}]" if by_glob else None
        shared = [self.place(nic) for nic in self.leaves] + ["auto"]
        remote = self.remotes()
        if by_glob:
            self.add(f"config {every} manage=yes")
            self.add(f"config {every} gateway={self.rng.choice([one for one in shared if not one[0].isdigit()])}")
            if remote:
                self.add(f"config {every} remote={remote}")
        for nic in self.leaves:
            mine = f"[interface {nic}]"
            if not by_glob:
                self.add(f"config {mine} manage=yes")
            if not by_glob or self.chance(0.25):
                self.add(f"config {mine} gateway={self.place(nic)}")
            if not by_glob and remote and self.chance(0.9):
                self.add(f"config {mine} remote={self.remotes(nic) if self.chance(0.3) else remote}")

    def remotes(self, nic=None):
        if self.chance(0.15):
            return ""
        parts = self.rng.choice(REMOTES).split(",") if self.v4 else []
        parts = [one + (self.via(nic) if nic else "") for one in parts]
        parts6 = self.rng.choice(REMOTES6).split(",") if self.v6 else []
        return ",".join(parts + [one + (" via fe80::1" if nic and self.chance(0.4) else "") for one in parts6])

    def via(self, nic):
        """Perhaps a gateway for one prefix of remote= alone."""
        if not self.defaults or not self.chance(0.5) or self.subnet.get(nic, self.leaves.get(nic)).length == 32:
            return ""
        net = self.leaves[nic] if nic in self.leaves else self.subnet[nic]
        return f" via {self.rng.choice((net.gateway(), net.another() if nic in self.leaves else net.host()))}"

    def place(self, nic):
        """A setting of gateway= for it; sometimes one that names nothing."""
        leaf, kind = self.leaves[nic], self.rng.random()
        if kind < 0.05:
            return self.rng.choice(("none", "peer", "first", "10.200.0.1"))
        if kind < 0.35 or leaf.length == 32:
            return "auto"
        if kind < 0.55:
            return leaf.gateway()
        return "peer" if leaf.length >= 30 else leaf.place

    def leaf_addresses(self, nic):
        leaf = self.leaves[nic]
        self.subnet[nic] = leaf
        self.addresses[nic] = [leaf.host()]
        self.add(f"ip address add {self.addresses[nic][0]}/{leaf.length} dev {nic}")
        if self.chance(0.08):
            self.addresses[nic].append("192.0.2.78")
            self.add(f"ip address add 192.0.2.78/32 dev {nic}")

    def leaf_addresses6(self, nic, number):
        length = self.rng.choice((64, 64, 127))
        own, gate = ("::1", "::") if length == 127 and self.chance(0.5) else ("::", "::1") if length == 127 else ("::9", "::1")
        self.addresses6[nic] = [f"fd00:a:{number}{own}"]
        self.leaves6[nic] = f"fd00:a:{number}{gate}" if length == 127 or self.chance(0.4) else "fe80::1"
        self.add(f"ip address add {self.addresses6[nic][0]}/{length} dev {nic} nodad")

    def leaf_routes(self):
        """Gateways as DHCP and router advertisements leave them in main; what main has inside remote= by others."""
        for nic, leaf in self.leaves.items():
            if self.state[nic] == "down":
                continue
            self.metric += 1
            if self.v4 and leaf.length == 32:
                self.add(f"ip route add {leaf.gateway()} dev {nic} scope link")
            if self.v4 and self.chance(0.6):
                late = self.chance(0.15)
                self.add(f"ip route add default via {leaf.gateway()} dev {nic} proto dhcp metric {self.metric}", late)
            if self.v6 and nic in self.leaves6 and self.chance(0.6):
                self.add(f"ip -6 route add default via {self.leaves6[nic]} dev {nic} proto ra metric {self.metric}")
            if self.v4 and self.chance(0.15):
                what = f"10.{self.rng.choice((129, 130, 131))}.{self.rng.choice((77, 78))}.0/24"
                metric = self.rng.choice(("", "", " metric 200"))
                self.add(f"ip route add {what} via {leaf.gateway()} dev {nic} proto static{metric}")
                if metric and self.others_way():  # main has it twice
                    self.add(f"ip route add {what} {self.others_way()} metric {self.rng.choice((50, 400))}")
        for _ in range(self.rng.choice((0, 1, 1, 2)) if self.leaves else 0):
            self.inside_remote()
        if self.leaves and self.v4 and self.chance(0.3):
            self.bridge("br-far", self.rng.choice(("10.88.0.1/16", "10.131.200.1/24", "10.96.0.1/12")))
            if self.v6 and self.chance(0.5):  # which a router has, too
                self.add("ip address add fe80::1/64 dev br-far nodad")

    def inside_remote(self):
        pool = ["10.130.0.0/16", "10.131.200.0/24", "10.129.1.9/32", "10.0.0.0/8", "10.128.0.0/10", "198.18.7.0/24"]
        pool += ["198.18.0.0/15"] + [leaf.piece() for leaf in self.leaves.values()]
        what, way = self.rng.choice(pool), self.others_way()
        if self.chance(0.15):
            self.add(f"ip route add {self.rng.choice(('unreachable', 'blackhole', 'prohibit', 'throw'))} {what}")
        elif way:
            self.add(f"ip route add {what} {way}", self.chance(0.2))
        if self.v6 and self.mgmt and self.chance(0.5):
            what = self.rng.choice(("fd00:a:77::/48", "fd00:b::/32", "fd00::/16", "2001:db8:aa::/48"))
            self.add(f"ip -6 route add {what} via fd00:99::1 dev {self.mgmt}")

    def leaf_event(self):
        """A lease that changes, ends or arrives; a router that is no longer one."""
        nic = self.rng.choice(list(self.leaves))
        leaf, kind = self.leaves[nic], self.rng.randrange(5)
        metric = f"dev {nic} proto dhcp metric {250 + self.rng.randrange(3)}"
        if kind == 0 and self.v4:
            return [f"ip route add default via {leaf.another()} {metric}"]
        if kind == 1 and self.v4:
            return [f"ip route del default dev {nic}"]
        if kind == 2 and self.v6:
            return [f"ip -6 route del default dev {nic}"]
        if kind == 3 and self.v4 and leaf.length < 32:
            return [f"ip address del {self.addresses[nic][0]}/{leaf.length} dev {nic}",
                    f"ip address add {self.addresses[nic][0]}/{leaf.length} dev {nic}",
                    f"ip route add default via {leaf.gateway()} {metric}"]
        if kind == 4 and self.v6 and nic in self.leaves6:
            return [f"ip -6 route add default via fe80::2 dev {nic} proto ra metric 200"]
        way = self.others_way()
        return [f"ip route replace 10.130.0.0/16 {way}"] if way else []
