# SPDX-License-Identifier: GPL-2.0-or-later
"""Is an address routed by others? The kernel is asked in the twin, which has nothing of ib-hook's, once for each piece of the
subnet: each prefix of a rule or route begins one."""

import ipaddress

from kernel import (FRA_DST, FRA_PRIORITY, FRA_SRC, FRA_TABLE, MAIN, RTA_MULTIPATH, RTA_TABLE, WALL, Question, number, prefix,
                    unpack, walled)

FRA_IIFNAME, FRA_GOTO, FRA_FWMARK, FRA_FWMASK, FRA_OIFNAME, FRA_UID_RANGE, FRA_IP_PROTO, FRA_SPORT, FRA_DPORT = 3, 4, 10, 16, 17, 20, 22, 23, 24
OTHER_SELECTORS = {FRA_IIFNAME, FRA_FWMARK, FRA_FWMASK, FRA_OIFNAME, FRA_UID_RANGE, FRA_IP_PROTO, FRA_SPORT, FRA_DPORT}
FIB_RULE_INVERT, TO_TABLE, GOTO = 2, 1, 2
NEVER = (0, 253, 254, 255)
SETTLED = ("local", "broadcast", "multicast", "anycast")
ERRORS = ("unreachable", "prohibit", "blackhole", "no route")


class Rule:
    def __init__(self, raw, known):
        known = dict(known)
        self.version = 4 if raw[0] == 2 else 6
        self.action, inverted = raw[7], raw[8] & FIB_RULE_INVERT
        self.priority = number(known.get(FRA_PRIORITY, bytes(4)))
        self.table = number(known[FRA_TABLE]) if FRA_TABLE in known else raw[4]
        self.source = ipaddress.ip_network(f"{unpack(known[FRA_SRC])}/{raw[2]}") if FRA_SRC in known else None
        self.to = ipaddress.ip_network(f"{unpack(known[FRA_DST])}/{raw[1]}") if FRA_DST in known else None
        self.by_source = bool(raw[2]) and not inverted and not raw[3] and not OTHER_SELECTORS & set(known) and \
            self.action == TO_TABLE and self.table not in NEVER

        # matches packets of this host that have no source yet; the kernel lets these come in through lo
        self.takes_unbound = not inverted and known.get(FRA_IIFNAME, b"lo\0") == b"lo\0" and \
            (not self.source or ipaddress.ip_address("0.0.0.0") in self.source)

    def leads(self, address):
        return self.by_source and ipaddress.ip_address(address) in self.source


class Others:
    """What others' rules make of one family's addresses. Made anew for each look."""

    def __init__(self, twin, state, family, keys):
        self.twin, self.family, self.keys = twin, family, keys
        self.rules = [one for one in (Rule(*rule) for rule in state.rules) if one.version == family]
        self.routes = [(prefix(raw, dict(known)), dict(known)) for raw, _, known in state.routes if (4 if raw[0] == 2 else 6) == family]
        self.edges = sorted({edge for net in [net for net, _ in self.routes] + [one.to for one in self.rules if one.to]
                             for edge in (int(net[0]), int(net[-1]) + 1)})
        tables = {one.table for one in self.rules if one.by_source}
        # A wall does not stop a goto, and of several hops the kernel names one.
        self.clear = not any(one.action == GOTO for one in self.rules) and \
            not any(RTA_MULTIPATH in known and number(known[RTA_TABLE]) in tables for _, known in self.routes)

    def pieces(self, net):
        """An address of each."""
        low, high = int(net[0]), int(net[-1]) + 1
        return [str(ipaddress.ip_address(net[0].__class__(edge))) for edge in [low] + [one for one in self.edges if low < one < high]]

    def route(self, device, address, subnets, siblings):
        """Whether they do: True, False, or None where the contract leaves it open."""
        if not any(one.leads(address) for one in self.rules):
            return False
        if not self.clear:
            return None
        found = [self.piece(device, address, net, *one) for net in subnets for one in self.answers(address, self.pieces(net))]
        if False in found or not found:
            return False
        more = self.keys.remote(device, self.family) or self.keys.of(device, "gateway", "auto") not in ("auto", "none") or siblings - subnets
        return None if None in found or more else True

    def answers(self, address, pieces):
        """(answer, the rules of the priority that decides) of each"""
        questions = [Question(self.family, one, address) for one in pieces]
        last = [None] * len(questions)
        for priority in sorted({one.priority for one in self.rules}):
            with walled(self.twin, (priority, WALL)):
                found = self.twin.ask(questions)
            last = [priority if deciding is None and answer.table != WALL else deciding for deciding, answer in zip(last, found)]
        return [(answer, [one for one in self.rules if one.priority == deciding])
                for answer, deciding in zip(self.twin.ask(questions, match=True), last)]

    def piece(self, device, address, net, answer, deciding):
        if answer.kind in SETTLED:
            return True  # its own address, or another of the host's
        if answer.kind == "unicast" and answer.table == MAIN:
            return answer.length > net.prefixlen
        if answer.kind != "unicast" and (answer.kind not in ERRORS or any(one.action != TO_TABLE for one in deciding)):
            return False
        tables = {one.table for one in deciding if answer.kind != "unicast" or one.table == answer.table}
        if tables <= set(NEVER):
            return None if MAIN in tables and answer.kind != "no route" else False
        if answer.kind == "unicast" and (answer.dev != device or answer.via and answer.length < net.prefixlen):
            return False
        if answer.kind == "no route":  # nothing decides
            return False
        exact = len(deciding) == 1 and deciding[0].leads(address)
        return True if exact else None
