/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a probe: for people, with a summary where peers are many; for monitoring, and for programs. */
#include "probe_world.h"
#include "speaks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static void test_text(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS " 172.16.34.2");
    g_autofree char *text = NULL;

    (void)state;
    pair_at(&world, 3)->route.oif = 2;
    text = report(&world, ibh_report_text, FALSE);
    assert_true(g_str_has_prefix(text, "IFACE  PEERS           REPLIES  MS    STATE\n"
                                       "ib0    172.16.16.1-.2  6/6      1.00  ok\n"
                                       "ib1    172.16.16.1     3/3      1.00  ok\n"
                                       "ib1    172.16.16.2     3/3      1.00  routed-other-nic\n"));
    assert_non_null(
        strstr(text, "\nib1: error routed-other-nic: ib1 to 172.16.16.2: the echo was sent through this NIC, but"));
    assert_non_null(strstr(text, "\nleft out, as addresses of this host: 172.16.34.2\n"));
}

static void test_text_of_rdma(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS RDMA);
    g_autofree char *text = NULL;

    (void)state;
    for (guint i = 0; i < 4; i++)
        pair_at(&world, i)->rdma = i == 0 ? IBH_CAUSE_NONE : i == 2 ? IBH_RDMA_NO_ECHO : IBH_RDMA_NO_DEVICE;
    text = report(&world, ibh_report_text, FALSE);
    assert_non_null(strstr(text, "rdma-no-device; RDMA: no-device\n"));
    assert_non_null(strstr(text, "ok; RDMA: no-echo\n"));
    assert_non_null(strstr(text, "ok; RDMA: answered\n"));
}

static void test_text_of_nothing(void **state)
{
    g_auto(World) world = look(ETH0, "--probe 192.168.1.6");
    g_autofree char *text = report(&world, ibh_report_text, FALSE);

    (void)state;
    assert_non_null(strstr(text, "no rails: no two RDMA NICs share a subnet here"));
}

/* As many as a terminal of 80 columns shows, which breaks what is longer. */
static guint count_lines(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    guint n = 0;

    for (char **line = lines; line[0] && line[1]; line++)
        n += 1 + (guint)(MAX(strlen(*line), 1) - 1) / 80;
    return n;
}

static World look_at_many(guint rails, guint peers, const char *name)
{
    g_autoptr(GString) host = g_string_new(NULL), line = g_string_new("--probe");
    World world;

    for (guint n = 0; n < rails; n++) {
        g_string_append_printf(host, "nic %s%u infiniband rdma mlx5_%u/1\n", name, n, n);
        g_string_append_printf(host, "ip address add 172.16.34.%u/16 dev %s%u\n", n + 1, name, n);
    }
    for (guint n = 0; n < peers; n++)
        g_string_append_printf(line, " 172.16.%u.%u", 16 + n / 200, n % 200 + 1);
    world = look_well(host->str, line->str);
    IBH_EACH_POINTER (const IbhNic, nic, world.probe->nics)
        ((IbhLink *)(guintptr)nic->link)->mtu = 9000;
    return world;
}

static void set_flux(const World *world, IbhProbePair *pair)
{
    for (guint k = 0; k < IBH_PROBE_CLAIMS; k++)
        pair->hop->claims[k].lladdr = pair_at(world, world->probe->nics->len * k)->hop->lladdr;
    pair->hop->n_claims = IBH_PROBE_CLAIMS;
}

static void unplug(const World *world)
{
    for (guint n = 0; n < world->probe->pairs->len; n++)
        pair_at(world, n)->received = 0;
    IBH_EACH_POINTER (const IbhNic, nic, world->probe->nics)
        ((IbhLink *)(guintptr)nic->link)->carrier = FALSE;
}

static void add_proxies(const World *world)
{
    IBH_EACH (const IbhProbeSource, source, world->probe->sources) {
        IbhProbeHop *own = ibh_probe_hop(world->probe, source->nic->link->ifindex, &source->ip);

        own->claims[own->n_claims++] = (IbhProbeClaim){.lladdr = {{MAC(99)}, 6}, .proxy = TRUE};
    }
}

enum { FLUX, RAIL, PEER, PAIR, ASTRAY, UNPLUGGED, PROXY, LARGE, LOSSY, N_FAULTS };

static void break_one(const World *world, int fault)
{
    for (guint n = 0; n < world->probe->pairs->len; n++) {
        IbhProbePair *pair = pair_at(world, n);

        if (fault == FLUX)
            set_flux(world, pair);
        if ((fault == RAIL && pair->source == 3) || (fault == PEER && pair->peer == 5) || (fault == PAIR && n == 34))
            pair->received = 0;
        if (fault == ASTRAY && pair->source == 4)
            pair->route.oif = pair_at(world, 0)->route.oif;
        if (fault == LARGE && pair->peer == 6)
            pair->mtu = (IbhProbeSize){.failed = TRUE, .passed = 1500};
        if (fault == LOSSY && pair->peer == 2 && pair->source == 1)
            pair->received = 1;
    }
    if (fault == UNPLUGGED)
        unplug(world);
    if (fault == PROXY)
        add_proxies(world);
}

/* 8 rails, 8 peers or 256, one fault of any side: a report of one screen, with one finding. */
static void test_one_fault_fits_a_screen(void **state)
{
    static const char *const expected[N_FAULTS] = {
        [FLUX] = "warning peer-flux: 172.16.16.1-.",
        [RAIL] = "ib3: error probe-lost: ib3 to 172.16.16.1-.",
        [PEER] = "error peer-down: 172.16.16.6 to every rail: ",
        [PAIR] = "ib2: error probe-lost: ib2 to 172.16.16.5: ",
        [ASTRAY] = "ib4: error routed-other-nic: ib4 to 172.16.16.1-.",
        [UNPLUGGED] = "error carrier-down: ib0, ib1, ib2, ib3 and 4 more to 172.16.16.1-.",
        [PROXY] = "warning proxy-arp: ",
        [LARGE] = "error path-mtu: 172.16.16.7 to every rail: ",
        [LOSSY] = "ib1: error probe-lost: ib1 to 172.16.16.3: "};

    (void)state;
    for (int i = 0; i < 2 * N_FAULTS; i++) {
        const int fault = i / 2;
        g_auto(World) world = look_at_many(8, i % 2 ? 256 : 8, "ib");
        g_autofree char *text = NULL;

        break_one(&world, fault);
        text = report_on_terminal(&world);
        if (!strstr(text, expected[fault]))
            fail_msg("“%s” is not in: %s", expected[fault], text);
        assert_int_equal(world.probe->findings->len, 1);
        if (count_lines(text) < 10 || count_lines(text) > 24)
            fail_msg("%u lines: %s", count_lines(text), text);
    }
}

/* ---- many peers that differ, whole, in report/ ---- */

static void break_many(const World *world, guint rails)
{
    for (guint n = 0; n < world->probe->pairs->len; n++) {
        IbhProbePair *pair = pair_at(world, n);

        if (pair->peer == 16 || pair->peer == 17 || (pair->peer == 3 && pair->source == rails - 1))
            pair->received = 0;
        if (pair->peer == 5)
            pair->mtu = (IbhProbeSize){.failed = TRUE, .passed = 1500};
        if (pair->peer == 255 && pair->source == 1)
            pair->route.oif = pair_at(world, 0)->route.oif;
    }
}

static const struct {
    const char *file, *nic;
    guint rails, peers;
} summaries[] = {{"screen-probe-many", "ib", 8, 256},
                 {"screen-probe-long-names", "enp196s0f1np", 8, 20},
                 {"screen-probe-20-rails", "ib", 20, 20}};

static void test_summary(void **state)
{
    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(summaries); i++) {
        g_auto(World) world = look_at_many(summaries[i].rails, summaries[i].peers, summaries[i].nic);
        g_autofree char *screen = NULL;

        break_many(&world, summaries[i].rails);
        screen = report_on_terminal(&world);
        check_report_file(summaries[i].file, screen);
        for (const char *c = screen; *c; c++)
            assert_true(*c == '\n' || !g_ascii_iscntrl(*c));
        for (const char *line = screen; g_str_has_prefix(line, summaries[i].nic); line = strchr(line, '\n') + 1)
            assert_in_range(strcspn(line, "\n"), 1, 80);
    }
}

/* Where few peers are asked, or all look the same, or by one rail alone, rows by state say it all. */
static void test_no_summary(void **state)
{
    static const guint sizes[][3] = {{2, 7, 1}, {1, 200, 1}, {8, 256, 0}, {2, 8, 2}};

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_auto(World) world = look_at_many(sizes[i][0], sizes[i][1], "ib");
        g_autofree char *text = NULL;

        for (guint n = 0; n < world.probe->pairs->len && sizes[i][2]; n++) {
            if (sizes[i][2] == 2 ? pair_at(&world, n)->source == 1 : n == 3)
                pair_at(&world, n)->received = 2;
        }
        text = report(&world, ibh_report_text, FALSE);
        assert_false(g_regex_match_simple(" [0-9]+ of [0-9]+ ok\\n", text, G_REGEX_RAW, 0));
    }
}

/* Of hundreds, a line for each rail, and one for each of the worst states. */
static void test_text_of_hundreds(void **state)
{
    g_auto(World) world = look_at_many(2, 200, "ib");
    g_autofree char *text = NULL, *quiet = NULL;

    (void)state;
    pair_at(&world, 21)->received = 2;
    text = report(&world, ibh_report_text, FALSE);
    assert_true(g_str_has_prefix(text, "IFACE  PEERS             REPLIES  MS    STATE\n"
                                       "ib0    172.16.16.1-.200  600/600  1.00  200 of 200 ok\n"
                                       "ib1    172.16.16.1-.200  599/600  1.00  199 of 200 ok\n"
                                       "ib1    172.16.16.11      2/3      1.00  probe-lost\n"
                                       "ib1: error probe-lost"));
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    quiet = report(&world, ibh_report_text, TRUE);
    assert_true(g_str_has_prefix(quiet, "ib1: error probe-lost"));
    assert_null(strstr(quiet, "PEERS"));
}

/* Pairs that were not asked are named. */
static void test_text_of_unasked(void **state)
{
    g_auto(World) world =
        look_well(IDLE, "--probe 172.16.16.1 172.16.16.2 172.16.16.3 172.16.16.5 172.17.0.9 fd00:16::1");
    g_autofree char *text = report(&world, ibh_report_text, FALSE);

    (void)state;
    assert_non_null(strstr(text, "\nib1    172.17.0.9                   0/0      -     not asked: no common subnet\n"));
    assert_non_null(strstr(text,
                           "\nib2    172.17.0.9                   3/3      1.00  ok\n"
                           "ib2    172.16.16.1-.3, 172.16.16.5  0/0      -     not asked: no common subnet\n"
                           "ib2    fd00:16::1                   0/0      -     not asked: no address of its family\n"));
}

/* Pairs that are over are told as ever; the others in one line. */
static void test_text_of_interrupted(void **state)
{
    static const struct {
        guint rails, peers, first, last; /* the pairs that were under way */
        const char *expected;
    } cases[] = {
        {2, 2, 2, 2,
         "IFACE  PEERS           REPLIES  MS    STATE\n"
         "ib0    172.16.16.1     3/3      1.00  ok\n"
         "ib1    172.16.16.1-.2  6/6      1.00  ok\n"
         "interrupted: 1 of 4 pairs have no result; their peers: 172.16.16.2\n"},
        {2, 2, 0, 3, "interrupted: 4 of 4 pairs have no result; their peers: 172.16.16.1-.2\n"},
        {2, 10, 17, 19,
         "IFACE  PEERS           REPLIES  MS    STATE\n"
         "ib0    172.16.16.1-.9  27/27    1.00  8 of 9 ok\n"
         "ib1    172.16.16.1-.8  24/24    1.00  8 of 8 ok\n"
         "ib0    172.16.16.3     3/3      1.00  routed-other-nic\n"
         "interrupted: 3 of 20 pairs have no result; their peers: 172.16.16.9-.10\n"
         "ib0: error routed-other-nic: "},
    };

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(World) world = look_at_many(cases[i].rails, cases[i].peers, "ib");
        g_autofree char *text = NULL, *json = NULL;

        for (guint n = 0; n < world.probe->pairs->len; n++)
            pair_at(&world, n)->step = n >= cases[i].first && n <= cases[i].last ? IBH_STEP_ECHOES : IBH_STEP_GONE;
        if (i == 2)
            pair_at(&world, 4)->route.oif = 99;
        world.probe->interrupted = TRUE;
        ibh_probe_take_out_unfinished(world.probe);
        text = report(&world, ibh_report_text, FALSE);
        if (!g_str_has_prefix(text, cases[i].expected))
            fail_msg("expected: %s\ngot: %s", cases[i].expected, text);
        g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
        json = report(&world, ibh_report_json, FALSE);
        assert_non_null(strstr(json, "\"peer\":\"172.16.16.2\",\"ok\":null,\"reason\":\"interrupted\"}") || i == 2);
    }
}

static void test_prometheus(void **state)
{
    g_auto(World) world = look_well(HOST, "--probe 172.16.16.1 172.16.16.2");
    g_autofree char *text = NULL;

    (void)state;
    pair_at(&world, 1)->received = 0;
    pair_at(&world, 1)->rtt = -1;
    text = report(&world, ibh_report_prometheus, FALSE);
    assert_true(
        g_str_has_prefix(text, "# HELP ib_hook_probe_all_ok Whether nothing is wrong between this host and the peers.\n"
                               "# TYPE ib_hook_probe_all_ok gauge\nib_hook_probe_all_ok 0\n"));
    assert_non_null(strstr(text, "\nib_hook_probe_ok{device=\"ib1\",peer=\"172.16.16.1\",source=\"172.16.34.2\"} 0\n"
                                 "ib_hook_probe_ok{device=\"ib0\",peer=\"172.16.16.2\",source=\"172.16.34.1\"} 1\n"));
    assert_non_null(
        strstr(text, "ib_hook_probe_rtt_seconds{device=\"ib0\",peer=\"172.16.16.1\",source=\"172.16.34.1\"} 0.001\n"
                     "ib_hook_probe_rtt_seconds{device=\"ib0\",peer=\"172.16.16.2\""));
    assert_non_null(
        strstr(text, "\nib_hook_probe_findings{code=\"probe-lost\",device=\"ib1\",severity=\"error\"} 1\n"));
}

static void test_json(void **state)
{
    g_auto(World) world = look_well(HOST, "--probe 172.16.16.1 172.16.34.2 --iface ib0");
    g_autofree char *text = NULL;

    (void)state;
    text = report(&world, ibh_report_json, FALSE);
    assert_string_equal(
        text, "{\"ok\":true,\"pairs\":[{\"iface\":\"ib0\",\"source\":\"172.16.34.1\",\"peer\":\"172.16.16.1\","
              "\"sent\":3,\"received\":3,\"rtt_ms\":1.000,\"route_iface\":\"ib0\",\"reply_iface\":\"ib0\","
              "\"peer_lladdr\":\"02:00:00:00:00:10\",\"reply_lladdr\":null,\"tcp_lladdr\":null,\"arp\":[\"02:00:00:00:"
              "00:10\"],\"path_mtu\":null,"
              "\"rdma\":null,\"problems\":[],\"stage\":null,\"ok\":true}],"
              "\"own\":[\"172.16.34.2\"],\"findings\":[]}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_of_rdma),
        cmocka_unit_test(test_text_of_nothing),
        cmocka_unit_test(test_one_fault_fits_a_screen),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_no_summary),
        cmocka_unit_test(test_text_of_hundreds),
        cmocka_unit_test(test_text_of_unasked),
        cmocka_unit_test(test_text_of_interrupted),
        cmocka_unit_test(test_prometheus),
        cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
