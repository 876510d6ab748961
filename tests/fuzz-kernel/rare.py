# SPDX-License-Identifier: GPL-2.0-or-later
"""What few hosts have: nexthop objects, goto and `not`, rules by a NIC, IPv6 routes by source, addresses of other forms, tables
of others that route a rail by gateways or in part, daemons' routes, NICs that leave and come back."""

ADDRESS_FORMS = ("peer", "peer32", "scope link", "scope host", "deprecated", "host beside", "broadcast")
LINK_LOCAL = ("169.254.0.0", 16)


class Rare:
    """What Maker does with it: one or a few of these in a third of the worlds."""

    def choose_rare(self):
        self.rare = self.rng.random() < 0.4
        self.objects = 0
        self.link_local = self.v4 and self.rng.random() < 0.04
        if self.link_local:
            self.use_net(*LINK_LOCAL)

    def a_peer(self):
        """A host of the rails' subnet that is nobody's here: a router, often."""
        return self.net.host()

    def up_rails(self):
        return [nic for nic in self.rails if self.subnet.get(nic) is self.net and self.state[nic] == "up"]

    # ---- addresses ----

    def rare_addresses(self):
        if not self.rare or not self.chance(0.5):
            return
        nic = self.rng.choice(self.rails)
        net = self.subnet.get(nic, self.net)
        if self.v4 and nic not in self.leaves and not self.link_local:
            one, form = net.host(), self.rng.choice(ADDRESS_FORMS)
            whole = {"peer": f"{one} peer {net.host()}/{net.length}", "peer32": f"{one} peer {self.rng.choice((net.host(), '10.77.1.1'))}/32",
                     "scope link": f"{one}/{net.length} scope link", "scope host": f"{one}/{net.length} scope host",
                     "deprecated": f"{one}/{net.length} preferred_lft 0 valid_lft forever", "host beside": f"{one}/32",
                     "broadcast": f"{one}/{net.length} broadcast {net.host()}"}[form]
            self.add(f"ip address add {whole} dev {nic}")
            self.addresses.setdefault(nic, []).append(one)
            self.subnet.setdefault(nic, net)
        if self.v6 and nic not in self.leaves:
            one = f"{self.v6_net}{self.rng.randrange(0x1000, 0xffff):x}"
            route = f"ip -6 route append {self.v6_net}/64 dev {nic} proto {self.rng.choice(('ra', 'kernel'))} metric 150"
            form = self.rng.choice(("preferred_lft 0 valid_lft forever", "noprefixroute", "scope link", "noprefixroute preferred_lft 0"))
            self.add(f"ip address add {one}/64 dev {nic} nodad {form}")
            self.addresses6.setdefault(nic, []).append(one)
            if "noprefixroute" in form and self.state[nic] != "down":
                self.add(route)

    # ---- routes ----

    def rare_routes(self):
        if not self.rare:
            return
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            self.rng.choice((self.by_object, self.by_object, self.by_source, self.daemon_inside, self.several_hops))()

    def some_prefix(self):
        return self.rng.choice(("default metric 700", "10.99.0.0/16", "198.51.100.0/24", self.net.piece(), self.net.piece()))

    def by_object(self):
        """ip nexthop …, and a route that names it; or a group of them."""
        rails, made = self.up_rails(), []
        if not self.v4 or not rails:
            return
        for _ in range(self.rng.choice((1, 1, 2))):
            self.objects += 1
            way = f"via {self.a_peer()} dev {self.rng.choice(rails)}" if self.chance(0.6) else self.others_way() or f"dev {rails[0]}"
            self.add(f"ip nexthop add id {self.objects} {way}" + (" proto zebra" if self.chance(0.3) else ""))
            made.append(str(self.objects))
        if len(made) > 1 or self.chance(0.3):
            self.add(f"ip nexthop add id {100 + self.objects} group {'/'.join(made)}")
            made = [str(100 + self.objects)]
        table = self.rng.choice(("", "", " table 300"))
        self.add(f"ip route add {self.some_prefix()} nhid {made[0]}{table}" + (" proto zebra" if self.chance(0.4) else ""))

    def by_source(self):
        """ip -6 route add PREFIX from SOURCE."""
        if not self.v6:
            return
        own = [one for some in self.addresses6.values() for one in some] or [f"{self.v6_net}1"]
        source = self.rng.choice((f"{self.v6_net}/64", f"{self.rng.choice(own)}/128", "fd00:99::/64"))
        what = self.rng.choice(("default", "2001:db8:aa::/48", f"{self.v6_net}7700/120", f"{self.v6_net}9/128"))
        nic = self.rng.choice(self.rails)
        way = f"via fd00:99::1 dev {self.mgmt}" if self.mgmt and self.chance(0.5) else f"via {self.v6_net}fffe dev {nic}"
        self.add(f"ip -6 route add {what} from {source} {way} proto {self.rng.choice(('static', 'bird', 'ra'))}", self.chance(0.2))

    def daemon_inside(self):
        rails = self.up_rails()
        if self.v4 and rails:
            by = self.rng.choice((f"via {self.a_peer()} ", "", f"via inet6 fe80::{self.rng.randrange(1, 9)} "))
            how = f"{by}dev {self.rng.choice(rails)}"
            self.add(f"ip route add {self.net.piece()} {how} proto {self.rng.choice(('zebra', 'bird', 'bgp', 'ospf'))} metric 20",
                     self.chance(0.6))

    def several_hops(self):
        rails = self.up_rails()
        if self.v4 and len(rails) > 1:
            two = [f"nexthop via {self.a_peer()} dev {nic}" for nic in self.rng.sample(rails, 2)]
            if self.chance(0.3) and self.others_way():
                two[1] = f"nexthop {self.others_way()}"
            self.add(f"ip route add {self.rng.choice(('default', '10.99.0.0/16', self.net.piece()))} metric 30 {' '.join(two)}")

    # ---- rules, and tables that they lead to ----

    def rare_rules(self):
        if not self.rare:
            return
        if self.chance(0.06):
            self.main_later()
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            self.rng.choice((self.goto, self.goto, self.negated, self.negated, self.by_nic, self.by_nic, self.by_mark,
                             self.table_of_a_rail, self.table_of_a_rail, self.table_of_a_rail))()

    def selector(self):
        return self.rng.choice((f"from {self.some_address()}", f"to {self.net.piece()}", "iif lo", "fwmark 0x10/0xf0", "to 10.99.0.0/16",
                                f"from {self.net.piece()}", f"iif {self.rng.choice(self.rails)}", f"from {self.some_address()} to {self.net.piece()}"))

    def main_later(self):
        """Main's rule has another priority, and somebody else's comes before it."""
        number = self.table_of_others(304)
        self.add(f"ip rule add priority {self.rng.choice((33000, 40000))} table main")
        self.add("ip rule del priority 32766 table main")
        self.add(f"ip rule add priority 32900 {self.rng.choice(('', 'to 10.99.0.0/16 ', 'to 198.51.100.0/24 '))}table {number}")

    def goto(self):
        target = self.rng.choice((32766, 32767, 30100))
        if target == 30100:
            self.add(f"ip rule add priority {target} {self.rng.choice(('table main', 'table 300', 'nop'))}")
        what = self.selector()
        if "None" not in what:
            self.add(f"ip rule add priority {self.rng.choice((500, 1000, 1939, 1942, 4000, 30000))} {what} goto {target}", self.chance(0.3))

    def negated(self):
        what = self.selector()
        if "None" not in what:
            number = self.table_of_others(301)
            where = self.rng.choice(("table main", "table main", f"table {number}", "table main suppress_prefixlength 0", "unreachable"))
            if where == "unreachable" and not what.startswith("iif"):
                where = f"table {number}"
            self.add(f"ip rule add priority {self.priority()} not {what} {where}", self.chance(0.3))

    def by_nic(self):
        nic = self.rng.choice(self.rails + ["lo"] + ([self.mgmt] if self.mgmt else []))
        number = self.table_of_others(302)
        where = self.rng.choice(("table main", f"table {number}", f"table {number}", "unreachable"))
        extra = self.rng.choice(("", f" from {self.net.piece()}", f" to {self.net.piece()}"))
        self.add(f"ip rule add priority {self.priority()} {self.rng.choice(('iif', 'oif'))} {nic}{extra} {where}", self.chance(0.2))

    def by_mark(self):
        number = self.table_of_others(303)
        mark = self.rng.choice(("0x10/0xf0", "0x80/0x80", "0x1", "0x10/0xf"))
        where = self.rng.choice((f"table {number}", "table main", "prohibit"))
        self.add(f"ip rule add priority {self.priority()} {self.rng.choice(('', 'not '))}fwmark {mark} {where}", self.chance(0.2))

    def table_of_a_rail(self):
        """Somebody routes a rail's address: whole, in part, by a gateway, or not at all."""
        rails = self.up_rails()
        if not self.v4 or not rails:
            return
        nic, number = self.rng.choice(rails), self.rng.choice((310, 311))
        address, net = self.rng.choice(self.addresses[nic]), self.net
        whole, peer, late = f"{net.address(0)}/{net.length}", self.a_peer(), self.chance(0.4)
        forms = {"subnet": [f"{whole} dev {nic}"], "subnet and default": [f"{whole} dev {nic}", f"default via {peer} dev {nic}"],
                 "isolated": [f"{peer} dev {nic}", f"{whole} via {peer} dev {nic}"], "default": [f"default via {peer} dev {nic} onlink"],
                 "part": [f"{net.piece()} dev {nic}"], "more exact": [f"{whole} dev {nic}", f"{net.piece()} via {peer} dev {nic}"],
                 "kill switch": [f"{whole} dev {nic}", "blackhole default"], "refused": [f"{whole} dev {nic}", f"unreachable {net.piece()}"],
                 "of another": [f"{whole} dev {self.rng.choice(rails)}"], "empty": []}
        ways = [f"ip route add {one} table {number}" for one in forms[self.rng.choice(list(forms))]]
        scope = self.rng.choice((f"from {address}", f"from {address}", f"from {address}", f"from {whole}", f"from {address} to {whole}",
                                 f"from {address} to {net.piece()}"))
        rule = f"ip rule add priority {self.rng.choice((100, 1939, 5000, 30000, 32000))} {scope} table {number}"
        for one in self.rng.choice(([rule] + ways, ways + [rule], ways, ways + [rule, f"ip rule add priority 90 {scope} to {net.piece()} table main"])):
            self.add(one, late)

    # ---- what happens ----

    def rare_event(self):
        """Lines of it."""
        nic, kind = self.rng.choice(self.rails), self.rng.randrange(6)
        net, address = self.subnet.get(nic), self.addresses.get(nic, [None])[0]
        if kind < 2 and address and nic not in self.leaves:
            away = [f"ip link set {nic} netns away", "do apply"] if self.chance(0.5) else [f"ip link set {nic} netns away"]
            six = [f"ip address add {one}/64 dev {nic} nodad" for one in self.addresses6.get(nic, [])[:1]]
            return away + [f"back {nic}", f"ip address add {address}/{net.length} dev {nic}", *six, f"ip link set {nic} up"]
        if kind == 2 and net and self.v4:
            return [f"ip route replace {net.piece()} via {net.host()} dev {nic} proto zebra metric 20"]
        if kind == 3 and address:
            return [f"ip route flush table {self.rng.choice((310, 311))}"]
        if kind == 4 and address:
            return [f"ip rule del from {address} table {self.rng.choice((310, 311))}"]
        if kind == 5 and address and net:
            return [f"ip address change {address}/{net.length} dev {nic} preferred_lft 0 valid_lft forever"]
        return [f"ip nexthop del id {self.rng.randrange(1, 4)}"] if self.objects else []
