#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The spec with the macros of Fedora and of SUSE: its scripts ask systemd what those macros ask, where they stand in the
# scripts is what counts. The macros are names here, as the real ones are called.
. "$(dirname "$0")/lib.sh"

needs rpm rpmbuild
macros() { # NAME…: options that define them, each a line that has its name and its arguments
    local name
    for name in "$@"; do printf '%s\n' --define "$name() : called $name %{*}"; done
}
scripts() { # FILE: what the macros have become, and what has to come before or after
    rpm -qp --scripts "$1" 2>/dev/null | grep -o -e '^[a-z]* scriptlet' -e '^: called .*' -e '^ *first_apply$' -e '^ *last_undo$' |
        sed 's/ *scriptlet//; s/^ *//; s/: called //'
}

mapfile -t options < <(macros systemd_post systemd_preun systemd_postun_with_restart)
expect_equal "Fedora's and RHEL's" "postinstall
systemd_post ib-hook.service ib-hook-watch.service
first_apply
preuninstall
systemd_preun ib-hook-watch.service ib-hook.service
last_undo
postuninstall
systemd_postun_with_restart ib-hook-watch.service" "$(scripts "$(repack_rpm $work/fedora "${options[@]}")")"

mapfile -t options < <(macros service_add_pre service_add_post service_del_preun service_del_postun)
suse=$(repack_rpm $work/suse --define 'suse_version 1600' --define 'debug_package %{nil}' --define 'build_ldflags %{nil}' \
    "${options[@]}")
expect_equal "SUSE's" "preinstall
service_add_pre ib-hook.service ib-hook-watch.service
postinstall
service_add_post ib-hook.service ib-hook-watch.service
first_apply
preuninstall
service_del_preun ib-hook-watch.service ib-hook.service
last_undo
postuninstall
service_del_postun ib-hook-watch.service" "$(scripts "$suse")"
expect_equal "SUSE's libnm has SUSE's name" libnm0 "$(rpm -qp --suggests "$suse" 2>/dev/null)"
common() { # what is the same in both: SUSE's rpm would pack the manual itself
    sed '/licenses\|build-id/d; s,\.gz$,,'
}
expect_equal "and it holds what the other one does" "$(rpm -qpl "$rpm" 2>/dev/null | common)" \
    "$(rpm -qpl "$suse" 2>/dev/null | common)"
