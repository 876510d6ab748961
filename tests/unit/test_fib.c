/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fake kernel against what was measured on a real one. The model of routing beside it is compared with
 * core/check/fib.c in each random world, and that with the kernel (fuzz-check).
 */
#include "case_text.h"
#include "fib.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static IbhIp ip(const char *text)
{
    IbhIp parsed;

    assert_true(ibh_ip_parse(text, &parsed));
    return parsed;
}

static FibAnswer ask(const FakeKernel *kernel, const char *from, const char *to)
{
    IbhIp source = {.family = 0}, target = ip(to);

    if (from)
        source = ip(from);
    return fib_lookup(kernel->now, from ? &source : NULL, &target);
}

static void assert_leaves(const FakeKernel *kernel, const char *from, const char *to, const char *dev)
{
    FibAnswer answer = ask(kernel, from, to);
    g_autofree char *text = fib_describe(kernel->now, &answer);

    if (answer.kind != FIB_DEVICE || answer.ifindex != fake_ifindex(kernel, dev))
        fail_msg("%s to %s: %s, not dev %s", from ? from : "unbound", to, text, dev);
}

static void assert_kind(const FakeKernel *kernel, const char *from, const char *to, FibKind kind)
{
    FibAnswer answer = ask(kernel, from, to);
    g_autofree char *text = fib_describe(kernel->now, &answer);

    if (answer.kind != kind)
        fail_msg("%s to %s: %s", from ? from : "unbound", to, text);
}

static void assert_refused(FakeKernel *kernel, const char *line, int code, const char *words)
{
    g_autoptr(GError) error = NULL;

    if (fake_try(kernel, line, &error))
        fail_msg("not refused: %s", line);
    assert_int_equal(error->code, code);
    assert_string_equal(error->message, words);
}

/* Two NICs of one /16, as in the documents. */
static FakeKernel *two_nics(void)
{
    FakeKernel *kernel = fake_kernel_new();

    fake_do(kernel, "nic ib0 infiniband", "nic ib1 infiniband", "ip address add 172.16.34.1/16 dev ib0",
            "ip address add 172.16.34.2/16 dev ib1", NULL);
    return kernel;
}

static void add_rail(FakeKernel *kernel, const char *dev, const char *ip_text, guint table)
{
    g_autofree char *route = g_strdup_printf("ip route add 172.16.0.0/16 dev %s table %u protocol kernel scope link "
                                             "src %s metric mark",
                                             dev, table, ip_text);
    g_autofree char *rule = g_strdup_printf("ip rule add priority 1941 from %s lookup %u suppress_prefixlength 0 "
                                            "suppress_ifgroup mark protocol kernel",
                                            ip_text, table);

    fake_do(kernel, route, rule, NULL);
}

static FakeKernel *rails_beside_docker(void)
{
    FakeKernel *kernel = two_nics();

    fake_do(kernel, "nic eth0", "ip address add 192.168.1.5/24 dev eth0",
            "ip route add default via 192.168.1.1 dev eth0", "ip link add docker0 up type bridge",
            "ip address add 172.17.0.1/16 dev docker0", NULL);
    return kernel;
}

/* ---- IPv6 ---- */

static FakeKernel *two_nics6(void)
{
    FakeKernel *kernel = fake_kernel_new();

    fake_do(kernel, "nic ib0 infiniband", "nic ib1 infiniband", "ip address add 2001:db8:1::1/64 dev ib0",
            "ip address add 2001:db8:1::2/64 dev ib1", NULL);
    return kernel;
}

static void test_ipv6_routes(void **state)
{
    g_autoptr(FakeKernel) kernel = two_nics6();

    (void)state;
    assert_refused(kernel, "ip -6 route add default via 2001:db8:9::1 dev ib0", EHOSTUNREACH, strerror(EHOSTUNREACH));
    assert_refused(kernel, "ip -6 route add default via 2001:db8:1::2 dev ib0", EINVAL,
                   "Gateway can not be a local address");
    fake_do(kernel, "ip -6 route add default via 2001:db8:1::9 dev ib0 table 941",
            "ip -6 route add default via fe80::9 dev ib1", NULL);
    assert_int_equal(fib_first(kernel->now, 941)->metric, 1024);
    assert_int_equal(fib_first(kernel->now, 941)->scope, RT_SCOPE_UNIVERSE);
    assert_refused(kernel, "ip -6 route add default via fe80::8 dev ib0 metric 1024", EEXIST, "File exists");
    fake_do(kernel, "ip -6 route add throw 2001:db8:1:2::/64 table 941", "ip -6 route del 2001:db8:1:2::/64 table 941",
            NULL); /* the type is not looked at */
    assert_int_equal(kernel->inexact, 1);
    fake_do(kernel, "ip link set ib1 down", NULL);
    assert_refused(kernel, "ip -6 route add 2001:db8:9::/48 dev ib1", ENETDOWN, "Nexthop device is not up");
}

static void test_ipv6_addresses(void **state)
{
    g_autoptr(FakeKernel) kernel = two_nics6();

    (void)state;
    fake_do(kernel, "ip address add 2001:db8:1::3/64 dev ib0 secondary",
            "ip route add 2001:db8:8::/48 dev ib0 src 2001:db8:1::1", "ip route add 2001:db8:1::/64 dev ib0 table 941",
            NULL);
    assert_refused(kernel, "ip address add 2001:db8:1::3/128 dev ib0", EEXIST, "File exists");
    fake_do(kernel, "ip address del 2001:db8:1::1 dev ib0", NULL);
    assert_leaves(kernel, NULL, "2001:db8:1::9", "ib0"); /* the prefix is still connected by the other */
    fake_do(kernel, "ip address del 2001:db8:1::3 dev ib0", "ip -6 rule add lookup 941 priority 50", NULL);
    assert_leaves(kernel, NULL, "2001:db8:1::9", "ib0"); /* T keeps what names no source */
    assert_leaves(kernel, NULL, "2001:db8:8::9", "ib0"); /* the source is gone, the route is not */
    fake_do(kernel, "ip link set ib0 down", "ip link set ib0 up", NULL);
    assert_leaves(kernel, NULL, "2001:db8:1::9", "ib1"); /* the link took them all with it */
    assert_kind(kernel, NULL, "2001:db8:8::9", FIB_UNREACHABLE);
    fake_do(kernel, "ip link set ib1 down", "ip link set ib1 up", NULL);
    assert_kind(kernel, NULL, "2001:db8:1::2", FIB_UNREACHABLE); /* and its addresses */
}

static void test_tentative_addresses(void **state)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_new();

    (void)state;
    fake_do(kernel, "nic ib0 infiniband", "ip address add 2001:db8:1::1/64 dev ib0 tentative", NULL);
    assert_leaves(kernel, NULL, "2001:db8:1::9", "ib0"); /* the prefix is connected, there is no source yet */
    assert_leaves(kernel, NULL, "2001:db8:1::1", "ib0"); /* nor is it ours */
    assert_refused(kernel, "ip route add 2001:db8:2::/64 dev ib0 src 2001:db8:1::1", EINVAL, "Invalid source address");
    fake_do(kernel, "ready 2001:db8:1::1 dev ib0", "ip route add 2001:db8:2::/64 dev ib0 src 2001:db8:1::1", NULL);
    assert_kind(kernel, NULL, "2001:db8:1::1", FIB_LOCAL);
    assert_leaves(kernel, NULL, "2001:db8:2::9", "ib0");
}

static void test_what_is_seen_of_main(void **state)
{
    g_autoptr(FakeKernel) kernel = two_nics();
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhSnapshot) seen = NULL;
    guint defaults = 0;

    (void)state;
    fake_do(kernel, "ip route add default nexthop via 172.16.0.1 dev ib0 nexthop via 172.16.0.2 dev ib1",
            "ip route add throw 10.0.0.0/8", "ip route add 11.0.0.0/8 via 172.16.0.1 dev ib1 protocol static", NULL);
    seen = fake_look(kernel, config);
    IBH_EACH (const IbhRoute, route, seen->main_by_nic) {
        defaults += !route->dst.length;
        assert_true(route->dst.length == 16 || (!route->hops && route->nexthops == 1));
    }
    assert_int_equal(defaults, 2);               /* each NIC's part of it */
    assert_int_equal(seen->main_by_nic->len, 4); /* and the subnet, by each */
}

/* ---- the fake kernel itself ---- */

static void test_rule_adds(void **state)
{
    g_autoptr(FakeKernel) kernel = two_nics();
    const char *rule = "ip rule add from 172.16.34.1 lookup 941 priority 1941 suppress_prefixlength 0 protocol kernel";

    (void)state;
    fake_do(kernel, rule, NULL);
    assert_refused(kernel, rule, EEXIST, "File exists");
    fake_do(kernel, "ip rule add from 172.16.34.1 lookup 941 priority 1941 suppress_prefixlength 0 protocol static",
            NULL);
    assert_int_equal(kernel->now->rules->len, 7); /* EXCL does not see through another protocol */
}

static void test_rule_deletes_have_wildcards(void **state)
{
    g_autoptr(FakeKernel) kernel = two_nics();

    (void)state;
    fake_do(kernel, "ip rule add from 172.16.34.1 lookup 941 priority 1941 suppress_prefixlength 0",
            "ip rule add from 172.16.34.1 lookup 941 priority 1941", NULL);
    fake_do(kernel, "ip rule del from 172.16.34.1 lookup 941 priority 1941", NULL); /* meant the plain one */
    assert_int_equal(kernel->inexact, 1);
    assert_int_equal(g_array_index(kernel->now->rules, IbhRule, 1).suppress_prefixlength, -1);
    assert_refused(kernel, "ip rule del from 172.16.34.9 lookup 941 priority 1941", ENOENT,
                   "No such file or directory");
}

static void test_route_adds(void **state)
{
    g_autoptr(FakeKernel) kernel = two_nics();

    (void)state;
    fake_do(kernel, "ip link set ib1 down", NULL);
    assert_refused(kernel, "ip route add 10.0.0.0/8 dev ib1", ENETDOWN, "Device for nexthop is not up");
    assert_refused(kernel, "ip route add 10.0.0.0/8 dev ib0 src 10.0.0.1", EINVAL, "Invalid prefsrc address");
    assert_refused(kernel, "ip route add default via 10.0.0.1 dev ib0 table 941", ENETUNREACH,
                   "Nexthop has invalid gateway");
    assert_refused(kernel, "ip route add 10.0.0.0/8 dev ib7", ENODEV, "Cannot find device");
    assert_refused(kernel, "ip route add 172.16.0.0/16 dev ib0 protocol static", EEXIST, "File exists");
    fake_do(kernel, "ip route add 172.16.0.0/16 dev ib0 metric 5",
            "ip route replace 172.16.0.0/16 dev ib0 metric 5 src 172.16.34.1", NULL);
    assert_refused(kernel, "ip route del 172.16.0.0/16 dev ib0 metric 6", ESRCH, "No such process");
    fake_do(kernel, "ip route add 10.0.0.0/8 dev ib0 src 172.16.34.2", NULL); /* of a link that is down, but ours */
}

/* A delete of an absent route by its form has removed a connected one. */
static void test_route_deletes_have_wildcards(void **state)
{
    g_autoptr(FakeKernel) kernel = two_nics();

    (void)state;
    fake_do(kernel, "ip route del 172.16.0.0/16 dev ib0 protocol kernel", NULL);
    assert_int_equal(kernel->inexact, 1);
    assert_leaves(kernel, NULL, "172.16.16.1", "ib1");
}

static void test_flaps_and_last_addresses(void **state)
{
    g_autoptr(FakeKernel) kernel = two_nics();

    (void)state;
    fake_do(kernel, "ip address add 172.16.34.3/16 dev ib0",
            "ip route add 10.0.0.0/8 dev ib0 table 941 src 172.16.34.1", NULL);
    assert_true(g_array_index(kernel->now->addresses, IbhAddress, 3).secondary);
    fake_do(kernel, "ip address del 172.16.34.1 dev ib0", NULL);
    assert_false(g_array_index(kernel->now->addresses, IbhAddress, 2).secondary); /* promoted */
    assert_leaves(kernel, NULL, "172.16.16.1", "ib1");                            /* connected again, but behind ib1 */
    fake_do(kernel, "ip rule add lookup 941 priority 50", NULL);
    assert_leaves(kernel, NULL, "10.0.0.1", "ib0"); /* T kept the dead source */
    fake_do(kernel, "ip address del 172.16.34.3 dev ib0", NULL);
    assert_kind(kernel, NULL, "10.0.0.1", FIB_UNREACHABLE); /* the last address took every route of the NIC */
    fake_do(kernel, "ip link set ib1 down", NULL);
    assert_kind(kernel, NULL, "172.16.16.1", FIB_UNREACHABLE);
    assert_kind(kernel, NULL, "172.16.34.2", FIB_LOCAL);
    fake_do(kernel, "ip link set ib1 up", NULL);
    assert_leaves(kernel, NULL, "172.16.16.1", "ib1");
    fake_do(kernel, "ip link del ib1", NULL);
    assert_kind(kernel, NULL, "172.16.34.2", FIB_UNREACHABLE);
}

static void test_worlds_print_and_compare(void **state)
{
    g_autoptr(FakeKernel) kernel = rails_beside_docker(), again = fake_kernel_new(), clone = NULL;
    g_autofree char *text = NULL, *text_again = NULL, *difference = NULL;
    g_auto(GStrv) lines = NULL;

    (void)state;
    add_rail(kernel, "ib1", "172.16.34.2", 942);
    fake_do(kernel, "ip address add 2001:db8:1::2/64 dev ib1 secondary",
            "ip address add 2001:db8:1::3/64 dev ib1 tentative", "ip -6 rule add lookup 942 priority 1941",
            "ip -6 route add default via fe80::9 dev ib1 table 942",
            "ip -6 rule add from 2001:db8:1::2 lookup 942 priority 1941", NULL);
    fake_do(kernel, "saved ib1 rp_filter old=1 set=2", "hold ib0", "sysctl -w net/ipv4/conf/all/rp_filter=1",
            "sysctl -w net/ipv4/conf/ib1/arp_ignore=2", NULL);
    text = fake_print(kernel);
    lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i + 1]; i++)
        fake_do(again, lines[i], NULL);
    assert_null(fake_difference(kernel, again, FAKE_ALL));
    text_again = fake_print(again);
    assert_string_equal(text, text_again);

    clone = fake_kernel_clone(kernel);
    assert_null(fake_difference(kernel, clone, FAKE_ALL));
    fake_do(clone, "ip rule add lookup 77 priority 9", NULL);
    difference = fake_difference(kernel, clone, FAKE_ALL);
    assert_non_null(strstr(difference, "+ ip rule add lookup 77 priority 9"));
}

static void test_order_of_rules(void **state)
{
    g_autoptr(FakeKernel) a = fake_kernel_new(), b = fake_kernel_new();
    g_autofree char *difference = NULL;

    (void)state;
    fake_do(a, "ip rule add from 10.0.0.1 lookup 1 priority 9", "ip rule add from 10.0.0.2 lookup 1 priority 9", NULL);
    fake_do(b, "ip rule add from 10.0.0.2 lookup 1 priority 9", "ip rule add from 10.0.0.1 lookup 1 priority 9", NULL);
    assert_null(fake_difference(a, b, FAKE_ALL)); /* no packet has both sources */
    fake_do(a, "ip rule add from 10.0.0.2 lookup 2 priority 9", NULL);
    fake_do(b, "ip rule del from 10.0.0.2 lookup 1 priority 9", "ip rule add from 10.0.0.2 lookup 2 priority 9",
            "ip rule add from 10.0.0.2 lookup 1 priority 9", NULL);
    difference = fake_difference(a, b, FAKE_ALL);
    assert_non_null(difference);
}

static void test_what_a_program_sees(void **state)
{
    g_autoptr(FakeKernel) kernel = rails_beside_docker();
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhSnapshot) seen = NULL;
    guint tables[4] = {0};

    (void)state;
    fake_do(kernel, "ip route add 10.0.0.0/8 dev ib0 table 100 protocol static",
            "ip route add 10.0.0.0/8 dev ib0 table 200 protocol static",
            "ip rule add from 172.16.0.0/16 lookup 100 priority 50", "ip rule add from 10.9.9.9 lookup 200 priority 50",
            NULL);
    seen = fake_look(kernel, config);
    IBH_EACH (const IbhRoute, route, seen->routes)
        tables[route->table == 100 ? 1 : route->table == 200 ? 2 : route->protocol != RTPROT_KERNEL ? 3 : 0]++;
    assert_int_equal(tables[1], 1);
    assert_int_equal(tables[2], 0);
    assert_int_equal(tables[3], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ipv6_routes),
        cmocka_unit_test(test_ipv6_addresses),
        cmocka_unit_test(test_tentative_addresses),
        cmocka_unit_test(test_what_is_seen_of_main),
        cmocka_unit_test(test_rule_adds),
        cmocka_unit_test(test_rule_deletes_have_wildcards),
        cmocka_unit_test(test_route_adds),
        cmocka_unit_test(test_route_deletes_have_wildcards),
        cmocka_unit_test(test_flaps_and_last_addresses),
        cmocka_unit_test(test_worlds_print_and_compare),
        cmocka_unit_test(test_order_of_rules),
        cmocka_unit_test(test_what_a_program_sees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
