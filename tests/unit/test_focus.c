/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --watch hears of each nexthop object, and of each route of a foreign table, whose change can change a decision. */
#include "watch/focus.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

/* Returns whether the focus includes nexthop objects if these routes are all that the snapshot has. */
static gboolean needs_objects(const IbhSnapshot *snapshot)
{
    g_autoptr(GPtrArray) nics = g_ptr_array_new();
    const IbhRails rails = {.nics = nics, .snapshot = snapshot};
    IbhFocus focus;

    ibh_focus_find(&focus, &rails);
    ibh_focus_clear(&focus);
    return focus.objects;
}

/* A route to a candidate's subnet through another NIC: its gateway decides whether the rail's table has the subnet. */
static void test_object_to_a_subnet(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    IbhRoute route = {.table = IBH_TABLE_MAIN, .ifindex = 9};

    g_array_append_val(snapshot->main_to_subnets, route);
    assert_false(needs_objects(snapshot));
    route.object = 5;
    g_array_append_val(snapshot->main_to_subnets, route);
    assert_true(needs_objects(snapshot));
}

/* Rules that may decide about a rail's packets: a source rule, and each rule before it. */
static void test_tables_before_a_source_rule(void **state G_GNUC_UNUSED)
{
    static const struct {
        guint32 priority, table;
        const char *from;
    } rules[] = {{0, IBH_TABLE_LOCAL, NULL},     {10, 10, "192.0.2.0/24"},      {5270, 52, NULL},
                 {32764, 101, "172.16.34.1/32"}, {32766, IBH_TABLE_MAIN, NULL}, {32767, RT_TABLE_DEFAULT, NULL}};
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_autoptr(GPtrArray) nics = g_ptr_array_new(), addresses = g_ptr_array_new();
    IbhLink link = {.ifindex = 9};
    IbhNic nic = {.link = &link, .rank = 1, .addresses = addresses};
    IbhAddress address = {.ifindex = 9};
    const IbhRails rails = {.nics = nics, .snapshot = snapshot};
    IbhFocus focus;

    assert_true(ibh_ip_parse("172.16.34.1", &address.local));
    g_array_append_val(snapshot->addresses, address);
    g_ptr_array_add(nics, &nic);
    for (gsize i = 0; i < G_N_ELEMENTS(rules); i++) {
        IbhRule rule = {0};

        rule.family = AF_INET;
        rule.from.ip.family = AF_INET;
        rule.priority = rules[i].priority;
        rule.table = rules[i].table;
        rule.action = FR_ACT_TO_TBL;
        if (rules[i].from)
            assert_true(ibh_prefix_parse(rules[i].from, &rule.from));
        g_array_append_val(snapshot->rules, rule);
    }
    ibh_focus_find(&focus, &rails);
    assert_int_equal(focus.tables->len, 2);
    assert_int_equal(g_array_index(focus.tables, int, 0), 101);
    assert_int_equal(g_array_index(focus.tables, int, 1), 52);
    ibh_focus_clear(&focus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_object_to_a_subnet),
                                       cmocka_unit_test(test_tables_before_a_source_rule)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
