#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What DRANET does to NICs of a pod's claim, emulated: it needs a kubelet and a container runtime, which are not here.

    dranet.py NODE POD arp|no-arp NIC…     moves the NICs from one network namespace into the other

It follows DRANET's source at f258477 (pkg/driver: dra_hooks.go, hostdevice.go, interface_arp.go, netnamespace.go):
- before anything moves, it reads the node's rules, and each NIC's routes in every table but local, except IPv6 routes of
  protocol kernel and of link-local prefixes. Of a route it keeps destination, gateway, source, scope and table; of a rule
  priority, from, to and table, where the table is not main or local and the NIC has a route in it;
- then, for each NIC: down, into the pod, the claim's arpIgnore and arpAnnounce, global addresses, up, routes, rules. What
  exists already is no error.
"""
import json
import subprocess
import sys

NAMED = {"local": 255, "main": 254, "default": 253}


def ip(namespace, *words, may_exist=False):
    done = subprocess.run(["ip", "-n", namespace, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0 and not (may_exist and "File exists" in done.stderr):
        sys.exit(f"dranet.py: ip -n {namespace} {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def shown(namespace, *words):
    return json.loads(ip(namespace, "-json", "-details", *words) or "[]")


def table_of(entry):
    name = str(entry.get("table", "main"))
    return NAMED.get(name) or int(name)


def is_copied(route, family, nic):
    if route.get("dev") != nic or table_of(route) == 255:
        return False
    return family == "-4" or (route.get("protocol") != "kernel" and not route["dst"].startswith("fe80:"))


def routes_of(node, nic):
    found = []
    for family in ("-4", "-6"):
        for route in shown(node, family, "route", "show", "table", "all"):
            if is_copied(route, family, nic):
                found.append((family, route))
    # Routes of scope link come first: others may need them.
    return sorted(found, key=lambda one: one[1].get("scope") != "link")


def rules_of(node):
    return [(family, rule) for family in ("-4", "-6") for rule in shown(node, family, "rule", "show")
            if table_of(rule) not in (254, 255)]


def with_length(rule, key, length_key, family):
    address = rule.get(key, "all")
    if address == "all":
        return None
    return f"{address}/{rule.get(length_key, 32 if family == '-4' else 128)}"


def add_route(pod, nic, family, route):
    words = [route["dst"], "dev", nic, "table", str(table_of(route))]
    if family == "-4":
        words += ["scope", route.get("scope", "global")]
    if "gateway" in route:
        words += ["via", route["gateway"]]
    if "prefsrc" in route:
        words += ["src", route["prefsrc"]]
    ip(pod, family, "route", "add", *words, may_exist=True)


def add_rule(pod, family, rule):
    words = ["priority", str(rule["priority"]), "table", str(table_of(rule))]
    for key, length_key, word in (("src", "srclen", "from"), ("dst", "dstlen", "to")):
        prefix = with_length(rule, key, length_key, family)
        if prefix:
            words += [word, prefix]
    ip(pod, family, "rule", "add", *words, may_exist=True)


def attach(node, pod, nic, addresses, with_arp):
    ip(node, "link", "set", nic, "down")
    ip(node, "link", "set", nic, "netns", pod)
    if with_arp:
        for key, value in (("arp_ignore", 1), ("arp_announce", 2)):
            subprocess.run(["nsenter", f"--net=/run/netns/{pod}", "sh", "-c",
                            f"echo {value} >/proc/sys/net/ipv4/conf/{nic}/{key}"], check=True)
    for address in addresses:
        ip(pod, "address", "add", address, "dev", nic)
    ip(pod, "link", "set", nic, "up")


def main():
    node, pod, arp = sys.argv[1:4]
    rules = rules_of(node)
    copied = []
    for nic in sys.argv[4:]:
        routes = routes_of(node, nic)
        tables = {table_of(route) for _, route in routes}
        addresses = [f"{one['local']}/{one['prefixlen']}" for link in shown(node, "address", "show", "dev", nic)
                     for one in link["addr_info"] if one["scope"] == "global"]
        copied.append((nic, addresses, routes, [one for one in rules if table_of(one[1]) in tables]))
    for nic, addresses, routes, its_rules in copied:
        attach(node, pod, nic, addresses, arp == "arp")
        for family, route in routes:
            add_route(pod, nic, family, route)
        for family, rule in its_rules:
            add_rule(pod, family, rule)


main()
