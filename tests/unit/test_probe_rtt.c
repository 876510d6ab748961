/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/rtt.h"
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static void test_unseen_loss(void **state)
{
    (void)state;
    assert_int_equal(ibh_probe_unseen_loss(1), 950);
    assert_int_equal(ibh_probe_unseen_loss(3), 632); /* 1 - 0.05^(1/3) */
    assert_int_equal(ibh_probe_unseen_loss(100), 30);
    assert_int_equal(ibh_probe_unseen_loss(1000000), 1);
}

static void set_times(const World *world, const gint64 *times)
{
    for (guint i = 0; i < world->probe->pairs->len; i++)
        pair_at(world, i)->rtt = times[i];
}

static void check_times(const char *line, const gint64 *times, const char *expected, const char *part)
{
    g_auto(World) world = look_well(HOST, line);

    set_times(&world, times);
    check_verdict(&world, expected, 0);
    if (part)
        check_message(&world, 0, part);
}

#define FOUR_PEERS TWO_PEERS " 172.16.16.3 172.16.16.4"

static void test_outliers(void **state)
{
    (void)state;
    /* ib0 and ib1 to each peer */
    check_times(
        TWO_PEERS, (const gint64[]){30, 95000, 31, 95500}, "ib1 info rtt-outlier",
        "2 of 2 peers: 172.16.16.1, 172.16.16.2; round trips take 95.00 to 95.50 ms, where others take 0.03 ms");
    check_times(FOUR_PEERS, (const gint64[]){30, 31, 9000, 9500, 30, 30, 30, 30}, "info rtt-outlier",
                "1 of 4 peers answer late to all rails: 172.16.16.2 (9.00 ms); others take 0.03 ms");
    check_times(FOUR_PEERS, (const gint64[]){30, 31, 9000, 9500, 30, 5000, 30, 30},
                "info rtt-outlier, ib1 info rtt-outlier", NULL);
    check_times(FOUR_PEERS, (const gint64[]){30, 31, 30, 30, 30, 5000, 30, 30}, "ib1 info rtt-outlier",
                "1 of 4 peers: 172.16.16.3; round trips take 5.00 to 5.00 ms");
}

/* Small numbers differ by chance, and nobody is alone with a large one. */
static void test_no_outliers(void **state)
{
    (void)state;
    check_times(TWO_PEERS, (const gint64[]){30, 900, 30, 1000}, "", NULL);
    check_times(TWO_PEERS, (const gint64[]){5000, 90000, 5100, 99000}, "", NULL);
    check_times("--probe 172.16.16.1 --iface ib0", (const gint64[]){95000}, "", NULL);
    check_times(TWO_PEERS " 192.0.2.1", (const gint64[]){30, 30, 30, 30, 95000, 95000}, "", NULL); /* far away */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unseen_loss),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_no_outliers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
