/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One test per file in plan/: a namespace and a configuration, and all operations that should come of them.
 * IBH_CASE=NAME runs plan/NAME.case alone. The format is in case_text.h; a "do apply" before the one that is planned is
 * an earlier run.
 */
#include "random_world.h"
#include "check/why.h"
#include "plan/plan.h"
#include "plan/scope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define CASES IBH_TESTS "/unit/plan"
#define SUFFIX ".case"
#define EARLIER "\ndo apply\n"
#define REASON " # " /* what follows it in an expected operation */

/* What an earlier run made of the host so far. */
static char *run_until(const char *file, const char *head, GError **error)
{
    g_autoptr(IbhCase) cas = ibh_case_parse_kernel(file, head, error);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(Planned) planned = NULL;
    g_autoptr(IbhOutcome) outcome = NULL;

    if (!cas || !ibh_config_add(config, "config", cas->config->str, cas->config->len, NULL, TRUE, error))
        return NULL;
    planned = world_plan(config, cas->kernel, WORLD_APPLY, NULL);
    outcome = world_try(cas->kernel, planned);
    if (outcome->errors->len)
        fail_msg("%s", (const char *)g_ptr_array_index(outcome->errors, 0));
    return ibh_case_write(cas);
}

/* A "do apply" before that of the case is an earlier run. */
static IbhCase *parse(const char *file, const char *text, GError **error)
{
    const char *earlier = strstr(text, EARLIER), *rest = earlier ? earlier + strlen(EARLIER) : NULL;
    g_autofree char *head = NULL, *made = NULL, *all = NULL;

    if (!rest || !(g_str_has_prefix(rest, "do ") || strstr(rest, "\ndo ")))
        return ibh_case_parse(file, text, error);
    head = g_strndup(text, (gsize)(earlier + 1 - text));
    if (!(made = run_until(file, head, error)))
        return NULL;
    all = g_strconcat(made, rest, NULL);
    return ibh_case_parse(file, all, error);
}

static IbhCase *load(const char *name)
{
    g_autofree char *file = g_strconcat(name, SUFFIX, NULL);
    g_autofree char *path = g_build_filename(CASES, file, NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    IbhCase *cas = NULL;

    if (g_file_get_contents(path, &text, NULL, &error))
        cas = parse(file, text, &error);
    if (!cas)
        fail_msg("%s", error->message);
    return cas;
}

/* ---- the difference between two lists of lines ---------------------------------------------------- */

static const char *line(const GPtrArray *lines, guint i)
{
    return g_ptr_array_index(lines, i);
}

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lines only expected with "- ", those only got with "+ ". NULL: the same lines, in any order. */
static char *difference(GPtrArray *expected, GPtrArray *got)
{
    GString *text = g_string_new(NULL);
    guint i = 0, j = 0;

    g_ptr_array_sort(expected, by_name);
    g_ptr_array_sort(got, by_name);
    while (i < expected->len || j < got->len) {
        const int order = i == expected->len ? 1 : j == got->len ? -1 : strcmp(line(expected, i), line(got, j));

        if (order)
            g_string_append_printf(text, "%c %s\n", order < 0 ? '-' : '+',
                                   line(order < 0 ? expected : got, order < 0 ? i : j));
        i += order <= 0;
        j += order >= 0;
    }
    return g_string_free(text, text->len == 0);
}

/* ---- expected and got, as lines --------------------------------------------------------------------- */

static GPtrArray *expected_lines(const IbhCase *cas)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

    if (cas->error)
        g_ptr_array_add(lines, g_strdup_printf("error %s", cas->error));
    for (guint i = 0; i < cas->nics->len; i++) {
        const IbhCaseNic *nic = g_ptr_array_index(cas->nics, i);

        g_ptr_array_add(lines, g_strdup_printf("nic %s %s%s%s", nic->name, nic->verdict, nic->why ? ": " : "",
                                               nic->why ? nic->why : ""));
    }
    for (guint i = 0; i < cas->ops->len; i++)
        g_ptr_array_add(lines, g_strdup_printf("op %s", line(cas->ops, i)));
    return lines;
}

/* The part of an actual text that was asked for if it is in there, else all of it. */
static const char *asked(const char *actual, const char *part)
{
    return strstr(actual, part) ? part : actual;
}

static char *nic_line(const IbhRails *rails, const IbhCaseNic *expected)
{
    const IbhLink *link = ibh_snapshot_link_by_name(rails->snapshot, expected->name);
    const IbhNic *nic = link ? ibh_rails_nic(rails, link->ifindex) : NULL;
    g_autofree char *verdict = nic ? ibh_case_verdict(nic) : NULL, *why = nic ? ibh_nic_why(nic) : NULL;

    if (!nic)
        return g_strdup_printf("nic %s is not among the NICs", expected->name);
    if (!why || !*why)
        fail_msg("%s is %s without a reason", expected->name, verdict);
    if (!expected->why)
        return g_strdup_printf("nic %s %s", expected->name, verdict);
    return g_strdup_printf("nic %s %s: %s", expected->name, verdict, asked(why, expected->why));
}

/* Every operation names its NIC and its reason, and is the inverse of its inverse. */
static void check_operation(const IbhCase *cas, const IbhRails *rails, const IbhOp *op)
{
    g_autofree char *text = ibh_case_op(op), *why = ibh_op_why(rails, op);
    const IbhLink *link = ibh_snapshot_link(cas->snapshot, op->ifindex);
    IbhOp inverse, again;

    if (!*why)
        fail_msg("%s: without a reason", text);
    if (*op->iface && (!link || !g_str_equal(link->name, op->iface)))
        fail_msg("%s: its interface index %d is not that", text, op->ifindex);
    if (ibh_op_inverse(op, &inverse)) {
        g_autofree char *back = NULL;

        assert_true(ibh_op_inverse(&inverse, &again));
        back = ibh_case_op(&again);
        assert_string_equal(text, back);
    }
}

/* What the case expects of the reason for this operation; NULL: nothing. */
static const char *expected_reason(const IbhCase *cas, const char *op)
{
    for (guint i = 0; i < cas->ops->len; i++) {
        const char *reason = strstr(line(cas->ops, i), REASON);

        if (reason && strlen(op) == (gsize)(reason - line(cas->ops, i)) && g_str_has_prefix(line(cas->ops, i), op))
            return reason;
    }
    return NULL;
}

static GPtrArray *got_lines(const IbhCase *cas)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhRails) rails = NULL;
    g_autoptr(GPtrArray) plan = NULL;
    g_autoptr(GError) error = NULL;

    if (ibh_config_add(config, "config", cas->config->str, cas->config->len, NULL, TRUE, &error)) {
        fake_snapshot_add_main(cas->snapshot->routes, cas->snapshot, config);
        rails = ibh_rails_find(config, cas->snapshot,
                               &(IbhRequest){.only = ibh_case_only(cas),
                                             .undo = cas->undo,
                                             .respects_holds = cas->respect_holds || cas->undo},
                               &error);
    }
    if (!rails) {
        g_ptr_array_add(lines, g_strdup_printf("error %s", asked(error->message, cas->error ? cas->error : "\n")));
        return lines;
    }
    for (guint i = 0; i < cas->nics->len; i++)
        g_ptr_array_add(lines, nic_line(rails, g_ptr_array_index(cas->nics, i)));
    plan = ibh_plan(rails);
    for (guint i = 0; i < plan->len; i++) {
        const IbhOp *op = g_ptr_array_index(plan, i);
        g_autofree char *text = ibh_case_op(op), *why = ibh_op_why(rails, op);
        const char *reason = expected_reason(cas, text);

        check_operation(cas, rails, op);
        g_ptr_array_add(lines, g_strconcat("op ", text, reason ? REASON : NULL,
                                           reason ? asked(why, reason + strlen(REASON)) : NULL, NULL));
    }
    return lines;
}

/* ---- the tests ------------------------------------------------------------------------------------------ */

/* What is written parses to the same case. */
static void check_round_trip(const IbhCase *cas)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = ibh_case_write(cas);
    g_autoptr(IbhCase) again = ibh_case_parse("written", text, &error);
    g_autofree char *twice = NULL;

    if (!again)
        fail_msg("%s in:\n%s", error->message, text);
    twice = ibh_case_write(again);
    assert_string_equal(text, twice);
}

static gboolean is_as_expected(const char *name)
{
    g_autoptr(IbhCase) cas = load(name);
    g_autoptr(GPtrArray) expected = expected_lines(cas);
    g_autoptr(GPtrArray) got = NULL;
    g_autofree char *text = NULL;

    check_round_trip(cas);
    got = got_lines(cas);
    text = difference(expected, got);
    if (text)
        g_printerr("%s%s (- expected, + got):\n%s", name, SUFFIX, text); /* fail_msg() would cut it */
    return !text;
}

static void test_case(void **state)
{
    assert_true(is_as_expected(*state));
}

/* A case that says something else than its author meant would test nothing: every line is read to its end. */
static void test_bad_lines(void **state G_GNUC_UNUSED)
{
    static const char *const lines[] = {
        "ip -",
        "nci ib0 infiniband",
        "nic",
        "nic ib0 infiniband index two",
        "nic ib0 infiniband upp",
        "nic ib0 infiniband rdma",
        "nic ib0 infiniband rp_filter=x",
        "nic ib0 infiniband address 80:zz",
        "nic ib0 infiniband master br0",
        "nic a-name-that-is-too-long infiniband",
        "nic ib1 index 1",
        "nic lo infiniband",
        "ip link add ib1",
        "ip link set lo carrier",
        "sysctl -w net/ipv4/conf/all/forwarding=1",
        "sysctl -w net/ipv6/conf/all/rp_filter=1",
        "sysctl -w net/ipv4/conf/ib9/rp_filter=1",
        "ip address add 10.0.0.1/8 dev ib9",
        "ip address add 10.0.0.1/8",
        "ip address add 10.0.0.1/33 dev lo",
        "ip address add 10.0.0.1/8 dev lo first",
        "ip address add fd00::1/129 dev lo",
        "ip address add fd00::1%lo/64 dev lo",
        "ip address add fd00::1/64 dev lo tentativ",
        "ip address add fd00::1/64 dev lo scope 256",
        "ip route add 10.0.0.0/8 dev ib9",
        "ip route add 10.0.0.0/8 dev lo via gateway",
        "ip route add 10.0.0.0/8 dev lo table nowhere",
        "ip route add 10.0.0.0/8 dev lo metric 4294967296",
        "ip route add 10.0.0.0/8 table 940 nexthop dev lo nexthop dev ib9",
        "ip route add 10.0.0.0/8 table 940 nexthop lo",
        "ip route add dev lo",
        "once ip route del 127.0.0.0/8 dev lo table local",
        "ip rule add priority 1941 from 10.0.0.1 lookup nowhere",
        "ip rule add priority 1941 from 10.0.0.1 fwmark",
        "ip rule add from 10.0.0.1 lookup 941",
        "ip rule add priority 0 lookup local protocol kernel",
        "ip -5 rule flush",
        "ip rule flush now",
        "ip neigh add dev lo",
        "ip neigh add 10.0.0.1",
        "saved lo rp_filter old=1",
        "rail lo",
        "rails two",
        "rails 1 upp",
        "programmed ib9 10.0.0.1/8 941",
        "programmed lo 10.0.0.1/8",
        "programmed lo 10.0.0.1/8 941 ib0",
        "saved arp of ib9",
        "rail ib9 table=941",
        "saved lo forwarding old=1 set=2",
        "saved ib9 rp_filter old=1 set=2",
        "away 10.0.0.0/8 dev ib9",
        "away 10.0.0.0/8 dev lo source 10.0.0.1",
        "config manage=yes",
        "do it",
        "do apply ib0",
        "expect success",
        "expect rail ib0 10.0.0.1/33 941",
        "expect rail ib0 10.0.0.1/8 941 ib1",
        "expect arp of ib0 ib1",
        "expect nic lo",
        "expect nic lo alone why=\"shares",
    };

    for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *text = g_strdup_printf("# A title\n\n%s\n", lines[i]);
        g_autoptr(GError) error = NULL;
        g_autoptr(IbhCase) cas = ibh_case_parse("bad.case", text, &error);

        if (cas || !g_str_has_prefix(error->message, "bad.case:3: "))
            fail_msg("“%s”: %s", lines[i], cas ? "was read" : error->message);
    }
}

/* The tables whose foreign routes are read: those of rules that lead a candidate's address there, up to the last rule
 * for its source; main and local are read in other ways. */
static void test_tables_that_are_read(void **state G_GNUC_UNUSED)
{
    static const guint32 read[] = {941, 2941, 942, 2942, 200, 300}, others[] = {400, 500, 254, 255, 0};
    g_autoptr(GError) error = NULL;
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhCase) cas = ibh_case_parse("tables.case",
                                            "# Tables\nrails 2\n"
                                            "ip rule add priority 80 lookup main\n"
                                            "ip rule add priority 90 lookup 300\n"
                                            "ip rule add priority 100 from 172.16.34.1 lookup 200\n"
                                            "ip rule add priority 110 from 10.9.9.9 lookup 400\n"
                                            "ip rule add priority 120 lookup 500\n",
                                            &error);
    g_autoptr(IbhSnapshot) snapshot = cas ? fake_snapshot(cas->kernel) : NULL;
    g_auto(IbhScope) scope = {.candidates = NULL};
    g_autoptr(GArray) tables = NULL;

    assert_non_null(cas);
    ibh_scope_init(&scope, snapshot, config);
    tables = ibh_scope_tables(&scope, snapshot, config);
    for (guint i = 0; i < G_N_ELEMENTS(read); i++)
        assert_true(ibh_numbers_have(tables, (int)read[i]));
    for (guint i = 0; i < G_N_ELEMENTS(others); i++)
        assert_false(ibh_numbers_have(tables, (int)others[i]));
}

#define VIA " via 172.16.16.1"
#define SEVEN /* prefixes inside 10.0.0.0/8, each inside those before it */                                            \
    "10.0.0.0/9" VIA ",10.0.0.0/10" VIA ",10.0.0.0/11" VIA ",10.0.0.0/12" VIA ",10.0.0.0/13" VIA ",10.0.0.0/14" VIA    \
    ",10.0.0.0/15" VIA
#define SEVEN_INSIDE /* the same inside the subnet */                                                                  \
    "172.16.0.0/17" VIA ",172.16.0.0/18" VIA ",172.16.0.0/19" VIA ",172.16.0.0/20" VIA ",172.16.0.0/21" VIA            \
    ",172.16.0.0/22" VIA ",172.16.0.0/23" VIA

/* A prefix of remote= that can have no gateway, or no rules, is an error of the configuration; of a NIC that is not a
 * rail it may yet. */
static void test_remote_that_cannot_work(void **state G_GNUC_UNUSED)
{
    static const struct {
        const char *settings, *error; /* a part of it; NULL: none */
    } rows[] = {
        {"remote=10.0.0.0/8", NULL},
        {"gateway=none\nremote=10.0.0.0/8 via 172.16.16.1", NULL},
        {"remote=fd00::/8 via fd00:1::1", NULL}, /* an address of IPv6 may come */
        {"gateway=none\nremote=fd00::/8", NULL},
        {"manage=no\nremote=10.0.0.0/8 via 10.9.0.1", NULL},
        {"gateway=none\nremote=10.0.0.0/8", "c:4: remote=10.0.0.0/8: with gateway=none, this prefix has no gateway"},
        {"remote=10.0.0.0/8, 11.0.0.0/8 via 10.9.0.1",
         "c:3: remote=11.0.0.0/8: the gateway 10.9.0.1 is in no subnet of ib1"},
        {"remote=10.0.0.0/8" VIA "," SEVEN, NULL},
        {"remote=10.0.0.0/16" VIA ",10.0.0.0/8" VIA "," SEVEN,
         "c:3: remote=10.0.0.0/16: the prefix gets no rules, because it lies inside eight"},
        {"remote=10.0.0.0/16" VIA ",10.0.0.0/8," SEVEN, NULL}, /* /8 has no gateway, and so no place in the table */
        {"remote=" SEVEN_INSIDE, NULL},
        {"remote=172.16.0.0/24" VIA "," SEVEN_INSIDE,
         "c:3: remote=172.16.0.0/24: the prefix gets no rules, because it lies inside eight"},
    };
    g_autoptr(IbhCase) up = ibh_case_parse("two", "rails 2\n", NULL);
    g_autoptr(IbhCase) down = ibh_case_parse("one down", "rails 2\nip link set ib1 down\n", NULL);

    for (guint i = 0; i < 2 * G_N_ELEMENTS(rows); i++) {
        const IbhCase *cas = i % 2 ? down : up;
        g_autofree char *text = g_strdup_printf("[interface ib1]\n\n%s\n", rows[i / 2].settings);
        g_autoptr(IbhConfig) config = ibh_config_new();
        g_autoptr(IbhRails) rails = NULL;
        g_autoptr(GError) error = NULL;

        assert_true(ibh_config_add(config, "c", text, strlen(text), NULL, TRUE, NULL));
        rails = ibh_rails_find(config, cas->snapshot, &(IbhRequest){.respects_holds = FALSE}, NULL);
        assert_int_equal(ibh_rails_check_remote(rails, &error), !rows[i / 2].error);
        assert_int_equal(error == NULL, !rows[i / 2].error);
        if (error && !g_str_has_prefix(error->message, rows[i / 2].error))
            fail_msg("expected: %s\ngot: %s", rows[i / 2].error, error->message);
    }
}

/* If the configuration cannot be read, --undo of all takes main=spread away; --undo of one NIC cannot tell. */
static void test_undo_of_spread_without_a_configuration(void **state G_GNUC_UNUSED)
{
    static const char *const ib0[] = {"ib0", NULL};
    static const struct {
        const char *const *only;
        guint operations;
    } rows[] = {{NULL, 1}, {ib0, 0}};
    g_autoptr(IbhCase) cas = ibh_case_parse("two",
                                            "rails 2\nip route add 172.16.0.0/16 table 940 metric mark protocol kernel "
                                            "scope link nexthop dev ib0 nexthop dev ib1\n",
                                            NULL);
    g_autoptr(IbhConfig) config = ibh_config_new();

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        const IbhRequest request = {.only = rows[i].only, .undo = TRUE, .respects_holds = TRUE, .blind = TRUE};
        g_autoptr(IbhRails) rails = ibh_rails_find(config, cas->snapshot, &request, NULL);
        g_autoptr(GPtrArray) plan = ibh_plan(rails);
        guint operations = 0;

        IBH_EACH_POINTER (const IbhOp, op, plan)
            operations += op->unit.kind == IBH_UNIT_SPREAD;
        assert_int_equal(operations, rows[i].operations);
    }
}

static GPtrArray *find_cases(void)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *only = g_getenv("IBH_CASE");
    g_autoptr(GDir) directory = g_dir_open(CASES, 0, NULL);
    const char *file;

    while (directory && (file = g_dir_read_name(directory))) {
        g_autofree char *name = NULL;

        if (!g_str_has_suffix(file, SUFFIX))
            continue;
        name = g_strndup(file, strlen(file) - strlen(SUFFIX));
        if (!only || g_str_equal(name, only))
            g_ptr_array_add(names, g_steal_pointer(&name));
    }
    g_ptr_array_sort(names, by_name);
    return names;
}

int main(void)
{
    g_autoptr(GPtrArray) names = find_cases();
    g_autofree struct CMUnitTest *tests = g_new0(struct CMUnitTest, names->len + 4);

    if (!names->len) {
        g_printerr("no case in %s\n", CASES);
        return EXIT_FAILURE;
    }
    for (guint i = 0; i < names->len; i++)
        tests[i] = (struct CMUnitTest){line(names, i), test_case, NULL, NULL, g_ptr_array_index(names, i)};
    tests[names->len] = (struct CMUnitTest)cmocka_unit_test(test_bad_lines);
    tests[names->len + 1] = (struct CMUnitTest)cmocka_unit_test(test_remote_that_cannot_work);
    tests[names->len + 2] = (struct CMUnitTest)cmocka_unit_test(test_undo_of_spread_without_a_configuration);
    tests[names->len + 3] = (struct CMUnitTest)cmocka_unit_test(test_tables_that_are_read);
    return _cmocka_run_group_tests("plan", tests, names->len + 4, NULL, NULL);
}
