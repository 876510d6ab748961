/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports, whole: each is a file in report/, which IBH_WRITE=1 writes anew. Then names that nobody should see as they
 * are. Whether what --json prints is as the schema says: netns/test-json-schema.sh.
 */
#include "case_text.h"
#include "plan/plan.h"
#include "cli/cli.h"
#include "speaks.h"
#include "walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

/* ---- a world, and what is to be told of it ------------------------------------------------------------- */

typedef struct {
    IbhCase *cas;
    IbhConfig *config;
    IbhRails *rails;
    GPtrArray *plan;
    GPtrArray *findings; /* IbhFinding * */
    GPtrArray *errors;   /* char * */
    GArray *missed;      /* IbhKnownRail */
    IbhCheck *check;     /* NULL: its findings are made by hand */
    IbhReport report;    /* with everything in it */
} World;

static void world_clear(World *world)
{
    g_clear_pointer(&world->check, ibh_check_free);
    g_array_unref(world->missed);
    g_ptr_array_unref(world->errors);
    g_ptr_array_unref(world->findings);
    g_ptr_array_unref(world->plan);
    ibh_rails_free(world->rails);
    ibh_config_free(world->config);
    ibh_case_free(world->cas);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(World, world_clear)

/* `fix`: NULL: advice */
static void add_finding(const World *world, const char *ifaces, IbhSeverity severity, const char *code,
                        const char *message, const char *fix)
{
    g_auto(GStrv) names = g_strsplit(ifaces, " ", -1);
    IbhFinding *finding = ibh_finding_add(
        world->findings, names[0] ? names[0] : "", severity, code,
        fix ? (IbhRemedy){.fix = g_strdup(fix)} : ibh_remedy_advice("look at %s", message), "%s", message);

    for (char **name = names; *name; name++)
        ibh_finding_add_iface(finding, *name);
}

/* Names that the text format cannot hold are given afterwards. */
static void rename_links(const IbhSnapshot *snapshot, const char *const *names)
{
    for (guint i = 0; names && names[i] && i < snapshot->links->len; i++) {
        IbhLink *link = &g_array_index(snapshot->links, IbhLink, i);

        g_strlcpy(link->name, names[i], sizeof link->name);
        if (link->rdma[0])
            g_strlcpy(link->rdma, names[i], sizeof link->rdma);
    }
}

static World look_renamed(const char *text, const char *const *names)
{
    g_autoptr(GError) error = NULL;
    World world = {.cas = ibh_case_parse("world", text, &error), .config = ibh_config_new()};
    const char *const *only;

    if (!world.cas)
        fail_msg("%s", error->message);
    assert_true(
        ibh_config_add(world.config, "config", world.cas->config->str, world.cas->config->len, NULL, TRUE, NULL));
    rename_links(world.cas->snapshot, names);
    fake_snapshot_add_main(world.cas->snapshot->routes, world.cas->snapshot, world.config);
    only = ibh_case_only(world.cas);
    world.rails = ibh_rails_find(world.config, world.cas->snapshot,
                                 &(IbhRequest){.only = only, .undo = world.cas->undo, .respects_holds = TRUE}, &error);
    world.plan = ibh_plan(world.rails);
    world.findings = ibh_findings_new();
    world.errors = g_ptr_array_new_with_free_func(g_free);
    world.missed = g_array_new(FALSE, TRUE, sizeof(IbhKnownRail));
    world.report = (IbhReport){
        .rails = world.rails, .facts = world.cas->facts, .findings = world.findings, .missed = world.missed};
    return world;
}

static World look(const char *text)
{
    return look_renamed(text, NULL);
}

#define LINKS                                                                                                          \
    "nic ib0 infiniband rdma mlx5_0/1 arp_announce=2 arp_ignore=1\n"                                                   \
    "nic ib1 infiniband rdma mlx5_1/1 no-carrier rp_filter=1\n"                                                        \
    "nic eth0\n"                                                                                                       \
    "nic ib2 infiniband down\n"
#define ADDRESSES                                                                                                      \
    "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/16 dev ib1\n"                                   \
    "ip address add 10.0.0.1/32 dev ib1\nip address add 10.0.0.2/32 dev ib1\nip address add 10.0.0.3/32 dev ib1\n"     \
    "ip address add 192.168.1.5/24 dev eth0\nip address add fd00:16::34:1/64 dev ib0\n"                                \
    "ip address add fd00:16::34:9/64 dev ib0 tentative\nip address add fe80::34:1/64 dev ib0 scope link\n"
#define OURS " suppress_ifgroup mark protocol kernel\n"
#define HALF                                                                                                           \
    "ip route add 172.16.0.0/16 dev ib0 src 172.16.34.1 table 941 metric mark protocol kernel\n"                       \
    "ip rule add priority 1940 from 172.16.34.1 to 172.16.0.0/16 lookup main suppress_prefixlength 16" OURS            \
    "ip rule add priority 1941 from 172.16.34.1 to 172.16.0.0/16 lookup 941" OURS                                      \
    "ip rule add priority 1941 from 172.16.34.2 to 172.16.0.0/16 lookup 942" OURS
#define HOST LINKS ADDRESSES HALF "ip rule add priority 1941 from 172.16.99.9 to 172.16.0.0/16 lookup 999" OURS
#define NO_RAILS "nic ib0 infiniband\nip address add 172.16.34.1/16 dev ib0\n"
#define TRIO                                                                                                           \
    "nic ib0 infiniband\nnic ib1 infiniband\nnic ib2 infiniband\nip address add 172.16.34.1/16 dev ib0\n"              \
    "ip address add 172.16.34.2/16 dev ib1\nip address add 172.16.34.3/16 dev ib2\n"

/* ---- screens: a host, and what --check finds on it ----------------------------------------------------- */

#define NIC(n) "nic ib" #n " infiniband rdma mlx5_" #n "/1 arp_announce=2 arp_ignore=1\n"
#define PLAIN(n) "nic ib" #n " infiniband rdma mlx5_" #n "/1\n"
#define ADDRESS(n, ip) "ip address add 172.16.34." ip "/16 dev ib" #n "\n"
#define ROUTED(n, ip, table)                                                                                           \
    "ip route add 172.16.0.0/16 dev ib" #n " src 172.16.34." ip " table " table " metric mark protocol kernel\n"       \
    "ip rule add priority 1940 from 172.16.34." ip " to 172.16.0.0/16 lookup main suppress_prefixlength 16" OURS       \
    "ip rule add priority 1941 from 172.16.34." ip " to 172.16.0.0/16 lookup " table OURS
#define EIGHT(each) each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7)
#define ADDRESSES8                                                                                                     \
    ADDRESS(0, "1")                                                                                                    \
    ADDRESS(1, "2") ADDRESS(2, "3") ADDRESS(3, "4") ADDRESS(4, "5") ADDRESS(5, "6") ADDRESS(6, "7") ADDRESS(7, "8")
#define RIGHT8                                                                                                         \
    EIGHT(NIC)                                                                                                         \
    ADDRESSES8 ROUTED(0, "1", "941") ROUTED(1, "2", "942") ROUTED(2, "3", "943") ROUTED(3, "4", "944")                 \
        ROUTED(4, "5", "945") ROUTED(5, "6", "946") ROUTED(6, "7", "947") ROUTED(7, "8", "948")
#define MIGRATED(n, ip, table)                                                                                         \
    "ip route add 172.16.0.0/16 dev ib" #n " src 172.16.34." ip " table " table " protocol static scope link\n"        \
    "ip rule add priority 100 from 172.16.34." ip " to 172.16.0.0/16 lookup " table " protocol static\n"
#define RAILS2 NIC(0) NIC(1) ADDRESS(0, "1") ADDRESS(1, "2")
#define RIGHT2 RAILS2 ROUTED(0, "1", "941") ROUTED(1, "2", "942")

static const struct {
    const char *file, *host;
} screens[] = {
    {"screen-plain", EIGHT(PLAIN) ADDRESSES8},
    {"screen-plain-two", PLAIN(0) PLAIN(1) ADDRESS(0, "1") ADDRESS(1, "2")},
    {"screen-right", RIGHT8},
    {"screen-foreign-rule",
     RIGHT8 "ip rule add priority 100 lookup 700\nip route add 172.16.0.0/16 dev ib0 table 700\n"},
    {"screen-cable-out", NIC(0) "nic ib1 infiniband rdma mlx5_1/1 arp_announce=2 arp_ignore=1 no-carrier\n" ADDRESS(
                             0, "1") ADDRESS(1, "2") ROUTED(0, "1", "941") ROUTED(1, "2", "942")},
    {"screen-migrated", RAILS2 MIGRATED(0, "1", "941") MIGRATED(1, "2", "942")},
    {"screen-bridge-inside", RIGHT2 "ip link add docker0 up type bridge\nip address add 172.16.99.1/24 dev docker0\n"},
    {"screen-default-of-one",
     RIGHT2 "ip route add default via 172.16.0.254 dev ib0 protocol static\n"
            "ip route add default via 172.16.0.254 dev ib0 onlink table 2941 metric mark protocol kernel\n"
            "ip rule add priority 32764 from 172.16.34.1 lookup main suppress_prefixlength 0" OURS
            "ip rule add priority 32765 from 172.16.34.1 lookup 2941" OURS},
    {"screen-strict-beside",
     NIC(0) "nic ib1 infiniband rdma mlx5_1/1 rp_filter=1 arp_filter=1 arp_announce=2 arp_ignore=2\n" NIC(2)
         ADDRESS(0, "1") ADDRESS(1, "2") ADDRESS(2, "3") ROUTED(0, "1", "941") ROUTED(1, "2", "942") ROUTED(
             2, "3", "943") "config [interface ib1] arp=strict\nip route add 10.66.0.0/16 via 172.16.0.9 dev ib0\n"},
    {"screen-single-address", RIGHT2
     "ip address add fd00:99::9/128 dev ib1\nip -6 route add default via fe80::1 dev ib1 protocol ra metric 1024\n"
     "ip -6 route add default via fe80::1 dev ib1 table 2942 metric mark protocol kernel\n"
     "ip rule add priority 32764 from fd00:99::9 lookup main suppress_prefixlength 0" OURS
     "ip rule add priority 32765 from fd00:99::9 lookup 2942" OURS},
    {"screen-no-gateway-yet", RIGHT2 "ip route add default via 172.16.0.254 dev ib0 protocol static\n"},
};

/* On a terminal of 80 columns, and whole. What was not checked, JSON tells, too. */
static void test_screen(void **state)
{
    const gsize i = GPOINTER_TO_SIZE(*state);
    g_auto(World) world = look(screens[i].host);
    g_autofree char *screen = NULL, *whole = NULL, *both = NULL, *json = NULL;

    world.report.check = world.check = ibh_check_new(world.rails, world.cas->facts, NULL);
    walk_answer(world.check);
    ibh_check_judge(world.check, world.plan, world.missed, world.findings);
    world.report.action = IBH_ACTION_CHECK;
    screen = ibh_report(&world.report, ibh_report_text, &(IbhStyle){.width = 80});
    whole = ibh_report(&world.report, ibh_report_text, &(IbhStyle){0});
    both = g_strdup_printf("%s----\n%s", screen, whole);
    check_report_file(screens[i].file, both);
    json = ibh_report(&world.report, ibh_report_json, &(IbhStyle){0});
    assert_int_equal(!strstr(json, "\"unchecked\":[\""), !strstr(whole, "not checked"));
}

/* ---- whole reports ------------------------------------------------------------------------------------- */

static const struct {
    const char *file;
    const char *host;
    IbhAction action;
    IbhWriter *writer;
    IbhStyle style;
    gboolean wrong; /* with findings, a NIC that is missing, or an operation that failed */
} cases[] = {
    {"show", HOST, IBH_ACTION_SHOW, ibh_report_text, {0}, TRUE},
    {"show-terminal", HOST, IBH_ACTION_SHOW, ibh_report_text, {.width = 80}, TRUE},
    {"show-verbose", HOST, IBH_ACTION_SHOW, ibh_report_text, {.verbose = TRUE}, FALSE},
    {"show-no-rails", NO_RAILS, IBH_ACTION_SHOW, ibh_report_text, {0}, FALSE},
    {"show-nothing", "", IBH_ACTION_SHOW, ibh_report_text, {0}, FALSE},
    {"show-spread", HOST "config [defaults] main=spread\n", IBH_ACTION_SHOW, ibh_report_text, {0}, FALSE},
    {"show.json", HOST, IBH_ACTION_SHOW, ibh_report_json, {0}, TRUE},
    {"check", HOST, IBH_ACTION_CHECK, ibh_report_text, {0}, TRUE},
    {"check-colors", HOST, IBH_ACTION_CHECK, ibh_report_text, {.color = TRUE}, TRUE},
    {"check-terminal", HOST, IBH_ACTION_CHECK, ibh_report_text, {.width = 80}, TRUE},
    {"check-quiet", HOST, IBH_ACTION_CHECK, ibh_report_text, {.quiet = TRUE}, TRUE},
    {"check-verbose", HOST, IBH_ACTION_CHECK, ibh_report_text, {.verbose = TRUE}, TRUE},
    {"check-right", HOST, IBH_ACTION_CHECK, ibh_report_text, {0}, FALSE},
    {"check-right-colors", HOST, IBH_ACTION_CHECK, ibh_report_text, {.color = TRUE}, FALSE},
    {"check-right-quiet", HOST, IBH_ACTION_CHECK, ibh_report_text, {.quiet = TRUE}, FALSE},
    {"check-only", HOST "do apply only ib1\n", IBH_ACTION_CHECK, ibh_report_text, {0}, FALSE},
    {"check-verbose.json", HOST, IBH_ACTION_CHECK, ibh_report_json, {.verbose = TRUE}, FALSE},
    {"check.prom", HOST, IBH_ACTION_CHECK, ibh_report_prometheus, {0}, TRUE},
    {"check-no-rails.prom", NO_RAILS, IBH_ACTION_CHECK, ibh_report_prometheus, {0}, FALSE},
    {"plan", HOST, IBH_ACTION_PLAN, ibh_report_text, {0}, FALSE},
    {"plan-nothing", NO_RAILS, IBH_ACTION_PLAN, ibh_report_text, {0}, FALSE},
    {"plan.json", HOST, IBH_ACTION_PLAN, ibh_report_json, {0}, FALSE},
    {"apply", HOST, IBH_ACTION_APPLY, ibh_report_text, {0}, FALSE},
    {"apply-failed", HOST, IBH_ACTION_APPLY, ibh_report_text, {0}, TRUE},
    {"apply-failed.json", HOST, IBH_ACTION_APPLY, ibh_report_json, {0}, TRUE},
    {"undo", HOST "do undo\n", IBH_ACTION_UNDO, ibh_report_text, {.verbose = TRUE}, FALSE},
    {"undo.json", HOST "do undo\n", IBH_ACTION_UNDO, ibh_report_json, {0}, FALSE},
};

static void make_wrong(World *world, IbhAction action)
{
    const IbhKnownRail gone = {.iface = "ib9", .since = 86400, .why = IBH_IS_GONE};

    if (action == IBH_ACTION_APPLY) {
        g_ptr_array_set_size(world->plan, 1);
        g_ptr_array_add(world->errors, g_strdup("ib0: \"one\""));
        g_ptr_array_add(world->errors, g_strdup("ib1: two"));
        return;
    }
    g_array_append_val(world->missed, gone);
    add_finding(world, "ib1", IBH_WARNING, "sysctl-wrong", "rp_filter", "sudo ib-hook --apply");
    add_finding(world, "ib1", IBH_ERROR, "rule-missing", "first", "sudo ib-hook --apply --iface ib1");
    add_finding(world, "ib0 ib1 ib2", IBH_ERROR, "foreign-rule",
                "a message of words that are many more than a line of eighty columns has room for, to be cut", NULL);
    add_finding(world, "ib0", IBH_INFO, "foreign-route", "a note", NULL);
    add_finding(world, "ib1", IBH_ERROR, "rule-missing", "second", NULL);
    add_finding(world, "ib9", IBH_ERROR, "nic-gone", "its PCI device is gone", NULL);
    add_finding(world, "", IBH_WARNING, "memlock-low", "of the host", NULL);
}

static void test_file(void **state)
{
    const gsize i = GPOINTER_TO_SIZE(*state);
    g_auto(World) world = look(cases[i].host);
    g_autofree char *got = NULL;
    IbhReport report = world.report;

    report.action = cases[i].action;
    if (cases[i].action > IBH_ACTION_CHECK) {
        report.findings = NULL;
        report.ops = world.plan;
        report.errors = world.errors;
        report.holds = cases[i].action == IBH_ACTION_UNDO;
    }
    if (cases[i].wrong)
        make_wrong(&world, cases[i].action);
    got = ibh_report(&report, cases[i].writer, &cases[i].style);
    check_report_file(cases[i].file, got);
}

/* How long it stays undone: as long as the hold that was saved; of a NIC that is gone there is none. */
static void test_undone(void **state G_GNUC_UNUSED)
{
    static const struct {
        gboolean holds, forgets;
        const char *line;
    } undone[] = {
        {TRUE, FALSE, "undone: 10 changes, until --apply or a reboot\n"},
        {FALSE, TRUE, "undone: 10 changes, until the next event\n"},
        {FALSE, FALSE, "undone: 10 changes\n"},
    };
    g_auto(World) world = look(HOST "do undo\n");

    for (gsize i = 0; i < G_N_ELEMENTS(undone); i++) {
        const IbhReport report = {.action = IBH_ACTION_UNDO,
                                  .rails = world.report.rails,
                                  .ops = world.plan,
                                  .holds = undone[i].holds,
                                  .forgets = undone[i].forgets};
        g_autofree char *text = ibh_report(&report, ibh_report_text, &(IbhStyle){0});

        assert_string_equal(text, undone[i].line);
    }
}

/* What the host's line says is enough, where it names a command. */
static void test_verdicts(void **state)
{
    static const struct {
        const char *ifaces[3], *fixes[3];
        const char *line;
    } verdicts[] = {
        {{"ib0", "ib1", "ib0"},
         {"sudo ib-hook --apply", "sudo ib-hook --apply --iface ib1", "sudo ib-hook --apply"},
         "error: ib0 and ib1 are wrong; fix: sudo ib-hook --apply"},
        {{"ib0", "ib1", "ib0"},
         {"sudo ib-hook --apply", "sudo ib-hook --apply", NULL},
         "error: ib0 and ib1 are wrong; why: ib-hook --check -v"},
        {{"ib1", "ib1", NULL},
         {"sudo ib-hook --apply --iface ib1", "sudo ib-hook --apply --iface ib1", NULL},
         "error: ib1 is wrong; fix: sudo ib-hook --apply --iface ib1"},
        {{"ib0", "ib1", NULL},
         {"sudo ib-hook --apply --iface ib0", "sudo ib-hook --apply --iface ib1", NULL},
         "error: ib0 and ib1 are wrong; why: ib-hook --check -v"},
        {{"ib0", "ib2", "ib0"},
         {"modprobe x", "modprobe x", "modprobe x"},
         "error: ib0 and ib2 are wrong; fix: sudo modprobe x"},
        {{"ib0", "ib2", "ib0"},
         {"modprobe x", "modprobe y", "modprobe x"},
         "error: ib0 and ib2 are wrong; why: ib-hook --check -v"},
        {{"ib9", NULL, NULL}, {NULL, NULL, NULL}, "error: ib9: message"},
        {{"ib9", NULL, NULL}, {"x", NULL, NULL}, "error: ib9: message; fix: sudo x"},
        {{"ib0 ib1", NULL, NULL}, {NULL, NULL, NULL}, "error: ib0 and ib1: message"},
        {{"", NULL, NULL}, {"modprobe x", NULL, NULL}, "error: message; fix: sudo modprobe x"},
        {{NULL, NULL, NULL}, {NULL, NULL, NULL}, "ok: 3 rails"},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(verdicts); i++) {
        g_auto(World) world = look(TRIO);
        g_autofree char *text = NULL;

        for (int j = 0; j < 3 && verdicts[i].ifaces[j]; j++)
            add_finding(&world, verdicts[i].ifaces[j], IBH_ERROR, "code", "message", verdicts[i].fixes[j]);
        world.report.action = IBH_ACTION_CHECK;
        text = ibh_report(&world.report, ibh_report_text, &(IbhStyle){0});
        assert_true(strchr(text, '\n'));
        *strchr(text, '\n') = '\0';
        assert_string_equal(text, verdicts[i].line);
    }
}

/* No rails, because the configuration wants none, or because what was one is away. */
static void test_no_rails(void **state)
{
    g_auto(World) none = look(TRIO "config [interface *] manage=no\n"), away = look(NO_RAILS);
    const IbhKnownRail gone = {.iface = "ib7", .why = IBH_ELSEWHERE}, down = {.iface = "ib8", .why = IBH_ON_PURPOSE};
    g_autofree char *off = NULL, *missing = NULL, *both = NULL;

    (void)state;
    none.report.action = away.report.action = IBH_ACTION_CHECK;
    g_array_append_val(away.missed, gone);
    off = ibh_report(&none.report, ibh_report_text, &(IbhStyle){0});
    missing = ibh_report(&away.report, ibh_report_text, &(IbhStyle){0});
    assert_string_equal(off, "no rails: manage=no switches off ib0, ib1 and ib2\n");
    assert_string_equal(missing, "no rails: ib7 is missing: its hardware is there, but has no interface in "
                                 "this network namespace\n");
    g_array_append_val(away.missed, down);
    both = ibh_report(&away.report, ibh_report_text, &(IbhStyle){0});
    assert_string_equal(both, "no rails: ib7 and ib8 are missing (ib-hook --show says why)\n");
}

/* The hardware of a rail is with a pod, and another NIC has the rail's name now: the finding is about no NIC. */
static void test_lost_name(void **state)
{
    const IbhKnownRail moved = {.iface = "ib1", .hardware = "00:00:00:00:00:00:00:99", .why = IBH_ELSEWHERE};
    g_auto(World) world = look(RIGHT2);
    g_autofree char *text = NULL;

    (void)state;
    world.report.action = IBH_ACTION_CHECK;
    g_array_append_val(world.missed, moved);
    world.report.check = world.check = ibh_check_new(world.rails, world.cas->facts, NULL);
    walk_answer(world.check);
    ibh_check_judge(world.check, world.plan, world.missed, world.findings);
    text = ibh_report(&world.report, ibh_report_text, &(IbhStyle){0});
    *strchr(text, '\n') = '\0';
    assert_string_equal(text, "ok: 2 rails; another rail is away");
}

static char *tell_error(const char *message, IbhWriter *writer)
{
    const IbhReport report = {.status = 2, .message = message};

    return ibh_report(&report, writer, &(IbhStyle){0});
}

static void test_error(void **state)
{
    g_autofree char *text = tell_error("first\nsecond \033[31m", ibh_report_text);
    g_autofree char *json = tell_error("a \"word\" \\ \xff\033\177 and\nmore \xc3\xb6", ibh_report_json);
    g_autofree char *unseen = tell_error("\xc2\x9b \xe2\x80\xae \xf3\xa0\x81\xa9", ibh_report_json);

    (void)state;
    assert_string_equal(text, "ib-hook: first?second ?[31m\n");
    assert_string_equal(json, "{\"ok\":false,\"error\":{\"exit\":2,\"message\":"
                              "\"a \\\"word\\\" \\\\ \xef\xbf\xbd\\u001b\\u007f and\\u000amore \xc3\xb6\"}}\n");
    assert_string_equal(unseen,
                        "{\"ok\":false,\"error\":{\"exit\":2,\"message\":\"\\u009b \\u202e \\udb40\\udc69\"}}\n");
}

static void test_operation_names(void **state)
{
    static const char *const NAMES[] = {
        [IBH_OP_RULE_ADD] = "rule-add",   [IBH_OP_RULE_DEL] = "rule-del",           [IBH_OP_ROUTE_ADD] = "route-add",
        [IBH_OP_ROUTE_DEL] = "route-del", [IBH_OP_ROUTE_REPLACE] = "route-replace", [IBH_OP_SYSCTL_SET] = "sysctl-set",
        [IBH_OP_ANNOUNCE] = "announce",   [IBH_OP_NEIGH_DEL] = "neigh-del"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(NAMES); i++)
        assert_string_equal(ibh_op_name((IbhOpType)i), NAMES[i]);
}

/* ---- names that the kernel would take, and nobody should see as they are ------------------------------- */

static const char *const HOSTILE[] = {
    "\033[31mred\033[0m", /* a colour */
    "\033]0;title\a",     /* the terminal's title */
    "\"quoted\"",
    "back\\slash\\",
    "a\001\002\177b\r\b", /* control characters */
    "\xff\xfe\x80",       /* no UTF-8 */
    "cut\xe2\x82",        /* the beginning of a character */
    ("\xc2\x9b"
     "31mred"),             /* a control sequence in one character (C1) */
    "a\xe2\x80\xaetxt.exe", /* the rest is shown from right to left */
    "i\xe2\x80\x8b"
    "b0", /* a blank of no width */
    "a\xe2\x80\xa8"
    "b",                                /* another end of a line */
    "\xef\xbb\xbfib0",                  /* a byte order mark */
    "\xf3\xa0\x81\xa9\xf3\xa0\x81\xa2", /* letters that nothing shows, beyond 16 bits */
    "two\nlines",
    "%s%n%s",
    "K\xc3\xb6ln",
    "</script>",
};

/* Nothing but what a person sees, and ends of lines. */
static void check_printable(const char *text)
{
    g_autofree gunichar *characters = g_utf8_to_ucs4(text, -1, NULL, NULL, NULL);

    if (!characters)
        fail_msg("no UTF-8: %s", text);
    for (const gunichar *at = characters; *at; at++) {
        const GUnicodeType type = g_unichar_type(*at);

        if (*at != '\n' && (type <= G_UNICODE_UNASSIGNED || type == G_UNICODE_SURROGATE ||
                            type == G_UNICODE_LINE_SEPARATOR || type == G_UNICODE_PARAGRAPH_SEPARATOR))
            fail_msg("the character %#x is in the text", *at);
    }
}

static guint count_lines(const char *text)
{
    guint n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static char *report_named(const char *a, const char *b, IbhAction action, IbhWriter *writer)
{
    const char *const names[] = {"lo", a, b, NULL};
    g_auto(World) world = look_renamed(HOST, names);

    add_finding(&world, "", IBH_ERROR, "route-missing", a, NULL);
    ibh_finding_add_iface(g_ptr_array_index(world.findings, 0), a);
    g_ptr_array_add(world.errors, g_strdup(a));
    world.report.action = action;
    world.report.ops = action > IBH_ACTION_CHECK ? world.plan : NULL;
    world.report.errors = world.errors;
    return ibh_report(&world.report, writer, &(IbhStyle){.verbose = TRUE});
}

static void test_hostile_names(void **state)
{
    static const IbhAction actions[] = {IBH_ACTION_SHOW, IBH_ACTION_CHECK, IBH_ACTION_PLAN, IBH_ACTION_APPLY,
                                        IBH_ACTION_UNDO};
    IbhWriter *const writers[] = {ibh_report_text, ibh_report_json, ibh_report_prometheus};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(HOSTILE) * G_N_ELEMENTS(actions) * G_N_ELEMENTS(writers); i++) {
        const char *name = HOSTILE[i % G_N_ELEMENTS(HOSTILE)];
        IbhAction action = actions[i / G_N_ELEMENTS(HOSTILE) % G_N_ELEMENTS(actions)];
        IbhWriter *writer = writers[i / G_N_ELEMENTS(HOSTILE) / G_N_ELEMENTS(actions)];
        g_autofree char *text = report_named(name, "ib1", action, writer);
        g_autofree char *harmless = report_named("ib0", "ib1", action, writer);

        check_printable(text);
        assert_int_equal(count_lines(text), writer == ibh_report_json ? 1 : count_lines(harmless));
    }
}

/* A terminal has columns for characters, not for bytes: this line has 84 characters, and 91 bytes. */
static void test_verdict_of_letters(void **state)
{
    const char *const names[] = {"lo", "\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6", "ib1", NULL};
    g_auto(World) world = look_renamed(HOST, names);
    g_autofree char *text = NULL;

    (void)state;
    add_finding(&world, names[1], IBH_ERROR, "foreign-rule",
                "what is wrong with it takes this many letters; this is its last word", NULL);
    world.report.action = IBH_ACTION_CHECK;
    text = ibh_report(&world.report, ibh_report_text, &(IbhStyle){.width = 84});
    assert_true(g_str_has_prefix(text, "error: "));
    *strchr(text, '\n') = '\0';
    if (!g_str_has_suffix(text, "last word"))
        fail_msg("%s", text);
}

/* A series may exist only once, and Prometheus refuses all of a file in which one stands twice. */
static void test_names_that_look_alike(void **state)
{
    g_autofree char *text = report_named("\001", "\002", IBH_ACTION_CHECK, ibh_report_prometheus);
    const char *first = strstr(text, "\nib_hook_rail_ok{device=\"?\"} 0\n");

    (void)state;
    assert_non_null(first);
    assert_null(strstr(first + 1, "\nib_hook_rail_ok{"));
}

int main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(test_undone),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_no_rails),
        cmocka_unit_test(test_lost_name),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_operation_names),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_names_that_look_alike),
        cmocka_unit_test(test_verdict_of_letters),
    };
    struct CMUnitTest tests[G_N_ELEMENTS(cases) + G_N_ELEMENTS(screens) + G_N_ELEMENTS(others)], *next = tests;

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        *next++ = (struct CMUnitTest){cases[i].file, test_file, NULL, NULL, GSIZE_TO_POINTER(i)};
    for (gsize i = 0; i < G_N_ELEMENTS(screens); i++)
        *next++ = (struct CMUnitTest){screens[i].file, test_screen, NULL, NULL, GSIZE_TO_POINTER(i)};
    memcpy(next, others, sizeof others);
    return _cmocka_run_group_tests("report", tests, G_N_ELEMENTS(tests), NULL, NULL);
}
