# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel, asked by netlink: look-ups, rules, routes, addresses, links of a network namespace."""

import contextlib
import ctypes
import ipaddress
import os
import socket
import struct
from collections import namedtuple

MARK = 0x6962686B  # "ibhk": metric of ib-hook's routes, suppress_ifgroup of its rules

CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MNT_DETACH = 2
libc = ctypes.CDLL(None, use_errno=True)

RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE = 24, 25, 26
RTM_NEWRULE, RTM_DELRULE, RTM_GETRULE = 32, 33, 34
RTM_GETLINK, RTM_GETADDR, RTM_GETNEXTHOP = 18, 22, 106
NHA_ID, NHA_GROUP, NHA_OIF, NHA_GATEWAY, NHA_ENCAP_TYPE, NHA_ENCAP = 1, 2, 5, 6, 7, 8
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_EXCL_CREATE = 1, 4, 0x300, 0x600
NLMSG_ERROR, NLMSG_DONE = 2, 3
RTM_F_CLONED, RTM_F_LOOKUP_TABLE, RTM_F_FIB_MATCH = 0x200, 0x1000, 0x2000
VOLATILE_FLAGS = 1 | 16  # RTNH_F_DEAD, RTNH_F_LINKDOWN: the kernel sets them some time after the event

RTA_DST, RTA_SRC, RTA_IIF, RTA_OIF, RTA_GATEWAY, RTA_PRIORITY, RTA_PREFSRC = 1, 2, 3, 4, 5, 6, 7
RTA_METRICS, RTAX_MTU, RTA_MULTIPATH, RTA_CACHEINFO, RTA_TABLE, RTA_MARK, RTA_VIA = 8, 2, 9, 12, 15, 16, 18
RTA_ENCAP_TYPE, RTA_ENCAP, RTA_NH_ID = 21, 22, 30
FRA_DST, FRA_SRC, FRA_PRIORITY, FRA_SUPPRESS_IFGROUP, FRA_TABLE = 1, 2, 6, 13, 15

MAIN = 254
RTPROT_RA = 9
WALL = 777777  # the table of a rule that answers everything: what comes through to it, no rule before it has decided
KINDS = {1: "unicast", 2: "local", 3: "broadcast", 4: "anycast", 5: "multicast", 6: "blackhole", 7: "unreachable",
         8: "prohibit", 9: "throw"}
ERRORS = {13: "prohibit", 22: "blackhole", 101: "no route", 113: "unreachable", 18: "rp_filter"}

# What the kernel says of a question. error: no route, unreachable, … or ""; carried: metrics and encapsulation, as bytes
Answer = namedtuple("Answer", "kind dev via src table length mtu carried", defaults=(None, ()))
Question = namedtuple("Question", "family to source iif oif mark", defaults=(None, None, None, 0))
# A hop of a route of main; which: the route's number, so that hops of one route are known as such
MainRoute = namedtuple("MainRoute", "net kind via dev metric source tos carried which advertised")


def bits(address):
    return 128 if ":" in address else 32


def family_of(address):
    return 6 if ":" in address else 4


def pack(address):
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def unpack(raw):
    return socket.inet_ntop(socket.AF_INET6 if len(raw) == 16 else socket.AF_INET, raw)


def attribute(kind, payload):
    return struct.pack("=HH", len(payload) + 4, kind) + payload + b"\0" * (-len(payload) % 4)


def attributes(raw, start):
    found = {}
    while start + 4 <= len(raw):
        length, kind = struct.unpack_from("=HH", raw, start)
        if length < 4:
            break
        found[kind & 0x3FFF] = raw[start + 4:start + length]
        start += (length + 3) & ~3
    return found


def number(raw):
    return struct.unpack("=I", raw)[0]


def message(kind, flags, payload, sequence=0):
    return struct.pack("=IHHII", 16 + len(payload), kind, flags, sequence, 0) + payload


# ---- namespaces ------------------------------------------------------------------------------------------------------

def call(result, what):
    if result != 0:
        number_of_error = ctypes.get_errno()
        raise OSError(number_of_error, f"{what}: {os.strerror(number_of_error)}")


def enter(descriptor):
    call(libc.setns(descriptor, CLONE_NEWNET), "setns")


class Namespace:
    """A network namespace with a name that `ip netns` knows, and a netlink socket in it."""

    def __init__(self, name, home):
        self.name, self.home = name, home
        path = f"/run/netns/{name}"
        os.makedirs("/run/netns", exist_ok=True)
        with open(path, "w", encoding="ascii"):
            pass
        call(libc.unshare(CLONE_NEWNET), "unshare")
        try:
            call(libc.mount(b"/proc/self/ns/net", path.encode(), None, MS_BIND, None), "mount")
            self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
            self.socket.bind((0, 0))
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        finally:
            enter(home)

    @contextlib.contextmanager
    def inside(self):
        enter(self.descriptor)
        try:
            yield
        finally:
            enter(self.home)

    def close(self):
        self.socket.close()
        os.close(self.descriptor)
        path = f"/run/netns/{self.name}"
        libc.umount2(path.encode(), MNT_DETACH)
        os.unlink(path)

    # ---- netlink ----

    def dump(self, kind, payload):
        self.socket.send(message(kind, NLM_F_REQUEST | NLM_F_DUMP, payload))
        found = []
        while True:
            raw = self.socket.recv(1 << 18)
            start = 0
            while start + 16 <= len(raw):
                length, answer = struct.unpack_from("=IH", raw, start)
                if answer == NLMSG_DONE:
                    return found
                if answer == NLMSG_ERROR:
                    raise OSError(-struct.unpack_from("=i", raw, start + 16)[0], f"dump {kind} of {self.name}")
                found.append(raw[start + 16:start + length])
                start += (length + 3) & ~3

    def change(self, *messages):
        """Requests that have to succeed."""
        for one in messages:
            self.socket.send(one)
            raw = self.socket.recv(1 << 16)
            error = struct.unpack_from("=i", raw, 16)[0]
            if error:
                raise OSError(-error, f"{self.name}: {os.strerror(-error)}")

    def links(self):
        """name → (index, flags, master)"""
        found = {}
        for raw in self.dump(RTM_GETLINK, struct.pack("=BxHiII", 0, 0, 0, 0, 0)):
            index, flags = struct.unpack_from("=iI", raw, 4)
            known = attributes(raw, 16)
            master = number(known[10]) if 10 in known else 0
            found[known[3].rstrip(b"\0").decode()] = (index, flags, master)
        return found

    def addresses(self):
        """(device, address, prefix length, peer, flags, scope) of each, in the kernel's order"""
        names = {index: name for name, (index, _, _) in self.links().items()}
        found = []
        for raw in self.dump(RTM_GETADDR, struct.pack("=BBBBI", 0, 0, 0, 0, 0)):
            _, length, flags, scope, index = struct.unpack_from("=BBBBI", raw)
            known = attributes(raw, 8)
            flags = number(known[8]) if 8 in known else flags
            local = unpack(known.get(2, known.get(1)))
            found.append((names[index], local, length, unpack(known.get(1, known.get(2))), flags, scope))
        return found

    def objects(self):
        """number of a nexthop object → [(index of the device, the attributes of a route by it)], of a group those of its members"""
        found, groups = {}, {}
        for raw in self.dump(RTM_GETNEXTHOP, bytes(8)):
            known = attributes(raw, 8)
            one = number(known[NHA_ID])
            if NHA_GROUP in known:
                groups[one] = [number(known[NHA_GROUP][start:start + 4]) for start in range(0, len(known[NHA_GROUP]), 8)]
                continue
            way = {route: known[hop] for hop, route in ((NHA_GATEWAY, RTA_GATEWAY), (NHA_ENCAP_TYPE, RTA_ENCAP_TYPE), (NHA_ENCAP, RTA_ENCAP))
                   if hop in known}
            found[one] = [(number(known[NHA_OIF]) if NHA_OIF in known else None, way)]
        return found | {one: [way for member in members for way in found.get(member, ())] for one, members in groups.items()}

    def ask(self, questions, match=False):
        """The kernel's answers; with match the entry of the table it comes from."""
        links = self.links()
        self.names = {index: name for name, (index, _, _) in links.items()}
        objects = self.objects() if match else {}
        answers = []
        for start in range(0, len(questions), 64):
            chunk = [encode(one, links, match) for one in questions[start:start + 64]]
            self.socket.send(b"".join(chunk))
            for _ in chunk:
                answers.append(decode(self.socket.recv(1 << 16), self.names, objects))
        return answers


def encode(question, links, match):
    flags = RTM_F_LOOKUP_TABLE | (RTM_F_FIB_MATCH if match else 0)
    width = bits(question.to)
    body = struct.pack("=BBBBBBBBI", socket.AF_INET6 if question.family == 6 else socket.AF_INET, width,
                       width if question.source else 0, 0, 0, 0, 0, 0, flags)
    body += attribute(RTA_DST, pack(question.to))
    if question.source:
        body += attribute(RTA_SRC, pack(question.source))
    for kind, name in ((RTA_IIF, question.iif), (RTA_OIF, question.oif)):
        if name:
            body += attribute(kind, struct.pack("=I", links[name][0] if name in links else 0x7FFFFFF))
    if question.mark:
        body += attribute(RTA_MARK, struct.pack("=I", question.mark))
    return message(RTM_GETROUTE, NLM_F_REQUEST, body)


def carried(known):
    """What a route does to its packets beside leading them: metrics that are set, an encapsulation."""
    metrics = attributes(known[RTA_METRICS], 0) if RTA_METRICS in known else {}
    some = [(kind, value) for kind, value in sorted(metrics.items()) if any(value)]
    return tuple(some + [(f"encapsulation {kind}", known[kind]) for kind in (RTA_ENCAP_TYPE, RTA_ENCAP) if kind in known])


def is_encapsulated(some):
    return any(isinstance(kind, str) for kind, _ in some)


def gateway(known):
    raw = known.get(RTA_GATEWAY)
    if raw is None and RTA_VIA in known:
        raw = known[RTA_VIA][2:]
    return unpack(raw) if raw else None


def resolved(known, objects):
    """A route with its nexthop object's hops, of which the kernel says only the number with nexthop_compat_mode=0."""
    if RTA_NH_ID not in known or RTA_OIF in known or RTA_MULTIPATH in known:
        return known
    ways = [(index, way) for index, way in objects.get(number(known[RTA_NH_ID]), ()) if index is not None]
    if len(ways) == 1:
        return known | {RTA_OIF: struct.pack("=I", ways[0][0])} | ways[0][1]
    hops = b"".join(struct.pack("=HBBi", 8 + len(rest), 0, 0, index) + rest for index, rest in
                    ((index, b"".join(attribute(*one) for one in way.items())) for index, way in ways))
    return known | ({RTA_MULTIPATH: hops} if ways else {})


def decode(raw, names, objects):
    kind = struct.unpack_from("=H", raw, 4)[0]
    if kind == NLMSG_ERROR:
        error = -struct.unpack_from("=i", raw, 16)[0]
        return Answer(ERRORS.get(error, os.strerror(error)), None, None, None, 0, -1)
    raw = raw[16:]
    length, table, route_type = raw[1], raw[4], raw[7]
    known = resolved(attributes(raw, 12), objects)
    if RTA_TABLE in known:
        table = number(known[RTA_TABLE])
    if RTA_MULTIPATH in known:
        return Answer(KINDS[route_type] + " multipath", known[RTA_MULTIPATH], None, None, table, length)
    device = names.get(number(known[RTA_OIF])) if RTA_OIF in known else None
    source = unpack(known[RTA_PREFSRC]) if RTA_PREFSRC in known else None
    mtu = attributes(known[RTA_METRICS], 0).get(RTAX_MTU) if RTA_METRICS in known else None
    mtu = number(mtu) if mtu else None
    return Answer(KINDS.get(route_type, str(route_type)), device, gateway(known), source, table, length, mtu, carried(known))


# ---- what stands -----------------------------------------------------------------------------------------------------

class State:
    """Rules and routes of a namespace, in the kernel's order: each a tuple of what does not change by itself."""

    def __init__(self, namespace):
        names = {index: name for name, (index, _, _) in namespace.links().items()}
        self.rules, self.routes, self.our_rules, self.our_routes = [], [], [], []
        self.objects = namespace.objects()
        for family in (socket.AF_INET, socket.AF_INET6):
            for raw in namespace.dump(RTM_GETRULE, struct.pack("=BBBBBBBBI", family, 0, 0, 0, 0, 0, 0, 0, 0)):
                self.add_rule(raw)
            for raw in namespace.dump(RTM_GETROUTE, struct.pack("=BBBBBBBBI", family, 0, 0, 0, 0, 0, 0, 0, 0)):
                self.add_route(raw, names)

    def add_rule(self, raw):
        known = attributes(raw, 12)
        ours = FRA_SUPPRESS_IFGROUP in known and number(known[FRA_SUPPRESS_IFGROUP]) == MARK
        one = (raw[:12], tuple(sorted(known.items())))
        (self.our_rules if ours else self.rules).append(one)

    def add_route(self, raw, names):
        flags = struct.unpack_from("=I", raw, 8)[0]
        known = resolved(attributes(raw, 12), self.objects)
        multicast = raw[0] == socket.AF_INET6 and known.get(RTA_DST, b"")[:1] == b"\xff"  # comes some time after the link
        if flags & RTM_F_CLONED or multicast:
            return
        known.pop(RTA_CACHEINFO, None)
        if RTA_OIF in known:
            known[RTA_OIF] = names.get(number(known[RTA_OIF]), "?")
        if RTA_MULTIPATH in known:
            known[RTA_MULTIPATH] = hops(known[RTA_MULTIPATH], names)
        ours = raw[5] == 2 and RTA_PRIORITY in known and number(known[RTA_PRIORITY]) == MARK
        one = (raw[:8], flags & ~VOLATILE_FLAGS, tuple(sorted(known.items())))
        (self.our_routes if ours else self.routes).append(one)

    def all(self):
        return self.rules + self.our_rules + self.routes + self.our_routes

    def our_addresses(self):
        """address → table, of our rules `from ADDRESS lookup TABLE`"""
        found = {}
        for raw, known in self.our_rules:
            known = dict(known)
            if raw[2] in (32, 128) and FRA_SRC in known and any(known[FRA_SRC]):
                table = number(known.get(FRA_TABLE, struct.pack("=I", raw[4])))
                if table != MAIN:
                    found.setdefault(unpack(known[FRA_SRC]), table)
        return found

    def our_tables(self):
        return {number(dict(known)[RTA_TABLE]) for _, _, known in self.our_routes}

    @staticmethod
    def prefixes(routes):
        """table → {prefix: the kind of its first route}"""
        found = {}
        for raw, _, known in routes:
            known = dict(known)
            one = found.setdefault(number(known[RTA_TABLE]), {})
            one.setdefault(prefix(raw, known), KINDS[raw[7]])
        return found

    def main_routes(self):
        """Main's, in the kernel's order: one for each hop."""
        found = []
        for which, (raw, _, known) in enumerate(self.routes):
            known = dict(known)
            if number(known[RTA_TABLE]) != MAIN:
                continue
            metric, source = known.get(RTA_PRIORITY), prefix(raw, known, RTA_SRC, raw[2]) if raw[2] else None
            ways = [(known.get(RTA_OIF), known)]
            if RTA_MULTIPATH in known:
                ways = [(device, known | attributes(rest, 0)) for device, _, _, rest in known[RTA_MULTIPATH]]
            for device, way in ways:
                found.append(MainRoute(prefix(raw, known), KINDS[raw[7]], gateway(way), device, number(metric) if metric else 0,
                                       source, raw[3], carried(way), which, raw[5] == RTPROT_RA))
        return found

    def several(self, bound):
        """(table, prefix, ((device, gateway), …)) of each route of several hops that a packet may take. The best comes first;
        what is bound to a NIC passes those of others."""
        found, taken = [], set()
        for raw, _, known in self.routes:
            known = dict(known)
            to = (number(known[RTA_TABLE]), prefix(raw, known))
            if RTA_MULTIPATH in known and (bound or to not in taken):
                ways = [(device, gateway(attributes(rest, 0))) for device, _, _, rest in known[RTA_MULTIPATH]]
                found.append((*to, ways))
            taken.add(to)
        return found


def prefix(raw, known, what=RTA_DST, length=None):
    width = 16 if raw[0] == socket.AF_INET6 else 4
    return ipaddress.ip_network(f"{unpack(known.get(what, bytes(width)))}/{raw[1] if length is None else length}")


def hops(raw, names):
    found, start = [], 0
    while start + 8 <= len(raw):
        length, flags, weight, index = struct.unpack_from("=HBBi", raw, start)
        found.append((names.get(index, "?"), flags & ~VOLATILE_FLAGS, weight, raw[start + 8:start + length]))
        start += (length + 3) & ~3
    return tuple(found)


# ---- walls: a rule that answers everything ---------------------------------------------------------------------------

def rule_message(kind, family, priority, table):
    body = struct.pack("=BBBBBBBBI", family, 0, 0, 0, 0, 0, 0, 1, 0)
    body += attribute(FRA_PRIORITY, struct.pack("=I", priority)) + attribute(FRA_TABLE, struct.pack("=I", table))
    flags = NLM_F_REQUEST | NLM_F_ACK | (NLM_F_EXCL_CREATE if kind == RTM_NEWRULE else 0)
    return message(kind, flags, body)


def wall_route(kind, family):
    body = struct.pack("=BBBBBBBBI", family, 0, 0, 0, 0, 4, 0, 1, 0)  # protocol static, unicast
    body += attribute(RTA_OIF, struct.pack("=I", 1)) + attribute(RTA_TABLE, struct.pack("=I", WALL))
    flags = NLM_F_REQUEST | NLM_F_ACK | (NLM_F_EXCL_CREATE if kind == RTM_NEWROUTE else 0)
    return message(kind, flags, body)


@contextlib.contextmanager
def walled(namespace, *rules):
    """With these rules, pairs of a priority and a table, and routes that make the table WALL answer everything."""
    families = (socket.AF_INET, socket.AF_INET6)
    done = []
    try:
        for family in families:
            namespace.change(wall_route(RTM_NEWROUTE, family))
            done.append(wall_route(RTM_DELROUTE, family))
            for priority, table in rules:
                namespace.change(rule_message(RTM_NEWRULE, family, priority, table))
                done.append(rule_message(RTM_DELRULE, family, priority, table))
        yield
    finally:
        for one in reversed(done):
            namespace.change(one)
