# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every test here starts with: `. "$(dirname "$0")/lib.sh"`: all of ../netns/lib.sh, and in addition
#
#   the packages    $deb, $rpm, $selinux (the policy module's), $network_scripts, as make deb and make rpm left them
#   a system        make_root; then $root is one to install them in: inside COMMAND…, not booted. Its network is that of
#                   host B, if there is one
#   its files       files: all, with what they are; since FILE: what changed; links: of the hooks, and what they lead to
#   another version newer, older: the same package as $deb, with a later or an earlier version
#   another RPM   repack_rpm DIRECTORY OPTION…: packs anew what make rpm has built, with these options of rpmbuild
#   as if booted    pretend_booted: what maintainer scripts ask of systemd, they get, and ib-hook.service runs; calls: what they called
#
# Needs root. Environment: CHROOT, the system (build/packages/chroot).
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/netns/lib.sh
. "$here/../netns/lib.sh"

# shellcheck disable=SC2154 # of ../netns/lib.sh
deb=$(echo "$IBH_BUILD"/deb/ib-hook_*.deb)
rpm=$(echo "$IBH_BUILD"/rpm/RPMS/*/ib-hook-[0-9]*.rpm)
CHROOT=${CHROOT:-$IBH_BUILD/packages/chroot}
selinux=$(echo "$IBH_BUILD"/rpm/RPMS/noarch/ib-hook-selinux-*.rpm)
network_scripts=$(echo "$IBH_BUILD"/rpm/RPMS/noarch/ib-hook-network-scripts-*.rpm)
[[ -f $deb && -f $rpm && -f $selinux && -f $network_scripts ]] || fail "there are no packages: run make deb rpm"
: "$here"

root=/run/root
make_root() {
    # shellcheck disable=SC2154
    [ "$rooted" = yes ] || skip "packages can only be installed by root"
    [ -d "$CHROOT" ] || fail "there is no $CHROOT: run make check-packages"
    mkdir -p $root /run/changes
    mount -t tmpfs tmpfs /run/changes
    mkdir /run/changes/upper /run/changes/work
    mount -t overlay overlay -o "lowerdir=$CHROOT,upperdir=/run/changes/upper,workdir=/run/changes/work" $root
    mount --bind /proc $root/proc
    mount -t tmpfs -o mode=0755 tmpfs $root/run
    : >$root/run/calls
}

inside() { # COMMAND…
    local host=()
    [ ! -e /run/netns/B ] || host=(nsenter --net=/run/netns/B)
    "${host[@]}" chroot $root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"
}

# files: path, type, mode and where a link leads to, of all in the system but what a package manager notes down
files() {
    (cd $root && find . run \( -path ./proc -o -path ./run -o -path ./dev -o -path ./var/lib/dpkg -o -path ./var/lib/rpm -o \
        -path ./var/log -o -path ./var/cache \) -prune -o -printf '%P %y %m %l\n' | sed 's/ *$//' | sort)
}

since() { # FILE, with the files of before → < those that are gone, > those that are new
    diff "$1" <(files) | grep '^[<>]' || true
}

links() { # of all hooks, sorted: LINK -> PROGRAM
    (cd $root && find etc usr/sbin -type l \
        \( -name '*ib-hook' -o -name 'if*-local' \) -printf '/%p -> %l\n' | sort)
}

other_version() { # VERSION → its file
    dpkg-deb -R "$deb" "$work/version-$1"
    sed -i "s/^Version:.*/Version: $1/" "$work/version-$1/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$work/version-$1" "$work/version-$1.deb" >$work/log
    rm -r "$work/version-$1"
    echo "$work/version-$1.deb"
}
newer() { other_version 9; }
older() { other_version 0; }

# Of what is in DIRECTORY/tree, or else of this one. Compiling it once more would change nothing.
repack_rpm() { # DIRECTORY OPTION… → its file
    [ -d "$1/tree" ] || "$top/packaging/source-tree.sh" "$1/tree"
    "$1/tree/packaging/build-rpm.sh" "$1/build" --without unit_tests \
        --define "make_build cp -a $(echo "$IBH_BUILD"/rpm/BUILD/ib-hook-*)/build . && :" "${@:2}" | grep -v -e selinux -e network-scripts
}

pretend_chroot() { # STATUS: what the scripts are told that ask whether this is a chroot; 1: it is none
    printf '#!/bin/sh\nexit %s\n' "$1" | tee $root/usr/bin/ischroot >$root/usr/bin/systemd-detect-virt
    chmod 0755 $root/usr/bin/ischroot $root/usr/bin/systemd-detect-virt
}

# The scripts are told that this is no chroot; and systemctl is asked for, not obeyed.
pretend_booted() {
    mkdir -p $root/run/systemd/system
    pretend_chroot 1
    cat >$root/usr/bin/systemctl <<'E'
#!/bin/sh
echo "systemctl $*: $(ip rule | grep -c suppress) rules" >>/run/calls
case "$*" in
    *is-enabled*) echo enabled ;;
    *ConditionResult*) if [ -e /run/dispatching ]; then echo yes; else echo no; fi ;;
    *'start networkd-dispatcher'*) touch /run/dispatching ;;
    *show*) echo loaded ;;
    *'start '*ib-hook.service*) $(sed -n 's/^ExecStart=//p' /lib/systemd/system/ib-hook.service) ;;
esac
E
    cat >$root/usr/bin/systemd-tmpfiles <<'E'
#!/bin/sh
echo "systemd-tmpfiles $*: $(ip rule | grep -c suppress) rules" >>/run/calls
mkdir -p /run/ib-hook
E
    chmod 0755 $root/usr/bin/systemctl $root/usr/bin/systemd-tmpfiles
}

calls() { # PATTERN
    grep -e "$1" $root/run/calls || true
}
