#!/bin/sh
# Installs what is needed and missing, silently where nothing is: deps.sh GROUP ..., of
# build tests bench lint fuzz coverage lab managers packages platforms fleet.
# deps.sh unpack DIR PACKAGE ...: into DIR only, for what would start by itself where it is installed (apt only).
set -eu

packages() { # MANAGER GROUP
    case $1/$2 in
        apt/build) echo gcc libc6-dev make pkg-config libglib2.0-dev libnl-route-3-dev libnm-dev iproute2 util-linux procps ;;
        apt/tests) echo acl jq libcmocka-dev valgrind strace tcpdump iputils-ping iputils-arping libcap2-bin hyperfine python3 bsdutils ;;
        apt/bench) echo hyperfine valgrind strace jq python3 iproute2 iputils-ping procps ;;
        apt/coverage) echo gcovr ;;
        apt/fuzz) echo clang libclang-rt-dev ;;
        apt/lint) echo clang clang-format clang-tidy cppcheck shellcheck ;;
        apt/lab) echo jq dash kmod cpio busybox-static iproute2 iputils-ping qemu-system-x86 seabios rdmacm-utils perftest ibverbs-utils ibverbs-providers ;;
        apt/managers) echo jq iproute2 iputils-ping util-linux procps dnsmasq-base mmdebstrap ;;
        apt/platforms) echo util-linux mmdebstrap ;;
        apt/packages) echo debhelper dpkg-dev lintian rpm rpm2cpio cpio rpmlint mmdebstrap systemd mandoc man-db zsh bash-completion ;;
        apt/fleet) echo jq curl ansible-core ansible-lint dpkg-dev clustershell openssh-client mmdebstrap ;;
        dnf/build) echo gcc glibc-devel make pkgconf-pkg-config glib2-devel libnl3-devel NetworkManager-libnm-devel iproute util-linux procps-ng ;;
        dnf/tests) echo acl jq libcmocka-devel valgrind strace tcpdump iputils libcap libasan libubsan python3 util-linux ;;
        dnf/bench) echo hyperfine valgrind strace jq python3 iproute iputils procps-ng ;;
        dnf/coverage) echo gcovr ;;
        dnf/fuzz) echo clang compiler-rt ;;
        dnf/lint) echo clang clang-tools-extra cppcheck ShellCheck ;;
        dnf/packages) echo rpm-build cpio rpmlint mandoc man-db zsh bash-completion ;;
        dnf/lab | dnf/managers | dnf/platforms | dnf/fleet)
            echo "deps.sh: $2: its systems are made of Debian packages: run it on Debian or Ubuntu" >&2
            exit 1
            ;;
        *)
            echo "deps.sh: $2: build, tests, bench, lint, fuzz, coverage, lab, managers, packages, platforms or fleet" >&2
            exit 2
            ;;
    esac
}

missing() { # MANAGER PACKAGE...
    manager=$1
    shift
    for package in "$@"; do
        case $manager in
            apt) [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package" ;;
            dnf) rpm -q --quiet --whatprovides "$package" || echo "$package" ;;
        esac
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "deps.sh: not root and no sudo: run as root: $*" >&2
        exit 1
    fi
}

if command -v apt-get >/dev/null; then
    manager=apt
elif command -v dnf >/dev/null; then
    manager=dnf
else
    echo "deps.sh: neither apt-get nor dnf: install a C compiler, make, pkg-config, GLib, libnl-route-3 and cmocka" >&2
    exit 1
fi

unpack() { # DIR PACKAGE...: with what they need; nothing of what is installed already
    mkdir -p "$1/.archives/partial"
    unpacked=$(cd "$1" && pwd)
    shift
    echo "unpacking: $*"
    as_root apt-get update -qq
    as_root apt-get install -y -qq --no-install-recommends --download-only \
        -o Dir::Cache::archives="$unpacked/.archives" "$@" >/dev/null
    for archive in "$unpacked"/.archives/*.deb; do
        [ ! -e "$archive" ] || dpkg-deb -x "$archive" "$unpacked"
    done
    as_root rm -r "$unpacked/.archives"
    touch "$unpacked/.complete"
}

if [ "${1:-}" = unpack ]; then
    shift
    [ -e "$1/.complete" ] || [ $manager != apt ] || unpack "$@"
    exit 0
fi

wanted=
for group in "$@"; do
    wanted="$wanted $(packages $manager "$group")"
done
# shellcheck disable=SC2086 # a list of words
needed=$(missing $manager $wanted)
[ -n "$needed" ] || exit 0

echo "installing: $(echo "$needed" | tr '\n' ' ')"
if [ $manager = apt ]; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $needed >/dev/null
else
    # shellcheck disable=SC2086
    as_root dnf install -y -q $needed || {
        echo "deps.sh: libcmocka-devel is in the CRB (PowerTools) repository, ShellCheck and cppcheck are in EPEL:" \
            "enable them and try again" >&2
        exit 1
    }
fi
