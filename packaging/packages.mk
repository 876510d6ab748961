# Installing, packages, and their tests; included by the Makefile.

SBINDIR ?= $(PREFIX)/sbin
LIBEXECDIR ?= $(PREFIX)/libexec/ib-hook
UNITDIR ?= $(PREFIX)/lib/systemd/system
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
PLUGINDIR ?= $(PREFIX)/lib/ib-hook
DOCDIR ?= $(PREFIX)/share/doc/ib-hook
MANDIR ?= $(PREFIX)/share/man
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions

UNITS := ib-hook.service ib-hook-watch.service
LINKS = . packaging/scripts/functions.sh; . packaging/scripts/network-scripts.sh
# Where things are in a package is written down in units and links; elsewhere it is put right.
RELOCATE = sed -e 's,/usr/sbin/ib-hook,$(SBINDIR)/ib-hook,' -e 's,/usr/libexec/ib-hook,$(LIBEXECDIR),'

install: install-files
	@$(LINKS); hook_links | $(RELOCATE) | add_links "$(DESTDIR)"
	@$(LINKS); [ ! -d "$(DESTDIR)/etc/sysconfig/network-scripts" ] || network_scripts_links | $(RELOCATE) | add_links "$(DESTDIR)"

# All but the links into the managers' directories, which packages make at their first installation only.
install-files: all
	install -D -m 0755 $(BUILD)/ib-hook $(DESTDIR)$(SBINDIR)/ib-hook
	install -d $(DESTDIR)$(LIBEXECDIR)
	install -m 0755 $(addprefix $(BUILD)/hooks/,nm-dispatcher networkd-dispatcher ifupdown) $(DESTDIR)$(LIBEXECDIR)
	install -m 0755 $(BUILD)/hooks/rhel-ifcfg $(DESTDIR)$(LIBEXECDIR)/ifup-local
	ln -sf ifup-local $(DESTDIR)$(LIBEXECDIR)/ifdown-local
	install -d $(DESTDIR)$(PLUGINDIR) $(DESTDIR)$(UNITDIR)
	$(if $(NM),install -m 0644 $(NM) $(DESTDIR)$(PLUGINDIR)/nm.so)
	for unit in $(UNITS); do \
	    $(RELOCATE) packaging/systemd/$$unit >$(DESTDIR)$(UNITDIR)/$$unit && chmod 0644 $(DESTDIR)$(UNITDIR)/$$unit || exit; \
	done
	install -D -m 0644 packaging/systemd/tmpfiles.conf $(DESTDIR)$(TMPFILESDIR)/ib-hook.conf
	install -D -m 0644 packaging/man/ib-hook.8 $(DESTDIR)$(MANDIR)/man8/ib-hook.8
	install -D -m 0644 packaging/man/ib-hook.conf.5 $(DESTDIR)$(MANDIR)/man5/ib-hook.conf.5
	install -D -m 0644 packaging/completions/ib-hook.bash $(DESTDIR)$(BASH_COMPLETIONS)/ib-hook
	install -D -m 0644 packaging/completions/_ib-hook $(DESTDIR)$(ZSH_COMPLETIONS)/_ib-hook
	install -D -m 0644 packaging/ib-hook.conf $(DESTDIR)$(DOCDIR)/ib-hook.conf
	install -m 0644 packaging/doc/*.md $(DESTDIR)$(DOCDIR)
	@$(LINKS); hook_links | while read -r link _; do install -d "$(DESTDIR)$${link%/*}"; done

# ---- packages --------------------------------------------------------------------------------------

deb:
	@packaging/deps.sh build packages
	@packaging/build-deb.sh $(BUILD)/deb

rpm:
	@packaging/deps.sh build packages
	@packaging/build-rpm.sh $(BUILD)/rpm

# ---- tests -----------------------------------------------------------------------------------------

PACKAGING_SHELL = packaging/doc/record $(wildcard packaging/*.sh packaging/scripts/* packaging/debian/ib-hook.p* packaging/completions/*.bash tests/packages/*.sh) tests/packages/chroot

# Exactly these files, and a program that says its version.
check-install: all
	@rm -rf $(BUILD)/root && $(MAKE) -s install DESTDIR=$(CURDIR)/$(BUILD)/root PREFIX=/usr
	@cd $(BUILD)/root && find . ! -type d | LC_ALL=C sort | diff $(CURDIR)/tests/installed-files -
	@$(BUILD)/root/usr/sbin/ib-hook --version

check-packages: all deb rpm
	@tests/packages/chroot $(BUILD)/deb/ib-hook_*.deb $(BUILD)/packages/chroot
	@TESTS=tests/packages LIMIT=150 tests/netns/run

.PHONY: install install-files deb rpm check-install check-packages
