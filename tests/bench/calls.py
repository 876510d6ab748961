# SPDX-License-Identifier: GPL-2.0-or-later
"""
What a program asked of the system, out of: strace -f -yy -e read=all -e write=all -o FILE PROGRAM
"""

import re

CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)$")
RESULT = re.compile(r"= (-?\d+)[^=]*$")
PATH_CALLS = {"open", "openat", "stat", "lstat", "newfstatat", "fstatat64", "access", "faccessat2", "statx", "mkdir",
              "readlink", "unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdirat"}


class Call:
    def __init__(self, name, text):
        self.name, self.text, self.data = name, text, bytearray()
        result = RESULT.search(text)
        self.result = int(result.group(1)) if result else -1

    def on(self, kind):  # whether its first argument is a descriptor of that kind
        return re.match(r"\d+<" + kind, self.text) is not None


def read(path):
    calls = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            dump = line.startswith(" | ")
            if dump and calls:
                # " | 00000  14 00 00 00 …  text |": sixteen bytes, a blank more in the middle
                calls[-1].data += bytes.fromhex(line[10:59].replace(" ", ""))
            elif not dump and (match := CALL.match(line)):
                calls.append(Call(*match.groups()))
    return calls


def messages(data):
    """The netlink messages in what was sent or received at once."""
    at = 0
    while at + 16 <= len(data):
        length = int.from_bytes(data[at:at + 4], "little")
        if length < 16:
            break
        yield bytes(data[at:at + length])
        at += (length + 3) & ~3


def is_netlink(call):
    return call.on("NETLINK") or "sa_family=AF_NETLINK" in call.text


def sends(calls):
    return [c for c in calls if c.name in ("sendto", "sendmsg", "write") and is_netlink(c) and c.result > 0]


def receives(calls):
    return [c for c in calls if c.name in ("recvfrom", "recvmsg", "read") and is_netlink(c) and c.result > 0
            and "MSG_PEEK" not in c.text]


def counts(calls):
    sent, received = sends(calls), receives(calls)
    trips, waiting = 0, False
    for call in calls:
        if call in sent:
            waiting = True
        elif call in received and waiting:
            trips, waiting = trips + 1, False
    return {
        "system-calls": len(calls),
        "requests": sum(1 for c in sent for _ in messages(c.data)),
        "bytes-sent": sum(c.result for c in sent),
        "round-trips": trips,
        "answers": sum(1 for c in received for _ in messages(c.data)),
        "bytes-received": sum(c.result for c in received),
    }


def processes(calls):
    return sum(1 for c in calls if c.name in ("fork", "vfork", "clone", "clone3") and "CLONE_THREAD" not in c.text)


TO_A_BUS = re.compile(r'sun_path=@?"[^"]*bus|^\d+<UNIX[-\w]*:\[[^]]*bus')


def bus_calls(calls):
    return sum(1 for c in calls if c.name in ("connect", "sendto", "sendmsg", "write") and TO_A_BUS.search(c.text))


def paths(calls):
    """(call, path) of all files that were opened or looked at, or at least wanted."""
    for call in calls:
        match = re.search(r'(?:\d+<([^>]*)>, )?"([^"]+)"', call.text) if call.name in PATH_CALLS else None
        if match:
            path = match.group(2)
            yield call, path if path.startswith("/") else (match.group(1) or "") + "/" + path


def files(calls):
    """The files under /etc and /run among them."""
    return list(dict.fromkeys(path for _, path in paths(calls) if re.match(r"/(etc|run|var/run)(/|$)", path)))
