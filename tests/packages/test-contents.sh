#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Both packages hold what make install installs, and nothing else: programs, links to them, and what packagers add. All programs are
# hardened.
. "$(dirname "$0")/lib.sh"

needs cpio rpm2cpio readelf nm objdump systemd-tmpfiles
mkdir $work/deb $work/rpm
dpkg-deb --extract "$deb" $work/deb
rpm2cpio "$rpm" | (cd $work/rpm && cpio --quiet -id)

# Where Debian and the rest differ, and what packagers add. /etc/network is Debian's.
multiarch=$(gcc -print-multiarch)
units=$(pkg-config --variable=systemdsystemunitdir systemd || echo /lib/systemd/system)
debian=$(sed "s,/man/.*,&.gz,; s,/NEWS$,&.gz,; s,/usr/lib/systemd/system,$units,; s,/usr/lib/ib-hook,/usr/lib/$multiarch/ib-hook,; s,/site-functions/,/vendor-completions/," "$top/tests/installed-files"
    printf '%s\n' ./usr/share/doc/ib-hook/{changelog.Debian.gz,copyright} ./usr/share/lintian/overrides/ib-hook)
expected=$(grep -v -e ^./etc/network/ "$top/tests/installed-files" | sed 's,/man/.*,&.gz,; s,/usr/lib/ib-hook,/usr/lib64/ib-hook,')
contents() { # DIRECTORY
    (cd "$1" && find . ! -type d | sort)
}
expect_equal "the Debian package" "$(sort <<<"$debian")" "$(contents $work/deb)"
licence=./usr/share/licenses/ib-hook/COPYING
expect_equal "the RPM" "$(sort <<<"$expected"$'\n'"$licence")" "$(contents $work/rpm | sed 's,licenses/ib-hook[^/]*/,licenses/ib-hook/,' | sort)"

# Pages lie elsewhere than in the sources.
dead_links() { # DIRECTORY
    local page link
    find "$1" -name '*.md' | while read -r page; do
        grep -o ']([^ )]*)' "$page" | sed 's/^](//; s/[#)].*//' | while read -r link; do
            case $link in '' | http*) ;; *) [ -e "$(dirname "$page")/$link" ] || echo "${page##*/}: $link" ;; esac
        done || true
    done
}
expect_contains "README.md and NEWS are there" "Is it safe?" "$(cat $work/deb/usr/share/doc/ib-hook/README.md)"
expect_at_least "the Debian package's pages have links" 5 "$(cat $work/deb/usr/share/doc/ib-hook/*.md $work/deb/usr/share/ib-hook/*/README.md | grep -c ']([^#]')"
expect_equal "each leads to a file of the package" "" "$(dead_links $work/deb)"
expect_equal "and of the RPM" "" "$(dead_links $work/rpm)"

# The /var of an image may be empty, or begin so at each boot.
mkdir -p $work/image/usr/lib
cp -r $work/deb/usr/lib/tmpfiles.d $work/image/usr/lib
systemd-tmpfiles --root=$work/image --create ib-hook.conf >$work/log 2>&1 || fail "systemd-tmpfiles" "$(<$work/log)"
expect_equal "the directories that services write to are made at boot" "755 0 0 755 0 0" \
    "$(stat -c '%a %u %g' $work/image/run/ib-hook $work/image/var/lib/ib-hook | xargs)"

links_to() { # DIRECTORY: where the links in /etc and /usr/sbin lead
    (cd "$1" && find . -type l \( -path './etc/*' -o -path './usr/sbin/*' \) -printf '/%P -> %l\n' | sort)
}
expect_equal "the Debian package's links lead to its programs" "" "$(links_to $work/deb | while read -r _ _ to; do [ -x "$work/deb$to" ] || echo "$to"; done)"
expect_equal "the RPM has the same, but for ifupdown's" "$(links_to $work/deb | grep -v ^/etc/network/)" "$(links_to $work/rpm)"
mkdir $work/network-scripts
rpm2cpio "$network_scripts" | (cd $work/network-scripts && cpio --quiet -id)
expect_equal "what network-scripts call is in a package of its own" "/usr/sbin/ifdown-local -> ../libexec/ib-hook/ifdown-local
/usr/sbin/ifup-local -> ../libexec/ib-hook/ifup-local" "$(links_to $work/network-scripts)"
expect_equal "links in /etc and /sbin are %config(noreplace): a mask or a file of the administrator's stays" "$(cd $work && find rpm/etc network-scripts/usr -type l | wc -l)" \
    "$(for one in "$rpm" "$network_scripts"; do rpm -qp --queryformat '[%{FILEFLAGS:fflags}\n]' "$one" 2>/dev/null; done | grep -c '^cn$')"

modes() { # DIRECTORY
    (cd "$1" && find . -type f -printf '%m %p\n' | sed 's/^644 .*//; /^$/d' | sort)
}
programs="755 ./usr/bin/ib-hook
755 ./usr/lib/NetworkManager/dispatcher.d/50-ib-hook
755 ./usr/libexec/ib-hook/boot
755 ./usr/libexec/ib-hook/ifup-local
755 ./usr/libexec/ib-hook/ifupdown
755 ./usr/libexec/ib-hook/networkd-dispatcher
755 ./usr/libexec/ib-hook/slurm-healthcheck"
expect_equal "programs are 0755 in the Debian package, all else is 0644" "$programs" "$(modes $work/deb)"
expect_equal "and in the RPM" "$programs" "$(modes $work/rpm)"
expect_equal "all is root's in the Debian package" root/root "$(dpkg-deb --contents "$deb" | awk '{print $2}' | sort -u)"
expect_equal "and in the RPM" "root root" "$(rpm -qp --queryformat '[%{FILEUSERNAME} %{FILEGROUPNAME}\n]' "$rpm" 2>/dev/null | sort -u)"

for package in deb rpm; do
    for program in "$work/$package"/usr/{bin,libexec/ib-hook,lib/NetworkManager/dispatcher.d}/*; do
        [[ -f $program && ${program##*/} != slurm-healthcheck ]] || continue # a script
        elf=$(readelf -Whld "$program")
        expect_contains "${program#"$work"/}: position-independent" "DYN (Position-Independent" "$elf"
        expect_contains "its relocations are read-only" GNU_RELRO "$elf"
        expect_contains "from the start" BIND_NOW "$elf"
        expect_equal "it has no executable stack" "RW " "$(sed -n 's/.*GNU_STACK.* \(R..\) 0x[0-9a-f]*$/\1/p' <<<"$elf")"
        expect_contains "it notices a smashed stack" __stack_chk_fail "$(nm -D "$program")"
        [[ $(uname -m) != x86_64 ]] ||
            expect_at_least "indirect jumps have places to land" 5 "$(objdump -d "$program" | grep -c endbr64)"
        expect_equal "it is stripped" 0 "$(readelf -WS "$program" | grep -c -e '\.symtab' -e '\.debug_' || true)"
        expect_lacks "it does not link libnm" libnm.so "$elf"
        [ "${program%/bin/ib-hook}" = "$program" ] || continue
        expect_equal "a hook is linked with GLib, libnl and the C library" "[libc.so.6] [libglib-2.0.so.0] [libnl-3.so.200] [libnl-route-3.so.200]" \
            "$(sed -n 's/.*(NEEDED).*: //p' <<<"$elf" | grep -v libgcc_s | sort | xargs)" # with LTO the compiler's own, too
        expect_at_least "and is small" "$(stat -Lc %s "$program")" 262144
        expect_lacks "it executes no program" execv "$(nm -D "$program")"
    done
done
for plugin in "$work/deb/usr/lib/$multiarch/ib-hook/nm.so" $work/rpm/usr/lib64/ib-hook/nm.so; do
    elf=$(readelf -Whld "$plugin")
    expect_contains "nm.so: its relocations are read-only" GNU_RELRO "$elf"
    expect_contains "from the start" BIND_NOW "$elf"
    expect_contains "it has a dlopen note" 0x407c0c0a "$(readelf -Wn "$plugin" 2>/dev/null || true)"
    expect_equal "which says what may be absent" "suggested libnm.so.0" "$(grep -ao '\[{"feature".*}\]' "$plugin" | jq -r '.[0] | "\(.priority) \(.soname[0])"')"
done
expect_lacks "the Debian package does not depend on libnm" libnm "$(dpkg-deb --field "$deb" Depends)"
expect_contains "it suggests it" libnm0 "$(dpkg-deb --field "$deb" Suggests)"
expect_lacks "nor does the RPM" libnm.so "$(rpm -qp --requires "$rpm" 2>/dev/null)"

version=$("$IB_HOOK" --version)
expect_equal "the Debian package's version" "$version-1" "ib-hook $(dpkg-deb --field "$deb" Version)"
expect_equal "the RPM's version, and its change log's" "$version $version-1" \
    "$(rpm -qp --queryformat 'ib-hook %{VERSION} [ib-hook %{CHANGELOGNAME}]' "$rpm" 2>/dev/null | sed 's/ ib-hook .* - / ib-hook /')"
