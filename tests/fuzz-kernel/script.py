# SPDX-License-Identifier: GPL-2.0-or-later
"""A world as a shell script of its own, that needs nothing of the fuzzer: namespaces, a host and its twin."""

from hosts import mac, settings

HEAD = """#!/bin/bash
# Run as root (it makes private namespaces), with IB_HOOK=…/ib-hook, and the hooks beside it in hooks/.
set -u
if [ -z "${INSIDE:-}" ]; then
    IB_HOOK=$(realpath "${IB_HOOK:-build/ib-hook}")
    INSIDE=$(mktemp -d)
    export IB_HOOK INSIDE
    cp "$IB_HOOK" "$INSIDE/ib-hook" && cp -r "$(dirname "$IB_HOOK")/hooks" "$INSIDE/hooks"
    unshare --net --mount --pid --fork --mount-proc bash "$0" "$@"
    status=$?
    rm -r "$INSIDE"
    exit $status
fi
mount -t tmpfs tmpfs /run
cp -r /etc /run/etc && mount --bind /run/etc /etc && rm -rf /etc/ib-hook && mkdir /etc/ib-hook
mkdir -p /run/netns /run/sys/class/infiniband /run/sbin
ln -s "$INSIDE/ib-hook" /run/sbin/ib-hook && mount -t overlay overlay -o lowerdir=/run/sbin:/usr/bin /usr/bin # what the hooks execute
ip link set lo up
for space in away far-away wire twin host; do ip netns add $space; done
on() { nsenter --net=/run/netns/"$1" "${@:2}"; }
for space in host twin; do
    on $space sh -c 'cd /proc/sys/net/ipv4/conf && for key in rp_filter arp_filter arp_announce arp_ignore accept_local; do
        echo 0 >all/$key; echo 0 >default/$key; done; cd /proc/sys/net/ipv6/conf/default; echo 0 >router_solicitations; echo 1 >addr_gen_mode'
    ip -n $space link set lo up
done
nic() { # NUMBER NAME MAC
    for space in host twin; do
        ip -n wire link add "$space$1" type veth peer name "$2" address "$3" netns $space
    done
}
rdma() { # NUMBER NAME
    local port=/run/sys/class/infiniband/mlx5_$1/ports/1
    mkdir -p "$port/gid_attrs/ndevs" "$port/gid_attrs/types" "$port/gids" "/run/sys/class/infiniband/mlx5_$1/device/net/$2"
    echo "$2" >"$port/gid_attrs/ndevs/0"; echo "RoCE v2" >"$port/gid_attrs/types/0"
    echo Ethernet >"$port/link_layer"; echo "4: ACTIVE" >"$port/state"; echo "5: LinkUp" >"$port/phys_state"
    printf 'fe80:0000:0000:0000:0000:00ff:fe00:22%02x\\n' "$1" >"$port/gids/0"
}
setting() { for space in host twin; do on $space sh -c "echo ${1#*=} >/proc/sys/${1%%=*}" || true; done; }
mount --bind /run/sys /sys
both() { for space in host twin; do ip -n $space "$@"; done; }
placed() { # a rule without a priority: the twin has it where it lands beside ours
    local words=() before
    [ "$1" != -6 ] || words=(-6)
    before=$(ip -n host "${words[@]}" rule)
    ip -n host "$@"
    ip -n twin "$@" priority "$(diff <(echo "$before") <(ip -n host "${words[@]}" rule) | sed -n 's/^> \\([0-9]*\\):.*/\\1/p' | head -n 1)"
}
hook() { echo "+ ib-hook $*"; on host "$INSIDE/ib-hook" "$@"; }
"""

TAIL = """
for space in host twin; do
    echo "== $space"
    for family in 4 6; do ip -n $space -$family rule; ip -n $space -$family route show table all | grep -v 'table local\\|^ff00'; done
done
"""

HOOKS = {"nm-dispatcher": 'on host env -i PATH=/usr/bin "$INSIDE/hooks/nm-dispatcher" {0} {1}',
         "ifupdown": 'on host env -i IFACE={0} MODE={1} "$INSIDE/hooks/ifupdown"',
         "networkd-dispatcher": 'on host env -i IFACE={0} OperationalState={1} "$INSIDE/hooks/networkd-dispatcher"'}
UNDO = "hook --undo >/dev/null; rm -rf /run/ib-hook"
ACTIONS = {
    "apply": "hook --apply; hook --apply; hook --check", "settled": "hook --apply", "undo": "hook --undo",
    "pasted": f"{UNDO}; hook --plan | grep -v '^arping' | on host sh",
    "kill": "hook --undo; on host strace -qq -o /dev/null -e trace={0} -e inject={0}:signal=KILL:when={1} \"$INSIDE/ib-hook\" --apply; "
            "hook --apply"}
CALLS = "sendmsg,sendto,write,rename,renameat,unlink"


def action(words):
    if words[0] == "hook":
        return HOOKS[words[1]].format(*words[2:])
    return ACTIONS[words[0]].format(CALLS, *words[1:])


def question(text):
    """The first look-up that the failure names, asked again of both."""
    for line in text.splitlines():
        if line.startswith("# ip route get"):
            words = line[len("# ip "):].split(" (")[0]
            family = "-6 " if ":" in words else ""
            return f'echo "== {words}"; for space in host twin; do echo "$space: $(ip -n $space {family}{words} 2>&1)"; done\n'
    return ""


def as_script(lines, text):
    found, devices, acted = [], 0, False
    nics = [line.split()[1:] for line in lines if line.startswith("nic ")]
    for n, words in enumerate(nics):
        found.append(f"nic {n} {words[0]} {mac(n)}")
        if "rdma" in words:
            found.append(f"rdma {devices} {words[0]}")
            devices += 1
        if "no-carrier" not in words:
            found.append(f"for space in host twin; do ip -n wire link set ${{space}}{n} up; done")
    config = "".join(f"{section}\n{setting}\n" for section, setting in settings(lines))
    if config:
        found.append(f"cat >/etc/ib-hook/ib-hook.conf <<'END'\n{config}END")
    for line in lines:
        words = line.split()
        if line.startswith("ip "):
            placed = acted and "rule add" in line and "priority" not in line
            if "netns away" in line:
                line = line.replace("ip ", "-n host ", 1)
                found += [f"ip {line}", f"ip {line.replace('-n host', '-n twin').replace('netns away', 'netns far-away')}"]
            else:
                found.append(line.replace("ip ", "placed " if placed else "both ", 1))
        elif words[0:1] == ["back"]:
            found += [f"ip -n {away} link set {words[1]} netns {home}" for away, home in (("away", "host"), ("far-away", "twin"))]
        elif words[0:1] == ["ours"]:
            found.append("ip -n host " + " ".join(words[2:]))
        elif words[0:1] == ["sysctl"]:
            found.append(f"setting {words[1]}")
        elif words[0:1] == ["do"]:
            acted = True
            found.append(action(words[1:]))
    return HEAD + "\n" + text + "\n".join(found) + "\n" + TAIL + question(text)
