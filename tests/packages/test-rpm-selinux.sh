#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The RPM of the policy module: what packaging/rpm/macros, which stand for Fedora's, ask of SELinux when it is installed and erased,
# and where there is none.
. "$(dirname "$0")/lib.sh"

make_root
pretend_booted
for program in semodule load_policy restorecon; do
    printf '#!/bin/sh\necho "%s $*" >>/run/calls\n' $program >$root/usr/sbin/$program
    chmod 0755 $root/usr/sbin/$program
done
run_rpm() {
    : >$root/run/calls
    rpm --root $root --dbpath /var/lib/rpm --nodeps "$@" 2>&1 | sed '/^rpm: /d'
}
enabled() { # STATUS: of selinuxenabled
    printf '#!/bin/sh\nexit %d\n' "$1" >$root/usr/sbin/selinuxenabled
    chmod 0755 $root/usr/sbin/selinuxenabled
}

enabled 1
expect_equal "it says nothing" "" "$(run_rpm -i "$selinux")"
expect_equal "where SELinux is off, the module is only installed" \
    "semodule -n -s targeted -X 200 -i /usr/share/selinux/packages/ib_hook.pp.bz2" "$(<$root/run/calls)"
expect_contains "it is a module, packed" "Module: ib_hook" \
    "Module: $(bunzip2 -c $root/usr/share/selinux/packages/ib_hook.pp.bz2 | grep -a -o -m 1 ib_hook | head -n 1)"
run_rpm -e ib-hook-selinux
expect_equal "erased, it is removed" "semodule -n -s targeted -X 200 -r ib_hook" "$(<$root/run/calls)"

enabled 0
run_rpm -i "$selinux"
expect_contains "where SELinux is on, the policy is loaded" load_policy "$(<$root/run/calls)"
expect_contains "and our files get their labels" "restorecon -R /usr/bin/ib-hook" "$(<$root/run/calls)"
run_rpm -e ib-hook-selinux
expect_contains "erased, the policy is loaded without it" load_policy "$(<$root/run/calls)"
expect_contains "and labels are as before" "restorecon -R" "$(<$root/run/calls)"
