#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random hosts on one wire, one thing breaks on our side, a peer's or the wire; --probe has to say who is at fault.
Some hosts are right in an unusual way: VIPs, second subnets, containers, virtual routers, peers behind a gateway.

Packets judge, not the fault: pings bound to each rail's address, small and of full size, tell whether it does any harm; faults
that no ping sees (ARP flux, a double address, address translation) are told by their nature. Silent: harm, and exit status 0. Accused: a side that did nothing is named for an act. That an
echo was lost between two hosts accuses neither.

fuzz_probe.py [--worlds N] [--seed N] [--only TEXT] [--print]"""

import argparse
import json
import os
import random
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("IBH_BUILD", os.path.join(TOP, "build"))
PROGRAM = os.path.realpath(os.environ.get("IB_HOOK") or os.path.join(BUILD, "ib-hook"))
RIGHT_AT_LEAST = 0.97

US = {"probe-not-sent", "reply-dropped", "reply-other-nic", "routed-other-nic", "neighbour-static", "arp-off", "carrier-down",
      "address-translated", "foreign-nic-answers", "neighbour-table-small", "neighbour-wrong"}
WIRE = {"duplicate-address", "duplicate-mac", "proxy-arp"}
BETWEEN = {"probe-lost", "peer-down", "path-mtu", "gateway-down", "arp-unanswered", "not-known", "frames-doubled"}
QUIET = {"info"}
LINK_LOCAL = "169.254"


def run(*words, check=True, timeout=30):
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done


def on(space, *words, check=True):
    return run("nsenter", f"--net=/run/netns/{space}", *words, check=check)


def shell(space, text):
    return on(space, "sh", "-c", text)


def wait_up(space, nic):
    """The kernel announces a link's carrier late."""
    end = time.monotonic() + 10
    while "state UP" not in run("ip", "-n", space, "link", "show", nic).stdout and time.monotonic() < end:
        time.sleep(0.01)


def nft(space, family, hook, rule):
    on(space, "nft", f"add table {family} t; add chain {family} t c {{ type filter hook {hook} priority 0; }}; "
                     f"add rule {family} t c {rule}")


# claim(operation, to, who, ip, asker, asker's ip): an ARP frame; who: whose hardware address it names
SAYS = """
import socket, sys, time
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
wire.bind(("eth0", 0x0806))
own = wire.getsockname()[4]
def claim(operation, to, who, ip, asker, asker_ip):
    wire.send(to + own + bytes.fromhex("08060001080006040000")[:9] + bytes([operation]) + who + ip + asker + asker_ip)
def mac(text):
    return bytes.fromhex(text.replace(":", ""))
print("ready", flush=True)
"""
# ADDRESS MAC: answers each question for the address in the name of that hardware address
FORGES = """
address, name = socket.inet_aton(sys.argv[1]), mac(sys.argv[2])
while True:
    heard = wire.recv(2048)
    if heard[20:22] == bytes([0, 1]) and heard[38:42] == address:
        claim(2, heard[6:12], name, address, heard[22:28], heard[28:32])
"""
# ADDRESS [MAC]: says unasked that it has the address, or that this hardware address has it
ANNOUNCES = """
address, name = socket.inet_aton(sys.argv[1]), mac(sys.argv[2]) if len(sys.argv) > 2 else own
while True:
    claim(1, bytes([255] * 6), name, address, bytes(6), address)
    time.sleep(0.02)
"""


class Host:
    def __init__(self, number, rails, net):
        self.number, self.rails, self.name = number, rails, "ABCD"[number]
        self.nics = [f"ib{i}" for i in range(rails)]
        self.addresses = [f"{net}.{16 + number}.{i + 1}" for i in range(rails)]
        self.scope = "link" if net == LINK_LOCAL else "global"

    def mac(self, rail):
        return f"02:00:00:00:{16 + self.number:02x}:{rail:02x}"

    def hook(self, *words, check=False):
        return run("nsenter", f"--net=/run/netns/{self.name}", PROGRAM, "--sysfs", f"/run/sys/{self.name}", *words, check=check)

    def make(self):
        run("ip", "netns", "add", self.name)
        shell(self.name, "for c in all default; do for k in rp_filter arp_filter arp_announce arp_ignore; do "
                         "echo 0 >/proc/sys/net/ipv4/conf/$c/$k; done; done; ip link set lo up; echo 0 >/proc/sys/net/ipv4/icmp_ratelimit")
        for i, nic in enumerate(self.nics):
            run("ip", "-n", "wire", "link", "add", f"{self.name}.{i}", "type", "veth", "peer", "name", nic, "address",
                self.mac(i), "netns", self.name)
            run("ip", "-n", "wire", "link", "set", f"{self.name}.{i}", "master", "br0", "up")
            run("ip", "-n", self.name, "address", "add", f"{self.addresses[i]}/16", "dev", nic, "scope", self.scope)
            run("ip", "-n", self.name, "link", "set", nic, "up")
            port = f"/run/sys/{self.name}/class/infiniband/mlx5_{i}/ports/1"
            os.makedirs(f"{port}/gid_attrs/ndevs")
            os.makedirs(f"{port}/gid_attrs/types")
            os.makedirs(f"/run/sys/{self.name}/class/infiniband/mlx5_{i}/device/net/{nic}")
            for path, text in (("gid_attrs/ndevs/0", nic), ("gid_attrs/types/0", "RoCE v2"), ("link_layer", "Ethernet"),
                               ("state", "4: ACTIVE"), ("phys_state", "5: LinkUp")):
                with open(f"{port}/{path}", "w", encoding="ascii") as file:
                    file.write(text + "\n")


class World:
    """Parties of a fault: us (with the NIC), rail (its wire), peer (with its address), pair, wire."""

    def __init__(self, seed, only):
        self.random, self.only = random.Random(seed), only
        self.net = LINK_LOCAL if self.random.random() < 0.15 else "172.16"
        self.hosts = [Host(n, self.random.choice((2, 2, 3)), self.net) for n in range(self.random.choice((2, 2, 3)))]
        self.us, self.peers = self.hosts[0], self.hosts[1:]
        self.said, self.parties, self.nic, self.seen = "nothing", {"none"}, None, True
        self.unusual, self.more = [], []  # addresses that are asked, too

    def make(self):
        run("ip", "netns", "add", "wire")
        run("ip", "-n", "wire", "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        run("ip", "-n", "wire", "link", "set", "br0", "up")
        for host in self.hosts:
            host.make()
        acts = (self.vip, self.second_subnet, self.containers, self.proxied, self.virtual_router, self.gateway, self.inner_gateway, self.pod)
        if self.net == LINK_LOCAL:
            self.unusual.append("link-local addresses")
            acts = (self.pod,)
        for act in self.random.sample(acts, min(self.random.choice((0, 0, 1, 1, 2)), len(acts))):
            self.unusual.append(act.__name__)
            act()
        for host in self.hosts:
            host.hook("--apply", check=True)

    def fault(self, said, parties, nic=None, seen=True):
        """seen: a ping may see it."""
        self.said, self.parties, self.nic, self.seen = said, set(parties), nic, seen

    def warm(self):
        """The kernel knows all peers."""
        for own in self.us.addresses:
            for peer in self.all_peers():
                on(self.us.name, "ping", "-q", "-c", "1", "-W", "2", "-I", own, peer, check=False)

    def third(self, addresses, mac="02:00:00:00:99:00"):
        """Another host on the wire, with these addresses."""
        run("ip", "netns", "add", "Z")
        shell("Z", "ip link set lo up; echo 0 >/proc/sys/net/ipv4/conf/all/arp_ignore")
        run("ip", "-n", "wire", "link", "add", "Z.0", "type", "veth", "peer", "name", "eth0", "address", mac,
            "netns", "Z")
        run("ip", "-n", "wire", "link", "set", "Z.0", "master", "br0", "up")
        for address in addresses:
            run("ip", "-n", "Z", "address", "add", address, "dev", "eth0")
        run("ip", "-n", "Z", "link", "set", "eth0", "up")
        wait_up("Z", "eth0")

    # ---- what is unusual, and right ----

    def vip(self):
        host = self.random.choice(self.peers)
        run("ip", "-n", host.name, "address", "add", "172.16.99.8/32", "dev", self.random.choice(host.nics))
        self.more.append("172.16.99.8")

    def second_subnet(self):
        for host in self.hosts:
            for i, nic in enumerate(host.nics):
                run("ip", "-n", host.name, "address", "add", f"10.7.{host.number}.{i + 1}/16", "dev", nic)
                if host is not self.us:
                    self.more.append(f"10.7.{host.number}.{i + 1}")

    def other_host(self):
        """A host with one NIC, and no ib-hook."""
        if not os.path.exists("/run/netns/Y"):
            run("ip", "netns", "add", "Y")
            shell("Y", "ip link set lo up; echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore; "
                       "echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects; echo 0 >/proc/sys/net/ipv4/conf/default/send_redirects")
            run("ip", "-n", "wire", "link", "add", "Y.0", "type", "veth", "peer", "name", "eth0", "address", "02:00:00:00:88:00",
                "netns", "Y")
            run("ip", "-n", "wire", "link", "set", "Y.0", "master", "br0", "up")
            run("ip", "-n", "Y", "address", "add", "172.16.88.1/16", "dev", "eth0")
            run("ip", "-n", "Y", "link", "set", "eth0", "up")
            wait_up("Y", "eth0")
            self.more.append("172.16.88.1")

    def containers(self):
        self.other_host()
        for i in (1, 2):
            run("ip", "-n", "Y", "address", "add", f"172.16.60.{i}/32", "dev", "eth0")
            self.more.append(f"172.16.60.{i}")

    def proxied(self):
        """A host behind another one, which answers ARP for it, late."""
        self.other_host()
        run("ip", "netns", "add", "K")
        run("ip", "-n", "Y", "link", "add", "inside", "type", "veth", "peer", "name", "eth0", "netns", "K")
        shell("Y", "ip link set inside up; ip route add 172.16.61.1 dev inside; ip address add 169.254.1.1/32 dev inside; "
                   "echo 1 >/proc/sys/net/ipv4/conf/eth0/proxy_arp; echo 0 >/proc/sys/net/ipv4/conf/all/arp_ignore")
        shell("K", "ip link set eth0 up; ip address add 172.16.61.1/32 dev eth0; ip route add 169.254.1.1 dev eth0; "
                   "ip route add default via 169.254.1.1")
        self.more.append("172.16.61.1")

    def virtual_router(self):
        self.other_host()
        shell("Y", "ip link add vrrp link eth0 address 00:00:5e:00:01:07 type macvlan mode bridge; "
                   "ip address add 172.16.70.1/32 dev vrrp; ip link set vrrp up")
        self.more.append("172.16.70.1")

    def gateway(self):
        self.other_host()
        run("ip", "-n", "Y", "address", "add", "192.0.2.1/32", "dev", "lo")
        run("ip", "-n", self.us.name, "route", "add", "default", "via", "172.16.88.1", "dev", self.random.choice(self.us.nics))
        self.more.append("192.0.2.1")

    def inner_gateway(self):
        """A part of the subnet is behind a host of it, by one rail."""
        self.other_host()
        run("ip", "-n", "Y", "address", "add", "172.16.62.1/32", "dev", "lo")
        run("ip", "-n", self.us.name, "route", "add", "172.16.62.0/24", "via", "172.16.88.1", "dev", self.random.choice(self.us.nics))
        self.more.append("172.16.62.1")

    def pod(self):
        """It has an address of its own, on a macvlan of one of our rails."""
        self.make_pod(self.random.choice(self.us.nics), f"{self.net}.{16 + self.us.number}.99")

    def make_pod(self, nic, address):
        run("ip", "netns", "add", "P")
        run("ip", "-n", self.us.name, "link", "add", "pod0", "link", nic, "address", "02:00:00:00:55:01", "type", "macvlan", "mode", "bridge")
        run("ip", "-n", self.us.name, "link", "set", "pod0", "netns", "P")
        shell("P", f"ip address add {address}/16 dev pod0; ip link set lo up; ip link set pod0 up")

    # ---- hosts that say what is not so ----

    def says(self, code, *arguments):
        """In a frame of Z's own hardware address, until the world ends."""
        self.third([])
        done = subprocess.Popen(["nsenter", "--net=/run/netns/Z", sys.executable, "-c", SAYS + code, *arguments],
                                stdout=subprocess.PIPE, text=True)
        done.stdout.readline()

    # ---- faults, one drawn at random ----

    def our_faults(self, i):
        us, nic, a = self.us, self.us.nics[i], self.us.name
        own, peer = us.addresses[i], self.random.choice(self.random.choice(self.peers).addresses)
        return [
            ("we drop replies", lambda: nft(a, "ip", "input", f"iifname {nic} icmp type echo-reply drop")),
            ("we drop echoes", lambda: nft(a, "ip", "output", f"oifname {nic} icmp type echo-request drop")),
            ("we drop echoes to one peer", lambda: nft(a, "ip", "output", f"oifname {nic} ip daddr {peer} drop")),
            ("we drop answers to ARP", lambda: nft(a, "arp", "input", f"iifname {nic} drop")),
            ("we drop at the NIC", lambda: on(a, "nft", f"add table netdev t; add chain netdev t c {{ type filter hook ingress "
                                              f"device {nic} priority 0; }}; add rule netdev t c icmp type echo-reply drop")),
            ("a policy wants what comes in encrypted", lambda: shell(
                a, f"ip xfrm policy add src {self.net}.0.0/16 dst {own} dir in tmpl src {peer} dst {own} proto esp mode transport")),
            ("a policy without a key", lambda: shell(
                a, f"ip xfrm policy add src {own} dst {self.net}.0.0/16 dir out tmpl src {own} dst {peer} proto esp mode transport")),
            ("a wrong permanent neighbour", lambda: shell(
                a, f"ip neigh replace {peer} lladdr 02:00:00:00:77:77 dev {nic} nud permanent")),
            ("a wrong neighbour from before", lambda: shell(
                a, f"ip neigh replace {peer} lladdr 02:00:00:00:77:77 dev {nic} nud reachable")),
            ("what comes in is damaged", lambda: nft("wire", "bridge", "forward",
                                                     f"ether daddr {us.mac(i)} ip protocol icmp @th,256,16 set 0x5555")),
            ("long packets that come in are damaged", lambda: nft(
                "wire", "bridge", "forward", f"ether daddr {us.mac(i)} ip protocol icmp ip length > 1000 @th,256,16 set 0x5555")),
            ("ARP off", lambda: shell(a, f"ip link set {nic} arp off")),
            ("our link down", lambda: shell(a, f"ip link set {nic} down")),
            ("our rule gone", lambda: shell(a, f"ip rule del priority 1941 from {own}")),
            ("a blackhole", lambda: shell(a, f"ip route add blackhole {peer} table {941 + i}")),
            ("XDP", lambda: on(a, os.path.join(BUILD, "xdp"), nic)),
            *([] if "pod" in self.unusual else [ # a pod's macvlan leaves no room for this mode
                ("a macvlan that takes all", lambda: shell(a, f"ip link add over link {nic} type macvlan mode passthru; "
                                                              "ip link set over up"))]),
            ("a macvlan with a list", lambda: shell(a, f"ip link add over link {nic} type macvlan mode source nodst; "
                                                       f"ip link set over type macvlan macaddr add {self.peers[0].mac(0)}; "
                                                       "ip link set over up")),
            ("tcx, in", lambda: on(a, os.path.join(BUILD, "xdp"), nic, "ingress")),
            ("tcx, out", lambda: on(a, os.path.join(BUILD, "xdp"), nic, "egress")),
            ("a rule refuses a mark", lambda: on(
                a, "sh", "-c", f"ip rule add fwmark 7 prohibit priority 50; nft 'add table ip t; add chain ip t c {{ type route hook "
                               f"output priority 0; }}; add rule ip t c ip saddr {own} meta mark set 7'")),
            ("source NAT", lambda: on(a, "nft", "add table ip t; add chain ip t c { type nat hook postrouting priority 100; }; "
                                                f"add rule ip t c oifname {nic} snat to 172.16.200.9")),
            ("a local route", lambda: shell(a, f"ip route add local {peer} dev lo")),
            ("we drop long packets", lambda: nft(a, "ip", "output", f"oifname {nic} ip length > 1000 drop")),
            ("we drop long replies", lambda: nft(a, "ip", "input", f"iifname {nic} ip length > 1000 drop")),
            ("our queue takes no long packets", lambda: shell(a, f"tc qdisc add dev {nic} root tbf rate 100mbit burst 1000 latency 50ms")),
        ]

    def peer_faults(self, host, i):
        b, nic, address = host.name, host.nics[i], host.addresses[i]
        return [
            ("the peer drops echoes", lambda: nft(b, "ip", "input", "icmp type echo-request drop")),
            ("the peer drops one address's", lambda: nft(b, "ip", "input", f"ip daddr {address} icmp type echo-request drop")),
            ("the peer prohibits echoes", lambda: nft(
                b, "ip", "input", "icmp type echo-request reject with icmp type admin-prohibited")),
            ("the peer answers no ARP", lambda: (self.warm(), nft(b, "arp", "input", "arp operation request drop"))),
            ("the peer ignores pings", lambda: shell(b, "echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all")),
            ("the peer's link is down", lambda: shell(b, f"ip link set {nic} down")),
            ("the peer's rule is gone", lambda: shell(b, f"ip rule del priority 1941 from {address}")),
            ("the peer is without ib-hook", lambda: host.hook("--undo", check=True)),
            ("the peer's NIC takes less", lambda: shell(b, f"ip link set {nic} mtu 1400")),
            ("what the peer sends is damaged", lambda: nft("wire", "bridge", "forward",
                                                           f"ether saddr {host.mac(i)} ip protocol icmp @th,256,16 set 0x5555")),
            ("the peer drops long packets", lambda: nft(b, "ip", "input", f"ip daddr {address} ip length > 1000 drop")),
            ("the peer has no such address", lambda: shell(b, f"ip address del {address}/16 dev {nic}")),
        ]

    def gateway_faults(self):
        """Of the host that some peers are behind."""
        if "gateway" not in self.unusual and "inner_gateway" not in self.unusual:
            return []
        return [
            ("the gateway is gone", lambda: run("ip", "-n", "wire", "link", "set", "Y.0", "down")),
            ("the gateway drops what it gets for others", lambda: nft("Y", "ip", "input", "ip daddr { 192.0.2.1, 172.16.62.1 } drop")),
            ("the gateway answers no ARP", lambda: nft("Y", "arp", "input", "arp operation request drop")),
            ("the gateway prohibits", lambda: nft(
                "Y", "ip", "input", "ip daddr { 192.0.2.1, 172.16.62.1 } icmp type echo-request reject with icmp type admin-prohibited")),
            ("the gateway takes less", lambda: nft("Y", "ip", "input", "ip daddr { 192.0.2.1, 172.16.62.1 } ip length > 1000 drop")),
        ]

    def pair_faults(self, i, host, k):
        own, mac = self.us.addresses[i], self.us.mac(i)
        return [
            ("the peer's neighbour is wrong", lambda: shell(
                host.name, f"ip neigh replace {own} lladdr 02:00:00:00:77:77 dev {host.nics[k]} nud permanent")),
            ("the switch drops one pair's", lambda: nft("wire", "bridge", "forward",
                                                        f"ether saddr {mac} ether daddr {host.mac(k)} ip protocol icmp drop")),
        ]

    def wire_faults(self, i):
        port, mac, own = f"{self.us.name}.{i}", self.us.mac(i), self.us.addresses[i]
        return [
            ("our port blocks", {"rail"}, lambda: run("bridge", "-n", "wire", "link", "set", "dev", port, "state", "0")),
            ("our port's address is elsewhere", {"rail"}, lambda: run(
                "bridge", "-n", "wire", "fdb", "replace", mac, "dev", f"{self.peers[0].name}.0", "master", "static")),
            ("our port takes less", {"rail", "us"}, lambda: run("ip", "-n", "wire", "link", "set", port, "mtu", "1400")),
            ("our port is down", {"rail", "us"}, lambda: run("ip", "-n", "wire", "link", "set", port, "down")),
            ("another host has our address", {"wire"}, lambda: self.third([f"{own}/16"])),
            ("another host has a peer's address", {"wire", "peer"}, lambda: self.third([f"{self.peers[0].addresses[0]}/16"])),
            ("a host forges answers for a peer", {"wire"}, lambda: self.says(FORGES, self.peers[0].addresses[0], self.peers[0].mac(1))),
            ("a host forges answers of nobody", {"wire"}, lambda: self.says(FORGES, self.peers[0].addresses[0], "02:00:00:00:66:66")),
            ("a host forges answers for us", {"wire"}, lambda: self.says(FORGES, own, self.peers[0].mac(0))),
            ("a host announces a peer's address", {"wire", "peer"}, lambda: self.says(ANNOUNCES, self.peers[0].addresses[0])),
            ("a host announces our address", {"wire"}, lambda: self.says(ANNOUNCES, own)),
            ("a host announces a peer's address in another's name", {"wire"}, lambda: self.says(
                ANNOUNCES, self.peers[0].addresses[0], self.peers[0].mac(1))),
            ("a pod of ours has our address", {"wire", "us"}, lambda: self.pod_with(self.us.nics[i], own)),
            ("another host has a peer's hardware address, too", {"wire", "peer"}, lambda: self.third(
                [f"{self.peers[0].addresses[0]}/16"], self.peers[0].mac(0))),
        ]

    def pod_with(self, nic, address):
        if "pod" in self.unusual:
            shell("P", f"ip address add {address}/32 dev pod0")
        else:
            self.make_pod(nic, address)

    def draw(self, faults):
        return self.random.choice([one for one in faults if self.only in one[0]] or faults)

    def break_one(self):
        side = self.random.choice(("us", "us", "peer", "peer", "pair", "wire", "wire", "gateway", "none"))
        i, host = self.random.randrange(self.us.rails), self.random.choice(self.peers)
        k = self.random.randrange(host.rails)
        if self.only:
            sides = {"us": self.our_faults(i), "peer": self.peer_faults(host, k), "pair": self.pair_faults(i, host, k),
                     "wire": self.wire_faults(i), "gateway": self.gateway_faults()}
            side = next((name for name, faults in sides.items() if any(self.only in one[0] for one in faults)), "none")
        if side == "us":
            said, act = self.draw(self.our_faults(i))
            seen_like_wire = said == "XDP" or said.endswith("damaged")  # what only a wire does, too
            self.fault(f"{said} ({self.us.nics[i]})", {"us", "rail"} if seen_like_wire else {"us"},
                       None if said == "a local route" else self.us.nics[i],
                       said not in ("source NAT", "a wrong neighbour from before"))
        elif side == "peer":
            said, act = self.draw(self.peer_faults(host, k))
            self.fault(f"{said} ({host.name} {host.nics[k]})", {"peer"}, None,
                       said not in ("the peer is without ib-hook", "the peer answers no ARP") and (said != "the peer's rule is gone" or not k))
        elif side == "pair":
            said, act = self.draw(self.pair_faults(i, host, k))
            self.fault(f"{said} ({self.us.nics[i]}, {host.name} {host.nics[k]})", {"pair", "rail"})
        elif side == "wire":
            said, parties, act = self.draw(self.wire_faults(i))
            self.fault(f"{said} ({self.us.nics[i]})", parties, None if "peer" in parties else self.us.nics[i],
                       "wire" not in parties)
        elif side == "gateway":
            said, act = self.draw(self.gateway_faults() or [("no gateway", lambda: None)])
            self.fault(said, {"peer", "pair", "rail"} if said != "no gateway" else {"none"}, None, said != "the gateway answers no ARP")
        for one in self.hosts:
            shell(one.name, "ip neigh flush nud reachable nud stale nud delay nud probe nud failed >/dev/null")
        if self.random.random() < 0.3:
            self.unusual.append("warm caches")
            self.warm()
        if side != "none":
            act()

    # ---- the judge ----

    def all_peers(self):
        return [address for host in self.peers for address in host.addresses] + self.more

    def harmed(self):
        """Pairs of which a ping bound to the address, as programs send it, small or of full size, does not come back."""
        waiting = []
        for own in self.us.addresses:
            for peer in self.all_peers():
                for more in ([], ["-s", "1472", "-M", "do"]):
                    waiting.append(((own, peer), subprocess.Popen(
                        ["nsenter", f"--net=/run/netns/{self.us.name}", "ping", "-q", "-c", "1", "-W", "1", *more, "-I", own, peer],
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
        return sorted({pair for pair, process in waiting if process.wait()})

    @staticmethod
    def party(finding):
        own = finding["code"] in US or "this host's own" in finding["message"]
        if own and "wrong checksum" not in finding["message"]:
            return "us"
        if finding["code"] in WIRE:
            return "wire"
        if finding["ifaces"] and " to " not in (finding["owner"] or ""):
            return "rail"
        return "pair" if " to " in (finding["owner"] or "") else "peer"

    def run(self):
        self.make()
        self.break_one()
        done = self.us.hook("--probe", *self.all_peers(), "--count", "2", "--json")
        report = json.loads(done.stdout)
        findings = [one for one in report["findings"] if one["severity"] not in QUIET]
        lines = [f"  {one['severity']} {one['code']} {'+'.join(one['ifaces'])}: {one['message']}" for one in findings]
        harmed = self.harmed() if self.seen else []
        if "none" in self.parties:
            return "accused" if findings else "right", lines
        if self.seen and not harmed:
            return "right", lines
        if not findings:
            return "silent", lines + [f"  harmed: {harmed}"]
        right = [one for one in findings if self.party(one) in self.parties and
                 (not self.nic or self.nic in one["ifaces"] or self.nic in one["message"])]
        wrong = [one for one in findings if one not in right and not ("us" in self.parties and self.party(one) == "us")]
        if "pod of ours" in self.said and any(one["code"] == "proxy-arp" for one in findings):
            return "accused", lines
        if any(one["code"] not in BETWEEN for one in wrong):
            return "accused", lines
        return "misplaced" if not right or len(wrong) > len(right) else "right", lines


def one_world(seed, only):
    """In this process, whose namespaces are its own."""
    for place in ["/run"] + ["/var/lib/ib-hook"] * os.path.isdir("/var/lib/ib-hook"):
        run("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", place)
    world = World(seed, only)
    try:
        verdict, lines = world.run()
    except Exception as error:  # a fault of the fuzzer itself is said with its world
        verdict, lines = "fuzzer", [f"  {type(error).__name__}: {error}"]
    print(json.dumps({"verdict": verdict, "said": " beside ".join([world.said, *world.unusual]), "lines": lines}))


def start(seed, only):
    """Private namespaces for each world, in which nothing of the machine is touched."""
    return subprocess.Popen(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", sys.executable,
                             os.path.abspath(__file__), "--world", str(seed), "--only", only], stdout=subprocess.PIPE, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first world; each next one has the next number")
    parser.add_argument("--print", action="store_true", help="what is found in each world, right or not")
    parser.add_argument("--jobs", type=int, default=6, help="at a time: each waits for replies nearly all the time")
    parser.add_argument("--only", default="", help="faults with this in their name, where a side has some")
    parser.add_argument("--world", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.world is not None:
        return one_world(options.world, options.only)
    tally, seeds, running = {}, list(range(options.seed, options.seed + options.worlds)), []
    while seeds or running:
        while seeds and len(running) < options.jobs:
            running.append((seeds[0], start(seeds.pop(0), options.only)))
        seed, process = running.pop(0)
        text = process.communicate()[0]
        answer = json.loads(text) if text else {"verdict": "fuzzer", "said": "no answer", "lines": []}
        verdict = answer["verdict"]
        tally[verdict] = tally.get(verdict, 0) + 1
        if verdict != "right" or options.print:
            print(f"seed {seed}: {verdict}: {answer['said']}", *answer["lines"], sep="\n", flush=True)
    print(f"seeds {options.seed} to {options.seed + options.worlds - 1}:",
          ", ".join(f"{n} {what}" for what, n in sorted(tally.items())))
    good = tally.get("right", 0) >= RIGHT_AT_LEAST * options.worlds
    return 0 if good and not any(tally.get(what) for what in ("silent", "accused", "fuzzer")) else 1


if __name__ == "__main__":
    sys.exit(main())
