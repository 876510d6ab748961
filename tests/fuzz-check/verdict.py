# SPDX-License-Identifier: GPL-2.0-or-later
"""What --check says of a host, against the truth."""

import json
import random
import time

from faults import Fault, Faults
from hosts import Trouble
from right import BEYOND, Right
from scene import Scene
from truth import Truth

# Said of hosts whose traffic is right at this moment, and rightly so: it is not what was programmed, or the next event breaks it.
ALLOWED = {
    "rule-missing": "main happens to lead the same way",
    "route-missing": "main happens to lead the same way",
    "stale": "nothing uses it, and it is not needed",
    "sysctl-wrong": "peers that have learned another NIC lose packets, and here none has",
    "duplicate-address": "whose it is depends on who answers first",
    "held": "it is not a rail, and the only other one goes the right way without rules",
    "proxy-arp": "main leads to the subnet by another rail, so that this one does not answer before that rail is down",
    "nic-gone": "a rail is away",
    "not-engaged": "what was a rail is none any more",
    "prefix-differs": "none of the peers has an address that only the wider prefix has",
    "foreign-nic-answers": "its address says that it is on the rails' wire; that it is on another one is not known",
    "effective-sysctl": "peers that have learned another NIC lose packets, and here none has",
}
# So is table-clash, of a route that the fault put into a rail's table: it leads to what the judge does not ask for. And with
# arp=strict so is address-silent: what virtual addresses get is not judged there.

# Nothing of the host differs: only packets show it, and that is --probe's work.
HIDDEN = ("link off the switch", "link drops by tbf", "address of a third host", "address of a peer",
          "neighbour permanent", "address prefix length, and so another gateway=peer")
PATIENCE = (2.0,)  # seconds for replies, before it is said that --check is silent
FAILED = 0x08  # IFA_F_DADFAILED


def serious(report):
    return [one for one in report["findings"] if one["severity"] in ("error", "warning")]


def codes(findings):
    return " ".join(sorted({one["code"] for one in findings})) or "ok"


class World:
    """One right host, and what breaks in it."""

    def __init__(self, seed, program, home, lacking=()):
        self.rng = random.Random(f"fuzz-check {seed}")
        self.right = Right(self.rng, lacking)
        self.scene = Scene(program, home)
        self.truth = None
        self.lines = []
        self.pending = None  # what an edited configuration says that is not in force

    def run(self, tally):
        """(verdict, cause, text)"""
        try:
            return self.judged(tally)
        finally:
            if self.truth:
                self.truth.close()
            self.script = self.scene.as_script("\n".join(self.lines))
            self.scene.close()

    def dad_fails(self, nic, address):
        end = time.monotonic() + 4
        while time.monotonic() < end:
            if any(one[0] == nic and one[1] == address and one[4] & FAILED for one in self.scene["host"].addresses()):
                return
            time.sleep(0.02)

    def check(self):
        status, out, err = self.scene.ib_hook("--check", "--json")
        try:
            report = json.loads(out)
        except ValueError:
            raise Trouble("exit", f"--check --json: no JSON (status {status}): {out}{err}") from None
        if "findings" not in report or status not in (0, 1):
            raise Trouble("exit", f"--check --json: status {status}: {out}{err}")
        if report["ok"] != (status == 0) or report["ok"] != (not serious(report)):
            raise Trouble("exit", f"--check says ok={report['ok']} with status {status} and findings {codes(serious(report))}")
        return report

    def judged(self, tally):
        self.lines.append(f"right: {', '.join(self.right.extras) or 'plain'}; IPv{self.right.families}; {len(self.right.rails)} "
                          f"rails{', routed' if self.right.routed else ''}, {'manage=yes' if self.right.by_name else 'RDMA'}")
        said = self.scene.play(self.right.steps)
        if said:
            raise RuntimeError(f"the world cannot be made: {said}")
        self.scene.settled()
        self.scene.sysfs()
        status, out, err = self.scene.do_run("ib-hook --apply")
        if status:
            return "apply", "--apply fails", f"{status}: {out}{err}"
        self.truth = Truth(self.scene, self.right)
        if self.rng.random() < 0.15:
            self.edit()
        report = self.check()
        if self.pending and "not-in-force" not in codes(report["findings"]):
            return "silent", f"{self.pending} is not in force", json.dumps(report["findings"])
        wrong, unclear = self.truth.judge()
        verdict = self.compare(Fault("right host", []), report, wrong, unclear)
        if verdict[0] in ("silent", "named", "misnamed"):
            return "not-right", f"{', '.join(self.right.extras)} / {codes(serious(report))}", verdict[2]
        tally["right hosts, nothing broken yet"] = 1
        if verdict[0] != "right" or self.rng.random() < 0.25:
            return ("right" if verdict[0] == "right" else verdict[0]), *verdict[1:]
        return self.broken(report, tally)

    def edit(self):
        """Somebody edits the configuration and leaves --apply for later: it is in force no earlier."""
        nic = self.rng.choice(self.right.rails).nic
        section, setting = self.rng.choice([(f"[interface {nic}]", "manage=no"), (f"[interface {nic}]", "table=1777"),
                                            ("[defaults]", "main=spread"), ("[defaults]", "arp=keep"), ("[defaults]", "rails=9")])
        if any(one == section and other.split("=")[0] == setting.split("=")[0] for one, other in self.right.settings):
            return
        self.pending = f"{section} {setting}"
        self.lines.append(f"edited, not applied: {self.pending}")
        text = "".join(f"{one}\n{other}\n" for one, other in self.right.settings)
        self.scene.play([("config", f"{text}{section}\n{setting}\n")])

    def broken(self, report, tally):
        tables = {one["iface"]: one.get("table") for one in report["rails"]}
        fault = Faults(self.rng, self.right, self.scene, tables).draw()
        self.scene.script.append("# what breaks:")
        refused = self.broken_by(fault)
        self.lines.append(f"fault: {fault.kind}" + "".join(f"\n  {' '.join(step)}" for step in fault.steps))
        if refused:
            return "refused", fault.kind, refused
        self.scene.settled()
        wrong, unclear = self.truth.judge(fault.pieces, virtual=fault.virtual)
        report = self.check()
        verdict = self.compare(fault, report, wrong, unclear)
        if not serious(report):
            return verdict
        shown = len(self.scene.script)
        found = self.cured(fault, report, verdict, tally)
        if found is verdict:  # what was pasted has nothing to do with it
            del self.scene.script[shown:]
        return found

    def broken_by(self, fault):
        """Step by step where one has to wait for the kernel."""
        said, waiting = "", []
        for step in fault.steps:
            if step[0] == "dad":
                said += self.scene.play(waiting)
                waiting = []
                self.dad_fails(*step[1:])
            else:
                waiting.append(step)
        return said + self.scene.play(waiting)

    def compare(self, fault, report, wrong, unclear):
        findings = serious(report)
        down = {nic for one in report["findings"] if (one["code"], one["severity"]) == ("carrier-down", "info") for nic in one["ifaces"]}
        wrong = [one for one in wrong if one.nic not in down]  # somebody took it down, and a note names it
        if any(one["severity"] == "info" and "traffic without a source address" in one["message"] for one in report["findings"]):
            wrong = [one for one in wrong if one.nic]  # unbound traffic through a NIC that is not a rail is a note
        beyond = {nic for one in report["findings"] if one["severity"] == "info" and "to other networks leaves" in one["message"]
                  for nic in one["ifaces"]}
        wrong = [one for one in wrong if one.nic not in beyond or BEYOND not in one.what]  # a source rule of others: no default of ours
        text = "".join(f"wrong: {one.nic or ''} {one.what}\n" for one in wrong[:6])
        text += "".join(f"unclear: {one}\n" for one in unclear[:3])
        text += "".join(f"--check: {one['severity']} {'+'.join(one['ifaces'])} {one['code']}: {one['message']} [{one['fix']}]\n"
                        for one in report["findings"] if one in findings or wrong)
        cause = f"{fault.kind} / {codes(findings)}"
        if any(self.is_named(fault, one, {one.nic for one in wrong}) for one in findings if wrong):
            return "named", cause, text
        allowed = {*ALLOWED, *(["table-clash"] if "T or D" in fault.kind else []),
                   *(["address-silent"] if "strict" in self.right.extras else [])}
        if wrong and fault.kind in HIDDEN and all(one["code"] in allowed for one in findings):
            return "hidden", cause, text
        if wrong and not findings:
            wrong, _ = self.truth.judge(fault.pieces, PATIENCE, fault.virtual)
            return "silent" if wrong else "right", cause, text
        if wrong:
            return "misnamed", cause, text
        if not findings:
            return "unclear" if unclear else "right", cause, text
        if self.pending and fault.kind == "ib-hook: state lost":
            return "unclear", cause, text  # with the state, what was in force is lost: the edited files are, from now on
        # No peer asks for a subnet of the other family; main's way to it is wrong all the same.
        if all(one["code"] in allowed or one["message"].startswith("traffic without a source address to ") for one in findings):
            return "right, said", cause, text
        return "unclear" if unclear else "accused", cause, text

    @staticmethod
    def is_named(fault, finding, hit):
        """The owner is what was put there; of what was taken away or set, the NIC is the right one."""
        if fault.objects and finding["owner"]:
            return any(one in finding["owner"] for one in fault.objects)
        return not finding["ifaces"] or bool(set(finding["ifaces"]) & (hit | fault.culprits))

    # ---- fixes ----

    def cured(self, fault, report, verdict, tally):
        """Each fix is pasted once, and its finding goes. --apply is not, where it would put another configuration in force."""
        if not self.pending and self.rng.random() < 0.5 and self.names_apply():
            return self.cured_by_apply(fault, report, verdict, tally)
        done = set()
        for finding in serious(report):
            fix = finding.get("fix")
            if not fix or fix in done or self.pending and "ib-hook" in fix:
                continue
            if "#" in fix:
                if "advice" in finding:
                    return "fix", f"{finding['code']}: not a command", f"{fix}\n{verdict[2]}"
                continue
            done.add(fix)
            tally["fixes pasted"] = tally.get("fixes pasted", 0) + 1
            before = self.truth.ways_of_others()
            status, out, err = self.scene.do_run(fix)
            ours = "ib-hook" in fix or finding["code"] == "link-group"  # what it brings back is what --apply had made
            harm = [] if ours else self.truth.harmed(before, self.truth.ways_of_others())
            if harm:
                return "harmed", f"{finding['code']}: its fix changes more than it cures: {fault.kind}", \
                    "\n".join([fix, *harm[:6], verdict[2]])
            after = self.check()
            if any(all(one[key] == finding[key] for key in ("ifaces", "code", "owner", "message", "fix")) for one in serious(after)):
                return "fix", f"{finding['code']}: does not cure: {fault.kind}", f"{fix}: {status} {out}{err}\n{verdict[2]}"
            if not serious(after) and not after["rails"]:
                tally["no rails any more, and said"] = tally.get("no rails any more, and said", 0) + 1
                return verdict  # the NICs have addresses, and share no subnet: all is the main table's
            if not serious(after):
                wrong, unclear = self.truth.judge(fault.pieces, virtual=fault.virtual)
                late = self.compare(fault, after, wrong, unclear)
                if late[0] == "silent":
                    return "silent", f"after the fix of {finding['code']}: {fault.kind}", f"{fix}\n{late[2]}before:\n{verdict[2]}"
                tally["cured by their fixes"] = tally.get("cured by their fixes", 0) + 1
                return verdict
        return verdict

    def names_apply(self):
        """The one command of the host's line."""
        _, out, _ = self.scene.ib_hook("--check")
        return out.split("\n", 1)[0].endswith("; fix: sudo ib-hook --apply")

    def cured_by_apply(self, fault, report, verdict, tally):
        """What --apply is said to cure is gone after it."""
        tally["hosts that --apply is to cure"] = tally.get("hosts that --apply is to cure", 0) + 1
        status, out, err = self.scene.do_run("ib-hook --apply")
        told = [(one["ifaces"], one["code"], one["message"]) for one in serious(report)]
        left = [one for one in serious(self.check()) if (one["ifaces"], one["code"], one["message"]) in told]
        if left:
            return "fix", f"{codes(left)}: --apply does not cure it: {fault.kind}", f"{status} {out}{err}\n{verdict[2]}"
        return verdict
