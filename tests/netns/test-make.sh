#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make, called in other ways than ours: a build directory of another name inside the tree, and names of other Makefiles.
. "$(dirname "$0")/lib.sh"
unset MAKEFLAGS MFLAGS MAKEOVERRIDES

"$top/packaging/source-tree.sh" $work/tree
packed() { # BUILD of make: what a release holds that is no file of the tree
    mkdir -p "$work/tree/$1/core"
    touch "$work/tree/$1/core/left.o"
    make -s -C $work/tree BUILD="$2" dist >$work/log 2>&1 || fail "make BUILD=$2 dist" "$(<$work/log)"
    tar -t -f "$work/tree/$1"/dist/*.tar.gz | grep -v '/$' | sed 's,^[^/]*/,,' | sort >$work/packed
    (cd $work/tree && find . -path "./$1" -prune -o ! -type d -printf '%P\n') | sort | diff - $work/packed || true
    rm -r "${work:?}/tree/$1"
}
expect_equal "without git, a release holds nothing of another build directory" "" "$(packed out/of-mine out/of-mine)"
expect_equal "nor where that is said with its whole path" "" "$(packed o.t $work/tree/o.t/)"
touch $work/tree/o,t
expect_equal "but files that have a similar name" "" "$(packed o.t o.t)"

for name in prefix libdir LIBDIR; do
    status=0
    make -n -C $work/tree install DESTDIR=$work/installed $name=/opt >$work/out 2>$work/err || status=$?
    expect_equal "make install $name=/opt does not begin: exit status" 2 $status
    expect_contains "it says what to write" "$name= has no effect here: say where with PREFIX=" "$(<$work/err)"
done
status=0
prefix=/opt make -s -C $work/tree help >$work/out 2>$work/err || status=$?
expect_equal "a variable of the environment that has such a name does not matter" 0 $status
