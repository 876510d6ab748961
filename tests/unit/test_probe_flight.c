/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which packet is sent next, and when; and how long packets may be. */
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#define START 1000000

/* What is sent goes here, and is answered as the world says. */
typedef struct {
    World world;
    IbhFlight flight;
    gint64 now;
    guint sent[IBH_N_ASKS];
    guint wire;     /* the longest packet that comes through */
    guint answered; /* pairs before it */
    gboolean mute;  /* no question for a hardware address can be sent */
} Sky;

static void sky_clear(Sky *sky)
{
    world_clear(&sky->world);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sky, sky_clear)

static void sky_init(Sky *sky, const char *line, int mtu)
{
    *sky = (Sky){.world = look(HOST6, line), .now = START, .wire = IBH_PROBE_SIZE_MAX, .answered = G_MAXUINT};
    for (guint i = 0; i < sky->world.probe->pairs->len; i++)
        ((IbhLink *)(guintptr)ibh_probe_link(pair_at(&sky->world, i)))->mtu = mtu;
    sky->flight = (IbhFlight){.probe = sky->world.probe};
    sky->flight.room[0] = sky->flight.room[1] = 100;
}

static void send_shot(Sky *sky, const IbhShot *shot)
{
    IbhProbe *probe = sky->world.probe;
    const guint pair = (guint)(shot->pair - ibh_probe_pair(probe, 0));
    const guint number = shot->number;
    g_autofree guint8 *bytes = g_malloc(IBH_PROBE_SIZE_MAX);
    IbhPacket reply = reply_to(&sky->world, pair, shot->ask < IBH_ASK_SYN ? number : 0, bytes);

    sky->sent[shot->ask]++;
    if (shot->ask == IBH_ASK_ECHO)
        ibh_probe_note_sent(shot->pair, number, sky->now);
    if (shot->ask == IBH_ASK_SYN)
        shot->pair->syn = IBH_SYN_ANSWERED;
    ibh_flight_note_sent(&sky->flight, shot, sky->now, !sky->mute || shot->ask != IBH_ASK_WHO);
    if (sky->mute && shot->ask == IBH_ASK_WHO)
        return;
    if (shot->ask == IBH_ASK_WHO && pair < sky->answered)
        claim(&sky->world, pair, (IbhLladdr){{MAC(16)}, 6}, 1);
    if (pair >= sky->answered || (shot->ask == IBH_ASK_SIZE && (number & ~IBH_PROBE_SIZED) > sky->wire))
        return;
    reply.length = ibh_probe_write_echo(shot->pair, shot->ask < IBH_ASK_SYN ? number : 0, bytes);
    bytes[0] = reply.from.family == AF_INET6 ? 129 : 0;
    if (shot->ask < IBH_ASK_SYN)
        assert_true(ibh_probe_take_reply(probe, &reply, sky->now));
}

/* One packet at a time, until then, or until nothing is left. `ends`: entries are deleted as pairs finish. */
static void fly(Sky *sky, gint64 until, gboolean ends)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(IbhNeighbour));

    while (sky->now < until && sky->flight.gone < sky->world.probe->pairs->len) {
        gint64 due;
        IbhShot shot;

        if (ibh_flight_next(&sky->flight, sky->now, &shot, &due))
            send_shot(sky, &shot);
        ibh_probe_learn(sky->world.probe, none);
        for (guint i = sky->flight.gone; ends && i < sky->flight.begun; i++) {
            if (pair_at(&sky->world, i)->step == IBH_STEP_FINISHED)
                ibh_flight_end(&sky->flight, pair_at(&sky->world, i));
        }
        sky->now += IBH_PROBE_SPACING;
    }
}

/* ---- the schedule -------------------------------------------------------------------------------------- */

/* All fit: each pair's echoes are an interval apart; where all are answered, nothing waits for a time-out, but for
 * other hosts that answer ARP. */
static void test_all_at_once(void **state)
{
    g_auto(Sky) sky = {0};

    (void)state;
    sky_init(&sky, "--probe 172.16.16.1 172.16.16.2 fd00:16::1 --count 5", 9000);
    fly(&sky, START + 100 * G_USEC_PER_SEC, TRUE);
    assert_in_range(sky.now - START, 4 * IBH_PROBE_INTERVAL, 4 * IBH_PROBE_INTERVAL + G_USEC_PER_SEC * 3 / 10);
    assert_int_equal(sky.sent[IBH_ASK_ECHO], 30);
    assert_int_equal(sky.sent[IBH_ASK_SIZE], 6);
    assert_int_equal(sky.sent[IBH_ASK_SYN], 2); /* of IPv6 */
    assert_int_equal(sky.sent[IBH_ASK_WHO], 4); /* of IPv4 */
    for (guint i = 0; i < 6; i++) {
        for (guint n = 1; n < 5; n++)
            assert_in_range(pair_at(&sky.world, i)->echoes[n].sent_at - pair_at(&sky.world, i)->echoes[n - 1].sent_at,
                            IBH_PROBE_INTERVAL, IBH_PROBE_INTERVAL + 10000);
    }
}

/* A question that could not be sent does not count: no answer to it is missing. */
static void test_mute(void **state)
{
    g_auto(Sky) sky = {0};

    (void)state;
    sky_init(&sky, "--probe 172.16.16.1", 9000);
    sky.mute = TRUE;
    fly(&sky, START + 100 * G_USEC_PER_SEC, TRUE);
    assert_in_range(sky.sent[IBH_ASK_WHO], 2, 4);
    assert_int_equal(pair_at(&sky.world, 0)->received, 3);
    assert_int_equal(pair_at(&sky.world, 0)->hop->questions, 0);
}

/* There is room for fewer: others follow when these are finished, and their entries gone. */
static void test_window(void **state)
{
    g_auto(Sky) sky = {0};

    (void)state;
    sky_init(&sky, "--probe 172.16.16.1 172.16.16.2 172.16.16.3 --count 1", 1280);
    sky.flight.room[0] = 2;
    fly(&sky, START + G_USEC_PER_SEC, FALSE);
    assert_int_equal(sky.sent[IBH_ASK_ECHO], 2);
    assert_int_equal(pair_at(&sky.world, 0)->step, IBH_STEP_FINISHED);
    assert_true(sky.flight.settled);
    sky.flight.room[0] = 0;
    fly(&sky, sky.now + 1000, TRUE); /* the entries are gone: without room, one after the other */
    assert_int_equal(sky.sent[IBH_ASK_ECHO], 3);
    sky.flight.room[0] = 2;
    fly(&sky, sky.now + 1000, TRUE);
    assert_int_equal(sky.sent[IBH_ASK_ECHO], 4);
    fly(&sky, START + 100 * G_USEC_PER_SEC, TRUE);
    assert_int_equal(sky.sent[IBH_ASK_ECHO], 6);
}

static void find_entry(const Sky *sky, guint i)
{
    const IbhNeighbour entry = {.ifindex = ibh_probe_link(pair_at(&sky->world, i))->ifindex,
                                .ip = *ibh_probe_peer(pair_at(&sky->world, i))};
    g_autoptr(GArray) entries = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));

    g_array_append_val(entries, entry);
    ibh_probe_learn(sky->world.probe, entries);
}

/* What takes no entry of ours needs no room: a gateway's peers, and what the table knew before the pair's turn. */
static void test_window_without_entries(void **state)
{
    g_auto(Sky) sky = {0};

    (void)state;
    sky_init(&sky, "--probe 192.0.2.1 192.0.2.2 172.16.16.1 172.16.16.2 --count 1", 1280);
    find_entry(&sky, 4);
    find_entry(&sky, 5);
    sky.flight.room[0] = 0;
    fly(&sky, START + 10000, FALSE);
    assert_int_equal(sky.sent[IBH_ASK_ECHO], 7);
    find_entry(&sky, 6); /* by its own echo: it is ours, and deleted */
    find_entry(&sky, 7); /* whose turn has not come: another program's */
    assert_true(ibh_probe_adds_entry(pair_at(&sky.world, 6)));
    assert_false(ibh_probe_adds_entry(pair_at(&sky.world, 7)));
}

/* Nothing but who it is, is asked of a peer that is silent; a little longer where the kernel asked for nothing. */
static void test_silence(void **state)
{
    g_auto(Sky) sky = {0};

    (void)state;
    sky_init(&sky, "--probe 172.16.16.1 fd00:16::1 --count 2", 9000);
    sky.answered = 0;
    sky.world.probe->hears = TRUE;
    for (guint i = 1; i < 4; i++)
        pair_at(&sky.world, i)->hop->kernel_asked = TRUE;
    fly(&sky, START + 100 * G_USEC_PER_SEC, TRUE);
    assert_int_equal(sky.sent[IBH_ASK_SIZE] + sky.sent[IBH_ASK_SYN], 0);
    assert_int_equal(sky.sent[IBH_ASK_WHO], 8); /* each twice: one question may get lost */
    assert_in_range(sky.now - START, 1800000, 1820000);
}

static void check_room(guint limit, guint used, guint expected)
{
    const IbhNeighbourTable table = {.limit = limit, .used = used};

    assert_int_equal(ibh_probe_room(&table), expected);
}

static void test_room(void **state)
{
    (void)state;
    check_room(1024, 12, 500);
    check_room(1024, 600, 212); /* beyond half of it the kernel looks for old ones: half of what is free */
    check_room(1024, 5000, 0);
    check_room(64, 4, 28);
    check_room(0, 0, 0);
}

/* Three fresh requests, and no answer; a process that does not even say that it begins; no sign of life. */
static void test_rdma(void **state)
{
    g_auto(Sky) sky = {0};

    (void)state;
    sky_init(&sky, "--probe 172.16.16.1 172.16.16.2 --count 1 --rdma", 1280);
    sky.answered = 3;
    pair_at(&sky.world, 0)->rdma = IBH_RDMA_SILENT;
    pair_at(&sky.world, 2)->rdma = IBH_CAUSE_NONE;
    fly(&sky, START + 100 * G_USEC_PER_SEC, TRUE);
    assert_int_equal(sky.sent[IBH_ASK_RDMA], 6);
    assert_in_range(sky.now - START, 3 * G_USEC_PER_SEC, 3 * G_USEC_PER_SEC + 50000);
    assert_int_equal(pair_at(&sky.world, 0)->rdma, IBH_RDMA_SILENT);
    assert_int_equal(pair_at(&sky.world, 1)->rdma, IBH_RDMA_BLOCKED);
    assert_int_equal(pair_at(&sky.world, 2)->rdma, IBH_CAUSE_NONE);
    assert_int_equal(pair_at(&sky.world, 3)->rdma, IBH_RDMA_NO_ECHO);
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

/* The largest of the usual sizes that the wire carries. */
static void test_usual_wires(void **state)
{
    static const guint wires[][2] = {{9000, 9000}, {1500, 1500}, {2044, 2044}, {1723, 1500}, {8999, 8192}, {600, 576}};

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(wires); i++) {
        g_auto(Sky) sky = {0};

        sky_init(&sky, "--probe 172.16.16.1 --iface ib0 --count 1", 9000);
        sky.wire = wires[i][0];
        fly(&sky, START + 100 * G_USEC_PER_SEC, TRUE);
        assert_int_equal(pair_at(&sky.world, 0)->mtu.passed, wires[i][1]);
        assert_int_equal(pair_at(&sky.world, 0)->mtu.failed, wires[i][1] != 9000);
    }
}

/* One lost packet of full size is no smaller MTU; nor is one that cannot be sent. */
static void test_one_is_lost(void **state)
{
    g_auto(Sky) sky = {0};

    (void)state;
    sky_init(&sky, "--probe 172.16.16.1 --iface ib0 --count 1", 9000);
    sky.wire = 1500;
    fly(&sky, START + G_USEC_PER_SEC / 2, TRUE);
    sky.wire = 9000;
    fly(&sky, START + 100 * G_USEC_PER_SEC, TRUE);
    assert_int_equal(pair_at(&sky.world, 0)->mtu.passed, 9000);
    assert_in_range(sky.sent[IBH_ASK_SIZE], 2, 2);
}

/* All is well with small echoes; these pairs get no more through. */
static World look_at(const char *line, const guint passed[4])
{
    World world = look_well(HOST6, line);

    for (guint i = 0; i < 4; i++) {
        ((IbhLink *)(guintptr)ibh_probe_link(pair_at(&world, i)))->mtu = 9000;
        pair_at(&world, i)->mtu.passed = passed[i];
        pair_at(&world, i)->mtu.failed = TRUE;
    }
    return world;
}

static void test_verdicts_on_size(void **state)
{
    g_auto(World) black_hole = look_at(TWO_PEERS, (const guint[]){9000, 9000, 1500, 1500});
    g_auto(World) two = look_at(TWO_PEERS, (const guint[]){1500, 4092, 9000, 9000});
    g_auto(World) lost = look_at(TWO_PEERS, (const guint[]){1500, 9000, 9000, 9000});

    (void)state;
    check_verdict(&black_hole, "error path-mtu", 2);
    check_message(&black_hole, 0, "172.16.16.2 to every rail: packets of 1500 bytes come");
    check_verdict(&two, "ib0 error path-mtu, ib1 error path-mtu", 2);
    pair_at(&lost, 0)->received = 1; /* small echoes are lost as well: that is no matter of size */
    check_verdict(&lost, "ib0 error probe-lost", 1);
}

/* A host reports that an echo of the pair, which it quotes, is too long. */
static void refuse(const World *world, guint i, guint limit)
{
    /* the type; the quoted source and destination; checksum, id and sequence number of the quoted echo */
    static const guint matter[] = {20, 40, 44, 50, 51, 52, 53, 54, 55};
    static const guint8 stranger[] = {MAC(99)};
    const Frame echo = echo_frame(world, i, 0, OUT);
    Frame frame = echo;

    frame.length = 20 + 8 + 20 + 8;
    ibh_put16(frame.bytes + 2, (guint)frame.length);
    memcpy(frame.bytes + 12, (const guint8[]){172, 16, 16, 9}, 4);
    memcpy(frame.bytes + 16, echo.bytes + 12, 4);
    memset(frame.bytes + 20, 0, 8);
    frame.bytes[20] = 3;
    frame.bytes[21] = 4;
    ibh_put16(frame.bytes + 26, limit);
    memcpy(frame.bytes + 28, echo.bytes, 28);
    for (guint n = 0; n < G_N_ELEMENTS(matter); n++) {
        Frame wrong = frame;

        wrong.bytes[matter[n]] ^= 0x20;
        pass(world, i, wrong, IN);
    }
    if (pair_at(world, i)->hop) { /* a right quote from a host that is not the next hop, which cannot know it */
        frame.sender = stranger;
        pass(world, i, frame, IN);
        frame.sender = pair_at(world, i)->hop->claims[0].lladdr.bytes;
    }
    for (Frame part = frame; --part.length;)
        pass(world, i, part, IN);
    assert_int_equal(pair_at(world, i)->mtu.limit, 0);
    pass(world, i, frame, IN);
}

/* On the same wire nobody may say so; beyond a router it is as it is. */
static void test_refused(void **state)
{
    g_auto(World) world = look_at("--probe 172.16.16.1 192.0.2.1", (const guint[]){1400, 1400, 1400, 1400});

    (void)state;
    for (guint i = 0; i < 4; i++)
        refuse(&world, i, 1400);
    assert_int_equal(pair_at(&world, 0)->mtu.limit, 1400);
    check_verdict(&world, "error path-mtu, info path-mtu", 2);
    check_message(
        &world, 1,
        "packets of 1400 bytes come through, but not those of 9000 bytes, which the rail's MTU allows: 172.16.16.9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_at_once), cmocka_unit_test(test_mute),
        cmocka_unit_test(test_window),      cmocka_unit_test(test_window_without_entries),
        cmocka_unit_test(test_silence),     cmocka_unit_test(test_room),
        cmocka_unit_test(test_rdma),        cmocka_unit_test(test_usual_wires),
        cmocka_unit_test(test_one_is_lost), cmocka_unit_test(test_verdicts_on_size),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
