/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "case_text.h"
#include "plan/undo.h"
#include "cli/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

/* ---- a strict reader of JSON --------------------------------------------------------------------------- */

typedef struct {
    char type; /* { [ " 0 (a number) t f n */
    char *key; /* in an object */
    char *text;
    GPtrArray *items; /* Value *: of an object or array */
} Value;

static void value_free(gpointer data)
{
    Value *value = data;

    if (!value)
        return;
    g_free(value->key);
    g_free(value->text);
    if (value->items)
        g_ptr_array_unref(value->items);
    g_free(value);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Value, value_free)

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static gboolean take(const char **at, const char *word)
{
    if (!g_str_has_prefix(*at, word))
        return FALSE;
    *at += strlen(word);
    return TRUE;
}

/* After the backslash. */
static gboolean read_escape(const char **at, GString *text)
{
    static const char NAMES[] = "\"\\/bfnrt", VALUES[] = "\"\\/\b\f\n\r\t";
    const char *name = **at ? strchr(NAMES, **at) : NULL;
    gunichar code = 0;

    if (name) {
        g_string_append_c(text, VALUES[name - NAMES]);
        (*at)++;
        return TRUE;
    }
    if (!take(at, "u"))
        return FALSE;
    for (int i = 0; i < 4; i++, (*at)++) {
        if (!g_ascii_isxdigit(**at))
            return FALSE;
        code = code << 4 | (gunichar)g_ascii_xdigit_value(**at);
    }
    if (!code || !g_unichar_validate(code))
        return FALSE;
    g_string_append_unichar(text, code);
    return TRUE;
}

static char *read_string(const char **at)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (!take(at, "\""))
        return NULL;
    while (**at != '"') {
        if ((guchar) * *at < 0x20)
            return NULL;
        if (**at != '\\')
            g_string_append_c(text, *(*at)++);
        else if ((*at)++, !read_escape(at, text))
            return NULL;
    }
    (*at)++;
    return g_strdup(text->str);
}

static char *read_number(const char **at)
{
    const char *begin = *at;

    take(at, "-");
    if (!take(at, "0")) {
        if (!g_ascii_isdigit(**at))
            return NULL;
        *at += strspn(*at, "0123456789");
    }
    return g_strndup(begin, (gsize)(*at - begin)); /* nothing here has a fraction */
}

static Value *read_value(const char **at);

static gboolean has_key(const Value *object, const char *key)
{
    for (guint i = 0; i < object->items->len; i++) {
        if (g_str_equal(((const Value *)g_ptr_array_index(object->items, i))->key, key))
            return TRUE;
    }
    return FALSE;
}

static gboolean read_item(const char **at, Value *into)
{
    g_autofree char *key = NULL;
    Value *item;

    skip_blanks(at);
    if (into->type == '{') {
        if (!(key = read_string(at)) || has_key(into, key))
            return FALSE;
        skip_blanks(at);
        if (!take(at, ":"))
            return FALSE;
    }
    if (!(item = read_value(at)))
        return FALSE;
    item->key = g_steal_pointer(&key);
    g_ptr_array_add(into->items, item);
    skip_blanks(at);
    return TRUE;
}

static gboolean read_items(const char **at, Value *into)
{
    const char *end = into->type == '{' ? "}" : "]";

    into->items = g_ptr_array_new_with_free_func(value_free);
    skip_blanks(at);
    if (take(at, end))
        return TRUE;
    do {
        if (!read_item(at, into))
            return FALSE;
    } while (take(at, ","));
    return take(at, end);
}

static Value *read_value(const char **at)
{
    g_autoptr(Value) value = g_new0(Value, 1);
    gboolean ok;

    skip_blanks(at);
    value->type = **at;
    if (take(at, "true") || take(at, "false") || take(at, "null")) {
        ok = TRUE;
    } else if (**at == '"') {
        ok = (value->text = read_string(at)) != NULL;
    } else if (take(at, "{") || take(at, "[")) {
        ok = read_items(at, value);
    } else {
        value->type = '0';
        ok = (value->text = read_number(at)) != NULL;
    }
    return ok ? g_steal_pointer(&value) : NULL;
}

/* NULL where it is not exactly one value. */
static Value *read_json(const char *text)
{
    const char *at = text;
    g_autoptr(Value) value = g_utf8_validate(text, -1, NULL) ? read_value(&at) : NULL;

    skip_blanks(&at);
    return *at ? NULL : g_steal_pointer(&value);
}

static Value *read_object(const char *text)
{
    Value *value = read_json(text);

    if (!value || value->type != '{')
        fail_msg("no JSON object: %s", text);
    return value;
}

static const Value *member(const Value *object, const char *key, const char *types)
{
    assert_int_equal(object->type, '{');
    for (guint i = 0; i < object->items->len; i++) {
        const Value *item = g_ptr_array_index(object->items, i);

        if (g_str_equal(item->key, key) && strchr(types, item->type))
            return item;
    }
    fail_msg("no member “%s” of type %s", key, types);
    return NULL;
}

static const Value *item_of(const Value *array, guint i)
{
    assert_int_equal(array->type, '[');
    assert_true(i < array->items->len);
    return g_ptr_array_index(array->items, i);
}

static void check_string(const Value *object, const char *key, const char *expected)
{
    assert_string_equal(member(object, key, "\"")->text, expected);
}

static void check_bool(const Value *object, const char *key, gboolean expected)
{
    assert_int_equal(member(object, key, "tf")->type, expected ? 't' : 'f');
}

static void test_reader(void **state)
{
    static const char *const RIGHT[] = {"{}",  "[]", " [1,-2 , 0]\n", "\"\\u00e9\\n\\\"\"", "{\"a\":[{}],\"b\":null}",
                                        "true"};
    static const char *const WRONG[] = {"",           "{",
                                        "{}{}",       "[1,]",
                                        "[,1]",       "{\"a\"}",
                                        "{\"a\":}",   "{a:1}",
                                        "\"",         "\"\n\"",
                                        "\"\\x\"",    "\"\\u12\"",
                                        "\"\xff\"",   "01",
                                        "-",          "{\"a\":1,}",
                                        "nul",        "'a'",
                                        "[1 2]",      "\"\\",
                                        "1 x",        "{\"a\":1,\"a\":2}",
                                        "\"\\ud800\""};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(RIGHT); i++) {
        g_autoptr(Value) value = read_json(RIGHT[i]);

        if (!value)
            fail_msg("%s is refused", RIGHT[i]);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(WRONG); i++) {
        g_autoptr(Value) value = read_json(WRONG[i]);

        if (value)
            fail_msg("%s is taken", WRONG[i]);
    }
}

/* ---- a world, and what is to be told of it ------------------------------------------------------------- */

typedef struct {
    IbhCase *cas;
    IbhConfig *config;
    IbhRails *rails;
    IbhPlan *plan;
    GPtrArray *findings; /* IbhFinding * */
    GPtrArray *errors;   /* char * */
    IbhReport report;    /* with everything in it */
} World;

static void world_clear(World *world)
{
    g_ptr_array_unref(world->errors);
    g_ptr_array_unref(world->findings);
    ibh_plan_free(world->plan);
    ibh_rails_free(world->rails);
    ibh_config_free(world->config);
    ibh_case_free(world->cas);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(World, world_clear)

static void add_finding(const World *world, const char *iface, IbhSeverity severity, const char *code,
                        const char *message)
{
    ibh_finding_add(world->findings, iface, severity, code, ibh_fix(g_strdup_printf("do something about %s", message)),
                    "%s", message);
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
    rename_links(world.cas->snapshot, names);
    world.rails = ibh_rails_find(world.config, world.cas->snapshot, TRUE, &error);
    only = ibh_case_only(world.cas);
    world.plan = world.cas->undo ? ibh_plan_undo(world.rails, NULL, only) : ibh_plan_apply(world.rails, only);
    world.findings = ibh_findings_new();
    world.errors = g_ptr_array_new_with_free_func(g_free);
    world.report = (IbhReport){.rails = world.rails,
                               .only = only,
                               .plan = world.plan,
                               .done = world.plan->ops,
                               .errors = world.errors,
                               .findings = world.findings,
                               .held = world.cas->undo ? "ib0 ib1" : NULL};
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
    "ip address add 10.0.0.1/32 dev ib1\nip address add 192.168.1.5/24 dev eth0\n"
#define OURS " suppress_ifgroup mark protocol kernel\n"
#define HALF                                                                                                           \
    "ip route add 172.16.0.0/16 dev ib0 src 172.16.34.1 table 941 metric mark protocol kernel\n"                       \
    "ip rule add priority 1940 from 172.16.34.1 to 172.16.0.0/16 lookup main suppress_prefixlength 16" OURS            \
    "ip rule add priority 1941 from 172.16.34.1 lookup 941" OURS                                                       \
    "ip rule add priority 1940 from 172.16.34.2 to 172.16.0.0/16 lookup main suppress_prefixlength 16" OURS            \
    "ip rule add priority 1941 from 172.16.34.2 lookup 942" OURS
#define ORPHAN "ip rule add priority 1941 from 172.16.99.9 lookup 999" OURS
#define HOST LINKS ADDRESSES HALF ORPHAN
#define NO_RAILS "nic ib0 infiniband\nip address add 172.16.34.1/16 dev ib0\n"

static const IbhStyle PLAIN = {.color = FALSE}, QUIET = {.quiet = TRUE}, VERBOSE = {.verbose = TRUE},
                      COLOR = {.color = TRUE};

typedef char *(*Write)(const IbhReport *report, const IbhStyle *style);

static void check_has(const char *text, const char *const *parts, gboolean wanted)
{
    for (; *parts; parts++) {
        if ((strstr(text, *parts) != NULL) != wanted)
            fail_msg("“%s” is %s in:\n%s", *parts, wanted ? "not" : "indeed", text);
    }
}

#define HAS(text, ...) check_has(text, (const char *const[]){__VA_ARGS__, NULL}, TRUE)
#define HAS_NOT(text, ...) check_has(text, (const char *const[]){__VA_ARGS__, NULL}, FALSE)

/* The line that begins so. */
static char *find_line(const char *text, const char *begin)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++) {
        if (g_str_has_prefix(*line, begin))
            return g_strdup(*line);
    }
    fail_msg("no line begins with “%s” in:\n%s", begin, text);
    return NULL;
}

/* ---- show as text -------------------------------------------------------------------------------------- */

static const char *const HEADINGS[] = {"IFACE", "ADDRESS", "LINK", "STATE"};

/* Each cell begins below its heading, with two blanks before it at least. */
static void check_row(const char *heading, const char *row)
{
    for (gsize i = 0; i < G_N_ELEMENTS(HEADINGS); i++) {
        const char *at = strstr(heading, HEADINGS[i]);
        glong column = at ? g_utf8_pointer_to_offset(heading, at) : -1;
        const char *cell;

        if (!at || g_utf8_strlen(row, -1) <= column)
            fail_msg("no column %s in “%s”", HEADINGS[i], row);
        cell = g_utf8_offset_to_pointer(row, column);
        if (*cell == ' ' || (column && (cell[-1] != ' ' || cell[-2] != ' ')))
            fail_msg("column %s begins elsewhere in\n%s\n%s", HEADINGS[i], heading, row);
    }
}

/* The table comes after the verdict, if there is one; its rows begin with these NICs. */
static void check_table(const char *text, guint rows)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    char **line = g_str_has_prefix(lines[0], "IFACE") ? lines : lines + 1;
    const char *heading = *line;

    assert_true(g_str_has_prefix(heading, "IFACE"));
    for (; rows; rows--)
        check_row(heading, *++line);
}

static void test_table(void **state)
{
    static const IbhStyle TERMINAL = {.width = 80};
    g_auto(World) world = look(HOST);
    g_autofree char *text = ibh_text_writer.show(&world.report, &PLAIN);
    g_autofree char *narrow = ibh_text_writer.show(&world.report, &TERMINAL);
    g_autofree char *ib0 = find_line(text, "ib0 "), *ib1 = find_line(text, "ib1 "), *ib2 = find_line(text, "ib2 ");
    g_auto(GStrv) lines = g_strsplit(narrow, "\n", -1);

    (void)state;
    check_table(text, 3);
    HAS(ib0, " 172.16.34.1/16 ", " up ", " ok: shares 172.16.0.0/16 with ib1");
    HAS(ib1, " 172.16.34.2/16 10.0.0.1/32 ", " no carrier ", " ok: ");
    HAS(ib2, " - ", " down ", " no rail: it has no address");
    for (char **line = lines; *line; line++)
        assert_in_range(g_utf8_strlen(*line, -1), 0, 80);
}

/* --verbose: every NIC, and of a rail where it lies and what it has. */
static void test_facts(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *text = ibh_text_writer.show(&world.report, &VERBOSE);
    g_autofree char *ib0 = find_line(text, "ib0: mlx"), *ib1 = find_line(text, "ib1: mlx");

    (void)state;
    HAS(ib0, "mlx5_0/1", "table 941", "main=keep", "2 of 2 rules",
        "rp_filter=0 arp_filter=0 arp_announce=2 arp_ignore=1");
    HAS(ib1, "mlx5_1/1", "table 942", "2 of 4 rules", "rp_filter=1 ");
    HAS(text, "lo ", "eth0 ", "no rail: loopback");
}

static void test_many_addresses(void **state)
{
    g_auto(World) world = look(
        HOST
        "ip address add 10.0.0.2/32 dev ib1\nip address add 10.0.0.3/32 dev ib1\nip address add 10.0.0.4/32 dev ib1\n");
    g_autofree char *text = ibh_text_writer.show(&world.report, &PLAIN);
    g_autofree char *ib1 = find_line(text, "ib1 ");

    (void)state;
    HAS(ib1, "172.16.34.2/16 10.0.0.1/32 10.0.0.2/32", "2 more");
    HAS_NOT(ib1, "10.0.0.3");
}

/* The worst finding is the verdict; infos are none. */
static void test_verdicts(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *text = NULL, *ib0 = NULL, *ib1 = NULL;

    (void)state;
    add_finding(&world, "ib1", IBH_INFO, "foreign-rule", "a");
    add_finding(&world, "ib1", IBH_WARNING, "rule-stale", "b");
    add_finding(&world, "ib1", IBH_ERROR, "rule-missing", "c");
    add_finding(&world, "ib1", IBH_WARNING, "effective-sysctl", "d");
    add_finding(&world, "ib0", IBH_INFO, "foreign-rule", "e");
    text = ibh_text_writer.show(&world.report, &PLAIN);
    ib0 = find_line(text, "ib0 ");
    ib1 = find_line(text, "ib1 ");
    HAS(ib0, " ok: ");
    HAS(ib1, " rule-missing, ");
}

static void test_blocked(void **state)
{
    g_auto(World) world = look(LINKS "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/16 dev ib1\n"
                                     "ip rule add priority 32000 lookup local\n"
                                     "ip rule del priority 0 lookup local protocol kernel\n");
    g_autofree char *text = ibh_text_writer.show(&world.report, &PLAIN);
    g_autofree char *ib0 = find_line(text, "ib0 ");

    (void)state;
    HAS(ib0, " local-rule-late: ");
}

/* Why each is, or is not, a rail. */
static void test_reasons(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *plain = ibh_text_writer.show(&world.report, &PLAIN);
    g_autofree char *quiet = ibh_text_writer.show(&world.report, &QUIET);
    g_autofree char *verbose = ibh_text_writer.show(&world.report, &VERBOSE);

    (void)state;
    HAS(plain, "no rail: it has no address");
    HAS_NOT(plain, "lo ", "eth0");
    assert_string_equal(quiet, "");
    HAS(verbose, "ib0: engaged: shares 172.16.0.0/16 with ib1", "lo: not engaged: loopback", "eth0: not engaged: ");
}

#define NONE "no rails"

static void test_no_rails(void **state)
{
    g_auto(World) world = look(NO_RAILS);
    g_auto(World) nothing = look("");
    g_autofree char *show = ibh_text_writer.show(&world.report, &PLAIN);
    g_autofree char *check = ibh_text_writer.check(&world.report, &PLAIN);
    g_autofree char *quiet = ibh_text_writer.check(&world.report, &QUIET);
    g_autofree char *empty = ibh_text_writer.show(&nothing.report, &PLAIN);
    g_autofree char *also_empty = ibh_text_writer.check(&nothing.report, &PLAIN);

    (void)state;
    HAS(show, NONE, "no rail: no other RDMA NIC");
    HAS(check, NONE);
    assert_string_equal(quiet, "");
    HAS(empty, NONE);
    HAS_NOT(empty, "IFACE");
    HAS(also_empty, NONE);
}

/* There are rails; this NIC is none of them. */
static void test_asked_about_no_rail(void **state)
{
    g_auto(World) world = look(HOST "do apply only eth0\n");
    g_autofree char *show = ibh_text_writer.show(&world.report, &PLAIN);
    g_autofree char *check = ibh_text_writer.check(&world.report, &PLAIN);

    (void)state;
    check_table(show, 1);
    HAS(show, "eth0 ", "no rail: ");
    HAS_NOT(show, NONE, "ib0");
    HAS_NOT(check, NONE, "ib0");
}

/* ---- check as text ------------------------------------------------------------------------------------- */

static void test_check_text(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *plain = NULL, *quiet = NULL, *verbose = NULL, *line = NULL;

    (void)state;
    add_finding(&world, "ib1", IBH_ERROR, "route-missing", "first message");
    add_finding(&world, "", IBH_WARNING, "rule-stale", "second message");
    add_finding(&world, "ib2", IBH_INFO, "no-address", "third message");
    plain = ibh_text_writer.check(&world.report, &PLAIN);
    quiet = ibh_text_writer.check(&world.report, &QUIET);
    verbose = ibh_text_writer.check(&world.report, &VERBOSE);
    assert_string_equal(plain, "error: 1 of 3 NICs wrong: ib1; why: ib-hook --check --verbose\n"
                               "ib0   ok       172.16.34.1/16 leaves by it (table 941)\n"
                               "ib1   error    route-missing: first message\n"
                               "ib2   info     no-address: third message\n"
                               "host  warning  rule-stale: second message\n");
    assert_string_equal(quiet, "ib1: error route-missing: first message\n"
                               "    fix: do something about first message\n"
                               "-: warning rule-stale: second message\n"
                               "    fix: do something about second message\n");
    line = find_line(verbose, "ib1: ");
    HAS(line, "error", "route-missing", "first message");
    HAS(verbose, "ib0: engaged: ", "lo: not engaged: ", "\n    fix: do something about first message\n",
        "-: warning rule-stale: second message", "ib2: info no-address: third message");
}

/* A line for the host and one for each NIC, however many findings there are, however long. */
static void test_check_is_narrow(void **state)
{
    static const char *const NAMES[] = {"lo", "ib0", "ib1", "a-name-of-fift1", NULL};
    g_autofree char *text = NULL, *message = g_strnfill(300, 'x');
    g_auto(World) world = look_renamed(HOST "ip address add fd00:1234:5678:9abc:def0:1234:5678:9abc/64 dev ib0\n"
                                            "ip address add fd00:1234:5678:9abc:def0:1234:5678:9abd/64 dev ib0\n",
                                       NAMES);
    g_auto(GStrv) lines = NULL;

    (void)state;
    for (int i = 0; i < 40; i++) {
        g_autofree char *code = g_strdup_printf("code-%d", i);

        add_finding(&world, "ib1", IBH_WARNING, g_intern_string(code), message);
    }
    add_finding(&world, "a-name-of-fift1", IBH_ERROR, "foreign-rule",
                "a message of words that are many more than a line of eighty columns has room for, to be cut");
    text = ibh_text_writer.check(&world.report, &(const IbhStyle){.width = 80});
    lines = g_strsplit(text, "\n", -1);
    assert_int_equal(g_strv_length(lines), 4 + 1); /* "" after the last one */
    for (char **line = lines; *line; line++)
        assert_true(strlen(*line) <= 80);
    HAS(text, "\na-name-of-fift1  error    foreign-rule: a message of words that are many more...\n",
        "code-0, code-1, ", "...\n");
}

/* What the host's line says is enough, where it names a command. */
static void test_check_names_one_command(void **state)
{
    static const struct {
        const char *fixes[3]; /* "apply": what --apply does, too; NULL: advice */
        const char *line;
    } cases[] = {
        {{"apply", "apply", "apply"}, "error: 2 of 2 NICs wrong; fix: sudo ib-hook --apply"},
        {{"apply", "apply", NULL}, "error: 2 of 2 NICs wrong: ib0, ib1; why: ib-hook --check --verbose"},
        {{"apply", "x", "apply"}, "error: 2 of 2 NICs wrong: ib0, ib1; why: ib-hook --check --verbose"},
        {{"modprobe x", "modprobe x", "modprobe x"}, "error: 2 of 2 NICs wrong; fix: modprobe x"},
        {{"modprobe x", "modprobe y", "modprobe x"},
         "error: 2 of 2 NICs wrong: ib0, ib1; why: ib-hook --check --verbose"},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(World) world = look(HOST);
        g_autofree char *text = NULL, *line = NULL;

        for (int j = 0; j < 3; j++) {
            IbhFinding *finding;

            add_finding(&world, j == 1 ? "ib1" : "ib0", IBH_ERROR, "code", "message");
            finding = g_ptr_array_index(world.findings, world.findings->len - 1);
            g_free(finding->fix);
            finding->fix = g_strdup(cases[i].fixes[j]);
            finding->by_apply = g_strcmp0(finding->fix, "apply") == 0;
        }
        text = ibh_text_writer.check(&world.report, &PLAIN);
        line = find_line(text, "error");
        assert_string_equal(line, cases[i].line);
    }
}

static void test_check_of_a_right_host(void **state)
{
    g_auto(World) world = look(HOST);
    g_auto(World) one = look(HOST "do apply only ib1\n");
    g_autofree char *plain = ibh_text_writer.check(&world.report, &PLAIN);
    g_autofree char *quiet = ibh_text_writer.check(&world.report, &QUIET);
    g_autofree char *of_one = ibh_text_writer.check(&one.report, &PLAIN);

    (void)state;
    assert_string_equal(plain, "ok: 2 rails\n"
                               "ib0  ok       172.16.34.1/16 leaves by it (table 941)\n"
                               "ib1  ok       172.16.34.2/16 10.0.0.1/32 leaves by it (table 942)\n");
    assert_string_equal(quiet, "");
    HAS(of_one, "ok: 1 rail\n", "ib1  ok ");
    HAS_NOT(of_one, "ib0");
}

/* ---- plan, --apply and --undo as text ------------------------------------------------------------------ */

/* Addresses of both families that have rules; what is of the link, or not proved to be ours, is not among them. */
static void test_ipv6(void **state)
{
    g_auto(World) world =
        look(HOST "ip address add fd00:16::34:1/64 dev ib0\nip address add fd00:16::34:9/64 dev ib0 tentative\n"
                  "ip address add fe80::34:1/64 dev ib0 scope link\nip address add fd00:16::34:2/128 dev ib1\n");
    g_autofree char *show = ibh_text_writer.show(&world.report, &PLAIN);
    g_autofree char *json = ibh_json_writer.show(&world.report, &PLAIN);
    g_autofree char *plan = ibh_text_writer.plan(&world.report, &PLAIN);

    (void)state;
    HAS(show, "172.16.34.1/16", "fd00:16::34:1/64", "fd00:16::34:2/128");
    HAS_NOT(show, "fd00:16::34:9", "fe80::");
    HAS(json, "[\"172.16.34.1/16\",\"fd00:16::34:1/64\"]", "\"fd00:16::34:2/128\"");
    HAS_NOT(json, "fd00:16::34:9", "fe80::");
    HAS(plan, "\nip -6 route add fd00:16::/64 dev ib0 table 941 ", "\nip -6 rule add priority 1941 from fd00:16::34:1 ",
        "\nndptool -t na -U -i ib0 -T fd00:16::34:1 send ");
}

static void test_plan_text(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *plain = ibh_text_writer.plan(&world.report, &PLAIN);
    g_autofree char *quiet = ibh_text_writer.plan(&world.report, &QUIET);
    g_auto(GStrv) lines = g_strsplit(quiet, "\n", -1);

    (void)state;
    assert_true(world.plan->ops->len > 5);
    assert_int_equal(g_strv_length(lines), world.plan->ops->len + 1);
    for (guint i = 0; i < world.plan->ops->len; i++) {
        const IbhOp *op = g_ptr_array_index(world.plan->ops, i);
        g_autofree char *command = ibh_op_command(op);
        g_autofree char *explained = g_strdup_printf("%s  # %s: %s\n", command, *op->iface ? op->iface : "-", op->why);

        assert_string_equal(lines[i], command);
        HAS(plain, explained);
    }
    HAS(plain, "# ib0: engaged: ", "# ib2: not engaged: ", "# -: ");
}

static void test_plan_of_nothing(void **state)
{
    g_auto(World) world = look(NO_RAILS);
    g_autofree char *plain = ibh_text_writer.plan(&world.report, &PLAIN);
    g_autofree char *quiet = ibh_text_writer.plan(&world.report, &QUIET);
    g_auto(GStrv) lines = g_strsplit(plain, "\n", -1);

    (void)state;
    HAS(plain, "nothing to do");
    assert_string_equal(quiet, "");
    for (char **line = lines; line[1]; line++)
        assert_true(g_str_has_prefix(*line, "# ")); /* it can be pasted */
}

static void test_change_text(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *plain = ibh_text_writer.change(&world.report, &PLAIN);
    g_autofree char *quiet = ibh_text_writer.change(&world.report, &QUIET);
    g_autofree char *verbose = ibh_text_writer.change(&world.report, &VERBOSE);
    g_autofree char *count = g_strdup_printf("applied: %u changes\n", world.plan->ops->len);

    (void)state;
    HAS(plain, count, "ib0: engaged: ");
    HAS_NOT(plain, "ip -4");
    assert_string_equal(quiet, "");
    HAS(verbose, count, "ip -4 rule add", "sysctl -w");
    g_ptr_array_set_size(world.plan->ops, 1);
    g_free(plain);
    plain = ibh_text_writer.change(&world.report, &PLAIN);
    HAS(plain, "applied: 1 change\n");
    g_ptr_array_set_size(world.plan->ops, 0);
    g_free(plain);
    plain = ibh_text_writer.change(&world.report, &PLAIN);
    HAS(plain, "applied: nothing to do");
}

static void test_undo_text(void **state)
{
    g_auto(World) world = look(HOST "do undo\n");
    g_autofree char *plain = ibh_text_writer.change(&world.report, &PLAIN), *without = NULL;

    (void)state;
    HAS(plain, "undone: ", " change", "--apply", "ib0 ib1\n");
    HAS_NOT(plain, "applied: ", "engaged");
    world.report.held = "";
    without = ibh_text_writer.change(&world.report, &PLAIN);
    HAS(without, "undone: ");
    HAS_NOT(without, "--apply");
}

/* There was something to do, and it failed. */
static void test_failed_change_text(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *text = NULL;

    (void)state;
    g_ptr_array_set_size(world.plan->ops, 0);
    g_ptr_array_add(world.errors, g_strdup("ib1: rule-add failed: Operation not permitted"));
    text = ibh_text_writer.change(&world.report, &PLAIN);
    HAS_NOT(text, "nothing to do");
}

static void test_error_text(void **state)
{
    g_autofree char *one = ibh_text_writer.error(2, "--bogus: no such option");
    g_autofree char *two = ibh_text_writer.error(3, "first\nsecond \033[31m");

    (void)state;
    assert_string_equal(one, "ib-hook: --bogus: no such option\n");
    HAS(two, "ib-hook: first\nib-hook: second ");
    HAS_NOT(two, "\033");
}

/* ---- colours ------------------------------------------------------------------------------------------- */

static char *strip_colors(const char *text)
{
    GString *plain = g_string_new(NULL);

    while (*text) {
        gsize length = g_str_has_prefix(text, "\033[") ? strspn(text + 2, "0123456789;") : 0;

        if (length && text[2 + length] == 'm')
            text += length + 3;
        else
            g_string_append_c(plain, *text++);
    }
    return g_string_free(plain, FALSE);
}

static void test_colors(void **state)
{
    const Write writes[] = {ibh_text_writer.show, ibh_text_writer.check, ibh_text_writer.plan};
    g_auto(World) world = look(HOST);

    (void)state;
    add_finding(&world, "ib1", IBH_ERROR, "route-missing", "a");
    add_finding(&world, "ib2", IBH_WARNING, "held", "b");
    add_finding(&world, "ib2", IBH_INFO, "no-address", "c");
    for (gsize i = 0; i < G_N_ELEMENTS(writes); i++) {
        g_autofree char *plain = writes[i](&world.report, &PLAIN), *color = writes[i](&world.report, &COLOR);
        g_autofree char *stripped = strip_colors(color);

        HAS_NOT(plain, "\033");
        HAS(color, "\033[", "\033[0m");
        assert_string_equal(stripped, plain);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void check_rail(const Value *rail, const char *iface, int ifindex, const char *rdma, const char *table)
{
    g_autofree char *index = g_strdup_printf("%d", ifindex);

    check_string(rail, "iface", iface);
    assert_string_equal(member(rail, "ifindex", "0")->text, index);
    check_string(rail, "type", "infiniband");
    check_string(rail, "rdma", rdma);
    assert_string_equal(member(rail, "table", "0")->text, table);
    check_string(rail, "main", "keep");
    member(rail, "manager", "\"n");
    member(rail, "ok", "tf");
}

static void test_check_json(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *text = ibh_json_writer.check(&world.report, &PLAIN);
    g_autoptr(Value) json = read_object(text);
    const Value *rails = member(json, "rails", "["), *addresses;

    (void)state;
    check_bool(json, "ok", TRUE);
    assert_int_equal(member(json, "findings", "[")->items->len, 0);
    assert_int_equal(rails->items->len, 2);
    check_rail(item_of(rails, 0), "ib0", 2, "mlx5_0/1", "941");
    check_rail(item_of(rails, 1), "ib1", 3, "mlx5_1/1", "942");
    check_bool(item_of(rails, 1), "ok", TRUE);
    addresses = member(item_of(rails, 1), "addresses", "[");
    assert_int_equal(addresses->items->len, 2);
    assert_string_equal(item_of(addresses, 0)->text, "172.16.34.2/16");
    assert_string_equal(item_of(addresses, 1)->text, "10.0.0.1/32");
}

static void test_findings_json(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *text = NULL;
    g_autoptr(Value) json = NULL;
    const Value *findings, *finding;

    (void)state;
    add_finding(&world, "ib1", IBH_ERROR, "route-missing", "a \"message\"\nof two lines");
    add_finding(&world, "", IBH_WARNING, "rule-stale", "b");
    add_finding(&world, "ib0", IBH_INFO, "foreign-rule", "c");
    text = ibh_json_writer.check(&world.report, &PLAIN);
    json = read_object(text);
    findings = member(json, "findings", "[");
    assert_int_equal(findings->items->len, 3);
    finding = item_of(findings, 0);
    assert_string_equal(item_of(member(finding, "ifaces", "["), 0)->text, "ib1");
    check_string(finding, "severity", "error");
    check_string(finding, "code", "route-missing");
    check_string(finding, "message", "a \"message\"\nof two lines");
    check_string(finding, "fix", "do something about a \"message\"\nof two lines");
    check_string(item_of(findings, 1), "severity", "warning");
    assert_int_equal(member(item_of(findings, 1), "ifaces", "[")->items->len, 0);
    check_string(item_of(findings, 2), "severity", "info");
    check_bool(json, "ok", FALSE);
    check_bool(item_of(member(json, "rails", "["), 0), "ok", TRUE);
    check_bool(item_of(member(json, "rails", "["), 1), "ok", FALSE);
}

/* An info alone is no reason to say that something is wrong. */
static void test_ok_json(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *text = NULL;
    g_autoptr(Value) json = NULL;

    (void)state;
    add_finding(&world, "ib0", IBH_INFO, "foreign-rule", "c");
    text = ibh_json_writer.show(&world.report, &PLAIN);
    json = read_object(text);
    check_bool(json, "ok", TRUE);
    assert_int_equal(member(json, "rails", "[")->items->len, 2);
}

static void test_only_json(void **state)
{
    g_auto(World) one = look(HOST "do apply only ib1\n");
    g_auto(World) none = look(NO_RAILS);
    g_autofree char *text = ibh_json_writer.check(&one.report, &PLAIN);
    g_autofree char *empty = ibh_json_writer.check(&none.report, &PLAIN);
    g_autoptr(Value) json = read_object(text), nothing = read_object(empty);

    (void)state;
    assert_int_equal(member(json, "rails", "[")->items->len, 1);
    check_string(item_of(member(json, "rails", "["), 0), "iface", "ib1");
    assert_int_equal(member(nothing, "rails", "[")->items->len, 0);
    check_bool(nothing, "ok", TRUE);
}

static void check_operations(const Value *operations, const GPtrArray *ops)
{
    assert_int_equal(operations->items->len, ops->len);
    for (guint i = 0; i < ops->len; i++) {
        const IbhOp *op = g_ptr_array_index(ops, i);
        g_autofree char *command = ibh_op_command(op);

        check_string(item_of(operations, i), "iface", op->iface);
        check_string(item_of(operations, i), "op", ibh_op_name(op->type));
        check_string(item_of(operations, i), "command", command);
        check_string(item_of(operations, i), "why", op->why);
    }
}

static void test_plan_json(void **state)
{
    g_auto(World) world = look(HOST);
    g_auto(World) none = look(NO_RAILS);
    g_autofree char *text = ibh_json_writer.plan(&world.report, &PLAIN);
    g_autofree char *empty = ibh_json_writer.plan(&none.report, &QUIET);
    g_autoptr(Value) json = read_object(text), nothing = read_object(empty);

    (void)state;
    check_bool(json, "ok", TRUE);
    check_bool(json, "changed", TRUE);
    check_operations(member(json, "operations", "["), world.plan->ops);
    check_bool(nothing, "ok", TRUE);
    check_bool(nothing, "changed", FALSE);
    assert_int_equal(member(nothing, "operations", "[")->items->len, 0);
}

/* --apply and --undo tell the same: what was done and stands. */
static void test_change_json(void **state)
{
    static const char *const WORLDS[] = {HOST, HOST "do undo\n"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(WORLDS); i++) {
        g_auto(World) world = look(WORLDS[i]);
        g_autofree char *text = ibh_json_writer.change(&world.report, &QUIET), *none = NULL;
        g_autoptr(Value) json = read_object(text), nothing = NULL;

        check_bool(json, "ok", TRUE);
        check_bool(json, "changed", TRUE);
        check_operations(member(json, "operations", "["), world.plan->ops);
        assert_false(has_key(json, "error"));
        g_ptr_array_set_size(world.plan->ops, 0);
        none = ibh_json_writer.change(&world.report, &PLAIN);
        nothing = read_object(none);
        check_bool(nothing, "changed", FALSE);
    }
}

static void test_failed_change_json(void **state)
{
    g_auto(World) world = look(HOST);
    g_autofree char *text = NULL;
    g_autoptr(Value) json = NULL;
    const Value *error;

    (void)state;
    g_ptr_array_add(world.errors, g_strdup("ib0: \"one\""));
    g_ptr_array_add(world.errors, g_strdup("ib1: two"));
    text = ibh_json_writer.change(&world.report, &PLAIN);
    json = read_object(text);
    check_bool(json, "ok", FALSE);
    check_bool(json, "changed", TRUE);
    check_operations(member(json, "operations", "["), world.plan->ops);
    error = member(json, "error", "{");
    assert_string_equal(member(error, "exit", "0")->text, "3");
    HAS(member(error, "message", "\"")->text, "ib0: \"one\"\n", "ib1: two");
}

static void test_error_json(void **state)
{
    g_autofree char *text = ibh_json_writer.error(2, "a \"word\" \xff\033 and\nmore");
    g_autoptr(Value) json = read_object(text);
    const Value *error = member(json, "error", "{");

    (void)state;
    check_bool(json, "ok", FALSE);
    assert_string_equal(member(error, "exit", "0")->text, "2");
    check_string(error, "message", "a \"word\" \xef\xbf\xbd\033 and\nmore");
}

static void test_operation_names(void **state)
{
    static const char *const NAMES[] = {"rule-add",  "rule-del",   "route-add", "route-replace",
                                        "route-del", "sysctl-set", "announce",  "neigh-del"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(NAMES); i++)
        assert_string_equal(ibh_op_name((IbhOpType)i), NAMES[i]);
}

/* ---- metrics ------------------------------------------------------------------------------------------- */

static void test_prometheus(void **state)
{
    static const char EXPECTED[] =
        "# HELP ib_hook_info The ib-hook that looked.\n"
        "# TYPE ib_hook_info gauge\n"
        "ib_hook_info{version=\"" IBH_VERSION "\"} 1\n"
        "# HELP ib_hook_check_ok Whether nothing is wrong with this host: no error and no warning.\n"
        "# TYPE ib_hook_check_ok gauge\n"
        "ib_hook_check_ok 0\n"
        "# HELP ib_hook_rail_info What a rail is.\n"
        "# TYPE ib_hook_rail_info gauge\n"
        "ib_hook_rail_info{device=\"ib0\",main=\"keep\",manager=\"\","
        "rdma=\"mlx5_0/1\",table=\"941\",type=\"infiniband\"} 1\n"
        "ib_hook_rail_info{device=\"ib1\",main=\"keep\",manager=\"\","
        "rdma=\"mlx5_1/1\",table=\"942\",type=\"infiniband\"} 1\n"
        "# HELP ib_hook_rail_ok Whether nothing is wrong with a rail: no error and no warning.\n"
        "# TYPE ib_hook_rail_ok gauge\n"
        "ib_hook_rail_ok{device=\"ib0\"} 1\n"
        "ib_hook_rail_ok{device=\"ib1\"} 0\n"
        "# HELP ib_hook_rails NICs that are rails.\n"
        "# TYPE ib_hook_rails gauge\n"
        "ib_hook_rails 2\n"
        "# HELP ib_hook_findings What was found, by the code that ib-hook(8) explains.\n"
        "# TYPE ib_hook_findings gauge\n"
        "ib_hook_findings{code=\"rule-missing\",device=\"ib1\",severity=\"error\"} 2\n"
        "ib_hook_findings{code=\"deferred\",device=\"ib0\",severity=\"info\"} 1\n"
        "ib_hook_findings{code=\"rule-missing\",device=\"ib1\",severity=\"warning\"} 1\n"
        "ib_hook_findings{code=\"memlock-low\",device=\"\",severity=\"info\"} 1\n";
    g_auto(World) world = look(HOST);
    g_autofree char *text = NULL;

    (void)state;
    add_finding(&world, "ib1", IBH_ERROR, "rule-missing", "for 172.16.34.2");
    add_finding(&world, "ib0", IBH_INFO, "deferred", "b");
    add_finding(&world, "ib1", IBH_WARNING, "rule-missing", "c");
    add_finding(&world, "ib1", IBH_ERROR, "rule-missing", "for 172.16.34.3");
    add_finding(&world, "", IBH_INFO, "memlock-low", "d");
    text = ibh_prometheus_writer.check(&world.report, &PLAIN);
    assert_string_equal(text, EXPECTED);
}

static void test_prometheus_of_a_right_host(void **state)
{
    g_auto(World) world = look(NO_RAILS);
    g_autofree char *text = ibh_prometheus_writer.check(&world.report, &PLAIN);

    (void)state;
    HAS(text, "\nib_hook_check_ok 1\n", "\nib_hook_rails 0\n");
    HAS_NOT(text, "device=");
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
     "31mred"), /* a control sequence in one character (C1) */
    "two\nlines",
    "%s%n%s",
    "K\xc3\xb6ln",
    "</script>",
};

/* Nothing but what can be printed, and ends of lines; with colours, those of ours. */
static void check_printable(const char *text, gboolean color)
{
    g_autofree char *stripped = color ? strip_colors(text) : g_strdup(text);

    if (!g_utf8_validate(text, -1, NULL))
        fail_msg("no UTF-8: %s", text);
    for (char *at = stripped; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        if (c != '\n' && g_unichar_iscntrl(c))
            fail_msg("the control character %#x is in the text", (guint)c);
    }
}

static guint count_lines(const char *text)
{
    guint n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static World look_named(const char *const *names)
{
    World world = look_renamed(HOST, names);

    add_finding(&world, names[0], IBH_ERROR, "route-missing", names[0]);
    add_finding(&world, names[1], IBH_WARNING, "held", names[1]);
    g_ptr_array_add(world.errors, g_strdup(names[0]));
    return world;
}

/* World `i`: as HOST, with hostile names for the rails and for a NIC that is none. */
static World look_hostile(gsize i)
{
    const char *const names[] = {HOSTILE[i], HOSTILE[(i + 1) % G_N_ELEMENTS(HOSTILE)], "lo",
                                 HOSTILE[(i + 2) % G_N_ELEMENTS(HOSTILE)], NULL};

    return look_named(names);
}

/* The same with names that are not, and have the same order. */
static World look_harmless(gsize i)
{
    const char *a = HOSTILE[i], *b = HOSTILE[(i + 1) % G_N_ELEMENTS(HOSTILE)];
    gboolean swapped = ibh_natural_compare(a, b) > 0;
    const char *first = ibh_natural_compare(a, "ib2") < 0 ? "a1" : "z1";
    const char *second = ibh_natural_compare(b, "ib2") < 0 ? "a1" : "z1";
    g_autofree char *name_a = g_strconcat(first, swapped ? "1" : "", NULL);
    g_autofree char *name_b = g_strconcat(second, swapped ? "" : "1", NULL);

    return look_named((const char *const[]){name_a, name_b, NULL});
}

static void check_hostile_text(Write write, gsize i, const IbhStyle *style)
{
    g_auto(World) world = look_hostile(i), harmless = look_harmless(i);
    g_autofree char *text = write(&world.report, style), *other = write(&harmless.report, style);

    check_printable(text, style->color);
    assert_int_equal(count_lines(text), count_lines(other));
}

static void test_hostile_text(void **state)
{
    const Write writes[] = {ibh_text_writer.show, ibh_text_writer.check, ibh_text_writer.plan, ibh_text_writer.change};
    static const IbhStyle STYLES[] = {{0}, {.quiet = TRUE}, {.verbose = TRUE}, {.verbose = TRUE, .color = TRUE}};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(HOSTILE); i++) {
        g_autofree char *error = ibh_text_writer.error(2, HOSTILE[i]);

        check_printable(error, FALSE);
        for (gsize w = 0; w < G_N_ELEMENTS(writes); w++) {
            for (gsize s = 0; s < G_N_ELEMENTS(STYLES); s++)
                check_hostile_text(writes[w], i, &STYLES[s]);
        }
    }
}

static void test_hostile_table(void **state)
{
    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(HOSTILE); i++) {
        g_auto(World) world = look_hostile(i);
        g_autofree char *text = ibh_text_writer.show(&world.report, &VERBOSE);

        check_table(text, 5);
    }
}

static void test_hostile_hold(void **state)
{
    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(HOSTILE); i++) {
        g_auto(World) world = look(HOST "do undo\n");
        g_autofree char *text = NULL;

        world.report.held = HOSTILE[i];
        text = ibh_text_writer.change(&world.report, &PLAIN);
        check_printable(text, FALSE);
    }
}

static void test_hostile_json(void **state)
{
    const Write writes[] = {ibh_json_writer.show, ibh_json_writer.check, ibh_json_writer.plan, ibh_json_writer.change};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(HOSTILE); i++) {
        g_auto(World) world = look_hostile(i);
        g_autofree char *valid = g_utf8_make_valid(HOSTILE[i], -1);
        g_autofree char *error = ibh_json_writer.error(2, HOSTILE[i]);
        g_autoptr(Value) told = read_object(error);

        check_string(member(told, "error", "{"), "message", valid);
        for (gsize w = 0; w < G_N_ELEMENTS(writes); w++) {
            g_autofree char *text = writes[w](&world.report, &VERBOSE);
            g_autoptr(Value) json = read_object(text);

            assert_null(strpbrk(text, "\n\r\033\177")); /* one line */
            if (w < 2)
                check_string(item_of(member(json, "findings", "["), 0), "message", valid);
        }
    }
}

/* The value of a label, as Prometheus reads it; `at` is behind its first quote. */
static char *read_label(const char *at)
{
    GString *value = g_string_new(NULL);

    for (; *at != '"'; at++) {
        assert_true(*at && *at != '\n');
        if (*at != '\\') {
            g_string_append_c(value, *at);
            continue;
        }
        at++;
        assert_true(*at == '\\' || *at == '"' || *at == 'n');
        g_string_append_c(value, (char)(*at == 'n' ? '\n' : *at));
    }
    return g_string_free(value, FALSE);
}

/* The name that a label stands for: \xff are its bytes. */
static char *read_name(const char *label)
{
    GString *name = g_string_new(NULL);

    for (; *label; label++) {
        if (*label != '\\') {
            g_string_append_c(name, *label);
            continue;
        }
        assert_true(label[1] == 'x' && g_ascii_isxdigit(label[2]) && g_ascii_isxdigit(label[3]));
        g_string_append_c(name, (char)(g_ascii_xdigit_value(label[2]) << 4 | g_ascii_xdigit_value(label[3])));
        label += 3;
    }
    return g_string_free(name, FALSE);
}

static gboolean is_printable(const char *text)
{
    for (const char *at = text; *at; at += g_utf8_skip[(guchar)*at]) {
        if (*at != '\n' && !g_unichar_isprint(g_utf8_get_char(at)))
            return FALSE;
    }
    return TRUE;
}

static void test_hostile_prometheus(void **state)
{
    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(HOSTILE); i++) {
        g_auto(World) world = look_hostile(i), harmless = look_harmless(i);
        g_autofree char *text = ibh_prometheus_writer.check(&world.report, &PLAIN);
        g_autofree char *other = ibh_prometheus_writer.check(&harmless.report, &PLAIN);
        const char *found = strstr(text, "\nib_hook_findings{code=\"route-missing\",device=\"");
        g_autofree char *label = NULL, *device = NULL;

        assert_non_null(found);
        assert_true(g_utf8_validate(text, -1, NULL) && is_printable(text));
        assert_int_equal(count_lines(text), count_lines(other));
        label = read_label(strstr(found, "device=\"") + strlen("device=\""));
        device = read_name(label);
        assert_true(g_str_has_prefix(HOSTILE[i], device) && strlen(device) == MIN(strlen(HOSTILE[i]), IFNAMSIZ - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_many_addresses),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_blocked),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_no_rails),
        cmocka_unit_test(test_asked_about_no_rail),
        cmocka_unit_test(test_check_text),
        cmocka_unit_test(test_check_is_narrow),
        cmocka_unit_test(test_check_names_one_command),
        cmocka_unit_test(test_check_of_a_right_host),
        cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_plan_text),
        cmocka_unit_test(test_plan_of_nothing),
        cmocka_unit_test(test_change_text),
        cmocka_unit_test(test_undo_text),
        cmocka_unit_test(test_failed_change_text),
        cmocka_unit_test(test_error_text),
        cmocka_unit_test(test_colors),
        cmocka_unit_test(test_check_json),
        cmocka_unit_test(test_findings_json),
        cmocka_unit_test(test_ok_json),
        cmocka_unit_test(test_only_json),
        cmocka_unit_test(test_plan_json),
        cmocka_unit_test(test_change_json),
        cmocka_unit_test(test_failed_change_json),
        cmocka_unit_test(test_error_json),
        cmocka_unit_test(test_operation_names),
        cmocka_unit_test(test_prometheus),
        cmocka_unit_test(test_prometheus_of_a_right_host),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_hostile_table),
        cmocka_unit_test(test_hostile_hold),
        cmocka_unit_test(test_hostile_json),
        cmocka_unit_test(test_hostile_prometheus),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
