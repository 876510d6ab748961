# SPDX-License-Identifier: GPL-2.0-or-later
"""Which gateway a rail has, and what it reaches by it: what the manual says of manage=, gateway= and remote=."""

import fnmatch
import ipaddress

from hosts import settings
from kernel import MAIN, family_of

PLACES = ("peer", "first", "last")
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
        words = [one for one in self.of(nic, "remote", "").split(",") if one]
        return [net for net in map(ipaddress.ip_network, words) if net.version == family]


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
    """The gateways of the rails. Main's routes are the twin's."""

    def __init__(self, facts, keys):
        self.facts, self.keys, self.known = facts, keys, {}
        self.main = [one for one in facts.main_routes if one.kind == "unicast" and not one.source]  # these are never copied
        self.own = facts.of_host

    def of(self, device, family):
        """(its gateway, is it certain). None: it has none. Not certain: the manual does not say which of several."""
        if (device, family) not in self.known:
            self.known[device, family] = self.find(device, family)
        return self.known[device, family]

    def find(self, device, family):
        setting = self.keys.of(device, "gateway", "auto")
        if setting == "none":
            return None, True
        configured = self.configured(device, family, setting)
        if len(configured) > 1:
            return None, False
        usable = [one for one in configured if one not in self.own]
        return (usable[0], True) if usable else self.of_main(device, family)

    def configured(self, device, family, setting):
        found = set()
        for name, local, length, *_ in self.facts.usable:
            if name != device or family_of(local) != family:
                continue
            address = ipaddress.ip_interface(f"{local}/{length}")
            if setting in PLACES:
                one = by_place(setting, address)
                found |= {str(one)} if one else set()
            elif setting != "auto" and family_of(setting) == family and address.network.num_addresses > 1 and \
                    ipaddress.ip_address(setting) in address.network:
                found.add(str(ipaddress.ip_address(setting)))
        return found

    def of_main(self, device, family):
        """Main's default by a gateway that the rail reaches: the best one. Of several alike it is not said which."""
        mine = [one for one in self.main if one.net.version == family and one.net.prefixlen == 0 and self.is_mine(device, one)]
        if not mine:
            return None, True
        best = min(mine, key=lambda one: one.metric)
        return best.via, all(one.metric > best.metric or one.via == best.via for one in mine)

    def is_mine(self, device, route):
        if route.via is None or route.via in self.own or route.dev not in self.facts.rails:
            return False
        return route.dev == device if route.via.startswith("fe80:") else self.reaches(device, route)

    def reaches(self, device, route):
        via = ipaddress.ip_address(route.via)
        if any(net.version == via.version and via in net for net in self.facts.subnets.get(device, ())):
            return True
        return route.dev == device and self.has_host_route(device, route.via)

    def has_host_route(self, device, address):
        """Main's, by the device: in clouds a NIC has no subnet, and this to its gateway."""
        return address is not None and any(one.dev == device and one.via is None and one.net == ipaddress.ip_network(address)
                                           for one in self.main)


class Remote:
    """What remote= promises of one look-up: `to`, beyond the subnets of a rail."""

    def __init__(self, facts, keys, device, question, main):
        self.device, self.main, to = device, main, question.to
        family = family_of(to)
        one = ipaddress.ip_address(to)
        self.gateway, self.certain = facts.gateways_of.of(device, family)
        self.siblings = facts.rails - {device}
        remote = keys.remote(device, family)
        up = [one for one in self.siblings if facts.up(one)]  # main has nothing by the others
        of_siblings = {net for sibling in up for net in facts.subnets.get(sibling, ()) if net.version == family}
        remote += [net for net in of_siblings if any(net.subnet_of(whole) for whole in remote)]
        self.length = max((net.prefixlen for net in remote if one in net), default=-1)
        self.in_main = facts.in_main(to, question.source)
        self.routes = [route for route in facts.gateways_of.main if route.net.version == family and one in route.net]
        table = facts.table_of.get(device)
        lengths = {net.prefixlen for net in facts.our_prefixes.get(table, ()) if net.version == family}
        self.crowded = len(lengths) > MOST_LENGTHS
        theirs = [net.prefixlen for net in facts.others_prefixes.get(table, ()) if net.version == family and one in net]
        self.in_table = max(theirs, default=-1)  # what others have put into the rail's table

    def promised(self):
        """Main has nothing more exact, but by other rails: it has to leave by the rail's own gateway. A route by source is copied
        for none."""
        by_sibling = self.main.kind == "unicast" and self.main.dev in self.siblings and self.main.table == MAIN and \
            any(one.dev in self.siblings and one.net.prefixlen == self.in_main for one in self.routes)
        return bool(self.length >= 0 and self.gateway and (self.in_main <= self.length or by_sibling))

    def also_by_rail(self):
        """Main has its best prefix a second time, by a rail: ib-hook does not read what others have in main."""
        return any(one.dev in self.siblings | {self.device} and one.net.prefixlen == self.in_main for one in self.routes)

    def by_gateway(self, answer):
        """By the NIC, and by the gateway; to the gateway itself, without one."""
        return answer.kind == "unicast" and answer.dev == self.device and answer.via == self.gateway
