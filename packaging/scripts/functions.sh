# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the maintainer scripts of all packages do. The functions are written into each script when its package is built
# (at the line #FUNCTIONS#); make install reads them here.

# The hooks are links: a deleted one stays away, one to /dev/null masks. NetworkManager also runs programs that have no link of the
# same name in /etc, so only a mask switches it off there. LINK PROGRAM
hook_links() {
    cat <<'END'
/etc/NetworkManager/dispatcher.d/50-ib-hook /usr/lib/NetworkManager/dispatcher.d/50-ib-hook
/etc/NetworkManager/dispatcher.d/pre-up.d/50-ib-hook /usr/lib/NetworkManager/dispatcher.d/50-ib-hook
/etc/networkd-dispatcher/routable.d/50-ib-hook /usr/libexec/ib-hook/networkd-dispatcher
/etc/networkd-dispatcher/configured.d/50-ib-hook /usr/libexec/ib-hook/networkd-dispatcher
/etc/networkd-dispatcher/degraded.d/50-ib-hook /usr/libexec/ib-hook/networkd-dispatcher
/etc/networkd-dispatcher/no-carrier.d/50-ib-hook /usr/libexec/ib-hook/networkd-dispatcher
/etc/networkd-dispatcher/off.d/50-ib-hook /usr/libexec/ib-hook/networkd-dispatcher
/etc/network/if-up.d/ib-hook /usr/libexec/ib-hook/ifupdown
/etc/network/if-post-down.d/ib-hook /usr/libexec/ib-hook/ifupdown
END
}

add_links() { # ROOT, LINK PROGRAM lines on standard input
    while read -r link program; do
        if [ ! -e "$1$link" ] && [ ! -L "$1$link" ]; then
            ln -s "$program" "$1$link"
        elif [ "$(readlink "$1$link")" != "$program" ] && [ "$(readlink "$1$link")" != /dev/null ]; then
            # shellcheck disable=SC2016 # as it stands there
            echo "ib-hook: $link is not ours and stays as it is; it should have the line: $program "'"$@"'
        fi
    done
}

# A link to where the program for NetworkManager was at first leads nowhere, and would keep that in /usr/lib from running.
renew_links() { # ROOT, LINK PROGRAM lines on standard input
    while read -r link program; do
        [ "$(readlink "$1$link")" != /usr/libexec/ib-hook/nm-dispatcher ] || ln -sf "$program" "$1$link"
    done
}

remove_links() { # ROOT, LINK PROGRAM lines on standard input: those that are ours, even if their targets are gone
    while read -r link program; do
        [ "$(readlink "$1$link")" != "$program" ] || rm -f "$1$link"
    done
}

remove_masks() { # ROOT, LINK PROGRAM lines on standard input: and the directories that nothing else is in
    while read -r link _; do
        [ "$(readlink "$1$link")" = /dev/null ] || continue
        rm -f "$1$link"
        rmdir -p --ignore-fail-on-non-empty "$1${link%/*}"
    done
}

# Not where an image is built: its network is that of the machine it is built on.
is_booted() {
    [ -d /run/systemd/system ] && ! systemd-detect-virt --quiet --chroot
}

# networkd-dispatcher is skipped at boot while it has no hook: where ours is its first one, it has to be started.
has_networkd_hooks() { # others than ours
    for hook in /etc/networkd-dispatcher/*/* /usr/lib/networkd-dispatcher/*/*; do
        [ "${hook##*/}" = 50-ib-hook ] || [ ! -e "$hook" ] || return 0
    done
    return 1
}

# IB_HOOK_HOLD is for installation on many hosts, each of which is routed later in a way that can undo itself.
first_apply() {
    is_booted || return 0
    # The directory gets its SELinux label from systemd-tmpfiles, before anything is put into it.
    systemd-tmpfiles --create ib-hook.conf || :
    if [ -n "${IB_HOOK_HOLD:-}" ]; then
        ib-hook --undo
    else
        ib-hook --apply --install
    fi || echo "ib-hook: not everything is routed: ib-hook --check says why"
}

last_undo() {
    ! is_booted || ib-hook --undo || echo "ib-hook: not everything could be undone: ip rule, ip route show table all"
}

# Debian's, that it was removed. What an administrator moved away (the fixes of legacy-script) lies beside it, and stays.
forget_removal() {
    rm -f /var/lib/ib-hook/removed
    [ ! -d /var/lib/ib-hook ] || rmdir --ignore-fail-on-non-empty /var/lib/ib-hook
}

forget_everything() {
    rm -rf /run/ib-hook
    [ ! -d /etc/ib-hook ] || rmdir --ignore-fail-on-non-empty /etc/ib-hook/conf.d /etc/ib-hook 2>/dev/null || :
}
