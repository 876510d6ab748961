# SPDX-License-Identifier: GPL-2.0-or-later
"""What is promised of a rail's own traffic: where it leaves, what arrives, who answers; and by how many rules."""

import ipaddress

from facts import LAST_PAIR, by, rule, same, within
from gateways import Remote, fits, to_gateway
from hosts import Trouble
from kernel import FRA_TABLE, MAIN, WALL, Question, family_of, number
from others import SETTLED, Others
from questions import destinations, marks
from texts import asked, said, ways_said

ERRORS = ("unreachable", "prohibit", "blackhole")
FIRST_PAIR, FROM = 1925, 1941  # the priorities of a rail's rules: at most eight pairs, the last rule is `from ADDRESS lookup T`
DEFAULTS = 2000  # D = T + this
LEFT_TO_MAIN = "left to main"
MOST_PREFIXES = 4  # of a table, that rules name where somebody else's rules come between ours and main's


class Rails:
    """Of a Judge."""

    def rails(self, facts, family):
        self.engaged(facts, family)
        own = [one for one in facts.rail_of if family_of(one) == family and facts.up(facts.rail_of[one]) and one not in facts.twice
               and not (self.refused and self.needs_a_broadcast(facts, one))]
        questions = [Question(family, to, source, mark=mark) for to in destinations(self.lines, family) for source in own
                     for mark in [0] + marks(self.lines)]
        if not questions:
            return
        twin = self.host.twin
        answers = zip(questions, self.ask(self.host.host, questions), self.ask(twin, questions),
                      self.ask(twin, questions, FIRST_PAIR - 1), self.ask(twin, questions, FROM + 1),
                      self.ask(twin, questions, LAST_PAIR - 1), self.ask(twin, questions, "main"))
        for question, mine, other, early, around, before_last, main in answers:
            early, around, last = (one.table != WALL for one in (early, around, before_last))
            # Who jumps over one of the first walls may still meet the last one, and then the rail's default.
            if (early or around) and not last and mine.table == facts.ours.get(question.source, 0) + DEFAULTS:
                continue
            decided = early and last, around, last
            self.rail(facts, question, mine, other, decided, main)

    def needs_a_broadcast(self, facts, address):
        """The kernel takes no route whose source, and none onlink whose gateway, is a broadcast address of a subnet inside."""
        ways = facts.gateways_of.default(facts.rail_of[address], family_of(address))
        return facts.broadcasts & {address, *(way.via for way in ways if way)}

    def must_be_said(self, question, what):
        """By --check; but no packet of RDMA has a mark."""
        if not question.mark:
            self.wrong_but_said.append(what)

    def rail(self, facts, question, mine, other, decided, main):
        """Where a rail's own address sends."""
        device = facts.rail_of[question.source]
        inside = within(question.to, facts.reached[device])
        remote = Remote(facts, device, question)
        if self.by_a_table_of_two(facts, question, mine):
            # What had no way has lost none; and outside of what a rail reaches, rules of others are right.
            if other.dev and mine.dev not in (other.dev, device) and (inside >= 0 or remote.length >= 0):
                self.must_be_said(question, f"{asked(question)} ({device}): {said(mine)}")
            return
        right, why, key = self.expected(facts, question, device, mine, other, decided, main, remote)
        if not right:
            raise Trouble("b-rail" if key == "rail" else "a-own", f"{asked(question)} ({device})\nwith ib-hook: {said(mine)}\n"
                          f"without: {said(other)}\nmain alone: {said(main)}\nexpected: {why}", key)
        if mine.kind in ERRORS and same(mine, other) and self.is_left_to_others(facts, question):
            return  # who routes the address refuses a part of the subnet
        if inside >= 0 and other.kind not in SETTLED and mine.dev != device and key != LEFT_TO_MAIN and \
                inside >= facts.in_main(question.to, question.source):
            self.must_be_said(question, f"{asked(question)} ({device}): {said(mine)}")
        elif not question.mark and inside < 0 and remote.promised() and other.kind not in SETTLED and mine.dev != device:
            self.remote_taken = True

    def by_a_table_of_two(self, facts, question, mine):
        """Somebody else has routes in a rail's table, or leads to another rail's: both are there to stay, and said."""
        if mine.table not in facts.our_tables:
            return False
        theirs, ours = (within(question.to, one.get(mine.table, ())) for one in (facts.others_prefixes, facts.our_prefixes))
        if theirs >= 0 and theirs >= ours:
            return True
        return mine.table != facts.ours[question.source] and self.rule_to_our_table(facts) and ours > 0

    def expected(self, facts, question, device, mine, other, decided, main, remote):
        """(is it right, what would be, which promise)"""
        early, around, before_last = decided
        inside, length = within(question.to, facts.reached[device]), facts.in_main(question.to, question.source)
        if other.kind in SETTLED:
            return same(mine, other), "as without", "local"
        if early:
            right = same(mine, other)
            if not right and within(question.to, facts.our_prefixes.get(mine.table, ())) > 0 and self.rule_to_our_table(facts):
                right = True  # it leads to a rail's table
                if not by(mine, device) and (inside >= 0 or remote.length >= 0):  # beyond, others' rules are right
                    self.must_be_said(question, f"{asked(question)} ({device}): {said(mine)}")
            return right, "as without: a rule of somebody else answers first", "early"
        if around and same(mine, other):
            return True, "", ""
        if self.too_many_prefixes(facts, device, question.family) and (same(mine, other) or self.rule_to_our_table(facts)):
            self.count("a table has more prefixes than rules name")
            return True, "", LEFT_TO_MAIN
        if inside >= 0 and remote.length <= inside:
            return self.inside_the_subnet(facts, question, device, mine, other, main)
        if remote.may_be():
            return self.by_remote(facts, question, device, mine, other, main, remote)
        if not before_last and not same(other, main) and (facts.last_of_others or any(facts.gateways_of.default(device, question.family))):
            return True, "", ""  # a rule at the priority of the last pair, or after it: who came first has it
        return self.beyond(facts, question, device, mine, other, main, before_last)

    def too_many_prefixes(self, facts, device, family):
        """Of the NIC, while others' rules stand between ours and main's: then T has four of them, the rest is left to main."""
        theirs = [one.priority for one in map(rule, facts.twin.rules) if one.version == family]
        nets = [net for net in facts.subnets[device] if net.version == family]
        return len(nets) > MOST_PREFIXES and (32766 not in theirs or any(FIRST_PAIR <= one < 32766 for one in theirs))

    def by_remote(self, facts, question, device, mine, other, main, remote):
        """remote=: by its gateway, but for what main has more exactly, by whatever NIC."""
        self.count("remote=: asked")
        if remote.in_table >= remote.length and same(mine, other):
            return True, "", ""  # a throw of somebody else in the rail's table
        as_main, own = same(mine, main), remote.goes_by(mine) or to_gateway(mine, device, remote.ways, question.to)
        if as_main and (main.kind in ERRORS or remote.crowded):
            return True, "", ""  # errors are not suppressed
        if remote.promised():
            return own, f"by {device} {ways_said(remote.ways)}: remote=", "remote"
        if own and (remote.in_main <= remote.length or remote.crowded):
            return True, "", ""
        if own and not as_main and self.rule_to_our_table(facts):
            self.remote_taken |= not question.mark and mine.dev != main.dev
            return True, "", ""
        if None in remote.ways and same(mine, other):
            return True, "", ""
        return as_main, f"as main says: it has /{remote.in_main}, remote= /{remote.length}", "remote, more exact"

    def inside_the_subnet(self, facts, question, device, mine, other, main):
        inside, length = within(question.to, facts.reached[device]), facts.in_main(question.to, question.source)
        address = ipaddress.ip_address(question.to)
        ways = [way for net in facts.reached[device] if net.prefixlen == inside and net.version == address.version and address in net
                for way in facts.gateways_of.subnet(device, net)]
        if None in ways and (same(mine, main) or same(mine, other)):
            self.count("main has a rail's subnet by somebody's gateway, and the rail has nothing better")
            return True, "", LEFT_TO_MAIN
        if same(mine, other) and self.is_left_to_others(facts, question):
            return True, "", "rail"
        if length > inside:
            right = same(mine, main)
            if not right and mine.table in facts.our_tables and self.rule_to_our_table(facts):
                self.must_be_said(question, "a rule of somebody else leads to our table")
                right = True
            return right, f"as main says: it has /{length}, the rail /{inside}", "more exact"
        if main.kind in ERRORS and same(mine, main):  # these are not suppressed, and --check says so
            return True, "", "rail"
        return fits(mine, device, ways), f"by {device} {ways_said(ways)}", "rail"

    @staticmethod
    def is_left_to_others(facts, question):
        """A rule of others leads the address to a table of theirs, and no pair of ours does: marked packets, too, are theirs."""
        pairs = [one for one in map(rule, facts.state.our_rules) if one.to and one.table != MAIN and one.source and
                 str(one.source[0]) == question.source]
        return within(question.to, [one.to for one in pairs]) < 0 and \
            any(one.leads(question.source) for one in map(rule, facts.twin.rules) if one.version == question.family)

    def rule_to_our_table(self, facts):
        return any(FRA_TABLE in dict(known) and number(dict(known)[FRA_TABLE]) in facts.our_tables
                   for _, known in facts.state.rules)

    def beyond(self, facts, question, device, mine, other, main, before_last):
        if before_last or not same(other, main):
            return same(mine, other), "as without: a rule of somebody else answers", "others' rules"
        if facts.in_main(question.to, question.source) > 0:
            return same(mine, other), "as main says", "specific"
        ways = facts.gateways_of.default(device, question.family)
        own = fits(mine, device, ways) or to_gateway(mine, device, ways, question.to)
        if facts.last_of_others or self.is_led_out_by_others(facts, question.source):
            return own or same(mine, other), f"as without, or by {device} {ways_said(ways)}", "default"
        error = main.kind in ERRORS and same(mine, main)
        right = own or error or None in ways and same(mine, other)
        return right, f"by {device} {ways_said(ways)}" if any(ways) else "as without: the rail has no default of its own", "own default"

    def is_led_out_by_others(self, facts, address):
        """A source rule of theirs leads it to a table that has a route: a kill switch, or a VPN."""
        return any(one.leads(address) and any(net.version == one.version for net in facts.others_prefixes.get(one.table, ()))
                   for one in map(rule, facts.twin.rules) if one.version == family_of(address))

    def engaged(self, facts, family):
        """A usable address of a NIC that is a rail has its rules, but where others route it: there is none of ours."""
        if self.held or self.refused or self.line.startswith("do hook"):
            return
        others = Others(self.host.twin, facts.twin, family, self.config.keys)
        nics = [nic for nic in self.config.candidates if nic in facts.links and facts.up(nic) and not facts.links[nic][2] and
                self.config.keys.of(nic, "manage", "auto") != "no"]
        of_family = {nic: {net for net in facts.subnets.get(nic, ()) if net.version == family} for nic in nics}
        every = set().union(*of_family.values())
        for device, address, length, *_ in facts.usable:
            if device not in nics or family_of(address) != family or address in facts.twice:
                continue
            own = ipaddress.ip_interface(f"{address}/{length}").network
            by = others.route(device, address, {own} & of_family[device] or of_family[device], every)
            if by is not None:
                self.count(f"an address is routed by others: {by}")
            if not self.strict:
                continue
            if by and address in facts.ours:
                raise Trouble("b-others", f"others route {address} by {device}, and there are rules of ours for it", "both")
            if by is False and address not in facts.ours and device in facts.rails and self.names_a_prefix(facts, device, family):
                raise Trouble("b-rail", f"{device} is a rail, but nothing of ours routes {address}, nor do others", "engaged")

    @staticmethod
    def names_a_prefix(facts, device, family):
        """Its table has one: main does not reach each of its subnets by somebody's gateway alone. A route to an address of this
        host is none."""
        return any(None not in facts.gateways_of.subnet(device, net) for net in facts.reached.get(device, ())
                   if net.version == family and (net.num_addresses > 1 or str(net[0]) not in facts.of_host))

    def arrivals(self, facts, family):
        """What its peers send to a rail's address arrives by it."""
        for address, device in facts.rail_of.items():
            if family_of(address) != family or not facts.up(device) or address in facts.twice | facts.broadcasts:
                continue
            peers = [to for to in destinations(self.lines, family) if within(to, facts.subnets[device]) >= 0
                     and to not in {one[1] for one in facts.addresses}
                     and facts.in_main(to, address) <= within(to, facts.subnets[device])]
            beyond = self.beyond_its_gateway(facts, device, family)
            out = self.ask(self.host.host, [Question(family, peer, address) for peer in peers + beyond])
            peers = [peer for peer, answer in zip(peers, out) if by(answer, device)]  # else it has been judged
            beyond = [peer for peer, answer in zip(beyond, out[-len(beyond):]) if answer.dev == device]
            own = {one[1] for one in facts.addresses if one[0] == device}
            self.packets(facts, address, device, own, peers[:1], beyond[:1])
            peers += beyond
            questions = [Question(family, address, peer, iif=device) for peer in peers]
            for question, answer in zip(questions, self.ask(self.host.host, questions)):
                if answer.kind != "local":
                    raise Trouble("b-arrives", f"{asked(question)}: expected local, got {said(answer)}", "iif")

    def beyond_its_gateway(self, facts, device, family):
        """Hosts in remote= that it has to reach by its gateway."""
        nets = [net for net, ways in facts.gateways_of.remote(device, family) if None not in ways]
        own = {one[1] for one in facts.addresses}
        return [to for to in destinations(self.lines, family) if to not in own and within(to, nets) >= facts.in_main(to) and
                within(to, nets) >= 0 > within(to, facts.subnets[device])]

    def packets(self, facts, address, device, own, peers, beyond):
        if family_of(address) == 6:
            return
        for peer in peers:
            self.packet(address, device, own, peer, peer)
        for peer in beyond:
            ways = set(Remote(facts, device, Question(4, peer, address)).ways)
            if len(ways) == 1:
                self.packet(address, device, own, peer, ways.pop().via or peer)

    def packet(self, address, device, own, peer, neighbour):
        """Whom a packet of this address asks for its neighbour, on which wire; the kernel asks each once."""
        if neighbour not in self.sent and device in self.host.nics:
            self.sent.add(neighbour)
            self.count("packets" if peer == neighbour else "packets to a gateway")
            heard = self.host.asks_for(address, peer, neighbour)
            if not heard or heard[0] != device or heard[1] not in own:  # arp_announce=2 may choose another one
                raise Trouble("b-wire", f"a packet from {address} to {peer}: expected an ARP request for {neighbour} by {device} "
                              f"with its address, got {heard and ' with '.join(heard)}", "arp")

    # ---- what a host with rails has of rules, and who answers for others' addresses ----

    def bounded(self, facts, family):
        """A pair of rules for each address and each prefix of its table, two more with a default. Before those of defaults each
        names its destination, so it meets no packet that is not for there."""
        by_source = {}
        for one in map(rule, facts.state.our_rules):
            if one.version != family:
                continue
            if one.priority < LAST_PAIR and not one.to:
                raise Trouble("h-bounded", f"a rule of ours meets packets for everywhere: {one.priority}: from {one.source} lookup "
                              f"{one.table}", "destination")
            if one.source:
                by_source.setdefault(str(one.source[0]), []).append(one)
        for address, device in facts.rail_of.items():
            if family_of(address) != family or address in facts.twice or self.refused or not facts.up(device):
                continue
            nets = [net for net in facts.our_prefixes.get(facts.ours[address], ()) if net.version == family]
            most = 2 * len(nets) + (2 if any(one.priority == LAST_PAIR + 1 for one in by_source.get(address, ())) else 0)
            if len(by_source.get(address, ())) > most:
                raise Trouble("h-bounded", f"{address}: expected at most {most} rules, got {len(by_source[address])}", "rules")

    def vips(self, facts):
        """An address of lo inside a rail's subnet is answered for, as without ib-hook; but not if it is also the address of a
        rail that is down, through which its rules lead the replies."""
        for vip in facts.vips:
            if vip in facts.rail_of and not facts.up(facts.rail_of[vip]):
                continue
            nics = [nic for nic in self.host.nics if nic in facts.links and facts.up(nic) and within(vip, facts.subnets.get(nic, ())) >= 0]
            if not set(nics) & facts.devices:
                continue
            # Of main's multipath route, the kernel may choose a NIC of another wire, on which nobody asked.
            spread = [one.net for one in facts.main_routes if facts.gateways_of.has_several(one)]
            peers = [to for to in destinations(self.lines, 4) if within(to, facts.subnets[nics[0]]) >= 0 and
                     to not in facts.of_host | facts.broadcasts and within(to, spread) < 0]
            answers = self.ask(self.host.twin, [Question(4, to, vip) for to in peers])
            asker = next((to for to, answer in zip(peers, answers) if any(by(answer, nic) for nic in nics)), None)
            if asker and self.host.who_answers("t", nics, vip, asker):
                self.count("an address of lo is asked for")
                if not self.host.who_answers("h", nics, vip, asker):
                    raise Trouble("h-vip", f"{asker} asks for {vip} of lo: nobody answers, without ib-hook somebody does", "vip")
