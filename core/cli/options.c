/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options.h"

#include "render/render.h"

#include <stddef.h>
#include <string.h>

#define COUNT_MAX 1000
#define PEERS_MAX 10000
#define CONFIRM_MAX (24 * 3600)

typedef struct Row Row;

typedef struct {
    IbhOptions *options;
    gboolean has_action;
    gboolean confirms; /* --confirm, the action */
    guint used;        /* rows, a bit for each */
} Parser;

/* `value` is NULL where the row has no argument. */
typedef gboolean Take(Parser *parser, const Row *row, const char *value, GError **error);

struct Row {
    const char *name, *argument; /* as --help names it; NULL: none; "[…]": it may be left out */
    Take *take;
    gsize what;      /* which action it is; or where in IbhOptions its value is */
    guint goes_with; /* actions, a bit for each */
    const char *help;
    const char *unless; /* why it does not go with the others; NULL: they are named */
};

G_GNUC_PRINTF(2, 3) static gboolean refuse(GError **error, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, IBH_OPTIONS_ERROR, 0, "%s; ib-hook --help lists what there is", text);
    return FALSE;
}

static gboolean refuse_value(GError **error, const Row *row, const char *value, const char *wanted)
{
    g_autofree char *shown = g_strescape(value, NULL);

    return refuse(error, "--%s %.40s: %s", row->name, shown, wanted);
}

/* ---- what each row does ---- */

static gboolean take_action(Parser *parser, const Row *row, const char *value G_GNUC_UNUSED, GError **error)
{
    if (parser->has_action && parser->options->action != (IbhAction)row->what)
        return refuse(error, "two actions: one at a time");
    parser->options->action = (IbhAction)row->what;
    parser->has_action = TRUE;
    return TRUE;
}

static gboolean take_flag(Parser *parser, const Row *row, const char *value G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    G_STRUCT_MEMBER(gboolean, parser->options, row->what) = TRUE;
    return TRUE;
}

static gboolean take_path(Parser *parser, const Row *row, const char *value, GError **error)
{
    char **path = &G_STRUCT_MEMBER(char *, parser->options, row->what);

    if (!value[0])
        return refuse(error, "--%s wants a path", row->name);
    g_free(*path);
    *path = g_strdup(value);
    return TRUE;
}

static gboolean take_count(Parser *parser, const Row *row G_GNUC_UNUSED, const char *value, GError **error)
{
    guint64 count;

    if (!g_ascii_string_to_unsigned(value, 10, 1, COUNT_MAX, &count, NULL))
        return refuse(error, "--count wants 1 to %d", COUNT_MAX);
    parser->options->probe.count = (int)count;
    return TRUE;
}

static gboolean take_iface(Parser *parser, const Row *row, const char *value, GError **error)
{
    if (!ibh_is_iface_name(value))
        return refuse_value(error, row, value, "no interface can have this name");
    g_ptr_array_add(parser->options->ifaces, g_strdup(value));
    return TRUE;
}

static gboolean take_render(Parser *parser, const Row *row, const char *value, GError **error)
{
    g_autofree char *formats = ibh_render_formats(), *wanted = g_strconcat("one of ", formats, NULL);

    if (!ibh_render_knows(value))
        return refuse_value(error, row, value, wanted);
    if (parser->options->render && !g_str_equal(parser->options->render, value))
        return refuse(error, "two formats: one at a time");
    g_free(parser->options->render);
    parser->options->render = g_strdup(value);
    return take_action(parser, row, NULL, error);
}

/* --confirm SECONDS belongs to --apply, --confirm alone is an action. */
static gboolean take_confirm(Parser *parser, const Row *row G_GNUC_UNUSED, const char *value, GError **error)
{
    guint64 seconds;

    if (!value) {
        parser->confirms = TRUE;
        return TRUE;
    }
    if (!g_ascii_string_to_unsigned(value, 10, 1, CONFIRM_MAX, &seconds, NULL))
        return refuse(error, "--confirm wants 1 to %d seconds", CONFIRM_MAX);
    parser->options->confirm = (int)seconds;
    return TRUE;
}

/* ---- the rows ---- */

#define ONLY(action) (1u << IBH_ACTION_##action)
#define ANY G_MAXUINT
#define BUT(actions) (ANY & ~(actions))
#define AT(member) offsetof(IbhOptions, member)

#define ACTION(action, name, help) name, NULL, take_action, IBH_ACTION_##action, ANY, help, NULL

static const Row rows[] = {
    {ACTION(SHOW, "show", "a table of the RDMA NICs, and why each is or is not a rail (the default)")},
    {ACTION(CHECK, "check", "compares the host with its plan, then asks the kernel itself")},
    {ACTION(PLAN, "plan", "what --apply would do, as commands, with the reason of each; changes nothing")},
    {ACTION(APPLY, "apply", "does it")},
    {"confirm", "[S]", take_confirm, IBH_ACTION_CONFIRM, ONLY(APPLY),
     "keeps what --apply --confirm S did, which is undone S seconds later otherwise", NULL},
    {ACTION(UNDO, "undo", "takes it back, and leaves these interfaces alone until --apply or a reboot")},
    {"render", "FORMAT", take_render, IBH_ACTION_RENDER, ANY, "what --apply comes to, whole, for other tools:", NULL},
    {ACTION(WATCH, "watch", "stays, and repairs what changes")},
    {ACTION(PROBE, "probe",
            "echoes from every rail to the addresses that follow: replies, and which NICs they used, on both sides")},
    {ACTION(VERSION, "version", "the version")},
    {ACTION(HELP, "help", "this")},
    {"iface", "NAME", take_iface, 0, BUT(ONLY(WATCH)), "only this interface; may be repeated",
     "it is about all interfaces"},
    {"json", NULL, take_flag, AT(json), BUT(ONLY(WATCH) | ONLY(RENDER)), "one JSON object on standard output",
     "that has a form of its own"},
    {"prometheus", NULL, take_flag, AT(prometheus), ONLY(CHECK) | ONLY(PROBE), "with --check and --probe: metrics",
     "it is of --check and --probe"},
    {"count", "N", take_count, 0, ONLY(PROBE), "with --probe: echoes per rail and peer (3)", NULL},
    {"rdma", NULL, take_flag, AT(probe.rdma), ONLY(PROBE),
     "with --probe: asks by RDMA itself, too; the peer needs no server for it", NULL},
    {"config", "PATH", take_path, AT(config), ANY, "instead of /etc/ib-hook: a file, or such a directory", NULL},
    {"sysfs", "DIR", take_path, AT(sysfs), ANY,
     "instead of /sys; managers' files in /run and /etc, and /proc, come from beside it", NULL},
    {"verbose", NULL, take_flag, AT(verbose), ANY, "more: every netdev, every change", NULL},
    {"quiet", NULL, take_flag, AT(quiet), ANY, "only problems", NULL},
};

G_STATIC_ASSERT(G_N_ELEMENTS(rows) <= 32);

static const Row *find_row(const char *name, gsize length)
{
    IBH_EACH_ROW (const Row, row, rows) {
        if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
            return row;
    }
    return NULL;
}

/* ---- --help ---- */

#define HELP_COLUMN 19
#define HELP_WIDTH 80

/* Words from `column` on, wrapped. */
static void add_wrapped(GString *text, const char *words, gsize column)
{
    g_auto(GStrv) list = g_strsplit(words, " ", -1);
    gsize used = column;

    for (char **word = list; *word; word++) {
        if (used > column && used + 1 + strlen(*word) > HELP_WIDTH) {
            g_string_append_printf(text, "\n%*s", (int)column, "");
            used = column;
        }
        g_string_append_printf(text, "%s%s", used > column ? " " : "", *word);
        used += (used > column) + strlen(*word);
    }
    g_string_append_c(text, '\n');
}

static void add_help(GString *text, const Row *row)
{
    g_autofree char *formats = row->take == take_render ? ibh_render_formats() : NULL;
    g_autofree char *name = g_strjoin(" ", row->name, row->argument, NULL);
    g_autofree char *help = g_strjoin(" ", row->help, formats, NULL);

    g_string_append_printf(text, "  --%-15s", name);
    add_wrapped(text, help, HELP_COLUMN);
}

char *ibh_options_help(void)
{
    GString *text = g_string_new("usage: ib-hook [ACTION] [--iface NAME]... [OPTION]...\n"
                                 "\n"
                                 "Makes each of a host's RDMA NICs that share an IP subnet a rail of its own:\n"
                                 "traffic from a NIC's address leaves by it, and traffic to that address arrives\n"
                                 "there.\n"
                                 "\n"
                                 "actions (without --iface: on all rails)\n");

    IBH_EACH_ROW (const Row, row, rows) {
        if (row->take == take_iface)
            g_string_append(text, "\noptions\n");
        add_help(text, row);
    }
    g_string_append(text, "\nexit status: 0 clean or done, 1 findings, 2 bad usage or configuration (nothing\n"
                          "changed), 3 the system refused\n");
    return g_string_free(text, FALSE);
}

/* ---- --probe's peers ---- */

/* Addresses only: asking DNS for names would take as long as DNS likes. */
static gboolean take_word(Parser *parser, const char *word, GError **error)
{
    const Row *row = find_row("probe", strlen("probe"));
    g_autofree char *shown = g_strescape(word, NULL);
    IbhIp ip;

    if (parser->options->action != IBH_ACTION_PROBE) {
        if (find_row(word, strlen(word)))
            return refuse(error, "\"%.40s\" is no option: ib-hook --%s", shown, word);
        return refuse(error, "\"%.40s\" is no option", shown);
    }
    if (!ibh_ip_parse(word, &ip))
        return refuse_value(error, row, word, "an IPv4 or IPv6 address is wanted (getent ahosts NAME tells a host's)");
    if (!ibh_ip_is_unicast(&ip) || ibh_ip_is_link_local(&ip))
        return refuse_value(error, row, word, "no address that a peer has in the fabric");
    if (parser->options->probe.peers->len == PEERS_MAX)
        return refuse(error, "--probe: more than %d peers", PEERS_MAX);
    g_array_append_val(parser->options->probe.peers, ip);
    return TRUE;
}

/* ---- the words ---- */

/* The row of "--NAME" or "--NAME=VALUE"; NULL: there is none like it. */
static const Row *split_option(const char *word, const char **ret_value)
{
    gsize length = g_str_has_prefix(word, "--") ? strcspn(word + 2, "=") : 0;
    const Row *row = length ? find_row(word + 2, length) : NULL;

    if (g_str_equal(word, "-h"))
        row = find_row("help", strlen("help"));
    *ret_value = row && word[2 + length] ? word + 2 + length + 1 : NULL;
    return row && *ret_value && !row->argument ? NULL : row;
}

/* One option, with its value, which may be the next word. Returns how many words it took; 0: an error. */
static int take_option(Parser *parser, char **argv, GError **error)
{
    const char *value;
    const Row *row = split_option(argv[0], &value);
    g_autofree char *shown = g_strescape(argv[0], NULL);
    int n = 1;

    if (!row) {
        refuse(error, "%.40s: no such option", shown);
        return 0;
    }
    if (row->argument && !value) {
        gboolean may_lack = row->argument[0] == '[';

        if (argv[1] && (!may_lack || g_ascii_isdigit(argv[1][0])))
            value = argv[n++];
        else if (!may_lack) {
            refuse(error, "%.40s wants an argument", shown);
            return 0;
        }
    }
    parser->used |= 1u << (row - rows);
    return row->take(parser, row, value, error) ? n : 0;
}

static gboolean take_words(Parser *parser, char **argv, GError **error)
{
    gboolean only_words = FALSE;
    int n = 1;

    for (argv += *argv ? 1 : 0; *argv; argv += n) {
        gboolean is_option = !only_words && (*argv)[0] == '-' && (*argv)[1];

        n = 1;
        if (is_option && g_str_equal(*argv, "--"))
            only_words = TRUE;
        else if (is_option ? !(n = take_option(parser, argv, error)) : !take_word(parser, *argv, error))
            return FALSE;
    }
    return TRUE;
}

static const char *action_name(guint action)
{
    const Row *row = rows; /* the actions come first */

    while (1u << row->what != action)
        row++;
    return row->name;
}

/* Every option that was used is allowed with the action. */
static gboolean check_rows(const Parser *parser, GError **error)
{
    const IbhOptions *options = parser->options;
    guint action = 1u << options->action;

    IBH_EACH_ROW (const Row, row, rows) {
        gboolean used = row->take == take_confirm ? options->confirm != 0 : (parser->used & 1u << (row - rows)) != 0;

        if (!used || (row->goes_with & action))
            continue;
        if (row->unless)
            return refuse(error, "--%s does not go with --%s%s%s", row->name, action_name(action), ": ", row->unless);
        return refuse(error, "--%s goes with --%s", row->name, action_name(row->goes_with & (~row->goes_with + 1)));
    }
    return TRUE;
}

static gboolean check(const Parser *parser, GError **error)
{
    const IbhOptions *options = parser->options;

    if (options->action == IBH_ACTION_PROBE && !options->probe.peers->len)
        return refuse(error, "--probe wants the addresses of peers");
    if (options->verbose && options->quiet)
        return refuse(error, "--verbose and --quiet contradict each other");
    if (options->json && options->prometheus)
        return refuse(error, "--json and --prometheus contradict each other");
    return check_rows(parser, error);
}

static gboolean parse(Parser *parser, char **argv, GError **error)
{
    if (!take_words(parser, argv, error))
        return FALSE;
    if (parser->confirms && parser->has_action)
        return refuse(error, "--confirm with another action wants 1 to %d seconds", CONFIRM_MAX);
    if (parser->confirms)
        parser->options->action = IBH_ACTION_CONFIRM;
    return check(parser, error);
}

/* After an error the rest is not parsed, but it may say how to report the error. */
static gboolean asks_for_json(char **argv)
{
    return *argv && g_strv_contains((const char *const *)argv + 1, "--json");
}

gboolean ibh_options_parse(char **argv, IbhOptions *ret_options, GError **error)
{
    Parser parser = {.options = ret_options};
    gboolean parsed;

    *ret_options = (IbhOptions){.action = IBH_ACTION_SHOW};
    ret_options->probe = (IbhProbeRequest){.count = 3};
    ret_options->probe.peers = g_array_new(FALSE, TRUE, sizeof(IbhIp));
    ret_options->ifaces = g_ptr_array_new_with_free_func(g_free);
    ret_options->sysfs = g_strdup("/sys");
    parsed = parse(&parser, argv, error);
    if (!parsed)
        ret_options->json = asks_for_json(argv);
    if (ret_options->ifaces->len)
        g_ptr_array_add(ret_options->ifaces, NULL);
    return parsed;
}

void ibh_options_clear(IbhOptions *options)
{
    g_clear_pointer(&options->ifaces, g_ptr_array_unref);
    g_clear_pointer(&options->config, g_free);
    g_clear_pointer(&options->render, g_free);
    g_clear_pointer(&options->sysfs, g_free);
    g_clear_pointer(&options->token, g_free);
    g_clear_pointer(&options->probe.peers, g_array_unref);
}

const char *const *ibh_options_only(const IbhOptions *options)
{
    return options->ifaces->len ? (const char *const *)options->ifaces->pdata : NULL;
}
