# SPDX-License-Identifier: GPL-2.0-or-later
"""A host under test and its twin without ib-hook: the same network interfaces, and the same is done to both."""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time

from kernel import FRA_PRIORITY, Namespace, State, number

SYS = "/run/sys"
CONFIG = "/etc/ib-hook/ib-hook.conf"
ETH_P_ARP = 0x0806
WAIT = 0.5  # seconds for a packet
LIMIT = 20  # seconds for any program
UP, RUNNING, LOWER_UP = 1, 0x40, 0x10000  # flags of a link
GONE = "(gone)"  # in the list of RDMA NICs

PORT = {"gid_attrs/ndevs/0": "{nic}", "gid_attrs/types/0": "RoCE v2", "link_layer": "Ethernet", "state": "4: ACTIVE",
        "phys_state": "5: LinkUp"}


class Trouble(Exception):
    """A promise is broken."""

    def __init__(self, promise, text, key=""):
        super().__init__(f"{promise}: {text}")
        self.promise, self.text, self.key = promise, text, key


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def mac(number_of_nic):
    return f"02:00:00:00:22:{number_of_nic:02x}"


def rdma_device(number_of_device, nic):
    """One device with one port for the NIC, as /sys/class/infiniband shows it."""
    device = f"{SYS}/class/infiniband/mlx5_{number_of_device}"
    shutil.rmtree(device, ignore_errors=True)
    if nic is None:
        return
    os.makedirs(f"{device}/device/net/{nic}")
    for path, text in PORT.items():
        write(f"{device}/ports/1/{path}", text.format(nic=nic) + "\n")
    write(f"{device}/ports/1/gids/0", f"fe80:0000:0000:0000:0000:00ff:fe00:22{number_of_device:02x}\n")


def settings(lines):
    """(section, setting) of each line `config [section] key=value`."""
    return [re.fullmatch(r"config (\[.*?\]) (\S+=.*)", line).groups() for line in lines if line.startswith("config ")]


def run(command, namespace=None, text=None, env=None):
    """Its status and what it said."""
    try:
        if namespace is None:
            done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=LIMIT, env=env, check=False)
        else:
            with namespace.inside():
                done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=LIMIT, env=env,
                                      check=False)
    except subprocess.TimeoutExpired:
        raise Trouble("ends", f"{' '.join(command)} did not end within {LIMIT} s") from None
    return done.returncode, done.stdout, done.stderr


def batch(namespace, family, lines):
    """Lines of `ip`, all of them whatever fails: what it said, without what a reader of the failure has no use for."""
    command = ["ip", "-force"] + (["-6"] if family == "-6" else []) + ["-batch", "-"]
    return run(command, namespace, "\n".join(lines) + "\n")[2]


def refused(said):
    """The numbers of these lines."""
    return {int(one) for one in re.findall(r"^Command failed -:(\d+)$", said, re.MULTILINE)}


class Host:
    def __init__(self, program, home):
        self.program, self.hooks = program, os.path.join(os.path.dirname(program), "hooks")
        shutil.rmtree("/run/ib-hook", ignore_errors=True)
        shutil.rmtree(f"{SYS}/class", ignore_errors=True)
        os.makedirs(f"{SYS}/class/infiniband")
        if os.path.exists(CONFIG):
            os.unlink(CONFIG)
        self.spaces = []
        for name in ("away", "far-away"):
            self.space(name, home)
        self.wire, self.twin, self.host = (self.space(name, home) for name in ("wire", "twin", "host"))
        for one in (self.twin, self.host):
            self.defaults(one)
        batch(self.host, "", ["link set lo up"])
        batch(self.twin, "", ["link set lo up"])
        self.nics, self.rdma = [], []
        with self.wire.inside():
            self.ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ARP))
        self.touched = False  # has ib-hook done anything yet?

    def space(self, name, home):
        one = Namespace(name, home)
        self.spaces.append(one)
        return one

    @staticmethod
    def defaults(namespace):
        """The kernel's own, whatever this machine has; and nothing that comes by itself, some time."""
        with namespace.inside():
            for which in ("all", "default"):
                for key in ("rp_filter", "arp_filter", "arp_announce", "arp_ignore", "accept_local"):
                    write(f"/proc/sys/net/ipv4/conf/{which}/{key}", "0")
            for key, value in (("router_solicitations", "0"), ("addr_gen_mode", "1")):
                write(f"/proc/sys/net/ipv6/conf/default/{key}", value)

    def close(self):
        self.ear.close()
        for one in self.spaces:
            one.close()

    def asks_for(self, source, to, neighbour):
        """A packet is sent; (NIC, sender) of the ARP request for the neighbour that it makes, or None."""
        self.ear.setblocking(False)
        for _ in range(1000):
            if self.nothing_heard():
                break
        with self.host.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.bind((source, 0))
            one.sendto(b"?", (to, 9))
        self.ear.settimeout(WAIT)
        try:
            for _ in range(100):
                raw, (port, *_) = self.ear.recvfrom(2048)
                if socket.inet_ntoa(raw[38:42]) == neighbour and port.startswith("h"):
                    return self.nics[int(port[1:])], socket.inet_ntoa(raw[28:32])
        except TimeoutError:
            pass
        return None

    def who_answers(self, side, nics, address, asker):
        """The NIC by which the first answer comes to an ARP request on all wires, or None."""
        own = b"\x02\0\0\0\x10\1"
        frame = b"\xff" * 6 + own + struct.pack("!HHHBBH", ETH_P_ARP, 1, 0x0800, 6, 4, 1) + own + socket.inet_aton(asker) + \
            bytes(6) + socket.inet_aton(address)
        for nic in nics:
            self.ear.sendto(frame, (f"{side}{self.nics.index(nic)}", ETH_P_ARP))
        self.ear.settimeout(WAIT)
        try:
            for _ in range(100):
                raw, (port, *_) = self.ear.recvfrom(2048)
                if raw[20:22] == b"\0\2" and socket.inet_ntoa(raw[28:32]) == address and port.startswith(side):
                    return self.nics[int(port[1:])]
        except TimeoutError:
            pass
        return None

    def nothing_heard(self):
        try:
            self.ear.recv(2048)
        except BlockingIOError:
            return True
        return False

    # ---- what a world is made of ----

    def plug(self, nics):
        """Lines `nic NAME [rdma] [no-carrier]`: veth pairs, made in this order in the host and its twin."""
        lines, up = [], []
        for n, words in enumerate(nics):
            self.nics.append(words[0])
            for side, space in (("h", "host"), ("t", "twin")):
                lines.append(f"link add {side}{n} type veth peer name {words[0]} address {mac(n)} netns {space}")
                if "no-carrier" not in words:
                    up.append(f"link set {side}{n} up")
            if "rdma" in words:
                rdma_device(len(self.rdma), words[0])
                self.rdma.append(words[0])
        said = batch(self.wire, "", lines + up)
        if said:
            raise RuntimeError(f"the world cannot be made: {said}")

    def configure(self, pairs):
        if pairs:
            write(CONFIG, "".join(f"{section}\n{setting}\n" for section, setting in pairs))
            os.chmod(CONFIG, 0o644)

    def sysctl(self, line):
        path, value = line.split("=")
        for one in (self.host, self.twin):
            with one.inside():
                try:
                    write(f"/proc/sys/{path}", value)
                except OSError:
                    pass  # of an interface that is away

    def ip(self, lines):
        """The same lines in both, as long as they are of one family: [(family, line)]"""
        start = 0
        while start < len(lines):
            end = start
            while end < len(lines) and lines[end][0] == lines[start][0] and not self.places_itself(lines[end][1]):
                end += 1
            if end == start:
                self.rule_without_priority(*lines[start])
                start += 1
            else:
                self.in_both(lines[start][0], [line for _, line in lines[start:end]])
                start = end

    def in_both(self, family, lines):
        """What works in the twin works in the host. What the twin refuses is done in neither: unbound traffic that is spread passes
        by later rules of others, and so does the kernel's look-up of a gateway."""
        said = batch(self.twin, family, [line.replace("netns away", "netns far-away") for line in lines])
        lines = [line for n, line in enumerate(lines, 1) if n not in refused(said)]
        said = batch(self.host, family, lines)
        if self.touched and refused(said):
            raise Trouble("g-others", f"what works without ib-hook fails with it: {lines}\n{said}", "refused")

    def back(self, nic):
        """From the network namespace that it was moved to; one that had another name by then never left."""
        for away, home in (("away", "host"), ("far-away", "twin")):
            space = next(one for one in self.spaces if one.name == away)
            said = batch(space, "", [f"link set {nic} netns {home}"] if nic in space.links() else [])
            if said:
                raise RuntimeError(f"{nic} does not come back: {said}")

    # ---- names and numbers that change hands ----

    def is_here(self, nic):
        return nic in self.host.links() and nic in self.twin.links()

    def rename(self, nic, name):
        """False: not possible."""
        if not self.is_here(nic) or self.is_here(name):
            return False
        was_up = self.twin.links()[nic][1] & 1
        lines = [f"link set {nic} down", f"link set {nic} name {name}"] + ([f"link set {name} up"] if was_up else [])
        for one in (self.host, self.twin):
            batch(one, "", lines)
        self.nics[self.nics.index(nic)] = name
        if nic in self.rdma:
            rdma_device(self.rdma.index(nic), name)
            self.rdma[self.rdma.index(nic)] = name
        return True

    @staticmethod
    def carriers_are_known(one):
        """The kernel learns of a carrier a moment after a link is up. Until then the hops of a route are dead by it, and a
        route that loses its last other hop goes."""
        end = time.monotonic() + 2
        while any(flags & (UP | LOWER_UP) == UP | LOWER_UP and not flags & RUNNING for _, flags, _ in one.links().values()):
            if time.monotonic() > end:
                return
            time.sleep(0.002)

    def reborn(self, nic, name, *values):
        if nic not in self.nics or not self.is_here(nic) or (name != nic and self.is_here(name)):
            return False
        n = self.nics.index(nic)
        for side, space, one in (("h", "host", self.host), ("t", "twin", self.twin)):
            index = one.links()[nic][0]
            self.carriers_are_known(one)
            batch(one, "", [f"link del {nic}"])
            said = batch(self.wire, "", [f"link add {side}{n} index {2000 + self.wire.links()['lo'][0] + 2 * n + (side == 't')} type veth "
                                         f"peer name {name} index {index} address {mac(100 + n)} netns {space}", f"link set {side}{n} up"])
            if said:
                raise RuntimeError(f"{name} cannot be made: {said}")
        self.nics[n] = name
        if nic in self.rdma:
            rdma_device(self.rdma.index(nic), None)
            self.rdma[self.rdma.index(nic)] = GONE
        for one in values:
            self.sysctl(f"net/ipv4/conf/{name}/{one}")
        return True

    def places_itself(self, line):
        return self.touched and line.startswith("rule add") and not re.search(r"\b(priority|pref|prio)\b", line)

    def rule_without_priority(self, family, line):
        """It lands before all others, ours as well; the twin has it at the same place."""
        before = {rule for rule in State(self.host).rules}
        batch(self.host, family, [line])
        new = [rule for rule in State(self.host).rules if rule not in before]
        for _, known in new:
            known = dict(known)
            priority = number(known.get(FRA_PRIORITY, struct.pack("=I", 0)))
            batch(self.twin, family, [f"{line} priority {priority}"])

    def ours(self, family, lines):
        batch(self.host, family, lines)

    # ---- the program under test ----

    def hook(self, *arguments):
        self.touched = True
        return run([self.program, *arguments], self.host)

    def expect(self, statuses, *arguments):
        status, out, err = self.hook(*arguments)
        if status not in statuses:
            raise Trouble("exit", f"ib-hook {' '.join(arguments)}: expected exit status {statuses}, got {status}\n{out}{err}",
                          arguments[0])
        return status, out

    def json(self, statuses, *arguments):
        status, out = self.expect(statuses, *arguments, "--json")
        try:
            return status, json.loads(out)
        except ValueError:
            raise Trouble("exit", f"ib-hook {' '.join(arguments)} --json: no JSON: {out}", "json") from None

    def manager_calls(self, words):
        """nm-dispatcher NIC ACTION | ifupdown NIC start|stop | networkd-dispatcher NIC STATE"""
        self.touched = True
        hook, nic, action = words
        env, arguments = {"PATH": "/usr/bin"}, []
        if hook == "nm-dispatcher":
            arguments = [nic, action]
        elif hook == "ifupdown":
            env = {"IFACE": nic, "MODE": action, "PHASE": "post-up" if action == "start" else "post-down"}
        else:
            env = {"IFACE": nic, "OperationalState": action, "AdministrativeState": "configured"}
        status, out, err = run([f"{self.hooks}/{hook}", *arguments], self.host, "", env)
        if status or out:
            raise Trouble("exit", f"hook {words}: expected exit status 0 and silence, got {status}: {out}{err}", "hook")

    def killed(self, which):
        """--apply that ends at its system call number `which` of those that change something."""
        self.touched = True
        calls = "sendmsg,sendto,write,rename,renameat,unlink"
        run(["strace", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:signal=KILL:when={which}",
             self.program, "--apply"], self.host)

    def waits(self):
        """Processes of --apply --confirm."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if b"--confirm" in words and words[0] == self.program.encode():
                found.append(int(pid))
        return found

    def forget(self):
        shutil.rmtree("/run/ib-hook", ignore_errors=True)

    # ---- sysctls ----

    def sysctls(self, namespace):
        """Of every interface, as the files read."""
        found = {}
        with namespace.inside():
            for family in ("ipv4", "ipv6"):
                top = f"/proc/sys/net/{family}/conf"
                for nic in sorted(os.listdir(top)):
                    if family == "ipv6" and nic not in self.rdma:
                        continue
                    for key in os.listdir(f"{top}/{nic}"):
                        try:
                            with open(f"{top}/{nic}/{key}", encoding="ascii") as file:
                                found[f"{family}/conf/{nic}/{key}"] = file.read()
                        except OSError:
                            pass  # stable_secret
        return found

    def arp(self, namespace):
        keys = ("rp_filter", "arp_filter", "arp_announce", "arp_ignore", "accept_local", "ignore_routes_with_linkdown")
        found = {}
        with namespace.inside():
            for nic in sorted(os.listdir("/proc/sys/net/ipv4/conf")):
                for key in keys:
                    with open(f"/proc/sys/net/ipv4/conf/{nic}/{key}", encoding="ascii") as file:
                        found[f"{nic}/{key}"] = file.read().strip()
        return found
