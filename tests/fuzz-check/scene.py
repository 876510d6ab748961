# SPDX-License-Identifier: GPL-2.0-or-later
"""A host, its peers and the wires between them, in namespaces. What is done to them is kept, to be shown as a shell script.

Steps: ("ip", SPACE, LINE)  ("set", SPACE, "net/…/KEY=VALUE")  ("config", TEXT)  ("rdma", NIC)  ("run", COMMAND)
"""

import contextlib
import os
import shlex
import shutil
import struct
import time

from hosts import CONFIG, SYS, Trouble, batch, run, write
from kernel import NLM_F_ACK, NLM_F_REQUEST, RTM_GETLINK, Namespace, attribute, attributes, message, number, pack

SPACES = ("away", "gw", "p0", "p1", "host", "wire")
DEFAULTS = [f"net/ipv4/conf/{which}/{key}=0" for which in ("all", "default")
            for key in ("rp_filter", "arp_filter", "arp_announce", "arp_ignore", "accept_local")] + [
    "net/ipv4/icmp_ratelimit=0", "net/ipv6/icmp/ratelimit=0",
    "net/ipv6/conf/default/accept_dad=0", "net/ipv6/conf/default/router_solicitations=0"]
TOOLS = "/run/tools"
TENTATIVE, DAD = 0x40, 0x48  # IFA_F_TENTATIVE, with IFA_F_DADFAILED
RTM_DELNEIGH, RTM_GETNEIGH = 29, 30
PERMANENT, NOARP, MULTICAST = 0x80, 0x40, 5  # states of a neighbour; a type of route

HEAD = """#!/bin/bash
# Run as root, with IB_HOOK=…/ib-hook: it makes private namespaces, and opens a shell in the host at the end.
set -u
if [ -z "${INSIDE:-}" ]; then
    IB_HOOK=$(realpath "${IB_HOOK:-build/ib-hook}") INSIDE=$(mktemp -d)
    cp "$IB_HOOK" "$INSIDE/ib-hook"
    export INSIDE
    exec unshare --net --mount --pid --fork --mount-proc bash "$0" "$@"
fi
mount -t tmpfs tmpfs /run
[ ! -d /var/lib/ib-hook ] || mount -t tmpfs tmpfs /var/lib/ib-hook
cp -r /etc /run/etc && mount --bind /run/etc /etc && rm -rf /etc/ib-hook /etc/iproute2 && mkdir /etc/ib-hook
mkdir -p /run/netns /run/sys/class/infiniband /run/tools && mount --bind /run/sys /sys
cp "$INSIDE/ib-hook" /run/tools/ib-hook && printf '#!/bin/sh\\nexec "$@"\\n' >/run/tools/sudo && chmod +x /run/tools/sudo
export PATH=/run/tools:$PATH
on() { nsenter --net=/run/netns/"$1" "${@:2}"; }
setting() { on "$1" sh -c "echo ${2#*=} >/proc/sys/${2%%=*}"; }
"""


def gid(address):
    raw = pack(address)
    raw = bytes(10) + b"\xff\xff" + raw if len(raw) == 4 else raw
    return ":".join(raw[n:n + 2].hex() for n in range(0, 16, 2))


class Scene:
    def __init__(self, program, home):
        self.program, self.home = program, home
        shutil.rmtree("/run/ib-hook", ignore_errors=True)
        shutil.rmtree(f"{SYS}/class", ignore_errors=True)
        os.makedirs(f"{SYS}/class/infiniband")
        if os.path.exists(CONFIG):
            os.unlink(CONFIG)
        if not os.path.exists(TOOLS):
            os.makedirs(TOOLS)
            write(f"{TOOLS}/sudo", '#!/bin/sh\nexec "$@"\n')
            os.chmod(f"{TOOLS}/sudo", 0o755)
            os.symlink(program, f"{TOOLS}/ib-hook")
        self.env = {"PATH": f"{TOOLS}:{os.environ['PATH']}", "LC_ALL": "C"}
        self.script, self.rdma, self.spaces = [], [], {}
        for name in SPACES:
            self.spaces[name] = Namespace(name, home)
            self.script.append(f"ip netns add {name}")
        for name in SPACES:
            self.play([("ip", name, "link set lo up"), *(("set", name, one) for one in DEFAULTS)])

    def __getitem__(self, name):
        return self.spaces[name]

    def close(self):
        for one in self.spaces.values():
            one.close()

    def settled(self, limit=3):
        """No address is tentative any more."""
        end = time.monotonic() + limit
        while time.monotonic() < end and any(
                one[4] & DAD == TENTATIVE and one[5] == 0 for name in ("p0", "p1", "host") for one in self[name].addresses()):
            time.sleep(0.005)

    # ---- steps ----

    def play(self, steps):
        """What `ip` said of those that failed."""
        said, waiting = "", []
        for step in list(steps) + [("end",)]:
            key = None
            if step[0] == "ip":
                key = (step[1], "-6" if step[2].startswith("-6 ") else "")
            if waiting and waiting[0] != key:
                said += batch(self[waiting[0][0]], waiting[0][1], waiting[1:])
                waiting = []
            if key:
                waiting = (waiting or [key]) + [step[2].removeprefix("-6 ")]
                words = "-6 " if key[1] else ""
                self.script.append(f"ip {words}-n {step[1]} {step[2].removeprefix('-6 ')}")
            elif step[0] != "end":
                getattr(self, f"do_{step[0]}")(*step[1:])
        return said

    def do_set(self, space, line):
        path, value = line.split("=")
        try:
            with self[space].inside(), open(f"/proc/sys/{path}", "w", encoding="ascii") as file:
                file.write(value)
        except OSError:
            return  # not in this kernel, or of an interface that is away
        if line not in DEFAULTS or not self.rdma:
            self.script.append(f"setting {space} {line}")

    def do_config(self, text):
        write(CONFIG, text)
        os.chmod(CONFIG, 0o644)
        self.script.append(f"printf '%s' {shlex.quote(text)} >/etc/ib-hook/ib-hook.conf")

    def do_rdma(self, nic):
        self.rdma.append(nic)

    def do_run(self, command):
        self.script.append(f"on host {command}")
        status, out, err = run(["sh", "-c", command], self["host"], env=self.env)
        return status, out, err

    def sysfs(self):
        """What an RDMA driver shows of the NICs, as they are now: a port and its GIDs."""
        macs, addresses = self.facts(), self["host"].addresses()
        for n, nic in enumerate(self.rdma):
            top = f"{SYS}/class/infiniband/mlx5_{n}"
            shutil.rmtree(top, ignore_errors=True)
            if nic not in macs:
                continue
            os.makedirs(f"{top}/device/net/{nic}")
            a, b, c, d, e, f = (f"{one:02x}" for one in macs[nic].mac)
            up = macs[nic].flags & 0x10000
            gids = [f"fe80:0000:0000:0000:{int(a, 16) ^ 2:02x}{b}:{c}ff:fe{d}:{e}{f}"]
            gids += [gid(one[1]) for one in addresses if one[0] == nic and one[5] == 0]
            files = {"link_layer": "Ethernet", "state": "4: ACTIVE" if up else "1: DOWN",
                     "phys_state": "5: LinkUp" if up else "3: Disabled", "rate": "100 Gb/sec (4X EDR)"}
            for index, one in enumerate(gids):
                files |= {f"gids/{index}": one, f"gid_attrs/ndevs/{index}": nic, f"gid_attrs/types/{index}": "RoCE v2"}
            for path, text in files.items():
                write(f"{top}/ports/1/{path}", text + "\n")

    def forget(self, space):
        """Its neighbours, but for those that somebody has put there."""
        for raw in self[space].dump(RTM_GETNEIGH, bytes(12)):
            family, index, state = struct.unpack_from("=BxxxiH", raw)
            if state & (PERMANENT | NOARP) or raw[11] == MULTICAST:
                continue
            body = struct.pack("=BxxxiHBB", family, index, 0, 0, 0) + attribute(1, attributes(raw, 12)[1])
            with contextlib.suppress(OSError):
                self[space].change(message(RTM_DELNEIGH, NLM_F_REQUEST | NLM_F_ACK, body))

    def facts(self):
        """NIC → what is known of the host's link"""
        found = {}
        for raw in self["host"].dump(RTM_GETLINK, struct.pack("=BxHiII", 0, 0, 0, 0, 0)):
            known = attributes(raw, 16)
            name = known[3].rstrip(b"\0").decode()
            found[name] = Link(name, *struct.unpack_from("=iI", raw, 4), known.get(1, b""), number(known[4]))
        return found

    def ib_hook(self, *arguments):
        self.sysfs()
        status, out, err = run([self.program, *arguments], self["host"])
        if status < 0 or status > 3:
            raise Trouble("exit", f"ib-hook {' '.join(arguments)}: exit status {status}\n{out}{err}")
        return status, out, err

    def as_script(self, text=""):
        lines = [*self.script]
        place = next((n for n, line in enumerate(lines) if "ib-hook" in line and line.startswith("on host")), len(lines))
        lines[place:place] = self.sysfs_script()
        return HEAD + "".join(f"# {line}\n" for line in text.splitlines()) + "\n".join(lines) + \
            "\non host ib-hook --check\non host bash\n"

    def sysfs_script(self):
        if not self.rdma:
            return []
        return [f"cd /run/sys && base64 -d <<<{self.packed_sysfs()} | tar xz && cd - >/dev/null"]

    def packed_sysfs(self):
        command = f"tar cz -C {SYS} --sort=name --mtime=@0 class | base64 -w 0"
        return run(["sh", "-c", command])[1].strip()


class Link:
    def __init__(self, name, index, flags, mac, mtu):
        self.name, self.index, self.flags, self.mac, self.mtu = name, index, flags, mac, mtu


def lacking():
    """The kinds of links that this kernel has not."""
    kinds = {"vrf": "type vrf table 7", "vlan": "link port type vlan id 5", "macvlan": "link port type macvlan"}
    run(["ip", "link", "add", "port", "type", "veth"])
    found = [kind for kind, words in kinds.items() if "Unknown device type" in run(
        ["ip", "link", "add", "probe", *words.split()])[2]
        or run(["ip", "link", "del", "probe"])[0]]
    run(["ip", "link", "del", "port"])
    return found
