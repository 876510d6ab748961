# SPDX-License-Identifier: GPL-2.0-or-later
"""One thing that breaks, drawn at random from what the kernel exposes: settings, rules, routes, links, addresses, neighbours."""

import ipaddress

from hosts import run
from kernel import family_of

VALUES = {
    "ipv4": {"arp_ignore": (0, 1, 2, 3, 8), "arp_filter": (0, 1), "arp_announce": (0, 1, 2), "rp_filter": (0, 1, 2),
             "accept_local": (0, 1), "proxy_arp": (1,), "proxy_arp_pvlan": (1,), "forwarding": (0, 1), "arp_accept": (0, 1),
             "arp_notify": (1,), "route_localnet": (1,), "disable_policy": (1,), "disable_xfrm": (1,), "send_redirects": (0, 1),
             "accept_redirects": (0, 1), "shared_media": (0, 1), "ignore_routes_with_linkdown": (1,),
             "promote_secondaries": (0, 1),
             "src_valid_mark": (1,), "log_martians": (1,), "drop_unicast_in_l2_multicast": (1,), "drop_gratuitous_arp": (1,),
             "arp_evict_nocarrier": (0,), "accept_source_route": (0, 1), "secure_redirects": (0,)},
    "ipv6": {"disable_ipv6": (1,), "forwarding": (1,), "accept_ra": (0, 2), "autoconf": (0,), "proxy_ndp": (1,),
             "use_tempaddr": (2,),
             "accept_redirects": (0,), "hop_limit": (1, 64), "mtu": (1280, 1400), "dad_transmits": (0,), "ndisc_notify": (1,),
             "drop_unsolicited_na": (1,), "ignore_routes_with_linkdown": (1,), "addr_gen_mode": (0,), "seg6_enabled": (1,),
             "force_tllao": (1,), "suppress_frag_ndisc": (0,), "keep_addr_on_down": (1,)},
}
MARK = 0x6962686b
ARP = ("arp_ignore", "arp_filter", "arp_announce", "rp_filter", "accept_local", "proxy_arp", "forwarding")
NEIGH = {"ucast_solicit": (0,), "mcast_solicit": (0, 1), "unres_qlen_bytes": (0,), "gc_stale_time": (1,),
         "base_reachable_time_ms": (100,), "delay_first_probe_time": (1,), "proxy_qlen": (0,), "locktime": (0,)}
GLOBAL = ("net/ipv4/ip_forward=1", "net/ipv4/ip_nonlocal_bind=1", "net/ipv4/fib_multipath_hash_policy=1",
          "net/ipv4/ip_no_pmtu_disc=1", "net/ipv4/icmp_errors_use_inbound_ifaddr=1", "net/ipv4/fwmark_reflect=1",
          "net/ipv6/ip_nonlocal_bind=1", "net/ipv6/bindv6only=1", "net/ipv4/fib_notify_on_flag_change=1")
NOT_REPLACED = ("local", "broadcast", "multicast", "anycast", "unreachable", "blackhole", "prohibit", "throw")
TYPES = ("unicast", "unicast", "unicast", "unreachable", "blackhole", "prohibit", "throw")


class Fault:
    def __init__(self, kind, steps, culprits=(), pieces=(), objects=(), virtual=()):
        self.virtual = list(virtual)  # addresses of the host that are on no wire: peers reach them all the same
        self.kind, self.steps, self.culprits = kind, steps, set(culprits)
        self.objects = list(objects)  # as a finding's owner names them
        self.pieces = list(pieces)


def pieces_of(line):
    """The prefix of a route, of which the default is none."""
    to = next(one for one in line.split() if one not in TYPES)
    return [] if to == "default" else [ipaddress.ip_network(to, strict=False)]


def named(line):
    """A route as the owner of a finding; a host's is shown with its length."""
    return [str(one) for one in pieces_of(line)] or ["default"]


class Faults:
    def __init__(self, rng, right, scene, tables):
        self.rng, self.right, self.scene, self.tables = rng, right, scene, tables
        self.nics = [rail.nic for rail in right.rails]
        self.rail = rng.choice(right.rails)
        self.nic = self.rail.nic

    def draw(self):
        kinds = [(self.setting, 22), (self.neigh_setting, 2), (self.global_setting, 2), (self.rule_deleted, 14),
                 (self.rule_added, 22), (self.multipath, 4), (self.route_deleted, 14), (self.route_added, 22),
                 (self.route_replaced, 6), (self.jumps, 3), (self.hidden_rules, 3), (self.object, 4), (self.by_source, 3), (self.ours, 2),
                 (self.link, 24), (self.address, 16), (self.neighbour, 8), (self.soft_netdev, 6), (self.serves_others, 6),
                 (self.altered, 4), (self.virtual, 4)]
        for _ in range(20):
            one = self.rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]()
            if one:
                return one
        return Fault("none", [])

    def ip(self, line):
        return ("ip", "host", line)

    def others(self):
        some = ["lo"] + (["eth0"] if self.right.management else [])
        return some + [one for one in ("docker0", "mv0", "vlan100", "lan0", "in7", "ibspare")
                       if one in self.scene.facts()]

    # ---- settings ----

    def setting(self):
        family = self.rng.choices(("ipv4", "ipv6"), (4, 2 if "6" in self.right.families else 0.3))[0]
        key = self.rng.choice(list(VALUES[family]))
        if family == "ipv4" and self.rng.random() < 0.5:
            key = self.rng.choice(ARP)
        nic = self.rng.choice([self.nic] * 5 + ["all", "all"] + self.others())
        value = self.rng.choice(VALUES[family][key])
        return Fault(f"{family} {key}={value} of {self.role(nic)}", [("set", "host", f"net/{family}/conf/{nic}/{key}={value}")],
                     [nic] if nic in self.nics else [nic, *self.nics])

    def global_setting(self):
        line = self.rng.choice(GLOBAL)
        return Fault(f"setting {line.removeprefix('net/')}", [("set", "host", line)], self.nics)

    def neigh_setting(self):
        family, key = self.rng.choice(("ipv4", "ipv6")), self.rng.choice(list(NEIGH))
        line = f"net/{family}/neigh/{self.nic}/{key}={self.rng.choice(NEIGH[key])}"
        return Fault(f"neigh {key}", [("set", "host", line)], [self.nic])

    def role(self, nic):
        return "a rail" if nic in self.nics else nic

    # ---- rules ----

    def listed(self, *words):
        found = []
        for flag in (["-4"], ["-6"]):
            _, out, _ = run(["ip", *flag, "-o", *words], self.scene["host"])
            found += [("-6 " if flag == ["-6"] else "", line.strip()) for line in out.splitlines() if line.strip()]
        return found

    def rule_deleted(self):
        rules = self.listed("rule", "show")
        if "6" not in self.right.families or self.rng.random() < 0.3:
            rules = [one for one in rules if not one[0]] if "4" in self.right.families else rules
        flag, line = self.rng.choice(rules)
        priority, rest = line.split(":", 1)
        rest = " ".join(rest.split()).replace("lookup [l3mdev-table]", "l3mdev")
        kind = {"0": "local", "32766": "main", "32767": "default"}.get(priority, "other")
        kind = "ours" if "suppress_ifgroup" in rest else kind
        if kind == "ours" and "lookup main" in rest:
            kind = "ours to main"
        return Fault(f"rule deleted: {kind}{' 6' if flag else ''}", [self.ip(f"{flag}rule del priority {priority} {rest}")],
                     self.owner(rest) or self.nics)

    def owner(self, text):
        found = [rail.nic for rail in self.right.rails if any(address in text.split() for address, _ in rail.addresses)]
        return found + [nic for nic in self.nics if f"dev {nic} " in f"{text} "]

    def any_prefix(self, source=False):
        """A host or a part of the rails' subnets, or something else."""
        rng, rail = self.rng, self.rail
        choices = [rng.choice(rail.addresses)[0]]
        subnets = [net for net in rail.subnets() if net.num_addresses > 2]
        for net in subnets:
            longer = rng.randrange(net.prefixlen, 31) if net.version == 4 else rng.choice((64, 80, 100, 112, 127))
            base = int(net[0]) + rng.randrange(min(net.num_addresses, 1 << 40))
            choices.append(str(ipaddress.ip_network((base, max(longer, net.prefixlen)), strict=False)))
            choices.append(str(net))
        if rail.peers:
            peer = rng.choice([one for _, one in rail.peers])
            choices += [peer] * (1 if source else 3)
            choices.append(str(ipaddress.ip_network((peer, 24 if ":" not in peer else 112), strict=False)))
        wide = ("10.123.0.0/16", "10.0.0.0/8", "172.16.0.0/12")
        choices.append(rng.choice(wide if "4" in self.right.families else ("fd00:99::/32",)))
        if source:
            choices += [rng.choice(rail.addresses)[0]] * 3
        return rng.choice(choices)

    def table(self):
        known = [table for table in self.tables.values() if table]
        some = ["main", "main", "local", "default", "700", "700", "700"]
        if known:
            own = self.tables.get(self.nic) or known[0]
            some += [str(own), str(own), str(own), str(self.rng.choice(known)), str(own + 2000)]
        return self.rng.choice(some)

    def rule_added(self):
        rng = self.rng
        words, pieces, by = [], [], ""
        source = self.any_prefix(source=True) if rng.random() < 0.5 else ""
        to = self.any_prefix() if rng.random() < 0.5 else ""
        if source and to and family_of(source) != family_of(to):
            to = ""
        family = family_of(source or to) if source or to else (4 if "4" in self.right.families else 6)
        if rng.random() < 0.08:
            words.append("not")
        words += ["from", source] if source else ["from", "all"]
        words += ["to", to] if to else []
        if rng.random() < 0.35:
            selector = rng.choice((
                "fwmark 0x5", "tos 0x10", "uidrange 1000-2000", "ipproto 6", "ipproto 17 dport 4791", "ipproto 6 sport 1-65534",
                f"iif {rng.choice(('lo', self.nic, *self.others()))}", f"oif {self.nic}"))
            words += selector.split()
            by = f" by {words[-2]}"
        action = rng.choice(["table"] * 6 + ["blackhole", "prohibit", "unreachable", "goto"])
        steps = []
        table = self.table()
        if action == "table":
            words += ["lookup", table]
            if rng.random() < 0.2:
                words += rng.choice((["suppress_prefixlength", str(rng.choice((0, 8, 16, 24)))], ["suppress_ifgroup", "0"]))
            if table == "700" and rng.random() < 0.9:
                line = self.route_line(family, "700", to or (source if rng.random() < 0.1 else ""))
                steps.append(self.ip(f"route add {line}"))
                pieces += pieces_of(line)
        elif action == "goto":
            words += ["goto", rng.choice(("32766", "32767"))]
        else:
            words += ["type", action] if action != "blackhole" else ["blackhole"]
        priority = rng.choice((0, 1, 50, 100, 500, 1000, 1500, 1938, 1939, 1940, 1941, 1942, 5000, 32763, 32764, 32765, 33000))
        priority = min(priority, 32765) if action == "goto" else priority
        pieces += [ipaddress.ip_network(to, strict=False)] if to else []
        flag = "-6 " if family == 6 else ""
        kind = action if action != "table" else "another" if table == "700" else "T or D" if table.isdigit() else table
        return Fault(f"rule added: {kind}{' 6' if family == 6 else ''}{by}",
                     steps + [self.ip(f"{flag}rule add {' '.join(words)} priority {priority}")], self.nics, pieces,
                     objects=[f"rule {priority}: ", *map(str, pieces_of(line) if steps else ())])

    # ---- routes ----

    def route_line(self, family, table, to=""):
        rng = self.rng
        kind = rng.choice(TYPES)
        to = to or ("default" if rng.random() < 0.1 else self.any_prefix())
        if to != "default" and family_of(to) != family:
            to = "default"
        words = [kind] if kind != "unicast" else []
        words += [to, "table", table]
        if kind == "unicast":
            device = rng.choice(self.nics * 2 + self.others())
            if family == 4 and device == "eth0" and rng.random() < 0.7:
                words += ["via", "10.0.0.1"]
            peers = [one for _, one in self.rail.peers if family_of(one) == family and one != "10.9.0.1"]
            if device in self.nics and peers and rng.random() < 0.25:
                words += ["via", rng.choice(peers)]
            words += ["dev", device]
            own = [one for one, _ in self.rail.addresses if family_of(one) == family]
            if own and rng.random() < 0.2:
                words += ["src", rng.choice(own)]
            if rng.random() < 0.1:
                words += ["mtu", "1280"]
        if rng.random() < 0.4:
            words += ["metric", str(rng.choice((1, 50, 100, 2000)))]
        if rng.random() < 0.2:
            words += ["proto", rng.choice(("static", "bird", "boot"))]
        return " ".join(words)

    def routes_listed(self):
        return [one for one in self.listed("route", "show", "table", "all")
                if not one[1].startswith(("multicast", "anycast", "ff00", "local 127", "local ::1"))
                and "\\" not in one[1] and "fe80" not in one[1]]

    def route_deleted(self):
        routes = self.routes_listed()
        if not routes:
            return None
        flag, line = self.rng.choice(routes)
        where = self.where(line)
        kind = line.split()[0] if line.split()[0] in ("local", "broadcast") else ""
        line = " ".join(one for one in line.split() if one not in ("linkdown", "dead"))
        return Fault(f"route deleted: {kind or 'of'} {where}{' 6' if flag else ''}", [self.ip(f"{flag}route del {line}")],
                     self.owner(line) or self.nics)

    def where(self, line):
        words = line.split()
        table = words[words.index("table") + 1] if "table" in words else "main"
        if table in ("main", "local"):
            return table
        ours = {str(one + more) for one in self.tables.values() if one for more in (0, 2000)}
        return "T or D" if table in ours else "another"

    def route_added(self):
        family = 6 if "4" not in self.right.families or ("6" in self.right.families and self.rng.random() < 0.3) else 4
        table = self.table()
        line = self.route_line(family, table)
        flag = "-6 " if family == 6 else ""
        kind = line.split()[0] if line.split()[0] in TYPES else "unicast"
        return Fault(f"route added: {kind} {self.where(line)}{' 6' if family == 6 else ''}", [self.ip(f"{flag}route add {line}")],
                     self.nics, pieces_of(line), objects=named(line))

    def jumps(self):
        """The second one is what leads past the rails' rules."""
        address = self.rng.choice(self.rail.addresses)[0]
        flag = "-6 " if ":" in address else ""
        return Fault("rules added: jumps", [self.ip(f"{flag}rule add goto 60 priority 40"),
                                            self.ip(f"{flag}rule add from {address} goto 32766 priority 60")],
                     [self.nic], objects=["rule 60: "])

    def hidden_rules(self):
        """One of them hides the other."""
        address = self.rng.choice(self.rail.addresses)[0]
        other = self.rng.choice([nic for nic in self.nics if nic != self.nic])
        flag = "-6 " if ":" in address else ""
        steps = [self.ip(f"{flag}route add default dev {other} table 700")]
        steps += [self.ip(f"{flag}rule add from {address} lookup 700 priority {priority}") for priority in (500, 600)]
        return Fault("rules added: one behind the other", steps, [self.nic], objects=["rule 500: ", "rule 600: "])

    def object(self):
        """A route by a nexthop object."""
        family = 6 if "4" not in self.right.families else 4
        to, flag = self.any_prefix(), "-6 " if family == 6 else ""
        if family_of(to) != family:
            return None
        kind = self.rng.choice(("blackhole", *(f"dev {nic}" for nic in self.nics)))
        table = self.rng.choice(("main", str(self.tables.get(self.nic) or 700)))
        line = f"{to} nhid 90 table {table}"
        return Fault(f"route added: nexthop object, {kind.split()[0]} {self.where(line)}",
                     [self.ip(f"{flag}nexthop add id 90 {kind}"), self.ip(f"{flag}route add {line}")], self.nics, pieces_of(line),
                     objects=named(line))

    def by_source(self):
        """IPv6 has routes for one source alone."""
        address = next((one for one, _ in self.rail.addresses if ":" in one), None)
        if not address:
            return None
        peer = self.rng.choice([one for _, one in self.rail.peers if ":" in one])
        to = self.rng.choice((f"{peer}/128", str(ipaddress.ip_network((peer, 112), strict=False))))
        table = self.rng.choice(("main", str(self.tables.get(self.nic) or 700)))
        line = f"{to} from {address} dev {self.rng.choice(self.nics)} table {table}"
        return Fault("route added: for one source 6", [self.ip(f"-6 route add {line}")], self.nics, pieces_of(line),
                     objects=named(line))

    def multipath(self):
        """Main's route to the rails' subnet by all of them, before or instead of their own."""
        nets = [net for net in self.rail.subnets() if net.version == 4]
        if not nets:
            return None
        hops = " ".join(f"nexthop dev {nic}" for nic in self.rng.sample(self.nics, 2))
        words = self.rng.choice(("replace", "prepend", "append"))
        return Fault(f"route {words}: multipath", [self.ip(f"route {words} {nets[0]} {hops}")], self.nics)

    def route_replaced(self):
        """The same prefix and table and metric by another device or of another type."""
        routes = [one for one in self.routes_listed() if "dev" in one[1] and not one[1].startswith(NOT_REPLACED)]
        if not routes:
            return None
        flag, line = self.rng.choice(routes)
        words = line.split()
        keep = [words[0]]
        for word in ("table", "metric"):
            if word in words:
                keep += [word, words[words.index(word) + 1]]
        target = self.rng.choice((["dev", self.rng.choice(self.nics + self.others())], ["unreachable"], ["blackhole"]))
        line = " ".join(keep + target) if target[0] == "dev" else " ".join(target + keep)
        return Fault(f"route replaced: {target[0]} {self.where(line)}{' 6' if flag else ''}",
                     [self.ip(f"{flag}route replace {line}")], self.owner(" ".join(words)) or self.nics, pieces_of(line),
                     objects=named(line))

    def ours(self):
        """What ib-hook itself has been told, or has forgotten."""
        kind, step = self.rng.choice((
            ("undone", ("run", "ib-hook --undo")), ("one undone", ("run", f"ib-hook --undo --iface {self.nic}")),
            ("state lost", ("run", "rm -r /run/ib-hook"))))
        return Fault(f"ib-hook: {kind}", [step], self.nics)

    # ---- links ----

    def link(self):
        port = next(port for port, owner in self.right.ports.items() if owner == ("host", self.nic))
        other = self.rng.choice([nic for nic in self.nics if nic != self.nic])
        mac = self.scene.facts()[other].mac.hex(":")
        net, six = "10.79.1.34/24", "4" not in self.right.families
        new = [self.ip(f"link add link {self.nic} name mv9 address 02:00:00:00:77:09 type macvlan mode bridge"),
               self.ip("link set mv9 up"), self.ip(f"address add {'fd00:79::34/64' if six else net} dev mv9")]
        vrf = [("in a VRF", [self.ip("link add vrf9 type vrf table 99"), self.ip("link set vrf9 up"),
                             self.ip(f"link set {self.nic} master vrf9")])] if "vrf" not in self.right.lacking else []
        kind, steps = self.rng.choice(vrf + [
            ("down", [self.ip(f"link set {self.nic} down")]),
            ("down and up", [self.ip(f"link set {self.nic} down"), self.ip(f"link set {self.nic} up")]),
            ("arp off", [self.ip(f"link set {self.nic} arp off")]),
            ("multicast off", [self.ip(f"link set {self.nic} multicast off")]),
            ("mtu smaller", [self.ip(f"link set {self.nic} mtu {self.rng.choice((1280, 1400, 1492))}")]),
            ("mtu larger", [self.ip(f"link set {self.nic} mtu {self.rng.choice((2044, 4092, 9000))}")]),
            *([] if self.right.routed else [("equal MAC", [self.ip(f"link set {self.nic} address {mac}")])]),  # wires of their own
            ("another MAC", [self.ip(f"link set {self.nic} address 02:00:00:00:77:01")]),
            ("no carrier", [("ip", "wire", f"link set {port} down")]),
            ("off the switch", [("ip", "wire", f"link set {port} nomaster")]),
            ("moved away", [self.ip(f"link set {self.nic} netns away")]),
            ("deleted", [self.ip(f"link del {self.nic}")]),
            ("promiscuous", [self.ip(f"link set {self.nic} promisc on")]),
            ("allmulticast", [self.ip(f"link set {self.nic} allmulticast on")]),
            ("renamed", [self.ip(f"link set {self.nic} down"), self.ip(f"link set {self.nic} name other0"),
                         self.ip("link set other0 up")]),
            ("in a bridge", [self.ip("link add br9 type bridge forward_delay 0"), self.ip("link set br9 up"),
                             self.ip(f"link set {self.nic} master br9")]),
            ("group", [self.ip(f"link set {self.nic} group 5")]),
            ("group of ours", [self.ip(f"link set {self.nic} group {MARK}")]),
            ("groups of ours", [self.ip(f"link set {nic} group {MARK}") for nic in self.nics]),
            ("txqueuelen", [self.ip(f"link set {self.nic} txqueuelen 0")]),
            ("macvlan beside", new),
            ("drops by tbf", [("run", f"tc qdisc add dev {self.nic} root tbf rate 8bit burst 1 limit 1")]),
        ])
        culprits = {"equal MAC": other, "renamed": "other0", "macvlan beside": "mv9"}
        return Fault(f"link {kind}", steps, [self.nic, culprits.get(kind, self.nic)])

    def address(self):
        rng = self.rng
        address, length = rng.choice(self.rail.addresses)
        other = rng.choice([nic for nic in self.nics if nic != self.nic] + self.others())
        full = 128 if ":" in address else 32
        near = str(ipaddress.ip_address(address) + rng.choice((11, 12, 300)))
        shorter = rng.choice((length - 1, length - 4, length + 1, length + 2, full - 3, full))  # two hosts may be meant
        shorter = min(max(shorter, 8), full)
        far = "fd00:55::1/64" if ":" in address else "10.155.0.1/24"
        peer = next((one for _, one in self.rail.peers if family_of(one) == family_of(address)), address)
        dad = [("set", "host", f"net/ipv6/conf/{self.nic}/{key}=1") for key in ("accept_dad", "dad_transmits")]
        choices = [
            ("deleted", [self.ip(f"address del {address}/{length} dev {self.nic}")]),
            ("flushed", [self.ip(f"address flush dev {self.nic}")]),
            ("family flushed", [self.ip(f"-{6 if ':' in address else 4} address flush dev {self.nic} scope global")]),
            ("family flushed of all", [self.ip(f"-{6 if ':' in address else 4} address flush dev {nic} scope global") for nic in self.nics]),
            ("duplicated", [self.ip(f"address add {address}/{rng.choice((length, full))} dev {other}")]),
            ("prefix length", [self.ip(f"address del {address}/{length} dev {self.nic}"),
                               self.ip(f"address add {address}/{shorter} dev {self.nic}")]),
            ("moved", [self.ip(f"address del {address}/{length} dev {self.nic}"),
                       self.ip(f"address add {address}/{length} dev {other}")]),
            ("another", [self.ip(f"address add {near}/{length} dev {self.nic}")]),
            ("another of another NIC", [self.ip(f"address add {near}/{length} dev {other}")]),
            ("of another subnet", [self.ip(f"address add {far} dev {self.nic}")]),
            ("of a peer", [self.ip(f"address add {peer}/{full} dev {rng.choice((self.nic, 'lo'))}")]),
            ("deprecated", [self.ip(f"address change {address}/{length} dev {self.nic} preferred_lft 0")]),
            ("without its subnet's route", [self.ip(f"address del {address}/{length} dev {self.nic}"),
                                            self.ip(f"address add {address}/{length} dev {self.nic} noprefixroute")]),
        ]
        if ":" in address:
            twin = f"{address}/{length} dev eth0"
            choices += [("DAD failed", [*dad, ("ip", "p0", f"address add {twin} nodad"),
                                        self.ip(f"address del {address}/{length} dev {self.nic}"),
                                        self.ip(f"address add {address}/{length} dev {self.nic}"),
                                        ("dad", self.nic, address), ("ip", "p0", f"address del {twin}")])] * 3
        elif self.right.routed is False:
            choices += [("of a third host", [("ip", "p1", f"address add {address}/{length} dev eth0")])]
        kind, steps = rng.choice(choices)
        if kind == "prefix length" and self.right.routed and length > 29 and shorter != length:
            kind = "prefix length, and so another gateway=peer"
        on_lo = kind == "another of another NIC" and other == "lo"  # then all of its subnet is this host's
        pieces = [ipaddress.ip_network(f"{near}/{length}", strict=False)] if on_lo else []
        return Fault(f"address {kind}", steps, [self.nic, other], pieces)

    def soft_netdev(self):
        """With the rails' own prefix, first in main or after the rails."""
        if "4" not in self.right.families or self.right.routed or "main_lacks" in self.right.extras:
            return None
        net = self.right.net4
        kind = self.rng.choice(("bridge", "ifb"))
        steps = [self.ip(f"link add soft9 type {kind}"), self.ip("link set soft9 up"),
                 self.ip(f"address add {self.right.host(net, 91)}/{net.prefixlen} dev soft9")]
        first = self.rng.random() < 0.5
        if first:
            steps += [self.ip(f"route del {net} dev soft9"), self.ip(f"route prepend {net} dev soft9 proto kernel scope link")]
        return Fault(f"soft netdev: {kind}{' first in main' if first else ''}", steps, [*self.nics, "soft9"],
                     objects=[] if not first else ["dev soft9 table main", str(self.right.host(net, 91))],
                     virtual=[str(self.right.host(net, 91))])

    def virtual(self):
        """A virtual address of the subnet, which peers ask the rails' wire for, and which main leads back to it."""
        if "4" not in self.right.families or self.right.routed or "main_lacks" in self.right.extras:
            return None
        address = str(self.right.host(self.right.net4, 92))
        steps = [self.ip("link add soft9 type bridge"), self.ip("link set soft9 up"),
                 self.ip(f"address add {address}/32 dev soft9")]
        return Fault("virtual address", steps, [*self.nics, "soft9"], [ipaddress.ip_network(address)], virtual=[address])

    def serves_others(self):
        """A rule that leads a rail astray, and others, or to other networks, where they have to go."""
        address, length = self.rng.choice(self.rail.addresses)
        family, other = family_of(address), self.rng.choice([nic for nic in self.nics if nic != self.nic])
        flag = "-6 " if family == 6 else ""
        net = ipaddress.ip_network(f"{address}/{length}", strict=False)
        source = self.rng.choice((address, str(net)))
        steps = [self.ip(f"{flag}route add {net} dev {other} table 700"),
                 self.ip(f"{flag}route add {'fd00:50::/64' if family == 6 else '10.50.0.0/16'} dev {other} table 700"),
                 self.ip(f"{flag}rule add from {source} lookup 700 priority 500")]
        return Fault(f"rule added: serves others{' 6' if flag else ''}", steps, self.nics, objects=["rule 500: "])

    def altered(self):
        """A route of ib-hook's is not what ib-hook made."""
        routes = [one for one in self.routes_listed() if "metric 1768056939" in one[1] and "via" not in one[1]]
        if not routes:
            return None
        flag, line = self.rng.choice(routes)
        line = " ".join(one for one in line.split() if one not in ("linkdown", "dead"))
        return Fault(f"own route altered{' 6' if flag else ''}", [self.ip(f"{flag}route replace {line} mtu lock 1280")],
                     self.owner(line) or self.nics)

    def neighbour(self):
        rng = self.rng
        peer = rng.choice([one for _, one in self.rail.peers])
        if peer == "10.9.0.1":
            return None
        kind = rng.choice(("permanent", "permanent", "own MAC", "proxy"))
        other = rng.choice([nic for nic in self.nics if nic != self.nic])
        mac = "02:00:00:00:99:99" if kind == "permanent" else self.scene.facts()[other].mac.hex(":")
        if kind == "proxy":
            address = next((one for rail in self.right.rails if rail.nic == other for one, _ in rail.addresses), None)
            return Fault("neighbour proxy", [self.ip(f"neigh add proxy {rng.choice((address, peer))} dev {self.nic}")], self.nics)
        line = f"neigh replace {peer} lladdr {mac} dev {self.nic} nud permanent"
        return Fault(f"neighbour {kind}", [self.ip(line)], [self.nic])
