/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "case_text.h"
#include "check/legacy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#define HOST                                                                                                           \
    "nic ib0 infiniband rdma mlx5_0/1\nnic ib1 infiniband rdma mlx5_1/1\n"                                             \
    "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/16 dev ib1\n"                                   \
    "ip address add fd00::1/64 dev ib0\n"
/* Somebody's rule for an address of ib0. */
#define TRACE                                                                                                          \
    "ip rule add priority 500 from 172.16.34.1 lookup 941\n"                                                           \
    "ip route add 172.16.0.0/16 dev ib0 table 941\n"

typedef struct {
    const char *text;
    const char *expected; /* what of it concerns ib0; NULL: nothing */
    IbhScriptKind kind;
    const char *path;
    const char *host;
} Case;

static const struct {
    const char *text, *expected;
} SHELL[] = {
    {"ip rule add from 172.16.34.1 table 941", "ip rule add from 172.16.34.1 table 941"},
    {"ip rule add table 941 from 172.16.34.1/32", "ip rule add table 941 from 172.16.34.1/32"},
    {"ip rule add from 172.16.0.0/16 lookup rails", "ip rule add from 172.16.0.0/16 lookup rails"},
    {"ip -6 rule add from fd00::1 lookup 9", "ip -6 rule add from fd00::1 lookup 9"},
    {"if true; then /usr/sbin/ip ru a from '172.16.34.1' table \"941\"; fi",
     "/usr/sbin/ip ru a from 172.16.34.1 table 941"},
    {"x && { ip rule add from 172.16.34.1 table 941; }", "ip rule add from 172.16.34.1 table 941"},
    {"( ip route replace 10.0.0.0/8 dev ib0 table 7 )", "ip route replace 10.0.0.0/8 dev ib0 table 7"},
    {"ip rule add from 172.16.34.2 table 942 ip rule add from 172.16.34.1 table 941",
     "ip rule add from 172.16.34.1 table 941"},
    {"ip rule add \\\n from 172.16.34.1 \\\n table 941", "ip rule add from 172.16.34.1 table 941"},
    {"ip rule add from 172.16.34.2 table 942", NULL},
    {"ip rule add from 172.16.34.1", NULL},
    {"ip rule add from 172.16.34.1 table main", NULL},
    {"ip rule add from 172.16.34.1\ntable 941", NULL},
    {"ip rule add from all table 941", NULL},
    {"ip rule add from 0.0.0.0/0 table 941", NULL},
    {"ip rule add from 300.1.1.1 table 941", NULL},
    {"ip rule del from 172.16.34.1 table 941", NULL},
    {"ip rule show from 172.16.34.1 table 941", NULL},
    {"ip route add 172.16.0.0/16 dev ib0", NULL},
    {"ip route add 172.16.0.0/16 dev ib01 table 7", NULL},
    {"zip rule add from 172.16.34.1 table 941", NULL},
    {"# ip rule add from 172.16.34.1 table 941", NULL},
    {"ip", NULL},
    {"ip rule", NULL},
    {"ip rule add from", NULL},
    {"ip rule add from 172.16.34.1 table", NULL},
    {"ip rule add from $(", NULL},
    {"ip rule add from \\", NULL},
    {"\\\n", NULL},
    {"", NULL},
    {"ip rule add from $IP table 941", NULL},
};

static const Case CASES[] = {
    {"ip rule add from $IP table 941", "ip rule add from $IP table 941", IBH_SCRIPT_SHELL, NULL, HOST TRACE},
    {"ip rule add from $(echo $(x) y) table 941", "ip rule add from $ table 941", IBH_SCRIPT_SHELL, NULL, HOST TRACE},
    {"ip rule add from 172.16.34.2 table 942", NULL, IBH_SCRIPT_SHELL, NULL, HOST TRACE},
    {"table 941 from 172.16.34.1", "ip rule add table 941 from 172.16.34.1", IBH_SCRIPT_RULES, "/x/rule-ib9", HOST},
    {"172.16.0.0/16 table 941", "ip route add 172.16.0.0/16 table 941 dev ib0", IBH_SCRIPT_ROUTES, "/x/route-ib0",
     HOST},
    {"172.16.0.0/16 table 941", NULL, IBH_SCRIPT_ROUTES, "/x-ib0/route-ib1", HOST},
    {"ADDRESS0=172.16.0.0", NULL, IBH_SCRIPT_ROUTES, "/x/route-ib0", HOST},
    {"routing-policy:\n - from: 172.16.34.1\n", "routing-policy: from: 172.16.34.1", IBH_SCRIPT_NETPLAN, NULL, HOST},
    {"routing-policy: [{table: 9, from: '172.16.34.1/32'}]", "routing-policy: from: 172.16.34.1/32", IBH_SCRIPT_NETPLAN,
     NULL, HOST},
    {"routes:\n - from: 172.16.34.1\n", NULL, IBH_SCRIPT_NETPLAN, NULL, HOST},
    {"routing-policy:\n - to: 172.16.34.1\n", NULL, IBH_SCRIPT_NETPLAN, NULL, HOST},
    {"routing-policy: from:", NULL, IBH_SCRIPT_NETPLAN, NULL, HOST},
};

typedef struct {
    IbhCase *cas;
    IbhConfig *config;
    IbhRails *rails;
    const IbhNic *nic;
} World;

/* With manage=yes: else NICs that a script routes by tables of its own are left to it. */
static World look(const char *host)
{
    static const char *const CONFIG = "[defaults]\nmanage=yes\n";
    g_autoptr(GError) error = NULL;
    World world = {.cas = ibh_case_parse("host", host, &error), .config = ibh_config_new()};

    assert_non_null(world.cas);
    assert_true(ibh_config_add(world.config, "test", CONFIG, strlen(CONFIG), NULL, NULL, &error));
    world.rails = ibh_rails_find(world.config, world.cas->snapshot, FALSE, &error);
    assert_non_null(world.rails);
    world.nic = ibh_rails_nic(world.rails, 2);
    assert_int_equal(world.nic->status, IBH_NIC_RAIL);
    return world;
}

static void world_clear(World *world)
{
    ibh_rails_free(world->rails);
    ibh_config_free(world->config);
    ibh_case_free(world->cas);
}

static IbhScript make_script(const Case *cas)
{
    return (IbhScript){
        .kind = cas->kind, .path = g_strdup(cas->path ? cas->path : "/x/hook"), .text = g_strdup(cas->text)};
}

static void check_case(const Case *cas)
{
    World world = look(cas->host);
    IbhScript script = make_script(cas);
    g_autofree char *command = ibh_legacy_command(&script, world.rails, world.nic);

    if (g_strcmp0(command, cas->expected) != 0)
        fail_msg("%s: expected %s, got %s", cas->text, cas->expected, command);
    g_free(script.path);
    g_free(script.text);
    world_clear(&world);
}

static void test_commands(void **state)
{
    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(SHELL); i++) {
        const Case cas = {SHELL[i].text, SHELL[i].expected, IBH_SCRIPT_SHELL, NULL, HOST};

        check_case(&cas);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++)
        check_case(&CASES[i]);
}

/* What is ours, another NIC's, or in main, is no part of a fix; paths are quoted. */
static void test_fix(void **state)
{
    World world =
        look(HOST TRACE "ip rule add priority 501 from 172.16.34.2 lookup 77\n"
                        "ip rule add priority 502 from 172.16.34.1 lookup main\n"
                        "ip rule add priority 503 from 172.16.34.1 fwmark 1 lookup 941\n"
                        "ip rule add priority 1941 from 172.16.34.1 lookup 941 suppress_prefixlength 0 "
                        "suppress_ifgroup mark protocol kernel\n"
                        "ip route add 172.16.0.0/16 dev ib0 src 172.16.34.1 table 941 metric mark protocol kernel\n"
                        "ip route add 10.0.0.0/8 dev ib1 table 941 protocol boot\n");
    IbhScript script = {.kind = IBH_SCRIPT_SHELL, .path = g_strdup("/etc/it's"), .text = g_strdup("")};
    IbhRemedy remedy = ibh_legacy_fix(&script, world.rails, world.nic, "it", TRUE);

    (void)state;
    assert_null(remedy.fix);
    assert_string_equal(remedy.advice,
                        "look at /etc/it's first, all that it does will end; then: [ ! -e '/etc/it'\\''s' ] || "
                        "{ mkdir -p /var/lib/ib-hook/replaced/etc && "
                        "copy=$(mktemp '/var/lib/ib-hook/replaced/etc/it'\\''s'.XXXXXX) && "
                        "mv -f '/etc/it'\\''s' \"$copy\"; }; "
                        "ip -4 rule del priority 500 from 172.16.34.1 lookup 941 protocol boot; "
                        "ip -4 route del 172.16.0.0/16 dev ib0 table 941 protocol boot scope link; "
                        "ib-hook --apply");
    g_free(remedy.advice);
    g_free(script.path);
    g_free(script.text);
    world_clear(&world);
}

#define LOOK "look at /etc/it first, all that it does will end; then: "
#define MOVED                                                                                                          \
    "[ ! -e /etc/it ] || { mkdir -p /var/lib/ib-hook/replaced/etc && "                                                 \
    "copy=$(mktemp /var/lib/ib-hook/replaced/etc/it.XXXXXX) && mv -f /etc/it \"$copy\"; }; "

/* Rules that lead to a table of the script's own: its routes go, too, and once, however many rules there are. */
static void test_fix_of_another_table(void **state)
{
    World world = look(
        HOST
        "ip rule add priority 500 from 172.16.34.1 lookup 77\nip rule add priority 501 from 172.16.34.1 lookup 77\n"
        "ip route add 172.16.0.0/16 dev ib0 table 77 protocol boot\n"
        "once ip route add 172.16.0.0/16 dev ib0 table 77 protocol boot\n"); /* as it is read twice */
    IbhScript script = {.kind = IBH_SCRIPT_SHELL, .path = g_strdup("/etc/it"), .text = g_strdup("")};
    IbhRemedy remedy = ibh_legacy_fix(&script, world.rails, world.nic, "it", TRUE);

    (void)state;
    assert_string_equal(remedy.advice,
                        LOOK MOVED "ip -4 rule del priority 500 from 172.16.34.1 lookup 77 protocol boot; "
                                   "ip -4 rule del priority 501 from 172.16.34.1 lookup 77 protocol boot; "
                                   "ip -4 route del 172.16.0.0/16 dev ib0 table 77 protocol boot scope link; "
                                   "ib-hook --apply");
    g_free(remedy.advice);
    g_free(script.path);
    g_free(script.text);
    world_clear(&world);
}

#define SHELL_CAUTION "look at it first, it may do other things, too"

static void check_fix(IbhScriptKind kind, const char *file, const char *contents, const char *other, const char *fix,
                      const char *advice)
{
    World world = look(HOST TRACE);
    g_autofree char *path = g_strdup(file), *text = g_strdup(contents);
    const IbhScript script = {.kind = kind, .path = path, .text = text};
    IbhRemedy remedy = ibh_legacy_fix(&script, world.rails, world.nic, "it", FALSE);
    g_autofree char *got_other = ibh_legacy_caution(&script, world.rails);
    g_autofree char *caution =
        other ? g_strdup_printf("look at it first, it does other things, too (%s)", other) : NULL;

    if (g_strcmp0(remedy.fix, fix) != 0 || g_strcmp0(remedy.advice, advice) != 0)
        fail_msg("%s: fix %s, advice %s", contents, remedy.fix, remedy.advice);
    g_free(remedy.fix);
    g_free(remedy.advice);
    if (g_strcmp0(got_other, kind == IBH_SCRIPT_SHELL ? SHELL_CAUTION : caution) != 0)
        fail_msg("%s: expected %s, got %s", text, other, got_other);
    world_clear(&world);
}

#define IP_ROUTE "10.0.0.0/8 via 172.16.0.9"

/* Nothing of somebody else's goes: a script that has it is for people, of lines only those of the rails are taken. */
static void test_fix_leaves_others(void **state)
{
    (void)state;
    check_fix(IBH_SCRIPT_SHELL, "/etc/it", "ip rule add from 172.16.34.1 table 941\nmount /x\n", "mount /x", NULL,
              LOOK MOVED "ib-hook --apply");
    check_fix(IBH_SCRIPT_ROUTES, "/etc/route-ib0",
              "# rails\n\n172.16.0.0/16 table 941\n" IP_ROUTE "\n 172.16.0.0/16 dev ib1 table 942\n", IP_ROUTE,
              "! grep -qxF -e '172.16.0.0/16 table 941' -e ' 172.16.0.0/16 dev ib1 table 942' /etc/route-ib0 || { "
              "mkdir -p /var/lib/ib-hook/replaced/etc && "
              "copy=$(mktemp /var/lib/ib-hook/replaced/etc/route-ib0.XXXXXX) && cp -p /etc/route-ib0 \"$copy\" && "
              "grep -vxF -e '172.16.0.0/16 table 941' -e ' 172.16.0.0/16 dev ib1 table 942' \"$copy\" "
              ">/etc/route-ib0; }; ib-hook --apply",
              NULL);
    check_fix(IBH_SCRIPT_RULES, "/etc/rule-ib0", "from 172.16.34.1 table 941\n from 10.0.0.1 table 7\n",
              "from 10.0.0.1 table 7",
              "! grep -qxF -e 'from 172.16.34.1 table 941' /etc/rule-ib0 || { mkdir -p /var/lib/ib-hook/replaced/etc "
              "&& copy=$(mktemp /var/lib/ib-hook/replaced/etc/rule-ib0.XXXXXX) && cp -p /etc/rule-ib0 \"$copy\" && "
              "grep -vxF -e 'from 172.16.34.1 table 941' \"$copy\" >/etc/rule-ib0; }; ib-hook --apply",
              NULL);
    for (const char *const *line =
             (const char *const[]){"from 172.16.34.1 table 941\t", "from 172.16.34.1 table 941 \\",
                                   "from 172.16.34.1 table 941 \xc3\xa4", NULL};
         *line; line++) {
        g_autofree char *text = g_strconcat(*line, "\n" IP_ROUTE, NULL);

        check_fix(IBH_SCRIPT_RULES, "/etc/rule-ib0", text, IP_ROUTE, NULL,
                  "take \"it\" out of /etc/rule-ib0, which does other things, too; then: ib-hook --apply");
    }
    check_fix(IBH_SCRIPT_RULES, "/etc/it", "# all\nfrom 172.16.34.1 table 941\nfrom 172.16.34.2 table 942", NULL,
              MOVED "ib-hook --apply", NULL);
    check_fix(IBH_SCRIPT_NETPLAN, "/etc/it", "", NULL, NULL,
              "take \"it\" out of /etc/it, which does other things, too; then: ib-hook --apply");
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_fix),
        cmocka_unit_test(test_fix_of_another_table),
        cmocka_unit_test(test_fix_leaves_others),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
