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
HARDEN := -fPIE -fstack-protector-strong -fstack-clash-protection $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-D_FORTIFY_SOURCE=2)
HARDEN_LD := -pie -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DGLIB_VERSION_MIN_REQUIRED=GLIB_VERSION_2_56 -DGLIB_VERSION_MAX_ALLOWED=GLIB_VERSION_2_56 -DIBH_VERSION='"$(VERSION)"' -Icore $(WARNINGS) $(WERROR) $(HARDEN) \
             $(patsubst -I%,-isystem %,$(PKG_CFLAGS)) $(CPPFLAGS) $(CFLAGS)

# What decides (no I/O, no libnl) and what acts. The unit tests link only the first: the linker keeps it pure.
PURE := $(addprefix core/,model operation config rt_tables state rails want emit plan undo apply arp options check json report report_text report_json)
EFFECT := $(addprefix core/,netlink netlink_read netlink_write announce caps sysctl sysfs store files snapshot run)
COMMAND := core/main

objects = $(addprefix $(BUILD)/,$(addsuffix .o,$(1)))

all: $(BUILD)/ib-hook

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

# ---- tests ---------------------------------------------------------------------------------------
# tests/unit/test_NAME.c is one program; the other .c files beside it are shared by all of them.
UNIT_TESTS := $(patsubst tests/unit/test_%.c,$(BUILD)/test_%,$(wildcard tests/unit/test_*.c))
UNIT_SHARED := $(patsubst %.c,%,$(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))
$(BUILD)/tests/%.o: ALL_CFLAGS += -Itests/unit -DIBH_TESTS='"$(CURDIR)/tests"'

$(BUILD)/test_%: $(BUILD)/tests/unit/test_%.o $(call objects,$(UNIT_SHARED)) $(BUILD)/libibhook-pure.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pie -o $@ $^ $(shell pkg-config --libs cmocka glib-2.0)

unit-tests: $(UNIT_TESTS)

TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/%,$(wildcard tests/tools/*.c))
$(BUILD)/%: $(BUILD)/tests/tools/%.o
	$(CC) $(CFLAGS) $(LDFLAGS) -pie -o $@ $^
tools: $(TOOLS)

check-unit: $(UNIT_TESTS)
	@set -e; for t in $^; do echo "== $${t##*/}"; $$t; done

clean:
	rm -rf $(BUILD)

.PHONY: all unit-tests tools check-unit clean
.SECONDARY:
