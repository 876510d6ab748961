/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/state.h"
#include "plan/want.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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

/* What is written and read again is the same state. */
static void check_round_trip(const IbhState *before)
{
    g_autofree char *text = ibh_state_format(before);
    g_autoptr(IbhState) after = parse(text);

    assert_int_equal(after->sysctls->len, before->sysctls->len);
    for (guint i = 0; i < before->sysctls->len; i++) {
        const IbhSavedSysctl *saved = saved_at(before, i);

        check_saved(after, i, saved->iface, saved->key, saved->old, saved->set);
        assert_int_equal(saved_at(after, i)->ifindex, saved->ifindex);
    }
    assert_int_equal(after->holds->len, before->holds->len);
    for (guint i = 0; i < before->holds->len; i++)
        assert_string_equal(g_ptr_array_index(after->holds, i), g_ptr_array_index(before->holds, i));
    assert_int_equal(after->rails->len, before->rails->len);
    assert_true(ibh_state_equal(before, after));
}

static void test_empty(void **state)
{
    g_autoptr(IbhState) nothing = parse("");
    g_autoptr(IbhState) fresh = ibh_state_new();

    (void)state;
    check_empty(nothing);
    check_round_trip(nothing);
    assert_true(ibh_state_equal(nothing, fresh));
}

static void test_round_trip(void **state)
{
    g_autoptr(IbhState) full = ibh_state_new();

    (void)state;
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        IbhSavedSysctl saved = {.ifindex = key ? key : G_MAXINT, .key = (IbhSysctl)key, .old = key % 3, .set = 8 - key};

        g_strlcpy(saved.iface, key % 2 ? "ib0.8002" : "enp129s0f0np0v1", sizeof saved.iface);
        g_array_append_val(full->sysctls, saved);
    }
    ibh_state_hold(full, "ib0");
    ibh_state_hold(full, "enp129s0f0np0v1");
    ibh_state_hold(full, "\033[31m\"\\\xff");
    check_round_trip(full);
}

/* The kernel takes any integer, and what an administrator had is given back. */
static void test_unusual_values(void **state)
{
    static const int VALUES[] = {-1, 9, 100, G_MAXINT, G_MININT};
    g_autoptr(IbhState) full = ibh_state_new();

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(VALUES); i++) {
        IbhSavedSysctl saved = {
            .iface = "ib0", .ifindex = (int)i + 1, .key = IBH_SYSCTL_ARP_IGNORE, .old = VALUES[i], .set = 1};

        g_array_append_val(full->sysctls, saved);
    }
    check_round_trip(full);
}

static void test_equal(void **state)
{
    static const char *const DIFFERENT[] = {
        "",
        "sysctl ib0 2 rp_filter 1 2\n",
        "sysctl ib1 2 rp_filter 1 2\n",
        "sysctl ib0 3 rp_filter 1 2\n",
        "sysctl ib0 2 arp_filter 1 2\n",
        "sysctl ib0 2 rp_filter 0 2\n",
        "sysctl ib0 2 rp_filter 1 0\n",
        "hold ib0\n",
        "hold ib1\n",
        "rail ib0 2 941 auto\n",
        "rail ib1 2 941 auto\n",
        "rail ib0 3 941 auto\n",
        "rail ib0 2 942 auto\n",
        "rail ib0 2 941 explicit\n",
        "known ib0 mlx5_0/1 - 02:00 0 -\n",
        "recalled\n",
        "rail ib0 2 941 auto\nrail ib1 3 942 auto\n",
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(DIFFERENT); i++) {
        for (gsize j = 0; j < G_N_ELEMENTS(DIFFERENT); j++) {
            g_autoptr(IbhState) a = parse(DIFFERENT[i]), b = parse(DIFFERENT[j]), copy = ibh_state_copy(a);

            assert_int_equal(ibh_state_equal(a, b), i == j);
            assert_int_equal(ibh_state_equal(copy, b), i == j);
        }
    }
}

static void test_nonsense_is_left_out(void **state)
{
    static const char *const LINES[] = {
        "# hold ib0",
        "hold",
        "hold ",
        "hold ib0 ib1",
        "hold  ib0",
        "HOLD ib0",
        " hold ib0",
        "hold ../../etc",
        "hold a/b",
        "hold .",
        "hold ..",
        "hold sixteen-bytes-ab",
        "sysctl ib0 2 rp_filter 1",
        "sysctl ib0 2 rp_filter 1 2 3",
        "sysctl ib0 2 rp_filter 1  2",
        "sysctl ib0 0 rp_filter 1 2",
        "sysctl ib0 -1 rp_filter 1 2",
        "sysctl ib0 99999999999 rp_filter 1 2",
        "sysctl ib0 2x rp_filter 1 2",
        "sysctl ib0 2 forwarding 1 2",
        "sysctl ib0 2 ../rp_filter 1 2",
        "sysctl ib0 2 rp_filter one 2",
        "sysctl ib0 2 rp_filter 1 ",
        "sysctl ib0 2 rp_filter 1 2x",
        "sysctl ib0 2 rp_filter 1 99999999999",
        "sysctl ../all 2 rp_filter 1 2",
        "sysctl  2 rp_filter 1 2",
        "sysctl ib0 2 rp_filter 1 2 hold ib0 and much more than that",
        "rail ib0 2 941",
        "rail ib0 2 941 auto more",
        "rail ../x 2 941 auto",
        "rail ib0 0 941 auto",
        "rail ib0 2 0 auto",
        "rail ib0 2 4294967296 auto",
        "rail ib0 2 table auto",
        "rail ib0 2 941 automatic",
        "nonsense",
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(LINES); i++) {
        g_autofree char *text = g_strdup_printf("hold ib8\n%s\nsysctl ib9 9 arp_ignore 0 1\n", LINES[i]);
        g_autoptr(IbhState) parsed = parse(text);

        if (parsed->sysctls->len != 1 || parsed->holds->len != 1 || parsed->rails->len)
            fail_msg("“%s” was taken for something", LINES[i]);
        check_saved(parsed, 0, "ib9", IBH_SYSCTL_ARP_IGNORE, 0, 1);
        assert_true(ibh_state_is_held(parsed, "ib8"));
    }
}

/* The last line need not be whole; bytes behind the length are none of ours. */
static void test_length(void **state)
{
    const char *text = "hold ib0\nhold ib12";
    g_autoptr(IbhState) cut = ibh_state_parse(text, strlen("hold ib0\nhold ib1"));
    g_autoptr(IbhState) none = ibh_state_parse(text, 0);

    (void)state;
    assert_true(ibh_state_is_held(cut, "ib0"));
    assert_true(ibh_state_is_held(cut, "ib1"));
    assert_false(ibh_state_is_held(cut, "ib12"));
    check_empty(none);
}

static void test_embedded_nul(void **state)
{
    static const char TEXT[] = "hold ib0\nhold i\0b1\nhold ib2\n";
    g_autoptr(IbhState) parsed = ibh_state_parse(TEXT, sizeof TEXT - 1);

    (void)state;
    assert_true(ibh_state_is_held(parsed, "ib0"));
    check_round_trip(parsed);
}

static GRand *new_random(void)
{
    const char *wanted = g_getenv("IBH_SEED");
    guint32 seed = wanted ? (guint32)g_ascii_strtoull(wanted, NULL, 10) : g_random_int();

    print_message("IBH_SEED=%u\n", seed);
    return g_rand_new_with_seed(seed);
}

static void append_noise(GRand *random, GString *text)
{
    static const char *const WORDS[] = {"sysctl", "hold", " ",         " ",          "\n", "\n",
                                        "ib0",    "2",    "rp_filter", "1",          "0",  "/",
                                        "..",     "-1",   "#",         "arp_ignore", "8",  "99999999999999999999"};

    if (g_rand_int_range(random, 0, 4))
        g_string_append(text, WORDS[g_rand_int_range(random, 0, (gint32)G_N_ELEMENTS(WORDS))]);
    else
        g_string_append_c(text, (char)g_rand_int_range(random, 0, 256));
}

/* Whatever the file holds, what comes of it is a state that can be written and read. */
static void test_random_bytes(void **state)
{
    g_autoptr(GRand) random = new_random();
    const char *cases = g_getenv("IBH_CASES");

    (void)state;
    for (guint64 left = cases ? g_ascii_strtoull(cases, NULL, 10) : 3000; left > 0; left--) {
        g_autoptr(GString) text = g_string_new("sysctl ib0 2 rp_filter 1 2\n");
        g_autoptr(IbhState) parsed = NULL;

        for (int i = g_rand_int_range(random, 0, 60); i > 0; i--)
            append_noise(random, text);
        parsed = ibh_state_parse(text->str, text->len);
        assert_in_range(parsed->sysctls->len, 1, 60);
        check_round_trip(parsed);
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

static void test_first_change(void **state)
{
    (void)state;
    for (int done = 0; done < 2; done++) {
        g_autoptr(IbhState) memory = ibh_state_new();

        REMEMBER(memory, done, 1, 2);
        assert_int_equal(memory->sysctls->len, 1);
        check_saved(memory, 0, "ib0", IBH_SYSCTL_RP_FILTER, 1, 2);
        assert_int_equal(saved_at(memory, 0)->ifindex, 2);
    }
}

/* The second change goes on from ours: the administrator's value is still the first. */
static void test_second_change(void **state)
{
    g_autoptr(IbhState) memory = ibh_state_new();

    (void)state;
    REMEMBER(memory, TRUE, 1, 2);
    REMEMBER(memory, TRUE, 2, 0);
    assert_int_equal(memory->sysctls->len, 1);
    check_saved(memory, 0, "ib0", IBH_SYSCTL_RP_FILTER, 1, 0);
}

/* Somebody else set it in between: that is what comes back. */
static void test_changed_by_others(void **state)
{
    (void)state;
    for (int done = 0; done < 2; done++) {
        g_autoptr(IbhState) memory = ibh_state_new();

        REMEMBER(memory, TRUE, 0, 2);
        REMEMBER(memory, done, 1, 2);
        assert_int_equal(memory->sysctls->len, 1);
        check_saved(memory, 0, "ib0", IBH_SYSCTL_RP_FILTER, 1, 2);
    }
}

static void test_loosened_for_a_moment(void **state)
{
    g_autoptr(IbhState) memory = ibh_state_new();
    g_autoptr(IbhState) ours = ibh_state_new();

    (void)state;
    REMEMBER(memory, TRUE, 1, 2, 1);
    check_empty(memory);
    REMEMBER(ours, TRUE, 0, 1);
    REMEMBER(ours, TRUE, 1, 2, 1);
    assert_int_equal(ours->sysctls->len, 1);
    check_saved(ours, 0, "ib0", IBH_SYSCTL_RP_FILTER, 0, 1);
}

static void test_given_back(void **state)
{
    g_autoptr(IbhState) memory = ibh_state_new();

    (void)state;
    REMEMBER(memory, TRUE, 0, 2);
    REMEMBER(memory, TRUE, 2, 0);
    check_empty(memory);
}

static void test_nothing_changes(void **state)
{
    g_autoptr(IbhState) memory = ibh_state_new();

    (void)state;
    REMEMBER(memory, TRUE, 2, 2);
    check_empty(memory);
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
    rails = ibh_rails_find(config, snapshot, TRUE, NULL);
    return ibh_rails_nic(rails, 2)->base[IBH_SYSCTL_RP_FILTER];
}

static void test_ahead_of_giving_back(void **state)
{
    g_autoptr(IbhState) memory = ibh_state_new();

    (void)state;
    REMEMBER(memory, TRUE, 0, 2);
    REMEMBER(memory, FALSE, 2, 0);
    assert_int_equal(memory->sysctls->len, 1);
    assert_int_equal(base_of(memory, 2), 0);
    assert_int_equal(base_of(memory, 0), 0);
}

static void test_ahead_of_a_moment(void **state)
{
    g_autoptr(IbhState) memory = ibh_state_new();

    (void)state;
    REMEMBER(memory, FALSE, 1, 2, 1);
    assert_int_equal(base_of(memory, 1), 1);
    assert_int_equal(base_of(memory, 2), 1);
}

/* From one value of ours to another: killed before, between or after the operations. */
static void test_ahead_of_another_value(void **state)
{
    g_autoptr(IbhState) memory = ibh_state_new();

    (void)state;
    REMEMBER(memory, TRUE, 0, 2);
    REMEMBER(memory, FALSE, 2, 1);
    assert_int_equal(base_of(memory, 1), 0);
    assert_int_equal(base_of(memory, 2), 0);
}

static void test_ahead_of_a_moment_of_ours(void **state)
{
    g_autoptr(IbhState) memory = ibh_state_new();

    (void)state;
    REMEMBER(memory, TRUE, 0, 1);
    REMEMBER(memory, FALSE, 1, 2, 1);
    assert_int_equal(base_of(memory, 1), 0);
    assert_int_equal(base_of(memory, 2), 0);
}

static void test_other_keys_and_links(void **state)
{
    g_autoptr(IbhState) memory = parse("sysctl ib0 2 arp_filter 0 1\nsysctl ib1 3 rp_filter 0 2\n");

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

/* ---- holds --------------------------------------------------------------------------------------------- */

static void test_holds(void **state)
{
    g_autoptr(IbhState) memory = parse("sysctl ib0 2 rp_filter 1 2\n");

    (void)state;
    ibh_state_hold(memory, "ib0");
    ibh_state_hold(memory, "ib1");
    ibh_state_hold(memory, "ib0");
    assert_int_equal(memory->holds->len, 2);
    assert_true(ibh_state_is_held(memory, "ib0"));
    assert_false(ibh_state_is_held(memory, "ib"));
    assert_false(ibh_state_is_held(memory, "ib01"));
    ibh_state_lift(memory, "ib2");
    assert_int_equal(memory->holds->len, 2);
    ibh_state_lift(memory, "ib0");
    assert_false(ibh_state_is_held(memory, "ib0"));
    assert_true(ibh_state_is_held(memory, "ib1"));
    ibh_state_hold(memory, "ib0");
    ibh_state_lift(memory, NULL);
    assert_int_equal(memory->holds->len, 0);
    assert_int_equal(memory->sysctls->len, 1);
    ibh_state_lift(memory, NULL);
}

/* Written twice by hand, lifted at once. */
static void test_doubled_hold(void **state)
{
    g_autoptr(IbhState) memory = parse("hold ib0\nhold ib1\nhold ib0\n");

    (void)state;
    ibh_state_lift(memory, "ib0");
    assert_false(ibh_state_is_held(memory, "ib0"));
    assert_true(ibh_state_is_held(memory, "ib1"));
}

/* Whether anything else of ours may be left; a file of an earlier version does not say that nothing is. */
static void test_whole(void **unused)
{
    g_autoptr(IbhState) state = parse("whole\n"), copy = ibh_state_copy(state), old = parse("hold ib0\n");
    g_autofree char *text = ibh_state_format(copy), *other = ibh_state_format(old);
    g_autoptr(IbhState) again = parse(text);

    (void)unused;
    assert_true(state->whole && copy->whole && again->whole);
    assert_false(old->whole);
    assert_null(strstr(other, "\nwhole"));
    again->whole = FALSE;
    assert_false(ibh_state_equal(again, state));
    assert_true(ibh_state_equal(copy, state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_unusual_values),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_nonsense_is_left_out),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_embedded_nul),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_first_change),
        cmocka_unit_test(test_second_change),
        cmocka_unit_test(test_changed_by_others),
        cmocka_unit_test(test_loosened_for_a_moment),
        cmocka_unit_test(test_given_back),
        cmocka_unit_test(test_nothing_changes),
        cmocka_unit_test(test_ahead_of_giving_back),
        cmocka_unit_test(test_ahead_of_a_moment),
        cmocka_unit_test(test_ahead_of_another_value),
        cmocka_unit_test(test_ahead_of_a_moment_of_ours),
        cmocka_unit_test(test_other_keys_and_links),
        cmocka_unit_test(test_other_operations),
        cmocka_unit_test(test_holds),
        cmocka_unit_test(test_doubled_hold),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
