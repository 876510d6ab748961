# shellcheck shell=bash disable=SC2164 # lib.sh ends it at the first failure
# SPDX-License-Identifier: GPL-2.0-or-later
# The first `make`s of somebody on a bare machine, and awkward places.
clone
cd ib-hook
make clean >quiet 2>&1
make help 2>noise >texts
cat noise >>quiet
grep -v '^rm -rf build compile_commands.json$' quiet && fail "make clean and make help have nothing to complain of"
[ "$(wc -L <texts)" -le 120 ] || fail "make help fits a line: $(<texts)"
if make >bare 2>&1; then fail "it cannot be built yet"; fi
expect 'make deps. installs them' bare
[ "$(wc -l <bare)" -le 4 ] || fail "that is said in four lines: $(<bare)"
if unshare --net make deps >bare 2>&1; then fail "nothing can be installed without a network"; fi
expect '^W: Failed to fetch ' bare
if runuser -u nobody -- packaging/deps.sh build >bare 2>&1; then fail "nobody may install packages"; fi
expect 'not root and no sudo: run as root: apt install gcc ' bare

make deps
cd /root
mkdir "a place"
clone "a place/ib-hook"
cd "a place/ib-hook"
make -j4 -s >log 2>&1
! grep . log || fail "a build prints nothing to worry about"
make -B -j4 >log 2>&1
if grep -vE '^  (CC|LD|AR)   [^ ]+$' log; then fail "one line for each file"; fi
command -v strace valgrind && fail "deps installed more than building needs"
packaging/deps.sh build tests
make -s check-install check-unit
make -s demo >demo.log
expect 'with it 4 of 4' demo.log
git -c safe.directory='*' status --short --ignored | grep -vE '^(!! build/|\?\? (demo\.)?log)' && fail "something is written beside build/"

cd /root
mount --bind ib-hook ib-hook
mount -o remount,bind,ro ib-hook
cd ib-hook
make -s BUILD=/root/elsewhere demo >/root/demo.log || { cat /root/demo.log && fail "make demo in a read-only tree"; }
expect 'with it 4 of 4' /root/demo.log
mkdir -p /run/systemd/system
machine /root/elsewhere | grep -v ^/run/systemd >/root/before
make BUILD=/root/elsewhere install >/root/install.log 2>&1 || { cat /root/install.log && fail "make install"; }
expect 'systemctl enable --now ib-hook-watch.service' /root/install.log
ib-hook --version >/dev/null
rmdir /run/systemd/system # nothing here could stop a service
make -s BUILD=/root/elsewhere uninstall
rm /root/install.log
machine /root/elsewhere | grep -v ^/run/systemd >/root/after
left=$(diff /root/before /root/after | grep '^[<>]' | grep -v ' d [0-7]*$\|/root/before\|/root/after' || true)
[ -z "$left" ] || fail "make uninstall left: $left"
seen "help, no libraries, a place with a space, -j4, a read-only tree, install and uninstall"
