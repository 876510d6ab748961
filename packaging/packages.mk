# SPDX-License-Identifier: GPL-2.0-or-later
# Installing, packages, and their tests; included by the Makefile.

# Where things go: GNU's names, on the command line. What reads them there lies elsewhere: ib-hook reads /etc/ib-hook and
# /var/lib/ib-hook, the network managers and systemd their own directories.
prefix = $(PREFIX)
exec_prefix = $(prefix)
bindir = $(exec_prefix)/bin
libdir = $(exec_prefix)/lib
libexecdir = $(exec_prefix)/libexec
sysconfdir = /etc
localstatedir = /var
datarootdir = $(prefix)/share
datadir = $(datarootdir)
docdir = $(datarootdir)/doc/ib-hook
mandir = $(datarootdir)/man
unitdir = $(prefix)/lib/systemd/system
tmpfilesdir = $(prefix)/lib/tmpfiles.d
# NetworkManager looks here in /usr only; from elsewhere the link in /etc leads here.
nmdir = $(prefix)/lib/NetworkManager/dispatcher.d
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions

hookdir = $(libexecdir)/ib-hook
plugindir = $(libdir)/ib-hook
# Pages link to these two, and each to the other.
fleetdir = $(datadir)/ib-hook/fleet
ansibledir = $(datadir)/ib-hook/ansible

# Other Makefiles have these names. They would be ignored, and all installed in another place than the one asked for.
$(foreach name,destdir BINDIR SBINDIR LIBDIR LIBEXECDIR SYSCONFDIR DATADIR MANDIR DOCDIR, \
    $(if $(filter command,$(origin $(name))),$(error $(name)= has no effect here: say where with DESTDIR=, or with prefix=, bindir=, \
        libdir= and GNU's other names in small letters; `make help`)))

FLEET := README.md ib-hook.schema.json ib-hook-prometheus.service ib-hook-prometheus.timer ib-hook.rules.yml
ANSIBLE := $(patsubst packaging/ansible/%,%,$(shell find packaging/ansible -type f))
UNITS := ib-hook.service ib-hook-watch.service
# Where things are in a package is written down in units; elsewhere it is put right.
RELOCATE = sed -e 's,/usr/bin/ib-hook,$(bindir)/ib-hook,' -e 's,/usr/libexec/ib-hook,$(hookdir),'
# README.md links files of the sources. Installed, pages lie elsewhere; what is not installed, the picture too, is no link.
RELINK = sed -e '/^!\[/,/^$$/d' -e 's,](packaging/doc/,](,g' -e 's,](packaging/ib-hook.conf),](ib-hook.conf),g' \
    -e 's,](packaging/\(ansible\|fleet\)/,](../../ib-hook/\1/,g' \
    -e 's,\[\([^]]*\)\](\(packaging/man\|core\|tests\|CONTRIBUTING\|COPYING\)[^)]*),\1,g'

HOOK_PROGRAMS := networkd-dispatcher ifupdown boot ifup-local ifdown-local slurm-healthcheck
DOCS := README.md NEWS ib-hook.conf $(notdir $(wildcard packaging/doc/*.md))

# The managers' directories hold links to the hooks. /etc/network is that of Debian's ifupdown: the RPM leaves it out.
NM_LINKS = $(addprefix $(sysconfdir)/NetworkManager/dispatcher.d/,50-ib-hook pre-up.d/50-ib-hook)
NETWORKD_LINKS = $(patsubst %,$(sysconfdir)/networkd-dispatcher/%.d/50-ib-hook,routable configured degraded no-carrier off)
IFUPDOWN_LINKS = $(patsubst %,$(sysconfdir)/network/%.d/ib-hook,if-up if-post-down)

# $(call put,MODE,FILE,PLACE)
put = install -D -m $(1) $(2) "$(DESTDIR)$(3)"
# $(call link,LINKS,PROGRAM): what an administrator has there, a mask or a program of his own, stays.
link = for link in $(1); do at="$(DESTDIR)$$link"; mkdir -p "$${at%/*}" && { [ -e "$$at" ] || [ -L "$$at" ] || ln -s $(2) "$$at"; } || exit; done
# On a running system, the steps left to the administrator are printed; packages do these themselves.
tell = @[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || printf '%s\n' $(1)

install: all
	$(call put,0755,$(BUILD)/ib-hook,$(bindir)/ib-hook)
	$(call put,0755,$(BUILD)/hooks/nm-dispatcher,$(nmdir)/50-ib-hook)
	install -d "$(DESTDIR)$(nmdir)/pre-up.d"
	ln -sf ../50-ib-hook "$(DESTDIR)$(nmdir)/pre-up.d/50-ib-hook"
	$(foreach hook,networkd-dispatcher ifupdown boot,$(call put,0755,$(BUILD)/hooks/$(hook),$(hookdir)/$(hook)) && )true
	$(call put,0755,$(BUILD)/hooks/rhel-ifcfg,$(hookdir)/ifup-local)
	ln -sf ifup-local "$(DESTDIR)$(hookdir)/ifdown-local"
	$(RELOCATE) packaging/fleet/slurm-healthcheck >"$(DESTDIR)$(hookdir)/slurm-healthcheck"
	chmod 0755 "$(DESTDIR)$(hookdir)/slurm-healthcheck"
	install -d "$(DESTDIR)$(plugindir)" "$(DESTDIR)$(unitdir)" "$(DESTDIR)$(fleetdir)"
	$(if $(NM),$(call put,0644,$(NM),$(plugindir)/nm.so))
	for unit in $(UNITS); do \
	    $(RELOCATE) packaging/systemd/$$unit >"$(DESTDIR)$(unitdir)/$$unit" && chmod 0644 "$(DESTDIR)$(unitdir)/$$unit" || exit; \
	done
	$(call put,0644,packaging/systemd/tmpfiles.conf,$(tmpfilesdir)/ib-hook.conf)
	$(call put,0644,packaging/man/ib-hook.8,$(mandir)/man8/ib-hook.8)
	$(call put,0644,packaging/man/ib-hook.conf.5,$(mandir)/man5/ib-hook.conf.5)
	$(call put,0644,packaging/completions/ib-hook.bash,$(bashcompletiondir)/ib-hook)
	$(call put,0644,packaging/completions/_ib-hook,$(zshcompletiondir)/_ib-hook)
	install -d "$(DESTDIR)$(docdir)"
	install -m 0644 NEWS README.md packaging/ib-hook.conf packaging/doc/*.md "$(DESTDIR)$(docdir)"
	$(RELINK) README.md >"$(DESTDIR)$(docdir)/README.md"
	install -m 0644 $(addprefix packaging/fleet/,$(FLEET)) "$(DESTDIR)$(fleetdir)"
	$(RELOCATE) packaging/fleet/ib-hook-prometheus.service >"$(DESTDIR)$(fleetdir)/ib-hook-prometheus.service"
	$(foreach file,$(ANSIBLE),$(call put,0644,packaging/ansible/$(file),$(ansibledir)/$(file)) && )true
	install -d "$(DESTDIR)$(localstatedir)/lib/ib-hook" "$(DESTDIR)$(sysconfdir)/ib-hook/conf.d"
	@$(call link,$(NM_LINKS),$(nmdir)/50-ib-hook)
	@$(call link,$(NETWORKD_LINKS),$(hookdir)/networkd-dispatcher)
	@$(call link,$(IFUPDOWN_LINKS),$(hookdir)/ifupdown)
	$(call tell,"Installed; no service is enabled and nothing is routed yet:" \
	    "  systemctl daemon-reload" \
	    "  systemctl enable --now ib-hook-watch.service    # repairs what no network manager announces" \
	    "  systemctl enable ib-hook.service                # routes once at boot" \
	    "  ib-hook --apply                                 # routes now (over ssh by one of these NICs: --confirm 60)" \
	    "  systemctl restart networkd-dispatcher.service   # if it is used: it is skipped at boot while it has no hook")

# The policy module, where selinux-policy-devel (Debian: selinux-policy-dev) is installed; the RPM has it in a package of its own.
SELINUX_DEVEL ?= /usr/share/selinux/devel/Makefile
selinux: $(BUILD)/selinux-module/ib_hook.pp
$(BUILD)/selinux-module/ib_hook.pp: $(wildcard packaging/selinux/ib_hook.*)
	@test -e $(SELINUX_DEVEL) || { echo "there is no $(SELINUX_DEVEL): install selinux-policy-devel" >&2; exit 1; }
	@mkdir -p $(@D) && cp $^ $(@D)
	@$(MAKE) -C $(@D) -f $(SELINUX_DEVEL) ib_hook.pp >$(@D)/log 2>&1 || { cat $(@D)/log >&2; exit 1; }

INSTALLED = $(bindir)/ib-hook $(addprefix $(hookdir)/,$(HOOK_PROGRAMS)) $(nmdir)/50-ib-hook $(nmdir)/pre-up.d/50-ib-hook $(plugindir)/nm.so $(addprefix $(unitdir)/,$(UNITS)) \
            $(tmpfilesdir)/ib-hook.conf $(mandir)/man8/ib-hook.8 $(mandir)/man5/ib-hook.conf.5 $(bashcompletiondir)/ib-hook \
            $(zshcompletiondir)/_ib-hook $(addprefix $(docdir)/,$(DOCS)) $(addprefix $(fleetdir)/,$(FLEET)) $(addprefix $(ansibledir)/,$(ANSIBLE))

# The deepest come first.
ANSIBLE_DIRECTORIES = $(addprefix $(ansibledir)/,$(shell cd packaging/ansible && find * -depth -type d)) $(ansibledir)

# What make install put there goes, after what it programmed. Configuration, links of another's and the NICs that were rails are
# the administrator's; where a package is installed beside, so are its services and what it programmed.
BESIDE = [ "$(tmpfilesdir)" != /usr/lib/tmpfiles.d ] && [ -e "$(DESTDIR)/usr/lib/tmpfiles.d/ib-hook.conf" ]
uninstall:
	@[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || { $(BESIDE); } || \
	    { systemctl disable --now $(UNITS); $(bindir)/ib-hook --undo; rm -rf /run/ib-hook; } || :
	@for link in $(NM_LINKS) $(NETWORKD_LINKS) $(IFUPDOWN_LINKS); do \
	    case $$(readlink "$(DESTDIR)$$link") in $(nmdir)/50-ib-hook | $(hookdir)/*) rm -f "$(DESTDIR)$$link" ;; esac; done
	for file in $(INSTALLED); do rm -f "$(DESTDIR)$$file" || exit; done
	shared="$(localstatedir)/lib/ib-hook $(sysconfdir)/ib-hook/conf.d $(sysconfdir)/ib-hook"; $(BESIDE) && shared=; \
	for directory in $$shared $(hookdir) $(plugindir) $(docdir) $(fleetdir) $(ANSIBLE_DIRECTORIES) $(datadir)/ib-hook; do \
	    [ ! -d "$(DESTDIR)$$directory" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$directory" || exit; \
	done

# ---- packages --------------------------------------------------------------------------------------

deb:
	@packaging/deps.sh build deb
	@packaging/build-deb.sh $(BUILD)/deb

rpm:
	@packaging/deps.sh build rpm
	@packaging/build-rpm.sh $(BUILD)/rpm

# Signed repositories of these, for apt and for dnf; REPO_KEY names the key.
repo:
	@packaging/deps.sh repo
	@test -n "$$REPO_KEY" || { echo "make repo: set REPO_KEY to the key that signs: an address or a fingerprint" >&2; exit 2; }
	@$(MAKE) -s deb rpm
	@packaging/build-repo.sh $(BUILD)/repo $(BUILD)/deb/ib-hook_*.deb $(BUILD)/rpm/RPMS/*/*.rpm

# The release: equal trees make equal bytes, of a clone or of such a tarball.
dist: published
	@packaging/source-tarball.sh $(BUILD)/dist/ib-hook-$(VERSION).tar.gz

# The source package for Debian, or for a PPA: SERIES names Ubuntu's, REPO_KEY the key that signs it.
dist-deb: published
	@packaging/deps.sh build deb
	@IBH_SERIES=$(SERIES) packaging/build-deb.sh $(BUILD)/dist-deb --build=source --no-check-builddeps $${REPO_KEY:+--sign-key="$$REPO_KEY"}

# Who publishes this is written down in one file. `make project` writes it into this tree; a release always has it.
published:
	@packaging/fill-in.sh --check "$(or $(IBH_PROJECT),packaging/project)"

project: published
	@[ -z "$(IBH_PROJECT)" ] || cp "$(IBH_PROJECT)" packaging/project
	@packaging/fill-in.sh .

# ---- tests -----------------------------------------------------------------------------------------

PACKAGING_SHELL = packaging/doc/record $(wildcard packaging/*.sh packaging/debian/ib-hook.p* packaging/completions/*.bash tests/packages/*.sh) tests/packages/chroot tests/packages/builder \
                  packaging/debian/tests/rails packaging/fleet/slurm-healthcheck

# Exactly these files, in a place with a space in its name, and a program that says its version; none of them afterwards.
check-install: all
	@rm -rf $(BUILD)/root && $(MAKE) -s install DESTDIR="$(BUILD)/root/a place" PREFIX=/usr
	@cd "$(BUILD)/root/a place" && find . ! -type d | LC_ALL=C sort >../files
	@diff tests/installed-files $(BUILD)/root/files
	@"$(BUILD)/root/a place/usr/bin/ib-hook" --version >/dev/null
	@$(MAKE) -s uninstall DESTDIR="$(BUILD)/root/a place" PREFIX=/usr
	@left=$$(find "$(BUILD)/root/a place" ! -type d -o -name '*ib-hook*'); [ -z "$$left" ] || { echo "left by make uninstall: $$left"; exit 1; }
	@rm -r $(BUILD)/root
	@echo "2 passed, 0 failed, 0 skipped"

check-packages: all
	@packaging/deps.sh build packages deb rpm repo
	@$(MAKE) -s deb rpm
	@tests/packages/chroot $(BUILD)/deb/ib-hook_*.deb $(BUILD)/packages/chroot
	@tests/packages/builder $(BUILD)/deb/ib-hook_*.dsc $(BUILD)/packages/builder
	@TESTS=tests/packages LIMIT=300 tests/netns/run

.PHONY: install uninstall selinux deb rpm repo dist dist-deb published project check-install check-packages
