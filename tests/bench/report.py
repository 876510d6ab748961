# SPDX-License-Identifier: GPL-2.0-or-later
"""
report.py RESULTS PROGRAMS.strace NOTHING.strace JSON PAGE COMMIT: what bench/run measured, as JSON and as a table,
printed and in a page in place of the last one. RESULTS has a file of hyperfine's per race, competitor and round, and one
per number that is no time.
"""

import datetime
import fnmatch
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

import calls

RAILS = [1, 8, 64, 256]

# Files under /etc and /run that a hook may ask for, and why. Any other is a figure missed.
FILES = {
    "/etc/ld.so.preload": "the loader",
    "/etc/ld.so.cache": "the loader: where the libraries are",
    "/etc/libnl/classid": "libnl, when it is loaded",
    "/etc/ib-hook": "whose it is: what is not root's is refused",
    "/etc/ib-hook/ib-hook.conf": "the configuration",
    "/etc/ib-hook/conf.d": "the configuration",
    "/etc/machine-id": "whose known rails they are",
    "/run/ib-hook": "whose it is",
    "/run/ib-hook/*.lock": "one at a time per network namespace",
    "/run/ib-hook/*.state": "holds; sysctls as they were",
    "/run/ib-hook/*.new": "the state, written atomically",
    "/run/ib-hook/number-*": "whether an ended namespace had our number: then its files go",
}


def elapsed(result):
    return statistics.median(result["times"][1:])


def cpu(result):
    """hyperfine has no more than the mean of it."""
    return result["user"] + result["system"]


class Results:
    def __init__(self, directory, of):
        self.times, self.numbers, self.packets = {}, {}, {}
        for path in pathlib.Path(directory).iterdir():
            if re.search(r" \d+$", path.name):
                race, label, number = path.name.split()
                result = json.loads(path.read_text())["results"][0]
                self.times.setdefault((race, label), {})[int(number)] = of(result)
            elif path.name.startswith("packets-"):
                self.packets[path.name.split("-")[1]] = Values(map(int, path.read_text().split()))
            else:
                self.numbers[path.name] = int(path.read_text())

    def has(self, race, label):
        return (race, label) in self.times

    def rounds(self, race, label):
        """Seconds of one run, a median per round."""
        found = self.times[race, label]
        return Values(found[number] for number in sorted(found))


class Values(list):
    """One value per round; arithmetic goes round by round."""

    def __add__(self, other):
        if isinstance(other, (int, float)):
            return Values(a + other for a in self)
        return Values(a + b for a, b in zip(self, other, strict=True))

    def __sub__(self, other):
        return Values(a - b for a, b in zip(self, other, strict=True))

    def __truediv__(self, other):
        if isinstance(other, (int, float)):
            return Values(a / other for a in self)
        return Values(a / b for a, b in zip(self, other, strict=True))

    def summary(self):
        low, median, high = statistics.quantiles(self, n=4) if len(self) > 1 else [self[0]] * 3
        return {"median": median, "low": low, "high": high}


def verdict(target, spread):
    """Where the quartiles are on both sides of the target, one run says nothing."""
    if target is None:
        return ""
    return "met" if spread["high"] <= target else "missed" if spread["low"] > target else "unclear"


def row(figure, target, values, unit="", timed=True):
    """One line of the table; no target: for comparison only."""
    spread = (values if isinstance(values, Values) else Values([values])).summary()
    return {"figure": figure, "target": target, "unit": unit, "timed": timed, **spread, "verdict": verdict(target, spread)}


def time_rows(r):
    one, same = r.rounds("one-rail", "hook"), r.rounds("one-rail", "hook-routes")
    script, batch, sysctl = (r.rounds("one-rail", label) for label in ("script", "batch", "sysctl"))
    yield row("event that programs one rail, against the script", 0.33, one / script)
    yield row("the same, against `ip -batch`", None, same / batch)
    yield row("the same with sysctls, against `ip -batch` and `sysctl -p`", None, one / (batch + sysctl))
    for nics in (2, 8):
        race = f"converged{nics}"
        script, hook, events = (r.rounds(race, label) for label in ("script", "hook", "events"))
        yield row(f"one event for {nics} NICs, against the script for each", None, hook / script)
        yield row("the same, with an event for each NIC", None, events / script)
    nothing = r.rounds("nothing", "hook")
    yield row("idle event, against `ip rule show`", None, nothing / r.rounds("nothing", "rules"))
    version = r.rounds("none", "version")
    yield row("hook in a namespace without candidates, against `ip -V`", None, r.rounds("none", "hook") / version)
    yield row("event that a hook ignores, against `ip -V`", None, r.rounds("none", "unwanted") / version)


def counted_rows(programs, nothing):
    both = programs + nothing
    yield row("processes forked", 0, calls.processes(both))
    yield row("messages to D-Bus", 0, calls.bus_calls(both))
    files = calls.files(both)
    unjustified = [path for path in files if not any(fnmatch.fnmatch(path, pattern) for pattern in FILES)]
    yield row("files under /etc and /run that an event asks for", None, len(files))
    yield row("of these, without a reason" + "".join(f", {path}" for path in unjustified), 0, len(unjustified))
    yield row("system calls of an idle event, 2 rails", None, calls.counts(nothing)["system-calls"])
    yield row("netlink round trips of an idle event, 2 rails", None, calls.counts(nothing)["round-trips"])
    yield row("the same, if one rail is programmed", None, calls.counts(programs)["round-trips"])


def crowd_rows(r):
    quiet = r.rounds("quiet", "plain")
    for name, what, target in (("routes100000", "100,000 unrelated routes in main", 5), ("rules5000", "5,000 foreign rules", 1.5),
                               ("links2000", "2,000 other links with 10,000 addresses", 1.5)):
        yield row(f"idle event beside {what}, against one alone", target, r.rounds("quiet", name) / quiet)
        if r.has("named", name):
            yield row("the same with `[interface ib*]` and `manage=yes`", target,
                      r.rounds("named", name) / r.rounds("named", "plain"))


def scale_rows(r):
    cost = {n: r.rounds("scale", f"routes{n}") for n in RAILS}
    batch = {n: r.rounds("scale", f"batch{n}") for n in RAILS}
    for n in RAILS:
        rails = "1 rail" if n == 1 else f"{n} rails"
        yield row(f"{rails} from nothing, against `ip -batch`", None, cost[n] / batch[n])
    whole, rival = r.rounds("scale", "hook256"), batch[256] + r.rounds("scale", "sysctl256")
    yield row("256 rails with their sysctls, against `ip -batch` and `sysctl -p`", None, whole / rival)
    linear = "linear: the cost of a rail between 64 and 256 rails, against between 8 and 64"
    for figure, seconds, target in ((linear, cost, 1.2), ("the same of `ip -batch`", batch, None)):
        per_rail = (seconds[256] - seconds[64]) / 192 / ((seconds[64] - seconds[8]) / 56)
        yield row(figure, target, per_rail)
    one, each, unwanted = (r.rounds("together", label) for label in ("one", "each", "unwanted"))
    yield row("64 hooks at once for 64 rails", 0.3, each, " s")
    yield row("the same, against one hook for all 64 rails", None, each / one)
    yield row("64 hooks at once that ignore their event, against one hook for 64 rails", None, unwanted / one)


def rows(r, cpu_r, programs, nothing):
    """CPU time beside what has elapsed: on a busy machine it says more."""
    for part in (time_rows, crowd_rows, scale_rows):
        for line, of_cpu in zip(part(r), part(cpu_r), strict=True):
            yield line | ({"cpu": of_cpu["median"]} if line["timed"] else {})
    yield from counted_rows(programs, nothing)
    yield from number_rows(r)


def packet_rows(r):
    """Of a NIC that is not a rail, by a socket that is not connected, per second of processor time."""
    for host, what in (("2", "2 rails"), ("8", "8 rails"), ("script", "8 rails of the documents' script"),
                       ("sbr", "8 rails of CNI's sbr"), ("16", "16 rails"),
                       ("8x4", "8 rails with 4 addresses each"), ("64", "64 rails")):
        rules = r.numbers[f"rules-{host}"]
        yield row(f"packets of another NIC per CPU second: {what} ({rules} rules), against no rule", None,
                  r.packets[host] / r.packets["none"])


def number_rows(r):
    for host, what, target in (("two", "2 rails", 4), ("all256", "256 rails", None),
                               ("routes100000", "100,000 routes", None)):
        yield row(f"peak resident memory of a hook, {what}", target, r.numbers[f"memory {host}"] / 1024, " MiB")
    yield row("page faults of an idle event", None, r.numbers["faults"])
    yield row("--watch: CPU when idle", 0, r.numbers["watch idle"] / 1e9, " s")
    seconds = r.numbers["watch microseconds"] / 1e6
    share = r.numbers["watch storm"] / 1e9 / seconds
    rate = 50000 / seconds
    yield row("--watch: of a core, per 10,000 unrelated route changes/s", 5, 100 * share * 10000 / rate, " %")
    yield row("unrelated route changes/s meanwhile", None, rate)


def number(value):
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def table(report):
    yield f"Measured {report['date']} at {report['commit']}: {report['machine']}, load {report['load']:.1f} at the end."
    yield f"Medians (quartiles) of {report['rounds']} rounds; unclear: the target is between the quartiles."
    yield ""
    yield "| figure | target | measured | CPU time |"
    yield "| --- | --- | --- | --- |"
    for line in report["rows"]:
        unit = line["unit"]
        spread = f" ({number(line['low'])}–{number(line['high'])})" if line["low"] != line["high"] else ""
        target = "" if line["target"] is None else ("" if line["target"] == 0 else "≤ ") + f"{line['target']:g}{unit}"
        if line["verdict"]:
            target += ": **missed**" if line["verdict"] == "missed" else f": {line['verdict']}"
        of_cpu = number(line["cpu"]) if "cpu" in line else ""
        yield f"| {line['figure']} | {target} | {number(line['median'])}{spread}{unit} | {of_cpu} |"


def into_page(path, lines):
    """The table takes the place of the one that is there."""
    page, found = re.subn(r"^Measured \d.*\nMedians .*\n\n(\|.*\n)+", lambda _: "\n".join([*lines, ""]), path.read_text(),
                          flags=re.MULTILINE)
    if found != 1:
        sys.exit(f"{path}: there are {found} tables of make bench in it: leave one, from \"Measured\" to its last row")
    path.write_text(page)


def version(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def print_packets(directory):
    print(f"Medians (quartiles), load {os.getloadavg()[1]:.1f}:")
    for line in packet_rows(Results(directory, elapsed)):
        print(f"{line['figure']}: {number(line['median'])} ({number(line['low'])}–{number(line['high'])})")


def main():
    if sys.argv[1] == "packets":
        print_packets(sys.argv[2])
        return
    results, programs, nothing, json_path, page, commit = sys.argv[1:]
    r = Results(results, elapsed)
    traces = calls.read(programs), calls.read(nothing)
    report = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit or "no commit",
        "machine": ", ".join(["Linux " + ".".join(platform.release().split(".")[:2]), f"{os.cpu_count()} cores",
                              version("ip", "-V").split(", ")[1], version("hyperfine", "--version")]),
        "load": os.getloadavg()[1],
        "rounds": len(r.rounds("one-rail", "hook")),
        "rows": list(rows(r, Results(results, cpu), *traces)),
        "files": calls.files(traces[0] + traces[1]),
    }
    pathlib.Path(json_path).write_text(json.dumps(report, indent=1) + "\n")
    print(*table(report), sep="\n")
    into_page(pathlib.Path(page), table(report))


if __name__ == "__main__":
    main()
