/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

#include "render/render.h"

#include <string.h>

#define PEERS_MAX 10000

/* ---- what there is ---- */

typedef enum { ACTION, FORMAT, TEXT, FLAG, NUMBER, NAME } Kind; /* the first two choose an action */

typedef struct {
    const char *name, *value, *help; /* value: what it is called; NULL: it has none */
    Kind kind;
    guint with; /* bits: the actions that it goes with; one that it chooses */
    gsize at;   /* what it sets: where that stands in IbhOptions */
    guint max;
} Option;

#define WITH(action) (1u << IBH_ACTION_##action)
#define ALL (~0u)
#define AT(field) offsetof(IbhOptions, field)

/* --confirm SECONDS belongs to --apply, --confirm alone is an action. */
static const Option table[] = {
    {"show", NULL, "the RDMA NICs, and why each is or is not a rail (default)", ACTION, WITH(SHOW), 0, 0},
    {"check", NULL, "compares the host with its plan, then asks the kernel", ACTION, WITH(CHECK), 0, 0},
    {"plan", NULL, "what --apply would do, as commands; changes nothing", ACTION, WITH(PLAN), 0, 0},
    {"apply", NULL, "does it", ACTION, WITH(APPLY), 0, 0},
    {"confirm", "SECONDS", "with --apply: unless confirmed, the state before returns", NUMBER, WITH(APPLY), AT(confirm),
     24 * 3600},
    {"confirm", NULL, "keeps what --apply --confirm SECONDS did", ACTION, WITH(CONFIRM), 0, 0},
    {"undo", NULL, "takes it back, until --apply or a reboot", ACTION, WITH(UNDO), 0, 0},
    {"render", "FORMAT", "what --apply comes to, for other tools", FORMAT, WITH(RENDER), AT(render), 0},
    {"watch", NULL, "stays, and repairs what changes", ACTION, WITH(WATCH), 0, 0},
    {"probe", NULL, "echoes from every rail to every PEER, an address", ACTION, WITH(PROBE), 0, 0},
    {"version", NULL, "the version", ACTION, WITH(VERSION), 0, 0},
    {"help", NULL, "this", ACTION, WITH(HELP), 0, 0},
    {"iface", "NAME", "only this NIC; may be repeated", NAME, ~WITH(WATCH), AT(ifaces), 0},
    {"json", NULL, "one JSON object on standard output", FLAG, ~(WITH(WATCH) | WITH(RENDER)), AT(json), 0},
    {"prometheus", NULL, "with --check and --probe: metrics", FLAG, WITH(CHECK) | WITH(PROBE), AT(prometheus), 0},
    {"count", "N", "with --probe: echoes per rail and PEER (3)", NUMBER, WITH(PROBE), AT(probe.count), 1000},
    {"rdma", NULL, "with --probe: asks by RDMA, too", FLAG, WITH(PROBE), AT(probe.rdma), 0},
    {"config", "PATH", "a file or directory, for /etc/ib-hook", TEXT, ALL, AT(config), 0},
    {"sysfs", "DIR", "instead of /sys, with /proc, /run beside it", TEXT, ALL, AT(sysfs), 0},
    {"verbose", NULL, "more: every netdev, every change", FLAG, ALL, AT(style.verbose), 0},
    {"quiet", NULL, "only problems", FLAG, ALL, AT(style.quiet), 0},
};

void ibh_options_help(GString *out)
{
    g_autofree char *formats = ibh_render_formats();

    g_string_append(out, "Usage: ib-hook [ACTION] [OPTION...] [PEER...]\n\n"
                         "Makes each of a host's RDMA NICs that share an IP subnet a rail of its own:\n"
                         "traffic from a NIC's address leaves by it, and traffic to that address\n"
                         "arrives there. One action; without --iface, on all rails.\n\n");
    IBH_EACH_ROW (const Option, option, table) {
        g_autofree char *word = g_strjoin(" ", option->name, option->value, NULL);

        g_string_append_printf(out, "  --%-16s  %s\n", word, option->help);
    }
    g_string_append_printf(out,
                           "\nFormats: %s\n\nExit status: 0 clean or done, 1 findings, 2 bad usage or configuration\n"
                           "(nothing changed), 3 the system refused\n",
                           formats);
}

/* ---- from words to values; each of these returns what is wrong, NULL: nothing ---- */

static char *take_value(IbhOptions *options, const Option *option, char *value)
{
    void *place = (char *)options + option->at;
    g_autofree char *formats = ibh_render_formats();
    guint64 number = 0;

    if (option->kind <= FORMAT)
        options->action = (IbhAction)g_bit_nth_lsf(option->with, -1);
    if (option->kind == FLAG)
        *(gboolean *)place = TRUE;
    else if (option->kind == FORMAT || option->kind == TEXT)
        *(const char **)place = value;
    else if (option->kind == NAME)
        options->ifaces[g_strv_length(options->ifaces)] = value;
    else if (option->kind == NUMBER) {
        if (!g_ascii_string_to_unsigned(value, 10, 1, option->max, &number, NULL))
            return g_strdup_printf("--%s %s: a number from 1 to %u is wanted", option->name, value, option->max);
        *(int *)place = (int)number;
    }
    if (option->kind == FORMAT && !ibh_render_knows(value))
        return g_strdup_printf("--render %s: one of %s", value, formats);
    if (option->kind == NAME && !ibh_iface_name_is_valid(value))
        return g_strdup_printf("--iface %s: no interface can have this name", value);
    if (option->kind == TEXT && !value[0])
        return g_strdup("--config and --sysfs want a path");
    return NULL;
}

static gboolean names(const char *word, const Option *option)
{
    const gsize length = strlen(option->name);

    return g_str_has_prefix(word, "--") && strncmp(word + 2, option->name, length) == 0 &&
           (word[2 + length] == '\0' || word[2 + length] == '=');
}

/* The option at `word`. Its value may be any word, but for a number no other option. */
static const Option *find(const char *word, const char *value)
{
    IBH_EACH_ROW (const Option, option, table) {
        const gboolean has_value = value && !(option->kind == NUMBER && value[0] == '-');

        if (names(word, option) && (!option->value || has_value))
            return option;
    }
    return NULL;
}

/* `used`: a bit for each row. What is no option is put among `others`. */
static char *take_words(char **word, IbhOptions *options, guint *used, GPtrArray *others)
{
    char *problem = NULL;

    for (gboolean ended = FALSE; *word && !problem; word++) {
        const char *text = g_str_equal(*word, "-h") ? "--help" : *word;
        char *equals = strchr(*word, '='), *value = equals ? equals + 1 : word[1];
        const Option *option = find(text, value);

        if (ended || text[0] != '-') {
            g_ptr_array_add(others, *word);
        } else if (g_str_equal(text, "--")) {
            ended = TRUE;
        } else if (!option || (equals && !option->value)) {
            problem = g_strdup_printf("%s: no option is written so; ib-hook --help lists all", text);
        } else {
            *used |= 1u << (option - table);
            word += option->value && !equals ? 1 : 0;
            problem = take_value(options, option, value);
        }
    }
    return problem;
}

/* Addresses only: asking DNS for names would take as long as DNS likes. */
static char *take_peers(IbhOptions *options, const GPtrArray *words)
{
    GArray *peers = options->probe.peers;
    const gboolean probe = options->action == IBH_ACTION_PROBE;
    IbhIp ip;

    IBH_EACH_POINTER (const char, word, words) {
        if (!probe)
            return g_strdup_printf("\"%s\" is no option; ib-hook --help lists them", word);
        if (!ibh_ip_parse(word, &ip))
            return g_strdup_printf("--probe %s: an IPv4 or IPv6 address is wanted (getent ahosts NAME tells a host's)",
                                   word);
        if (!ibh_ip_is_unicast(&ip) || ibh_ip_is_link_local(&ip))
            return g_strdup_printf("--probe %s: no address that a peer has in the fabric", word);
        g_array_append_val(peers, ip);
    }
    return probe && (peers->len < 1 || peers->len > PEERS_MAX)
               ? g_strdup_printf("--probe wants the addresses of peers, %d at most", PEERS_MAX)
               : NULL;
}

static char *check_together(const IbhOptions *options, guint used)
{
    const guint action = 1u << options->action;
    const Option *chosen = table;

    while (chosen->with != action)
        chosen++;
    for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
        if (used & 1u << i && !(table[i].with & action))
            return table[i].kind <= FORMAT
                       ? g_strdup("two actions: one at a time (--confirm with --apply wants seconds)")
                       : g_strdup_printf("--%s does not go with --%s", table[i].name, chosen->name);
    }
    return options->style.verbose && options->style.quiet ? g_strdup("--verbose and --quiet contradict each other")
           : options->json && options->prometheus         ? g_strdup("--json and --prometheus contradict each other")
                                                          : NULL;
}

gboolean ibh_options_parse(char **argv, IbhOptions *ret_options, GError **error)
{
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    char **words = argv + (*argv ? 1 : 0);
    g_autofree char *problem = NULL, *clean = NULL;
    guint used = 0;

    *ret_options = (IbhOptions){.sysfs = "/sys",
                                .ifaces = g_new0(char *, g_strv_length(argv) + 1),
                                .probe = {.count = 3, .peers = g_array_new(FALSE, TRUE, sizeof(IbhIp))}};
    if (!(problem = take_words(words, ret_options, &used, others)) && !(problem = check_together(ret_options, used)))
        problem = take_peers(ret_options, others);
    if (!ret_options->ifaces[0])
        g_clear_pointer(&ret_options->ifaces, g_free);
    if (!problem)
        return TRUE;
    ret_options->json = g_strv_contains((const char *const *)words, "--json"); /* how it is told */
    /* It may hold a word of the caller's. */
    clean = ibh_text_printable(problem);
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, clean);
    return FALSE;
}

void ibh_options_clear(IbhOptions *options)
{
    g_clear_pointer(&options->ifaces, g_free);
    g_clear_pointer(&options->probe.peers, g_array_unref);
}
