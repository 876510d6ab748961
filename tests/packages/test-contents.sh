#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Both packages hold what make install installs, and nothing else; the links are made by their scripts.
. "$(dirname "$0")/lib.sh"

needs cpio rpm2cpio readelf nm
mkdir $work/deb $work/rpm
dpkg-deb --extract "$deb" $work/deb
rpm2cpio "$rpm" | (cd $work/rpm && cpio --quiet -id)

# Where Debian and the rest differ (the RPM's scripts make the links), and what packagers add.
units=$(pkg-config --variable=systemdsystemunitdir systemd || echo /lib/systemd/system)
debian=$(sed "s,/man/.*,&.gz,; s,/usr/lib/systemd/system,$units," "$top/tests/installed-files"
    printf '%s\n' ./usr/share/doc/ib-hook/{changelog.Debian.gz,copyright} ./usr/share/lintian/overrides/ib-hook)
expected=$(grep -v -e ^./etc/ "$top/tests/installed-files" | sed 's,/man/.*,&.gz,')
contents() { # DIRECTORY
    (cd "$1" && find . ! -type d | sort)
}
expect_equal "the Debian package" "$(sort <<<"$debian")" "$(contents $work/deb)"
licence=./usr/share/licenses/ib-hook/COPYING
expect_equal "the RPM" "$(sort <<<"$expected"$'\n'"$licence")" "$(contents $work/rpm | sed 's,licenses/ib-hook[^/]*/,licenses/ib-hook/,' | sort)"

modes() { # DIRECTORY
    (cd "$1" && find . -type f -printf '%m %p\n' | sed 's/^644 .*//; /^$/d' | sort)
}
programs="755 ./usr/lib/NetworkManager/dispatcher.d/50-ib-hook
755 ./usr/libexec/ib-hook/ifup-local
755 ./usr/libexec/ib-hook/ifupdown
755 ./usr/libexec/ib-hook/networkd-dispatcher
755 ./usr/libexec/ib-hook/slurm-healthcheck
755 ./usr/sbin/ib-hook"
expect_equal "programs are 0755 in the Debian package, all else is 0644" "$programs" "$(modes $work/deb)"
expect_equal "and in the RPM" "$programs" "$(modes $work/rpm)"
expect_equal "all is root's in the Debian package" root/root "$(dpkg-deb --contents "$deb" | awk '{print $2}' | sort -u)"
expect_equal "and in the RPM" "root root" "$(rpm -qp --queryformat '[%{FILEUSERNAME} %{FILEGROUPNAME}\n]' "$rpm" 2>/dev/null | sort -u)"

for package in deb rpm; do
    for program in "$work/$package"/usr/{sbin,libexec/ib-hook,lib/NetworkManager/dispatcher.d}/*; do
        [[ -f $program && ${program##*/} != slurm-healthcheck ]] || continue # a script
        elf=$(readelf -Whld "$program")
        expect_contains "${program#"$work"/}: position-independent" "DYN (Position-Independent" "$elf"
        expect_contains "its relocations are read-only" GNU_RELRO "$elf"
        expect_contains "from the start" BIND_NOW "$elf"
        expect_equal "it has no executable stack" "RW " "$(sed -n 's/.*GNU_STACK.* \(R..\) 0x[0-9a-f]*$/\1/p' <<<"$elf")"
        expect_contains "it notices a smashed stack" __stack_chk_fail "$(nm -D "$program")"
        expect_equal "it is stripped" 0 "$(readelf -WS "$program" | grep -c -e '\.symtab' -e '\.debug_' || true)"
        expect_lacks "it does not link libnm" libnm.so "$elf"
        [ "${program%/sbin/ib-hook}" = "$program" ] || continue
        expect_equal "a hook is linked with the C library alone" "[libc.so.6]" "$(sed -n 's/.*(NEEDED).*: //p' <<<"$elf")"
        expect_at_least "and is small" "$(stat -Lc %s "$program")" 65536
        expect_contains "what it executes" /usr/sbin/ib-hook "$(grep -ao '/[a-z/-]*/ib-hook' "$program" | sort -u)"
    done
done
expect_lacks "the Debian package does not depend on libnm" libnm "$(dpkg-deb --field "$deb" Depends)"
expect_lacks "nor does the RPM" libnm.so "$(rpm -qp --requires "$rpm" 2>/dev/null)"

version=$("$IB_HOOK" --version)
expect_equal "the Debian package's version" "$version-1" "ib-hook $(dpkg-deb --field "$deb" Version)"
expect_equal "the RPM's version, and its change log's" "$version $version-1" \
    "$(rpm -qp --queryformat 'ib-hook %{VERSION} [ib-hook %{CHANGELOGNAME}]' "$rpm" 2>/dev/null | sed 's/ib-hook maintainers <.*> - //')"
