/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys and their values, then the lines and sections of a file, then the settings of one interface.
 */
#include "config/config.h"

#include <fnmatch.h>
#include <string.h>

#define LINE_MAX_BYTES 1024u
#define TEXT_MAX_BYTES (64u * 1024u) /* of all files together, not counting comments; the state stores this text */
#define SHOWN_MAX_BYTES 60u          /* of a line that an error quotes */
#define RAILS_MAX 1024
#define REMOTE_MAX 64

/* The file that is being read. */
typedef struct {
    char *file; /* safe to print */
    guint line;
    char *content; /* the line without its comment */
    char *pattern; /* the section; "" for [defaults], NULL before the first section */
    guint rank;    /* the rank of the section */
    IbhConfig *config;
    GHashTable *seen; /* "key pattern" → IbhSetting of this file */
    IbhTableLookup lookup;
    gboolean quotes; /* errors may quote the line */
    GError **error;
} Reader;

static void setting_free(gpointer data)
{
    IbhSetting *setting = data;

    g_array_unref(setting->list);
    g_free(setting->pattern);
    g_free(setting->origin);
    g_free(setting);
}

static void reader_clear(Reader *reader)
{
    g_free(reader->file);
    g_free(reader->content);
    g_free(reader->pattern);
    g_hash_table_unref(reader->seen);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Reader, reader_clear)

/* Sets the error of the reader to a message about the present line. Returns FALSE. The line may hold any bytes, and the
 * message ends up in terminals and logs: so quote only the start of the line, escaped. */
static gboolean G_GNUC_PRINTF(2, 3) reject_line(Reader *reader, const char *format, ...)
{
    g_autofree char *start = g_strndup(reader->content, SHOWN_MAX_BYTES), *escaped = g_strescape(start, NULL);
    const char *shown = reader->quotes ? escaped : IBH_NOT_PUBLIC;
    const gboolean is_cut = reader->quotes && strlen(reader->content) > SHOWN_MAX_BYTES;
    g_autofree char *why = NULL;
    va_list args;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(reader->error, IBH_CONFIG_ERROR, 0, "%s:%u: %s%s%s%s", reader->file, reader->line, shown,
                is_cut ? "..." : "", shown[0] != '\0' ? ": " : "", why);
    return FALSE;
}

/* ---- keys and values: read_table(), read_remote(), read_value() return why they reject the text, or NULL -------- */

#define NOT_ALLOWED "not allowed"
#define LEADING_ZERO "a leading zero, which makes the ip command read it as octal; write the number without it"

typedef struct {
    const char *text; /* NULL ends the list */
    gint64 value;
} Word;

typedef struct {
    const char *name;
    gboolean defaults_only;
    Word words[6]; /* the first word is the default; without words, the default is 0 */
    const char *allowed;
} KeyForm;

/* ip(8) reads a number with a leading zero as octal on its command line, but as decimal in rt_tables. We do not know
 * which of the two an administrator means, so we reject the number. */
static gboolean has_leading_zero(const char *text)
{
    return text[0] == '0' && text[1] && !text[strspn(text, "0123456789")];
}

static char *read_table(const Reader *reader, const char *text, IbhSetting *setting)
{
    g_autoptr(GError) error = NULL;
    guint32 table = 0;

    if (has_leading_zero(text))
        return g_strdup(LEADING_ZERO);
    if (!ibh_table_parse(text, &table) && !(text[0] && reader->lookup(text, &table, &error)))
        return g_strdup(error ? error->message : "neither a table's number nor a known name");
    if (!table || (table >= 253 && table <= 255))
        return g_strdup("reserved for the kernel's own tables");
    if (table == IBH_TABLE_SPREAD)
        return g_strdup("reserved for main=spread");
    if (table > G_MAXUINT32 - IBH_TABLE_DEFAULTS)
        return g_strdup_printf("too large: the number of the table for default routes, %u higher, would not exist",
                               IBH_TABLE_DEFAULTS);
    setting->value = table;
    return NULL;
}

/* Parses "PREFIX" or "PREFIX via GATEWAY", and appends it to `list`. */
static char *read_remote(const char *text, GArray *list)
{
    static const char blanks[] = " \t";
    g_autofree char *words = g_strdup(text);
    char *rest = NULL, shown[IBH_PREFIX_STRLEN];
    const char *prefix = strtok_r(words, blanks, &rest), *via = strtok_r(NULL, blanks, &rest);
    const char *gateway = strtok_r(NULL, blanks, &rest), *more = strtok_r(NULL, blanks, &rest);
    const char *slash = prefix ? strchr(prefix, '/') : NULL;
    IbhRemote remote = {.via.family = AF_UNSPEC};

    if (!prefix || (via && !gateway) || more)
        return g_strdup(NOT_ALLOWED);
    if (slash && has_leading_zero(slash + 1))
        return g_strdup(LEADING_ZERO);
    if (!ibh_prefix_parse(prefix, &remote.prefix) ||
        (via && (!g_str_equal(via, "via") || !ibh_ip_parse(gateway, &remote.via))))
        return g_strdup(NOT_ALLOWED);
    if (list->len == REMOTE_MAX)
        return g_strdup_printf("more than %d prefixes", REMOTE_MAX);
    if (!remote.prefix.length)
        return g_strdup("a prefix of length 0 is everything: use gateway= for that");
    if (ibh_ip_is_link_local(&remote.prefix.ip) || !ibh_ip_is_unicast(&remote.prefix.ip))
        return g_strdup_printf("no gateway leads to %s", ibh_prefix_format(&remote.prefix, shown));
    if (via && remote.via.family != remote.prefix.ip.family)
        return g_strdup_printf("%s is a gateway of the other IP version", ibh_ip_format(&remote.via, shown));
    if (via && !ibh_ip_is_unicast(&remote.via))
        return g_strdup("no host can have the gateway's address");
    g_array_append_val(list, remote);
    return NULL;
}

/* clang-format off */
static const KeyForm KEYS[IBH_N_KEYS] = {
    [IBH_KEY_MAIN] = {.name = "main", .defaults_only = TRUE, .allowed = "keep or spread",
                  .words = {{"keep", IBH_MAIN_KEEP}, {"spread", IBH_MAIN_SPREAD}}},
    [IBH_KEY_RAILS] = {.name = "rails", .defaults_only = TRUE,
                   .allowed = "a number of RDMA ports (1-1024), or nothing"},
    [IBH_KEY_MANAGE] = {.name = "manage", .allowed = "auto, yes or no",
                    .words = {{"auto", IBH_MANAGE_AUTO}, {"yes", IBH_MANAGE_YES}, {"no", IBH_MANAGE_NO}}},
    [IBH_KEY_TABLE] = {.name = "table", .allowed = "auto, a number (1-252, 256-4294965295) or a name from rt_tables",
                   .words = {{"auto", IBH_TABLE_AUTO}}},
    [IBH_KEY_GATEWAY] = {.name = "gateway", .allowed = "auto, none, peer, first, last or an address",
                     .words = {{"auto", IBH_GATEWAY_AUTO}, {"none", IBH_GATEWAY_NONE}, {"peer", IBH_GATEWAY_PEER},
                               {"first", IBH_GATEWAY_FIRST}, {"last", IBH_GATEWAY_LAST}}},
    [IBH_KEY_REMOTE] = {.name = "remote",
                    .allowed = "PREFIX or PREFIX via GATEWAY, with commas between them, or nothing"},
    [IBH_KEY_ARP] = {.name = "arp", .allowed = "auto, strict or keep",
                 .words = {{"auto", IBH_ARP_AUTO}, {"strict", IBH_ARP_STRICT}, {"keep", IBH_ARP_KEEP}}},
};
/* clang-format on */

static char *read_value(const Reader *reader, const char *text, IbhSetting *setting)
{
    g_auto(GStrv) items = NULL;
    guint64 number = 0;

    for (const Word *word = KEYS[setting->key].words; word->text; word++) {
        if (strcmp(word->text, text) == 0) {
            setting->value = word->value;
            return NULL;
        }
    }
    switch (setting->key) {
    case IBH_KEY_TABLE:
        return read_table(reader, text, setting);
    case IBH_KEY_RAILS:
        if (has_leading_zero(text))
            return g_strdup(LEADING_ZERO);
        if (text[0] && !g_ascii_string_to_unsigned(text, 10, 1, RAILS_MAX, &number, NULL))
            return g_strdup(NOT_ALLOWED);
        setting->value = (gint64)number;
        return NULL;
    case IBH_KEY_GATEWAY:
        if (!ibh_ip_parse(text, &setting->ip))
            return g_strdup(NOT_ALLOWED);
        setting->value = IBH_GATEWAY_ADDRESS;
        return ibh_ip_is_unicast(&setting->ip) ? NULL : g_strdup("no host can have this address");
    case IBH_KEY_REMOTE:
        items = g_strsplit(text, ",", -1);
        for (char **item = items; *item; item++) {
            char *reason = read_remote(*item, setting->list);

            if (reason)
                return reason;
        }
        return NULL;
    default:
        return g_strdup(NOT_ALLOWED);
    }
}

/* Adds a setting with the default of the key. */
static IbhSetting *add_setting(IbhConfig *config, IbhKey key, const char *pattern)
{
    IbhSetting *setting = g_new0(IbhSetting, 1);

    setting->key = key;
    setting->value = KEYS[key].words[0].value;
    setting->list = IBH_NEW_ARRAY(IbhRemote);
    setting->pattern = g_strdup(pattern);
    g_ptr_array_add(config->settings, setting);
    return setting;
}

/* Reads a line KEY=VALUE. A file may open a section twice. Both parts are one section, so a key that is in the first
 * part may not be in the second part, too. */
static gboolean read_setting(Reader *reader)
{
    const gboolean in_defaults = reader->rank == IBH_RANK_DEFAULTS;
    g_auto(GStrv) parts = g_strsplit(reader->content, "=", 2);
    const char *name = g_strstrip(parts[0]);
    g_autofree char *id = NULL, *reason = NULL;
    const IbhSetting *earlier;
    IbhSetting *setting;
    IbhKey key = 0;

    if (!parts[1])
        return reject_line(reader, "not understood; use KEY=VALUE, [defaults], [interface NAME] or # for a comment");
    if (!reader->pattern)
        return reject_line(reader, "outside of any section; put it below [defaults] or [interface NAME]");
    while (key < IBH_N_KEYS && strcmp(KEYS[key].name, name) != 0)
        key++;
    if (key == IBH_N_KEYS) {
        g_autoptr(GString) keys = g_string_new(NULL);

        IBH_EACH_ROW (const KeyForm, form, KEYS) {
            if (in_defaults || !form->defaults_only)
                g_string_append_printf(keys, "%s%s", keys->len ? ", " : "", form->name);
        }
        return reject_line(reader, "unknown key; use one of %s", keys->str);
    }
    if (KEYS[key].defaults_only && !in_defaults)
        return reject_line(reader, "the same for all interfaces; %s is allowed in [defaults] only", name);
    /* If the line is rejected below, ibh_config_add() removes the setting again. */
    setting = add_setting(reader->config, key, reader->pattern);
    setting->rank = reader->rank;
    setting->line = reader->line;
    setting->origin = g_strdup_printf("%s:%u", reader->file, reader->line);
    reason = read_value(reader, g_strstrip(parts[1]), setting);
    if (reason)
        return reject_line(reader, "%s; use %s", reason, KEYS[key].allowed);
    id = g_strdup_printf("%s %s", name, reader->pattern);
    earlier = g_hash_table_lookup(reader->seen, id);
    if (earlier)
        return reject_line(reader, "%s is already set for this section on line %u; use it once", name, earlier->line);
    g_hash_table_insert(reader->seen, g_steal_pointer(&id), setting);
    return TRUE;
}

/* ---- sections and lines ---- */

/* Returns the text after a set such as [0-3]. A ']' at the beginning of a set does not close the set, but is the set's
 * first character. Returns NULL if the set is not closed, or has a range that runs backwards. Also returns NULL if the
 * set has a '[' inside: fnmatch() might read a character class there, such as [:alpha:], whose meaning depends on the
 * locale. */
static const char *skip_set(const char *open)
{
    const char *first = open + 1 + (open[1] == '!' || open[1] == '^');
    const char *at = first;

    for (; *at != '\0' && (*at != ']' || at == first); at++) {
        if (*at == '[' || (at - first >= 2 && at[-1] == '-' && at[0] < at[-2]))
            return NULL;
    }
    return *at == ']' ? at + 1 : NULL;
}

/* Returns the rank of a section's name or glob; IBH_RANK_DEFAULTS if the text is not valid. A glob is valid if its sets
 * are valid (skip_set()), if it has at most 15 characters outside of wildcards, and if it has no blank, `/` or `:`.
 * read_line() has rejected control characters other than tabs. */
static guint rank_pattern(const char *text)
{
    guint literals = 0;

    if (!strpbrk(text, "*?["))
        return ibh_iface_name_is_valid(text) ? IBH_RANK_EXACT : IBH_RANK_DEFAULTS;
    for (const char *at = text; *at != '\0';) {
        literals += !strchr("*?[", *at);
        at = *at == '[' ? skip_set(at) : at + 1;
        if (!at)
            return IBH_RANK_DEFAULTS;
    }
    return literals < IFNAMSIZ && !strpbrk(text, "/: \t") ? IBH_RANK_GLOB + literals : IBH_RANK_DEFAULTS;
}

static gboolean read_section(Reader *reader)
{
    static const char interface[] = "interface";
    gsize length = strlen(reader->content);
    g_autofree char *inner = NULL;
    const char *pattern = "";

    if (reader->content[length - 1] != ']')
        return reject_line(reader, "no ] at the end; use [defaults] or [interface NAME]");
    inner = g_strstrip(g_strndup(reader->content + 1, length - 2));
    reader->rank = IBH_RANK_DEFAULTS;
    if (strcmp(inner, "defaults") != 0) {
        if (!g_str_has_prefix(inner, interface) || strcspn(inner, " \t") != strlen(interface))
            return reject_line(reader, "unknown section; use [defaults] or [interface NAME]");
        pattern = g_strchug(inner + strlen(interface));
        reader->rank = rank_pattern(pattern);
        if (reader->rank == IBH_RANK_DEFAULTS)
            return reject_line(reader,
                               "not an interface's name; use 1-15 characters without blanks, / and :, or a glob of "
                               "them with *, ? and [...]");
    }
    g_free(reader->pattern);
    reader->pattern = g_strdup(pattern);
    return TRUE;
}

/* A # begins a comment at the start of a line or after a blank. The # in `eth#1` begins no comment. */
static gboolean read_line(Reader *reader, const char *line, gsize length)
{
    if (length && line[length - 1] == '\r')
        length--;
    g_free(reader->content);
    reader->content = g_strndup(line, length);
    if (length > LINE_MAX_BYTES)
        return reject_line(reader, "the line is too long; use at most %u bytes", LINE_MAX_BYTES);
    for (gsize i = 0; i < length; i++) {
        if (g_ascii_iscntrl(line[i]) && line[i] != '\t')
            return reject_line(reader, "a control character in the line; use plain text");
    }
    if (!g_utf8_validate(line, (gssize)length, NULL))
        return reject_line(reader, "not valid UTF-8; use plain text");
    for (char *at = strchr(reader->content, '#'); at; at = strchr(at + 1, '#')) {
        if (at == reader->content || g_ascii_isspace(at[-1])) {
            *at = '\0';
            break;
        }
    }
    g_strstrip(reader->content);
    g_string_append_printf(reader->config->text, "\n%s", reader->content);
    if (reader->content[0] == '\0')
        return TRUE;
    return reader->content[0] == '[' ? read_section(reader) : read_setting(reader);
}

/* ---- files ----------------------------------------------------------------------------------------- */

/* Rejects a table that two sections have: their rails would use each other's routes. If a later file sets table= of a
 * section again, only the later value counts. */
static gboolean check_tables(Reader *reader)
{
    GPtrArray *settings = reader->config->settings;
    g_autoptr(GHashTable) sections = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) owners = g_hash_table_new(g_int64_hash, g_int64_equal);

    for (guint i = settings->len; i-- > 0;) { /* backwards, so a section's last value, which counts, comes first */
        IbhSetting *setting = g_ptr_array_index(settings, i);
        const IbhSetting *later = g_hash_table_lookup(owners, &setting->value);

        if (setting->key != IBH_KEY_TABLE || !g_hash_table_add(sections, setting->pattern) ||
            setting->value == IBH_TABLE_AUTO)
            continue;
        if (later) {
            /* `later` is in this file, because this check has rejected conflicts between earlier files. */
            reader->line = later->line;
            g_free(reader->content);
            reader->content = g_strdup_printf("table=%" G_GINT64_FORMAT, setting->value);
            return reject_line(reader, "the same table as at %s; use auto, or a different number for each",
                               setting->origin);
        }
        g_hash_table_insert(owners, &setting->value, setting);
    }
    return TRUE;
}

gboolean ibh_config_add(IbhConfig *config, const char *file, const char *text, gsize length, IbhTableLookup lookup,
                        gboolean is_public, GError **error)
{
    const guint settings_before = config->settings->len;
    const gsize text_before = config->text->len;
    g_auto(Reader) reader = {
        .file = g_strdup(file),
        .config = config,
        .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .lookup = lookup,
        .quotes = is_public,
        .error = error,
    };
    gboolean ok = TRUE;
    gsize size;

    g_string_append_printf(config->text, IBH_FILE_BEGINS "%s", file);
    for (gsize at = 0; ok && at < length; at += size + 1) {
        const char *newline = memchr(text + at, '\n', length - at);

        size = newline ? (gsize)(newline - text) - at : length - at;
        reader.line++;
        ok = read_line(&reader, text + at, size);
    }
    ok = ok && check_tables(&reader);
    if (ok && config->text->len > TEXT_MAX_BYTES) {
        g_free(reader.content);
        reader.content = g_strdup("");
        ok = reject_line(&reader, "the configuration is larger than %u bytes without its comments; shorten it",
                         TEXT_MAX_BYTES);
    }
    if (ok) {
        config->is_public &= is_public;
    } else {
        g_ptr_array_set_size(config->settings, (gint)settings_before);
        g_string_truncate(config->text, text_before);
    }
    return ok;
}

IbhConfig *ibh_config_new(void)
{
    IbhConfig *config = g_new0(IbhConfig, 1);

    config->settings = g_ptr_array_new_with_free_func(setting_free);
    config->text = g_string_new(NULL);
    config->is_public = TRUE;
    for (IbhKey key = 0; key < IBH_N_KEYS; key++)
        add_setting(config, key, "");
    return config;
}

void ibh_config_free(IbhConfig *config)
{
    if (!config)
        return;
    g_ptr_array_unref(config->settings);
    g_string_free(config->text, TRUE);
    g_free(config);
}

/* ---- the settings of an interface ------------------------------------------------------------------ */

gboolean ibh_setting_matches(const IbhSetting *setting, const char *iface)
{
    return setting->rank == IBH_RANK_DEFAULTS || fnmatch(setting->pattern, iface, FNM_NOESCAPE) == 0;
}

IbhSettings ibh_config_settings(const IbhConfig *config, const char *iface)
{
    const IbhSetting *best[IBH_N_KEYS];

    /* The section with the highest rank wins; among equal ranks, the last setting. */
    for (IbhKey key = 0; key < IBH_N_KEYS; key++)
        best[key] = g_ptr_array_index(config->settings, key); /* the default */
    IBH_EACH_POINTER (const IbhSetting, setting, config->settings) {
        if (setting->rank >= best[setting->key]->rank && ibh_setting_matches(setting, iface))
            best[setting->key] = setting;
    }
    return (IbhSettings){
        .main = (IbhMain)best[IBH_KEY_MAIN]->value,
        .manage = (IbhManage)best[IBH_KEY_MANAGE]->value,
        .table = (guint32)best[IBH_KEY_TABLE]->value,
        .rails = (guint)best[IBH_KEY_RAILS]->value,
        .arp = (IbhArp)best[IBH_KEY_ARP]->value,
        .gateway = (IbhGateway)best[IBH_KEY_GATEWAY]->value,
        .gateway_ip = best[IBH_KEY_GATEWAY]->ip,
        .remote = best[IBH_KEY_REMOTE]->list,
        .remote_origin = best[IBH_KEY_REMOTE]->origin,
        .table_origin = best[IBH_KEY_TABLE]->value != IBH_TABLE_AUTO ? best[IBH_KEY_TABLE]->origin : NULL,
    };
}
