/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fight is noticed, costs only its own unit, and is tried again: later and later. */
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND ((gint64)G_USEC_PER_SEC)

static IbhOp set(int unit, int to)
{
    return (IbhOp){.type = IBH_OP_SYSCTL_SET, .unit = unit, .iface = "ib0", .key = IBH_SYSCTL_ARP_IGNORE, .to = to};
}

static int note(GHashTable *backoff, int unit, int to, gint64 now)
{
    const IbhOp op = set(unit, to);

    return ibh_backoff_note(backoff, &op, TRUE, now);
}

static gint64 next_of(GHashTable *backoff, gint64 now)
{
    return ibh_backoff_units(backoff, now, NULL);
}

static gboolean is_left(GHashTable *backoff, int unit, gint64 now)
{
    g_autoptr(GArray) units = g_array_new(FALSE, FALSE, sizeof(int));

    (void)ibh_backoff_units(backoff, now, units);
    for (guint i = 0; i < units->len; i++) {
        if (g_array_index(units, int, i) == unit)
            return TRUE;
    }
    return FALSE;
}

/* Four times nothing, the fifth time it is a fight. Returns the pause. */
static int fight(GHashTable *backoff, int unit, gint64 now)
{
    for (int i = 0; i < 4; i++)
        assert_int_equal(note(backoff, unit, 1, now + i * SECOND / 10), 0);
    return note(backoff, unit, 1, now + SECOND / 2);
}

static void test_fight(void **state)
{
    GHashTable *backoff = ibh_backoff_new();

    (void)state;
    assert_int_equal(next_of(backoff, 0), G_MAXINT64);
    assert_int_equal(fight(backoff, 3, SECOND), 10);
    assert_int_equal(note(backoff, 3, 1, SECOND + SECOND / 2), 0); /* counted anew */
    assert_true(is_left(backoff, 3, 2 * SECOND));
    assert_false(is_left(backoff, 4, 2 * SECOND));
    assert_int_equal(next_of(backoff, 2 * SECOND), SECOND + SECOND / 2 + 10 * SECOND);
    assert_false(is_left(backoff, 3, SECOND + SECOND / 2 + 10 * SECOND));
    assert_int_equal(next_of(backoff, SECOND + SECOND / 2 + 10 * SECOND), G_MAXINT64);
    g_hash_table_unref(backoff);
}

static void test_longer_and_longer(void **state)
{
    static const int PAUSES[] = {10, 20, 40, 80, 160, 320, 600, 600};
    GHashTable *backoff = ibh_backoff_new();
    gint64 now = SECOND;

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(PAUSES); i++) {
        assert_int_equal(fight(backoff, 3, now), PAUSES[i]);
        now += (PAUSES[i] + 2) * SECOND;
    }
    now += 1198 * SECOND - 1; /* the pause ended two seconds before */
    assert_int_equal(fight(backoff, 3, now), 600);
    assert_int_equal(fight(backoff, 3, now + 1800 * SECOND), 10); /* twenty minutes of peace: forgotten */
    g_hash_table_unref(backoff);
}

/* Once in a while, or another change each time, is no fight. */
static void test_no_fight(void **state)
{
    GHashTable *backoff = ibh_backoff_new();
    IbhOp other = set(3, 1);

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(note(backoff, 3, 1, (i + 1) * 4 * SECOND), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(note(backoff, 3, i, 1000 * SECOND + i), 0);
    other.key = IBH_SYSCTL_ARP_ANNOUNCE;
    assert_int_equal(ibh_backoff_note(backoff, &other, TRUE, 9999 * SECOND), 0);
    assert_int_equal(g_hash_table_size(backoff), 1); /* the first is forgotten */
    g_hash_table_unref(backoff);
}

/* Five in ten seconds are one; in a microsecond more they are none. */
static void test_just_a_fight(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        GHashTable *backoff = ibh_backoff_new();

        for (int i = 0; i < 4; i++)
            assert_int_equal(note(backoff, 3, 1, SECOND + i), 0);
        assert_int_equal(note(backoff, 3, 1, 11 * SECOND + late), late ? 0 : 10);
        g_hash_table_unref(backoff);
    }
}

/* Announcements repeat what is right; what belongs to nobody cannot be left alone. */
static void test_what_does_not_count(void **state)
{
    GHashTable *backoff = ibh_backoff_new();
    IbhOp announce = {.type = IBH_OP_ANNOUNCE, .unit = 3, .ip = {.family = 2}};

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ibh_backoff_note(backoff, &announce, TRUE, SECOND), 0);
        assert_int_equal(note(backoff, 0, 1, SECOND), 0);
    }
    g_hash_table_unref(backoff);
}

/* Our own changes there and back, as a NIC goes down and comes up, are none; another program's in between are one. */
static void test_own_changes(void **state)
{
    GHashTable *backoff = ibh_backoff_new();
    IbhOp up = set(3, 2), down = set(3, 0);

    (void)state;
    down.from = 2;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ibh_backoff_note(backoff, &up, TRUE, SECOND + 2 * i), 0);
        assert_int_equal(ibh_backoff_note(backoff, &down, i % 2 == 0, SECOND + 2 * i + 1), 0); /* or a hook's */
    }
    up.from = 1;
    for (int i = 0; i < 4; i++)
        assert_int_equal(ibh_backoff_note(backoff, &up, TRUE, 50 * SECOND + i), 0);
    assert_int_equal(ibh_backoff_note(backoff, &up, TRUE, 50 * SECOND + 4), 10);
    g_hash_table_unref(backoff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fight),        cmocka_unit_test(test_longer_and_longer),
        cmocka_unit_test(test_no_fight),     cmocka_unit_test(test_own_changes),
        cmocka_unit_test(test_just_a_fight), cmocka_unit_test(test_what_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
