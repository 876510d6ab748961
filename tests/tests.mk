# SPDX-License-Identifier: GPL-2.0-or-later
# All tests, and the static checks; included by the Makefile.

# ---- unit tests ----------------------------------------------------------------------------------
# tests/unit/test_NAME.c is one program; the other .c files beside it are shared by all of them.

UNIT_TESTS := $(patsubst tests/unit/test_%.c,$(BUILD)/test_%,$(wildcard tests/unit/test_*.c))
UNIT_SHARED := $(patsubst %.c,%,$(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))
$(BUILD)/tests/unit/%.o: ALL_CFLAGS += -Itests/unit -DIBH_TESTS='"$(CURDIR)/tests"'

$(BUILD)/test_%: $(BUILD)/tests/unit/test_%.o $(call objects,$(UNIT_SHARED)) $(BUILD)/libibhook-pure.a
	$(call quiet,LD)$(CC) $(CFLAGS) $(LDFLAGS) -pie -o $@ $^ $(shell $(PKG_CONFIG) --libs cmocka glib-2.0)

TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/%,$(filter-out %/garble.c,$(wildcard tests/tools/*.c))) $(BUILD)/garble.so
$(BUILD)/garble.so: tests/tools/garble.c
	$(call quiet,LD)$(CC) $(filter-out -fPIE -Wpedantic,$(ALL_CFLAGS)) -fPIC -shared -o $@ $<
$(filter-out %.so,$(TOOLS)): $(BUILD)/%: $(BUILD)/tests/tools/%.o
	$(call quiet,LD)$(CC) $(CFLAGS) $(LDFLAGS) -pie -o $@ $^ $(TOOL_LIBS)

unit-tests: $(UNIT_TESTS)
tools: $(TOOLS)

SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -include tests/unit/bounds.h

check: test-deps
	@echo "building"
	@$(MAKE) -s -j2 all tools unit-tests
	@MAKE='$(MAKE)' tests/check

test-deps:
	@packaging/deps.sh build tests

# As many random cases as fit into the time; alone, a program has more of them (build/test_random: 100,000).
check-unit: unit-tests
	@tests/unit/run $(BUILD) env IBH_CASES=$${IBH_CASES:-8000}

check-sanitized:
	@$(MAKE) -s -j2 BUILD=$(BUILD)/sanitized CFLAGS='$(SANITIZE)' all unit-tests
	@tests/unit/run $(BUILD)/sanitized env IBH_CASES=1000 G_SLICE=always-malloc

check-valgrind:
	@packaging/deps.sh build tests valgrind
	@$(MAKE) -s -j2 unit-tests
	@tests/unit/run $(BUILD) env IBH_CASES=50 valgrind -q --error-exitcode=1 --leak-check=full

# Network managers that are installed would take this machine's interfaces; some tests lay these over their own /usr.
$(BUILD)/unpacked/.complete:
	@packaging/deps.sh unpack $(BUILD)/unpacked network-manager dbus netplan.io ifupdown systemd udev \
		containernetworking-plugins

# What a router has: it would be one here.
$(BUILD)/unpacked-routers/.complete:
	@packaging/deps.sh unpack $(BUILD)/unpacked-routers radvd

# What moves virtual addresses from host to host.
$(BUILD)/unpacked-ha/.complete:
	@packaging/deps.sh unpack $(BUILD)/unpacked-ha keepalived resource-agents

check-netns: all tools $(BUILD)/unpacked/.complete
	@tests/netns/run

# What pages say, in the same namespaces; and what takes how long, alone on the machine.
check-pages: all tools $(BUILD)/unpacked/.complete
	@packaging/deps.sh build tests bench
	@TESTS=tests/pages tests/netns/run

check-times: all tools
	@packaging/deps.sh build tests bench
	@TESTS=tests/times JOBS=1 tests/netns/run

# Every system call fails, or is the last one; races; poor surroundings.
check-faults: all tools $(BUILD)/unpacked/.complete $(BUILD)/unpacked-routers/.complete $(BUILD)/unpacked-ha/.complete
	@TESTS=tests/faults LIMIT=900 tests/netns/run

# Lines and branches of core/ that the tests reach; build/coverage/index.html has what they do not. Fails below 95 % of the
# lines or 85 % of the branches.
coverage: $(BUILD)/unpacked/.complete
	@packaging/deps.sh build tests coverage
	@$(MAKE) -s -j2 BUILD=$(BUILD)/coverage CFLAGS='-O0 -g --coverage -include tests/tools/coverage.h' all tools unit-tests
	@find $(BUILD)/coverage -name '*.gcda' -delete
	@set -e; for t in $(UNIT_TESTS:$(BUILD)/%=$(BUILD)/coverage/%); do IBH_CASES=2000 $$t >/dev/null; done
	@IB_HOOK=$(BUILD)/coverage/ib-hook FLOW=$(BUILD)/coverage/flow LIMIT=240 tests/netns/run \
	    >$(BUILD)/coverage/netns.log || grep '^FAIL' $(BUILD)/coverage/netns.log # too slow a build: that is check-netns' to judge
	@IB_HOOK=$(BUILD)/coverage/ib-hook tests/fuzz-kernel/fuzz.py --worlds 60 --seed 1 --no-shrink >$(BUILD)/coverage/fuzz-kernel.log
	@IB_HOOK=$(BUILD)/coverage/ib-hook tests/fuzz-check/fuzz_check.py --worlds 60 --seed 1 >$(BUILD)/coverage/fuzz-check.log
	@gcovr --root . --filter core/ --exclude-throw-branches --exclude-unreachable-branches --print-summary \
	    --fail-under-line 95 --fail-under-branch 85 \
	    --html-details $(BUILD)/coverage/index.html $(BUILD)/coverage

# Breaks the planner in MUTANTS random places; the unit tests have to notice 95 % of them. Half an hour. make mutate SEED=7
MUTANTS ?= 200
mutate:
	@packaging/deps.sh build tests
	@tests/mutate $(MUTANTS) $(SEED)

# Each fuzzer for FUZZ_SECONDS, from its committed corpus, and from what it found before, in build/fuzz. make fuzz FUZZ_SECONDS=7200
FUZZ_SECONDS ?= 45
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz:
	@packaging/deps.sh build tests fuzz
	@$(MAKE) -s -j2 all tools
	@$(MAKE) -s -j2 BUILD=$(BUILD)/fuzz CC=clang CFLAGS='$(FUZZ_CFLAGS)' fuzzers
	@tests/fuzz/run $(BUILD)/fuzz $(FUZZ_SECONDS) $(FUZZERS)

# Random hosts on the real kernel, each against its twin without ib-hook; the first world has the number FUZZ_KERNEL_SEED.
# make fuzz-kernel FUZZ_KERNEL_SECONDS=7200 FUZZ_KERNEL_SEED=$RANDOM; FUZZ_KERNEL_WORLDS=400: so many, however long it takes
FUZZ_KERNEL_SECONDS ?= 120
FUZZ_KERNEL_SEED ?= 1
fuzz-kernel:
	@packaging/deps.sh build tests
	@$(MAKE) -s -j2 all
	@IB_HOOK=$(or $(IB_HOOK),$(BUILD)/ib-hook) python3 tests/fuzz-kernel/fuzz.py \
	    $(if $(FUZZ_KERNEL_WORLDS),--worlds $(FUZZ_KERNEL_WORLDS),--seconds $(FUZZ_KERNEL_SECONDS)) --seed $(FUZZ_KERNEL_SEED)

# One thing breaks in each of so many random hosts; packets say whether traffic still is right, and --check has to agree.
# make fuzz-check FUZZ_CHECK_WORLDS=2000 FUZZ_CHECK_SEED=$RANDOM
FUZZ_CHECK_WORLDS ?= 200
FUZZ_CHECK_SEED ?= 1
fuzz-check:
	@packaging/deps.sh build tests
	@$(MAKE) -s -j2 all
	@IB_HOOK=$(or $(IB_HOOK),$(BUILD)/ib-hook) python3 tests/fuzz-check/fuzz_check.py \
	    --worlds $(FUZZ_CHECK_WORLDS) --seed $(FUZZ_CHECK_SEED)

# The same for --probe: one thing breaks on our side, a peer's or the wire, and who is at fault has to be named.
# make fuzz-probe FUZZ_PROBE_WORLDS=1000 FUZZ_PROBE_SEED=$RANDOM
FUZZ_PROBE_WORLDS ?= 100
FUZZ_PROBE_SEED ?= 1
fuzz-probe:
	@packaging/deps.sh build tests
	@$(MAKE) -s -j2 all tools
	@IB_HOOK=$(or $(IB_HOOK),$(BUILD)/ib-hook) python3 tests/fuzz-probe/fuzz_probe.py \
	    --worlds $(FUZZ_PROBE_WORLDS) --seed $(FUZZ_PROBE_SEED)

fuzzers: $(FUZZERS:%=$(BUILD)/fuzz_%)
$(BUILD)/fuzz_events: $(call objects,$(addprefix core/kernel/,dump namespace netlink rules))
$(BUILD)/fuzz_talk: $(call objects,core/kernel/namespace)
$(BUILD)/fuzz_netlink: $(call objects,$(addprefix core/kernel/,dump links namespace neighbours nexthops read rules) $(addprefix core/host/,snapshot tree))
$(BUILD)/fuzz_check: $(call objects,$(addprefix tests/unit/,case_text fake_kernel fib walk))
$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/libibhook-pure.a
	clang -fsanitize=fuzzer,address,undefined -o $@ $(filter %.o,$^) $(filter %.a,$^) $(PKG_LIBS)

# What an event costs, as ratios; and counts of what it asks of the machine, which CI compares.
BENCH = IB_HOOK=$(BUILD)/ib-hook FLOW=$(BUILD)/flow CC='$(CC)' CFLAGS='$(CFLAGS)'
bench: bench-deps
	@$(BENCH) tests/bench/run

bench-guard: bench-deps
	@$(BENCH) tests/bench/guard

bench-deps:
	@packaging/deps.sh build bench
	@$(MAKE) -s -j2 all tools

# The RDMA proof: Soft-RoCE in virtual machines. Not part of check: it downloads a kernel.
check-lab:
	@packaging/deps.sh build lab
	@$(MAKE) -s -j2 all tools
	@tests/lab/run

# The hooks under SELinux, enforcing, each from its caller's domain: virtual machines with Debian's kernel and policy.
$(BUILD)/unpacked-selinux/.complete:
	@packaging/deps.sh unpack $(BUILD)/unpacked-selinux selinux-policy-default

check-selinux: $(BUILD)/unpacked-selinux/.complete
	@packaging/deps.sh build selinux
	@$(MAKE) -s -j2 all
	@tests/selinux/run

# The .deb in real network managers: systems of Debian packages, booted by systemd-nspawn. Root only.
check-managers:
	@packaging/deps.sh build managers
	@$(MAKE) -s -j2 all tools
	@$(MAKE) -s deb
	@tests/managers/run

# Many hosts: what asks them all, and what watches them all. Its services are unpacked, not installed: they would start.
$(BUILD)/fleet/.complete:
	@packaging/deps.sh unpack $(BUILD)/fleet prometheus prometheus-node-exporter \
	    slurmctld slurmd slurm-client munge openssh-server

check-fleet: $(BUILD)/fleet/.complete
	@packaging/deps.sh build tests fleet
	@$(MAKE) -s -j2 all tools
	@$(MAKE) -s deb
	@tests/managers/images build nm-ssh networkd-ssh
	@tests/fleet/run

# What a stranger meets: make demo, check, deb in minimal systems, from a clone of the last commit. Root only.
check-fresh:
	@packaging/deps.sh fresh
	@tests/fresh/run $(FRESH)

# Other processors, byte orders, libraries, compilers, C libraries; in systems made of Debian packages. Root only.
check-platforms:
	@packaging/deps.sh build platforms
	@tests/platforms/run

# The second compiler: without a warning; and its analyzer, which takes most of clang-tidy's time.
check-clang:
	@packaging/deps.sh build tests lint
	@$(MAKE) -s -j2 BUILD=$(BUILD)/clang CC=clang WERROR=-Werror all tools unit-tests
	@$(MAKE) -s tidy TIDY_CHECKS=
	@echo "1 passed, 0 failed, 0 skipped"

# All that .ci/run has not, for a quiet machine and some hours; SEED is the day's date.
check-all:
	@tests/check-all

# ---- static checks -------------------------------------------------------------------------------

C_FILES = $(wildcard core/*/*.[ch] $(HOOKS:%=%/*.c) packaging/boot/*.c tests/unit/*.[ch] tests/tools/*.[ch] tests/fuzz/*.[ch] tests/lab/ipoib/*.c)
SHELL_FILES = packaging/deps.sh .ci/run tests/parts tests/check-all tests/page.sh tests/mutate tests/spdx tests/rooms tests/version tests/check tests/progress.sh $(wildcard tests/*/*.sh tests/lab/ipoib/*.sh tests/*/run tests/fuzz/record-corpus tests/managers/images \
    tests/managers/boot $(addprefix tests/platforms/,inside cross-deb guest build-musl build-guest) tests/lab/image tests/lab/init tests/selinux/policy tests/lab/ipoib/build tests/bench/guard tests/bench/route-ib-mem34) $(PACKAGING_SHELL)

# To know a test's variables, shellcheck reads its library with it, for each of them anew: that takes four minutes, and is
# `make check-shell`, of check-all. `make lint` leaves out what it cannot know without.
SHELL_TESTS = $(filter $(wildcard tests/*/test-*.sh),$(SHELL_FILES))
SHELLCHECK_OF_LIBRARIES = SC1091,SC2034,SC2086,SC2153,SC2154,SC2164,SC2317
check-shell:
	@packaging/deps.sh lint
	@printf '%s\n' $(sort $(SHELL_FILES)) | xargs -P 2 -n 16 shellcheck -x
	@echo "1 passed, 0 failed, 0 skipped"

# GLib ends the program where memory is used up; how deep it looks is no finding.
CPPCHECK_SILENT := missingIncludeSystem nullPointerOutOfMemory ctunullpointerOutOfMemory ctunullpointer leakNoVarFunctionCall normalCheckLevelMaxBranches
# What GLib's own headers, which it does not read, have for 64 bits.
CPPCHECK_FORMATS := '-DG_GINT64_FORMAT="ld"' '-DG_GUINT64_FORMAT="lu"' '-DG_GSIZE_FORMAT="lu"' '-DG_GINT64_MODIFIER="l"'
lint:
	@packaging/deps.sh build tests lint
	@$(MAKE) -s lint-with-tools

# A make of its own: what make exports, it expands once, before a recipe's first line installs the libraries.
tidy: export TIDY_FLAGS = $(filter-out -fstack-clash-protection,$(ALL_CFLAGS)) -DIBH_PLUGIN_DIR='"/"' -DIBH_COMMAND='"/"' \
    -DIBH_BUILD_ID='"0"' $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags libnm))
lint-with-tools:
	@tests/rooms
	@tests/spdx
	@tests/version
	@$(MAKE) -s compile_commands.json
	@[ "$$(jq '[.[].file | select(startswith("core/"))] | unique | length' compile_commands.json)" = $(words $(wildcard core/*/*.c)) ] || \
	    { echo "compile_commands.json lacks files of core/" >&2; exit 1; }
	@clang-format --dry-run --Werror $(C_FILES)
	@zsh -n packaging/completions/_ib-hook
	@printf '%s\n' $(filter-out $(SHELL_TESTS),$(sort $(SHELL_FILES))) | xargs -P 2 -n 8 shellcheck -x
	@printf '%s\n' $(SHELL_TESTS) | xargs -P 2 -n 16 shellcheck --norc --exclude=$(SHELLCHECK_OF_LIBRARIES)
	@$(MAKE) -s -j2 BUILD=$(BUILD)/gcc CC=gcc WERROR=-Werror all tools unit-tests
	@tests/structure $(BUILD)/gcc
	@cppcheck -q --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    $(CPPCHECK_SILENT:%=--suppress=%) --library=gtk '-DG_GNUC_PRINTF(a,b)=' $(CPPCHECK_FORMATS) '-DIBH_VERSION="0"' '-DIBH_COMMAND="0"' '-DIBH_PLUGIN_DIR="0"'  -Icore core nm-dispatcher
	@$(MAKE) -s tidy

# One file in each process: in those after the first, clang 14 takes a va_list for uninitialized.
TIDY_CHECKS := --checks=-clang-analyzer-*
tidy:
	@mkdir -p $(BUILD)
	@printf '%s\n' $(wildcard core/*/*.c nm-dispatcher/*.c) | xargs -P 2 -n 1 sh -c 'eval "clang-tidy --quiet $(TIDY_CHECKS) $$* -- $$TIDY_FLAGS"' clang-tidy \
	    2>$(BUILD)/clang-tidy.log || { cat $(BUILD)/clang-tidy.log >&2; exit 1; } # findings are on standard output

.PHONY: check test-deps check-all check-clang check-unit check-sanitized check-valgrind check-netns check-pages check-times check-faults check-managers check-platforms check-lab check-selinux \
        check-fleet check-fresh check-shell bench bench-guard bench-deps lint lint-with-tools tidy fuzz fuzz-kernel fuzz-check fuzz-probe fuzzers coverage mutate unit-tests tools
