# SPDX-License-Identifier: GPL-2.0-or-later
"""Random hosts: a seed makes a world."""

import random

from defaults import Defaults
from gateways import Keys
from leaves import Leaves
from rare import Rare

MARK = 1768056939
UP = {"ifupdown": "start", "networkd-dispatcher": "routable"}  # what the others call "up"
PROTOCOLS = ("static", "bird", "zebra", "keepalived", "dhcp", "ra", "boot", "kernel", "babel")
NAMES = (["ib0", "ib1", "ib2", "ib3", "ib4", "ib5"], ["ibs5f0", "ibs5f1", "ibs6f0", "ibs6f1", "ibp7s0", "ibp8s0"],
         ["ens1f0np0", "ens1f1np1", "ens2f0np0", "ens2f1np1", "eth8", "eth9"],
         ["ib2", "ib10", "rdma0", "ib0.8001", "roce1", "hsi0"])
NETS = (("172.16.0.0", 16), ("10.20.0.0", 16), ("192.168.100.0", 24), ("10.88.16.0", 20), ("10.9.9.8", 29))


class Net:
    """A subnet of rails."""

    def __init__(self, rng, base, length):
        self.rng, self.length = rng, length
        parts = [int(one) for one in base.split(".")]
        self.base = sum(one << (24 - 8 * i) for i, one in enumerate(parts))
        self.used = set()

    def address(self, offset):
        value = self.base + offset
        return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))

    def host(self):
        last = min(1 << (32 - self.length), 4000) - 2
        one = self.rng.randrange(1, last + 1)
        for _ in range(last):  # the next that nobody has; of a full subnet one that somebody has
            if one not in self.used:
                break
            one = one % last + 1
        self.used.add(one)
        return self.address(one)

    def gateway(self):
        return self.address((1 << (32 - self.length)) - 2)

    def piece(self, longer=True):
        """A prefix inside."""
        length = min(32, self.length + self.rng.choice((1, 2, 4, 8, 8, 16))) if longer else self.length
        size = 1 << (32 - length)
        first = self.rng.randrange(0, 1 << (length - self.length)) * size
        return f"{self.address(first)}/{length}"

    def nested(self, rng):
        length = min(29, self.length + rng.choice((1, 4, 8)))
        size = 1 << (32 - length)
        inner = Net(rng, self.address(rng.randrange(0, 1 << (length - self.length)) * size), length)
        return inner


class Maker(Leaves, Rare, Defaults):
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.choose_leaves(seed)
        self.choose_defaults(seed)
        self.lines = [f"# seed {seed}"]
        self.late = []  # what waits for after the first action
        self.use_net(*self.rng.choice(NETS[:1] * 4 + NETS))
        self.v6_net = self.rng.choice(("fd00:34::", "2001:db8:34::"))
        self.addresses = {}  # NIC → [address]
        self.addresses6 = {}
        self.subnet = {}  # NIC → Net
        self.plain = []
        self.state = {}
        families = self.rng.random()
        self.v4, self.v6 = families < 0.9, families > 0.6
        self.choose_rare()

    def use_net(self, base, length):
        self.net = Net(self.rng, base, length)

    def chance(self, probability):
        return self.rng.random() < probability

    def add(self, line, late=False):
        setting = line.split("=")[0]
        if line.startswith("config ") and any(one.startswith(f"{setting}=") for one in self.lines):
            return  # a key stands in a section once
        (self.late if late else self.lines).append(line)

    # ---- NICs ----

    def nics(self):
        names = self.rng.choice(NAMES[:1] * 3 + NAMES)[:]
        if self.chance(0.3):
            self.rng.shuffle(names)
        self.rails = names[:self.rng.choice((2, 2, 2, 2, 3, 3, 4, 5, 6))]
        self.mgmt = "mgmt0" if self.chance(0.75) else None
        lines = []
        for nic in self.rails:
            self.state[nic] = self.rng.choice(("up",) * 14 + ("down", "no-carrier"))
            lines.append(f"nic {nic} rdma" + (" no-carrier" if self.state[nic] == "no-carrier" else ""))
        if self.mgmt:
            lines.append(f"nic {self.mgmt}")
        if self.chance(0.3):
            self.rng.shuffle(lines)
        self.lines += lines
        if self.chance(0.5):
            self.add("sysctl net/ipv4/ip_forward=1")
        if self.chance(0.2):
            self.add(f"sysctl net/ipv4/conf/all/rp_filter={self.rng.choice((1, 2))}")
        for nic in self.rails:
            if self.chance(0.15):
                key = self.rng.choice(("rp_filter", "arp_filter", "arp_announce", "arp_ignore", "accept_local"))
                self.add(f"sysctl net/ipv4/conf/{nic}/{key}=1")

    def v4_addresses(self, nic):
        if nic in self.leaves:
            self.leaf_addresses(nic)
            return
        net = self.net
        if self.link_local:
            self.subnet[nic], self.addresses[nic] = net, [net.host()]
            self.add(f"ip address add {self.addresses[nic][0]}/{net.length} dev {nic} scope link")
            return
        kind = self.rng.random()
        if kind > 0.97:
            return
        if kind > 0.92:
            net = Net(self.rng, self.rng.choice(("10.44.0.0", "192.168.7.0")), 24)
        elif kind > 0.84:
            net = self.net.nested(self.rng)
        self.subnet[nic] = net
        found = [net.host()]
        self.addresses[nic] = found
        if self.chance(0.12):
            metric = 150 + self.rng.randrange(3)
            self.add(f"ip address add {found[0]}/{net.length} dev {nic} noprefixroute")
            self.state[nic, "route"] = (f"ip route append {net.address(0)}/{net.length} dev {nic} proto kernel scope link "
                                        f"src {found[0]} metric {metric}")
        else:
            self.add(f"ip address add {found[0]}/{net.length} dev {nic}")
        if self.chance(0.15):
            found.append(net.host())
            self.add(f"ip address add {found[-1]}/{net.length} dev {nic}")
        if self.chance(0.12):
            found.append(self.rng.choice((net.host(), "192.0.2.77", "198.18.0.3")))
            self.add(f"ip address add {found[-1]}/32 dev {nic}")
        if self.chance(0.08):
            self.add(f"ip address add 10.55.{self.rails.index(nic)}.1/24 dev {nic}")
            found.append(f"10.55.{self.rails.index(nic)}.1")

    def v6_addresses(self, nic, number):
        if nic in self.leaves:
            self.leaf_addresses6(nic, number)
            return
        if self.chance(0.08):
            return
        self.addresses6[nic] = [f"{self.v6_net}{number + 1:x}"]
        nodad = "" if self.state[nic] == "no-carrier" and self.chance(0.5) else " nodad"
        self.add(f"ip address add {self.v6_net}{number + 1:x}/64 dev {nic}{nodad}")
        if self.chance(0.15):
            one = self.rng.choice((f"{self.v6_net}ff:{number + 1:x}", f"2001:db8:77::{number + 1:x}"))
            self.addresses6[nic].append(one)
            self.add(f"ip address add {one}/128 dev {nic} nodad")

    def addresses_and_links(self):
        for number, nic in enumerate(self.rails):
            if self.v4:
                self.v4_addresses(nic)
            if self.v6:
                self.v6_addresses(nic, number)
            if self.state[nic] != "down":
                self.add(f"ip link set {nic} up")
                if (nic, "route") in self.state:
                    self.add(self.state[nic, "route"])
        self.rare_addresses()
        if self.mgmt:
            self.management()
        if self.chance(0.4):
            self.bridge("docker0", "172.17.0.1/16")
        if self.chance(0.25) and self.v4:
            inner = self.net.nested(self.rng)
            self.bridge("br-in", f"{inner.host()}/{inner.length}")
        if self.chance(0.15):
            self.tunnel()
        if self.v4 and self.chance(0.25 if self.defaults else 0.1):
            self.add(f"ip address add {self.net.host()}/32 dev lo")

    def management(self):
        nic, inside = self.mgmt, self.v4 and self.net.length < 24 and self.chance(0.15)
        self.mgmt_gateway = "10.0.0.1"
        self.add(f"ip address add 10.0.0.5/24 dev {nic}")
        if inside:
            self.add(f"ip address add {self.net.host()}/{self.rng.choice((self.net.length, 24, 32))} dev {nic}")
        if self.v6:
            self.add(f"ip address add fd00:99::5/64 dev {nic} nodad")
        self.add(f"ip link set {nic} up")
        if self.chance(0.8):
            self.add(f"ip route add default via 10.0.0.1 dev {nic}")
            if self.v6:
                self.add(f"ip -6 route add default via fd00:99::1 dev {nic}")

    def bridge(self, name, address):
        self.plain.append(name)
        self.add(f"ip link add {name} type bridge")
        self.add(f"ip address add {address} dev {name}")
        self.add(f"ip link set {name} up")
        if self.v6 and name == "br-in" and self.chance(0.6):
            self.add(f"ip address add {self.v6_net.replace('::', ':0:0:50::')}1/80 dev {name} nodad")

    def tunnel(self):
        self.add("ip tuntap add dev tun0 mode tun")
        self.add("ip address add 10.66.0.1/24 dev tun0")
        self.add("ip link set tun0 up")
        self.plain.append("tun0")

    # ---- routes ----

    def others_way(self):
        """How somebody else's route leaves."""
        ways = []
        if self.mgmt:
            ways += [f"via {self.mgmt_gateway} dev {self.mgmt}"] * 3 + [f"dev {self.mgmt}"]
        ways += [f"dev {nic}" for nic in self.plain]
        return self.rng.choice(ways) if ways else None

    def static_routes(self):
        for _ in range(self.rng.choice((0, 0, 1, 1, 2, 3))):
            late = self.chance(0.15)
            inside = self.chance(0.65)
            prefix = self.net.piece() if inside else self.rng.choice(("198.51.100.0/24", "10.99.0.0/16", "192.0.2.9/32"))
            proto = f" proto {self.rng.choice(PROTOCOLS)}" if self.chance(0.7) else ""
            if self.chance(0.2):
                if inside and self.chance(0.2):
                    prefix = self.net.piece(longer=False)
                kind = self.rng.choice(("unreachable", "blackhole", "prohibit", "throw"))
                self.add(f"ip route add {kind} {prefix}{proto}", late)
                continue
            way = self.others_way()
            if not way:
                continue
            self.add(f"ip route add {prefix} {way}{proto}", late)
            if self.chance(0.2):
                self.add(f"ip route add {prefix} {self.others_way()}{proto} metric {self.rng.choice((50, 400))}", late)
        if self.v6 and self.chance(0.4):
            prefix = self.rng.choice((self.v6_net + "7700/120", self.v6_net + "99/128", "2001:db8:aa::/48"))
            if self.mgmt and self.chance(0.75):
                self.add(f"ip -6 route add {prefix} via fd00:99::1 dev {self.mgmt} proto {self.rng.choice(PROTOCOLS)}")
            else:
                self.add(f"ip -6 route add {self.rng.choice(('unreachable', 'blackhole', 'prohibit'))} {prefix}")

    def gateways(self):
        rails = [nic for nic in self.rails if self.subnet.get(nic) is self.net and self.state[nic] != "down"]
        if not rails or not self.chance(0.45):
            return
        for nic in self.rng.sample(rails, self.rng.choice((1, 1, min(2, len(rails))))):
            metric = f" metric {self.rng.choice((100, 101, 5))}" if self.chance(0.6) else ""
            what = self.rng.choice(("default", "default", "198.51.100.0/24", "10.99.0.0/16", self.net.piece()))
            proto = f" proto {self.rng.choice(('static', 'dhcp', 'ra'))}" if self.chance(0.4) else ""
            self.add(f"ip route add {what} via {self.net.gateway()} dev {nic}{proto}{metric}", self.chance(0.15))
        if self.v6 and self.chance(0.4) and rails[0] in self.addresses6:
            what = self.rng.choice(("default", "2001:db8:bb::/48"))
            self.add(f"ip -6 route add {what} via {self.v6_net}fffe dev {rails[0]} metric 50")

    # ---- rules ----

    def some_address(self, rails_only=False):
        pool = [one for some in self.addresses.values() for one in some]
        if not rails_only:
            pool += ["10.0.0.5", "172.17.0.9", "172.17.0.1", "192.0.2.200"]
        return self.rng.choice(pool) if pool else None

    def priority(self):
        return self.rng.choice((200, 999, 1500, 1925, 1926, 1935, 1939, 1940, 1941, 1942, 2941, 3000, 3941, 4939, 4940, 4941,
                                4942, 5000, 9999, 30000, 32000, 32763, 32764, 32765))

    def table_of_others(self, number):
        way = self.others_way()
        kind = self.rng.random()
        if way and kind < 0.7:
            what = self.rng.choice(("default", "default", "10.99.0.0/16", self.net.piece()))
            self.add(f"ip route add {what} {way} table {number}")
        elif kind < 0.9:
            what = self.rng.choice(("198.51.100.0/24", "10.99.0.0/16"))
            self.add(f"ip route add {self.rng.choice(('blackhole', 'unreachable'))} {what} table {number}")
        return number

    def documents_rule(self):
        """ip rule add from ADDRESS table 94N, as the documents write it: no priority."""
        if not self.addresses:
            return
        nic = self.rng.choice(list(self.addresses))
        number = 941 + sorted(self.rails).index(nic) if self.chance(0.7) else self.rng.choice((941, 942, 943))
        if self.chance(0.25):
            net = self.subnet[nic]
            self.add(f"ip route add {net.address(0)}/{net.length} dev {nic} proto kernel scope link src {self.addresses[nic][0]} "
                     f"table {number}", False)
        self.add(f"ip rule add from {self.addresses[nic][0]} table {number}{self.realms()}", self.chance(0.7))

    def wg_quick(self):
        late = self.chance(0.5)
        way = self.others_way() or f"dev {self.rails[0]}"
        self.add(f"ip route add default {way} table 51820", late)
        self.add("ip rule add not fwmark 51820 table 51820", late)
        self.add("ip rule add table main suppress_prefixlength 0", late)

    def tailscale(self):
        self.add("ip rule add priority 5210 fwmark 0x80000/0xff0000 table main")
        self.add("ip rule add priority 5230 fwmark 0x80000/0xff0000 table default")
        self.add("ip rule add priority 5250 fwmark 0x80000/0xff0000 unreachable")
        self.add("ip rule add priority 5270 table 52")
        way = self.others_way()
        if way:
            self.add(f"ip route add 100.64.0.0/10 {way} table 52")
            self.add(f"ip route add {self.rng.choice(('198.51.100.0/24', self.net.piece(), '10.99.0.0/16'))} {way} table 52")

    def cloud_setup(self):
        one, way = self.some_address(), self.others_way()
        if one and way:
            self.add(f"ip route add default {way} table 30400")
            self.add(f"ip rule add priority 30400 from {one} table 30400")
            self.add("ip rule add priority 30350 table main suppress_prefixlength 0")

    def other_rule(self):
        late = self.chance(0.2)
        number = self.table_of_others(self.rng.choice((300, 301)))
        where = self.rng.choice((f"table {number}", f"table {number}", "table main", "prohibit", "unreachable",
                                 "table main suppress_prefixlength 0", "table 941", "table 942"))
        what = self.rng.choice((f"from {self.some_address()}", f"from {self.net.piece()}", f"to {self.net.piece()}",
                                "to 198.51.100.0/24", "fwmark 0x20", "fwmark 0x20 from 10.0.0.5", f"iif {self.rng.choice(self.rails)}",
                                "iif docker0", "from 172.17.0.0/16", f"from {self.some_address()} to 10.99.0.0/16",
                                "from 10.0.0.5", f"oif {self.rng.choice(self.rails)}"))
        if "None" in what:
            return
        priority = "" if self.chance(0.15) else f"priority {self.priority()} "
        self.add(f"ip rule add {priority}{what} {where}{self.realms()}", late)

    def realms(self):
        """Matches nothing, and changes no way."""
        return " realms 5" if self.rare and self.chance(0.05) else ""

    def rules(self):
        self.rare_rules()
        if not self.chance(0.55):
            return
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            self.rng.choice((self.documents_rule, self.documents_rule, self.wg_quick, self.tailscale, self.cloud_setup,
                             self.other_rule, self.other_rule, self.other_rule, self.other_rule))()
        if self.chance(0.2):
            way = self.others_way()
            if way:
                what = self.rng.choice(("10.99.0.0/16", "default", self.net.piece()))
                self.add(f"ip route add {what} {way} table 94{self.rng.randrange(4)}")
            else:
                self.add(f"ip route add throw 10.77.0.0/16 table 94{self.rng.randrange(4)}")

    # ---- configuration and leftovers ----

    def configuration(self):
        if self.chance(0.5):
            return
        if self.chance(0.6):
            self.add(f"config [defaults] main={self.rng.choice(('keep', 'spread', 'spread'))}")
        if self.chance(0.4):
            self.add(f"config [defaults] arp={self.rng.choice(('auto', 'strict', 'keep'))}")
        nic = self.rng.choice(self.rails)
        if self.chance(0.2):
            self.add(f"config [interface {nic}] table={self.rng.choice((941, 942, 945, 100, 5000))}")
        if self.chance(0.25):
            self.add(f"config [interface {nic}] manage={self.rng.choice(('yes', 'yes', 'no'))}")
        if self.chance(0.25) and nic in self.subnet:
            gateway = self.subnet[nic].gateway()
            self.add(f"config [interface {nic}] gateway={self.rng.choice((gateway, gateway, 'none'))}")
            if self.defaults and nic not in self.leaves and self.chance(0.6):
                remote = self.rng.choice(("10.99.0.0/16", "198.51.100.0/24", "10.99.0.0/16,198.51.100.0/24", "10.0.0.0/8"))
                self.add(f"config [interface {nic}] remote={remote.replace(',', self.via(nic) + ',')}{self.via(nic)}")
        if self.mgmt and self.chance(0.06):
            self.add(f"config [interface {self.mgmt}] manage=yes")

    def leftovers(self):
        if not self.chance(0.12) or not self.addresses:
            return
        nic = self.rng.choice(list(self.addresses))
        address, net = self.addresses[nic][0], self.subnet[nic]
        if self.chance(0.4):
            address = net.host()
        table, mark = 940 + self.rng.randrange(1, 5), f"metric {MARK}"
        whole = f"{net.address(0)}/{net.length}"
        rule = f"suppress_ifgroup {MARK} protocol kernel"
        pool = [f"ip route add {whole} dev {nic} table {table} proto kernel scope link src {address} {mark}",
                f"ip route add default via {net.gateway()} dev {nic} onlink table {table + 2000} proto kernel {mark}",
                f"ip rule add priority 1940 from {address} to {whole} lookup main suppress_prefixlength {net.length} {rule}",
                f"ip rule add priority 1941 from {address} to {whole} lookup {table} {rule}",
                f"ip rule add priority 32764 from {address} lookup main suppress_prefixlength 0 {rule}",
                f"ip rule add priority 32765 from {address} lookup {table + 2000} {rule}"]
        for one in pool:
            if self.chance(0.6):
                self.add(f"ours {one}")

    # ---- what happens ----

    def event(self):
        """Lines of something that happens."""
        if self.leaves and self.chance(0.5):
            return self.leaf_event()
        if self.rare and self.chance(0.6):
            return self.rare_event()
        if self.defaults and self.chance(0.5):
            return self.default_event()
        nic = self.rng.choice(self.rails)
        kind = self.rng.randrange(9)
        if kind <= 1:
            return [f"ip link set {nic} down", f"ip link set {nic} up"]
        if kind == 2 and self.addresses.get(nic):
            address, net = self.addresses[nic][0], self.subnet[nic]
            lines = [f"ip address del {address}/{net.length} dev {nic}"]
            return lines + ([f"ip address add {address}/{net.length} dev {nic}"] if self.chance(0.4) else [])
        if kind == 3 and nic in self.subnet:
            return [f"ip address add {self.subnet[nic].host()}/{self.subnet[nic].length} dev {nic}"]
        if kind == 4:
            return [f"ip link set {nic} netns away"]
        if kind == 5 and self.mgmt:
            return [f"ip route replace {self.net.piece()} via {self.mgmt_gateway} dev {self.mgmt} proto bird"]
        if kind == 6 and self.mgmt:
            return [f"ip route del default via {self.mgmt_gateway} dev {self.mgmt}"]
        if kind == 7 and self.addresses6.get(nic):
            return [f"ip address del {self.addresses6[nic][0]}/64 dev {nic}"]
        if kind == 8 and nic in self.subnet:
            return [f"ip route add 10.98.0.0/16 via {self.subnet[nic].gateway()} dev {nic}"]
        return [f"ip link set {nic} down"]

    def hooks(self, settled):
        order = self.rails[:]
        self.rng.shuffle(order)
        for nic in order:
            hook = self.rng.choice(("nm-dispatcher", "nm-dispatcher", "ifupdown", "networkd-dispatcher"))
            self.add(f"do hook {hook} {nic} {UP.get(hook, 'up')}")
        self.add("do settled" if settled else "do apply")

    def actions(self):
        left = any(line.startswith("ours ") for line in self.lines)
        if self.chance(0.35):
            self.hooks(settled=not left)
        else:
            self.apply()
        if self.late:
            self.lines += self.late
            self.hooks(False) if self.chance(0.3) else self.apply()
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2))):
            self.lines += self.event()
            if self.chance(0.3):
                what = self.rng.choice(("up", "up", "down", "dhcp4-change"))
                self.add(f"do hook nm-dispatcher {self.rng.choice(self.rails)} {what}")
            self.apply()
        kind = self.rng.random()
        if kind < (0.15 if self.defaults else 0.1):
            self.add("do pasted")
        elif kind < 0.25:
            self.add(f"do kill {self.rng.randrange(1, 40)}")
        self.add("do undo")
        if self.chance(0.1):
            self.add("do apply")
            self.add("do undo")

    def apply(self):
        """Perhaps once before, and nobody confirms it."""
        if self.chance(0.4):
            self.add("do confirm")
        self.add("do apply")

    def settle_configuration(self):
        """remote= with gateway=none names no gateway, and is refused."""
        keys = Keys(self.lines)
        if any(keys.of(nic, "gateway", "auto") == "none" and via is None for nic in self.rails
               for family in (4, 6) for _, via in keys.remote(nic, family)):
            self.lines = [line for line in self.lines if not line.endswith(" gateway=none")]

    def make(self):
        self.mgmt_gateway = "10.0.0.1"
        self.nics()
        self.pick_leaves()
        self.addresses_and_links()
        self.some_subnets()
        self.configuration()
        self.settle_configuration()
        self.static_routes()
        self.rare_routes()
        self.gateways()
        self.leaf_routes()
        self.some_defaults()
        self.rules()
        self.leftovers()
        self.actions()
        return self.lines


def make(seed):
    return Maker(seed).make()
