#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the wire brings may be anything: only the right reply counts, once, and a flood of others does no harm.
. "$(dirname "$0")/lib.sh"
REPLIER=$(dirname "$FLOW")/replier
[ -x "$REPLIER" ] || fail "there is no $REPLIER: run make tools"

make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply
on B sh -c 'echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all'

# replies HOW: from now on B answers so
replier=
replies() {
    [ -z "$replier" ] || kill "$replier"
    nsenter --net=/run/netns/B "$REPLIER" "$1" >"$work/replier.$1" &
    replier=$!
    wait_until 5 grep -q ready "$work/replier.$1"
}

replies garbage
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "garbage is no reply" "0" "$(json '[.pairs[].received] | unique | .[]')"
expect_equal "nor has a reply come in that was dropped" "probe-lost" "$(json '[.pairs[].problems[]] | unique | .[]')"

replies among
expect_hook 0 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "right replies among garbage are found, and counted once" "3/3" \
    "$(json '[.pairs[] | "\(.received)/\(.sent)"] | unique | .[]')"

# Another host on the wire knows its own echoes, and tries all numbers of others: it speaks for B, whose cable is out.
new_host C
add_nic C eth0 3 172.16.50.1/16
wait_until 5 settled C
cat >$work/impostor.py <<'EOF'
import socket, struct, sys
victim = socket.inet_aton(sys.argv[1])
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
wire.bind(("eth0", 0x0800))
own = wire.getsockname()[4]
def sum_of(data):
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack(">H", ~total & 0xffff)
def ip(source, to, rest):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(rest), 1, 0, 64, 1, 0, source, to)
    return head[:10] + sum_of(head) + head[12:] + rest
def icmp(rest):
    return rest[:2] + sum_of(rest) + rest[4:]
def say(what):
    wire.send(to[6:12] + own + b"\x08\0" + ip(victim, to[26:30], what))
def prohibited(quoted):
    say(icmp(b"\3\x0d\0\0\0\0\0\0" + ip(to[26:30], victim, quoted)))
print("ready", flush=True)
to = None
while True:
    wire.settimeout(0.3 if to else None) # when no more echoes come, all numbers are tried
    try:
        frame = wire.recv(9000)
    except TimeoutError:
        for number in range(65536):
            prohibited(b"\x08\0\0\0" + struct.pack(">HH", number, 0))
        to = None
        continue
    echo = frame[34:74]
    if frame[:6] != own or frame[23] != 1 or echo[:1] != b"\x08" or len(echo) < 40:
        continue
    to = frame
    for pair in range(4):
        for number in range(3):
            for sequence in (echo[6:8], struct.pack(">H", number)):
                body = echo[4:6] + sequence + echo[8:24] + struct.pack(">II", pair, number) + bytes(8)
                say(icmp(b"\0\0\0\0" + body))
                prohibited(icmp(b"\x08\0\0\0" + body))
EOF
nsenter --net=/run/netns/C python3 $work/impostor.py 172.16.34.1 >$work/impostor &
impostor=$!
wait_until 5 grep -qs ready $work/impostor
ip -n wire link set B.0 down
forget A
expect_hook 1 A --probe 172.16.50.1 172.16.34.1 --json
kill $impostor
expect_equal "who got other echoes cannot reply for a peer" "0 0" "$(json '[.pairs[] | select(.peer == "172.16.34.1").received] | join(" ")')"
expect_equal "nor send an ICMP error for it" "peer-down" "$(json '[.findings[].code] | join(" ")')"
ip -n wire link set B.0 up
delete_host C

replies flood
start=$EPOCHREALTIME
expect_hook 1 A --probe 172.16.34.1 --json
ms=$(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))
[ $ms -lt 5000 ] || fail "a flood: expected an end within 5 s, took $ms ms"
ok "a flood of wrong replies: an end after $ms ms"
expect_equal "none of them counts" "0" "$(json '[.pairs[].received] | unique | .[]')"
