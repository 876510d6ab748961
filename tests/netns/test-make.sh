#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make, called in other ways than ours: a build directory of another name inside the tree, places of others' choice, names of
# other Makefiles, a pipe instead of a terminal.
. "$(dirname "$0")/lib.sh"
unset MAKEFLAGS MFLAGS MAKEOVERRIDES

"$top/packaging/source-tree.sh" $work/tree
printf '%s="%s"\n' MAINTAINER "Jane Roe <jane@example.org>" HOMEPAGE https://example.org REPORT https://example.org/bugs \
    VCS https://example.org/ib-hook.git >$work/project
packed() { # BUILD of make: what a release holds that is no file of the tree
    mkdir -p "$work/tree/$1/core"
    touch "$work/tree/$1/core/left.o"
    make -s -C $work/tree BUILD="$2" PROJECT=$work/project dist >$work/log 2>&1 || fail "make BUILD=$2 dist" "$(<$work/log)"
    tar -t -f "$work/tree/$1"/dist/*.tar.gz | grep -v '/$' | sed 's,^[^/]*/,,' | sort >$work/packed
    (cd $work/tree && find . -path "./$1" -prune -o ! -type d -printf '%P\n') | sort | diff - $work/packed || true
    rm -r "${work:?}/tree/$1"
}
expect_equal "without git, a release holds nothing of another build directory" "" "$(packed out/of-mine out/of-mine)"
expect_equal "nor where that is said with its whole path" "" "$(packed o.t $work/tree/o.t/)"
touch $work/tree/o,t
expect_equal "but files that have a similar name" "" "$(packed o.t o.t)"

# A release says who publishes it. What is missing is said before anything is made.
refused() { # SCRIPT of sed for the file that is filled in → the names that it misses
    sed -e "$1" $work/project >$work/wrong
    if make -s -C $work/tree PROJECT=$work/wrong dist >$work/out 2>$work/err; then fail "make dist works without: $1"; fi
    [ ! -e $work/tree/build ] || fail "make dist begins without: $1"
    sed -n "s,^$work/wrong: \([A-Z]*\)=.* is not filled in: .*,\1,p" $work/err | xargs
}
expect_equal "with an empty file, make dist names all that is missing" "MAINTAINER HOMEPAGE REPORT VCS" "$(refused 's/=.*/=""/')"
expect_contains "and where it belongs" "fill in packaging/project, or name a file like it: PROJECT=FILE" "$(<$work/err)"
expect_equal "without an address, it is the maintainer" MAINTAINER "$(refused 's/ <.*>//')"
expect_equal "without a protocol, where bugs are reported" REPORT "$(refused '/^REPORT/s,https://,,')"

# GNU's names say where all goes, as distributions pass them; units and the program know it, though it was built before.
mkdir $work/tree/build
(cd "$IBH_BUILD" && cp -a core hooks packaging ./*-dispatcher ifupdown rhel-ifcfg ./*.a ib-hook ./nm.* $work/tree/build)
places="s,^./usr/bin/,./a/bin/,; s,^./usr/lib/ib-hook/,./a/lib64/ib-hook/,; s,^./usr/libexec/,./a/libexec/,; s,^./etc/,./a/etc/,
s,^./usr/share/man/,./a/man/,; s,^./usr/share/doc/ib-hook/,./a/doc/,; s,^./usr/share/,./a/share/,; s,^./usr/lib/,./opt/lib/,"
at=(DESTDIR="$work/a place" prefix=/opt bindir=/a/bin libdir=/a/lib64 libexecdir=/a/libexec sysconfdir=/a/etc localstatedir=/a/var
    datadir=/a/share mandir=/a/man docdir=/a/doc)
make -s -C $work/tree install "${at[@]}" >$work/log 2>&1 || fail "make install ${at[*]}" "$(<$work/log)"
installed() { (cd "$work/a place" && find . "$@" | sort); }
expect_equal "each file is where its name says" "$(sed "$places" "$top/tests/installed-files" | sort)" "$(installed ! -type d)"
expect_equal "links lead to the hooks there" "/a/libexec/ib-hook/ifupdown /opt/lib/NetworkManager/dispatcher.d/50-ib-hook" \
    "$(cd "$work/a place/a/etc" && readlink network/if-up.d/ib-hook NetworkManager/dispatcher.d/50-ib-hook | xargs)"
expect_equal "units start the programs there" "/a/libexec/ib-hook/boot /a/bin/ib-hook --watch" \
    "$(cd "$work/a place/opt/lib/systemd/system" && sed -n 's/^ExecStart=//p' ib-hook.service ib-hook-watch.service | xargs)"
expect_contains "the program looks for nm.so there" /a/lib64/ib-hook "$(strings "$work/a place/a/bin/ib-hook")"
touch "$work/a place/a/var/lib/ib-hook/rails"
make -s -C $work/tree uninstall "${at[@]}" >$work/log 2>&1 || fail "make uninstall" "$(<$work/log)"
expect_equal "make uninstall leaves the NICs that were rails" "./a/var/lib/ib-hook/rails" "$(installed ! -type d)"
expect_equal "and no other directory of ours" "./a/var/lib/ib-hook" "$(installed -name '*ib-hook*')"

# A package that is installed beside keeps what it has, and goes on.
if [ "$rooted" = yes ]; then
    lay_over /usr
    mkdir -p /run/systemd/system /run/ib-hook /etc/ib-hook /var/lib/ib-hook
    printf '#!/bin/sh\necho "$@" >>%s/called\n' $work >/usr/local/bin/systemctl
    chmod 0755 /usr/local/bin/systemctl
    export PATH=/usr/local/bin:$PATH
    uninstalled() { # what it called, and what is left
        : >$work/called
        make -s -C $work/tree install prefix=/usr/local >$work/log 2>&1 || fail "make install" "$(<$work/log)"
        make -s -C $work/tree uninstall prefix=/usr/local >$work/log 2>&1 || fail "make uninstall" "$(<$work/log)"
        cat $work/called
        ls -d /run/ib-hook /etc/ib-hook /var/lib/ib-hook /usr/local/bin/ib-hook 2>/dev/null || true
    }
    touch /usr/lib/tmpfiles.d/ib-hook.conf
    expect_equal "beside a package, its services and directories stay" "/etc/ib-hook /run/ib-hook /var/lib/ib-hook" "$(uninstalled | sort | xargs)"
    rm /usr/lib/tmpfiles.d/ib-hook.conf
    expect_equal "without one, nothing of it is left" "disable --now ib-hook.service ib-hook-watch.service" "$(uninstalled | xargs)"
fi

for name in destdir BINDIR LIBDIR; do
    status=0
    make -n -C $work/tree install DESTDIR=$work/installed $name=/opt >$work/out 2>$work/err || status=$?
    expect_equal "make install $name=/opt does not begin: exit status" 2 $status
    expect_contains "it says what to write" "$name= has no effect here: say where with DESTDIR=, or with prefix=" "$(<$work/err)"
done
expect_contains "a variable of the environment that has such a name does not matter" /usr/bin/ib-hook \
    "$(bindir=/opt BINDIR=/opt make -n -C $work/tree install)"

# Where no line on a terminal tells how far it is, each part of make check is named when it begins.
# shellcheck disable=SC2016 # of the script that is written
printf '#!/bin/sh\ncp %s/out %s/$2\necho 1 passed, 0 failed, 0 skipped\n' $work $work >$work/make
chmod 0755 $work/make
for part in unit sanitized install netns; do
    MAKE=$work/make "$top/tests/check" $part >$work/out 2>&1 3>&- || fail "tests/check $part" "$(<$work/out)"
    expect_equal "$part: what is said when it begins" "$(sed -n 's/  *1 passed.*/: begins/p' $work/out | head -n 1)" "$(<$work/check-$part)"
done
