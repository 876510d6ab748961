/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the top: the keys (a table), their values, and the settings of one interface.
 */
#include "config/config.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/socket.h>

#define TABLE_SPREAD IBH_TABLE_BASE

typedef enum { KEY_MAIN, KEY_MANAGE, KEY_TABLE, KEY_GATEWAY, KEY_REMOTE, KEY_ARP, N_KEYS } Key;

/* One key=value that is in force: of one section, in one file. */
typedef struct {
    Key key;
    char *text; /* as it was written */
    gint64 value;
    IbhIp ip;      /* of gateway=ADDRESS */
    GArray *list;  /* IbhPrefix, of KEY_REMOTE; else NULL */
    char *pattern; /* "": [defaults] */
    guint rank;
    guint line;
    char *origin; /* "file:line" */
} Setting;

struct IbhConfig {
    GPtrArray *settings; /* Setting, in the order read */
};

/* Reads one file. Nothing reaches the configuration before the whole file was found good. */
typedef struct {
    IbhLines lines;
    GPtrArray *settings; /* Setting */
    GHashTable *seen;    /* "key pattern" → Setting of this file */
    IbhTableLookup lookup;
    gpointer lookup_data;
} Reader;

static void setting_free(gpointer data)
{
    Setting *setting = data;

    g_free(setting->text);
    g_clear_pointer(&setting->list, g_array_unref);
    g_free(setting->pattern);
    g_free(setting->origin);
    g_free(setting);
}

static void reader_clear(Reader *reader)
{
    g_free(reader->lines.file);
    g_free(reader->lines.content);
    g_free(reader->lines.pattern);
    g_ptr_array_unref(reader->settings);
    g_hash_table_unref(reader->seen);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Reader, reader_clear)

/* ---- keys and values ----------------------------------------------------------------------------- */

/* Reads the setting's text, which is none of the key's words; on failure says why. */
typedef gboolean (*ReadValue)(const Reader *reader, Setting *setting, char **ret_reason);

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

static gboolean read_table(const Reader *reader, Setting *setting, char **ret_reason);
static gboolean read_gateway(const Reader *reader, Setting *setting, char **ret_reason);
static gboolean read_remote(const Reader *reader, Setting *setting, char **ret_reason);

/* clang-format off */
static const KeyForm KEYS[N_KEYS] = {
    [KEY_MAIN] = {.name = "main", .defaults_only = TRUE, .allowed = "keep or spread",
                  .words = {{"keep", IBH_MAIN_KEEP}, {"spread", IBH_MAIN_SPREAD}}},
    [KEY_MANAGE] = {.name = "manage", .allowed = "auto, yes or no",
                    .words = {{"auto", IBH_MANAGE_AUTO}, {"yes", IBH_MANAGE_YES}, {"no", IBH_MANAGE_NO}}},
    [KEY_TABLE] = {.name = "table", .allowed = "auto, a number (1-252, 256-4294965295) or a name from rt_tables",
                   .words = {{"auto", IBH_TABLE_AUTO}}, .read = read_table},
    [KEY_GATEWAY] = {.name = "gateway", .allowed = "auto, none, peer, first, last or an address",
                     .words = {{"auto", IBH_GATEWAY_AUTO}, {"none", IBH_GATEWAY_NONE}, {"peer", IBH_GATEWAY_PEER},
                               {"first", IBH_GATEWAY_FIRST}, {"last", IBH_GATEWAY_LAST}}, .read = read_gateway},
    [KEY_REMOTE] = {.name = "remote", .allowed = "prefixes with commas between them, or nothing", .read = read_remote},
    [KEY_ARP] = {.name = "arp", .allowed = "auto, strict or keep",
                 .words = {{"auto", IBH_ARP_AUTO}, {"strict", IBH_ARP_STRICT}, {"keep", IBH_ARP_KEEP}}},
};
/* clang-format on */

static gboolean find_key(const char *name, Key *ret_key)
{
    for (Key key = 0; key < N_KEYS; key++) {
        if (strcmp(KEYS[key].name, name) == 0) {
            *ret_key = key;
            return TRUE;
        }
    }
    return FALSE;
}

static char *list_keys(gboolean in_defaults)
{
    g_autoptr(GString) list = g_string_new(NULL);

    for (Key key = 0; key < N_KEYS; key++) {
        if (in_defaults || !KEYS[key].defaults_only)
            g_string_append_printf(list, "%s%s", list->len > 0 ? ", " : "", KEYS[key].name);
    }
    return g_string_free(g_steal_pointer(&list), FALSE);
}

static gboolean lookup_table(const Reader *reader, const char *name, guint32 *ret_table, char **ret_reason)
{
    g_autoptr(GError) error = NULL;
    guint32 table = 0;

    if (name[0] != '\0' && reader->lookup(reader->lookup_data, name, &table, &error)) {
        *ret_table = table;
        return TRUE;
    }
    *ret_reason = g_strdup(error != NULL ? error->message : "neither a table's number nor a known name");
    return FALSE;
}

static gboolean read_table(const Reader *reader, Setting *setting, char **ret_reason)
{
    guint32 table;

    if (!ibh_table_parse(setting->text, &table) && !lookup_table(reader, setting->text, &table, ret_reason))
        return FALSE;
    if (table == 0 || (table >= 253 && table <= 255))
        *ret_reason = g_strdup("reserved for the kernel's own tables");
    else if (table == TABLE_SPREAD)
        *ret_reason = g_strdup("reserved for main=spread");
    else if (table > G_MAXUINT32 - IBH_TABLE_DEFAULTS)
        *ret_reason = g_strdup_printf("default routes lie in a table %u above it", IBH_TABLE_DEFAULTS);
    setting->value = table;
    return !*ret_reason;
}

static gboolean read_gateway(const Reader *reader G_GNUC_UNUSED, Setting *setting, char **ret_reason)
{
    if (!ibh_ip_parse(setting->text, &setting->ip))
        return FALSE;
    if (!ibh_ip_is_unicast(&setting->ip))
        *ret_reason = g_strdup("no host can have this address");
    setting->value = IBH_GATEWAY_ADDRESS;
    return !*ret_reason;
}

#define REMOTE_MAX 64

static gboolean read_remote(const Reader *reader G_GNUC_UNUSED, Setting *setting, char **ret_reason)
{
    g_auto(GStrv) words = g_strsplit(setting->text, ",", -1);

    setting->list = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
    for (char **word = words; *word; word++) {
        IbhPrefix prefix;

        if (!ibh_prefix_parse(g_strstrip(*word), &prefix))
            return FALSE;
        if (prefix.length == 0)
            *ret_reason = g_strdup("a prefix of length 0 is everything: use gateway= for that");
        else if (ibh_ip_is_link_local(&prefix.ip) || !ibh_ip_is_unicast(&prefix.ip))
            *ret_reason = g_strdup_printf("%s is reached by no gateway", *word);
        else if (setting->list->len == REMOTE_MAX)
            *ret_reason = g_strdup_printf("more than %d prefixes", REMOTE_MAX);
        if (*ret_reason)
            return FALSE;
        g_array_append_val(setting->list, prefix);
    }
    return TRUE;
}

static gboolean read_value(const Reader *reader, Setting *setting, char **ret_reason)
{
    const KeyForm *form = &KEYS[setting->key];

    for (const Word *word = form->words; word->text != NULL; word++) {
        setting->value = word->value;
        if (strcmp(word->text, setting->text) == 0)
            return TRUE;
    }
    return form->read != NULL && form->read(reader, setting, ret_reason);
}

/* Takes `text`. */
static Setting *setting_new(const Reader *reader, Key key, char *text)
{
    Setting *setting = g_new0(Setting, 1);

    setting->key = key;
    setting->text = text;
    setting->pattern = g_strdup(reader->lines.pattern);
    setting->rank = reader->lines.rank;
    setting->line = reader->lines.line;
    setting->origin = g_strdup_printf("%s:%u", reader->lines.file, reader->lines.line);
    return setting;
}

/* A section may be opened twice in one file; it is still one section, and a second value is a contradiction. */
static gboolean add_setting(Reader *reader, Setting *setting)
{
    const char *name = KEYS[setting->key].name;
    g_autofree char *id = g_strdup_printf("%s %s", name, setting->pattern), *reason = NULL;
    const Setting *earlier = g_hash_table_lookup(reader->seen, id);

    g_ptr_array_add(reader->settings, setting);
    if (!read_value(reader, setting, &reason))
        return ibh_lines_fail(&reader->lines, "%s; use %s", reason != NULL ? reason : "not allowed",
                              KEYS[setting->key].allowed);
    if (earlier != NULL)
        return ibh_lines_fail(&reader->lines, "%s is already set for this section on line %u; use it once", name,
                              earlier->line);
    g_hash_table_insert(reader->seen, g_steal_pointer(&id), setting);
    return TRUE;
}

static gboolean read_setting(gpointer data)
{
    Reader *reader = data;
    const char *equals = strchr(reader->lines.content, '=');
    g_autofree char *name = g_strstrip(g_strndup(reader->lines.content, (gsize)strcspn(reader->lines.content, "=")));
    Key key;

    if (equals == NULL)
        return ibh_lines_fail(&reader->lines,
                              "not understood; use KEY=VALUE, [defaults], [interface NAME] or # for a comment");
    if (reader->lines.pattern == NULL)
        return ibh_lines_fail(&reader->lines, "outside of any section; put it below [defaults] or [interface NAME]");
    if (!find_key(name, &key)) {
        g_autofree char *keys = list_keys(reader->lines.rank == IBH_RANK_DEFAULTS);
        return ibh_lines_fail(&reader->lines, "unknown key; use one of %s", keys);
    }
    if (KEYS[key].defaults_only && reader->lines.rank != IBH_RANK_DEFAULTS)
        return ibh_lines_fail(&reader->lines, "the same for all interfaces; %s is allowed in [defaults] only",
                              KEYS[key].name);
    return add_setting(reader, setting_new(reader, key, g_strstrip(g_strdup(equals + 1))));
}

/* ---- the whole ------------------------------------------------------------------------------------- */

/* If a later file sets the table of a section again, the earlier value no longer counts. */
static GHashTable *last_tables(const GPtrArray *settings)
{
    GHashTable *last = g_hash_table_new(g_str_hash, g_str_equal);

    IBH_EACH_POINTER (Setting, setting, settings) {
        if (setting->key == KEY_TABLE)
            g_hash_table_insert(last, setting->pattern, setting);
    }
    return last;
}

/* Two rails in one table would use each other's routes. */
static gboolean check_tables(Reader *reader, const GPtrArray *settings)
{
    g_autoptr(GHashTable) last = last_tables(settings);
    g_autoptr(GHashTable) owners = g_hash_table_new(g_int64_hash, g_int64_equal);

    IBH_EACH_POINTER (Setting, setting, settings) {
        const Setting *owner;

        if (setting->key != KEY_TABLE || setting->value == IBH_TABLE_AUTO ||
            g_hash_table_lookup(last, setting->pattern) != setting)
            continue;
        owner = g_hash_table_lookup(owners, &setting->value);
        if (owner != NULL) {
            reader->lines.line = setting->line;
            g_free(reader->lines.content);
            reader->lines.content = g_strdup_printf("table=%" G_GINT64_FORMAT, setting->value);
            return ibh_lines_fail(&reader->lines, "also the table at %s; use auto or a number of its own for each",
                                  owner->origin);
        }
        g_hash_table_insert(owners, &setting->value, setting);
    }
    return TRUE;
}

gboolean ibh_config_add(IbhConfig *config, const char *file, const char *text, gsize length, IbhTableLookup lookup,
                        gpointer lookup_data, GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_auto(Reader) reader = {
        .lines = {.file = g_strescape(file, NULL), .on_setting = read_setting, .data = &reader, .error = error},
        .settings = g_ptr_array_new_with_free_func(setting_free),
        .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .lookup = lookup,
        .lookup_data = lookup_data,
    };

    if (!ibh_lines_read(&reader.lines, text, length))
        return FALSE;
    IBH_EACH_POINTER (Setting, setting, config->settings)
        g_ptr_array_add(all, setting);
    IBH_EACH_POINTER (Setting, setting, reader.settings)
        g_ptr_array_add(all, setting);
    if (!check_tables(&reader, all))
        return FALSE;
    IBH_EACH_POINTER (Setting, setting, reader.settings)
        g_ptr_array_add(config->settings, setting);
    g_ptr_array_set_free_func(reader.settings, NULL);
    return TRUE;
}

IbhConfig *ibh_config_new(void)
{
    IbhConfig *config = g_new0(IbhConfig, 1);

    config->settings = g_ptr_array_new_with_free_func(setting_free);
    return config;
}

void ibh_config_free(IbhConfig *config)
{
    if (config == NULL)
        return;
    g_ptr_array_unref(config->settings);
    g_free(config);
}

/* ---- what holds ------------------------------------------------------------------------------------ */

static gboolean setting_matches(const Setting *setting, const char *iface)
{
    if (setting->rank == IBH_RANK_DEFAULTS)
        return TRUE;
    if (setting->rank == IBH_RANK_EXACT)
        return strcmp(setting->pattern, iface) == 0;
    return fnmatch(setting->pattern, iface, FNM_NOESCAPE) == 0;
}

/* For each key the setting of the nearest section, and of equally near ones the last; NULL if no section sets it. */
static void fold(const IbhConfig *config, const char *iface, const Setting *ret_best[N_KEYS])
{
    IBH_EACH_POINTER (const Setting, setting, config->settings) {
        const Setting **best = &ret_best[setting->key];

        if ((*best == NULL || setting->rank >= (*best)->rank) && setting_matches(setting, iface))
            *best = setting;
    }
}

static gint64 value_or(const Setting *setting, gint64 otherwise)
{
    return setting != NULL ? setting->value : otherwise;
}

IbhMain ibh_config_main(const IbhConfig *config)
{
    const Setting *best[N_KEYS] = {NULL};

    fold(config, "", best);
    return (IbhMain)value_or(best[KEY_MAIN], IBH_MAIN_KEEP);
}

gboolean ibh_config_manages(const IbhConfig *config)
{
    IBH_EACH_POINTER (const Setting, setting, config->settings) {
        if (setting->key == KEY_MANAGE && setting->value == IBH_MANAGE_YES)
            return TRUE;
    }
    return FALSE;
}

void ibh_config_managed_names(const IbhConfig *config, GPtrArray *names)
{
    IBH_EACH_POINTER (const Setting, setting, config->settings) {
        if (setting->key == KEY_MANAGE && setting->value == IBH_MANAGE_YES && setting->rank == IBH_RANK_EXACT)
            g_ptr_array_add(names, setting->pattern);
    }
}

IbhSettings ibh_config_settings(const IbhConfig *config, const char *iface)
{
    const Setting *best[N_KEYS] = {NULL};
    IbhSettings settings = {0};

    fold(config, iface, best);
    settings.manage = (IbhManage)value_or(best[KEY_MANAGE], IBH_MANAGE_AUTO);
    settings.table = (guint32)value_or(best[KEY_TABLE], IBH_TABLE_AUTO);
    settings.arp = (IbhArp)value_or(best[KEY_ARP], IBH_ARP_AUTO);
    settings.gateway = (IbhGateway)value_or(best[KEY_GATEWAY], IBH_GATEWAY_AUTO);
    if (settings.gateway == IBH_GATEWAY_ADDRESS)
        settings.gateway_ip = best[KEY_GATEWAY]->ip;
    settings.remote = best[KEY_REMOTE] && best[KEY_REMOTE]->list->len ? best[KEY_REMOTE]->list : NULL;
    if (settings.table != IBH_TABLE_AUTO)
        settings.table_origin = best[KEY_TABLE]->origin;
    return settings;
}
