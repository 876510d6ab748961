#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Unseen faults for --check: right hosts on the real kernel, one thing breaks, and packets say whether traffic still is right.
README.md of tests has what it promises.   fuzz_check.py [--worlds N] [--seed N] [--jobs N] [--print]"""

import argparse
import json
import os
import signal
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "fuzz-kernel")]
sys.dont_write_bytecode = True
import fuzz  # noqa: E402

WORLD_LIMIT = 60  # seconds
FAILURES = ("silent", "misnamed", "accused", "fix", "harmed", "not-right", "apply", "fuzzer", "exit")
SHOWN = 2  # of worlds that fail alike


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=int(os.environ.get("FUZZ_CHECK_WORLDS") or 200))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FUZZ_CHECK_SEED") or 0),
                        help="of the first world; each next one has the next number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--print", action="store_true", help="what is found in each world, right or not")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


def worker():
    """Reads jobs, a line of JSON each, from standard input; answers with a line each."""
    fuzz.private()
    signal.signal(signal.SIGALRM, fuzz.too_long)
    from hosts import Trouble
    from scene import lacking
    from verdict import World
    home, absent = os.open("/proc/self/ns/net", os.O_RDONLY), lacking()
    for line in sys.stdin:
        job = json.loads(line)
        tally, start, world = {}, time.monotonic(), None
        signal.alarm(WORLD_LIMIT)
        try:
            world = World(job["seed"], fuzz.program(), home, absent)
            verdict, cause, text = world.run(tally)
        except Trouble as trouble:
            verdict, cause, text = "exit", trouble.promise, trouble.text
        except Exception:  # a fault of the fuzzer itself: said with its world, like any other
            verdict, cause, text = "fuzzer", traceback.format_exc().splitlines()[-1], traceback.format_exc()
        signal.alarm(0)
        print(json.dumps({"took": time.monotonic() - start, "tally": tally, "verdict": verdict, "cause": cause, "text": text,
                          "lines": world.lines if world else [], "script": getattr(world, "script", "")}), flush=True)


class Report:
    def __init__(self, everything):
        self.everything, self.verdicts, self.tally, self.failed, self.took = everything, {}, {}, {}, 0.0
        self.directory = os.path.join(TOP, "build", "fuzz-check")
        os.makedirs(self.directory, exist_ok=True)

    def seen(self, job, answer):
        verdict, name = answer["verdict"], f"seed {job['seed']}"
        self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
        self.took += answer["took"]
        for what, n in answer["tally"].items():
            self.tally[what] = self.tally.get(what, 0) + n
        text = "\n".join([f"{name}: {verdict}: {answer['cause']}", *answer["lines"], answer["text"].rstrip()])
        if verdict in FAILURES:
            some = self.failed.setdefault((verdict, answer["cause"]), [])
            some.append(job["seed"])
            if len(some) <= SHOWN:
                path = os.path.join(self.directory, f"{job['seed']}-{verdict}.sh")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(answer["script"])
                print(f"\nFAIL  {text}\n-- {path}", flush=True)
        elif self.everything:
            print(f"\n{text}", flush=True)

    def summary(self, seconds):
        tried = sum(self.verdicts.values())
        print(f"\n{tried} tried in {seconds:.0f} s, {self.took / max(1, tried):.2f} s each")
        for what in ("named", "misnamed", "silent", "accused", "right", "right, said", "unclear", "hidden", "refused", "fix", "harmed"):
            print(f"  {what}: {self.verdicts.pop(what, 0)}")
        for what, n in sorted((self.verdicts | self.tally).items()):
            print(f"  {what}: {n}")
        for (verdict, cause), seeds in sorted(self.failed.items()):
            print(f"FAILED  {verdict}: {cause}: {len(seeds)}: --seed {', '.join(map(str, seeds[:5]))}")


def main():
    options = arguments()
    if options.worker:
        return worker()
    seed = options.seed or int.from_bytes(os.urandom(3), "big") * 1000
    print(f"seed {seed}; {fuzz.program()}", flush=True)
    start = time.monotonic()
    workers = [fuzz.Worker(os.path.join(HERE, "fuzz_check.py")) for _ in range(min(options.jobs, options.worlds))]
    report = Report(options.print)
    fuzz.over_all(workers, ({"seed": seed + n} for n in range(options.worlds)), report.seen)
    for one in workers:
        one.end()
    report.summary(time.monotonic() - start)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
