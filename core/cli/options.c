/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options.h"

#include "render/render.h"

#define COUNT_MAX 1000
#define PEERS_MAX 10000
#define CONFIRM_MAX (24 * 3600)

/* What GLib has taken from the command line, before it is judged. */
typedef struct {
    IbhOptions *options;
    gboolean chosen[IBH_ACTION_HELP + 1];
    char *count;
    char **words; /* that belong to no option */
} Line;

G_GNUC_PRINTF(2, 3) static gboolean refuse(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_propagate_error(error, g_error_new_valist(G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, format, args));
    va_end(args);
    return FALSE;
}

static gboolean take_number(const char *option, const char *value, guint max, int *ret_number, GError **error)
{
    guint64 number;

    if (!g_ascii_string_to_unsigned(value, 10, 1, max, &number, NULL))
        return refuse(error, "%s %s: a number from 1 to %u is wanted", option, value, max);
    *ret_number = (int)number;
    return TRUE;
}

/* --confirm SECONDS belongs to --apply, --confirm alone is an action. */
static gboolean take_confirm(const char *option G_GNUC_UNUSED, const char *value, gpointer line, GError **error)
{
    if (value)
        return take_number("--confirm", value, CONFIRM_MAX, &((Line *)line)->options->confirm, error);
    ((Line *)line)->chosen[IBH_ACTION_CONFIRM] = TRUE;
    return TRUE;
}

/* ---- what there is ---- */

#define ACTION(action, name, help) name, 0, 0, G_OPTION_ARG_NONE, &line->chosen[IBH_ACTION_##action], help, NULL

static GOptionContext *make_context(Line *line)
{
    IbhOptions *options = line->options;
    GOptionGroup *group = g_option_group_new("", "", "", line, NULL);
    GOptionContext *context = g_option_context_new("[PEER...]");
    const GOptionEntry entries[] = {
        {ACTION(SHOW, "show", "the RDMA NICs, and why each is or is not a rail (default)")},
        {ACTION(CHECK, "check", "compares the host with its plan, then asks the kernel")},
        {ACTION(PLAN, "plan", "what --apply would do, as commands; changes nothing")},
        {ACTION(APPLY, "apply", "does it; with --confirm=S only for S seconds")},
        {"confirm", 0, G_OPTION_FLAG_OPTIONAL_ARG, G_OPTION_ARG_CALLBACK, __extension__(gpointer) take_confirm,
         "keeps what --apply --confirm=S did", "S"},
        {ACTION(UNDO, "undo", "takes it back, until --apply or a reboot")},
        {"render", 0, 0, G_OPTION_ARG_STRING, &options->render, "what --apply comes to, for other tools", "FORMAT"},
        {ACTION(WATCH, "watch", "stays, and repairs what changes")},
        {ACTION(PROBE, "probe", "echoes from every rail to every PEER, an address")},
        {ACTION(VERSION, "version", "the version")},
        {"help", 'h', 0, G_OPTION_ARG_NONE, &line->chosen[IBH_ACTION_HELP], "this", NULL},
        {"iface", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->ifaces, "only this NIC; may be repeated", "NAME"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "one JSON object on standard output", NULL},
        {"prometheus", 0, 0, G_OPTION_ARG_NONE, &options->prometheus, "with --check and --probe: metrics", NULL},
        {"count", 0, 0, G_OPTION_ARG_STRING, &line->count, "with --probe: echoes per rail and PEER (3)", "N"},
        {"rdma", 0, 0, G_OPTION_ARG_NONE, &options->probe.rdma, "with --probe: asks by RDMA, too", NULL},
        {"config", 0, 0, G_OPTION_ARG_FILENAME, &options->config, "a file or directory, for /etc/ib-hook", "PATH"},
        {"sysfs", 0, 0, G_OPTION_ARG_FILENAME, &options->sysfs, "instead of /sys, with /proc, /run beside it", "DIR"},
        {"verbose", 0, 0, G_OPTION_ARG_NONE, &options->style.verbose, "more: every netdev, every change", NULL},
        {"quiet", 0, 0, G_OPTION_ARG_NONE, &options->style.quiet, "only problems", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &line->words, NULL, NULL},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };

    g_option_group_add_entries(group, entries);
    g_option_context_set_main_group(context, group);
    g_option_context_set_help_enabled(context, FALSE);
    return context;
}

void ibh_options_help(GString *out)
{
    IbhOptions options = {0};
    g_autoptr(GOptionContext) context = make_context(&(Line){.options = &options});
    g_autofree char *formats = ibh_render_formats(), *end = NULL, *help = NULL;

    end = g_strdup_printf("Formats: %s\n\nExit status: 0 clean or done, 1 findings, 2 bad usage or configuration\n"
                          "(nothing changed), 3 the system refused",
                          formats);
    g_option_context_set_summary(context,
                                 "Makes each of a host's RDMA NICs that share an IP subnet a rail of its own:\n"
                                 "traffic from a NIC's address leaves by it, and traffic to that address\n"
                                 "arrives there. One action; without --iface, on all rails.");
    g_option_context_set_description(context, end);
    help = g_option_context_get_help(context, TRUE, NULL);
    g_string_append(out, help);
}

/* ---- what of it goes together ---- */

static gboolean find_action(Line *line, GError **error)
{
    guint n = 0;

    line->chosen[IBH_ACTION_RENDER] = line->options->render != NULL;
    for (int i = 0; i <= IBH_ACTION_HELP; i++) {
        if (line->chosen[i]) {
            line->options->action = (IbhAction)i;
            n++;
        }
    }
    return n <= 1 || refuse(error, "two actions: one at a time (--confirm with --apply wants seconds)");
}

#define ONLY(action) (1u << IBH_ACTION_##action)

static gboolean check_actions(const Line *line, GError **error)
{
    const IbhOptions *options = line->options;
    const struct Limit {
        const char *name, *why;
        gboolean used;
        guint actions;
    } limits[] = {
        {"iface", "goes with all actions but --watch", options->ifaces != NULL, ~ONLY(WATCH)},
        {"json", "goes with neither --watch nor --render", options->json, ~(ONLY(WATCH) | ONLY(RENDER))},
        {"prometheus", "goes with --check and --probe", options->prometheus, ONLY(CHECK) | ONLY(PROBE)},
        {"count", "goes with --probe", line->count != NULL, ONLY(PROBE)},
        {"rdma", "goes with --probe", options->probe.rdma, ONLY(PROBE)},
        {"confirm", "goes with --apply", options->confirm != 0, ONLY(APPLY)},
    };

    IBH_EACH_ROW (const struct Limit, limit, limits) {
        if (limit->used && !(limit->actions & 1u << options->action))
            return refuse(error, "--%s %s", limit->name, limit->why);
    }
    if (options->style.verbose && options->style.quiet)
        return refuse(error, "--verbose and --quiet contradict each other");
    if (options->json && options->prometheus)
        return refuse(error, "--json and --prometheus contradict each other");
    return TRUE;
}

/* ---- what values there may be ---- */

/* Addresses only: asking DNS for names would take as long as DNS likes. */
static gboolean take_peers(const Line *line, GError **error)
{
    GArray *peers = line->options->probe.peers;
    const gboolean probe = line->options->action == IBH_ACTION_PROBE;
    IbhIp ip;

    for (char **word = line->words; word && *word; word++) {
        if (!probe)
            return refuse(error, "\"%s\" is no option; ib-hook --help lists them", *word);
        if (!ibh_ip_parse(*word, &ip))
            return refuse(error, "--probe %s: an IPv4 or IPv6 address is wanted (getent ahosts NAME tells a host's)",
                          *word);
        if (!ibh_ip_is_unicast(&ip) || ibh_ip_is_link_local(&ip))
            return refuse(error, "--probe %s: no address that a peer has in the fabric", *word);
        g_array_append_val(peers, ip);
    }
    if (probe && (peers->len < 1 || peers->len > PEERS_MAX))
        return refuse(error, "--probe wants the addresses of peers, %d at most", PEERS_MAX);
    return TRUE;
}

static gboolean check_values(const Line *line, GError **error)
{
    IbhOptions *options = line->options;
    g_autofree char *formats = ibh_render_formats();

    for (char **name = options->ifaces; name && *name; name++) {
        if (!ibh_is_iface_name(*name))
            return refuse(error, "--iface %s: no interface can have this name", *name);
    }
    if (options->render && !ibh_render_knows(options->render))
        return refuse(error, "--render %s: one of %s", options->render, formats);
    if ((options->config && !options->config[0]) || !options->sysfs[0])
        return refuse(error, "--config and --sysfs want a path");
    return !line->count || take_number("--count", line->count, COUNT_MAX, &options->probe.count, error);
}

/* GLib would take --undo=ib0 for --undo, of all rails. */
static gboolean check_flags(char **argv, GError **error)
{
    static const char *const valued[] = {"--confirm", "--render", "--iface", "--count", "--config", "--sysfs", NULL};

    for (char **word = argv; *word && !g_str_equal(*word, "--"); word++) {
        g_auto(GStrv) parts = g_strsplit(*word, "=", 2);

        if (g_str_has_prefix(*word, "--") && parts[1] && !g_strv_contains(valued, parts[0]))
            return refuse(error, "%s: this option has no value", *word);
    }
    return TRUE;
}

/* After an error nothing is kept, but the words may say how to report it. */
static gboolean asks_for_json(char **argv)
{
    return *argv && g_strv_contains((const char *const *)argv + 1, "--json");
}

gboolean ibh_options_parse(char **argv, IbhOptions *ret_options, GError **error)
{
    Line line = {.options = ret_options};
    g_autoptr(GOptionContext) context = make_context(&line);
    g_auto(GStrv) rest = g_strdupv(argv);
    gboolean parsed;

    *ret_options = (IbhOptions){.probe = {.count = 3, .peers = g_array_new(FALSE, TRUE, sizeof(IbhIp))}};
    parsed = check_flags(argv, error) && g_option_context_parse_strv(context, &rest, error);
    if (!ret_options->sysfs)
        ret_options->sysfs = g_strdup("/sys");
    parsed = parsed && find_action(&line, error) && check_actions(&line, error) && take_peers(&line, error) &&
             check_values(&line, error);
    ret_options->json = parsed ? ret_options->json : asks_for_json(argv);
    g_strfreev(line.words);
    g_free(line.count);
    return parsed;
}

void ibh_options_clear(IbhOptions *options)
{
    g_clear_pointer(&options->ifaces, g_strfreev);
    g_clear_pointer(&options->config, g_free);
    g_clear_pointer(&options->render, g_free);
    g_clear_pointer(&options->sysfs, g_free);
    g_clear_pointer(&options->probe.peers, g_array_unref);
}
