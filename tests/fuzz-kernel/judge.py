# SPDX-License-Identifier: GPL-2.0-or-later
"""What is promised, asked of the kernel: the host under test against its twin."""

import ipaddress
import os
import re
import signal
import time

from gateways import MOST_LENGTHS, Gateways, Keys, Remote, fits, to_gateway
from hosts import GONE, Trouble, run, settings
from kernel import FRA_PRIORITY, FRA_TABLE, MAIN, RTA_TABLE, WALL, Question, State, family_of, number, unpack, walled
from others import Others, Rule

UP, LOWER_UP = 1, 0x10000
BEYOND = {4: "203.0.113.9", 6: "2001:db8:ffff::9"}
SETTLED = ("local", "broadcast", "multicast", "anycast")
SPREAD = 940
ERRORS = ("unreachable", "prohibit", "blackhole")
FIRST_PAIR, FROM = 1925, 1941  # the priorities of a rail's rules: at most eight pairs, the last rule is `from ADDRESS lookup T`
LAST_PAIR = 32764  # the priority of the rules that lead to a rail's default
MOST = 28  # destinations
METRICS = {1: "lock", 2: "mtu", 8: "advmss", 10: "hoplimit", 11: "initcwnd", 12: "features", 13: "rto_min", 14: "initrwnd", 15: "quickack"}
LEFT_TO_MAIN = "left to main"
MOST_PREFIXES = 4  # of a table, that rules name where somebody else's rules come between ours and main's
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


def said(answer):
    if not answer.dev:
        return answer.kind
    return " ".join(str(one) for one in (answer.kind if answer.kind != "unicast" else "", "via" if answer.via else "",
                    answer.via or "", "dev", answer.dev, "src" if answer.src else "", answer.src or "",
                    *carried_said(answer.carried),
                    f"table {answer.table}" if answer.table != MAIN else "") if one)


def carried_said(some):
    return [f"{METRICS.get(kind, kind)}={number(value) if len(value) == 4 else value.hex()}" for kind, value in some]


def asked(question):
    words = ["ip", "route", "get", question.to]
    for word, value in (("from", question.source), ("iif", question.iif), ("oif", question.oif)):
        if value:
            words += [word, value]
    if question.mark:
        words += ["mark", hex(question.mark)]
    return " ".join(words)


# ---- questions -------------------------------------------------------------------------------------------------------

def prefixes(lines):
    """Every address and prefix that the world mentions."""
    found = []
    for line in lines:
        for word in re.split(r"[\s,=]", line) if not line.startswith(("nic", "do", "sysctl")) else []:
            try:
                one = ipaddress.ip_interface(word)
            except ValueError:
                continue
            if "." in word or ":" in word:
                found.append(one)
    return found


def destinations(lines, family):
    found = {}
    for one in prefixes(lines):
        if one.version != family or one.network.prefixlen == 0:
            continue
        network = one.network
        if network.num_addresses == 1:
            found[str(one.ip)] = 1
        elif network.num_addresses == 2:
            found.update((str(host), 1) for host in network)
        else:
            found[str(network[min(7, network.num_addresses - 2)])] = 1
            found[str(network[network.num_addresses * 3 // 4])] = 1
            if one.ip != network.network_address:
                found[str(one.ip)] = 1
    return [BEYOND[family]] + list(found)[:MOST]


def marks(lines):
    return sorted({int(one, 0) for line in lines for one in re.findall(r"fwmark (0x[0-9a-f]+|\d+)", line)})


def foreign_sources(lines, family, device):
    """What comes in by a NIC from beyond: hosts of its subnets, and sources that rules name."""
    found = {}
    for line in lines:
        if f"dev {device}" in line and "address add" in line or "rule add" in line and " from " in line:
            for one in prefixes([line.split(" to ")[0]]):
                if one.version == family and one.network.prefixlen > 0:
                    found[str(one.network[min(5, one.network.num_addresses - 1)])] = 1
    return list(found)


def at_rest(judgement):
    """What is wrong is looked at once more: the kernel does some things a moment later (IPv6 addresses, links)."""
    try:
        return judgement()
    except Trouble:
        time.sleep(0.1)
        return judgement()


# ---- one judgement ---------------------------------------------------------------------------------------------------

class Facts:
    """What stands in the host now."""

    def __init__(self, host, config):
        self.state, self.twin = State(host.host), State(host.twin)
        self.links = host.host.links()
        everywhere = host.host.addresses()
        self.of_host = {one[1] for one in everywhere}  # of lo, too
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
        # Rails whose addresses rules of others route have none of ours, and unbound traffic is spread over them, too.
        theirs = [Rule(*one) for one in self.twin.rules]
        self.spread_over = self.devices | {one[0] for one in self.usable if one[0] in config.candidates and
                                           any(rule.leads(one[1]) for rule in theirs)}
        self.sure = {device for address, device in self.rail_of.items() if address not in self.twice}
        self.subnets = {device: self.subnets_of(device) for device in {one[0] for one in self.addresses}}
        self.sharing = {device: self.subnets_of(device, SCOPES) for device in self.subnets}  # by these a NIC becomes a rail
        # Also those whose addresses others route, or another NIC has, too.
        self.rails = self.sure | {nic for nic in config.candidates & set(self.links) if self.is_engaged(nic, config)}
        # No source of anybody. The kernel drops these as soon as any rule has ever been added, and accepts them before.
        self.broadcasts = {str(net[end]) for nets in self.subnets.values() for net in nets if net.version == 4 for end in (0, -1)}
        self.our_tables = self.state.our_tables() | set(self.ours.values())
        self.others_prefixes = State.prefixes(self.twin.routes)
        self.our_prefixes = State.prefixes(self.state.our_routes)
        self.main = self.others_prefixes.get(MAIN, {})
        self.main_routes = self.twin.main_routes()
        self.table_of = {device: self.ours[address] for address, device in self.rail_of.items()}
        self.gateways_of = Gateways(self, config.keys)
        self.last_of_others = any(number(dict(known).get(FRA_PRIORITY, bytes(4))) in (LAST_PAIR, LAST_PAIR + 1)
                                  for _, known in self.state.rules)

    def subnets_of(self, device, scopes=None):
        found = set()
        for one in self.usable:
            network = ipaddress.ip_network(f"{one[3]}/{one[2]}", strict=False)
            if one[0] == device and network.num_addresses > 1 and (scopes is None or one[5] in scopes):
                found.add(network)
        return found

    def is_engaged(self, nic, config):
        """By its configuration, or because it shares a subnet with another candidate."""
        if self.links[nic][2] or config.keys.of(nic, "manage", "auto") == "no":
            return False
        return nic in config.managed and nic in self.subnets or \
            any(one.overlaps(two) for other in config.candidates - {nic} for one in self.sharing.get(nic, ())
                for two in self.sharing.get(other, ()) if one.version == two.version)

    def spread(self):
        """Subnets of several rails that are up, and of no other NIC."""
        up = [net for device in self.spread_over if self.up(device) for net in self.subnets[device]]
        others = {net for device, nets in self.subnets.items() if device not in self.spread_over for net in nets}
        return {net for net in up if up.count(net) > 1} - others

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


class Judge:
    def __init__(self, host, lines, tally=None):
        self.host, self.lines = host, lines
        self.tally = tally if tally is not None else {}
        nics = [line.split()[1:] for line in lines if line.startswith("nic ")]
        self.config = Config(lines, [words[0] for words in nics if "rdma" in words], [words[0] for words in nics])
        # Where others have rules, who leaves an address to them is counted only, but with this in the environment.
        self.strict = "ROUTED_BY_OTHERS" in os.environ or not any(re.match(r"ip (-6 )?rule add", line) for line in lines)
        self.wrong_but_said = []  # answers that only --check's complaint makes right
        self.remote_taken = False  # likewise, of remote=
        self.held = self.kept = self.refused = False  # kept: as it was before an --apply that nobody confirmed
        self.sent = set()
        self.hooked = set()  # NICs whose managers have called

    def renamed(self, nic, name):
        self.hooked.discard(nic)
        self.know([name if one == nic else one for one in self.host.rdma], self.host.nics)

    def reborn(self, *_):
        """The new one is no RDMA NIC."""
        self.know(self.host.rdma, self.host.nics)

    def know(self, rdma, nics):
        self.config = Config(self.lines, [one for one in rdma if one != GONE], nics)

    def count(self, what):
        self.tally[what] = self.tally.get(what, 0) + 1

    # ---- what a world can do ----

    def do(self, words, line):
        self.line = line
        try:
            getattr(self, f"do_{words[0]}")(*words[1:])
        except Trouble as trouble:
            trouble.text = f"at: {line}\n{trouble.text}"
            raise

    def do_apply(self):
        status = self.apply()
        self.look()
        self.second(status)
        self.check(status)

    def apply(self):
        before = self.taken(State(self.host.host))
        status, _ = self.host.json((0, 3), "--apply")
        self.held, self.kept, self.refused = False, False, status != 0
        self.were_free(before)
        if status:
            self.count("apply: refused by the kernel")
        return status

    def do_hook(self, *words):
        self.hooked.add(words[1])
        before = self.taken(State(self.host.host))
        self.host.manager_calls(words)
        self.were_free(before)
        at_rest(lambda: self.others_are_whole(Facts(self.host, self.config)))

    def do_confirm(self):
        """Nobody confirms: what stood before of ours comes back, and hooks leave it alone."""
        before = self.of_ours()
        status, _ = self.host.expect((0, 3), "--apply", "--confirm", "60")
        waits = self.host.waits()
        for pid in waits:
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + 5
        while self.host.waits():
            if time.monotonic() > end:
                raise Trouble("h-confirm", "what waits for a confirmation does not end when it is told to", "ends")
            time.sleep(0.005)
        if status and not waits:
            return
        self.held = self.kept = bool(waits)
        self.expect_ours(before, "--apply that nobody confirmed left:")
        for nic in [nic for nic in self.host.rdma if nic in self.host.host.links()][:1] if waits else []:
            self.host.manager_calls(("nm-dispatcher", nic, "up"))
            self.expect_ours(before, "a hook after --apply that nobody confirmed:")
        at_rest(lambda: self.others_are_whole(Facts(self.host, self.config)))

    def of_ours(self):
        """Rules of addresses that nobody has any more are worth nothing."""
        state, present = State(self.host.host), {one[1] for one in self.host.host.addresses()}
        rules = [one for one in state.our_rules if not rule(one).source or str(rule(one).source[0]) in present | {"0.0.0.0"}]
        return sorted(map(words, rules + state.our_routes)), self.host.arp(self.host.host)

    def expect_ours(self, before, what):
        after = self.of_ours()
        if before[0] != after[0]:
            gone, new = set(before[0]) - set(after[0]), set(after[0]) - set(before[0])
            raise Trouble("h-confirm", f"{what} (-before +after)\n" + "".join(f"  - {one}\n" for one in sorted(gone)) +
                          "".join(f"  + {one}\n" for one in sorted(new)), "state")
        if before[1] != after[1]:
            raise Trouble("h-confirm", f"{what} {changed(before[1], after[1])}", "sysctls")

    def do_settled(self):
        """All hooks have run: nothing is left for --apply."""
        if self.kept:
            return
        self.held = False
        if not self.hooked >= set(self.host.rdma) - {GONE}:
            return
        try:
            self.nothing_to_do()
        except Trouble as trouble:
            if trouble.key == "hooks":
                raise
            time.sleep(0.1)  # it did nothing: the kernel itself had not finished
            self.nothing_to_do()
        self.look()

    def nothing_to_do(self):
        before, arp = State(self.host.host), self.host.arp(self.host.host)
        status, done = self.host.json((0, 3), "--apply")
        if status == 0 and done["changed"]:
            raise Trouble("c-hooks", "after the hooks --apply still had to do:\n" + operations(done), "hooks")
        self.expect_state("c-hooks", before, arp, "--apply after the hooks changed")

    def do_undo(self):
        self.host.expect((0,), "--undo")
        self.held = True
        at_rest(self.as_before)

    def as_before(self):
        host, twin = State(self.host.host), State(self.host.twin)
        if host.all() != twin.all():
            raise Trouble("d-undo", "rules and routes are not what they were\n" + self.difference(host, twin), "routes")
        one, other = self.host.sysctls(self.host.host), self.host.sysctls(self.host.twin)
        if one != other:
            raise Trouble("d-undo", f"sysctls are not what they were: {changed(one, other)}", "sysctls")

    def from_nothing(self):
        """What --apply makes of the host when nothing of ours is there; then that is taken back."""
        self.host.expect((0,), "--undo")
        self.held = True
        self.host.forget()
        if self.apply():
            return None
        reference = State(self.host.host), self.host.arp(self.host.host)
        self.host.expect((0,), "--undo")
        return reference

    def do_pasted(self):
        reference = self.from_nothing()
        if not reference:
            return
        self.host.forget()
        _, plan = self.host.json((0,), "--plan")
        text = "".join(one["command"] + "\n" for one in plan["operations"] if one["op"] != "announce")
        status, _, err = run(["sh"], self.host.host, text)
        if status or err:
            raise Trouble("e-plan", f"the commands of --plan fail, --apply did not: {status} {err}\n{text}", "fails")
        self.expect_state("e-plan", *reference, "the commands of --plan lead to another state than --apply:", ordered=False)
        self.host.forget()
        _, plan = self.host.json((0,), "--plan")
        if plan["changed"]:
            raise Trouble("e-plan", f"after its commands the plan still has: {operations(plan)}", "more")
        self.take_back()

    def take_back(self):
        """What was pasted has no memory of old sysctl values: they are the twin's."""
        self.host.expect((0,), "--undo")
        with_values = self.host.arp(self.host.twin)
        with self.host.host.inside():
            for name, value in with_values.items():
                with open(f"/proc/sys/net/ipv4/conf/{name}", "w", encoding="ascii") as file:
                    file.write(value)
        self.host.forget()

    def do_kill(self, which):
        reference = self.from_nothing()
        if not reference:
            return
        self.host.killed(which)
        at_rest(lambda: self.others_are_whole(Facts(self.host, self.config)))
        if self.apply() == 0:
            self.expect_state("c-killed", *reference, f"killed at call {which}, then --apply: not as --apply alone:",
                              ordered=False)

    # ---- promises ----

    @staticmethod
    def taken(state):
        """Numbers that something of ours stands in, or leads to."""
        ruled = {number(dict(known)[FRA_TABLE]) for _, known in state.our_rules if FRA_TABLE in dict(known)}
        return state.our_tables() | ruled

    def were_free(self, before):
        """What is chosen automatically is nobody's number, but that of the documents' script, to which other rules may lead, too."""
        if any(line.startswith("config") and "table=" in line for line in self.lines):
            return
        state = State(self.host.host)
        most = SPREAD + len(self.config.candidates)
        for table in {one for one in self.taken(state) - before if one > SPREAD}:
            rules = [one for one in state.rules if number(dict(one[1]).get(FRA_TABLE, bytes(4))) == table]
            by_script = [one for one in rules if one[0][2] in (32, 128) and table <= most]
            if rules and not by_script:
                raise Trouble("a-unrelated", f"rules of others lead to table {table}, which had nothing of ours", "number")
            if not rules and any(number(dict(one[2])[RTA_TABLE]) == table for one in state.routes):
                raise Trouble("a-unrelated", f"table {table}, which had nothing of ours, has routes of others", "number")

    def second(self, status):
        before, arp = State(self.host.host), self.host.arp(self.host.host)
        _, done = self.host.json((status,), "--apply")
        if status == 0 and done["changed"]:
            raise Trouble("c-second", "a second --apply did:\n" + operations(done), "changed")
        self.expect_state("c-second", before, arp, "a second --apply changed")

    def expect_state(self, promise, before, arp, what, ordered=True):
        after, values = State(self.host.host), self.host.arp(self.host.host)
        order = list if ordered else sorted
        if order(map(repr, before.all())) != order(map(repr, after.all())):
            raise Trouble(promise, f"{what} (-before +after)\n{lines_of(before, after)}", "state")
        if values != arp:
            raise Trouble(promise, f"{what} {changed(arp, values)}", "sysctls")

    def others_are_whole(self, facts):
        """Nobody else's rule or route is gone, changed or new."""
        host, twin = facts.state, facts.twin
        if host.rules != twin.rules:
            raise Trouble("g-others", "rules of others\n" + self.difference(host, twin), "rules")
        if host.routes != twin.routes:
            raise Trouble("g-others", "routes of others\n" + self.difference(host, twin), "routes")

    def look(self):
        return at_rest(self.look_once)

    def look_once(self):
        self.wrong_but_said = []
        self.remote_taken = False
        facts = Facts(self.host, self.config)
        self.several, self.twins = facts.twin.several(), facts.others_prefixes
        self.others_are_whole(facts)
        families = (4, 6) if any(":" in line for line in self.lines if not line.startswith("sysctl")) else (4,)
        for family in families:
            self.unrelated(facts, family)
            self.rails(facts, family)
            self.arrivals(facts, family)
            self.bounded(facts, family)
        if self.config.arp == "auto" and not self.held and not any("/arp_" in line for line in self.lines):
            self.vips(facts)

    def ask(self, namespace, questions, priority=None):
        """As it is; or with a wall before this priority; or with main alone."""
        if priority is None:
            return self.first_hops(questions, namespace.ask(questions))
        rules = [(1, MAIN), (2, WALL)] if priority == "main" else [(priority, WALL)]
        with walled(namespace, *rules):
            return self.first_hops(questions, namespace.ask(questions))

    def first_hops(self, questions, answers):
        """Of several hops the kernel takes one by what it knows of neighbours, which the twin does not ask: any is the first.
        By a gateway that is an address of this host it names none."""
        def first(question, answer):
            for table, net, ways in self.several:
                if answer.table == table and any(answer.dev == dev and answer.via in (via, None) for dev, via in ways) and \
                        within(question.to, [net]) >= 0 and within(question.to, self.twins[table]) == net.prefixlen:
                    return answer._replace(dev=ways[0][0], via=ways[0][1], src=None)
            return answer
        return [first(*pair) for pair in zip(questions, answers)] if self.several else answers

    def unrelated_questions(self, facts, family):
        to = destinations(self.lines, family)
        local = [one[1] for one in facts.usable if family_of(one[1]) == family and one[1] not in facts.rail_of]
        questions = [Question(family, one, source) for one in to for source in [None] + local]
        questions += [Question(family, one, source, mark=mark) for mark in marks(self.lines) for one in to
                      for source in [None] + local[:3]]
        questions += [Question(family, one, oif=nic) for one in to[:10] for nic in facts.links if nic != "lo"]
        for nic in facts.links:
            if nic != "lo" and nic not in self.config.candidates and facts.links[nic][1] & UP:
                never = {one[1] for one in facts.addresses} | facts.broadcasts
                for source in [one for one in foreign_sources(self.lines, family, nic) if one not in never][:4]:
                    questions += [Question(family, one, source, iif=nic) for one in to if one not in facts.rail_of]
        return questions

    def unrelated(self, facts, family):
        questions = self.unrelated_questions(facts, family)
        mine = self.ask(self.host.host, questions)
        others = self.ask(self.host.twin, questions)
        for question, one, other in zip(questions, mine, others):
            if equal(one, other) or self.may_differ(facts, question, one, other):
                continue
            kind = "iif" if question.iif else "source" if question.source else "oif" if question.oif else "unbound"
            raise Trouble("a-unrelated", f"{asked(question)}\nwith ib-hook: {said(one)}\nwithout: {said(other)}", kind)

    def may_differ(self, facts, question, one, other):
        """main=spread changes the way of traffic that has no source, and says so."""
        length = facts.in_main(question.to, oif=question.oif)
        if within(question.to, facts.our_prefixes.get(one.table, ())) > 0 and self.rule_to_our_table(facts):
            return True  # somebody's rule leads to a rail's table
        if question.iif and one.kind in ERRORS and self.rule_to_our_table(facts) and \
                any(within(one_end, nets) > 0 for nets in facts.our_prefixes.values() for one_end in (question.to, question.source)):
            return True  # the same: the way there, or of what would be sent back, is refused
        if self.config.main == "spread" and question.family == 4 and not question.source:
            if within(question.to, facts.others_prefixes.get(SPREAD, ())) >= 0 and one.table == SPREAD:
                return True
            outermost = min((net.prefixlen for net in facts.spread() if within(question.to, [net]) >= 0), default=99)
            if length > outermost:  # main's way; rules of others that come later have lost
                return (one.table == MAIN or one.kind in ERRORS) and (other.table != MAIN or other.dev is None)
            return one.kind == "unicast" and one.dev in facts.spread_over and question.oif in (None, one.dev) and one.via is None and \
                any(address == one.src and device == one.dev for device, address, *_ in facts.addresses)
        return False

    # ---- rails ----

    def rails(self, facts, family):
        self.engaged(facts, family)
        own = [one for one in facts.rail_of if family_of(one) == family and facts.up(facts.rail_of[one]) and one not in facts.twice
               and not (self.refused and one in facts.broadcasts)]  # of a subnet inside: the kernel takes no route with that source
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
            decided = early and last, around, last  # who jumps over the first wall may still meet the last one
            self.rail(facts, question, mine, other, decided, main)

    def must_be_said(self, question, what):
        """By --check; but no packet of RDMA has a mark."""
        if not question.mark:
            self.wrong_but_said.append(what)

    def rail(self, facts, question, mine, other, decided, main):
        """Where a rail's own address sends."""
        device = facts.rail_of[question.source]
        inside = within(question.to, facts.subnets[device])
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
        subnets = facts.subnets[device]
        inside, length = within(question.to, subnets), facts.in_main(question.to, question.source)
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
        if self.too_many_prefixes(facts, device, question.family) and same(mine, other):
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
        """And others' rules stand between ours and main's: then rules name four of them, and the rest is left to main."""
        nets = facts.subnets[device] | {net for net, _ in facts.gateways_of.remote(device, family)}
        nets = [net for net in nets if net.version == family]
        outermost = [net for net in nets if not any(net != one and net.subnet_of(one) for one in nets)]
        return len(outermost) > MOST_PREFIXES and any(FIRST_PAIR <= one.priority < 32766 for one in map(rule, facts.twin.rules)
                                                      if one.version == family)

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
        if own and self.rule_to_our_table(facts):
            self.remote_taken |= not question.mark
            return True, "", ""
        if None in remote.ways and same(mine, other):
            return True, "", ""
        return as_main, f"as main says: it has /{remote.in_main}, remote= /{remote.length}", "remote, more exact"

    def inside_the_subnet(self, facts, question, device, mine, other, main):
        inside, length = within(question.to, facts.subnets[device]), facts.in_main(question.to, question.source)
        if length > inside:
            right = same(mine, main)
            if not right and mine.table in facts.our_tables and self.rule_to_our_table(facts):
                self.must_be_said(question, "a rule of somebody else leads to our table")
                right = True
            return right, f"as main says: it has /{length}, the rail /{inside}", "more exact"
        address = ipaddress.ip_address(question.to)
        ways = [way for net in facts.subnets[device] if net.prefixlen == inside and net.version == address.version and address in net
                for way in facts.gateways_of.subnet(device, net)]
        if None in ways and (same(mine, main) or same(mine, other)):
            self.count("main has a rail's subnet by somebody's gateway, and the rail has nothing better")
            return True, "", LEFT_TO_MAIN
        if main.kind in ERRORS and same(mine, main):  # these are not suppressed, and --check says so
            return True, "", "rail"
        return fits(mine, device, ways), f"by {device} {ways_said(ways)}", "rail"

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
        if facts.last_of_others or self.has_a_default_of_others(facts, question.source):
            return own or same(mine, other), f"as without, or by {device} {ways_said(ways)}", "default"
        error = main.kind in ERRORS and same(mine, main)
        right = own or error or None in ways and same(mine, other)
        return right, f"by {device} {ways_said(ways)}" if any(ways) else "as without: the rail has no default of its own", "own default"

    def has_a_default_of_others(self, facts, address):
        """A source rule of theirs leads it to a table with one of any type: a kill switch, perhaps."""
        return any(one.leads(address) and any(net.prefixlen == 0 and net.version == one.version
                                              for net in facts.others_prefixes.get(one.table, ()))
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
            if by is False and address not in facts.ours and device in facts.rails:
                raise Trouble("b-rail", f"{device} is a rail, but nothing of ours routes {address}, nor do others", "engaged")

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
        """Two rules an address, two more with a default, two for each further length; more, where others' rules come in between."""
        by_source, alone = {}, all(one.priority in (0, 32766, 32767) for one in map(rule, facts.twin.rules) if one.version == family)
        for one in map(rule, facts.state.our_rules):
            if one.version == family and one.source:
                by_source.setdefault(str(one.source[0]), []).append(one)
        for address, device in facts.rail_of.items():
            if family_of(address) != family or address in facts.twice or self.refused or not facts.up(device):
                continue
            nets = [net for net in facts.our_prefixes.get(facts.ours[address], ()) if net.version == family]
            outermost = [net for net in nets if not any(net != one and net.subnet_of(one) for one in nets)]
            pairs = min(max(len({net.prefixlen for net in nets}), 1), MOST_LENGTHS)
            most = pairs * (2 if alone else 1 + max(1, min(len(outermost), MOST_PREFIXES)))
            most += 2 if any(one.priority == LAST_PAIR + 1 for one in by_source.get(address, ())) else 0
            if len(by_source.get(address, ())) > most:
                raise Trouble("h-bounded", f"{address}: expected at most {most} rules, got {len(by_source[address])}", "rules")

    def vips(self, facts):
        """An address of lo inside a rail's subnet is answered for, as without ib-hook."""
        for vip in facts.vips:
            nics = [nic for nic in self.host.nics if nic in facts.links and facts.up(nic) and within(vip, facts.subnets.get(nic, ())) >= 0]
            if not set(nics) & facts.devices:
                continue
            peers = [to for to in destinations(self.lines, 4) if within(to, facts.subnets[nics[0]]) >= 0 and
                     to not in facts.of_host | facts.broadcasts]
            answers = self.ask(self.host.twin, [Question(4, to, vip) for to in peers])
            asker = next((to for to, answer in zip(peers, answers) if any(by(answer, nic) for nic in nics)), None)
            if asker and self.host.who_answers("t", nics, vip, asker):
                self.count("an address of lo is asked for")
                if not self.host.who_answers("h", nics, vip, asker):
                    raise Trouble("h-vip", f"{asker} asks for {vip} of lo: nobody answers, without ib-hook somebody does", "vip")

    # ---- --check ----

    def check(self, status):
        verdict, report = self.host.json((0, 1), "--check")
        codes = sorted({one["code"] for one in report["findings"] if one["severity"] != "info"})
        self.count("check: asked")
        for one in report["findings"]:
            if one["code"] == "not-known":
                raise Trouble("f-check", f"--check and the kernel disagree: {one['message']}", "not-known")
        if verdict == 0 and self.wrong_but_said:
            raise Trouble("f-check", "--check says ok, but\n" + "\n".join(self.wrong_but_said[:5]), "ok")
        if verdict == 0 and self.remote_taken:
            raise Trouble("f-check", "--check says ok, but somebody else's rule or route takes what remote= has", "remote taken")
        if status == 0 and "gateway-missing" not in codes:
            self.gateways_are_there(Facts(self.host, self.config))
        if verdict and status == 0 and not self.wrong_but_said and not self.remote_taken and self.unremarkable():
            for code in codes:
                self.count(f"check complains of a host with right answers and all NICs up: {code}")

    def gateways_are_there(self, facts):
        """remote= without a gateway is said."""
        for device, family in {(one, family_of(address)) for address, one in facts.rail_of.items()}:
            remote = facts.gateways_of.remote(device, family)
            if facts.up(device) and any(ways == [None] for _, ways in remote):
                raise Trouble("f-check", f"{device} has remote= and no gateway in IPv{family}, and nothing says so", "gateway")

    def unremarkable(self):
        links = self.host.host.links()
        return all(nic in links and links[nic][1] & UP and links[nic][1] & LOWER_UP for nic in self.host.rdma if nic != GONE)

    # ---- words for failures ----

    def difference(self, host, twin):
        return lines_of(twin, host, "rules", "routes", "our_rules", "our_routes") + "(-without ib-hook +with)"


def rule(raw):
    return Rule(*raw)


def ways_said(ways):
    return " or ".join(" ".join([f"through {way.via or 'no gateway'}", *carried_said(way.carried or ())]) if way else "as without"
                       for way in dict.fromkeys(ways))


def operations(plan):
    return "".join(f"  {one['command']}\n" for one in plan["operations"])


def changed(one, other):
    return ", ".join(f"{key}: {one.get(key, '-').strip()} → {other.get(key, '-').strip()}"
                     for key in sorted(set(one) | set(other)) if one.get(key) != other.get(key))


def lines_of(before, after, *parts):
    """What is in one and not in the other; what only changed places is said."""
    found = ""
    for part in parts or ("rules", "our_rules", "routes", "our_routes"):
        one, other = getattr(before, part), getattr(after, part)
        gone, new = [x for x in one if x not in other], [x for x in other if x not in one]
        found += "".join(f"  - {part}: {words(x)}\n" for x in gone) + "".join(f"  + {part}: {words(x)}\n" for x in new)
        if one != other and not gone and not new:
            found += f"  {part}: another order, or more of the same\n"
    return found


def words(one):
    """A rule or route in words: what tells it from others."""
    known = dict(one[-1])
    is_route = len(one) == 3
    found = [f"family {'4' if one[0][0] == 2 else '6'}"]
    names = {1: "to", 2: "from", 5: "via", 7: "src"} if is_route else {1: "to", 2: "from"}
    numbers = {6: "metric", 15: "table"} if is_route else {6: "priority", 15: "table", 10: "fwmark", 14: "suppress"}
    for kind, value in known.items():
        if kind in names and len(value) in (4, 16):
            length = {1: one[0][1], 2: one[0][2]}.get(kind, "")
            found.append(f"{names[kind]} {unpack(value)}" + (f"/{length}" if length != "" else ""))
        elif kind in numbers:
            found.append(f"{numbers[kind]} {number(value)}")
        elif kind == 4 and is_route:
            found.append(f"dev {value}")
        elif kind == 9 and is_route:
            found.append(f"hops {[hop[0] for hop in value]}")
    if is_route:
        found.append(f"type {one[0][7]} proto {one[0][5]}")
    return " ".join(found)

