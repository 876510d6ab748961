# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether traffic is right: the kernel's look-ups and packets to peers and from them. Nothing here asks ib-hook."""

import ipaddress
from collections import namedtuple

from kernel import KINDS, MAIN, RTA_OIF, RTA_TABLE, RTAX_MTU, Question, State, carried, family_of, gateway, number, prefix
from packets import Echo, Wire
from right import BEYOND, REMOTE

LIMITS = (0.15, 0.5)  # seconds for replies: what is wrong is looked at once more
SMALL, WHOLE = 64, 1500  # bytes; what peers' NICs let through
FAILED = 0x48  # IFA_F_TENTATIVE, IFA_F_DADFAILED
TABLES = 940  # those of rails have larger numbers, those of others smaller ones

Wrong = namedtuple("Wrong", "nic what")


class Truth:
    def __init__(self, scene, right):
        self.scene, self.right = scene, right
        self.wire = Wire(scene, right.ports)

    def close(self):
        self.wire.close()

    def judge(self, pieces=(), limits=LIMITS, virtual=()):
        """(what is wrong, what nobody can say)"""
        # Who writes arp=strict wants no answers for virtual addresses.
        self.virtual = [] if "strict" in self.right.extras else [*self.right.virtual, *virtual]
        for limit in limits:
            wrong, unclear = self.once(pieces, limit)
            if not wrong:
                break
        return wrong, unclear

    def once(self, pieces, limit):
        self.wrong, self.unclear = [], []
        host = self.scene["host"]
        self.state, self.links = State(host), self.scene.facts()
        self.names = {link.index: name for name, link in self.links.items()}
        self.present = {}  # address → NICs
        for nic, address, length, _, flags, scope in host.addresses():
            if scope == 0:
                self.present.setdefault(address, []).append((nic, length, flags))
        self.main = self.routes_of(MAIN)
        self.packets(limit)
        self.lookups(pieces)
        return sorted(set(self.wrong), key=repr), sorted(set(self.unclear))

    # ---- what main has more exactly than the rail's subnet stays so: that is promised ----

    def routes_of(self, table, throws=False):
        found = []
        for raw, _, known in self.state.routes:
            known = dict(known)
            if number(known[RTA_TABLE]) == table and (throws or KINDS.get(raw[7]) != "throw"):
                found.append((prefix(raw, known), KINDS.get(raw[7]), known.get(RTA_OIF), number(known.get(6, bytes(4))),
                              gateway(known), dict(carried(known)).get(RTAX_MTU)))
        return found

    def longest(self, rail, to):
        """Main's route to it, with a longer prefix than any subnet or remote= of the rail; None: it has none."""
        to = ipaddress.ip_address(to)
        own = max((net.prefixlen for net in rail.subnets() if net.version == to.version and to in net), default=-1)
        if own < 0:
            own = max((net.prefixlen for net in REMOTE * self.right.routed if net.version == to.version and to in net), default=0)
        return max((one for one in self.main if one[0].version == to.version and to in one[0] and one[0].prefixlen > own),
                   key=lambda one: (one[0].prefixlen, -one[3]), default=None)

    def by_another(self, rail, to):
        """Main has it more exactly by a NIC that is not a rail, or by a gateway: whoever did that wanted it. So did who has the very
        subnet by another one's gateway, and not by the rail. Through another rail the gateway is not one of those that it leads to."""
        best = self.longest(rail, to)
        if best is None and not self.own_route(rail, to):
            best = min(self.subnet_in_main(rail, to), key=lambda one: one[3], default=None)
            return best is not None and best[4] is not None
        return best is not None and ((best[2] or best[1]) not in self.right_nics() or
                                     best[4] and (best[2] == rail.nic or ipaddress.ip_address(best[4]) not in best[0]))

    def subnet_in_main(self, rail, to):
        """Main's routes of exactly the rail's subnet."""
        to = ipaddress.ip_address(to)
        own = max((net for net in rail.subnets() if net.version == to.version and to in net), key=lambda net: net.prefixlen, default=None)
        return [one for one in self.main if one[0] == own]

    def own_route(self, rail, to):
        """The best of them by the rail's own NIC: it says by which gateway, and with which metrics."""
        own = [one for one in self.subnet_in_main(rail, to) if one[1:3] == ("unicast", rail.nic)]
        return min(own, key=lambda one: one[3], default=None)

    @staticmethod
    def is_inside(rail, to):
        return any(ipaddress.ip_address(to) in net for net in rail.subnets())

    def refused(self, rail, to):
        """… or as an error, which may be wanted, too: --check says so."""
        best = self.longest(rail, to)
        return best is not None and best[1] in ("unreachable", "blackhole", "prohibit")

    def on_its_wire(self, rail, to):
        """Main says that a host of remote= is on the rail's own wire, without a gateway. Only that wire knows whether it is."""
        return self.is_on_a_wire(rail, to, {rail.nic})

    def is_beside(self, rail, to):
        """The NIC has an address in the host's subnet by now, which may be a sibling's: a fault gave it."""
        return any(nic == rail.nic and ipaddress.ip_address(to) in ipaddress.ip_network(f"{address}/{length}", strict=False)
                   for address, all_of_it in self.present.items() for nic, length, _ in all_of_it)

    def is_on_a_wire(self, rail, to, nics):
        """The same of these NICs' wires. Subnets of siblings are none of them: these are reached by the rail's own gateway."""
        best = self.longest(rail, to)  # of several equal ones the rail has its own
        siblings = {net for one in self.right.rails if one is not rail for net in one.subnets()}
        return best is not None and best[0] not in siblings and not self.is_inside(rail, to) and any(
            net == best[0] and kind == "unicast" and dev in nics and not by_gateway for net, kind, dev, _, by_gateway, _ in self.main)

    # ---- packets ----

    def packets(self, limit):
        inward, outward = [], []
        for rail in self.right.rails:
            if rail.nic not in self.links:
                if self.right.by_name:  # no hardware that could be missed
                    self.unclear.append(f"{rail.nic} is gone")
                else:
                    self.wrong.append(Wrong(rail.nic, "is gone"))
                continue
            for address, _ in rail.addresses:
                if rail.nic not in {one[0] for one in self.present.get(address, ())}:
                    self.unclear.append(f"{address} is not on {rail.nic} any more")
                    continue
                for space, peer in rail.peers:
                    if family_of(peer) == family_of(address):
                        inward.append(Echo(space, peer, address, SMALL, rail))
                        outward.append(Echo("host", address, peer, SMALL, rail))
        free = [Echo("host", None, peer) for peer in self.right.unbound]
        other = [Echo("host", None, peer) for peer in self.right.others]
        among = [Echo(space, peer, to) for space, peer in self.right.among for other, to in self.right.among
                 if space != other and family_of(peer) == family_of(to)]
        virtual = [Echo(space, peer, to) for to in self.virtual for space, peer in self.right.among
                   if family_of(peer) == family_of(to)]
        self.forget()
        answers = self.wire.exchange(inward + among + virtual, limit)
        for to in {echo.to for echo in virtual} - answers.keys():
            self.wrong.append(Wrong(None, f"nobody answers ARP for {to}"))
        for echo in among:
            for nic in sorted({one[0] for one in answers.get(echo.to, ()) if one[0] in self.links}):
                self.wrong.append(Wrong(nic, f"answers for {echo.to}, which is a peer's"))
        inward += self.large(inward, limit)
        for echo in inward:
            self.judge_inward(echo, answers)
        self.forget()
        bound = [Echo("host", one.source, one.to, SMALL, one.about, one.about.nic) for one in outward]  # as sockets of RDMA are
        self.wire.exchange(outward + bound + free + other, limit)
        outward += bound + self.large(outward, limit)
        for echo in outward:
            self.judge_outward(echo)
        for echo in free:
            if not echo.answered and not self.explained(echo.to):
                self.wrong.append(Wrong(None, f"unbound to {echo.to}: {echo.error or 'not answered'}"))
        for echo in other:
            if not echo.answered:
                self.unclear.append(f"{echo}: {echo.error or 'not answered'}")

    def large(self, echoes, limit):
        """The same once more, as long as the sender's NIC lets them be: everybody knows where everybody is by now."""
        found = [Echo(one.space, one.source, one.to, self.links[one.about.nic].mtu if one.space == "host" else WHOLE, one.about)
                 for one in echoes if one.answered]
        self.wire.exchange(found, limit)
        return found

    def explained(self, to):
        """Main leads elsewhere or to a gateway by a rail, or has nothing there: whoever did that wanted it."""
        best = max((one for one in self.routes_of(MAIN, True) if one[0].prefixlen and ipaddress.ip_address(to) in one[0]),
                   key=lambda one: (one[0].prefixlen, -one[3]), default=None)
        ours = [self.by_another(rail, to) for rail in self.right.rails if any(net.version == family_of(to) for net in rail.subnets())]
        return best is None or best[4] and best[2] in self.right_nics() or all(ours)

    def forget(self):
        for space in {one[0] for one in self.right.ports.values()}:
            self.scene.forget(space)

    def judge_inward(self, echo, answers):
        rail = echo.about
        who = answers.get(echo.to, set()) if echo.source != "10.9.0.1" else set()
        exact = {(rail.nic, self.links[rail.nic].mac.hex(":"))}
        if who and who != exact and {nic for nic, _ in who} <= self.right_nics() and self.macs_of_rails() >= {mac for _, mac in who}:
            self.wrong.append(Wrong(rail.nic, f"{echo.to} is answered for by {', '.join(sorted(f'{n} {m}' for n, m in who))}"))
        if self.by_another(rail, echo.source) or self.is_on_a_wire(rail, echo.source, self.right_nics()):
            self.unclear.append(f"main has {echo.source} more exactly")
        elif echo.error:
            self.unclear.append(f"{echo}: {echo.error}")
        elif not echo.arrived:
            self.wrong.append(Wrong(rail.nic, f"{echo} does not arrive" + ("" if who else "; nobody answers for the address")))
        elif echo.arrived != {rail.nic}:
            self.wrong.append(Wrong(rail.nic, f"{echo} arrives by {' '.join(sorted(echo.arrived))}"))
        elif not echo.back_left:
            self.wrong.append(Wrong(rail.nic, f"{echo} is not answered"))
        elif family_of(echo.to) == 4 and echo.back_left != {rail.nic}:
            self.wrong.append(Wrong(rail.nic, f"the answer to {echo} leaves through {' '.join(sorted(echo.back_left))}"))
        elif not echo.answered:
            self.wrong.append(Wrong(rail.nic, f"the answer to {echo} does not arrive"))

    def judge_outward(self, echo):
        rail = echo.about
        if self.by_another(rail, echo.to) or self.is_on_a_wire(rail, echo.to, self.right_nics()):
            self.unclear.append(f"main has {echo.to} more exactly")
        elif echo.error == "EMSGSIZE":
            pass
        elif not echo.left:
            self.wrong.append(Wrong(rail.nic, f"{echo} does not leave {echo.error}".strip()))
        elif echo.left != {rail.nic}:
            self.wrong.append(Wrong(rail.nic, f"{echo} leaves through {' '.join(sorted(echo.left))}"))
        elif not echo.answered:
            self.wrong.append(Wrong(rail.nic, f"{echo} is not answered"))

    # ---- look-ups ----

    def lookups(self, pieces):
        """From each address of a rail: to hosts of its subnets that nobody has, to others of the host, to what is beyond."""
        asked = []
        self.elsewhere = self.networks_of_others()
        others = self.right.others + self.elsewhere
        shared = {net for rail in self.right.rails for net in rail.subnets()}
        owners = {(owner[0], one) for one, found in self.present.items() for owner in found}
        for rail in self.right.rails + self.right.spare:
            if rail.nic not in self.links:
                continue
            kept = [net for net in rail.subnets() if any(nic == rail.nic and ipaddress.ip_address(one) in net for nic, one in owners)]
            for address, length in [(one, owner[1]) for one, owners in self.present.items() for owner in owners
                                    if owner[0] == rail.nic and not owner[2] & FAILED]:
                family, own = family_of(address), ipaddress.ip_network(f"{address}/{length}", strict=False)
                if own.num_addresses > 4 and (own in rail.subnets() or own in shared):
                    asked += [(rail, "own", Question(family, str(to), address, oif=oif)) for net in {own: 0, **dict.fromkeys(kept)}
                              if net.version == own.version for to in self.destinations(net, [*pieces, *(one[0] for one in self.main)])
                              if str(to) not in self.present for oif in (None, rail.nic)]
                for to in others if family == 4 else ():
                    asked.append((rail, "beyond", Question(family, to, address)))
                for to in self.right.remote(rail) + self.pieces_beyond(rail, pieces) if address in dict(rail.addresses) else ():
                    asked += [(rail, "own", Question(family, to, address, oif=oif)) for oif in (None, rail.nic)]
                for to in (one for one in self.present if family_of(one) == family and (
                        self.of_a_rail(one) or any(ipaddress.ip_address(one) in net for net in rail.subnets()))):
                    asked.append((rail, "local", Question(family, to, address)))
        asked += self.unbound(pieces)
        beyond = {to: answer for to, answer in zip(others, self.scene["host"].ask([Question(4, to) for to in others]))}
        for (rail, what, question), answer in zip(asked, self.scene["host"].ask([one[2] for one in asked])):
            getattr(self, f"judge_{what}")(rail, question, answer, beyond)

    # ---- what a fix may not change ----

    def ways_of_others(self):
        """(source, destination) → where it goes, for every address of this host and none, but for what rails and unbound
        traffic send to the rails' subnets, which a fix may cure."""
        state = State(self.scene["host"])
        nets = {prefix(raw, dict(known)) for raw, _, known in state.routes} - {None}
        inside = [net for rail in self.right.rails + self.right.spare for net in rail.subnets()] + REMOTE * self.right.routed
        nics = {rail.nic for rail in self.right.rails + self.right.spare}
        rails = {one[1] for one in self.scene["host"].addresses() if one[0] in nics}
        own = {one[1] for one in self.scene["host"].addresses() if one[5] == 0}
        targets = {str(net[min(5, net.num_addresses - 1)]) for net in nets if not net.is_multicast and not net.is_link_local}
        asked = [Question(family_of(to), to, source) for to in sorted(targets - own) for source in [None, *sorted(own)]
                 if source is None or family_of(source) == family_of(to)]
        found = {(one.source, one.to): (answer.kind, answer.dev, answer.via, answer.mtu)
                 for one, answer in zip(asked, self.scene["host"].ask(asked))}
        return {pair: (way, found[None, pair[1]]) for pair, way in found.items()
                if not (pair[0] in rails | {None} and any(ipaddress.ip_address(pair[1]) in net for net in inside))}

    @staticmethod
    def harmed(before, after):
        """What goes as unbound traffic goes, before and after, is cured with it."""
        return [f"{source or 'unbound'} to {to}: {before[source, to][0]}, then {after[source, to][0]}"
                for source, to in sorted(before.keys() & after.keys(), key=repr)
                if before[source, to][0] != after[source, to][0] and not (
                    source and before[source, to][0] == before[source, to][1] and after[source, to][0] == after[source, to][1])]

    def networks_of_others(self):
        """A host in each network of a NIC that is not a rail, and where no rail has one."""
        rails = [net for rail in self.right.rails for net in rail.subnets()] + (REMOTE if self.right.routed else [])
        nets = [net for net, kind, device, *_ in self.main if kind == "unicast" and net.version == 4 and 8 <= net.prefixlen <= 30
                and device and device not in self.right_nics() and not any(net.overlaps(one) for one in rails)]
        return sorted({str(net[net.num_addresses // 2 + 1]) for net in nets} - set(self.right.others) - set(self.present))

    def macs_of_rails(self):
        """That another NIC answers, too, only the wire knows: it is --probe's to find."""
        return {self.links[nic].mac.hex(":") for nic in self.right_nics() if nic in self.links}

    def right_nics(self):
        return {one.nic for one in self.right.rails}

    def pieces_beyond(self, rail, pieces):
        """Of what the rail's gateway reaches."""
        if not self.right.routed:
            return []
        found = [str(to) for piece in pieces if any(piece.version == net.version and piece.subnet_of(net) for net in REMOTE)
                 for to in (piece if piece.num_addresses <= 2 else {piece[1], piece[min(5, piece.num_addresses - 2)]})]
        return [to for to in found if to not in self.present and not any(ipaddress.ip_address(to) in net for net in rail.subnets())]

    def unbound(self, pieces):
        """What has no source yet has a way to every host of the rails' subnets."""
        nets = {net for rail in self.right.rails if rail.nic in self.links for net in rail.subnets()}
        return [(self.right.rails[0], "unbound", Question(net.version, str(to))) for net in sorted(nets, key=str)
                for to in self.destinations(net, [*pieces, *(one[0] for one in self.main)]) if str(to) not in self.present]

    def judge_unbound(self, _, question, answer, __):
        if "unicast" not in answer.kind or "multipath" not in answer.kind and answer.dev not in self.right_nics():
            lost = answer.kind == "no route" and any(  # main would lead there, and is not asked
                kind == "unicast" and net.prefixlen and ipaddress.ip_address(question.to) in net for net, kind, *_ in self.main)
            if lost or not self.explained(question.to):
                self.wrong.append(Wrong(None, f"ip route get {question.to}: {answer.kind} {answer.dev or ''}".strip()))

    def destinations(self, own, pieces):
        found = [own[own.num_addresses // 3 + 7], own[own.num_addresses * 3 // 4 + 5]] if own.num_addresses > 64 else []
        for piece in pieces:
            if piece.version == own.version and piece.overlaps(own) and piece.prefixlen >= own.prefixlen:
                found += {host for host in (piece[min(5, piece.num_addresses - 1)], piece[-min(6, piece.num_addresses)])
                          if host not in (own[0], own[-1])}
        return found

    def judge_own(self, rail, question, answer, _):
        if self.by_another(rail, question.to):
            dev = self.longest(rail, question.to)[2]
            if self.refused(rail, question.to):
                self.unclear.append(f"main refuses {question.to}")
            elif not question.oif and dev and dev not in self.right_nics() and answer.dev != dev:
                self.wrong.append(Wrong(rail.nic, f"{said(question)}: {answer.dev}, main has it by {dev}"))
        elif not question.oif and self.is_on_a_wire(rail, question.to, self.right_nics() - {rail.nic}):
            self.unclear.append(f"main has {question.to} more exactly")
        elif answer.kind != "unicast" or answer.dev != rail.nic:
            self.wrong.append(Wrong(rail.nic, f"{said(question)}: {answer.kind} {answer.dev or ''}".strip()))
        elif self.is_cut(rail, answer) and not self.is_wanted(rail, question.to, 5):
            self.wrong.append(Wrong(rail.nic, f"{said(question)}: mtu {answer.mtu}"))
        elif question.oif and not answer.via and not self.on_its_wire(rail, question.to) and not self.is_beside(rail, question.to):
            self.wrong.append(Wrong(rail.nic, f"{said(question)}: without its gateway"))
        elif answer.via and answer.via != question.to and self.is_inside(rail, question.to) and not self.is_wanted(rail, question.to, 4):
            self.wrong.append(Wrong(rail.nic, f"{said(question)}: by the gateway {answer.via}"))

    def is_cut(self, rail, answer):
        """In a rail's own table; a small MTU in others' tables is their word about the wire."""
        return answer.mtu and answer.mtu < self.links[rail.nic].mtu and answer.table > TABLES

    def is_wanted(self, rail, to, what):
        """Main's own route has it: a gateway, an mtu."""
        own = self.own_route(rail, to)
        return bool(own and own[what])

    def judge_local(self, rail, question, answer, _):
        if answer.kind != "local":
            nic = rail.nic if self.of_a_rail(question.to) else self.present[question.to][0][0]
            self.wrong.append(Wrong(nic, f"{said(question)}: not local, {answer.kind} {answer.dev or ''}".strip()))

    def of_a_rail(self, address):
        rails = {rail.nic for rail in self.right.rails}
        return any(nic in rails and self.links[nic].flags & 1 and not flags & FAILED for nic, _, flags in self.present[address])

    def by_default(self, to):
        """Main reaches it by its default route at best, and routed rails have their own."""
        return not any(net.prefixlen and ipaddress.ip_address(to) in net for net, *_ in self.main)

    def judge_beyond(self, rail, question, answer, beyond):
        """A rule of somebody's may refuse what leaves the subnet: a kill switch is no fault."""
        rails = {one.nic for one in self.right.rails}
        led = any(not net.prefixlen and dev == rail.nic for net, _, dev, *_ in self.main if net.version == 4)
        if (self.right.routed or led) and self.by_default(question.to):  # each rail has it by the gateway of its own subnet
            return
        as_main = beyond[question.to].dev
        if as_main and answer.dev and answer.dev != as_main and (answer.dev in rails and as_main not in rails or question.to in self.elsewhere):
            self.wrong.append(Wrong(rail.nic, f"{said(question)}: {answer.dev}"))


def said(question):
    return f"ip route get {question.to} from {question.source}" + (f" oif {question.oif}" if question.oif else "")


