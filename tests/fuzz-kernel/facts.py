# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands in the host under test and in its twin, and what the world's configuration says."""

import ipaddress

from gateways import Gateways, Keys
from hosts import LOWER_UP, UP, settings
from kernel import FRA_PRIORITY, MAIN, State, family_of, number
from others import Rule

LAST_PAIR = 32764  # the priority of the rules that lead to a rail's default
SCOPES = (0,)  # global


def same(one, other):
    return one[:3] == other[:3] and one.carried == other.carried and (one.src == other.src or None in (one.src, other.src))


def equal(one, other):
    return one[:4] == other[:4] and one.carried == other.carried


def by(answer, device):
    return answer.kind == "unicast" and answer.dev == device and answer.via is None


def within(address, networks):
    """The longest of the networks that has the address, as its length; -1: none has."""
    if address is None or not isinstance(address, str):
        return -1
    address = ipaddress.ip_address(address)
    return max((one.prefixlen for one in networks if one.version == address.version and address in one), default=-1)


def rule(raw):
    return Rule(*raw)


SPREAD_PAIR = 4940  # the priority of the first of its two rules


class Facts:
    """What stands in the host now."""

    def __init__(self, host, config):
        self.state, self.twin = State(host.host), State(host.twin)
        self.links = host.host.links()
        everywhere = host.host.addresses()
        self.of_host = {one[1] for one in everywhere}  # of lo, too
        self.of_links = {one[:2] for one in everywhere}
        self.vips = [one[1] for one in everywhere if one[0] == "lo" and one[5] == 0 and family_of(one[1]) == 4]
        self.addresses = [one for one in everywhere if one[0] != "lo" and (one[5] == 0 or family_of(one[1]) == 4)]
        self.usable = [one for one in self.addresses if not one[4] & 0x48]  # neither tentative nor failed
        self.ours = self.state.our_addresses()
        count = {}
        for one in self.usable:
            count[one[1]] = count.get(one[1], 0) + 1
        self.rail_of = {one[1]: one[0] for one in self.usable if one[1] in self.ours and one[0] in config.candidates}
        self.twice = {address for address, n in count.items() if n > 1}  # whose they are, nobody can say
        self.devices = {one[0] for one in self.usable if one[1] in self.ours and one[0] in config.candidates}
        self.sure = {device for address, device in self.rail_of.items() if address not in self.twice}
        self.main_routes = self.twin.main_routes()
        self.subnets = {device: self.subnets_of(device) for device in {one[0] for one in self.addresses}}
        self.reached = {device: nets | self.on_link(device, nets) for device, nets in self.subnets.items()}
        self.sharing = {device: self.subnets_of(device, SCOPES) for device in self.subnets}  # by these a NIC becomes a rail
        # Also those whose addresses others route, or another NIC has, too.
        self.rails = self.sure | {nic for nic in config.candidates & set(self.links) if self.is_engaged(nic, config)}
        # Rails whose addresses rules of others route, or whose subnet main has by a gateway of this host, have no rules of ours,
        # and unbound traffic is spread over them, too.
        theirs = [Rule(*one) for one in self.twin.rules]
        self.parts = [one.to for one in theirs if one.to and one.priority >= SPREAD_PAIR and one.takes_unbound]
        self.spread_over = self.devices | self.rails | {one[0] for one in self.usable if one[0] in config.candidates and
                                                        config.keys.of(one[0], "manage", "auto") != "no" and
                                                        any(rule.leads(one[1]) for rule in theirs)}
        # No source of anybody. The kernel drops these as soon as any rule has ever been added, and accepts them before.
        self.broadcasts = {str(net[end]) for nets in self.subnets.values() for net in nets if net.version == 4 for end in (0, -1)}
        self.our_tables = self.state.our_tables() | set(self.ours.values())
        self.others_prefixes = State.prefixes(self.twin.routes)
        self.our_prefixes = State.prefixes(self.state.our_routes)
        self.main = self.others_prefixes.get(MAIN, {})
        self.table_of = {device: self.ours[address] for address, device in self.rail_of.items()}
        self.gateways_of = Gateways(self, config.keys)
        self.last_of_others = any(number(dict(known).get(FRA_PRIORITY, bytes(4))) in (LAST_PAIR, LAST_PAIR + 1)
                                  for _, known in self.state.rules)

    def is_own(self, device, via):
        """A gateway that is this host: of fe80::, only an address of the NIC itself."""
        return (device, via) in self.of_links if via and via.startswith("fe80:") else via in self.of_host

    def subnets_of(self, device, scopes=None):
        """A peer's address is one, too, but none by which a NIC becomes a rail; nor is a subnet that only a router put into main."""
        found, advertised = set(), {}
        for one in self.main_routes if scopes is not None else ():
            if one.dev == device and one.net.version == 6:
                advertised[one.net] = one.advertised and advertised.get(one.net, True)
        for one in self.usable:
            network = ipaddress.ip_network(f"{one[3]}/{one[2]}", strict=False)
            is_peer = scopes is None and one[3] != one[1]
            if scopes is not None and advertised.get(network):
                continue
            if one[0] == device and (network.num_addresses > 1 or is_peer) and (scopes is None or one[5] in scopes):
                found.add(network)
        return found

    def on_link(self, device, nets):
        """Main's routes by this NIC without a gateway, inside its subnets or around an address that has none."""
        bare = [ipaddress.ip_address(one[1]) for one in self.usable if one[0] == device and one[2] in (32, 128) and one[3] == one[1]]
        return {one.net for one in self.main_routes
                if one.dev == device and one.kind == "unicast" and not one.via and not one.source and one.net.prefixlen and
                (any(one.net.version == net.version and one.net.subnet_of(net) for net in nets) or
                 any(address in one.net for address in bare))}

    def is_engaged(self, nic, config):
        """By its configuration, or because it shares a subnet with another candidate."""
        if self.links[nic][2] or config.keys.of(nic, "manage", "auto") == "no":
            return False
        return nic in config.managed and nic in self.subnets or \
            any(one.overlaps(two) for other in config.candidates - {nic} for one in self.sharing.get(nic, ())
                for two in self.sharing.get(other, ()) if one.version == two.version)

    def spread(self):
        """Subnets of rails that are up, one is enough, and of no other NIC, without a later rule of others for a part of them, and
        without a gateway or metrics in main's best route through such a rail."""
        best = {}
        for one in self.main_routes:
            best.setdefault((one.dev, one.net), one)
        members = [(device, net) for device in self.spread_over if self.up(device) for net in self.subnets[device]]
        as_main = {way[1] for way in members if way in best and (best[way].via or best[way].carried)}
        up = {net for _, net in members} - as_main
        others = {net for device, nets in self.subnets.items() if device not in self.spread_over for net in nets}
        return {net for net in up - others if not any(net != part and net.version == part.version and part.subnet_of(net)
                                                      for part in self.parts)}

    def in_main(self, address, source=None, oif=None):
        """The length of main's longest prefix for what this source sends, bound to this NIC; -1: none, or one that says to ask
        elsewhere. From other sources, a route by source hides those of its prefix."""
        hidden = {one.net for one in self.main_routes if one.source}
        found = [one for one in self.main_routes if not (oif and one.dev and one.dev != oif) and
                 (source and within(source, [one.source]) >= 0 if one.source else one.net not in hidden)]
        length = within(address, [one.net for one in found])
        kinds = [one.kind for one in found if one.net.prefixlen == length and within(address, [one.net]) >= 0]
        return -1 if kinds[:1] == ["throw"] else length

    def is_enabled(self, device):
        return device in self.links and self.links[device][1] & UP

    def up(self, device):
        flags = self.links[device][1] if device in self.links else 0
        return flags & UP and flags & LOWER_UP


class Config:
    """What the world's configuration says, as far as the promises depend on it."""

    def __init__(self, lines, rdma, nics):
        pairs = settings(lines)
        self.keys = Keys(lines)
        keys = dict(setting.split("=", 1) for _, setting in pairs)
        self.main, self.arp = keys.get("main", "keep"), keys.get("arp", "auto")
        self.candidates = set(rdma)
        self.managed = {nic for nic in nics if self.keys.managed(nic)}
        self.candidates |= self.managed
