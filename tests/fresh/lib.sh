# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the cases share. They run as root in /root of a minimal system; /origin is the repository. The last line of a case,
# "seen: …", says what was seen.
set -Eeuo pipefail
trap 'echo "not ok - ${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND failed with status $?"' ERR

clone() { # [DIRECTORY]
    git -c safe.directory='*' clone -q /origin "${1:-ib-hook}"
}

seen() {
    echo "seen: $*"
}

fail() {
    echo "not ok - $*"
    exit 1
}

expect() { # PATTERN FILE
    grep -qE -- "$1" "$2" || fail "expected in $2: $1" "$(tail -n 5 "$2")"
}

install_packages() {
    DEBIAN_FRONTEND=noninteractive apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

# All that a program could have left behind on the machine, outside of the clone and of what package managers note down.
machine() { # CLONE
    find / \( -path /proc -o -path /sys -o -path /dev -o -path "$1" -o -path /origin -o -path /cases \
        -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache/apt -o -path /var/log \) -prune \
        -o \( -type d -printf '%p %y %m\n' -o -printf '%p %y %m %s %T@ %l\n' \) | sort
    ip -d link | grep -o '^[0-9]*: [^:]*'
    ip address show | grep inet
    ip -d rule
    ip route show table all
    ip -6 -d rule
    grep . /proc/sys/net/ipv4/conf/*/{rp_filter,arp_*,accept_local}
}

expect_untouched() { # BEFORE CLONE: what `machine` printed
    diff <(echo "$1") <(machine "$2") || fail "the machine is not as it was: < before, > after"
}

# A person with sudo, whose copy of the project is /home/person/ib-hook.
add_person() {
    install_packages sudo
    useradd --create-home --shell /bin/bash person
    echo 'person ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/person
}

as_person() { # COMMAND, a line for the shell
    runuser -u person -- env -i HOME=/home/person USER=person TERM=dumb PATH=/usr/local/bin:/usr/bin:/bin bash -c "cd ~/ib-hook && $1"
}
