# SPDX-License-Identifier: GPL-2.0-or-later
"""Echo requests between namespaces, and by which ports of the wire they and their replies go; who answers for an address."""

import errno
import select
import socket
import struct
import time

from kernel import family_of, unpack

OUTGOING = 4
ARP, IP4, IP6 = 0x0806, 0x0800, 0x86DD
REQUEST, REPLY = {8, 128}, {0, 129}
QUIET = 0.004  # seconds without a packet, after all have been answered
IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, DO = 10, 23, 2


class Echo:
    """A request, and what became of it."""

    def __init__(self, space, source, to, size=64, about=None, bound=None):
        self.space, self.source, self.to, self.size, self.about, self.bound = space, source, to, size, about, bound
        self.error = ""
        self.answered = False
        self.left, self.arrived, self.back_left, self.back_arrived = set(), set(), set(), set()

    def __str__(self):
        size = f" of {self.size} bytes" if self.size > 64 else ""
        return f"{self.space} {self.source or 'unbound'}{' by its NIC' if self.bound else ''} to {self.to}{size}"


def checksum(raw):
    total = sum(struct.unpack(f"!{len(raw) // 2}H", raw))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


class Wire:
    """ports: name of a port of the wire → (space, NIC)"""

    def __init__(self, scene, ports):
        self.scene, self.ident = scene, 0x1B00
        with scene["wire"].inside():
            self.ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.ear.setsockopt(socket.SOL_SOCKET, 33, 4 << 20)  # SO_RCVBUFFORCE
        self.ports = ports
        self.readers = {}
        for space in {one[0] for one in ports.values()}:
            with scene[space].inside():
                for family, protocol in ((socket.AF_INET, 1), (socket.AF_INET6, 58)):
                    one = socket.socket(family, socket.SOCK_RAW, protocol)
                    one.setblocking(False)
                    self.readers[one] = (space, family)
        self.ear.setblocking(False)

    def close(self):
        for one in [self.ear, *self.readers]:
            one.close()

    def drain(self):
        for one in [self.ear, *self.readers]:
            for _ in range(100000):
                try:
                    one.recv(64)
                except BlockingIOError:
                    break

    def exchange(self, echoes, limit):
        """Sends all, and looks until each is answered or the time is over. address → {(port, MAC) that answers for it}"""
        self.drain()
        self.ident = (self.ident + 1) & 0xFFFF
        self.macs = {nic: link.mac for nic, link in self.scene.facts().items()}
        self.echoes = dict(enumerate(echoes))
        self.answers = {}
        for space in sorted({one.space for one in echoes}):
            with self.scene[space].inside():
                for number, one in self.echoes.items():
                    if one.space == space:
                        self.send(number, one)
        end = time.monotonic() + limit
        while True:
            waits = any(not one.answered and not one.error for one in echoes)
            left = end - time.monotonic()
            ready = select.select([self.ear, *self.readers], [], [], max(0, left if waits else min(left, QUIET)))[0]
            if not ready or left < 0:
                break
            for one in ready:
                self.hear(one)
        return self.answers

    def send(self, number, one):
        six = family_of(one.to) == 6
        head = struct.pack("!BBHHH", 128 if six else 8, 0, 0, self.ident, number)
        raw = head + bytes(max(0, one.size - 8 - (40 if six else 20)))
        if not six:
            raw = raw[:2] + struct.pack("!H", checksum(raw + bytes(len(raw) % 2))) + raw[4:]
        try:
            with socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_RAW, 58 if six else 1) as sender:
                sender.setsockopt(41 if six else 0, IPV6_MTU_DISCOVER if six else IP_MTU_DISCOVER, DO)
                if one.bound:
                    sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, one.bound.encode())
                if one.source:
                    sender.bind((one.source, 0))
                sender.sendto(raw, (one.to, 0))
        except OSError as error:
            one.error = errno.errorcode.get(error.errno, str(error))

    def hear(self, one):
        for _ in range(100000):
            try:
                if one is self.ear:
                    raw, place = one.recvfrom(256)
                    self.on_wire(raw, place)
                else:
                    self.received(one.recv(256), *self.readers[one])
            except BlockingIOError:
                return

    def received(self, raw, space, family):
        if family == socket.AF_INET:
            raw = raw[(raw[0] & 15) * 4:]
        if len(raw) < 8 or raw[0] not in REPLY:
            return
        ident, number = struct.unpack_from("!HH", raw, 4)
        if ident == self.ident and number in self.echoes and self.echoes[number].space == space:
            self.echoes[number].answered = True

    def on_wire(self, raw, place):
        space, nic = self.ports.get(place[0], (None, None))
        if space is None or len(raw) < 42:
            return
        outgoing, kind = place[2] == OUTGOING, struct.unpack_from("!H", raw, 12)[0]
        who = nic if space == "host" else f"{space} {nic}"
        if kind == ARP:
            if not outgoing and raw[20:22] == b"\0\2":
                self.answers.setdefault(unpack(raw[28:32]), set()).add((who, raw[22:28].hex(":")))
            return
        if kind == IP4 and raw[23] == 1:
            icmp = 14 + (raw[14] & 15) * 4
        elif kind == IP6 and raw[20] == 58:
            icmp = 54
        else:
            return
        what = raw[icmp]
        if kind == IP6 and what == 136 and not outgoing:
            self.answers.setdefault(unpack(raw[icmp + 8:icmp + 24]), set()).add((who, raw[6:12].hex(":")))
        if what not in REQUEST | REPLY:
            return
        ident, number = struct.unpack_from("!HH", raw, icmp + 4)
        if ident != self.ident or number not in self.echoes:
            return
        echo = self.echoes[number]
        if outgoing and (space != "host" or raw[:6] == self.macs.get(nic)):
            (echo.arrived if what in REQUEST else echo.back_arrived).add(nic)
        elif not outgoing:
            (echo.left if what in REQUEST else echo.back_left).add(nic)
