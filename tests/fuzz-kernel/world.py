# SPDX-License-Identifier: GPL-2.0-or-later
"""A world: lines of text, each a command; and how it is run, line by line.

    nic NAME [rdma] [no-carrier]    a veth, made in this order; rdma: a port under /sys/class/infiniband belongs to it
    config [SECTION] KEY=VALUE      of /etc/ib-hook/ib-hook.conf
    ip …, ip -6 …                   in the host and in its twin
    sysctl PATH=VALUE               likewise
    ours ip …                       in the host only: what ib-hook left there when the host was another
    back NIC                        that had left for the network namespace `away` (its twin: far-away) comes back
    rename NIC NAME                 it is down for that moment
    reborn NIC NAME [KEY=VALUE]…    it is deleted, and another one, which is no RDMA NIC, gets its number and this name; its sysctls
    do ACTION                       what is done with ib-hook, and judged: the names of Judge.do_*
"""

from hosts import Host, Trouble, settings
from judge import Judge


def split_ip(words):
    return (words[0], " ".join(words[1:])) if words[0].startswith("-") else ("", " ".join(words))


class World:
    def __init__(self, lines):
        self.lines = [line for line in (one.split("#")[0].strip() for one in lines) if line]

    def run(self, program, home, tally=None):
        """None, or the Trouble."""
        host = Host(program, home)
        try:
            self.run_in(host, Judge(host, self.lines, tally))
        except Trouble as trouble:
            return trouble
        finally:
            host.close()
        return None

    def run_in(self, host, judge):
        parted = [line.split() for line in self.lines]
        host.plug([words[1:] for words in parted if words[0] == "nic"])
        host.configure(settings(self.lines))
        waiting = []
        for line, words in zip(self.lines, parted):
            if words[0] == "ip":
                waiting.append(split_ip(words[1:]))
                continue
            if waiting:
                host.ip(waiting)
                waiting = []
            if words[0] == "sysctl":
                host.sysctl(words[1])
            elif words[0] == "back":
                host.back(words[1])
            elif words[0] == "rename" and host.rename(*words[1:]):
                judge.renamed(*words[1:])
            elif words[0] == "reborn" and host.reborn(*words[1:]):
                judge.reborn(*words[1:])
            elif words[0] == "ours":
                family, rest = split_ip(words[2:])
                host.ours(family, [rest])
            elif words[0] == "do":
                judge.do(words[1:], line)
        if waiting:
            host.ip(waiting)
