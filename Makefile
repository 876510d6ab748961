# SPDX-License-Identifier: GPL-2.0-or-later
# ib-hook: every NIC its own rail. `make help` lists what can be made.

PREFIX ?= /usr
BUILD ?= build
CC ?= cc
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g
VERSION := 0.1.0

PKGS := glib-2.0 libnl-route-3.0
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)
HOOK_LIBS = $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null)
PKG_LIBS = $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null) -ldl

# For the scripts of the tests, which may be called by hand, too.
export IBH_BUILD := $(if $(filter /%,$(BUILD)),$(BUILD),$(CURDIR)/$(BUILD))
# PROJECT=FILE instead of packaging/project, on the command line only.
ifeq ($(origin PROJECT),command line)
export IBH_PROJECT := $(PROJECT)
endif

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wold-style-definition -Wformat=2 -Wundef -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla \
            -Wno-overlength-strings
HARDEN = -fPIE -fstack-protector-strong -fstack-clash-protection $(if $(findstring -fsanitize,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3) $(CONTROL_FLOW)
# Indirect jumps that land elsewhere than at a function's beginning, and returns to elsewhere, end the program: x86-64 and arm64.
CONTROL_FLOW := $(firstword $(foreach flag,-fcf-protection=full -mbranch-protection=standard, \
    $(shell echo | $(CC) -Werror $(flag) -x c -c -o /dev/null - 2>/dev/null && echo $(flag))))
HARDEN_LD := -fPIE -pie -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DGLIB_VERSION_MIN_REQUIRED=GLIB_VERSION_2_56 -DGLIB_VERSION_MAX_ALLOWED=GLIB_VERSION_2_56 -DIBH_VERSION='"$(VERSION)"' -Icore $(WARNINGS) $(WERROR) \
             $(patsubst -I%,-isystem %,$(PKG_CFLAGS)) $(CPPFLAGS) $(CFLAGS) $(HARDEN)

# The library: what an event runs. The hooks link it, and nothing else of core/. The rest: the command ib-hook has it.
LIBRARY_PURE := model config plan
LIBRARY_ACTING := kernel host run
COMMAND_ROOMS := check fabric probe report render watch cli
sources = $(patsubst %.c,%,$(wildcard $(addprefix core/,$(addsuffix /*.c,$(1)))))
# What decides (no I/O, no libnl) and what acts: whole rooms, or in a room that has both the files *_io.c. The unit tests
# link only the first: the linker keeps it pure.
COMMAND := core/cli/main_io
PURE := $(call sources,$(LIBRARY_PURE)) $(filter-out %_io,$(call sources,$(COMMAND_ROOMS)))
EFFECT := $(filter-out $(COMMAND),$(call sources,$(LIBRARY_ACTING)) $(filter %_io,$(call sources,$(COMMAND_ROOMS))))

# One line for a file, the whole command with V=1, nothing with -s: $(call quiet,WHAT).
quiet = $(if $(V),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,printf '  %-4s %s\n' $(1) $@;))

objects = $(addprefix $(BUILD)/,$(addsuffix .o,$(1)))

# The programs in the hook directories, and that of ib-hook.service: each is one main.c and the library.
HOOKS := nm-dispatcher networkd-dispatcher ifupdown rhel-ifcfg boot

# libnm is for nm.so alone, which is left out where it is missing.
NM ?= $(shell $(PKG_CONFIG) --exists 'libnm >= 1.22' 2>/dev/null && echo $(BUILD)/nm.so)

# ---- building ------------------------------------------------------------------------------------

all: $(BUILD)/ib-hook $(HOOKS:%=$(BUILD)/hooks/%) $(NM)

$(BUILD)/hooks/boot: $(BUILD)/packaging/boot/main.o
$(filter-out %/boot,$(HOOKS:%=$(BUILD)/hooks/%)): $(BUILD)/hooks/%: $(BUILD)/%/main.o
$(HOOKS:%=$(BUILD)/hooks/%): $(BUILD)/libibhook.a
	@mkdir -p $(@D)
	$(call quiet,LD)$(CC) $(CFLAGS) $(LDFLAGS) $(HARDEN_LD) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(HOOK_LIBS)

$(BUILD)/ib-hook: $(call objects,$(COMMAND)) $(BUILD)/libibhook-command.a $(BUILD)/libibhook.a
	$(call quiet,LD)$(CC) $(CFLAGS) $(LDFLAGS) $(HARDEN_LD) -o $@ $^ $(PKG_LIBS)

# It looks for nm.so where that is installed: `make`, then `make install libdir=DIR`, compiles it again.
$(BUILD)/core/check/managers_io.o: ALL_CFLAGS += -DIBH_PLUGIN_DIR='"$(plugindir)"'
$(BUILD)/core/check/managers_io.o: $(BUILD)/plugindir
$(BUILD)/plugindir: always
	@mkdir -p $(@D) && { echo '$(plugindir)' | cmp -s - $@ || echo '$(plugindir)' >$@; }

$(BUILD)/nm.so: nm-dispatcher/connections.c
	@mkdir -p $(@D)
	$(call quiet,LD)$(CC) $(patsubst -fPIE,-fPIC,$(ALL_CFLAGS)) $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags libnm)) -MMD -MP \
	    $(LDFLAGS) $(filter-out -fPIE -pie,$(HARDEN_LD)) -shared -fvisibility=hidden -o $@ $(filter %.c,$^) $(shell $(PKG_CONFIG) --libs libnm)

$(BUILD)/libibhook.a: $(call objects,$(call sources,$(LIBRARY_PURE) $(LIBRARY_ACTING)))
$(BUILD)/libibhook-command.a: $(call objects,$(filter-out $(COMMAND),$(call sources,$(COMMAND_ROOMS))))
$(BUILD)/libibhook-pure.a: $(call objects,$(PURE))
$(BUILD)/%.a:
	$(call quiet,AR)rm -f $@ && $(AR) qcs $@ $^ # appended: two rooms may have files of one name

# What is missing is said once, before the compiler says it for every file.
toolchain:
	@command -v $(firstword $(CC)) >/dev/null && $(PKG_CONFIG) --exists $(PKGS) 2>/dev/null || { \
	    echo "ib-hook is built with $(CC), $(PKG_CONFIG) and the libraries $(PKGS), and not all of them are here." >&2; \
	    echo "\`make deps\` installs them, on Debian, Ubuntu, Fedora, RHEL and its relatives." >&2; exit 1; }

$(BUILD)/%.o: %.c | toolchain
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

-include $(wildcard $(BUILD)/nm.d $(addprefix $(BUILD)/,*/main.d packaging/*/*.d core/*/*.d tests/*/*.d))

include packaging/packages.mk
include tests/tests.mk

# ---- set-up and demonstration --------------------------------------------------------------------

help:
	@echo "First:      make demo     what it needs is installed; builds; two hosts in namespaces, with and without ib-hook"
	@echo "            make check    what the tests need is installed; builds; all tests that need no virtual machines"
	@echo "Building:   make deps     what building needs is installed (apt or dnf; asks sudo)"
	@echo "            make          in $(BUILD)/; BUILD=DIR for another place, V=1 shows commands; CC, CFLAGS, LDFLAGS as ever"
	@echo "            make install uninstall    DESTDIR=DIR; prefix=$(prefix), bindir=, libdir= and GNU's other names"
	@echo "Packages:   make deb rpm  what building one needs is installed; $(BUILD)/deb, $(BUILD)/rpm"
	@echo "            make repo     signed repositories of both, for apt and dnf: $(BUILD)/repo; REPO_KEY names the key"
	@echo "            make dist     a release tarball: $(BUILD)/dist/ib-hook-$(VERSION).tar.gz"
	@echo "            make dist-deb a source package for Debian, or for a PPA with SERIES=noble; REPO_KEY signs it"
	@echo "            make project  what packaging/project says of who publishes this goes into README.md, the manual, NEWS"
	@echo "            make compile_commands.json    for editors and clang's tools"
	@echo "            make clean    $(BUILD)/ goes"
	@echo "More tests: make lint fuzz fuzz-kernel fuzz-check fuzz-probe coverage bench bench-guard mutate"
	@echo "            make check-faults check-packages check-platforms check-managers check-lab check-selinux"
	@echo "            make check-fleet check-fresh check-shell check-pages check-times check-all"
	@echo "            V=1 prints a line for each test; tests/README.md says what they are"

deps:
	@packaging/deps.sh build

demo:
	@packaging/deps.sh build demo
	@$(MAKE) -s all tools
	@tests/netns/demo.sh

# The picture in the README: a terminal in which ib-hook works. pages/test-recording says when it is out of date.
recording:
	@packaging/deps.sh build tests
	@$(MAKE) -s all
	@packaging/doc/record >$(BUILD)/recording.svg && mv $(BUILD)/recording.svg packaging/doc/recording.svg

# How each file is compiled, for editors and clang's tools: what make would run, as a list in JSON.
compile_commands.json: Makefile tests/tests.mk $(wildcard core/*/*.c)
	@$(MAKE) -s toolchain
	@$(MAKE) -nB V=1 --no-print-directory all tools unit-tests | sed -n 's/^.* && //; / -c -o /p' | \
	    jq -Rn --arg directory "$(CURDIR)" '[inputs | {directory: $$directory, command: ., file: (split(" ") | last)}]' >$@

clean:
	rm -rf $(BUILD) compile_commands.json

.PHONY: all always toolchain help deps demo recording clean
.SECONDARY:
