/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fight is noticed, costs only its own unit, and is tried again: later and later. */
#include "watch/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

#define SECOND ((gint64)G_USEC_PER_SEC)

/* Of the NIC with this index: of its IPv4, or (negative) its IPv6; 0: of a NIC that is gone. */
static IbhUnit unit_of(int nic)
{
    return (IbhUnit){nic ? IBH_UNIT_NIC : IBH_UNIT_NONE, nic < 0 ? AF_INET6 : AF_INET, ABS(nic)};
}

static IbhOp set(int nic, int to)
{
    return (IbhOp){
        .type = IBH_OP_SYSCTL_SET, .unit = unit_of(nic), .iface = "ib0", .key = IBH_SYSCTL_ARP_IGNORE, .to = to};
}

/* A rule of this unit, which another process deleted, or not. */
static int add(GArray *backoff, int nic, gboolean was_taken, gint64 now)
{
    const IbhOp op = {.type = IBH_OP_RULE_ADD, .unit = unit_of(nic), .iface = "ib0"};

    return ibh_backoff_note(backoff, &op, was_taken, now);
}

static gboolean is_left(const GArray *backoff, int nic, gint64 now)
{
    const IbhUnit unit = unit_of(nic);

    return ibh_backoff_leaves_alone(backoff, &unit, now);
}

/* Four times nothing, the fifth time it is a fight. Returns the pause. */
static int fight(GArray *backoff, int nic, gint64 now)
{
    for (int i = 0; i < 4; i++)
        assert_int_equal(add(backoff, nic, TRUE, now + i * SECOND / 10), 0);
    return add(backoff, nic, TRUE, now + SECOND / 2);
}

static void test_fight(void **state)
{
    GArray *backoff = ibh_backoff_new();

    (void)state;
    assert_int_equal(ibh_backoff_next(backoff, 0), G_MAXINT64);
    assert_int_equal(fight(backoff, 3, SECOND), 10);
    assert_int_equal(add(backoff, 3, TRUE, SECOND + 3 * SECOND / 4), 0); /* counted anew */
    assert_true(is_left(backoff, 3, 2 * SECOND));
    assert_false(is_left(backoff, 4, 2 * SECOND));
    assert_int_equal(ibh_backoff_next(backoff, 2 * SECOND), SECOND + SECOND / 2 + 10 * SECOND);
    assert_false(is_left(backoff, 3, SECOND + SECOND / 2 + 10 * SECOND));
    assert_int_equal(ibh_backoff_next(backoff, SECOND + SECOND / 2 + 10 * SECOND), G_MAXINT64);
    g_array_unref(backoff);
}

static void test_longer_and_longer(void **state)
{
    static const int PAUSES[] = {10, 20, 40, 80, 160, 320, 600, 600};
    GArray *backoff = ibh_backoff_new();
    gint64 now = SECOND;

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(PAUSES); i++) {
        assert_int_equal(fight(backoff, 3, now), PAUSES[i]);
        now += (PAUSES[i] + 2) * SECOND;
    }
    now += 1198 * SECOND - 1; /* the pause ended two seconds before */
    assert_int_equal(fight(backoff, 3, now), 600);
    assert_int_equal(fight(backoff, 3, now + 1800 * SECOND), 10); /* twenty minutes of peace: forgotten */
    g_array_unref(backoff);
}

/* Once in a while is no fight. Nor is what goes without another process: thousands of addresses that come and go, and
 * nothing is kept of them. */
static void test_no_fight(void **state)
{
    GArray *backoff = ibh_backoff_new();

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(add(backoff, 3, TRUE, (i + 1) * 4 * SECOND), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(add(backoff, 5, FALSE, 500 * SECOND + i), 0);
    assert_int_equal(backoff->len, 1);
    assert_int_equal(add(backoff, 4, TRUE, 9999 * SECOND), 0);
    assert_int_equal(backoff->len, 1); /* the first is forgotten */
    g_array_unref(backoff);
}

/* What one run repairs counts once, whatever it is; so does another thing each time. */
static void test_unit(void **state)
{
    GArray *backoff = ibh_backoff_new();
    IbhOp route = {.type = IBH_OP_ROUTE_ADD, .unit = unit_of(3)}, other = route;

    (void)state;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 100; j++)
            assert_int_equal(add(backoff, 3, TRUE, SECOND + i), 0);
        assert_int_equal(ibh_backoff_note(backoff, &route, TRUE, SECOND + i), 0);
    }
    other.unit = unit_of(-3); /* its IPv6 has nothing to do with it */
    assert_int_equal(ibh_backoff_note(backoff, &other, TRUE, SECOND + 4), 0);
    assert_int_equal(ibh_backoff_note(backoff, &route, TRUE, SECOND + 4), 10);
    assert_true(is_left(backoff, 3, 2 * SECOND));
    assert_false(is_left(backoff, -3, 2 * SECOND));
    g_array_unref(backoff);
}

/* Five in ten seconds are one; in a microsecond more they are none. */
static void test_just_a_fight(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        GArray *backoff = ibh_backoff_new();

        for (int i = 0; i < 4; i++)
            assert_int_equal(add(backoff, 3, TRUE, SECOND + i), 0);
        assert_int_equal(add(backoff, 3, TRUE, 11 * SECOND + late), late ? 0 : 10);
        g_array_unref(backoff);
    }
}

/* What belongs to nobody cannot be left alone. */
static void test_no_unit(void **state)
{
    GArray *backoff = ibh_backoff_new();

    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(add(backoff, 0, TRUE, SECOND + i), 0);
    g_array_unref(backoff);
}

/* Our own changes there and back, as a NIC goes down and comes up, are none; the same value again is one. */
static void test_sysctls(void **state)
{
    GArray *backoff = ibh_backoff_new();
    IbhOp up = set(3, 2), down = set(3, 0), other = set(3, 2);

    (void)state;
    other.key = IBH_SYSCTL_ARP_ANNOUNCE;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ibh_backoff_note(backoff, &up, FALSE, SECOND + 2 * i), 0);
        assert_int_equal(ibh_backoff_note(backoff, &down, FALSE, SECOND + 2 * i + 1), 0);
    }
    assert_int_equal(ibh_backoff_note(backoff, &up, FALSE, 50 * SECOND), 0);
    assert_int_equal(ibh_backoff_note(backoff, &other, FALSE, 50 * SECOND), 0);
    for (int i = 1; i < 5; i++)
        assert_int_equal(ibh_backoff_note(backoff, &up, FALSE, 50 * SECOND + i), 0);
    ibh_backoff_forgive(backoff, 3); /* its address was away: a hook's value, perhaps */
    ibh_backoff_forgive(backoff, 4);
    assert_int_equal(ibh_backoff_note(backoff, &up, FALSE, 50 * SECOND + 5), 0);
    assert_int_equal(ibh_backoff_note(backoff, &up, FALSE, 50 * SECOND + 6), 10);
    down.unit = unit_of(5); /* of a NIC that was not heard of, the first value is not the same again, nor is 0 */
    for (int i = 0; i < 5; i++)
        assert_int_equal(ibh_backoff_note(backoff, &down, FALSE, 50 * SECOND + i), 0);
    assert_int_equal(ibh_backoff_note(backoff, &down, FALSE, 50 * SECOND + 5), 10);
    g_array_unref(backoff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fight),   cmocka_unit_test(test_longer_and_longer), cmocka_unit_test(test_no_fight),
        cmocka_unit_test(test_unit),    cmocka_unit_test(test_just_a_fight),      cmocka_unit_test(test_no_unit),
        cmocka_unit_test(test_sysctls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
