#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the missing packages of these groups, silently if none is missing: deps.sh GROUP ...
#
#   build      a compiler and the libraries      deb, rpm    building that package      repo    make repo
#   demo       the demonstration                 packages    the tests of both packages
#   tests      make check
#   bench lint valgrind fuzz coverage lab managers platforms fleet selinux    the targets of these names
#
# deps.sh unpack DIR PACKAGE ...: into DIR only, with their dependencies that are not installed, for programs that would start by themselves
# where it is installed (without apt: nothing).
set -eu

packages() { # MANAGER GROUP
    case $1/$2 in
        apt/build) echo gcc libc6-dev make pkg-config libglib2.0-dev libnl-route-3-dev libnm-dev ;;
        apt/demo) echo iproute2 iputils-ping jq util-linux procps ;;
        apt/tests) echo "$(packages apt demo)" acl nftables libcmocka-dev strace tcpdump iputils-arping libcap2-bin python3 bsdutils ;;
        apt/bench) echo hyperfine valgrind strace jq python3 iproute2 iputils-ping procps containernetworking-plugins ;;
        apt/valgrind) echo valgrind ;;
        apt/coverage) echo gcovr ;;
        apt/fuzz) echo clang libclang-rt-dev ;;
        apt/lint) echo jq clang clang-format clang-tidy cppcheck shellcheck zsh ;;
        apt/lab) echo jq dash kmod cpio busybox-static nftables iproute2 iputils-ping qemu-system-x86 seabios rdmacm-utils perftest ibverbs-utils ibverbs-providers ucx-utils ;;
        apt/selinux) echo "$(packages apt lab)" checkpolicy semodule-utils selinux-policy-dev policycoreutils bzip2 ;;
        apt/managers) echo jq iproute2 iputils-ping util-linux procps dnsmasq-base mmdebstrap ;;
        apt/platforms | apt/fresh) echo util-linux mmdebstrap ;;
        apt/deb) echo build-essential debhelper dpkg-dev "$(apt-cache --names-only search "^dh-dlopenlibdeps$" | cut -d" " -f1)" ;;
        apt/rpm) echo rpm cpio selinux-policy-dev bzip2 ;;
        apt/repo) echo apt-utils createrepo-c rpm gnupg ;;
        apt/packages) echo "$(packages apt tests)" clang lld llvm lintian blhc piuparts autopkgtest rpm2cpio cpio rpmlint mmdebstrap systemd mandoc man-db zsh bash-completion selinux-policy-dev bzip2 dnf git libxml2-utils ;;
        apt/fleet) echo jq curl ansible-core ansible-lint dpkg-dev openssh-client mmdebstrap ;;
        dnf/build) echo gcc glibc-devel make pkgconf-pkg-config glib2-devel libnl3-devel NetworkManager-libnm-devel ;;
        dnf/demo) echo iproute iputils jq util-linux procps-ng ;;
        dnf/tests) echo "$(packages dnf demo)" acl nftables libcmocka-devel strace tcpdump libcap libasan libubsan python3 ;;
        dnf/bench) echo hyperfine valgrind strace jq python3 iproute iputils procps-ng containernetworking-plugins ;;
        dnf/valgrind) echo valgrind ;;
        dnf/coverage) echo gcovr ;;
        dnf/fuzz) echo clang compiler-rt ;;
        dnf/lint) echo jq clang clang-tools-extra cppcheck ShellCheck zsh ;;
        dnf/rpm) echo rpm-build cpio selinux-policy-devel bzip2 ;;
        dnf/packages) echo "$(packages dnf tests)" clang lld llvm rpmlint mandoc man-db zsh bash-completion ;;
        dnf/deb | dnf/repo | dnf/lab | dnf/selinux | dnf/managers | dnf/platforms | dnf/fresh | dnf/fleet)
            echo "deps.sh: $2: this is made of Debian packages: run it on Debian or Ubuntu" >&2
            exit 1
            ;;
        *)
            echo "deps.sh: there is no group '$2': its first lines have them all" >&2
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
    else
        sudo "$@"
    fi
}

need_root() { # COMMAND...: the one that root is needed for
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || {
        echo "deps.sh: not root and no sudo: run as root: $*" >&2
        exit 1
    }
}

quietly() { # COMMAND...: what it prints is shown where it fails
    said=$(mktemp)
    "$@" >"$said" 2>&1 || {
        echo "${warnings:-}" | cat "$said" - >&2
        rm "$said"
        echo "deps.sh: this failed: $*" >&2
        exit 1
    }
    rm "$said"
}

# apt-get update succeeds without a network, too. Its warnings are shown where a package cannot be installed then.
update() {
    warnings=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq 2>&1) || :
}

if command -v apt-get >/dev/null; then
    manager=apt
elif command -v dnf >/dev/null; then
    manager=dnf
else
    echo "deps.sh: neither apt-get nor dnf: install a C compiler, make, pkg-config, GLib, libnl-route-3 and cmocka" >&2
    exit 1
fi

# As apt would install them: with the dependencies that are missing here or too old. Where /lib, /bin and /sbin are links, their
# files belong below usr.
unpack() { # DIR PACKAGE...
    mkdir -p "$1"
    unpacked=$(cd "$1" && pwd)
    shift
    echo "unpacking: $*"
    rm -rf "$unpacked"
    mkdir -p "$unpacked/.archives/partial"
    need_root apt-get install "$@"
    update
    quietly as_root apt-get install -y -qq --no-install-recommends --download-only \
        -o Dir::Cache::archives="$unpacked/.archives" -o APT::Sandbox::User=root "$@"
    for archive in "$unpacked"/.archives/*.deb; do
        [ ! -e "$archive" ] || dpkg-deb --extract "$archive" "$unpacked"
    done
    for directory in bin sbin lib lib64; do
        if [ -L "/$directory" ] && [ -d "$unpacked/$directory" ]; then
            cp -al "$unpacked/$directory" "$unpacked/usr/"
            rm -r "${unpacked:?}/$directory"
        fi
    done
    as_root rm -r "$unpacked/.archives"
    touch "$unpacked/.complete"
}

if [ "${1:-}" = unpack ]; then
    shift
    if [ ! -e "$1/.complete" ] && [ $manager = apt ]; then unpack "$@"; fi
    mkdir -p "$1"
    touch "$1/.complete"
    exit 0
fi

find_needed() { # GROUP...
    wanted=
    for group in "$@"; do
        wanted="$wanted $(packages $manager "$group")"
    done
    # shellcheck disable=SC2086 # a list of words
    needed=$(missing $manager $wanted)
}

find_needed "$@"
[ -n "$needed" ] || exit 0

# shellcheck disable=SC2086
need_root $manager install $needed
if [ $manager = apt ]; then
    update
    find_needed "$@" # some have another name in another release, which is known now
fi
echo "installing: $(echo "$needed" | tr '\n' ' ')"
if [ $manager = apt ]; then
    # shellcheck disable=SC2086
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $needed
else
    # shellcheck disable=SC2086
    as_root dnf install -y -q $needed || {
        echo "deps.sh: NetworkManager-libnm-devel and libcmocka-devel are in the CRB (PowerTools) repository," \
            "ShellCheck and cppcheck are in EPEL: enable them and try again" >&2
        exit 1
    }
fi
