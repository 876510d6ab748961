# SPDX-License-Identifier: GPL-2.0-or-later
"""compare.py EXPECTED DIRECTORY MACHINE [accept]: what guard counted against what is expected."""

import pathlib
import platform
import re
import sys

import calls

TOLERATED = 0.03
NETLINK = ["requests", "bytes-sent", "round-trips"]  # of ib-hook alone
ANSWERS = ["answers", "bytes-received"]  # of the kernel, too
LIBRARIES = ["instructions", "system-calls"]  # of the compiler, the libraries and their loader, too
COLUMNS = LIBRARIES + NETLINK + ANSWERS
HEAD = """\
# What ib-hook asks of a machine, counted by make bench-guard, which fails where a number has risen by more than 3 %.
# Is it worth it? Then make bench-guard ACCEPT=1 writes this file anew, and the commit says why. Fallen: the same.
"""


def instructions(path):
    return int(re.search(r"^summary: (\d+)", path.read_text(), re.MULTILINE).group(1))


def counted(directory):
    table = {}
    for path in sorted(directory.glob("*.strace"), key=lambda path: path.stat().st_mtime):
        row = calls.counts(calls.read(path))
        row["instructions"] = instructions(path.with_suffix(".callgrind"))
        table[path.stem] = row
    return table


def write(path, facts, table):
    lines = [HEAD.rstrip(), *(f"{key}: {value}" for key, value in facts.items())]
    lines.append("".join([f"{'':<28}", *(f"{column:>16}" for column in COLUMNS)]))
    for name, row in table.items():
        lines.append("".join([f"{name:<28}", *(f"{row[column]:>16}" for column in COLUMNS)]))
    path.write_text("\n".join(lines) + "\n")


def read(path):
    facts, table = {}, {}
    for line in path.read_text().splitlines():
        words = line.split()
        if re.match(r"(machine|kernel): ", line):
            facts[words[0][:-1]] = line.split(": ", 1)[1]
        elif len(words) == len(COLUMNS) + 1 and not line.startswith(("#", " ")):
            table[words[0]] = dict(zip(COLUMNS, map(int, words[1:])))
    return facts, table


def comparable(was, facts):
    """The columns that mean the same here as where the file was written."""
    columns = list(NETLINK)
    if was.get("machine") == facts["machine"]:
        columns += LIBRARIES
    else:
        print(f"bench-guard: instructions and system calls are not compared: expected has them of\n  {was.get('machine')}\n"
              f"and here is\n  {facts['machine']}")
    if was.get("kernel") == facts["kernel"]:
        columns += ANSWERS
    else:
        print(f"bench-guard: answers are not compared: expected has them of Linux {was.get('kernel')}, here is {facts['kernel']}")
    return columns


def compare(expected, table, columns):
    risen = fallen = 0
    for name in [*expected, *(name for name in table if name not in expected)]:
        if name not in expected or name not in table:
            print(f"bench-guard: {name}: only in {'what was counted' if name in table else 'expected'}")
            risen += 1
            continue
        for column in columns:
            before, now = expected[name][column], table[name][column]
            change = f"{name}: {column}: expected {before}, counted {now}" + (f" ({now / before - 1:+.1%})" if before else "")
            if now > before * (1 + TOLERATED):
                print(f"bench-guard: {change}: more than 3 % more")
                risen += 1
            elif now < before * (1 - TOLERATED):
                print(f"bench-guard: {change}: better")
                fallen += 1
    return risen, fallen


def main():
    path, facts = pathlib.Path(sys.argv[1]), {"machine": sys.argv[3]}
    facts["kernel"] = ".".join(platform.release().split(".")[:2])
    table = counted(pathlib.Path(sys.argv[2]))
    if "accept" in sys.argv[4:]:
        write(path, facts, table)
        print(f"bench-guard: wrote {path}: commit it, and say why")
        return 0
    was, expected = read(path)
    risen, fallen = compare(expected, table, comparable(was, facts))
    if risen:
        print("bench-guard: is it worth it? Then make bench-guard ACCEPT=1, and say why in the commit")
    elif fallen:
        print("bench-guard: make bench-guard ACCEPT=1 lowers the numbers, so that it stays so")
    else:
        print(f"bench-guard: {len(table)} scenarios as expected")
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
