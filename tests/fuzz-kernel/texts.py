# SPDX-License-Identifier: GPL-2.0-or-later
"""Words for failures."""

from kernel import MAIN, number, unpack

METRICS = {1: "lock", 2: "mtu", 8: "advmss", 10: "hoplimit", 11: "initcwnd", 12: "features", 13: "rto_min", 14: "initrwnd", 15: "quickack"}


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
