/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/window.h"
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static IbhProbePair *pair_of(const IbhProbeWindow *window, guint i)
{
    return ibh_probe_pair(window->probe, i);
}

/* ---- the schedule -------------------------------------------------------------------------------------- */

/* Sends what is due for so long, answers what `answered` says; returns how many were sent. */
static guint slide(IbhProbeWindow *window, gint64 *now, gint64 until, gboolean answered)
{
    guint sent = 0;
    IbhProbeSlot slot;

    for (; *now < until; *now += IBH_PROBE_SPACING) {
        if (!ibh_probe_window_next(window, *now, &slot) || slot.due > *now)
            continue;
        ibh_probe_sent(window->probe, slot.pair, slot.number, *now);
        ibh_probe_window_take(window, &slot, *now);
        pair_of(window, slot.pair)->received += answered ? 1 : 0;
        sent++;
    }
    return sent;
}

static guint collect(IbhProbeWindow *window, gint64 now)
{
    g_autoptr(GArray) over = g_array_new(FALSE, FALSE, sizeof(guint));

    ibh_probe_window_collect(window, now, over);
    for (guint i = 0; i < over->len; i++)
        ibh_probe_window_release(window, g_array_index(over, guint, i));
    return over->len;
}

/* All fit: each pair's echoes are an interval apart, and all are over once they are answered. */
static void test_window(void **state)
{
    g_auto(World) world = look(HOST, "--probe 172.16.16.1 172.16.16.2 --count 5");
    g_auto(IbhProbeWindow) window = {0};
    gint64 now = 1000000;

    (void)state;
    ibh_probe_window_init(&window, world.probe);
    world.probe->interval = 50000;
    window.room[0] = 4;
    assert_int_equal(slide(&window, &now, 1040000, TRUE), 4);
    assert_int_equal(collect(&window, now), 0);
    assert_int_equal(slide(&window, &now, 1400000, TRUE), 16);
    for (guint i = 0; i < 4; i++) {
        for (guint n = 1; n < 5; n++)
            assert_in_range(ibh_probe_echo(world.probe, i, n)->sent_at - ibh_probe_echo(world.probe, i, n - 1)->sent_at,
                            50000, 51000);
    }
    assert_false(ibh_probe_window_is_done(&window));
    assert_int_equal(collect(&window, now), 4);
    assert_int_equal(collect(&window, now), 0);
    assert_true(ibh_probe_window_is_done(&window));
}

/* There is room for fewer: others follow when these are over, and were released. */
static void test_window_slides(void **state)
{
    g_auto(World) world = look(HOST, "--probe 172.16.16.1 172.16.16.2 172.16.16.3 --count 1");
    g_auto(IbhProbeWindow) window = {0};
    gint64 now = 1000000;
    IbhProbeSlot slot;

    (void)state;
    ibh_probe_window_init(&window, world.probe);
    window.room[0] = 2;
    assert_int_equal(slide(&window, &now, 1100000, FALSE), 2);
    assert_false(ibh_probe_window_next(&window, now, &slot));
    assert_int_equal(collect(&window, now), 0); /* not answered, not yet given up */
    pair_at(&world, 1)->received = 1;
    assert_int_equal(collect(&window, now), 1);
    assert_false(ibh_probe_window_next(&window, now, &slot)); /* its entry is gone: but is there room? */
    window.room[0] = 1;
    assert_int_equal(slide(&window, &now, 1200000, TRUE), 1);
    assert_int_equal(collect(&window, 2000000), 2);           /* the first is given up */
    assert_int_equal(slide(&window, &now, 2100000, TRUE), 1); /* without any room one after the other */
    assert_false(ibh_probe_window_next(&window, now, &slot));
    assert_int_equal(collect(&window, now), 1);
    assert_true(ibh_probe_window_next(&window, now, &slot));
    assert_int_equal(slot.pair, 4);
    assert_false(ibh_probe_window_is_done(&window));
}

/* What takes no entry of ours needs no room: a gateway's peers, and what the table knew before. */
static void test_window_without_entries(void **state)
{
    g_auto(World) world = look(HOST, "--probe 192.0.2.1 192.0.2.2 172.16.16.1 172.16.16.2 --count 1");
    g_auto(IbhProbeWindow) window = {0};
    gint64 now = 1000000;

    (void)state;
    pair_at(&world, 4)->known_before = pair_at(&world, 5)->known_before = TRUE;
    ibh_probe_window_init(&window, world.probe);
    assert_int_equal(slide(&window, &now, 1100000, TRUE), 7);
}

static void check_room(guint limit, guint spared, guint used, guint expected)
{
    const IbhNeighbourTable table = {.limit = limit, .spared = spared, .used = used};

    assert_int_equal(ibh_probe_room(&table), expected);
}

static void test_room(void **state)
{
    (void)state;
    check_room(1024, 512, 12, 500);
    check_room(1024, 512, 600, 212); /* beyond it the kernel looks for old ones: half of what is free */
    check_room(1024, 512, 1024, 0);
    check_room(1024, 512, 5000, 0);
    check_room(64, 0, 4, 28);
    check_room(100, 200, 4, 46);
    check_room(0, 0, 0, 512); /* the kernel's default is 1024 */
}

static void check_wave(IbhProbe *probe, guint first, guint room4, guint room6, guint expected)
{
    const guint room[2] = {room4, room6};

    assert_int_equal(ibh_probe_wave(probe, first, room), expected);
}

static void test_waves(void **state)
{
    g_auto(World) world =
        look(HOST6, "--probe 172.16.16.1 172.16.16.2 172.16.16.3 172.16.16.4 fd00:16::1 fd00:16::2 fd00:16::3");
    IbhProbe *probe = world.probe;

    (void)state;
    check_wave(probe, 0, 100, 100, 14);
    check_wave(probe, 5, 100, 100, 9);
    check_wave(probe, 0, 7, 100, 7);
    check_wave(probe, 0, 100, 2, 10);
    check_wave(probe, 0, 0, 0, 1); /* one at a time */
    pair_at(&world, 1)->known_before = TRUE;
    check_wave(probe, 0, 3, 100, 4);
}

/* What goes through a gateway needs the gateway's entry only. */
static void test_waves_through_a_gateway(void **state)
{
    g_auto(World) world = look(HOST, "--probe 192.0.2.1 192.0.2.2 192.0.2.3");

    (void)state;
    check_wave(world.probe, 0, 1, 0, 6);
}

/* ---- a signal ------------------------------------------------------------------------------------------ */

/* What nothing was sent to is put aside, and said; what could still have been answered is not lost. */
static void test_interruption(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS " --count 3");
    g_autofree char *text = NULL, *json = NULL;

    (void)state;
    pair_at(&world, 1)->sent = 3;
    pair_at(&world, 1)->received = 2; /* the third is on its way */
    ibh_probe_echo(world.probe, 1, 2)->received = FALSE;
    for (guint n = 0; n < 3; n++)
        *ibh_probe_echo(world.probe, 2, n) = (IbhProbeEcho){.sent = FALSE};
    pair_at(&world, 2)->sent = pair_at(&world, 2)->received = 0;
    ibh_probe_interrupt(world.probe, 1500000);
    assert_int_equal(world.probe->pairs->len, 3);
    check_verdict(&world, "info interrupted", 0);
    check_message(&world, 0, "1 of 4 pairs were not asked");
    assert_int_equal(pair_at(&world, 1)->sent, 2);
    assert_int_equal(pair_at(&world, 2)->peer, 1); /* the fourth */
    assert_string_equal(ibh_probe_why_unasked(world.probe, g_ptr_array_index(world.probe->nics, 0), 1), "interrupted");
    text = report(&world, ibh_write_text, FALSE);
    assert_non_null(strstr(text, "not asked: ib0 to 172.16.16.2 (interrupted)"));
    json = report(&world, ibh_write_json, FALSE);
    assert_non_null(
        strstr(json, ",{\"iface\":\"ib0\",\"peer\":\"172.16.16.2\",\"ok\":null,\"reason\":\"interrupted\"}]"));
}

/* What is known to be lost by then stays so. */
static void test_interruption_after_a_loss(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS " --count 3");

    (void)state;
    pair_at(&world, 1)->received = 2;
    ibh_probe_echo(world.probe, 1, 2)->received = ibh_probe_echo(world.probe, 1, 2)->seen = FALSE;
    ibh_probe_interrupt(world.probe, 2500000);
    check_verdict(&world, "ib1 error probe-lost, info interrupted", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_window_slides),
        cmocka_unit_test(test_window_without_entries),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_waves),
        cmocka_unit_test(test_waves_through_a_gateway),
        cmocka_unit_test(test_interruption),
        cmocka_unit_test(test_interruption_after_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
