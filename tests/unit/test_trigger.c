/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What hooks are called with: what counts of it, and that nothing in it does harm. */
#include "config/trigger.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static IbhTrigger nm(const char *iface, const char *action)
{
    char *argv[] = {(char *)(guintptr) "50-ib-hook", (char *)(guintptr)iface, (char *)(guintptr)action, NULL};

    return ibh_trigger_nm(action ? 3 : iface ? 2 : 1, argv);
}

static void expect(IbhTrigger trigger, gboolean wanted, const char *down)
{
    assert_int_equal(trigger.wanted, wanted);
    assert_string_equal(trigger.down, down);
}

static void expect_cause(IbhTrigger trigger, const char *cause)
{
    assert_string_equal(trigger.cause, cause);
}

static void test_nm(void **state)
{
    static const char *const WANTED[] = {"up", "pre-up", "dhcp4-change", "dhcp6-change", "reapply"};
    static const char *const OTHERS[] = {"pre-down", "hostname", "connectivity-change", "dns-change",
                                         "vpn-up",   "vpn-down", "device-add",          "UP",
                                         "",         "up ",      "down; reboot"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(WANTED); i++)
        expect(nm("ib0", WANTED[i]), TRUE, "");
    for (gsize i = 0; i < G_N_ELEMENTS(OTHERS); i++)
        expect(nm("ib0", OTHERS[i]), FALSE, "");
    expect(nm("ib0", "down"), TRUE, "ib0");
    expect_cause(nm("ib0", "down"), "NetworkManager: ib0 down");
    assert_true(nm("ib0", "reapply").early);
    assert_false(nm("ib0", "up").early);
    assert_true(nm("lo", "reapply").early); /* rails answer for its addresses */
    expect(nm("lo", "up"), TRUE, "");
    expect(nm("", "up"), TRUE, "");
    expect(nm("none", "hostname"), FALSE, "");
    expect(nm("ib0", NULL), FALSE, "");
    expect(nm(NULL, NULL), FALSE, "");
    expect(ibh_trigger_nm(0, NULL), FALSE, "");
}

static void test_networkd(void **state)
{
    char *routable[] = {(char *)(guintptr) "IFACE=ib0", (char *)(guintptr) "OperationalState=routable", NULL};
    char *off[] = {(char *)(guintptr) "OperationalState=off", (char *)(guintptr) "IFACE=ib1", NULL};
    char *degraded[] = {(char *)(guintptr) "IFACE=ib0", (char *)(guintptr) "OperationalState=degraded",
                        (char *)(guintptr) "STATE=off", NULL};
    char *lo[] = {(char *)(guintptr) "IFACE=lo", NULL};
    char *empty[] = {NULL};

    (void)state;
    expect(ibh_trigger_networkd(routable), TRUE, "");
    expect(ibh_trigger_networkd(off), TRUE, "ib1");
    expect_cause(ibh_trigger_networkd(off), "networkd-dispatcher: ib1 off");
    expect_cause(ibh_trigger_networkd(empty), "networkd-dispatcher: ? ?");
    expect(ibh_trigger_networkd(degraded), TRUE, ""); /* in the middle of a restart, too */
    expect(ibh_trigger_networkd(lo), TRUE, "");
    expect(ibh_trigger_networkd(empty), TRUE, "");
}

static IbhTrigger ifupdown(const char *iface, const char *mode)
{
    g_autofree char *first = g_strconcat("IFACE=", iface, NULL), *second = g_strconcat("MODE=", mode, NULL);
    char *envp[] = {first, second, (char *)(guintptr) "PHASE=post-down", NULL};

    return ibh_trigger_ifupdown(envp);
}

static void test_ifupdown(void **state)
{
    (void)state;
    expect(ifupdown("ib0", "start"), TRUE, "");
    expect(ifupdown("ib0", "stop"), TRUE, "ib0");
    expect_cause(ifupdown("ib0", "stop"), "ifupdown: ib0 stop");
    expect(ifupdown("--all", "start"), TRUE, "");
    expect(ifupdown("lo", "start"), TRUE, "");   /* a VIP on it */
    expect(ifupdown("ib0:1", "stop"), TRUE, ""); /* of an alias: no interface, no harm */
}

static void test_rhel(void **state)
{
    char *up[] = {(char *)(guintptr) "/sbin/ifup-local", (char *)(guintptr) "ib0", NULL};
    char *down[] = {(char *)(guintptr) "/sbin/ifdown-local", (char *)(guintptr) "ib0", NULL};
    char *plain[] = {(char *)(guintptr) "ifdown-local", (char *)(guintptr) "ib0", NULL};
    char *alone[] = {(char *)(guintptr) "/sbin/ifdown-local", NULL};

    (void)state;
    expect(ibh_trigger_ifcfg(2, up), TRUE, "");
    expect(ibh_trigger_ifcfg(2, down), TRUE, "ib0");
    expect(ibh_trigger_ifcfg(2, plain), TRUE, "ib0");
    expect_cause(ibh_trigger_ifcfg(2, plain), "network-scripts: ib0 down");
    expect(ibh_trigger_ifcfg(1, alone), TRUE, "");
    expect(ibh_trigger_ifcfg(0, NULL), TRUE, "");
}

/* A name that no interface can have is no name; the event stays one. */
static void test_hostile_names(void **state)
{
    static const char *const NAMES[] = {"../../etc/passwd", "a b", "..", ".", "ib0\n", "ib0/1", "%n%n%n%n%n%n%n%n%n"};
    g_autofree char *huge = g_strnfill(128 * 1024, 'x');

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(NAMES); i++) {
        expect(nm(NAMES[i], "down"), TRUE, "");
        expect(ifupdown(NAMES[i], "stop"), TRUE, "");
        expect_cause(ifupdown(NAMES[i], "stop"), "ifupdown: ? stop");
    }
    expect(nm(huge, "down"), TRUE, "");
    expect(nm("ib0", huge), FALSE, "");
    expect(ifupdown(huge, "stop"), TRUE, "");
    expect(ifupdown("ib0", huge), TRUE, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nm),   cmocka_unit_test(test_networkd),      cmocka_unit_test(test_ifupdown),
        cmocka_unit_test(test_rhel), cmocka_unit_test(test_hostile_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
