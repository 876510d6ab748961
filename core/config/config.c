/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the top: the keys (a table), their values, the lines of a file, and the settings of one interface.
 */
#include "config/config.h"

#include <fnmatch.h>
#include <string.h>

#define LINE_MAX_BYTES 1024u
#define TEXT_MAX_BYTES (64u * 1024u) /* of all files, without comments: the state keeps it */
#define SHOWN_MAX_BYTES 60u

/* How near a section's name is to one interface: [defaults], then a glob by its literal characters, then the name. */
#define RANK_DEFAULTS 0u
#define RANK_GLOB 1u
#define RANK_EXACT G_MAXUINT

typedef enum { KEY_MAIN, KEY_RAILS, KEY_MANAGE, KEY_TABLE, KEY_GATEWAY, KEY_REMOTE, KEY_ARP, N_KEYS } Key;

/* One key=value that is in force: of one section, in one file. */
typedef struct {
    Key key;
    gint64 value;
    IbhIp ip;      /* of gateway=ADDRESS */
    GArray *list;  /* IbhRemote, of KEY_REMOTE */
    char *pattern; /* "": [defaults] */
    guint rank;
    guint line;
    char *origin; /* "file:line"; NULL: no file has it */
} Setting;

struct IbhConfig {
    GPtrArray *settings; /* Setting: one of each key that no file has, then in the order read */
    GString *text;       /* ibh_config_text() */
    gboolean is_public;
};

/* Reads one file. */
typedef struct {
    char *file; /* safe to print */
    guint line;
    char *content; /* of the line, without its comment */
    char *pattern; /* of the section, "": [defaults]; NULL: none yet */
    guint rank;    /* of the section */
    IbhConfig *config;
    GHashTable *seen; /* "key pattern" → Setting of this file */
    IbhTableLookup lookup;
    gboolean quotes; /* the line, in an error */
    GError **error;
} Reader;

static void setting_free(gpointer data)
{
    Setting *setting = data;

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

/* Any bytes of a file, made short and harmless for a message: it ends in terminals and logs. */
static char *show(const char *text)
{
    g_autofree char *start = g_strndup(text, SHOWN_MAX_BYTES);
    g_autofree char *escaped = g_strescape(start, NULL);

    return g_strconcat(escaped, strlen(text) > SHOWN_MAX_BYTES ? "..." : "", NULL);
}

static gboolean G_GNUC_PRINTF(2, 3) fail(Reader *reader, const char *format, ...)
{
    g_autofree char *shown = reader->quotes ? show(reader->content) : g_strdup(IBH_NOT_PUBLIC);
    g_autofree char *why = NULL;
    va_list args;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(reader->error, IBH_CONFIG_ERROR, 0, "%s:%u: %s%s%s", reader->file, reader->line, shown,
                shown[0] != '\0' ? ": " : "", why);
    return FALSE;
}

/* ---- keys and values ----------------------------------------------------------------------------- */

/* Reads a text that is none of the key's words. Returns why it is not allowed; NULL: it is. */
typedef char *(*ReadValue)(const Reader *reader, const char *text, Setting *setting);

#define NOT_ALLOWED "not allowed"
#define RAILS_MAX 1024
#define LEADING_ZERO "a leading zero, with which ip takes a number for octal; write it without"

typedef struct {
    const char *text; /* NULL ends the list */
    gint64 value;
} Word;

typedef struct {
    const char *name;
    gboolean defaults_only;
    Word words[6];
    ReadValue read;
    const char *allowed;
} KeyForm;

/* ip(8) reads it as octal, its file of tables' names as decimal. */
static gboolean has_leading_zero(const char *text)
{
    return text[0] == '0' && text[1] && !text[strspn(text, "0123456789")];
}

static char *read_table(const Reader *reader, const char *text, Setting *setting)
{
    g_autoptr(GError) error = NULL;
    guint32 table = 0;

    if (has_leading_zero(text))
        return g_strdup(LEADING_ZERO);
    if (!ibh_table_parse(text, &table) && !(text[0] && reader->lookup(text, &table, &error)))
        return g_strdup(error != NULL ? error->message : "neither a table's number nor a known name");
    if (table == 0 || (table >= 253 && table <= 255))
        return g_strdup("reserved for the kernel's own tables");
    if (table == IBH_TABLE_SPREAD)
        return g_strdup("reserved for main=spread");
    if (table > G_MAXUINT32 - IBH_TABLE_DEFAULTS)
        return g_strdup_printf("too large: the number of the table for default routes, %u higher, would not exist",
                               IBH_TABLE_DEFAULTS);
    setting->value = table;
    return NULL;
}

static char *read_rails(const Reader *reader G_GNUC_UNUSED, const char *text, Setting *setting)
{
    guint64 number = 0;

    if (has_leading_zero(text))
        return g_strdup(LEADING_ZERO);
    if (text[0] && !g_ascii_string_to_unsigned(text, 10, 1, RAILS_MAX, &number, NULL))
        return g_strdup(NOT_ALLOWED);
    setting->value = (gint64)number;
    return NULL;
}

static char *read_gateway(const Reader *reader G_GNUC_UNUSED, const char *text, Setting *setting)
{
    if (!ibh_ip_parse(text, &setting->ip))
        return g_strdup(NOT_ALLOWED);
    setting->value = IBH_GATEWAY_ADDRESS;
    return ibh_ip_is_unicast(&setting->ip) ? NULL : g_strdup("no host can have this address");
}

#define REMOTE_MAX 64

/* "PREFIX" or "PREFIX via GATEWAY". Returns why it is neither, or NULL. */
static char *parse_remote(const char *text, IbhRemote *remote)
{
    static const char blanks[] = " \t";
    g_autofree char *words = g_strdup(text);
    char *rest = NULL;
    const char *prefix = strtok_r(words, blanks, &rest), *via = strtok_r(NULL, blanks, &rest);
    const char *gateway = strtok_r(NULL, blanks, &rest), *more = strtok_r(NULL, blanks, &rest);
    const char *slash = prefix ? strchr(prefix, '/') : NULL;

    if (!prefix || (via && !gateway) || more)
        return g_strdup(NOT_ALLOWED);
    if (slash && has_leading_zero(slash + 1))
        return g_strdup(LEADING_ZERO);
    if (!ibh_prefix_parse(prefix, &remote->prefix) ||
        (via && !(g_str_equal(via, "via") && ibh_ip_parse(gateway, &remote->via))))
        return g_strdup(NOT_ALLOWED);
    return NULL;
}

/* Why such a prefix, or its gateway, makes no sense; NULL: it does. */
static char *why_no_remote(const IbhRemote *remote)
{
    char text[IBH_PREFIX_STRLEN];

    if (remote->prefix.length == 0)
        return g_strdup("a prefix of length 0 is everything: use gateway= for that");
    if (ibh_ip_is_link_local(&remote->prefix.ip) || !ibh_ip_is_unicast(&remote->prefix.ip))
        return g_strdup_printf("no gateway leads to %s", ibh_prefix_format(&remote->prefix, text));
    if (remote->via.family == AF_UNSPEC)
        return NULL;
    if (remote->via.family != remote->prefix.ip.family)
        return g_strdup_printf("%s is a gateway of the other IP version", ibh_ip_format(&remote->via, text));
    return ibh_ip_is_unicast(&remote->via) ? NULL : g_strdup("no host can have the gateway's address");
}

static char *read_remote(const Reader *reader G_GNUC_UNUSED, const char *text, Setting *setting)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);

    for (char **item = items; *item; item++) {
        IbhRemote remote = {.via.family = AF_UNSPEC};
        char *reason = parse_remote(*item, &remote);

        if (!reason)
            reason = setting->list->len == REMOTE_MAX ? g_strdup_printf("more than %d prefixes", REMOTE_MAX)
                                                      : why_no_remote(&remote);
        if (reason)
            return reason;
        g_array_append_val(setting->list, remote);
    }
    return NULL;
}

/* clang-format off */
static const KeyForm KEYS[N_KEYS] = {
    [KEY_MAIN] = {.name = "main", .defaults_only = TRUE, .allowed = "keep or spread",
                  .words = {{"keep", IBH_MAIN_KEEP}, {"spread", IBH_MAIN_SPREAD}}},
    [KEY_RAILS] = {.name = "rails", .defaults_only = TRUE, .allowed = "a number of RDMA ports (1-1024), or nothing",
                   .read = read_rails},
    [KEY_MANAGE] = {.name = "manage", .allowed = "auto, yes or no",
                    .words = {{"auto", IBH_MANAGE_AUTO}, {"yes", IBH_MANAGE_YES}, {"no", IBH_MANAGE_NO}}},
    [KEY_TABLE] = {.name = "table", .allowed = "auto, a number (1-252, 256-4294965295) or a name from rt_tables",
                   .words = {{"auto", IBH_TABLE_AUTO}}, .read = read_table},
    [KEY_GATEWAY] = {.name = "gateway", .allowed = "auto, none, peer, first, last or an address",
                     .words = {{"auto", IBH_GATEWAY_AUTO}, {"none", IBH_GATEWAY_NONE}, {"peer", IBH_GATEWAY_PEER},
                               {"first", IBH_GATEWAY_FIRST}, {"last", IBH_GATEWAY_LAST}}, .read = read_gateway},
    [KEY_REMOTE] = {.name = "remote", .allowed = "PREFIX or PREFIX via GATEWAY, with commas between them, or nothing", .read = read_remote},
    [KEY_ARP] = {.name = "arp", .allowed = "auto, strict or keep",
                 .words = {{"auto", IBH_ARP_AUTO}, {"strict", IBH_ARP_STRICT}, {"keep", IBH_ARP_KEEP}}},
};
/* clang-format on */

static char *list_keys(gboolean in_defaults)
{
    GString *list = g_string_new(NULL);

    IBH_EACH_ROW (const KeyForm, form, KEYS) {
        if (in_defaults || !form->defaults_only)
            g_string_append_printf(list, "%s%s", list->len > 0 ? ", " : "", form->name);
    }
    return g_string_free(list, FALSE);
}

static char *read_value(const Reader *reader, const char *text, Setting *setting)
{
    const KeyForm *form = &KEYS[setting->key];

    for (const Word *word = form->words; word->text != NULL; word++) {
        setting->value = word->value;
        if (strcmp(word->text, text) == 0)
            return NULL;
    }
    return form->read != NULL ? form->read(reader, text, setting) : g_strdup(NOT_ALLOWED);
}

/* With what holds until a text says otherwise: the first of the key's words, of remote= nothing. */
static Setting *new_setting(IbhConfig *config, Key key, const char *pattern)
{
    Setting *setting = g_new0(Setting, 1);

    setting->key = key;
    setting->value = KEYS[key].words[0].value;
    setting->list = IBH_NEW_ARRAY(IbhRemote);
    setting->pattern = g_strdup(pattern);
    g_ptr_array_add(config->settings, setting);
    return setting;
}

/* A section may be opened twice in one file; it is still one section, and a second value is a contradiction. */
static gboolean add_setting(Reader *reader, Key key, const char *text)
{
    const KeyForm *form = &KEYS[key];
    g_autofree char *id = g_strdup_printf("%s %s", form->name, reader->pattern), *reason = NULL;
    const Setting *earlier = g_hash_table_lookup(reader->seen, id);
    Setting *setting = new_setting(reader->config, key, reader->pattern);

    setting->rank = reader->rank;
    setting->line = reader->line;
    setting->origin = g_strdup_printf("%s:%u", reader->file, reader->line);
    reason = read_value(reader, text, setting);
    if (reason != NULL)
        return fail(reader, "%s; use %s", reason, form->allowed);
    if (earlier != NULL)
        return fail(reader, "%s is already set for this section on line %u; use it once", form->name, earlier->line);
    g_hash_table_insert(reader->seen, g_steal_pointer(&id), setting);
    return TRUE;
}

static gboolean read_setting(Reader *reader)
{
    g_auto(GStrv) parts = g_strsplit(reader->content, "=", 2);
    const char *name = g_strstrip(parts[0]);
    Key key = 0;

    if (parts[1] == NULL)
        return fail(reader, "not understood; use KEY=VALUE, [defaults], [interface NAME] or # for a comment");
    if (reader->pattern == NULL)
        return fail(reader, "outside of any section; put it below [defaults] or [interface NAME]");
    while (key < N_KEYS && strcmp(KEYS[key].name, name) != 0)
        key++;
    if (key == N_KEYS) {
        g_autofree char *keys = list_keys(reader->rank == RANK_DEFAULTS);
        return fail(reader, "unknown key; use one of %s", keys);
    }
    if (KEYS[key].defaults_only && reader->rank != RANK_DEFAULTS)
        return fail(reader, "the same for all interfaces; %s is allowed in [defaults] only", name);
    return add_setting(reader, key, g_strstrip(parts[1]));
}

/* ---- sections, and lines ---- */

/* Given the '[' of a set such as [0-3], returns the end of the set, or NULL if it is open, empty or runs backwards. A
 * nested '[' is refused: fnmatch may read it as a class whose meaning depends on the locale. */
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

/* Of a name that a network interface can have, or of a glob that can match such a name; RANK_DEFAULTS: it is neither.
 * The line has passed check_text(): of the control characters it can have a tab only. */
static guint rank_pattern(const char *text)
{
    guint literals = 0;

    if (strpbrk(text, "*?[") == NULL)
        return ibh_iface_name_is_valid(text) ? RANK_EXACT : RANK_DEFAULTS;
    for (const char *at = text; *at != '\0';) {
        literals += strchr("*?[", *at) == NULL;
        at = *at == '[' ? skip_set(at) : at + 1;
        if (at == NULL)
            return RANK_DEFAULTS;
    }
    return literals < IFNAMSIZ && strpbrk(text, "/: \t") == NULL ? RANK_GLOB + literals : RANK_DEFAULTS;
}

static gboolean read_section(Reader *reader)
{
    gsize length = strlen(reader->content);
    g_autofree char *inner = NULL;
    const char *pattern = "";

    if (reader->content[length - 1] != ']')
        return fail(reader, "no ] at the end; use [defaults] or [interface NAME]");
    inner = g_strstrip(g_strndup(reader->content + 1, length - 2));
    reader->rank = RANK_DEFAULTS;
    if (strcmp(inner, "defaults") != 0) {
        if (!g_str_has_prefix(inner, "interface") || strcspn(inner, " \t") != 9)
            return fail(reader, "unknown section; use [defaults] or [interface NAME]");
        pattern = g_strchug(inner + 9);
        reader->rank = rank_pattern(pattern);
        if (reader->rank == RANK_DEFAULTS)
            return fail(reader, "not an interface's name; use 1-15 characters without blanks, / and :, or a glob of "
                                "them with *, ? and [...]");
    }
    g_free(reader->pattern);
    reader->pattern = g_strdup(pattern);
    return TRUE;
}

static gboolean check_text(Reader *reader, const char *line, gsize length)
{
    if (length > LINE_MAX_BYTES)
        return fail(reader, "the line is too long; use at most %u bytes", LINE_MAX_BYTES);
    for (gsize i = 0; i < length; i++) {
        if (g_ascii_iscntrl(line[i]) && line[i] != '\t')
            return fail(reader, "a control character in the line; use plain text");
    }
    return g_utf8_validate(line, (gssize)length, NULL) || fail(reader, "not valid UTF-8; use plain text");
}

/* A # begins a comment only at the start of a line or after a blank: `eth#1` has none. The line has passed
 * check_text(). */
static void strip_comment(char *line)
{
    for (char *at = strchr(line, '#'); at != NULL; at = strchr(at + 1, '#')) {
        if (at == line || g_ascii_isspace(at[-1])) {
            *at = '\0';
            return;
        }
    }
}

static gboolean read_line(Reader *reader, const char *line, gsize length)
{
    if (length > 0 && line[length - 1] == '\r')
        length--;
    g_free(reader->content);
    reader->content = g_strndup(line, length);
    if (!check_text(reader, line, length))
        return FALSE;
    strip_comment(reader->content);
    g_strstrip(reader->content);
    g_string_append_printf(reader->config->text, "\n%s", reader->content);
    if (reader->content[0] == '\0')
        return TRUE;
    return reader->content[0] == '[' ? read_section(reader) : read_setting(reader);
}

static gboolean read_lines(Reader *reader, const char *text, gsize length)
{
    gsize size;

    for (gsize at = 0; at < length; at += size + 1) {
        const char *newline = memchr(text + at, '\n', length - at);

        size = newline != NULL ? (gsize)(newline - text) - at : length - at;
        reader->line++;
        if (!read_line(reader, text + at, size))
            return FALSE;
    }
    return TRUE;
}

/* ---- the whole ------------------------------------------------------------------------------------- */

/* Two rails in one table would use each other's routes. If a later file sets the table of a section again, the earlier
 * value no longer counts. */
static gboolean check_tables(Reader *reader)
{
    GPtrArray *settings = reader->config->settings;
    g_autoptr(GHashTable) sections = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) owners = g_hash_table_new(g_int64_hash, g_int64_equal);

    for (guint i = settings->len; i-- > 0;) { /* the last first */
        Setting *setting = g_ptr_array_index(settings, i);
        const Setting *later = g_hash_table_lookup(owners, &setting->value);

        if (setting->key != KEY_TABLE || !g_hash_table_add(sections, setting->pattern) ||
            setting->value == IBH_TABLE_AUTO)
            continue;
        if (later != NULL) {
            reader->line = later->line;
            g_free(reader->content);
            reader->content = g_strdup_printf("table=%" G_GINT64_FORMAT, setting->value);
            return fail(reader, "also the table at %s; use auto or a number of its own for each", setting->origin);
        }
        g_hash_table_insert(owners, &setting->value, setting);
    }
    return TRUE;
}

static gboolean check_length(Reader *reader)
{
    if (reader->config->text->len <= TEXT_MAX_BYTES)
        return TRUE;
    g_free(reader->content);
    reader->content = g_strdup("");
    return fail(reader, "the configuration is larger than %u bytes without its comments; shorten it", TEXT_MAX_BYTES);
}

#define FILE_BEGINS "\n# " /* and its name: no line without its comment begins so */

gboolean ibh_config_add(IbhConfig *config, const char *file, const char *text, gsize length, IbhTableLookup lookup,
                        gboolean is_public, GError **error)
{
    const guint before = config->settings->len;
    const gsize text_before = config->text->len;
    g_auto(Reader) reader = {
        .file = g_strdup(file),
        .config = config,
        .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .lookup = lookup,
        .quotes = is_public,
        .error = error,
    };

    g_string_append_printf(config->text, FILE_BEGINS "%s", file);
    if (read_lines(&reader, text, length) && check_tables(&reader) && check_length(&reader)) {
        config->is_public &= is_public;
        return TRUE;
    }
    g_ptr_array_set_size(config->settings, (gint)before); /* nothing of a bad file counts */
    g_string_truncate(config->text, text_before);
    return FALSE;
}

IbhConfig *ibh_config_new(void)
{
    IbhConfig *config = g_new0(IbhConfig, 1);

    config->settings = g_ptr_array_new_with_free_func(setting_free);
    config->text = g_string_new(NULL);
    config->is_public = TRUE;
    for (Key key = 0; key < N_KEYS; key++)
        new_setting(config, key, "");
    return config;
}

const char *ibh_config_text(const IbhConfig *config)
{
    return config->text->str;
}

gboolean ibh_config_is_public(const IbhConfig *config)
{
    return config->is_public;
}

IbhConfig *ibh_config_from_text(const char *text, gboolean is_public, IbhTableLookup lookup)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_auto(GStrv) files = NULL;

    if (*text && !g_str_has_prefix(text, FILE_BEGINS))
        return NULL;
    files = g_strsplit(*text ? text + strlen(FILE_BEGINS) : text, FILE_BEGINS, -1);
    for (char **file = files; *file; file++) {
        char *name_end = strchrnul(*file, '\n');
        g_autofree char *lines = *name_end ? g_strconcat(name_end + 1, "\n", NULL) : g_strdup("");

        *name_end = '\0';
        if (!ibh_config_add(config, *file, lines, strlen(lines), lookup, is_public, NULL))
            return NULL;
    }
    return g_steal_pointer(&config);
}

void ibh_config_free(IbhConfig *config)
{
    if (config == NULL)
        return;
    g_ptr_array_unref(config->settings);
    g_string_free(config->text, TRUE);
    g_free(config);
}

/* ---- what holds ------------------------------------------------------------------------------------ */

static gboolean setting_matches(const Setting *setting, const char *iface)
{
    return setting->rank == RANK_DEFAULTS || fnmatch(setting->pattern, iface, FNM_NOESCAPE) == 0;
}

GArray *ibh_config_find_unmatched(const IbhConfig *config, const GPtrArray *ifaces)
{
    GArray *sections = IBH_NEW_ARRAY(IbhSection);

    IBH_EACH_POINTER (const Setting, setting, config->settings) {
        const IbhSection section = {setting->pattern, setting->origin, setting->rank == RANK_EXACT};
        gboolean is_known = setting->rank == RANK_DEFAULTS;

        IBH_EACH_POINTER (const char, iface, ifaces)
            is_known = is_known || setting_matches(setting, iface);
        IBH_EACH (const IbhSection, earlier, sections)
            is_known = is_known || strcmp(setting->pattern, earlier->pattern) == 0;
        if (!is_known)
            g_array_append_val(sections, section);
    }
    return sections;
}

gboolean ibh_config_manages(const IbhConfig *config, GPtrArray *names)
{
    gboolean manages = FALSE;

    IBH_EACH_POINTER (const Setting, setting, config->settings) {
        if (setting->key != KEY_MANAGE || setting->value != IBH_MANAGE_YES)
            continue;
        manages = TRUE;
        if (names && setting->rank == RANK_EXACT)
            g_ptr_array_add(names, setting->pattern);
    }
    return manages;
}

IbhSettings ibh_config_settings(const IbhConfig *config, const char *iface)
{
    const Setting *best[N_KEYS];

    /* For each key the setting of the nearest section, and of equally near ones the last. */
    for (Key key = 0; key < N_KEYS; key++)
        best[key] = g_ptr_array_index(config->settings, key); /* of no file */
    IBH_EACH_POINTER (const Setting, setting, config->settings) {
        const Setting **nearest = &best[setting->key];

        if (setting->rank >= (*nearest)->rank && setting_matches(setting, iface))
            *nearest = setting;
    }
    return (IbhSettings){
        .main = (IbhMain)best[KEY_MAIN]->value,
        .manage = (IbhManage)best[KEY_MANAGE]->value,
        .table = (guint32)best[KEY_TABLE]->value,
        .rails = (guint)best[KEY_RAILS]->value,
        .arp = (IbhArp)best[KEY_ARP]->value,
        .gateway = (IbhGateway)best[KEY_GATEWAY]->value,
        .gateway_ip = best[KEY_GATEWAY]->ip,
        .remote = best[KEY_REMOTE]->list,
        .remote_origin = best[KEY_REMOTE]->origin,
        .table_origin = best[KEY_TABLE]->value != IBH_TABLE_AUTO ? best[KEY_TABLE]->origin : NULL,
    };
}
