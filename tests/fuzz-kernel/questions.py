# SPDX-License-Identifier: GPL-2.0-or-later
"""What is asked of a world: every address and prefix that its lines mention."""

import ipaddress
import re

BEYOND = {4: "203.0.113.9", 6: "2001:db8:ffff::9"}
MOST = 28  # destinations


def prefixes(lines):
    """Every address and prefix that the world mentions."""
    found = []
    for line in lines:
        for word in re.split(r"[\s,=]", line) if not line.startswith(("nic", "do", "sysctl")) else []:
            try:
                one = ipaddress.ip_interface(word)
            except ValueError:
                continue
            if "." in word or ":" in word:
                found.append(one)
    return found


def destinations(lines, family):
    found = {}
    for one in prefixes(lines):
        if one.version != family or one.network.prefixlen == 0:
            continue
        network = one.network
        if network.num_addresses == 1:
            found[str(one.ip)] = 1
        elif network.num_addresses == 2:
            found.update((str(host), 1) for host in network)
        else:
            found[str(network[min(7, network.num_addresses - 2)])] = 1
            found[str(network[network.num_addresses * 3 // 4])] = 1
            if one.ip != network.network_address:
                found[str(one.ip)] = 1
    return [BEYOND[family]] + list(found)[:MOST]


def marks(lines):
    return sorted({int(one, 0) for line in lines for one in re.findall(r"fwmark (0x[0-9a-f]+|\d+)", line)})


def foreign_sources(lines, family, device):
    """What comes in through a NIC from beyond: hosts of its subnets, and sources that rules name."""
    found = {}
    for line in lines:
        if f"dev {device}" in line and "address add" in line or "rule add" in line and " from " in line:
            for one in prefixes([line.split(" to ")[0]]):
                if one.version == family and one.network.prefixlen > 0:
                    found[str(one.network[min(5, one.network.num_addresses - 1)])] = 1
    return list(found)
