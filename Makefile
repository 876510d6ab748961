# ib-hook: every NIC its own rail.
#   make demo    set-up, build, and a look at it working        make check    set-up, build, all tests
#   make         build        make install DESTDIR=… PREFIX=/usr        make deps    what build and tests need

PREFIX ?= /usr
BUILD ?= build
CC ?= cc
CFLAGS ?= -O2 -g
VERSION := 0.1.0

PKGS := glib-2.0 libnl-route-3.0
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS = $(shell pkg-config --libs $(PKGS))

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wold-style-definition -Wformat=2 -Wundef -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla \
            -Wno-overlength-strings
HARDEN := -fPIE -fstack-protector-strong -fstack-clash-protection $(if $(findstring -fsanitize,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN_LD := -pie -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DGLIB_VERSION_MIN_REQUIRED=GLIB_VERSION_2_56 -DGLIB_VERSION_MAX_ALLOWED=GLIB_VERSION_2_56 -DIBH_VERSION='"$(VERSION)"' -Icore $(WARNINGS) $(WERROR) $(HARDEN) \
             $(patsubst -I%,-isystem %,$(PKG_CFLAGS)) $(CPPFLAGS) $(CFLAGS)

# What decides (no I/O, no libnl) and what acts. The unit tests link only the first: the linker keeps it pure.
PURE := $(addprefix core/,model operation config rt_tables state rails want emit spread remove plan undo apply restraint backoff trigger arp options check probe json \
                         report report_text report_json report_log)
EFFECT := $(addprefix core/,netlink netlink_read netlink_write announce caps sysctl sysfs store files snapshot probe_io run confirm \
                           journal hook events notify watch)
COMMAND := core/main

objects = $(addprefix $(BUILD)/,$(addsuffix .o,$(1)))

# The thin programs in the hook directories: each is one main.c.
HOOKS := nm-dispatcher networkd-dispatcher ifupdown rhel-ifcfg

all: $(BUILD)/ib-hook $(HOOKS:%=$(BUILD)/hooks/%)

$(HOOKS:%=$(BUILD)/hooks/%): $(BUILD)/hooks/%: $(BUILD)/%/main.o $(BUILD)/libibhook.a $(BUILD)/libibhook-pure.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) $(HARDEN_LD) -o $@ $^ $(PKG_LIBS)

$(BUILD)/ib-hook: $(call objects,$(COMMAND)) $(BUILD)/libibhook.a $(BUILD)/libibhook-pure.a
	$(CC) $(CFLAGS) $(LDFLAGS) $(HARDEN_LD) -o $@ $^ $(PKG_LIBS)

$(BUILD)/libibhook-pure.a: $(call objects,$(PURE))
$(BUILD)/libibhook.a: $(call objects,$(EFFECT))
$(BUILD)/%.a:
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d)

# ---- installing ----------------------------------------------------------------------------------

SBINDIR ?= $(PREFIX)/sbin
DOCDIR ?= $(PREFIX)/share/doc/ib-hook

LIBEXECDIR ?= $(PREFIX)/libexec/ib-hook
SYSCONFDIR ?= /etc

NM_LINKS := dispatcher.d dispatcher.d/pre-up.d
NETWORKD_LINKS := routable.d configured.d degraded.d no-carrier.d off.d
IFUPDOWN_LINKS := if-up.d if-post-down.d

install: all
	install -D -m 0755 $(BUILD)/ib-hook $(DESTDIR)$(SBINDIR)/ib-hook
	install -D -m 0644 packaging/ib-hook.conf $(DESTDIR)$(DOCDIR)/ib-hook.conf
	install -d -m 0755 $(DESTDIR)$(LIBEXECDIR)
	install -m 0755 $(addprefix $(BUILD)/hooks/,nm-dispatcher networkd-dispatcher ifupdown) $(DESTDIR)$(LIBEXECDIR)
	install -m 0755 $(BUILD)/hooks/rhel-ifcfg $(DESTDIR)$(LIBEXECDIR)/ifup-local
	ln -sf ifup-local $(DESTDIR)$(LIBEXECDIR)/ifdown-local
	install -d -m 0755 $(addprefix $(DESTDIR)$(SYSCONFDIR)/NetworkManager/,$(NM_LINKS)) \
	    $(addprefix $(DESTDIR)$(SYSCONFDIR)/networkd-dispatcher/,$(NETWORKD_LINKS)) \
	    $(addprefix $(DESTDIR)$(SYSCONFDIR)/network/,$(IFUPDOWN_LINKS))
	for d in $(NM_LINKS); do ln -sf $(LIBEXECDIR)/nm-dispatcher $(DESTDIR)$(SYSCONFDIR)/NetworkManager/$$d/50-ib-hook; done
	for d in $(NETWORKD_LINKS); do ln -sf $(LIBEXECDIR)/networkd-dispatcher $(DESTDIR)$(SYSCONFDIR)/networkd-dispatcher/$$d/50-ib-hook; done
	for d in $(IFUPDOWN_LINKS); do ln -sf $(LIBEXECDIR)/ifupdown $(DESTDIR)$(SYSCONFDIR)/network/$$d/ib-hook; done

# ---- set-up and demonstration --------------------------------------------------------------------

deps:
	@packaging/deps.sh build tests

demo:
	@packaging/deps.sh build
	@$(MAKE) -s all tools
	@tests/netns/demo.sh

# ---- tests ---------------------------------------------------------------------------------------
# tests/unit/test_NAME.c is one program; the other .c files beside it are shared by all of them.

UNIT_TESTS := $(patsubst tests/unit/test_%.c,$(BUILD)/test_%,$(wildcard tests/unit/test_*.c))
UNIT_SHARED := $(patsubst %.c,%,$(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))
$(BUILD)/tests/unit/%.o: ALL_CFLAGS += -Itests/unit -DIBH_TESTS='"$(CURDIR)/tests"'

$(BUILD)/test_%: $(BUILD)/tests/unit/test_%.o $(call objects,$(UNIT_SHARED)) $(BUILD)/libibhook-pure.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pie -o $@ $^ $(shell pkg-config --libs cmocka glib-2.0)

TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/%,$(wildcard tests/tools/*.c))
$(TOOLS): $(BUILD)/%: $(BUILD)/tests/tools/%.o
	$(CC) $(CFLAGS) $(LDFLAGS) -pie -o $@ $^

unit-tests: $(UNIT_TESTS)
tools: $(TOOLS)

SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

check: deps
	@$(MAKE) -s -j2 all tools unit-tests
	@$(MAKE) -s check-unit check-install check-sanitized check-valgrind check-netns

check-unit: unit-tests
	@set -e; for t in $(UNIT_TESTS); do $$t; done

# The random tests are shorter here: each case costs many times more.
check-sanitized:
	@$(MAKE) -s -j2 BUILD=$(BUILD)/sanitized CFLAGS='$(SANITIZE)' all unit-tests
	@set -e; for t in $(UNIT_TESTS:$(BUILD)/%=$(BUILD)/sanitized/%); do IBH_CASES=1000 $$t; done

check-valgrind: unit-tests
	@set -e; for t in $(UNIT_TESTS); do IBH_CASES=50 valgrind -q --error-exitcode=1 --leak-check=full $$t; done

check-netns: all tools
	@tests/netns/run

# Exactly these files, and a program that says its version.
check-install: all
	@rm -rf $(BUILD)/root && $(MAKE) -s install DESTDIR=$(CURDIR)/$(BUILD)/root PREFIX=/usr
	@cd $(BUILD)/root && find . ! -type d | sort | diff $(CURDIR)/tests/installed-files -
	@$(BUILD)/root/usr/sbin/ib-hook --version

# ---- static checks -------------------------------------------------------------------------------

C_FILES = $(wildcard core/*.[ch] $(HOOKS:%=%/*.c) tests/unit/*.[ch] tests/tools/*.[ch])
SHELL_FILES = packaging/deps.sh .ci/run $(wildcard tests/netns/*.sh) tests/netns/run

lint:
	@packaging/deps.sh lint
	@clang-format --dry-run --Werror $(C_FILES)
	@shellcheck -x $(SHELL_FILES)
	@$(MAKE) -s -j2 BUILD=$(BUILD)/gcc CC=gcc WERROR=-Werror all tools unit-tests
	@$(MAKE) -s -j2 BUILD=$(BUILD)/clang CC=clang WERROR=-Werror all tools unit-tests
	@cppcheck -q --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --suppress=missingIncludeSystem --library=gtk '-DG_GNUC_PRINTF(a,b)=' -Icore core
	@clang-tidy --quiet $(wildcard core/*.c) -- $(filter-out -fstack-clash-protection,$(ALL_CFLAGS)) 2>/dev/null

clean:
	rm -rf $(BUILD)

.PHONY: all install deps demo check check-unit check-sanitized check-valgrind check-netns check-install lint \
        unit-tests tools clean
.SECONDARY:
