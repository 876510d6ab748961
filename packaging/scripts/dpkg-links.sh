# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# For the scripts of the Debian package. dpkg knows the links into the managers' directories as files of the package
# (dpkg -S, dpkg -V): it would put each of them back at an upgrade, and delete anything of its name at a removal. So what an
# administrator made of them is noted before dpkg comes to them, and made again after.
noted=/var/lib/ib-hook/links

# Where the program for NetworkManager was at first counts as ours, too.
note_links() { # [deleted], LINK PROGRAM lines on standard input: those that are not ours; with "deleted", those that are gone, too
    rm -rf $noted
    while read -r link program; do
        if [ ! -e "$link" ] && [ ! -L "$link" ]; then
            [ -n "${1:-}" ] || continue
            mkdir -p "$noted/deleted${link%/*}"
            : >"$noted/deleted$link"
        elif [ "$(readlink "$link")" != "$program" ] && [ "$(readlink "$link")" != /usr/libexec/ib-hook/nm-dispatcher ]; then
            mkdir -p "$noted/kept${link%/*}"
            cp -a "$link" "$noted/kept$link"
        fi
    done
}

restore_links() { # LINK PROGRAM lines on standard input: as note_links found them
    [ -d $noted ] || return 0
    while read -r link _; do
        if [ -e "$noted/deleted$link" ]; then
            rm -f "$link"
        elif [ -e "$noted/kept$link" ] || [ -L "$noted/kept$link" ]; then
            mkdir -p "${link%/*}"
            rm -f "$link"
            cp -a "$noted/kept$link" "$link"
        fi
    done
}

forget_links() {
    rm -rf $noted
    [ ! -d /var/lib/ib-hook ] || rmdir --ignore-fail-on-non-empty /var/lib/ib-hook
}
