/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is remembered of the rails between two runs: their tables, and which of them have gone. */
#include "case_text.h"
#include "plan/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static FakeKernel *make_host(void)
{
    FakeKernel *kernel = fake_kernel_new();

    fake_do(kernel, "nic ib0 infiniband rdma mlx5_0/1", "ip address add 172.16.34.1/16 dev ib0",
            "nic ib1 infiniband rdma mlx5_1/1", "ip address add 172.16.34.2/16 dev ib1", "nic far",
            "ip address add 10.0.0.1/24 dev far", NULL);
    return kernel;
}

/* A rail that is here is not missed with its RDMA device. */
static void test_gone(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();
    g_autoptr(IbhSnapshot) all = fake_snapshot(kernel);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhRails) rails = ibh_rails_find(config, all, FALSE, NULL);
    const int ib0 = fake_ifindex(kernel, "ib0"), far = fake_ifindex(kernel, "far");
    const IbhSavedRail here = {.iface = "ib0", .ifindex = ib0, .table = 941, .has_device = TRUE};
    const IbhSavedRail without = {.iface = "far", .ifindex = far, .table = 942, .has_device = TRUE};
    const IbhSavedRail managed = {.iface = "far", .ifindex = far, .table = 942};
    const IbhSavedRail away = {.iface = "ib7", .ifindex = 99, .table = 943};
    const IbhSavedRail moved = {.iface = "ib0", .ifindex = 99, .table = 941, .has_device = TRUE};

    (void)state;
    assert_int_equal(ibh_saved_rail_gone(rails, &here), IBH_HERE);
    assert_int_equal(ibh_saved_rail_gone(rails, &moved), IBH_HERE);
    assert_int_equal(ibh_saved_rail_gone(rails, &without), IBH_GONE_DEVICE);
    assert_int_equal(ibh_saved_rail_gone(rails, &managed), IBH_HERE);
    assert_int_equal(ibh_saved_rail_gone(rails, &away), IBH_GONE_NIC);
}

/* "ib0=941 ib1=942!": ! is for a number that the configuration gives. */
static char *remembered(const FakeKernel *kernel, const char *settings, const char *undone, gboolean all)
{
    const char *const undone_list[] = {undone, NULL};
    g_autoptr(IbhSnapshot) snapshot = fake_snapshot(kernel);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhRails) rails = NULL;
    g_autoptr(GArray) saved = NULL;
    GString *text = g_string_new(NULL);

    assert_true(ibh_config_add(config, "config", settings, strlen(settings), NULL, NULL, NULL));
    rails = ibh_rails_find(config, snapshot, FALSE, NULL);
    saved = ibh_rails_to_remember(rails, undone ? undone_list : NULL, all);
    IBH_EACH (const IbhSavedRail, rail, saved)
        g_string_append_printf(text, "%s%s=%u%s", text->len ? " " : "", rail->iface, rail->table,
                               rail->is_explicit ? "!" : "");
    return g_string_free(text, FALSE);
}

/* Rails, and those that have gone, until --undo; NICs that are here and none, and virtual functions, are not. */
static void test_remembered(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();
    g_autofree char *twice = NULL, *without = NULL, *none = NULL;

    (void)state;
    fake_do(kernel, "nic vf infiniband rdma mlx5_2/1 vf", "ip address add 172.16.34.3/16 dev vf",
            "nic lone infiniband rdma mlx5_3/1", "ip address add 10.7.0.1/24 dev lone", "rail ib0 table=941 device",
            "rail lone table=949 device", "rail ib7 table=947 ifindex=99 device", NULL);
    twice = remembered(kernel, "[interface ib1]\ntable=1500\n", NULL, FALSE);
    assert_string_equal(twice, "ib0=941 ib1=1500! ib7=947");
    without = remembered(kernel, "", "ib1", FALSE);
    assert_string_equal(without, "ib0=941 ib7=947");
    none = remembered(kernel, "", NULL, TRUE);
    assert_string_equal(none, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
