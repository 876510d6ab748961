/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#define RDMA " --rdma"

static void take(World *world, guint pair, IbhRdmaOutcome outcome, IbhRdmaStep step, int error)
{
    assert_true(ibh_probe_take_rdma(world->probe, pair,
                                    &(const IbhRdmaAnswer){.outcome = outcome, .step = step, .error = error}));
}

/* All is well, by RDMA too but for these pairs, which are left to the test. */
static World look_but(const char *line, guint first, guint last)
{
    World world = look_well(HOST, line);

    for (guint i = 0; i < world.probe->pairs->len; i++) {
        if (i < first || i > last)
            take(&world, i, IBH_RDMA_ANSWERED, IBH_RDMA_AT_PEER, 0);
    }
    return world;
}

/* ---- what is asked, and what is taken ------------------------------------------------------------------ */

static void test_unwanted(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);
    g_autofree char *text = NULL;

    (void)state;
    assert_int_equal(pair_at(&world, 0)->rdma.outcome, IBH_RDMA_UNWANTED);
    assert_false(ibh_probe_take_rdma(world.probe, 0, &(const IbhRdmaAnswer){.outcome = IBH_RDMA_ANSWERED}));
    text = report(&world, ibh_write_text, FALSE);
    assert_null(strstr(text, "RDMA"));
}

/* Another process sends them: whatever it is, no more than one fits each pair. */
static void test_results(void **state)
{
    static const IbhRdmaOutcome WRONG[] = {IBH_RDMA_UNWANTED, IBH_RDMA_UNASKED, IBH_N_RDMA, (IbhRdmaOutcome)999};
    g_auto(World) world = look_well(HOST, TWO_PEERS RDMA);

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(WRONG); i++)
        assert_false(ibh_probe_take_rdma(world.probe, 0, &(const IbhRdmaAnswer){.outcome = WRONG[i]}));
    assert_false(ibh_probe_take_rdma(world.probe, 4, &(const IbhRdmaAnswer){.outcome = IBH_RDMA_ANSWERED}));
    take(&world, 3, IBH_RDMA_SILENT, IBH_RDMA_AT_PEER, 0);
    take(&world, 3, IBH_RDMA_SILENT, IBH_RDMA_AT_ADDRESS, 0); /* another request begins */
    assert_int_equal(pair_at(&world, 3)->rdma.step, IBH_RDMA_AT_PEER);
    take(&world, 3, IBH_RDMA_ANSWERED, IBH_RDMA_AT_PEER, 0);
    assert_false(ibh_probe_take_rdma(world.probe, 3, &(const IbhRdmaAnswer){.outcome = IBH_RDMA_SILENT}));
}

/* ---- the verdict --------------------------------------------------------------------------------------- */

static void test_all_answer(void **state)
{
    g_auto(World) world = look_but(TWO_PEERS RDMA, 9, 9);
    g_autofree char *text = NULL;

    (void)state;
    check_verdict(&world, "", 0);
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    text = report(&world, ibh_write_text, FALSE);
    assert_non_null(strstr(text, "\nRDMA: 4 of 4 pairs answered\n"));
}

/* No rail gets an answer of it: that is the peer's, and said once. */
static void test_silent_peer(void **state)
{
    g_auto(World) world = look_but(TWO_PEERS RDMA, 2, 3);

    (void)state;
    take(&world, 2, IBH_RDMA_SILENT, IBH_RDMA_AT_PEER, ETIMEDOUT);
    take(&world, 3, IBH_RDMA_SILENT, IBH_RDMA_AT_PEER, 0);
    check_verdict(&world, "error rdma-unreachable", 2);
    check_message(&world, 0, "172.16.16.2 to every rail: RDMA requests get no answer, though IP works");
}

/* One rail gets none: the rail is named, and its device. */
static void test_silent_rail(void **state)
{
    g_auto(World) world = look_but(TWO_PEERS RDMA, 1, 3);

    (void)state;
    take(&world, 1, IBH_RDMA_SILENT, IBH_RDMA_AT_PEER, 0);
    take(&world, 2, IBH_RDMA_ANSWERED, IBH_RDMA_AT_PEER, 0);
    take(&world, 3, IBH_RDMA_SILENT, IBH_RDMA_AT_PEER, 0);
    check_verdict(&world, "ib1 error rdma-unreachable", 2);
    check_message(&world, 0, "ib1 to 172.16.16.1-.2: RDMA requests get no answer, though IP works");
    assert_non_null(
        strstr(((const IbhFinding *)world.probe->findings->pdata[0])->advice, "ib-hook --check --iface ib1"));
}

/* Different causes are different lines; the same cause is one, whatever the errno of a silence. */
static void test_causes(void **state)
{
    g_auto(World) world = look_but("--probe 172.16.16.1 172.16.16.2 172.16.16.3 172.16.16.4" RDMA, 0, 7);

    (void)state;
    take(&world, 0, IBH_RDMA_FILTERED, IBH_RDMA_AT_ADDRESS, 0);
    take(&world, 1, IBH_RDMA_NO_GID, IBH_RDMA_AT_ADDRESS, 0);
    take(&world, 2, IBH_RDMA_SILENT, IBH_RDMA_AT_ADDRESS, EHOSTUNREACH);
    take(&world, 3, IBH_RDMA_NO_GID, IBH_RDMA_AT_ADDRESS, 0);
    take(&world, 4, IBH_RDMA_SILENT, IBH_RDMA_AT_ROUTE, EINVAL);
    take(&world, 5, IBH_RDMA_REFUSED, IBH_RDMA_AT_PEER, EINVAL);
    take(&world, 6, IBH_RDMA_SILENT, IBH_RDMA_AT_ROUTE, ETIMEDOUT);
    take(&world, 7, IBH_RDMA_BLOCKED, IBH_RDMA_AT_ADDRESS, 0);
    check_verdict(&world,
                  "ib0 error rdma-unreachable, ib1 error rdma-unreachable, ib0 error rdma-unreachable, "
                  "ib0 error rdma-unreachable, ib1 error rdma-unreachable, ib0 error rdma-unreachable, "
                  "ib1 error rdma-unreachable",
                  8);
    check_message(&world, 0, "ib0 to 172.16.16.1: RDMA not asked: this host's own firewall");
    check_message(&world, 1, "ib1 to 172.16.16.1-.2: no RDMA: the NIC's RDMA device has no GID for its address");
    check_message(&world, 2, "ib0 to 172.16.16.2: the RDMA connection manager does not find the way");
    check_message(&world, 3, "ib0 to 172.16.16.3: the subnet manager tells no path: Invalid argument");
    check_message(&world, 4, "the kernel does not send RDMA requests: Invalid argument");
    check_message(&world, 6, "did not let go of the process");
}

static void test_no_device(void **state)
{
    g_auto(World) world = look_but(TWO_PEERS RDMA, 0, 3);
    g_autofree char *text = NULL;

    (void)state;
    take(&world, 0, IBH_RDMA_ANSWERED, IBH_RDMA_AT_PEER, 0);
    take(&world, 1, IBH_RDMA_NO_DEVICE, IBH_RDMA_AT_ADDRESS, 0);
    take(&world, 2, IBH_RDMA_NO_ECHO, IBH_RDMA_AT_ADDRESS, 0);
    take(&world, 3, IBH_RDMA_NO_DEVICE, IBH_RDMA_AT_ADDRESS, 0);
    check_verdict(&world, "ib1 error rdma-no-device", 2);
    check_message(&world, 0, "ib1 to 172.16.16.1-.2: no RDMA device is behind this NIC");
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    text = report(&world, ibh_write_text, FALSE);
    assert_non_null(strstr(text, "rdma-no-device; RDMA: no-device\n"));
    assert_non_null(strstr(text, "ok; RDMA: no-echo\n"));
    assert_non_null(strstr(text, "\nRDMA: 1 of 4 pairs answered\n"));
}

static void test_no_module(void **state)
{
    g_auto(World) world = look_but(TWO_PEERS RDMA, 0, 3);

    (void)state;
    for (guint i = 0; i < 4; i++)
        take(&world, i, IBH_RDMA_NO_MODULE, IBH_RDMA_AT_ADDRESS, ENOENT);
    check_verdict(&world, "error module-missing", 0);
    check_message(&world, 0, "the module rdma_ucm is not loaded, so 4 of 4 pairs were not asked by RDMA");
    assert_string_equal(((const IbhFinding *)world.probe->findings->pdata[0])->fix, "modprobe rdma_ucm");
}

static void test_json_words(void **state)
{
    static const struct {
        IbhRdmaOutcome outcome;
        const char *expected;
    } cases[] = {
        {IBH_RDMA_ANSWERED, "\"rdma\":\"answered\",\"rdma_why\":null"},
        {IBH_RDMA_SILENT, "\"rdma\":\"silent\",\"rdma_why\":\"RDMA requests get no answer"},
        {IBH_RDMA_NO_DEVICE, "\"rdma\":\"no-device\",\"rdma_why\":\"no RDMA device"},
        {IBH_RDMA_FILTERED, "\"rdma\":\"not-asked\",\"rdma_why\":\"RDMA not asked: this host's own firewall"},
        {IBH_RDMA_NO_ECHO, "\"rdma\":\"no-echo\",\"rdma_why\":\"not asked, as the peer"},
        {IBH_RDMA_NO_MODULE, "\"rdma\":\"not-asked\",\"rdma_why\":\"not asked: the module rdma_ucm"},
        {IBH_RDMA_UNASKED, "\"rdma\":\"not-asked\",\"rdma_why\":\"not asked\""},
    };

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(World) world = look_well(HOST, "--probe 172.16.16.1 --iface ib0" RDMA);
        g_autofree char *text = NULL;

        if (cases[i].outcome != IBH_RDMA_UNASKED)
            take(&world, 0, cases[i].outcome, IBH_RDMA_AT_PEER, 0);
        text = report(&world, ibh_write_json, FALSE);
        if (!strstr(text, cases[i].expected))
            fail_msg("“%s” is not in: %s", cases[i].expected, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unwanted),    cmocka_unit_test(test_results),     cmocka_unit_test(test_all_answer),
        cmocka_unit_test(test_silent_peer), cmocka_unit_test(test_silent_rail), cmocka_unit_test(test_causes),
        cmocka_unit_test(test_no_device),   cmocka_unit_test(test_no_module),   cmocka_unit_test(test_json_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
