/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --watch hears of each nexthop object whose change can change a decision. */
#include "watch/focus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_object_to_a_subnet)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
