/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/operation.h"
#include "plan/rails.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/if_arp.h>
#include <stdio.h>
#include <string.h>

static IbhState *parse(const char *text)
{
    return ibh_state_parse(text, strlen(text));
}

static const IbhSavedSysctl *saved_at(const IbhState *state, guint i)
{
    assert_in_range(i, 0, state->sysctls->len - 1);
    return &g_array_index(state->sysctls, IbhSavedSysctl, i);
}

static void check_saved(const IbhState *state, guint i, const char *iface, IbhSysctl key, int old, int set)
{
    const IbhSavedSysctl *saved = saved_at(state, i);

    assert_string_equal(saved->iface, iface);
    assert_int_equal(saved->key, key);
    assert_int_equal(saved->old, old);
    assert_int_equal(saved->set, set);
}

static void check_empty(const IbhState *state)
{
    assert_int_equal(state->sysctls->len, 0);
    assert_int_equal(state->holds->len, 0);
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* What is written and read again, or copied, is the same state. */
static void check_round_trip(const IbhState *before)
{
    g_autofree char *text = ibh_state_format(before), *again = NULL, *copied = NULL;
    g_autoptr(IbhState) after = parse(text), copy = ibh_state_copy(before);

    again = ibh_state_format(after);
    copied = ibh_state_format(copy);
    assert_string_equal(again, text);
    assert_string_equal(copied, text);
}

/* The kernel takes any integer, and what an administrator had is given back; names hold any bytes. */
static void test_round_trip(void **state)
{
    static const char *const LINES[] = {
        "sysctl ib0.8002 2147483647 - rp_filter -2147483648 2147483647",
        "sysctl enp129s0f0np0v1 3 02:00:00:00:42:00 arp_ignore 0 100",
        "hold \033[31m\"\\\xff",
        "keep ib0.8002",
        "rail ib0 2 941 auto",
        "rail enp129s0f0np0v1 3 4294965295 explicit",
        "config ",
        "config \nprivate",
        "config \nconfig # /etc/ib-hook/ib-hook.conf\nconfig \nconfig hold ib0\nconfig known ib0\nconfig ",
        "known ib0 mlx5_0/1 0000:81:00.0/1 02:00 1700000000 172.16.34.1,fd00::1",
        "known ib1 mlx5_1/1 - 02:01 0 -",
        "recalled",
    };
    g_autoptr(IbhState) empty = parse("");

    (void)state;
    check_round_trip(empty);
    for (gsize i = 0; i < G_N_ELEMENTS(LINES); i++) {
        g_autoptr(IbhState) parsed = parse(LINES[i]);
        g_autofree char *text = ibh_state_format(parsed), *line = g_strdup_printf("%s\n", LINES[i]);

        check_round_trip(parsed);
        assert_string_equal(strchr(text, '\n') + 1, line);
    }
}

static void test_nonsense_is_left_out(void **state)
{
    static const char *const LINES[] = {
        "# hold ib0",
        "hold",
        "hold ",
        "HOLD ib0",
        "hold ../../etc",
        "hold a/b",
        "hold .",
        "hold ..",
        "sysctl ib0 2 02:00 rp_filter 1",
        "sysctl ib0 2 rp_filter 1 2",
        "sysctl ib0 0 02:00 rp_filter 1 2",
        "sysctl ib0 -1 02:00 rp_filter 1 2",
        "sysctl ib0 2x 02:00 rp_filter 1 2",
        "sysctl ib0 2 02:00 forwarding 1 2",
        "sysctl ib0 2 02:00 ../rp_filter 1 2",
        "sysctl ib0 2 02:00 rp_filter one 2",
        "sysctl ib0 2 02:00 rp_filter 1 ",
        "sysctl ../all 2 02:00 rp_filter 1 2",
        "keep ",
        "keep a/b",
        "rail ib0 2 941",
        "rail ../x 2 941 auto",
        "rail ib0 0 941 auto",
        "rail ib0 2 0 auto",
        "rail ib0 2 table auto",
        "rail ib0 2 941 automatic",
        "nonsense",
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(LINES); i++) {
        g_autofree char *text = g_strdup_printf("hold ib8\n%s\nsysctl ib9 9 02:00 arp_ignore 0 1\n", LINES[i]);
        g_autoptr(IbhState) parsed = parse(text);

        if (parsed->sysctls->len != 1 || parsed->holds->len != 1 || parsed->kept->len || parsed->rails->len)
            fail_msg("“%s” was taken for something", LINES[i]);
        check_saved(parsed, 0, "ib9", IBH_SYSCTL_ARP_IGNORE, 0, 1);
        assert_true(ibh_names_have(parsed->holds, "ib8"));
    }
}

/* ---- remembering --------------------------------------------------------------------------------------- */

/* One sysctl-set per FROM→TO of ib0 (ifindex 2) and KEY. */
static GPtrArray *changes(IbhSysctl key, const int *values, gsize n)
{
    GPtrArray *ops = g_ptr_array_new_with_free_func((GDestroyNotify)ibh_op_free);

    for (gsize i = 0; i + 1 < n; i++) {
        IbhOp *op = g_new0(IbhOp, 1);

        *op = (IbhOp){.type = IBH_OP_SYSCTL_SET, .iface = "ib0", .ifindex = 2, .key = key};
        op->from = values[i];
        op->to = values[i + 1];
        g_ptr_array_add(ops, op);
    }
    return ops;
}

#define REMEMBER(state, done, ...)                                                                                     \
    remember(state, done, (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void remember(IbhState *state, gboolean done, const int *values, gsize n)
{
    g_autoptr(GPtrArray) ops = changes(IBH_SYSCTL_RP_FILTER, values, n);

    ibh_state_remember(state, ops, done);
}

/* What is remembered of ib0's rp_filter after one run's changes, and then another's; -1: nothing. */
static void test_remembering(void **state)
{
    static const struct {
        int first[4], second[4]; /* values from the one before to the last; 0 as the fourth is none */
        int n_first, n_second, old, set;
    } CASES[] = {
        {{1, 2}, {0}, 2, 0, 1, 2},       /* the first change */
        {{1, 2}, {2, 0}, 2, 2, 1, 0},    /* the administrator's value is still the first */
        {{0, 2}, {1, 2}, 2, 2, 1, 2},    /* somebody else set it in between */
        {{1, 2, 1}, {0}, 3, 0, -1, -1},  /* loosened for a moment */
        {{0, 1}, {1, 2, 1}, 2, 3, 0, 1}, /* the same of a value of ours */
        {{0, 2}, {2, 0}, 2, 2, -1, -1},  /* given back */
        {{2, 2}, {0}, 2, 0, -1, -1},     /* no change */
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_autoptr(IbhState) memory = ibh_state_new();

        remember(memory, TRUE, CASES[i].first, (gsize)CASES[i].n_first);
        remember(memory, TRUE, CASES[i].second, (gsize)CASES[i].n_second);
        assert_int_equal(memory->sysctls->len, CASES[i].old >= 0);
        if (memory->sysctls->len)
            check_saved(memory, 0, "ib0", IBH_SYSCTL_RP_FILTER, CASES[i].old, CASES[i].set);
    }
}

/* ---- ahead of the change: killed at any moment, the old value is known --------------------------------- */

static int base_of(const IbhState *memory, int now)
{
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_autofree char *text = ibh_state_format(memory);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhRails) rails = NULL;
    IbhLink link = {.name = "ib0", .ifindex = 2};

    ibh_state_free(snapshot->state);
    snapshot->state = parse(text);
    link.sysctl[IBH_SYSCTL_RP_FILTER] = now;
    g_array_append_val(snapshot->links, link);
    rails = ibh_rails_find(config, snapshot, &(IbhRequest){.respects_holds = TRUE}, NULL);
    return ibh_rails_nic(rails, 2)->base[IBH_SYSCTL_RP_FILTER];
}

/* Killed before, between or after the operations: whatever the value is then, the administrator's is known. */
static void test_ahead(void **state)
{
    static const struct {
        int ours; /* set by an earlier run over 0; 0: nothing was */
        int values[3], n, base;
    } CASES[] = {{2, {2, 0}, 2, 0}, {0, {1, 2, 1}, 3, 1}, {2, {2, 1}, 2, 0}, {1, {1, 2, 1}, 3, 0}};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_autoptr(IbhState) memory = ibh_state_new();

        if (CASES[i].ours)
            REMEMBER(memory, TRUE, 0, CASES[i].ours);
        remember(memory, FALSE, CASES[i].values, (gsize)CASES[i].n);
        for (int k = 0; k < CASES[i].n; k++)
            assert_int_equal(base_of(memory, CASES[i].values[k]), CASES[i].base);
    }
}

static void test_other_keys_and_links(void **state)
{
    g_autoptr(IbhState) memory = parse("sysctl ib0 2 02:00 arp_filter 0 1\nsysctl ib1 3 02:00 rp_filter 0 2\n");

    (void)state;
    REMEMBER(memory, TRUE, 1, 2);
    assert_int_equal(memory->sysctls->len, 3);
    check_saved(memory, 0, "ib0", IBH_SYSCTL_ARP_FILTER, 0, 1);
    check_saved(memory, 1, "ib1", IBH_SYSCTL_RP_FILTER, 0, 2);
    check_saved(memory, 2, "ib0", IBH_SYSCTL_RP_FILTER, 1, 2);
}

static void test_other_operations(void **state)
{
    g_autoptr(IbhState) memory = ibh_state_new();
    g_autoptr(GPtrArray) ops = changes(IBH_SYSCTL_RP_FILTER, (const int[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);

    (void)state;
    for (guint i = 0; i < ops->len; i++) {
        IbhOp *op = g_ptr_array_index(ops, i);

        op->type = i < IBH_OP_SYSCTL_SET ? (IbhOpType)i : (IbhOpType)(i + 1);
    }
    ibh_state_remember(memory, ops, TRUE);
    check_empty(memory);
}

/* ---- whose they are ------------------------------------------------------------------------------------ */

#define MAC "\x02\0\0\0\x42\x01"
#define IPOIB(flags, subnet, guid) flags "\0\1\2" subnet "\0\0\0\0\0\0\0" guid "\x11\x22\x33\x44\x55\x66\x77"

/* What ib1 had with index 3 stays the administrator's only as long as it is the same netdev. */
static void test_whose_values(void **state)
{
    static const char ETHERNET[] = "sysctl ib1 3 02:00:00:00:42:01 rp_filter 0 1\n",
                      INFINIBAND[] = "sysctl ib1 3 aa:11:22:33:44:55:66:77 rp_filter 0 1\n",
                      NONE[] = "sysctl ib1 3 - rp_filter 0 1\n";
    static const struct {
        const char *saved;
        int ifindex;
        const char *name, *address;
        guint length;
        const char *after; /* NULL: forgotten */
    } CASES[] = {
        {ETHERNET, 3, "ib1", MAC, 6, ETHERNET},
        {ETHERNET, 3, "eth5", MAC, 6, "sysctl eth5 3 02:00:00:00:42:01 rp_filter 0 1\n"}, /* renamed */
        {ETHERNET, 3, "ib1", "\x06\1\1\1\1\1", 6, "sysctl ib1 3 06:01:01:01:01:01 rp_filter 0 1\n"},
        {ETHERNET, 3, "eth5", "\x06\1\1\1\1\1", 6, NULL}, /* another one has its index */
        {ETHERNET, 4, "ib1", MAC, 6, NULL},               /* the driver was loaded again */
        {INFINIBAND, 3, "ib1", IPOIB("\x80", "\xfe", "\xaa"), 20, INFINIBAND},
        {INFINIBAND, 3, "mlx1", IPOIB("\0", "\xfd", "\xaa"), 20,
         "sysctl mlx1 3 aa:11:22:33:44:55:66:77 rp_filter 0 1\n"},
        {INFINIBAND, 3, "mlx1", IPOIB("\x80", "\xfe", "\xbb"), 20, NULL},
        {NONE, 3, "ib1", "", 0, NONE},
        {NONE, 3, "tun0", "", 0, NULL}, /* to have no address is nothing in common */
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
        g_autoptr(IbhState) memory = parse(CASES[i].saved);
        IbhLink link = {.ifindex = CASES[i].ifindex, .lladdr_len = CASES[i].length};
        g_autofree char *text = NULL;

        g_strlcpy(link.name, CASES[i].name, sizeof link.name);
        memcpy(link.lladdr, CASES[i].address, link.lladdr_len);
        link.type = link.lladdr_len == 20 ? ARPHRD_INFINIBAND : ARPHRD_ETHER;
        g_array_append_val(snapshot->links, link);
        ibh_state_match_links(memory, snapshot);
        text = ibh_state_format(memory);
        assert_string_equal(strchr(text, '\n') + 1, CASES[i].after ? CASES[i].after : "");
    }
}

/* ---- holds --------------------------------------------------------------------------------------------- */

static void test_holds(void **state)
{
    g_autoptr(IbhState) memory = parse("sysctl ib0 2 02:00 rp_filter 1 2\n");

    (void)state;
    ibh_state_hold(memory, "ib0");
    ibh_state_hold(memory, "ib1");
    ibh_state_hold(memory, "ib0");
    assert_int_equal(memory->holds->len, 2);
    assert_true(ibh_names_have(memory->holds, "ib0"));
    assert_false(ibh_names_have(memory->holds, "ib"));
    assert_false(ibh_names_have(memory->holds, "ib01"));
    ibh_state_lift(memory, "ib2");
    assert_int_equal(memory->holds->len, 2);
    ibh_state_lift(memory, "ib0");
    assert_false(ibh_names_have(memory->holds, "ib0"));
    assert_true(ibh_names_have(memory->holds, "ib1"));
    ibh_state_hold(memory, "ib0");
    ibh_state_keep(memory, "ib0"); /* one of the two */
    assert_false(ibh_names_have(memory->holds, "ib0"));
    assert_true(ibh_names_have(memory->kept, "ib0"));
    ibh_state_hold(memory, "ib0");
    assert_true(ibh_names_have(memory->holds, "ib0"));
    assert_false(ibh_names_have(memory->kept, "ib0"));
    ibh_state_keep(memory, "ib1");
    ibh_state_lift(memory, NULL);
    assert_int_equal(memory->holds->len + memory->kept->len, 0);
    assert_int_equal(memory->sysctls->len, 1);
    ibh_state_lift(memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),           cmocka_unit_test(test_nonsense_is_left_out),
        cmocka_unit_test(test_remembering),          cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_other_keys_and_links), cmocka_unit_test(test_other_operations),
        cmocka_unit_test(test_whose_values),         cmocka_unit_test(test_holds),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
