# SPDX-License-Identifier: GPL-2.0-or-later
"""What is promised, asked of the kernel: the host under test against its twin."""

import os
import re
import signal
import time

from facts import UP, LOWER_UP, Config, Facts, equal, rule, within
from hosts import GONE, Trouble, run
from kernel import FRA_TABLE, MAIN, RTA_TABLE, WALL, Question, State, family_of, number, walled
from others import SETTLED
from questions import destinations, foreign_sources, marks
from rails import ERRORS, Rails
from texts import asked, changed, lines_of, operations, said, words

SPREAD = 940


def at_rest(judgement):
    """What is wrong is looked at once more: the kernel does some things a moment later (IPv6 addresses, links)."""
    try:
        return judgement()
    except Trouble:
        time.sleep(0.1)
        return judgement()


class Judge(Rails):
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
        if words[0] not in ("undo", "hook") and self.is_refused():
            self.count("a gateway of remote= is in no subnet of its NIC any more: refused")
            return
        try:
            getattr(self, f"do_{words[0]}")(*words[1:])
        except Trouble as trouble:
            trouble.text = f"at: {line}\n{trouble.text}"
            raise

    def is_refused(self):
        """Commands refuse a `via` of remote= that is in no subnet of its NIC; events leave its prefix out."""
        vias = [(nic, via) for nic in self.config.candidates for family in (4, 6)
                for _, via in self.config.keys.remote(nic, family) if via and not via.startswith("fe80:")]
        if not vias:
            return False
        subnets = Facts(self.host, self.config).subnets
        lost = [via for nic, via in vias if within(via, subnets.get(nic, ())) < 0]
        status, out, _ = self.host.hook("--plan", "--json") if lost else (0, "", "")
        return status == 2 and any(f"the gateway {via} is in no subnet" in out for via in lost)

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
        """Rules of addresses that nobody has any more, or of main=spread without a route, are worth nothing; the kernel takes
        no route with such a source, none whose next hop is dead, and none via an address of this host."""
        host = self.host.host
        state, addresses, links = State(host), host.addresses(), host.links()
        present = {one[1] for one in addresses}
        alive = {one[0] for one in addresses if family_of(one[1]) == 4 and links[one[0]][1] & UP}
        if SPREAD in state.our_tables():
            present.add("0.0.0.0")
        rules = [one for one in state.our_rules if not rule(one).source or str(rule(one).source[0]) in present]
        routes = [one for one in map(words, state.our_routes) if not set(re.findall(r" src (\S+)", one)) - present and
                  not set(re.findall(r" via (\S+)", one)) & present]
        return sorted([*map(words, rules), *filter(None, (self.without_dead_hops(one, alive) for one in routes))]), self.host.arp(host)

    @staticmethod
    def without_dead_hops(route, alive):
        """Empty where no hop is left. With one left, the kernel takes the route back only in the form for one hop."""
        hops = re.search(r" hops \[(.*?)\]", route)
        if not hops:
            return route
        left = [one for one in re.findall(r"'(.*?)'", hops[1]) if one in alive]
        if len(left) == 1:
            return re.sub(r"( to \S+)", rf"\1 dev {left[0]}", route.replace(hops[0], ""))
        return route.replace(hops[0], f" hops {left}") if left else ""

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
        # Which of several NICs that have one address had the rule for it, a table without routes does not tell.
        if self.apply() == 0 and not Facts(self.host, self.config).twice:
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
        self.several = {bound: facts.twin.several(bound) for bound in (False, True)}
        self.twins = facts.others_prefixes
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
        By a gateway that is an address of this host it names none. Of the same gateway one hop may encapsulate, another not;
        and all routes of a nexthop object share what the kernel remembers of a hop, the metrics of the one that was asked first.
        A host without rules of its own says table main for its own addresses and broadcasts, too: these have one way."""
        def first(question, answer):
            if answer.kind in SETTLED:
                return answer
            for table, net, ways in self.several[question.oif is not None]:
                if answer.table == table and any(answer.dev == dev and answer.via in (via, None) for dev, via in ways) and \
                        within(question.to, [net]) >= 0 and within(question.to, self.twins[table]) == net.prefixlen:
                    return answer._replace(dev=ways[0][0], via=ways[0][1], src=None, mtu=None, carried=())
            return answer
        return [first(*pair) for pair in zip(questions, answers)] if self.several[True] else answers

    def unrelated_questions(self, facts, family):
        to = destinations(self.lines, family)
        local = [one[1] for one in facts.usable if family_of(one[1]) == family and one[1] not in facts.rail_of]
        questions = [Question(family, one, source) for one in to for source in [None] + local]
        questions += [Question(family, one, source, mark=mark) for mark in marks(self.lines) for one in to
                      for source in [None] + local[:3]]
        by_turns = [net for _, net, _ in self.several[True] if net.version == 6]  # bound to a NIC, IPv6 takes any hop of these, or none
        questions += [Question(family, one, oif=nic) for one in to[:10] for nic in facts.links
                      if nic != "lo" and within(one, by_turns) < 0]
        for nic in facts.links:
            if nic != "lo" and nic not in self.config.candidates and facts.links[nic][1] & UP:
                never = {one[1] for one in facts.addresses} | facts.broadcasts | set(re.findall(r" broadcast (\S+)", "\n".join(self.lines)))
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
            without = any(via is None for _, via in self.config.keys.remote(device, family))
            if facts.up(device) and without and facts.gateways_of.default(device, family) == [None]:
                raise Trouble("f-check", f"{device} has remote= and no gateway in IPv{family}, and nothing says so", "gateway")

    def unremarkable(self):
        links = self.host.host.links()
        return all(nic in links and links[nic][1] & UP and links[nic][1] & LOWER_UP for nic in self.host.rdma if nic != GONE)

    # ---- words for failures ----

    def difference(self, host, twin):
        return lines_of(twin, host, "rules", "routes", "our_rules", "our_routes") + "(-without ib-hook +with)"
