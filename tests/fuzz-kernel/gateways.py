# SPDX-License-Identifier: GPL-2.0-or-later
"""What a rail's tables hold, and by which gateway: its own subnets, remote=, its default. What the manual says of manage=,
gateway= and remote=. Of main, its own NIC's routes count alone."""

import fnmatch
import ipaddress
from collections import namedtuple

from hosts import settings
from kernel import family_of, is_encapsulated

PLACES = ("peer", "first", "last")
ANYTHING = None  # what a route carries, where the manual leaves it open

# How a rail's table leads: by its NIC, to this gateway or to none, with what the route carries. In a list of ways None stands for
# no route; several are in it where the manual leaves it open.
Way = namedtuple("Way", "via carried")
MOST_LENGTHS = 8  # of prefixes in a table: of more, the shortest are asked together


class Keys:
    """The configuration, as far as it is about single NICs."""

    def __init__(self, lines):
        self.pairs = [(section[1:-1].split(), *setting.split("=", 1)) for section, setting in settings(lines)]

    def of(self, nic, key, default):
        """A name comes before a glob, a glob before the defaults; of two alike the later one counts."""
        best, value = -1, default
        for section, name, text in self.pairs:
            rank = 0
            if section[0] == "interface":
                rank = 2 if section[1] == nic else 1 if fnmatch.fnmatchcase(nic, section[1]) else -1
            if name == key and rank >= max(best, 0):
                best, value = rank, text
        return value

    def managed(self, nic):
        return self.of(nic, "manage", "auto") == "yes"

    def remote(self, nic, family):
        """[(prefix, its `via` or None)]"""
        found = []
        for one in filter(None, self.of(nic, "remote", "").split(",")):
            net, _, via = one.partition(" via ")
            found.append((ipaddress.ip_network(net.strip()), via.strip() or None))
        return [one for one in found if one[0].version == family]


def by_place(place, address):
    """The gateway that `place` names in the subnet of this address, or None."""
    net, left = address.network, address.max_prefixlen - address.network.prefixlen
    if place == "peer" and (left == 1 or left == 2 and net.version == 4):
        hosts = [net[0], net[1]] if left == 1 else [net[1], net[2]]
        return hosts[1] if hosts[0] == address.ip else hosts[0]
    if place in ("first", "last") and net.version == 4 and left > 0:
        outer = 1 if left > 1 else 0
        return net[outer] if place == "first" else net[-1 - outer]
    return None


class Gateways:
    """The ways of the rails. Main's routes are the twin's."""

    def __init__(self, facts, keys):
        self.facts, self.keys, self.known = facts, keys, {}

    # ---- own subnets ----

    def subnet(self, device, net):
        """As main has exactly this subnet by the NIC; where it has it by another one's gateway alone, not at all."""
        rows = sorted((one for one in self.facts.main_routes if one.net == net and not one.source), key=lambda one: one.metric)
        own = [one for one in rows if one.dev == device and one.kind == "unicast" and not one.tos]
        if own:
            hops = [one for one in own if one.which == own[0].which]
            if len(hops) > 1 or is_encapsulated(own[0].carried) or self.facts.is_own(device, own[0].via):
                return [None, Way(None, ANYTHING)] + [Way(one.via, ANYTHING) for one in hops]
            return [Way(own[0].via, ANYTHING if net.version == 6 and self.has_several(own[0]) else own[0].carried)]
        led = [one for one in rows if one.kind == "unicast"]
        if led and led[0].via:
            return [None, Way(None, ())] if self.has_several(led[0]) else [None]
        return [Way(None, ())]

    # ---- the default ----

    def default(self, device, family):
        if (device, family) not in self.known:
            self.known[device, family] = self.find(device, family)
        return self.known[device, family]

    def find(self, device, family):
        setting = self.keys.of(device, "gateway", "auto")
        if setting == "none":
            return [None]
        if setting == "auto":
            return [self.of_main(device, family)]
        named = self.named(device, family, setting)
        if not named:  # an address of another subnet, of the other family; `peer` of a /24
            return [None]
        return [way for one in sorted(named) for way in self.through(device, family, one)]

    def through(self, device, family, via):
        """A gateway that the configuration names; an address of this host is none."""
        return [None if self.facts.is_own(device, via) else Way(via, self.carried(device, family, via))]

    def named(self, device, family, setting):
        """The gateways that gateway= names."""
        found = set()
        for name, local, length, *_ in self.facts.usable:
            if name != device or family_of(local) != family:
                continue
            address = ipaddress.ip_interface(f"{local}/{length}")
            if setting in PLACES:
                one = by_place(setting, address)
                found |= {str(one)} if one else set()
            elif setting != "auto" and family_of(setting) == family and (
                    setting.startswith("fe80:") or address.network.num_addresses > 1 and ipaddress.ip_address(setting) in address.network):
                found.add(str(ipaddress.ip_address(setting)))
        return found

    def defaults_of(self, device, family):
        """Main's by this NIC, of whatever form: a list of hops for each. A router's count only where no other ones are."""
        found = {}
        for one in self.facts.main_routes:
            if one.net.version == family and one.net.prefixlen == 0 and one.kind == "unicast" and one.dev == device:
                found.setdefault(one.which, []).append(one)
        configured = [hops for hops in found.values() if not hops[0].advertised]
        return configured or list(found.values())

    def of_main(self, device, family):
        """Main's default by this NIC, where there is exactly one, and a simple one."""
        found = self.defaults_of(device, family)
        if len(found) != 1 or len(found[0]) != 1:
            return None
        one = found[0][0]
        if not self.is_simple(one) or self.facts.is_own(device, one.via):
            return None
        return Way(one.via, ANYTHING if family == 6 and self.has_several(one) else one.carried)

    @staticmethod
    def is_simple(one):
        return not one.tos and not one.source and not is_encapsulated(one.carried)

    def has_several(self, one):
        """Hops: of IPv6's the kernel shows the first one's metrics alone."""
        return sum(other.which == one.which for other in self.facts.main_routes) > 1

    def carried(self, device, family, via):
        """By a gateway that the configuration names: as main's best default by it and this NIC."""
        found = [hops[0] for hops in self.defaults_of(device, family) if len(hops) == 1 and hops[0].via == via and self.is_simple(hops[0])]
        if not found:
            return ()
        one = min(found, key=lambda one: one.metric)
        return ANYTHING if family == 6 and self.has_several(one) else one.carried

    # ---- remote= ----

    def remote(self, device, family):
        """[(prefix, ways)], siblings' subnets inside as well: main has none by a sibling that is down."""
        named = [(net, self.through(device, family, via) if via else self.default(device, family))
                 for net, via in self.keys.remote(device, family)]
        siblings = {net for one in self.facts.rails - {device} if self.facts.is_enabled(one)
                    for net in self.facts.subnets.get(one, ()) if net.version == family}
        inside = []
        for net in siblings:
            around = [one for one in named if net.subnet_of(one[0])]
            if around:
                inside.append((net, max(around, key=lambda one: one[0].prefixlen)[1]))
        return named + inside


class Remote:
    """What remote= promises of one look-up: `to`, beyond the subnets of a rail."""

    def __init__(self, facts, device, question):
        self.device, to = device, question.to
        family = family_of(to)
        one = ipaddress.ip_address(to)
        # A prefix without a gateway is in no table: the next shorter one has it.
        found = [(net.prefixlen, ways) for net, ways in facts.gateways_of.remote(device, family) if one in net and any(ways)]
        self.length = max((length for length, _ in found), default=-1)
        self.ways = [way for length, ways in found if length == self.length for way in ways]
        self.in_main = facts.in_main(to, question.source)
        table = facts.table_of.get(device)
        lengths = {net.prefixlen for net in facts.our_prefixes.get(table, ()) if net.version == family}
        self.crowded = len(lengths) > MOST_LENGTHS
        theirs = [net.prefixlen for net in facts.others_prefixes.get(table, ()) if net.version == family and one in net]
        self.in_table = max(theirs, default=-1)  # what others have put into the rail's table

    def may_be(self):
        return any(self.ways)

    def promised(self):
        """It has to leave through the rail's own gateway: main has nothing more exact."""
        return bool(self.ways) and None not in self.ways and self.in_main <= self.length

    def goes_by(self, answer):
        """By the NIC, and by the gateway; to the gateway itself, without one."""
        return fits(answer, self.device, self.ways)


def fits(answer, device, ways):
    if answer.kind != "unicast" or answer.dev != device:
        return False
    return any(way and answer.via == way.via and way.carried in (ANYTHING, answer.carried) for way in ways)


def to_gateway(answer, device, ways, to):
    """What goes to the gateway itself: IPv6 has a route to it in the rail's table."""
    return answer.kind == "unicast" and answer.dev == device and not answer.via and any(way and way.via == to for way in ways)
