#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The spec with Fedora's and RHEL's macros: it is built and installed by them, its scripts ask systemd and SELinux what they ask,
# and where they stand in the scripts is what counts. The macros are names here, as the real ones are called.
. "$(dirname "$0")/lib.sh"

needs rpm rpmbuild
macros() { # NAME…: a file that defines them, each as a line that has its name and its arguments
    local name
    cat "$top/packaging/rpm/macros"
    for name in systemd_post systemd_preun systemd_postun_with_restart; do echo "%$name() : called $name %*"; done
    for name in relabel_pre relabel_post; do echo "%selinux_$name(s:) : called selinux_$name %{-s*}"; done
    for name in install uninstall; do echo "%selinux_modules_$name(s:p:) : called selinux_modules_$name %{-s*} %{-p*} %*"; done
}
scripts() { # FILE: what the macros have become, and what has to come before or after
    rpm -qp --scripts "$1" 2>/dev/null | grep -o -e '^[a-z]* scriptlet' -e ': called .*' -e 'ib-hook --undo' | sed 's/ *scriptlet//; s/^: called //'
}

macros >$work/macros
for name in set_build_flags make_build make_install; do echo "%$name called $name"; done >$work/flags
phases() { # what builds, installs and checks, by the distribution's flags and by nothing else
    rpmspec -P --load "$top/packaging/rpm/macros" --load $work/flags "$top/packaging/rpm/ib-hook.spec" |
        sed -n '/^%prep/,/^%post/p' | grep -o -E -e '^%(install|check)$' -e '^called [a-z_]+' -e '(^|[ "])make ' -e ' -O[0-9]' | sed 's/^called //'
}
expect_equal "the distribution's flags build it, its macros install it" "set_build_flags make_build make_build
%install make_install
%check set_build_flags make_build" "$(phases | tr '\n' ' ' | sed 's/ %/\n%/g; s/ $//')"
named=$(repack_rpm $work/fedora --load $work/macros)
expect_equal "units" "postinstall
systemd_post ib-hook.service ib-hook-watch.service
preuninstall
systemd_preun ib-hook-watch.service ib-hook.service
ib-hook --undo
postuninstall
systemd_postun_with_restart ib-hook-watch.service" "$(scripts "$named")"
expect_equal "the policy module" "preinstall
selinux_relabel_pre targeted
postinstall
selinux_modules_install targeted 200 /usr/share/selinux/packages/ib_hook.pp.bz2
postuninstall
selinux_modules_uninstall targeted 200 ib_hook
selinux_relabel_post targeted
posttrans
selinux_relabel_post targeted" "$(scripts "$(echo $work/fedora/build/RPMS/noarch/ib-hook-selinux-*.rpm)")"
expect_equal "network-scripts' hooks come with network-scripts" "(ib-hook and network-scripts)" "$(rpm -qp --supplements "$network_scripts" 2>/dev/null)"
expect_contains "the policy module with the policy" "(ib-hook-selinux if selinux-policy-targeted)" "$(rpm -qp --requires "$rpm" 2>/dev/null)"
