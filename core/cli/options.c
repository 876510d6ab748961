#include "cli/options.h"

#include "model/model.h"
#include "render/render.h"

#include <getopt.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

const char ibh_options_help[] =
    "usage: ib-hook [ACTION] [--iface NAME]... [OPTION]...\n"
    "\n"
    "Makes each of a host's RDMA NICs that share an IP subnet a rail of its own: what is sent from a NIC's address\n"
    "leaves by that NIC, and what is sent to it arrives there.\n"
    "\n"
    "actions (without --iface: on all rails)\n"
    "  --show           a table of the RDMA NICs, and why each is or is not a rail (the default)\n"
    "  --check          compares what is with what should be, then asks the kernel itself\n"
    "  --plan           what --apply would do, as commands, with the reason of each; changes nothing\n"
    "  --apply          does it\n"
    "  --confirm        keeps what --apply --confirm SECONDS did\n"
    "  --undo           takes it back, and leaves these interfaces alone until --apply or a reboot\n"
    "  --render FORMAT  what --apply comes to, whole, for other tools:\n"
    "                   iproute2, netplan, networkd, nm-keyfile, nmcli, ifupdown, ifcfg,\n"
    "                   sysctl, rt_tables, udev\n"
    "  --watch          stays, and repairs what changes\n"
    "  --capture FILE   writes what --check reads of RDMA ports, and nothing else, into a new tar archive\n"
    "  --probe PEER...  echoes from every rail to these addresses: replies, and which NICs they used, on both sides\n"
    "  --version, --help\n"
    "\n"
    "options\n"
    "  --iface NAME     only this interface; may be repeated\n"
    "  --json           one JSON object on standard output (the same as --format json)\n"
    "  --format FORMAT  text, json, or (--check only) prometheus\n"
    "  --confirm SECONDS  with --apply: undone again, unless ib-hook --confirm comes in time\n"
    "  --hook           with --apply: as the hooks do it: what --undo left alone stays so, into the journal, exit 0\n"
    "  --install        with --apply: changes nothing, and holds all, if a NIC to become a rail has no carrier\n"
    "  --count N        with --probe: echoes per rail and peer (3)\n"
    "  --interval S     with --probe: seconds from one to the next (0.2); never more than 1000 packets/s together\n"
    "  --timeout S      with --probe: seconds to wait for the last replies (1)\n"
    "  --config PATH    instead of /etc/ib-hook: a file, or such a directory\n"
    "  --sysfs DIR      instead of /sys; managers' files in /run and /etc, and /proc, come from beside it. Or what an\n"
    "                   archive of --capture unpacks to: --show and --check then judge that host's RDMA ports\n"
    "  --family 4|6     only one family (not with --apply, --undo)\n"
    "  --verbose        more: every netdev, every change\n"
    "  --quiet          only what is wrong\n"
    "  --color WHEN     auto, always or never\n"
    "\n"
    "exit status: 0 clean or done, 1 findings, 2 bad usage or configuration (nothing changed), 3 the system refused\n";

/* getopt_long() calls a word that is no option 1, which no action may be. */
#define OPTION_WORD 1
#define ACTION(action) (100 + (int)(action))

enum {
    OPTION_IFACE = 256,
    OPTION_JSON,
    OPTION_FORMAT,
    OPTION_CONFIG,
    OPTION_SYSFS,
    OPTION_VERBOSE,
    OPTION_QUIET,
    OPTION_COLOR,
    OPTION_FAMILY,
    OPTION_CONFIRM,
    OPTION_RENDER,
    OPTION_HOOK,
    OPTION_INSTALL,
    OPTION_CAPTURE,
    OPTION_COUNT,
    OPTION_INTERVAL,
    OPTION_TIMEOUT
};

static const struct option options_table[] = {
    {"show", no_argument, NULL, ACTION(IBH_ACTION_SHOW)},
    {"check", no_argument, NULL, ACTION(IBH_ACTION_CHECK)},
    {"plan", no_argument, NULL, ACTION(IBH_ACTION_PLAN)},
    {"apply", no_argument, NULL, ACTION(IBH_ACTION_APPLY)},
    {"undo", no_argument, NULL, ACTION(IBH_ACTION_UNDO)},
    {"version", no_argument, NULL, ACTION(IBH_ACTION_VERSION)},
    {"help", no_argument, NULL, ACTION(IBH_ACTION_HELP)},
    {"iface", required_argument, NULL, OPTION_IFACE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"sysfs", required_argument, NULL, OPTION_SYSFS},
    {"verbose", no_argument, NULL, OPTION_VERBOSE},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"color", required_argument, NULL, OPTION_COLOR},
    {"confirm", optional_argument, NULL, OPTION_CONFIRM},
    {"probe", no_argument, NULL, ACTION(IBH_ACTION_PROBE)},
    {"count", required_argument, NULL, OPTION_COUNT},
    {"interval", required_argument, NULL, OPTION_INTERVAL},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"render", required_argument, NULL, OPTION_RENDER},
    {"watch", no_argument, NULL, ACTION(IBH_ACTION_WATCH)},
    {"capture", required_argument, NULL, OPTION_CAPTURE}, /* an action with an argument */
    {"hook", no_argument, NULL, OPTION_HOOK},
    {"install", no_argument, NULL, OPTION_INSTALL},
    {"family", required_argument, NULL, OPTION_FAMILY},
    {NULL, 0, NULL, 0},
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

static gboolean set_action(IbhOptions *options, IbhAction action, gboolean *has_action, GError **error)
{
    if (*has_action && options->action != action)
        return refuse(error, "two actions: one at a time");
    options->action = action;
    *has_action = TRUE;
    return TRUE;
}

static gboolean add_iface(IbhOptions *options, const char *name, GError **error)
{
    g_autofree char *shown = g_strescape(name, NULL);

    if (!ibh_is_iface_name(name))
        return refuse(error, "--iface \"%.40s\": no interface can have this name", shown);
    g_ptr_array_add(options->ifaces, g_strdup(name));
    return TRUE;
}

static gboolean set_format(IbhOptions *options, const char *format, GError **error)
{
    g_autofree char *shown = g_strescape(format, NULL);

    options->json = g_str_equal(format, "json");
    options->prometheus = g_str_equal(format, "prometheus");
    if (!options->json && !options->prometheus && !g_str_equal(format, "text"))
        return refuse(error, "--format %.40s: text, json or prometheus", shown);
    return TRUE;
}

static gboolean set_render(IbhOptions *options, const char *format, gboolean *has_action, GError **error)
{
    g_autofree char *shown = g_strescape(format, NULL);
    g_autofree char *formats = ibh_render_formats();

    if (!ibh_render_knows(format))
        return refuse(error, "--render %.40s: one of %s", shown, formats);
    if (options->render && !g_str_equal(options->render, format))
        return refuse(error, "two formats: one at a time");
    g_free(options->render);
    options->render = g_strdup(format);
    return set_action(options, IBH_ACTION_RENDER, has_action, error);
}

static gboolean set_color(IbhOptions *options, const char *when, GError **error)
{
    static const char *const words[] = {"auto", "always", "never"};
    g_autofree char *shown = g_strescape(when, NULL);

    for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_str_equal(when, words[i])) {
            options->color = (IbhColor)i;
            return TRUE;
        }
    }
    return refuse(error, "--color %.40s: auto, always or never", shown);
}

static gboolean set_family(IbhOptions *options, const char *family, GError **error)
{
    g_autofree char *shown = g_strescape(family, NULL);

    options->family = g_str_equal(family, "4") ? AF_INET : g_str_equal(family, "6") ? AF_INET6 : 0;
    return options->family ? TRUE : refuse(error, "--family %.40s: 4 or 6", shown);
}

#define CONFIRM_MAX (24 * 3600)

/* --confirm SECONDS belongs to --apply, --confirm alone is an action: the next word decides, if it is a number. */
static gboolean set_confirm(IbhOptions *options, int argc, char **argv, gboolean *confirms, GError **error)
{
    const char *word = optarg;
    guint64 seconds;

    if (!word && optind < argc && g_ascii_isdigit(argv[optind][0]))
        word = argv[optind++];
    if (!word) {
        *confirms = TRUE;
        return TRUE;
    }
    if (!g_ascii_string_to_unsigned(word, 10, 1, CONFIRM_MAX, &seconds, NULL))
        return refuse(error, "--confirm wants 1 to %d seconds", CONFIRM_MAX);
    options->confirm = (int)seconds;
    return TRUE;
}

/* ---- --probe ---- */

#define COUNT_MAX 1000
#define SECONDS_MIN 0.01
#define SECONDS_MAX 60
#define PEERS_MAX 10000

static gboolean set_count(IbhOptions *options, GError **error)
{
    guint64 count;

    if (!g_ascii_string_to_unsigned(optarg, 10, 1, COUNT_MAX, &count, NULL))
        return refuse(error, "--count wants 1 to %d", COUNT_MAX);
    options->probe.count = (int)count;
    return TRUE;
}

static gboolean set_seconds(gint64 *ret_microseconds, const char *name, GError **error)
{
    gboolean plain = optarg[0] && strspn(optarg, "0123456789.") == strlen(optarg); /* no 0x10, no nan, no 1e3 */
    char *end = NULL;
    double seconds = plain ? g_ascii_strtod(optarg, &end) : 0;

    if (!plain || *end || seconds < SECONDS_MIN || seconds > SECONDS_MAX)
        return refuse(error, "%s wants %.2f to %d seconds", name, SECONDS_MIN, SECONDS_MAX);
    *ret_microseconds = (gint64)(seconds * G_USEC_PER_SEC);
    return TRUE;
}

/* Of one host: not of a group of them, nor of nobody. */
static gboolean is_unicast(const IbhIp *ip)
{
    static const guint8 nobody[15] = {0};

    if (ip->family == AF_INET)
        return ip->bytes[0] && ip->bytes[0] != 127 && ip->bytes[0] < 224;
    return ip->bytes[0] != 0xff && memcmp(ip->bytes, nobody, sizeof nobody) != 0; /* ::, ::1 */
}

/* Addresses only: asking DNS for names would take as long as DNS likes. */
static gboolean add_peer(IbhOptions *options, const char *word, GError **error)
{
    g_autofree char *shown = g_strescape(word, NULL);
    IbhIp ip;

    if (!ibh_ip_parse(word, &ip))
        return refuse(error, "--probe \"%.60s\": an IPv4 or IPv6 address is wanted (getent ahosts NAME tells a host's)",
                      shown);
    if (!is_unicast(&ip) || ibh_ip_is_link_local(&ip))
        return refuse(error, "--probe %.60s: no address that a peer has in the fabric", shown);
    if (options->probe.peers->len == PEERS_MAX)
        return refuse(error, "--probe: more than %d peers", PEERS_MAX);
    g_array_append_val(options->probe.peers, ip);
    return TRUE;
}

static gboolean add_word(IbhOptions *options, const char *word, GError **error)
{
    g_autofree char *shown = g_strescape(word, NULL);

    if (options->action == IBH_ACTION_PROBE)
        return add_peer(options, word, error);
    return refuse(error, "\"%.40s\" is no option", shown);
}

static gboolean check_probe(const IbhOptions *options, GError **error)
{
    if (options->action == IBH_ACTION_PROBE && !options->probe.peers->len)
        return refuse(error, "--probe wants the addresses of peers");
    if (options->action != IBH_ACTION_PROBE &&
        (options->probe.count || options->probe.interval || options->probe.timeout))
        return refuse(error, "--count, --interval and --timeout go with --probe");
    return TRUE;
}

static gboolean set_path(char **path, const char *name, const char *value, GError **error)
{
    if (!value[0])
        return refuse(error, "%s wants a path", name);
    g_free(*path);
    *path = g_strdup(value);
    return TRUE;
}

static gboolean take(IbhOptions *options, int option, const char *word, gboolean *has_action, GError **error)
{
    g_autofree char *shown = NULL;

    switch (option) {
    case OPTION_IFACE:
        return add_iface(options, optarg, error);
    case OPTION_JSON:
        options->json = TRUE;
        options->prometheus = FALSE;
        return TRUE;
    case OPTION_FORMAT:
        return set_format(options, optarg, error);
    case OPTION_CONFIG:
        return set_path(&options->config, "--config", optarg, error);
    case OPTION_SYSFS:
        return set_path(&options->sysfs, "--sysfs", optarg, error);
    case OPTION_CAPTURE:
        return set_path(&options->capture, "--capture", optarg, error) &&
               set_action(options, IBH_ACTION_CAPTURE, has_action, error);
    case OPTION_VERBOSE:
        options->verbose = TRUE;
        return TRUE;
    case OPTION_QUIET:
        options->quiet = TRUE;
        return TRUE;
    case OPTION_COLOR:
        return set_color(options, optarg, error);
    case OPTION_HOOK:
        options->hook = TRUE;
        return TRUE;
    case OPTION_INSTALL:
        options->install = TRUE;
        return TRUE;
    case OPTION_RENDER:
        return set_render(options, optarg, has_action, error);
    case OPTION_FAMILY:
        return set_family(options, optarg, error);
    case OPTION_COUNT:
        return set_count(options, error);
    case OPTION_INTERVAL:
        return set_seconds(&options->probe.interval, "--interval", error);
    case OPTION_TIMEOUT:
        return set_seconds(&options->probe.timeout, "--timeout", error);
    case OPTION_WORD:
        return add_word(options, optarg, error);
    case ':':
        shown = g_strescape(word, NULL);
        return refuse(error, "%.40s wants an argument", shown);
    case '?':
        shown = g_strescape(word, NULL);
        return refuse(error, "%.40s: no such option", shown);
    default:
        return set_action(options, (IbhAction)(option - ACTION(0)), has_action, error);
    }
}

/* The rest is not parsed after an error, but how the error is to be told may stand there (or be cut short: --form). */
static gboolean asks_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        g_autofree char *word = g_strndup(argv[i], equals ? (gsize)(equals - argv[i]) : strlen(argv[i]));
        const char *value = equals ? equals + 1 : i + 1 < argc ? argv[i + 1] : "";

        if (strlen(word) > 2 &&
            (g_str_has_prefix("--json", word) || (g_str_has_prefix("--format", word) && g_str_equal(value, "json"))))
            return TRUE;
    }
    return FALSE;
}

/* getopt_long() takes --und for --undo, until another option begins like it. */
static gboolean is_whole(const char *word, const struct option *option)
{
    gsize length = strlen(option->name);

    return g_str_has_prefix(word, "--") && strncmp(word + 2, option->name, length) == 0 &&
           (word[2 + length] == '\0' || word[2 + length] == '=');
}

static gboolean parse_words(int argc, char **argv, IbhOptions *options, GError **error)
{
    gboolean has_action = FALSE, confirms = FALSE;
    int option, which = -1, index = 1;

    optind = 0; /* glibc: begin anew, also after an error */
    while ((option = getopt_long(argc, argv, "-:", options_table, &which)) != -1) {
        const char *word = argv[index < argc ? index : argc - 1];

        if (option != '?' && option != ':' && option != OPTION_WORD && !is_whole(word, &options_table[which]))
            option = '?';
        if (option == OPTION_CONFIRM ? !set_confirm(options, argc, argv, &confirms, error)
                                     : !take(options, option, word, &has_action, error))
            return FALSE;
        index = optind;
    }
    if (confirms && has_action)
        return refuse(error, "--confirm with another action wants 1 to %d seconds", CONFIRM_MAX);
    if (confirms)
        options->action = IBH_ACTION_CONFIRM;
    for (; optind < argc; optind++) { /* behind -- */
        if (!add_word(options, argv[optind], error))
            return FALSE;
    }
    if (!check_probe(options, error))
        return FALSE;
    if (options->family && (options->action == IBH_ACTION_APPLY || options->action == IBH_ACTION_UNDO))
        return refuse(error, "--family looks at one family; --apply and --undo do both");
    if (options->prometheus && options->action != IBH_ACTION_CHECK)
        return refuse(error, "--format prometheus goes with --check");
    if (options->confirm && options->action != IBH_ACTION_APPLY)
        return refuse(error, "--confirm SECONDS goes with --apply");
    if ((options->hook || options->install) && options->action != IBH_ACTION_APPLY)
        return refuse(error, "--hook and --install go with --apply");
    if (options->hook && (options->install || options->confirm || options->ifaces->len || options->json))
        return refuse(error,
                      "--hook is about all interfaces, and speaks to the journal: --config and --sysfs go with it");
    if (options->action == IBH_ACTION_WATCH && (options->ifaces->len || options->json))
        return refuse(error,
                      "--watch is about all interfaces, and speaks to the journal: --config and --sysfs go with it");
    if (options->action == IBH_ACTION_RENDER && options->json)
        return refuse(error, "--render has its own formats");
    if (options->action == IBH_ACTION_CAPTURE && options->ifaces->len)
        return refuse(error, "--capture is about all interfaces");
    if (options->verbose && options->quiet)
        return refuse(error, "--verbose and --quiet contradict each other");
    return TRUE;
}

gboolean ibh_options_parse(int argc, char **argv, IbhOptions *ret_options, GError **error)
{
    gboolean parsed;

    *ret_options = (IbhOptions){.action = IBH_ACTION_SHOW};
    ret_options->ifaces = g_ptr_array_new_with_free_func(g_free);
    ret_options->sysfs = g_strdup("/sys");
    ret_options->probe.peers = g_array_new(FALSE, TRUE, sizeof(IbhIp));
    parsed = parse_words(argc, argv, ret_options, error);
    if (!parsed)
        ret_options->json = asks_for_json(argc, argv);
    ret_options->probe.count = ret_options->probe.count ? ret_options->probe.count : 3;
    ret_options->probe.interval = ret_options->probe.interval ? ret_options->probe.interval : G_USEC_PER_SEC / 5;
    ret_options->probe.timeout = ret_options->probe.timeout ? ret_options->probe.timeout : G_USEC_PER_SEC;
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
    g_clear_pointer(&options->capture, g_free);
    g_clear_pointer(&options->token, g_free);
    g_clear_pointer(&options->probe.peers, g_array_unref);
}

const char *const *ibh_options_only(const IbhOptions *options)
{
    return options->ifaces->len ? (const char *const *)options->ifaces->pdata : NULL;
}
