/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/in_force.h"
#include "config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#define TABLE_ALLOWED "use auto, a number (1-252, 256-4294965295) or a name from rt_tables"
#define NAME_ALLOWED                                                                                                   \
    "not an interface's name; use 1-15 characters without blanks, / and :, or a glob of them with *, ? and [...]"
#define RAILS_ALLOWED "use a number of RDMA ports (1-1024), or nothing"
#define NO_HOST "no host can have this address; use auto, none, peer, first, last or an address"
#define REMOTE "use PREFIX or PREFIX via GATEWAY, with commas between them, or nothing"
#define NO_GATEWAY "not allowed; use auto, none, peer, first, last or an address"
#define KERNEL_S "reserved for the kernel's own tables; " TABLE_ALLOWED
#define LEADING_ZERO "a leading zero, which makes the ip command read it as octal; write the number without it; "
#define NO_TABLE "neither a table's number nor a known name; " TABLE_ALLOWED

/* ---- set-up ---------------------------------------------------------------------------------------- */

/* What can be asked of a configuration, as one number each. */
typedef enum { MAIN, RAILS, MANAGE, TABLE, GATEWAY, ARP, N_FIELDS } Field;

static gint64 ask(const IbhConfig *config, const char *iface, Field field)
{
    IbhSettings settings = ibh_config_settings(config, iface);

    switch (field) {
    case MAIN:
        return settings.main;
    case RAILS:
        return settings.rails;
    case MANAGE:
        return settings.manage;
    case TABLE:
        return settings.table;
    case GATEWAY:
        return settings.gateway;
    default:
        return settings.arp;
    }
}

/* The rt_tables of these tests. */
static gboolean lookup(const char *name, guint32 *ret_table, GError **error)
{
    static const struct {
        const char *name;
        guint32 table;
    } NAMES[] = {{"rail0", 941}, {"7up", 77}, {"evil", 254}, {"spread", 940}, {"default", 5}, {"none", 0}};

    if (strcmp(name, "broken") == 0) {
        g_set_error(error, IBH_CONFIG_ERROR, 0, "/etc/iproute2/rt_tables: refused");
        return FALSE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(NAMES); i++) {
        if (strcmp(NAMES[i].name, name) == 0) {
            *ret_table = NAMES[i].table;
            return TRUE;
        }
    }
    return FALSE;
}

/* The text is copied to the byte, so that a read beyond its end is seen by valgrind and the sanitizers. */
static gboolean add_bytes(IbhConfig *config, const char *file, const char *text, gsize length, GError **error)
{
    g_autofree char *exact = g_malloc(length + 1);

    memcpy(exact + 1, text, length);
    return ibh_config_add(config, file, exact + 1, length, lookup, TRUE, error);
}

static void add(IbhConfig *config, const char *file, const char *text)
{
    g_autoptr(GError) error = NULL;

    if (!add_bytes(config, file, text, strlen(text), &error))
        fail_msg("refused: %s", error->message);
}

/* Something that is not the default in any field: what a failure must leave alone. */
static IbhConfig *marked(void)
{
    IbhConfig *config = ibh_config_new();

    add(config, "marked",
        "[defaults]\nmain=spread\nmanage=yes\ngateway=10.0.0.1\narp=strict\n[interface ib0]\ntable=70\n");
    return config;
}

static void assert_marked(const IbhConfig *config, const char *what)
{
    static const gint64 MARKED[N_FIELDS] = {[MAIN] = IBH_MAIN_SPREAD,
                                            [MANAGE] = IBH_MANAGE_YES,
                                            [TABLE] = 70,
                                            [GATEWAY] = IBH_GATEWAY_ADDRESS,
                                            [ARP] = IBH_ARP_STRICT};

    for (Field field = 0; field < N_FIELDS; field++) {
        if (ask(config, "ib0", field) != MARKED[field])
            fail_msg("field %d is %" G_GINT64_FORMAT " after: %s", field, ask(config, "ib0", field), what);
    }
    assert_string_equal(ibh_config_settings(config, "ib0").table_origin, "marked:7");
    assert_int_equal(ask(config, "eth9", TABLE), IBH_TABLE_AUTO);
}

/* One line for a terminal: whatever was in the file, only harmless bytes come out. */
static void assert_harmless(const char *message)
{
    assert_true(strlen(message) < 400);
    for (const char *at = message; *at != '\0'; at++)
        assert_true(*at >= 0x20 && *at < 0x7f);
}

/* ---- values that are good -------------------------------------------------------------------------- */

typedef struct {
    const char *line;
    Field field;
    gint64 value;
} Good;

static const Good GOOD[] = {
    {"manage=auto", MANAGE, IBH_MANAGE_AUTO},
    {"manage=yes", MANAGE, IBH_MANAGE_YES},
    {"manage=no", MANAGE, IBH_MANAGE_NO},
    {"table=auto", TABLE, IBH_TABLE_AUTO},
    {"table=1", TABLE, 1},
    {"table=941", TABLE, 941},
    {"table=4294965295", TABLE, 4294965295},
    {"table=0x1", TABLE, 1},
    {"table=0xFFFFF82F", TABLE, 4294965295},
    {"table=rail0", TABLE, 941},
    {"gateway=none", GATEWAY, IBH_GATEWAY_NONE},
    {"gateway=172.16.0.1", GATEWAY, IBH_GATEWAY_ADDRESS},
    {"gateway=peer", GATEWAY, IBH_GATEWAY_PEER},
    {"gateway=first", GATEWAY, IBH_GATEWAY_FIRST},
    {"gateway=last", GATEWAY, IBH_GATEWAY_LAST},
    {"gateway=FD00:0:0::0001 # why", GATEWAY, IBH_GATEWAY_ADDRESS},
    {"arp=auto", ARP, IBH_ARP_AUTO},
    {"arp=strict", ARP, IBH_ARP_STRICT},
    {"arp=keep", ARP, IBH_ARP_KEEP},
    /* how a line may be written */
    {"\t manage \t=  no  ", MANAGE, IBH_MANAGE_NO},
    {"manage=no # why", MANAGE, IBH_MANAGE_NO},
    {"manage=no\t#why", MANAGE, IBH_MANAGE_NO},
    {"#manage=no", MANAGE, IBH_MANAGE_AUTO},
    {"  # manage=no \303\244", MANAGE, IBH_MANAGE_AUTO},
    {"manage=no\r\n\r\n", MANAGE, IBH_MANAGE_NO},
};

static const Good GOOD_DEFAULTS[] = {
    {"main=keep", MAIN, IBH_MAIN_KEEP},
    {"main=spread", MAIN, IBH_MAIN_SPREAD},
    {"rails=", RAILS, 0},
    {"rails=1", RAILS, 1},
    {"rails=1024 # all", RAILS, 1024},
};

static void check_good(const char *section, const Good *good)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autofree char *text = g_strdup_printf("%s\n%s", section, good->line);
    gint64 value;

    add(config, "f", text);
    value = ask(config, "ib0", good->field);
    if (value != good->value)
        fail_msg("%s %s: %" G_GINT64_FORMAT, section, good->line, value);
}

static void test_good_values(void **state)
{
    static const char *const SECTIONS[] = {"[defaults]",         "[interface ib0]",          "[interface *]",
                                           "  [ defaults ]\t\r", "[interface\t ib? ] # why", "[ interface ib[0-3]]"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(SECTIONS); i++) {
        for (gsize j = 0; j < G_N_ELEMENTS(GOOD); j++)
            check_good(SECTIONS[i], &GOOD[j]);
    }
    for (gsize j = 0; j < G_N_ELEMENTS(GOOD_DEFAULTS); j++)
        check_good("[defaults]", &GOOD_DEFAULTS[j]);
}

/* ---- what is refused -------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    guint line;
    const char *message; /* after file and line */
} Bad;

#define IFACE_KEYS "manage, table, gateway, remote, arp"
/* clang-format off */
#define SET_NAME(name)                                                                                                 \
    {                                                                                                                  \
        "\n[interface " name "]\nmanage=no", 2, "[interface " name "]: " NAME_ALLOWED                                  \
    }
#define SET(line, message)                                                                                             \
    {                                                                                                                  \
        "[defaults]\nmanage=no\n" line "\narp=keep\n", 3, line ": " message                                            \
    }

static const Bad BAD[] = {
    /* values */
    SET("main=", "not allowed; use keep or spread"),
    SET("manage=maybe", "not allowed; use auto, yes or no"),
    SET("manage=no#why", "not allowed; use auto, yes or no"),
    SET("manage==no", "not allowed; use auto, yes or no"),
    SET("table=0", KERNEL_S),
    SET("table=253", KERNEL_S),
    SET("table=0xfe", KERNEL_S),
    SET("table=evil", KERNEL_S),
    SET("table=940", "reserved for main=spread; " TABLE_ALLOWED),
    SET("table=spread", "reserved for main=spread; " TABLE_ALLOWED),
    SET("table=4294967296", NO_TABLE),
    SET("table=4294965296", "too large: the number of the table for default routes, 2000 higher, would not exist; " TABLE_ALLOWED),
    SET("table=0x", NO_TABLE),
    SET("table=-1", NO_TABLE),
    SET("table=0100", LEADING_ZERO TABLE_ALLOWED),
    SET("table=rail9", NO_TABLE),
    SET("table=broken", "/etc/iproute2/rt_tables: refused; " TABLE_ALLOWED),
    SET("gateway=172.16.0.300", NO_GATEWAY),
    SET("gateway=172.16.0.1/16", NO_GATEWAY),
    SET("gateway=10.0.0.01", NO_GATEWAY),
    SET("gateway=fe80::1%ib0", NO_GATEWAY),
    SET("gateway=0.0.0.0", NO_HOST),
    SET("gateway=::1", NO_HOST),
    SET("gateway=224.0.0.1", NO_HOST),
    SET("remote=0.0.0.0/0", "a prefix of length 0 is everything: use gateway= for that; " REMOTE),
    SET("remote=10.0.0.0/8,fe80::/10", "no gateway leads to fe80::/10; " REMOTE),
    SET("remote=224.0.0.0/4", "no gateway leads to 224.0.0.0/4; " REMOTE),
    SET("remote=10.0.0.0/33", "not allowed; " REMOTE),
    SET("remote=10.0.0.0/8,10.0.0.0/010", LEADING_ZERO REMOTE),
    SET("remote=10.0.0.0/8 10.1.0.0/16", "not allowed; " REMOTE),
    SET("remote=10.0.0.0/8 via", "not allowed; " REMOTE),
    SET("remote=10.0.0.0/8 by 10.1.0.1", "not allowed; " REMOTE),
    SET("remote=10.0.0.0/8 via 10.1.0.1 via 10.1.0.2", "not allowed; " REMOTE),
    SET("remote=10.0.0.0/8 via fd00::1", "fd00::1 is a gateway of the other IP version; " REMOTE),
    SET("remote=10.0.0.0/8 via 224.0.0.1", "no host can have the gateway's address; " REMOTE),
    SET("arp=loose", "not allowed; use auto, strict or keep"),
    SET("rails=0", "not allowed; " RAILS_ALLOWED),
    SET("rails=1025", "not allowed; " RAILS_ALLOWED),
    SET("rails=eight", "not allowed; " RAILS_ALLOWED),
    SET("rails=08", LEADING_ZERO RAILS_ALLOWED),
    /* keys */
    SET("mnage=no", "unknown key; use one of main, rails, " IFACE_KEYS),
    SET("manage=yes", "manage is already set for this section on line 2; use it once"),
    SET("manage", "not understood; use KEY=VALUE, [defaults], [interface NAME] or # for a comment"),
    {"[interface *]\narp=keep\nmain=keep", 3, "main=keep: the same for all interfaces; main is allowed in [defaults] only"},
    {"[interface ib0]\nrails=2", 2, "rails=2: the same for all interfaces; rails is allowed in [defaults] only"},
    {"[interface ib0]\nforce=1", 2, "force=1: unknown key; use one of " IFACE_KEYS},
    {"#\n\nmanage=no\n", 3, "manage=no: outside of any section; put it below [defaults] or [interface NAME]"},
    {"[interface ib0]\narp=keep\n[interface ib1]\narp=keep\n[interface ib0]\narp=keep", 6,
     "arp=keep: arp is already set for this section on line 2; use it once"},
    /* tables that two sections share */
    {"[interface ib0]\ntable=100\n[interface ib1]\n\ntable=100\n", 5, "table=100: the same table as at /x.conf:2; use auto, or a different number for each"},
    {"[interface ib*]\ntable=941\n[interface ib0]\ntable=rail0", 4, "table=941: the same table as at /x.conf:2; use auto, or a different number for each"},
    {"[defaults]\ntable=0x64\n[interface ib0]\ntable=100\n#\n", 4, "table=100: the same table as at /x.conf:2; use auto, or a different number for each"},
    {"[interface ib1]\ntable=70\n[interface ib2]\ntable=71", 2, "table=70: the same table as at marked:7; use auto, or a different number for each"},
    /* sections */
    SET("[]", "unknown section; use [defaults] or [interface NAME]"),
    SET("[Defaults]", "unknown section; use [defaults] or [interface NAME]"),
    SET("[interface]", NAME_ALLOWED),
    SET("[defaults", "no ] at the end; use [defaults] or [interface NAME]"),
    SET("[defaults]#x", "no ] at the end; use [defaults] or [interface NAME]"),
    {"[interface ib0 #]", 1, "[interface ib0: no ] at the end; use [defaults] or [interface NAME]"},
    SET_NAME(""),
    SET_NAME("."),
    SET_NAME("../all"),
    SET_NAME("ib0/1"),
    SET_NAME("ib0 ib1"),
    SET_NAME("abcdefghijklmnop"),
    SET_NAME("ib["),
    SET_NAME("ib[0"),
    SET_NAME("ib[9-0]"),
    SET_NAME("ib[[:digit:]]"),
    /* bytes; what a message shows of them is escaped and cut */
    {"[defaults]\n\nmanage=\033[31m", 3, "manage=\\033[31m: a control character in the line; use plain text"},
    {"[defaults]\n# \377\n", 2, "# \\377: not valid UTF-8; use plain text"},
    {"[defaults]\narp=\302\233x\342\200\256", 2, "arp=\\302\\233x\\342\\200\\256: not allowed; use auto, strict or keep"},
    {"[interface \303\244\033]", 1, "[interface \\303\\244\\033]: a control character in the line; use plain text"},
    {"[defaults]\narp=aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff\n", 2,
     "arp=aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffff...: not allowed; use auto, strict or keep"},
    /* clang-format on */
};

static void check_bad(const char *file, const char *text, gsize length, const char *expected)
{
    g_autoptr(IbhConfig) config = marked();
    g_autoptr(GError) error = NULL;

    if (add_bytes(config, file, text, length, &error))
        fail_msg("accepted: %s; expected: %s", text, expected);
    assert_int_equal(error->domain, IBH_CONFIG_ERROR);
    assert_harmless(error->message);
    if (strcmp(error->message, expected) != 0)
        fail_msg("\n  expected: %s\n  got:      %s", expected, error->message);
    assert_marked(config, text);
    assert_false(add_bytes(config, file, text, length, NULL));
}

static void test_bad_values(void **state)
{
    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(BAD); i++) {
        const Bad *bad = &BAD[i];
        g_autofree char *expected = g_strdup_printf("/x.conf:%u: %s", bad->line, bad->message);
        g_auto(GStrv) lines = g_strsplit(bad->text, "\n", -1);
        g_autofree char *crlf = g_strjoinv("\r\n", lines);

        check_bad("/x.conf", bad->text, strlen(bad->text), expected);
        check_bad("/x.conf", crlf, strlen(crlf), expected);
    }
}

static void test_stray_bytes(void **state)
{
    static const char FIRST[] = "\0[defaults]\nmanage=no\n";
    static const char LATER_LINE[] = "[defaults]\nmanage=no\0 # x\narp=keep\n";

    (void)state;
    check_bad("f", FIRST, sizeof(FIRST) - 1, "f:1: a control character in the line; use plain text");
    check_bad("f", LATER_LINE, sizeof(LATER_LINE) - 1,
              "f:2: manage=no: a control character in the line; use plain text");
    check_bad("f", "[defaults]\nmanage=no\r\r\n", 23,
              "f:2: manage=no\\r: a control character in the line; use plain text");
    check_bad("f", "#\rmanage=no", 11, "f:1: #\\rmanage=no: a control character in the line; use plain text");
}

static void test_line_length(void **state)
{
    g_autofree char *blanks = g_strnfill(1024 - 9, ' ');
    g_autofree char *fits = g_strconcat("[defaults]\r\nmanage=no", blanks, "\r\narp=keep", NULL);
    g_autofree char *over = g_strconcat("[defaults]\nmanage=no ", blanks, "\n", NULL);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(GError) error = NULL;

    (void)state;
    add(config, "f", fits);
    assert_int_equal(ask(config, "ib0", MANAGE), IBH_MANAGE_NO);
    assert_int_equal(ask(config, "ib0", ARP), IBH_ARP_KEEP);
    assert_false(add_bytes(config, "f", over, strlen(over), &error));
    assert_true(g_str_has_prefix(error->message, "f:2: manage=no   "));
    assert_true(g_str_has_suffix(error->message, "...: the line is too long; use at most 1024 bytes"));
    check_bad("f", "#0123456789012345678901234567890123456789012345678901234567890\n=", 64,
              "f:2: =: outside of any section; put it below [defaults] or [interface NAME]");
}

/* ---- which one holds ------------------------------------------------------------------------------- */

typedef struct {
    const char *files[3];
    const char *iface;
    Field field;
    gint64 value;
} Nearest;

static const Nearest NEAREST[] = {
    /* clang-format off */
    /* a name before a glob before the defaults, in whatever order they stand */
    {{"[interface ib0]\narp=keep\n[interface ib*]\narp=strict\n[defaults]\narp=auto"}, "ib0", ARP, IBH_ARP_KEEP},
    {{"[interface ib0]\narp=keep\n[interface ib*]\narp=strict\n[defaults]\narp=auto"}, "ib1", ARP, IBH_ARP_STRICT},
    {{"[interface ib0]\narp=keep", "[interface ib*]\narp=strict", "[defaults]\narp=auto"}, "ib0", ARP, IBH_ARP_KEEP},
    /* of globs the one with more literal characters; a set has none */
    {{"[interface ib1*]\narp=keep\n[interface ib*]\narp=strict"}, "ib10", ARP, IBH_ARP_KEEP},
    {{"[interface *s5f0]\narp=keep\n[interface ibs*]\narp=strict"}, "ibs5f0", ARP, IBH_ARP_KEEP},
    {{"[interface ib*]\narp=keep\n[interface i[abc][0-9]]\narp=strict"}, "ib0", ARP, IBH_ARP_KEEP},
    /* equally near: the later one */
    {{"[interface ib*]\narp=keep\n[interface ib?]\narp=strict"}, "ib0", ARP, IBH_ARP_STRICT},
    {{"[interface ib0]\narp=strict", "[interface ib0]\narp=keep", "[interface ib0]\nmanage=no"}, "ib0", ARP, IBH_ARP_KEEP},
    {{"[defaults]\nmain=spread", "[defaults]\nmain=keep"}, "ib0", MAIN, IBH_MAIN_KEEP},
    {{"[defaults]\nmain=spread", "[interface ib0]\nmanage=no"}, "ib0", MAIN, IBH_MAIN_SPREAD},
    /* key by key */
    {{"[interface ib0]\narp=strict\n[interface *]\nmanage=no"}, "ib0", MANAGE, IBH_MANAGE_NO},
    /* one section, opened twice */
    {{"[interface ib0]\narp=keep\n[interface ib1]\n[interface ib0]\nmanage=no"}, "ib0", ARP, IBH_ARP_KEEP},
    {{"[interface ib0]\narp=keep\n[interface ib1]\n[interface ib0]\nmanage=no"}, "ib0", MANAGE, IBH_MANAGE_NO},
    /* what a name matches */
    {{"[interface ib0]\nmanage=no"}, "ib00", MANAGE, IBH_MANAGE_AUTO},
    {{"[interface ib*]\nmanage=no"}, "ib", MANAGE, IBH_MANAGE_NO},
    {{"[interface *.80??]\nmanage=no"}, "ib0.8002", MANAGE, IBH_MANAGE_NO},
    {{"[interface ib[!0]]\nmanage=no"}, "ib0", MANAGE, IBH_MANAGE_AUTO},
    {{"[interface ib[]0]]\nmanage=no"}, "ib]", MANAGE, IBH_MANAGE_NO},
    {{"[interface ib\\*]\nmanage=no"}, "ib\\7", MANAGE, IBH_MANAGE_NO},
    {{"[interface eth#1]\nmanage=no"}, "eth#1", MANAGE, IBH_MANAGE_NO},
    {{"[interface abcdefghijklmno]\nmanage=no"}, "abcdefghijklmno", MANAGE, IBH_MANAGE_NO},
    {{"[interface .x]\nmanage=no"}, ".x", MANAGE, IBH_MANAGE_NO},
    {{"[interface \303\244]\nmanage=no"}, "\303\244", MANAGE, IBH_MANAGE_NO},
    /* clang-format on */
};

static void test_nearest_wins(void **state)
{
    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(NEAREST); i++) {
        const Nearest *nearest = &NEAREST[i];
        g_autoptr(IbhConfig) config = ibh_config_new();
        gint64 value;

        for (gsize j = 0; j < G_N_ELEMENTS(nearest->files) && nearest->files[j] != NULL; j++)
            add(config, "f", nearest->files[j]);
        value = ask(config, nearest->iface, nearest->field);
        if (value != nearest->value)
            fail_msg("case %zu: %s of %s: %" G_GINT64_FORMAT, i, nearest->files[0], nearest->iface, value);
    }
}

static void test_origin(void **state)
{
    g_autoptr(IbhConfig) config = ibh_config_new();

    (void)state;
    add(config, "a", "[defaults]\ntable=100\n\n[interface ib1]\ntable=101\n[interface ib2]\ntable=auto");
    add(config, "b", "# later\n[interface ib1]\ntable=102\n");
    assert_string_equal(ibh_config_settings(config, "ib0").table_origin, "a:2");
    assert_string_equal(ibh_config_settings(config, "ib1").table_origin, "b:3");
    assert_null(ibh_config_settings(config, "ib2").table_origin);
}

static void check_gateway(const IbhConfig *config, const char *iface, const char *expected)
{
    IbhSettings settings = ibh_config_settings(config, iface);
    char ip[IBH_IP_STRLEN];

    if (!expected) {
        assert_int_not_equal(settings.gateway, IBH_GATEWAY_ADDRESS);
        assert_int_equal(settings.gateway_ip.family, AF_UNSPEC);
        return;
    }
    assert_int_equal(settings.gateway, IBH_GATEWAY_ADDRESS);
    assert_string_equal(ibh_ip_format(&settings.gateway_ip, ip), expected);
}

/* Of several addresses, that of the nearest section; what was said before or farther away leaves no trace. */
static void test_gateway_address(void **state)
{
    g_autoptr(IbhConfig) config = ibh_config_new();

    (void)state;
    add(config, "a",
        "[defaults]\ngateway=10.0.0.1\n[interface ib*]\ngateway=FD00::0:1\n[interface ib0]\ngateway=none\n"
        "[interface ib1]\ngateway=auto\n[interface ib2]\ngateway = 10.0.0.2 # the second one\n");
    check_gateway(config, "ib0", NULL);
    check_gateway(config, "ib1", NULL);
    check_gateway(config, "ib2", "10.0.0.2");
    check_gateway(config, "ib3", "fd00::1");
    check_gateway(config, "eth0", "10.0.0.1");
    add(config, "b", "[interface ib*]\ngateway=fe80::9\n[interface ib2]\ngateway=auto\n");
    check_gateway(config, "ib2", NULL);
    check_gateway(config, "ib3", "fe80::9");
    check_gateway(config, "eth0", "10.0.0.1");
}

/* ---- the text that the state keeps ----------------------------------------------------------------- */

/* What is read from it has the same text, settings and places. */
static void check_text(const IbhConfig *config, const char *text)
{
    static const char *const IFACES[] = {"ib0", "ib1", "eth9"};
    g_autoptr(IbhConfig) again = ibh_config_from_text(text, TRUE, lookup);

    assert_string_equal(config->text->str, text);
    assert_non_null(again);
    assert_string_equal(again->text->str, text);
    for (gsize i = 0; i < G_N_ELEMENTS(IFACES); i++) {
        const char *here = ibh_config_settings(config, IFACES[i]).table_origin,
                   *there = ibh_config_settings(again, IFACES[i]).table_origin;

        for (Field field = 0; field < N_FIELDS; field++)
            assert_int_equal(ask(again, IFACES[i], field), ask(config, IFACES[i], field));
        assert_int_equal(g_strcmp0(here, there), 0);
    }
}

static void test_text(void **state)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(GError) error = NULL;

    (void)state;
    check_text(config, "");
    add(config, "/etc/a b\\n.conf", "# secret\n[defaults] # secret\r\n\n \ttable = rail0\nmain=keep");
    add(config, "empty", "");
    add(config, "one", "\n");
    add(config, "two", "\n\n");
    assert_false(add_bytes(config, "bad", "[interface ib0]\ntable=0\n", 24, &error));
    add(config, "# last", "#\n[interface ib1]\ntable=77\n[interface eth#9]\n");
    check_text(config, "\n# /etc/a b\\n.conf\n\n[defaults]\n\ntable = rail0\nmain=keep\n# empty\n# one\n\n# two\n\n"
                       "\n# # last\n\n[interface ib1]\ntable=77\n[interface eth#9]");
}

static void test_no_text(void **state)
{
    static const char *const TEXTS[] = {
        "00000000cbf29ce4", "# a\n[defaults]", "\n", "\n#a", "\n# a\n# b\nhold ib0", "\n# a\n[defaults]\ntable=gone",
        "\n# a\n\xff"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(TEXTS); i++)
        assert_null(ibh_config_from_text(TEXTS[i], TRUE, lookup));
}

/* What the state could not keep is no configuration. */
static void test_length_of_the_text(void **state)
{
    static const char why[] = ": the configuration is larger than 65536 bytes without its comments; shorten it";
    g_autofree char *comments = g_strnfill(1000000, '#'), *lines = g_strnfill(65536 - 4, '\n');
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(GError) error = NULL, another = NULL;

    (void)state;
    for (gsize i = 100; i < strlen(comments); i += 100)
        comments[i] = '\n';
    add(config, "f", comments);
    g_clear_pointer(&config, ibh_config_free);
    config = ibh_config_new();
    add(config, "f", lines);
    assert_int_equal(strlen(config->text->str), 65536);
    assert_false(add_bytes(config, "g", "", 0, &error));
    assert_true(g_str_has_prefix(error->message, "g:0"));
    assert_true(g_str_has_suffix(error->message, why));
    assert_false(add_bytes(config, "g", "[defaults]\n", 11, &another));
    assert_true(g_str_has_prefix(another->message, "g:1"));
    assert_true(g_str_has_suffix(another->message, why));
    check_text(config, config->text->str);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_values),     cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_stray_bytes),     cmocka_unit_test(test_line_length),
        cmocka_unit_test(test_nearest_wins),    cmocka_unit_test(test_origin),
        cmocka_unit_test(test_gateway_address), cmocka_unit_test(test_text),
        cmocka_unit_test(test_no_text),         cmocka_unit_test(test_length_of_the_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
