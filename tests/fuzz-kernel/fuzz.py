#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A differential fuzzer on the real kernel: random hosts with ib-hook, each against its twin without. README.md of tests has
what it promises.   fuzz.py [--seconds N | --worlds N] [--seed N] [--jobs N] [--keep-going] [FILE.world]…"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
WORLD_LIMIT = 60  # seconds
SHOWN = 2  # of worlds that fail alike


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--worlds", type=int, default=0, help="this many instead")
    parser.add_argument("--seed", type=int, default=None, help="of the first world; each next one has the next number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--only", default="", help="what fails otherwise is only counted")
    parser.add_argument("--print", action="store_true", help="the world of --seed, and no more")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", help="worlds to run instead of random ones")
    return parser.parse_args()


def program():
    return os.path.realpath(os.environ.get("IB_HOOK", os.path.join(TOP, "build", "ib-hook")))


# ---- a worker: private namespaces, one world after the other ---------------------------------------------------------

def private():
    """The network is ours alone since unshare; so are /run, /etc, /tmp, /var/lib and /sys from here on."""
    def mount(*words):
        subprocess.run(["mount", *words], check=True)

    hidden = [one for one in (TOP, os.path.dirname(program())) if one.startswith(("/tmp/", "/run/", "/var/lib/"))]
    opened = [(one, os.open(one, os.O_RDONLY | os.O_DIRECTORY)) for one in hidden]
    for place, mode in (("/run", "0755"), ("/tmp", "1777"), ("/var/lib", "0755")):
        mount("-t", "tmpfs", "-o", f"mode={mode}", "tmpfs", place)
    for path, descriptor in opened:
        os.makedirs(path, exist_ok=True)
        mount("--no-canonicalize", "--bind", f"/proc/{os.getpid()}/fd/{descriptor}", path)
        os.close(descriptor)
    os.makedirs("/run/etc")
    subprocess.run(["cp", "-r", "--preserve=mode,links", "/etc/.", "/run/etc"], stderr=subprocess.DEVNULL, check=False)
    mount("--bind", "/run/etc", "/etc")
    for name in ("ib-hook", "iproute2"):
        shutil.rmtree(f"/etc/{name}", ignore_errors=True)
        os.makedirs(f"/etc/{name}")
    os.makedirs("/run/sbin")  # what the hooks execute
    os.symlink(program(), "/run/sbin/ib-hook")
    mount("-t", "overlay", "overlay", "-o", "lowerdir=/run/sbin:/usr/bin", "/usr/bin")
    os.makedirs("/run/sys")
    mount("--bind", "/run/sys", "/sys")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def too_long(*_):
    raise TimeoutError(f"a world takes longer than {WORLD_LIMIT} s")


def worker():
    """Reads jobs, a line of JSON each, from standard input; answers with a line each."""
    private()
    signal.signal(signal.SIGALRM, too_long)
    from maker import make
    from hosts import Trouble
    from world import World
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    for line in sys.stdin:
        job = json.loads(line)
        tally, start = {}, time.monotonic()
        lines = job.get("lines", [])
        signal.alarm(WORLD_LIMIT)
        try:
            lines = lines if "lines" in job else make(job["seed"])
            trouble = World(lines).run(program(), home, tally)
        except Exception:  # a fault of the fuzzer itself: said with its world, like any other
            trouble = Trouble("fuzzer", traceback.format_exc())
        signal.alarm(0)
        took = time.monotonic() - start
        print(json.dumps({"took": took, "tally": tally, "lines": lines,
                          "trouble": trouble and [trouble.promise, trouble.key, trouble.text]}), flush=True)


class Worker:
    def __init__(self, script=os.path.join(HERE, "fuzz.py")):
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        self.process = subprocess.Popen(
            ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc",
             sys.executable, script, "--worker", "yes"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.job = None

    def give(self, job):
        self.job = job
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker ended while it ran {self.job}")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


# ---- many worlds -----------------------------------------------------------------------------------------------------

def over_all(workers, jobs, seen):
    """Gives each worker a job as soon as it is free; seen(job, answer) is told of each."""
    import selectors
    selector = selectors.DefaultSelector()
    jobs = iter(jobs)

    def next_job(one):
        job = next(jobs, None)
        if job is None:
            selector.unregister(one.process.stdout)
        else:
            one.give(job)

    for one in workers:
        selector.register(one.process.stdout, selectors.EVENT_READ, one)
        next_job(one)
    while selector.get_map():
        for key, _ in selector.select():
            one = key.data
            answer = one.answer()
            seen(one.job, answer)
            next_job(one)


def shrink(one, lines, trouble, limit=30, most=300):
    """Drops lines as long as the same promise is broken in the same way."""
    end, tried = time.monotonic() + limit, 0

    def fails(candidate):
        one.give({"lines": candidate})
        found = one.answer()["trouble"]
        return found if found and found[:2] == trouble[:2] else None

    lines = [line for line in lines if not line.startswith("#")]
    size = max(1, len(lines) // 2)
    while size:
        start, dropped = 0, False
        while start < len(lines):
            if time.monotonic() > end or tried > most:
                return lines, trouble
            tried += 1
            candidate = lines[:start] + lines[start + size:]
            found = fails(candidate)
            if found:
                lines, trouble, dropped = candidate, found, True
            else:
                start += size
        if size == 1 and not dropped:
            break
        size = size // 2 if size > 1 else (1 if dropped else 0)
    return lines, trouble


class Report:
    def __init__(self, only, shrinking):
        self.worlds, self.took, self.tally, self.failed = 0, 0.0, {}, {}
        self.example = {}
        self.only, self.shrinking, self.waiting = only, shrinking, []

    def seen(self, job, answer):
        self.worlds += 1
        self.took += answer["took"]
        for what, n in answer["tally"].items():
            self.tally[what] = self.tally.get(what, 0) + n
            self.example.setdefault(what, job.get("name") or f"seed {job.get('seed')}")
        if answer["trouble"]:
            name = job.get("name") or f"seed {job.get('seed')}"
            kind = tuple(answer["trouble"][:2])
            self.failed.setdefault(kind, []).append(name)
            if len(self.failed[kind]) <= SHOWN and f"{kind[0]} {kind[1]}".startswith(self.only):
                self.waiting.append((name, answer["lines"], answer["trouble"]))
            print(f"FAIL  {name}: {answer['trouble'][0]} ({answer['trouble'][1]})", flush=True)

    def explain(self, workers, directory):
        os.makedirs(directory, exist_ok=True)
        for name, lines, trouble in self.waiting:
            if self.shrinking and not name.endswith(".world"):
                lines, trouble = shrink(workers[0], lines, trouble)
            stem = os.path.join(directory, "".join(c if c.isalnum() else "-" for c in f"{name}-{trouble[0]}-{trouble[1]}"))
            text = "".join(f"# {line}\n" for line in [name, f"{trouble[0]}: {trouble[1]}", *trouble[2].splitlines()])
            with open(f"{stem}.world", "w", encoding="utf-8") as file:
                file.write(text + "".join(f"{line}\n" for line in lines))
            print(f"\n== {name}: {trouble[0]} ({trouble[1]})\n{trouble[2]}\n-- {stem}.world\n" + "\n".join(lines), flush=True)

    def summary(self, seconds):
        print(f"\n{self.worlds} worlds in {seconds:.0f} s, {self.took / max(1, self.worlds):.3f} s each; "
              f"{sum(map(len, self.failed.values()))} failed")
        for kind, names in sorted(self.failed.items()):
            print(f"  {kind[0]} ({kind[1]}): {len(names)}: {', '.join(names[:5])}")
        for what, n in sorted(self.tally.items()):
            print(f"  {what}: {n} ({self.example[what]})")


def jobs_of(options, seed):
    if options.files:
        for path in options.files:
            with open(path, encoding="utf-8") as file:
                yield {"lines": file.read().splitlines(), "name": os.path.basename(path)}
        return
    folder = os.path.join(HERE, "worlds")
    for name in sorted(os.listdir(folder)) if options.worlds != 1 else []:
        if name.endswith(".world"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield {"lines": file.read().splitlines(), "name": name}
    end = time.monotonic() + options.seconds
    n = 0
    while (n < options.worlds) if options.worlds else (time.monotonic() < end):
        yield {"seed": seed + n}
        n += 1


def main():
    options = arguments()
    if options.worker:
        return worker()
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(3), "big") * 1000
    if options.print:
        from maker import make
        print("\n".join(make(seed)))
        return 0
    print(f"seed {seed}; {program()}", flush=True)
    start = time.monotonic()
    workers = [Worker() for _ in range(options.jobs)]
    report = Report(options.only, not options.no_shrink)
    over_all(workers, jobs_of(options, seed), report.seen)
    seconds = time.monotonic() - start
    report.explain(workers, os.path.join(TOP, "build", "fuzz-kernel"))
    for one in workers:
        one.end()
    report.summary(seconds)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
