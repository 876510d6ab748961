/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What keeps a rail as it is, and what does not: its manager, our hook, scripts that route it by hand.
 */
#include "check/check.h"

#include <string.h>
#include <sys/socket.h>

/* ---- by which way does an event reach us? ---- */

/* Of a rail that is asked about; NULL: it is none, or its manager is not known. */
static const IbhManager *find_manager(const IbhCheck *check, const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL && ibh_nic_is_selected(nic, check->only)
               ? ibh_facts_manager(check->facts, nic->link->ifindex)
               : NULL;
}

static gboolean has_way_of_a_manager(const IbhCheck *check)
{
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        const IbhManager *manager = find_manager(check, nic);

        if (manager && !manager->inactive)
            return TRUE;
    }
    return FALSE;
}

static IbhRemedy advise_call(const IbhCheck *check, const IbhManager *manager)
{
    const char *remedy = manager->remedy ? manager->remedy : ibh_code_find("hook-inactive")->advice;

    return check->facts->watched ? ibh_remedy_advice("%s", remedy)
                                 : ibh_remedy_advice("%s; or %s", remedy, check->facts->start_watch);
}

/* Traffic is right, and stays so until something happens: this is about the host. */
void ibh_check_judge_calls(const IbhCheck *check)
{
    const gboolean watched = check->facts->watched, will_follow = watched || check->facts->will_watch,
                   has_way = has_way_of_a_manager(check);

    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        const IbhManager *manager = find_manager(check, nic);
        const char *inactive = manager ? manager->inactive : NULL;
        IbhFinding *finding;

        if (!inactive)
            continue;
        finding = ibh_check_tell(check, NULL, "hook-inactive", inactive, advise_call(check, manager),
                                 watched ? "%s does not call ib-hook, and only --watch follows changes: %s"
                                         : "ib-hook misses the next event of %s, and --watch does not run: %s",
                                 manager->name, inactive);
        if (will_follow || manager->will_start || (manager->by_choice && has_way))
            finding->severity = IBH_INFO;
    }
}

/* ---- its manager ---- */

/* Our rules and routes have protocol kernel, which all managers but this one leave alone. */
static void judge_pruning(const IbhCheck *check, const IbhNic *nic, const IbhManager *manager)
{
    gboolean four = manager->prunes4 && ibh_nic_serves_family(nic, AF_INET),
             six = manager->prunes6 && ibh_nic_serves_family(nic, AF_INET6);
    g_autofree char *connection = manager->connection ? ibh_text_shell_word(manager->connection) : NULL;

    if (connection && (four || six))
        ibh_check_tell(
            check, nic, "manager-removes-foreign", NULL,
            ibh_remedy_advice("sudo nmcli connection modify %s%s%s, and activate it again", connection,
                              four ? " ipv4.route-table 0" : "", six ? " ipv6.route-table 0" : ""),
            "this %s (before 1.36) removes the routes of table %u each time it configures the NIC, because the NIC's "
            "connection sets route-table; until the routes are restored, the NIC's traffic takes another way",
            manager->name, nic->table);
}

/* ---- scripts: lines that lead a rail's address to a table, and routes by the rail in such a table ---- */

#define NETWORKD "/etc/systemd/network/"

/* A name's or a variable's number is not known. */
static gboolean may_be_table(const char *word, guint32 table)
{
    char *end;
    const guint64 number = g_ascii_strtoull(word, &end, 0);

    return end == word || *end || number == table;
}

static gboolean contains_one_of(const IbhPrefix *prefix, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (prefix->length && ibh_prefix_contains(prefix, &address->local))
            return TRUE;
    }
    return FALSE;
}

/* In the kernel, a rule of others leads an address of this rail to this table. */
static gboolean has_rule(const IbhRails *rails, const IbhNic *nic, const char *table)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_of_a_source(rule) && contains_one_of(&rule->from, nic) && may_be_table(table, rule->table))
            return TRUE;
    }
    return FALSE;
}

/* A variable's value is not known: rules in the kernel decide whether it concerns this rail. */
static gboolean is_of(const char *value, const IbhRails *rails, const IbhNic *nic)
{
    IbhPrefix prefix = {0};

    if (value[0] == '$' && has_rule(rails, nic, value))
        return TRUE;
    if (ibh_ip_parse(value, &prefix.ip))
        prefix.length = ibh_ip_bits(&prefix.ip);
    else if (!ibh_prefix_parse(value, &prefix))
        return FALSE;
    return contains_one_of(&prefix, nic);
}

typedef struct {
    const IbhCheck *check;
    const IbhScript *script;
    gboolean netplan;
    GHashTable *led; /* "IFINDEX TABLE": a line of it leads an address of the NIC there */
} Reader;

/* What a line says of a NIC. */
typedef struct {
    gboolean by_address, by_device;
    const char *table; /* NULL: none that it gives anything */
} Saying;

static Saying read_words(const Reader *reader, char *const *words, const IbhNic *nic)
{
    static const char *const
        sources[] = {"from", "src", "From", "PreferredSource", NULL},
        *const tables[] = {"table", "lookup", "Table", NULL}, *const kernels[] = {"main", "254", "local", "255", NULL},
        *const gives[] = {"add", "a", "append", "replace", "change", NULL}, *const takes[] = {"del",  "delete", "show",
                                                                                              "list", "flush",  "get",
                                                                                              NULL};
    Saying saying = {.table = reader->netplan ? "" : NULL}; /* it has the table in a line of its own */
    gboolean given = FALSE, taken = FALSE;

    for (; *words; words++) {
        given |= g_strv_contains(gives, *words);
        taken |= g_strv_contains(takes, *words);
        if (!words[1])
            break;
        saying.by_address |= g_strv_contains(sources, *words) && is_of(words[1], reader->check->rails, nic);
        saying.by_device |=
            g_str_equal(*words, "dev") && (words[1][0] == '$' || g_str_equal(words[1], nic->link->name));
        if (g_strv_contains(tables, *words) && !g_strv_contains(kernels, words[1]))
            saying.table = words[1];
    }
    if (taken && !given)
        saying.table = NULL;
    return saying;
}

static char *write_key(const IbhNic *nic, const char *table)
{
    return g_strdup_printf("%d %s", nic->link->ifindex, table);
}

/* Marks or ports may lead to a table whose route is by a rail: ib-hook does nothing of the kind. */
static gboolean is_a_sources(const Reader *reader, const IbhNic *nic, const char *table)
{
    g_autofree char *key = write_key(nic, table);

    return g_hash_table_contains(reader->led, key) || has_rule(reader->check->rails, nic, table);
}

/* systemd-networkd configures the NIC by this file, or by the file that this one is a drop-in of. */
static gboolean is_file_of(const IbhScript *script, const IbhFacts *facts, const IbhNic *nic)
{
    const IbhManager *manager = ibh_facts_manager(facts, nic->link->ifindex);
    g_autofree char *file = NULL;

    if (!manager || !manager->connection)
        return FALSE;
    file = g_strconcat(NETWORKD, manager->connection, NULL);
    return g_str_has_prefix(script->path, file);
}

typedef struct {
    guint number;
    char *text;
    GStrv words;
} Line;

static void line_clear(gpointer data)
{
    Line *line = data;

    g_strfreev(line->words);
}

static void note_line(const Reader *reader, const Line *line)
{
    IBH_EACH_POINTER (const IbhNic, nic, reader->check->rails->nics) {
        const Saying saying =
            nic->status == IBH_NIC_RAIL ? read_words(reader, line->words, nic) : (Saying){.table = NULL};

        if (saying.by_address && saying.table)
            g_hash_table_add(reader->led, write_key(nic, saying.table));
    }
}

static void judge_line(const Reader *reader, const Line *line)
{
    const IbhCheck *check = reader->check;
    const IbhScript *script = reader->script;
    gboolean is_route = g_str_has_prefix(line->text, "[Route]");

    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        IbhFinding *finding;
        Saying saying;

        if (nic->status != IBH_NIC_RAIL || !ibh_nic_is_selected(nic, check->only))
            continue;
        saying = read_words(reader, line->words, nic);
        saying.by_device |= is_route && is_file_of(script, check->facts, nic);
        if (!saying.table || (!saying.by_address && !(saying.by_device && is_a_sources(reader, nic, saying.table))))
            continue;
        finding = ibh_check_tell(
            check, nic, "legacy-script", script->path, (IbhRemedy){0},
            "%s sets fixed routes for this NIC, and does not follow changes of addresses: line %u: %s", script->path,
            line->number, script->is_public ? g_strstrip(g_strdelimit(line->text, "\t\r", ' ')) : IBH_NOT_PUBLIC);
        if (nic->programmed->len)
            finding->severity = IBH_WARNING;
    }
}

/* Makes one line of several; returns how many line ends there were. */
static guint join_lines(char *text)
{
    guint n = 0;

    for (char *at = text; (at = strchr(at, '\n')); n++) {
        *at = ' ';
        if (at > text && at[-1] == '\\')
            at[-1] = ' ';
    }
    return n;
}

/* A line goes on behind a backslash; in a file of systemd-networkd, a section counts as a line. */
static GArray *split_lines(char **texts)
{
    GArray *lines = IBH_NEW_ARRAY(Line);
    guint number = 1;

    g_array_set_clear_func(lines, line_clear);
    for (; *texts; texts++, number++) {
        Line line = {.number = number, .text = *texts};

        number += join_lines(line.text);
        line.words = g_regex_split_simple(":?[ \t\r\"'`(){},;|&=\\[\\]]+", line.text, G_REGEX_RAW, 0);
        g_array_append_val(lines, line);
    }
    return lines;
}

/* Without its comments. */
static void judge_script(const IbhCheck *check, const IbhScript *script)
{
    g_autoptr(GRegex) comment = g_regex_new("(^|[ \t;])#.*|^;.*", G_REGEX_RAW | G_REGEX_MULTILINE, 0, NULL);
    g_autofree char *code = g_regex_replace_literal(comment, script->text, -1, 0, "", 0, NULL);
    const char *end = g_str_has_prefix(script->path, NETWORKD) ? "\n(?=\\[)" : "(?<!\\\\)\n";
    g_auto(GStrv) texts = g_regex_split_simple(end, code ? code : "", G_REGEX_RAW, 0);
    g_autoptr(GHashTable) led = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GArray) lines = split_lines(texts);
    const Reader reader = {check, script, strstr(script->text, "routing-policy:") != NULL, led};

    IBH_EACH (const Line, line, lines)
        note_line(&reader, line);
    IBH_EACH (const Line, line, lines)
        judge_line(&reader, line);
}

void ibh_check_judge_manager(const IbhCheck *check, const IbhNic *nic)
{
    const IbhManager *manager = ibh_facts_manager(check->facts, nic->link->ifindex);

    if (manager)
        judge_pruning(check, nic, manager);
}

void ibh_check_judge_scripts(const IbhCheck *check)
{
    IBH_EACH (const IbhScript, script, check->facts->scripts)
        judge_script(check, script);
}
