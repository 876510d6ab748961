/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values themselves: addresses, prefixes, what is ours. Operations, their commands and inverses: test_plan.c and
 * test_random.c.
 */
#include "model/model.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static IbhIp ip(const char *text)
{
    IbhIp value;

    if (!ibh_ip_parse(text, &value))
        fail_msg("%s is no address", text);
    return value;
}

static IbhPrefix prefix(const char *text)
{
    IbhPrefix value;

    if (!ibh_prefix_parse(text, &value))
        fail_msg("%s is no prefix", text);
    return value;
}

/* ---- addresses ---------------------------------------------------------------------------------- */

static void test_ip_parse(void **state G_GNUC_UNUSED)
{
    static const char *const good[] = {
        "0.0.0.0", "172.16.34.1", "255.255.255.255", "::", "::1", "fe80::1", "2001:db8:0:1:2:3:4:5", "::ffff:10.0.0.1"};
    static const char *const bad[] = {"",
                                      "172.16.34",
                                      "172.16.34.256",
                                      "172.16.34.1/16",
                                      " 10.0.0.1",
                                      "10.0.0.1 ",
                                      "10.0.0.01",
                                      "0x0a000001",
                                      "1",
                                      "ib0",
                                      ":",
                                      "fe80::1%ib0",
                                      ":::",
                                      "2001:db8::1::2",
                                      "none"};
    char text[IBH_IP_STRLEN];
    IbhIp value;

    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        assert_true(ibh_ip_parse(good[i], &value));
        assert_string_equal(ibh_ip_format(&value, text), good[i]);
        assert_int_equal(value.family, strchr(good[i], ':') ? AF_INET6 : AF_INET);
        assert_int_equal(ibh_ip_bits(&value), strchr(good[i], ':') ? 128 : 32);
    }
    value = ip("10.9.8.7");
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        if (ibh_ip_parse(bad[i], &value))
            fail_msg("“%s” was taken for an address", bad[i]);
    }
    assert_string_equal(ibh_ip_format(&value, text), "10.9.8.7"); /* untouched by failures */
}

/* ---- prefixes ------------------------------------------------------------------------------------- */

static gboolean bit(const IbhIp *address, guint i)
{
    return address->bytes[i / 8] >> (7 - i % 8) & 1;
}

/* Of every length: the bits before it stay, those behind it are clear. */
static void test_prefix_of_every_length(void **state G_GNUC_UNUSED)
{
    static const char *const addresses[] = {"255.255.255.255", "172.16.34.201",
                                            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::9234:5678:9abc:def1"};

    for (guint a = 0; a < G_N_ELEMENTS(addresses); a++) {
        IbhIp address = ip(addresses[a]);

        for (guint length = 0; length <= ibh_ip_bits(&address); length++) {
            IbhPrefix cut = ibh_prefix_of(&address, length);

            assert_int_equal(cut.length, length);
            for (guint i = 0; i < ibh_ip_bits(&address); i++)
                assert_int_equal(bit(&cut.ip, i), i < length && bit(&address, i));
            assert_true(ibh_prefix_contains(&cut, &address));
        }
    }
}

static void test_prefix_parse(void **state G_GNUC_UNUSED)
{
    static const char *const good[][2] = {
        {"172.16.34.1/16", "172.16.0.0/16"}, {"172.16.34.1", "172.16.34.1/32"}, {"172.16.34.1/32", "172.16.34.1/32"},
        {"10.0.0.3/31", "10.0.0.2/31"},      {"1.2.3.4/0", "0.0.0.0/0"},        {"2001:db8::5/64", "2001:db8::/64"},
        {"2001:db8::5", "2001:db8::5/128"},  {"febf::1/10", "fe80::/10"},
    };
    static const char *const bad[] = {"",
                                      "/16",
                                      "10.0.0.0/",
                                      "10.0.0.0/33",
                                      "10.0.0.0/-1",
                                      "10.0.0.0/8/8",
                                      "10.0.0.0/8 ",
                                      "10.0.0.0/ 8",
                                      "10.0.0.0/+8",
                                      "10.0.0.0/0x8",
                                      "::/129",
                                      "default",
                                      "10.0.0/8",
                                      "10.0.0.0/255.0.0.0"};
    char text[IBH_PREFIX_STRLEN];
    IbhPrefix value;

    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        value = prefix(good[i][0]);
        assert_string_equal(ibh_prefix_format(&value, text), good[i][1]);
    }
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        if (ibh_prefix_parse(bad[i], &value))
            fail_msg("“%s” was taken for a prefix", bad[i]);
    }
    assert_string_equal(ibh_prefix_format(&value, text), "fe80::/10");
}

static void test_prefix_contains(void **state G_GNUC_UNUSED)
{
    static const struct {
        const char *outer, *ip;
        gboolean contains;
    } cases[] = {
        {"172.16.0.0/16", "172.16.0.0", TRUE},
        {"172.16.0.0/16", "172.16.255.255", TRUE},
        {"172.16.0.0/16", "172.17.0.0", FALSE},
        {"172.16.0.0/16", "172.15.255.255", FALSE},
        {"10.0.0.2/31", "10.0.0.3", TRUE},
        {"10.0.0.2/31", "10.0.0.4", FALSE},
        {"10.0.0.2/32", "10.0.0.2", TRUE},
        {"10.0.0.2/32", "10.0.0.3", FALSE},
        {"0.0.0.0/0", "255.1.2.3", TRUE},
        {"0.0.0.0/0", "::", FALSE},
        {"::/0", "0.0.0.0", FALSE},
        {"fe80::/10", "febf:ffff::1", TRUE},
        {"fe80::/10", "fec0::1", FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        IbhPrefix outer = prefix(cases[i].outer);
        IbhIp address = ip(cases[i].ip);

        if (ibh_prefix_contains(&outer, &address) != cases[i].contains)
            fail_msg("%s and %s", cases[i].outer, cases[i].ip);
    }
}

static void test_prefix_overlaps(void **state G_GNUC_UNUSED)
{
    static const struct {
        const char *a, *b;
        gboolean overlap;
    } cases[] = {
        {"172.16.0.0/16", "172.16.0.0/16", TRUE},   {"172.16.0.0/16", "172.16.34.0/24", TRUE},
        {"172.16.0.0/16", "172.17.0.0/16", FALSE},  {"172.16.0.0/16", "172.16.0.0/12", TRUE},
        {"10.0.0.0/31", "10.0.0.1/32", TRUE},       {"10.0.0.0/31", "10.0.0.2/31", FALSE},
        {"0.0.0.0/0", "10.0.0.0/8", TRUE},          {"0.0.0.0/0", "::/0", FALSE},
        {"2001:db8::/32", "2001:db8:1::/48", TRUE}, {"2001:db8::/32", "2001:db9::/32", FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        IbhPrefix a = prefix(cases[i].a), b = prefix(cases[i].b);

        if (ibh_prefix_overlaps(&a, &b) != cases[i].overlap || ibh_prefix_overlaps(&b, &a) != cases[i].overlap)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
    }
}

static void test_address_is_host(void **state G_GNUC_UNUSED)
{
    static const struct {
        const char *local, *subnet;
        gboolean is_host;
    } cases[] = {
        {"10.0.0.1", "10.0.0.1/32", TRUE},        {"10.0.0.1", "10.0.0.0/31", FALSE},
        {"10.0.0.1", "10.0.0.2/32", FALSE},       /* a peer */ {"10.0.0.1", "10.0.0.0/8", FALSE},
        {"2001:db8::1", "2001:db8::1/128", TRUE}, {"2001:db8::1", "2001:db8::/64", FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        IbhAddress address = {.local = ip(cases[i].local), .subnet = prefix(cases[i].subnet)};

        assert_int_equal(ibh_address_is_host(&address), cases[i].is_host);
    }
}

/* Every IPv4 address but those of the host alone; of IPv6 the global ones that are known to be ours. */
static void test_address_counts(void **state G_GNUC_UNUSED)
{
    static const struct {
        const char *address;
        guint8 scope;
        gboolean secondary, tentative;
        gboolean counts;
    } cases[] = {
        {"172.16.34.1", RT_SCOPE_UNIVERSE, FALSE, FALSE, TRUE}, {"172.16.34.1", RT_SCOPE_UNIVERSE, TRUE, FALSE, TRUE},
        {"172.16.34.1", RT_SCOPE_SITE, FALSE, FALSE, TRUE},     {"169.254.1.1", RT_SCOPE_LINK, FALSE, FALSE, TRUE},
        {"127.0.0.1", RT_SCOPE_HOST, FALSE, FALSE, FALSE},      {"fd00::1", RT_SCOPE_UNIVERSE, FALSE, FALSE, TRUE},
        {"fd00::1", RT_SCOPE_UNIVERSE, TRUE, FALSE, TRUE},      {"fd00::1", RT_SCOPE_UNIVERSE, FALSE, TRUE, FALSE},
        {"fd00::1", RT_SCOPE_UNIVERSE, TRUE, TRUE, FALSE},      {"fec0::1", RT_SCOPE_SITE, FALSE, FALSE, FALSE},
        {"fe80::1", RT_SCOPE_LINK, FALSE, FALSE, FALSE},        {"::1", RT_SCOPE_HOST, FALSE, FALSE, FALSE},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        IbhAddress address = {.local = ip(cases[i].address),
                              .scope = cases[i].scope,
                              .secondary = cases[i].secondary,
                              .tentative = cases[i].tentative};

        if (ibh_address_counts(&address) != cases[i].counts)
            fail_msg("%s, case %zu", cases[i].address, i);
    }
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static IbhRule our_rule(const char *from)
{
    IbhRule rule = {.priority = 1941,
                    .from = prefix(from),
                    .action = FR_ACT_TO_TBL,
                    .table = 941,
                    .protocol = RTPROT_KERNEL,
                    .suppress_prefixlength = -1,
                    .suppress_ifgroup = IBH_MARK};

    rule.family = rule.from.ip.family;
    return rule;
}

typedef struct {
    IbhRule rule;
    gboolean is_ours;
} RuleVariant;

static void add_rule(GArray *variants, IbhRule rule, gboolean is_ours)
{
    RuleVariant variant = {rule, is_ours};

    g_array_append_val(variants, variant);
}

static void add_selectors(GArray *variants)
{
    static const IbhSelector selectors[] = {IBH_SELECT_TO,     IBH_SELECT_IIF, IBH_SELECT_OIF,
                                            IBH_SELECT_FWMARK, IBH_SELECT_TOS, IBH_SELECT_UID,
                                            IBH_SELECT_PORT,   IBH_SELECT_NOT, IBH_SELECT_OTHER};

    for (guint i = 0; i < G_N_ELEMENTS(selectors); i++) {
        IbhRule rule = our_rule("172.16.34.1");

        rule.selectors = selectors[i];
        add_rule(variants, rule, FALSE);
    }
}

#define ADD_RULE(variants, field, value, is_ours)                                                                      \
    do {                                                                                                               \
        IbhRule changed = our_rule("172.16.34.1");                                                                     \
        changed.field = (value);                                                                                       \
        add_rule(variants, changed, is_ours);                                                                          \
    } while (0)

static IbhRule rule_to(const char *from, const char *to, guint32 table, gint64 suppress_prefixlength)
{
    IbhRule rule = our_rule(from);

    assert_true(ibh_prefix_parse(to, &rule.to));
    rule.selectors = IBH_SELECT_TO;
    rule.table = table;
    rule.suppress_prefixlength = suppress_prefixlength;
    return rule;
}

/* A rule asks main for what is longer than its own prefix, or leads to a table; from no address, to 940. */
static void add_rules_to(GArray *variants)
{
    IbhRule marked = rule_to("172.16.34.1", "172.16.0.0/16", IBH_TABLE_MAIN, 16);

    add_rule(variants, marked, TRUE);
    add_rule(variants, rule_to("172.16.34.1", "172.16.0.0/17", IBH_TABLE_MAIN, 16), FALSE);
    add_rule(variants, rule_to("2001:db8::1", "2001:db8::/64", IBH_TABLE_MAIN, 64), TRUE);
    add_rule(variants, rule_to("0.0.0.0", "172.16.0.0/16", IBH_TABLE_MAIN, 16), TRUE);
    add_rule(variants, rule_to("0.0.0.0", "172.16.0.0/16", IBH_TABLE_SPREAD, -1), TRUE);
    add_rule(variants, rule_to("172.16.34.1", "172.16.0.0/16", IBH_TABLE_MAIN, -1), FALSE);
    add_rule(variants, rule_to("172.16.34.1", "172.16.0.0/16", 941, 16), FALSE);
    add_rule(variants, rule_to("172.16.34.1", "172.16.0.0/16", 941, -1), TRUE);
    add_rule(variants, rule_to("172.16.34.0/24", "172.16.0.0/16", IBH_TABLE_MAIN, 16), FALSE);
    marked.selectors |= IBH_SELECT_FWMARK;
    add_rule(variants, marked, FALSE);
}

/* Our rule, and what differs from it in a single field, each with whether it is ours still. */
static GArray *rule_variants(void)
{
    GArray *variants = g_array_new(FALSE, FALSE, sizeof(RuleVariant));

    add_rule(variants, our_rule("172.16.34.1"), TRUE);
    add_rule(variants, our_rule("172.16.34.2"), TRUE);
    add_rule(variants, our_rule("2001:db8::1"), TRUE);
    add_rule(variants, our_rule("172.16.34.0/31"), FALSE);
    add_rule(variants, our_rule("0.0.0.0/0"), FALSE);
    add_rule(variants, our_rule("2001:db8::/64"), FALSE);
    add_rule(variants, our_rule("2001:db8::/32"), FALSE);
    ADD_RULE(variants, priority, 2941, TRUE);
    ADD_RULE(variants, table, 942, TRUE);
    ADD_RULE(variants, table, IBH_TABLE_MAIN, FALSE);
    ADD_RULE(variants, protocol, RTPROT_STATIC, TRUE);
    ADD_RULE(variants, suppress_prefixlength, 0, FALSE);
    ADD_RULE(variants, suppress_prefixlength, 16, FALSE);
    ADD_RULE(variants, suppress_ifgroup, -1, FALSE);
    ADD_RULE(variants, suppress_ifgroup, 0, FALSE);
    ADD_RULE(variants, suppress_ifgroup, IBH_MARK + 1, FALSE);
    ADD_RULE(variants, action, FR_ACT_GOTO, FALSE);
    ADD_RULE(variants, action, FR_ACT_UNREACHABLE, FALSE);
    ADD_RULE(variants, l3mdev, TRUE, FALSE);
    ADD_RULE(variants, realms, 5, FALSE);
    add_selectors(variants);
    add_rules_to(variants);
    return variants;
}

static void test_rule_is_ours(void **state G_GNUC_UNUSED)
{
    g_autoptr(GArray) variants = rule_variants();

    for (guint i = 0; i < variants->len; i++) {
        const RuleVariant *variant = &g_array_index(variants, RuleVariant, i);

        if (ibh_rule_is_ours(&variant->rule) != variant->is_ours)
            fail_msg("variant %u: expected %s", i, variant->is_ours ? "ours" : "not ours");
    }
}

/* ---- routes ------------------------------------------------------------------------------------------------ */

static IbhRoute our_route(void)
{
    return (IbhRoute){.family = AF_INET,
                      .table = 941,
                      .dst = prefix("172.16.0.0/16"),
                      .type = RTN_UNICAST,
                      .protocol = RTPROT_KERNEL,
                      .scope = RT_SCOPE_LINK,
                      .metric = IBH_MARK,
                      .ifindex = 2,
                      .src = ip("172.16.34.1"),
                      .nexthops = 1};
}

typedef struct {
    IbhRoute route;
    gboolean is_ours;
    gboolean same_place; /* as our_route() */
} RouteVariant;

#define ADD_ROUTE(variants, field, value, is_ours, same_place)                                                         \
    do {                                                                                                               \
        RouteVariant variant = {our_route(), is_ours, same_place};                                                     \
        variant.route.field = (value);                                                                                 \
        g_array_append_val(variants, variant);                                                                         \
    } while (0)

static GArray *route_variants(void)
{
    GArray *variants = g_array_new(FALSE, FALSE, sizeof(RouteVariant));

    ADD_ROUTE(variants, table, 941, TRUE, TRUE);
    ADD_ROUTE(variants, table, 942, TRUE, FALSE);
    ADD_ROUTE(variants, table, IBH_TABLE_MAIN, TRUE, FALSE);
    ADD_ROUTE(variants, family, AF_INET6, TRUE, FALSE);
    ADD_ROUTE(variants, dst, prefix("172.17.0.0/16"), TRUE, FALSE);
    ADD_ROUTE(variants, dst, prefix("172.16.0.0/24"), TRUE, FALSE);
    ADD_ROUTE(variants, metric, 0, FALSE, FALSE);
    ADD_ROUTE(variants, metric, IBH_MARK - 1, FALSE, FALSE);
    ADD_ROUTE(variants, protocol, RTPROT_BOOT, FALSE, TRUE);
    ADD_ROUTE(variants, protocol, RTPROT_STATIC, FALSE, TRUE);
    ADD_ROUTE(variants, type, RTN_THROW, FALSE, TRUE);
    ADD_ROUTE(variants, scope, RT_SCOPE_UNIVERSE, TRUE, TRUE);
    ADD_ROUTE(variants, ifindex, 3, TRUE, TRUE);
    ADD_ROUTE(variants, ifindex, 0, TRUE, TRUE);
    ADD_ROUTE(variants, gateway, ip("172.16.0.1"), TRUE, TRUE);
    ADD_ROUTE(variants, src, ip("172.16.34.2"), TRUE, TRUE);
    ADD_ROUTE(variants, src, (IbhIp){.family = AF_UNSPEC}, TRUE, TRUE);
    ADD_ROUTE(variants, nexthops, 2, TRUE, TRUE);
    ADD_ROUTE(variants, object, 4, FALSE, TRUE);
    return variants;
}

static void test_route_is_ours(void **state G_GNUC_UNUSED)
{
    g_autoptr(GArray) variants = route_variants();
    const IbhRoute ours = our_route();

    for (guint i = 0; i < variants->len; i++) {
        const RouteVariant *variant = &g_array_index(variants, RouteVariant, i);

        if (ibh_route_is_ours(&variant->route) != variant->is_ours)
            fail_msg("variant %u: expected %s", i, variant->is_ours ? "ours" : "not ours");
        if (ibh_route_same_place(&variant->route, &ours) != variant->same_place ||
            ibh_route_same_place(&ours, &variant->route) != variant->same_place)
            fail_msg("variant %u: expected %s place", i, variant->same_place ? "the same" : "another");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ip_parse),        cmocka_unit_test(test_prefix_of_every_length),
        cmocka_unit_test(test_prefix_parse),    cmocka_unit_test(test_prefix_contains),
        cmocka_unit_test(test_prefix_overlaps), cmocka_unit_test(test_address_is_host),
        cmocka_unit_test(test_address_counts),  cmocka_unit_test(test_rule_is_ours),
        cmocka_unit_test(test_route_is_ours),

    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
