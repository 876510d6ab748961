/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"
#include "cli/cli.h"

#include "render/render.h"

#include <string.h>

#define PEERS_MAX 10000

/* ---- what there is ---- */

typedef enum { ACTION, FORMAT, TEXT, FLAG, NUMBER, NAME } Kind; /* the first two choose an action */

typedef struct {
    const char *name, *value, *help; /* value: what the help calls the option's value; NULL if the option takes none */
    Kind kind;
    guint with;  /* a bit for each action that the option goes with, or for the action that the option chooses */
    gsize at;    /* the offset in IbhOptions of what the option sets; unused for an ACTION */
    guint max;   /* the largest NUMBER */
    char letter; /* of the short form; 0 if there is none */
} Option;

#define WITH(action) (1u << IBH_ACTION_##action)
#define ALL (~0u)
#define AT(field) offsetof(IbhOptions, field)
/* clang-format off: its versions disagree about the macro */
#define DO(name, action, letter, help)                                                                                 \
    {                                                                                                                  \
        name, NULL, help, ACTION, WITH(action), 0, 0, letter                                                           \
    }
/* clang-format on */

/* --confirm has two rows: with SECONDS, it belongs to --apply; alone, it is an action. The row with SECONDS comes
 * first, because find_option() returns the first row that fits. */
static const Option table[] = {
    DO("show", SHOW, 0, "list the RDMA NICs, and which are rails (default)"),
    DO("check", CHECK, 0, "compare what the kernel does with what it should do"),
    DO("plan", PLAN, 0, "print the changes that --apply would make, as commands"),
    DO("apply", APPLY, 0, "make these changes"),
    {"confirm", "SECONDS", "with --apply: go back after SECONDS, unless confirmed", NUMBER, WITH(APPLY), AT(confirm),
     24 * 3600, 0},
    DO("confirm", CONFIRM, 0, "keep the changes of --apply --confirm SECONDS"),
    DO("undo", UNDO, 0, "remove what ib-hook set, until --apply or a reboot"),
    {"render", "FORMAT", "print the rails' routing in the format of another tool", FORMAT, WITH(RENDER), AT(render), 0,
     0},
    DO("watch", WATCH, 0, "keep running, and repair what changes"),
    DO("probe", PROBE, 0, "send echoes from every rail to every PEER"),
    DO("version", VERSION, 'V', "print the version"),
    DO("help", HELP, 'h', "print this help"),
    {"iface", "NAME", "cover only this NIC; may be repeated", NAME, ~(WITH(WATCH) | WITH(CONFIRM)), AT(ifaces), 0, 'i'},
    {"json", NULL, "print one JSON object", FLAG, ~(WITH(WATCH) | WITH(RENDER)), AT(json), 0, 'j'},
    {"prometheus", NULL, "with --check and --probe: print metrics", FLAG, WITH(CHECK) | WITH(PROBE), AT(prometheus), 0,
     0},
    {"count", "N", "with --probe: echoes from each rail to each PEER (3)", NUMBER, WITH(PROBE), AT(probe.count), 1000,
     0},
    {"rdma", NULL, "with --probe: also connect with RDMA", FLAG, WITH(PROBE), AT(probe.rdma), 0, 0},
    {"config", "PATH", "read this file or directory, not /etc/ib-hook", TEXT, ALL, AT(config), 0, 0},
    {"sysfs", "DIR", "read a copy of /sys; proc/, run/, etc/ may be beside it", TEXT, ALL, AT(sysfs), 0, 0},
    {"verbose", NULL, "print more: findings in full, every netdev and change", FLAG, ALL, AT(style.verbose), 0, 'v'},
    {"quiet", NULL, "print problems only", FLAG, ALL, AT(style.quiet), 0, 'q'},
};

void ibh_options_help(GString *out)
{
    g_autofree char *formats = ibh_render_formats();

    g_string_append(out, "Usage: ib-hook [ACTION] [--iface NAME]... [OPTION...] [PEER...]\n\n"
                         "Makes rails of a host's RDMA NICs that share an IP subnet: traffic from a\n"
                         "NIC's address leaves through this NIC, and traffic to the address arrives on\n"
                         "it. One action for each call; without --iface, it covers all rails.\n\n");
    IBH_EACH_ROW (const Option, option, table) {
        g_autofree char *word = g_strjoin(" ", option->name, option->value, NULL);
        const char letter[] = {'-', option->letter, ',', '\0'};

        g_string_append_printf(out, "  %3s --%-15s  %s\n", option->letter ? letter : "", word, option->help);
    }
    g_string_append_printf(out,
                           "\nA PEER is an address or a host name.\nFormats: %s\n\n"
                           "Exit status: 0 clean or done, 1 errors or warnings, 2 wrong usage or\n"
                           "configuration (nothing changed), 3 the system refused, 130 --probe was\n"
                           "interrupted\n",
                           formats);
}

/* ---- from words to values; a returned text is an error message, which the caller frees; NULL: no error ---- */

/* Sets in `options` what this option sets. Ignores `value` if the option takes none. */
static char *take_value(IbhOptions *options, const Option *option, char *value)
{
    void *place = (char *)options + option->at;
    g_autofree char *formats = ibh_render_formats();
    guint64 number = TRUE; /* what a flag sets */

    if (option->kind <= FORMAT)
        options->action = (IbhAction)g_bit_nth_lsf(option->with, -1); /* the number of its only bit */
    if (option->kind == FORMAT && !ibh_render_knows(value))
        return g_strdup_printf("--render %s: unknown format; formats: %s", value, formats);
    if (option->kind == TEXT && !value[0])
        return g_strdup("--config and --sysfs want a path");
    if (option->kind == NAME && !ibh_iface_name_is_valid(value))
        return g_strdup_printf("--iface %s: no interface can have this name", value);
    if (option->kind == NUMBER && !g_ascii_string_to_unsigned(value, 10, 1, option->max, &number, NULL))
        return g_strdup_printf("--%s %s: a number from 1 to %u is wanted", option->name, value, option->max);
    if (option->kind == FORMAT || option->kind == TEXT)
        *(const char **)place = value;
    else if (option->kind == NAME)
        options->ifaces[g_strv_length(options->ifaces)] = value;
    else if (option->kind != ACTION)
        *(int *)place = (int)number;
    return NULL;
}

/* TRUE if the word is "--name", "--name=value", or "-n" with the option's letter. */
static gboolean word_names(const char *word, const Option *option)
{
    const gsize length = strlen(option->name);

    if (word[0] == '-' && word[1] != '-')
        return option->letter && word[1] == option->letter && !word[2];
    return g_str_has_prefix(word, "--") && strncmp(word + 2, option->name, length) == 0 &&
           (word[2 + length] == '\0' || word[2 + length] == '=');
}

/* Returns the option that `word` names; NULL if there is none, or if the option needs a value and `value` cannot be
 * one. `value` is the text that follows the option; NULL if nothing follows. Any text can be a value, but a number must
 * not begin with "-". So in "--confirm --json", the row for --confirm SECONDS does not fit, and the second row of this
 * name is returned: the action --confirm. */
static const Option *find_option(const char *word, const char *value)
{
    IBH_EACH_ROW (const Option, option, table) {
        const gboolean has_value = value && !(option->kind == NUMBER && value[0] == '-');

        if (word_names(word, option) && (!option->value || has_value))
            return option;
    }
    return NULL;
}

/* Returns the option whose name is most similar to the name in `word`; NULL if no name is similar. A similar name has
 * at most two slips (ibh_text_count_slips()), and at most half as many slips as the name in `word` has letters. A
 * missing end counts as one slip. */
static const Option *find_near_option(const char *word)
{
    g_auto(GStrv) parts = g_strsplit(word + strspn(word, "-"), "=", 2);
    const char *name = parts[0] ? parts[0] : "";
    const Option *best = NULL;
    /* at first, one slip more than a similar name may have; once `best` is set, the slips of `best` */
    guint least = 1 + MIN(2, (guint)strlen(name) / 2);

    IBH_EACH_ROW (const Option, option, table) {
        const gboolean is_begun = strlen(name) > 1 && g_str_has_prefix(option->name, name);
        const guint slips = word_names(word, option) ? 0 : is_begun ? 1 : ibh_text_count_slips(name, option->name);

        if (slips < least) {
            best = option;
            least = slips;
        }
    }
    return best;
}

/* Returns what is wrong with a word for which find_option() returns NULL, or which gives a value to an option that
 * takes none. */
static char *refuse_option(const char *word)
{
    const Option *meant = find_near_option(word);
    g_autofree char *formats = ibh_render_formats();

    if (!meant)
        return g_strdup_printf("unknown option %s; ib-hook --help lists all", word);
    if (!word_names(word, meant))
        return g_strdup_printf("unknown option %s; did you mean --%s?", word, meant->name);
    if (meant->kind == FORMAT)
        return g_strdup_printf("--render needs a format: one of %s", formats);
    return meant->value ? g_strdup_printf("--%s needs a value: --%s %s", meant->name, meant->name, meant->value)
                        : g_strdup_printf("--%s takes no value: %s", meant->name, word);
}

/* Returns what is wrong with a word that is no option, for an action other than --probe. */
static char *refuse_word(const char *word, const IbhOptions *options)
{
    const Option *meant = find_near_option(word);
    IbhIp ip;

    if (meant)
        return g_strdup_printf("unknown option \"%s\"; did you mean --%s?", word, meant->name);
    if (ibh_ip_parse(word, &ip))
        return g_strdup_printf("\"%s\" is no option; if it is a peer, write --probe %s", word, word);
    if (options->action == IBH_ACTION_WATCH || !ibh_iface_name_is_valid(word)) /* --watch takes no --iface */
        return g_strdup_printf("\"%s\" is no option; ib-hook --help lists all", word);
    return g_strdup_printf("\"%s\" is no option; if it is a NIC, write --iface %s (--iface once for each NIC)", word,
                           word);
}

/* Takes the options of one word: "--name value", "--name=value", "-jv", "-iib0" or "-i ib0". The value of an option is
 * the rest of the word. If there is no rest, the value is the next word, and `word` moves on to that word. Notes the
 * options in `used`, which has a bit for each row of the table. */
static char *take_options(char ***word, IbhOptions *options, guint *used)
{
    char *text = **word, *next = (*word)[1], *equals = strchr(text, '='), *problem = NULL;
    const gboolean is_long = text[1] == '-';

    for (char *letter = text + 1; !problem; letter++) {
        const char short_name[] = {'-', *letter, '\0'}, *name = is_long ? text : short_name;
        char *rest = NULL; /* what follows the option in its word */
        const Option *option;

        if (is_long && equals)
            rest = equals + 1;
        else if (!is_long && letter[0] && letter[1]) /* letter[0] is NUL if the word is "-" alone */
            rest = letter + 1;
        option = find_option(name, rest ? rest : next);
        /* Either the option exists, but has no value that it could take: then name the option alone, "-i" for "-ji". Or
         * there is no such option: then name the whole word. */
        if (!option)
            return refuse_option(find_option(name, "") ? name : text);
        if (is_long && rest && !option->value)
            return refuse_option(text);
        *used |= 1u << (option - table);
        *word += option->value && !rest ? 1 : 0;
        problem = take_value(options, option, rest ? rest : next);
        if (is_long || option->value || !rest) /* otherwise, the next letter is an option, too */
            break;
    }
    return problem;
}

/* Takes the words that are not options: the peers of --probe. A peer is an address, or a host name, which names_io.c
 * resolves later. Other actions take no such words. */
static char *take_words(IbhOptions *options, const GPtrArray *words)
{
    const gboolean is_probe = options->action == IBH_ACTION_PROBE;

    IBH_EACH_POINTER (const char, word, words) {
        const gsize length = strlen(word);
        /* A host name has at most 253 letters, digits, dots, hyphens and underscores. Digits and dots alone are a
         * mistyped address, so no name server is asked for it. */
        const gboolean is_name = length < 254 && word[0] != '-' &&
                                 strspn(word, G_CSET_A_2_Z G_CSET_a_2_z "0123456789.-_") == length &&
                                 strspn(word, "0123456789.") < length;
        IbhIp ip;

        if (!is_probe)
            return refuse_word(word, options);
        if (!ibh_ip_parse(word, &ip)) {
            if (!is_name)
                return g_strdup_printf("--probe \"%s\": an address or a host name is wanted", word);
            g_ptr_array_add(options->names, (gpointer)(guintptr)word);
        } else if (!ibh_ip_is_unicast(&ip) || ibh_ip_is_fe80(&ip)) {
            return g_strdup_printf("--probe %s: a peer needs a unicast address, not a loopback or fe80:: one", word);
        } else {
            g_array_append_val(options->probe.peers, ip);
        }
    }
    return is_probe && (words->len < 1 || words->len > PEERS_MAX)
               ? g_strdup_printf("--probe needs the addresses or names of peers, %d at most", PEERS_MAX)
               : NULL;
}

/* Checks that the options go together. If there are several actions, `options->action` is the last one, and the rows of
 * the others do not go with it. */
static char *check_combination(const IbhOptions *options, guint used)
{
    const Option *chosen = table; /* after the first loop: the row of the action */

    while (chosen->kind > FORMAT || chosen->with != 1u << options->action)
        chosen++;
    IBH_EACH_ROW (const Option, option, table) {
        if (used & 1u << (option - table) && !(option->with & chosen->with))
            return option->kind <= FORMAT ? g_strdup("give one action in each call (--apply --confirm needs SECONDS)")
                                          : g_strdup_printf("--%s does not go with --%s", option->name, chosen->name);
    }
    return options->style.verbose && options->style.quiet ? g_strdup("--verbose and --quiet contradict each other")
           : options->json && options->prometheus         ? g_strdup("--json and --prometheus contradict each other")
                                                          : NULL;
}

gboolean ibh_options_parse(char **argv, IbhOptions *ret_options, GError **error)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new(); /* those that are not options */
    g_autofree char *problem = NULL, *clean = NULL;
    gboolean ended = FALSE;
    guint used = 0;

    *ret_options = (IbhOptions){.sysfs = "/sys",
                                .ifaces = g_new0(char *, g_strv_length(argv) + 1), /* a word has one --iface at most */
                                .names = g_ptr_array_new(),
                                .probe = {.count = 3, .peers = g_array_new(FALSE, TRUE, sizeof(IbhIp))}};
    for (char **word = argv + (*argv ? 1 : 0); *word; word++) {
        g_autofree char *wrong = NULL;

        if (ended || (*word)[0] != '-')
            g_ptr_array_add(words, *word);
        else if (g_str_equal(*word, "--"))
            ended = TRUE;
        else
            wrong = take_options(&word, ret_options, &used);
        if (!problem) /* after a problem, go on: a later --json decides in which form the problem is reported */
            problem = g_steal_pointer(&wrong);
    }
    if (!problem)
        problem = check_combination(ret_options, used);
    if (!problem)
        problem = take_words(ret_options, words);
    if (!ret_options->ifaces[0])
        g_clear_pointer(&ret_options->ifaces, g_free);
    if (!problem)
        return TRUE;
    /* The message may quote control characters from the command line. */
    clean = ibh_text_printable(problem);
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, clean);
    return FALSE;
}

void ibh_options_clear(IbhOptions *options)
{
    g_clear_pointer(&options->ifaces, g_free);
    g_clear_pointer(&options->names, g_ptr_array_unref);
    g_clear_pointer(&options->probe.peers, g_array_unref);
}
