/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings about what keeps a rail in order or spoils it later: its manager, our hook, and hand-written scripts.
 */
#include "check/rows.h"

#include <string.h>
#include <sys/socket.h>

/* ---- does the manager call our hook? ---- */

/* Returns the manager of a rail that the user asks about; NULL for other NICs, or if the manager is not known. */
static const IbhManager *find_rail_manager(const IbhCheck *check, const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL && ibh_nic_is_selected(nic, check->only)
               ? ibh_facts_manager(check->facts, nic->link->ifindex)
               : NULL;
}

/* TRUE if any rail has a known manager, and we know no reason why this manager's next event would miss our hook
 * (IbhManager.inactive). */
static gboolean any_manager_calls_hook(const IbhCheck *check)
{
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        const IbhManager *manager = ibh_facts_manager(check->facts, nic->link->ifindex);

        if (nic->status == IBH_NIC_RAIL && manager && !manager->inactive)
            return TRUE;
    }
    return FALSE;
}

/* TRUE if the manager of a rail does not call our hook, or if the hook cannot run (IbhManager.inactive). The packets go
 * right until the next event, so the finding is about the host, not about the rail. */
gboolean ibh_manager_is_inactive(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    const gboolean watched = check->facts->watched;
    const IbhManager *manager = find_rail_manager(check, about->nic);

    if (!manager || !manager->inactive)
        return FALSE;
    ibh_subject_say(about,
                    watched ? "what=%s does not call ib-hook, and only --watch follows changes"
                            : "what=ib-hook misses the next event of %s, and --watch does not run",
                    manager->name);
    ibh_subject_say(about, "inactive=%s\nwatch=%s%s", manager->inactive, watched ? "" : "; or ",
                    watched ? "" : check->facts->start_watch);
    if (manager->remedy) {
        ibh_subject_say(about, "remedy=%s", manager->remedy);
        about->remedy = "{remedy}{watch}";
    }
    /* The severity is info in each of these cases: --watch runs; the service of --watch is enabled; the service that
     * calls the hook does not run, but is enabled; or that service is disabled, but the manager of another rail calls
     * our hook. An enabled service that does not run may still start: perhaps the host is booting. */
    if (watched || check->facts->will_watch || manager->will_start ||
        (manager->by_choice && any_manager_calls_hook(check)))
        about->severity = IBH_INFO;
    return TRUE;
}

/* ---- does the manager delete our routes? ---- */

/* TRUE if the NIC's manager deletes our routes of a family that the NIC serves, and if the connection that the remedy
 * has to name is known. NetworkManager before 1.36 deletes them if the NIC's connection sets route-table. All other
 * managers that were measured leave our routes alone, because our routes have protocol kernel. */
gboolean ibh_manager_prunes(IbhSubject *about)
{
    const IbhNic *nic = about->nic;
    const IbhManager *manager = ibh_facts_manager(about->check->facts, nic->link->ifindex);
    const gboolean four = manager && manager->prunes4 && ibh_nic_serves_family(nic, AF_INET),
                   six = manager && manager->prunes6 && ibh_nic_serves_family(nic, AF_INET6);
    g_autofree char *connection = NULL;

    if (!(four || six) || !manager->connection)
        return FALSE;
    /* In the remedy, {connection} stands for the connection's name and the settings to change. */
    connection = ibh_text_shell_word(manager->connection);
    ibh_subject_say(about, "manager=%s\ntable=%u\nconnection=%s%s%s", manager->name, nic->table, connection,
                    four ? " ipv4.route-table 0" : "", six ? " ipv6.route-table 0" : "");
    return TRUE;
}

/* ---- scripts: lines that lead a rail's address to a table, and routes through the rail in such a table ---- */

#define NETWORKD "/etc/systemd/network/"

/* TRUE if the prefix contains a served address of the NIC. /0 does not count. */
static gboolean contains_address_of(const IbhPrefix *prefix, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (prefix->length && ibh_prefix_contains(prefix, &address->local))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if a foreign source rule in the kernel (ibh_rule_is_of_a_source()) leads an address of this rail to this table.
 * `table` is a word of a script. If the word is not a number, but a name, a variable or "", we do not know the table's
 * number, and any such rule counts. */
static gboolean has_foreign_rule(const IbhRails *rails, const IbhNic *nic, const char *table)
{
    char *end;
    const guint64 number = g_ascii_strtoull(table, &end, 0);

    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_of_a_source(rule) && contains_address_of(&rule->from, nic) &&
            (end == table || *end || number == rule->table))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if this word of a script is an address of this rail, or a prefix that contains one of its addresses. If the word
 * is a shell variable, TRUE if a foreign source rule in the kernel leads an address of the rail to any table. */
static gboolean is_address_of(const char *value, const IbhRails *rails, const IbhNic *nic)
{
    IbhPrefix prefix = {0};

    if (value[0] == '$' && has_foreign_rule(rails, nic, "")) /* to any table */
        return TRUE;
    if (ibh_ip_parse(value, &prefix.ip))
        prefix.length = ibh_ip_bits(&prefix.ip);
    else if (!ibh_prefix_parse(value, &prefix))
        return FALSE;
    return contains_address_of(&prefix, nic);
}

/* What a line of a script says about a NIC. */
typedef struct {
    gboolean by_address; /* the line names an address of the NIC as a source */
    gboolean by_device;  /* the line has "dev" before the NIC's name or a variable, or has an address of the NIC as the
                            preferred source of a route ("src"); or is a [Route] section in the NIC's own file */
    const char *table;   /* the word that names the table of the rule or route that the line adds. "": not known, so
                            any table. NULL: the line does not count, because it only deletes or shows, or because it
                            names no table other than main and local and is not in a file of netplan */
} Saying;

/* Returns what the words of a line say about the NIC. In netplan's files, the table is usually on another line than the
 * address. So a line of netplan that names no table other than main and local has the table "". */
static Saying read_words(const IbhRails *rails, char *const *words, gboolean is_netplan, const IbhNic *nic)
{
    static const char *const sources[] = {"from", "From", NULL};
    static const char *const preferred[] = {"src", "PreferredSource", NULL};
    static const char *const tables[] = {"table", "lookup", "Table", NULL};
    static const char *const kernel_tables[] = {"main", "254", "local", "255", NULL};
    static const char *const adding[] = {"add", "a", "append", "replace", "change", NULL};
    static const char *const not_adding[] = {"del", "delete", "show", "list", "flush", "get", NULL};
    Saying saying = {.table = is_netplan ? "" : NULL};
    gboolean adds = FALSE, deletes_or_shows = FALSE;

    for (; *words; words++) {
        adds |= g_strv_contains(adding, *words);
        deletes_or_shows |= g_strv_contains(not_adding, *words);
        if (!words[1])
            break;
        saying.by_address |= g_strv_contains(sources, *words) && is_address_of(words[1], rails, nic);
        saying.by_device |=
            g_str_equal(*words, "dev") && (words[1][0] == '$' || g_str_equal(words[1], nic->link->name));
        saying.by_device |= g_strv_contains(preferred, *words) && is_address_of(words[1], rails, nic);
        if (g_strv_contains(tables, *words) && !g_strv_contains(kernel_tables, words[1]))
            saying.table = words[1];
    }
    /* A line that only deletes or shows adds nothing. A line without any of these verbs is configuration, so it counts
     * as adding. */
    if (deletes_or_shows && !adds)
        saying.table = NULL;
    return saying;
}

/* TRUE if systemd-networkd configures the NIC with this file, or if this file is a drop-in for the NIC's file. FALSE if
 * netplan made the NIC's file: then manager->connection is netplan's name for the NIC, and not the file's name. */
static gboolean is_file_of(const IbhScript *script, const IbhFacts *facts, const IbhNic *nic)
{
    const IbhManager *manager = ibh_facts_manager(facts, nic->link->ifindex);
    g_autofree char *file = NULL, *drop_ins = NULL;

    if (!manager || !manager->connection)
        return FALSE;
    file = g_strconcat(NETWORKD, manager->connection, NULL);
    drop_ins = g_strconcat(file, ".d/", NULL);
    return g_str_equal(script->path, file) || g_str_has_prefix(script->path, drop_ins);
}

typedef struct {
    guint number; /* of the first of the joined lines, from 1 */
    char *text;   /* the joined lines, without line breaks; not owned by the Line */
    GStrv words;
} Line;

static void script_line_clear(gpointer data)
{
    g_strfreev(((Line *)data)->words);
}

/* Removes the comments of a script, splits the rest into lines (Line), and returns the lines. Puts their texts into
 * `ret_texts`, which the caller frees after the last use of the lines. A backslash at the end of a line joins this line
 * and the next. In files of systemd-networkd, each section counts as one line. In netplan's files, "from" below
 * "routing-policy:" is the source of a rule, but "from" below "routes:" is the preferred source of a route; so we
 * replace "from" below "routes:" with "". */
static GArray *split_lines(const IbhScript *script, gboolean is_netplan, GStrv *ret_texts)
{
    /* A comment begins with "#" at the start of a line or after a blank or ";", or with ";" at the start of a line. */
    g_autoptr(GRegex) comment = g_regex_new("(^|[ \t;])#.*|^;.*", G_REGEX_RAW | G_REGEX_MULTILINE, 0, NULL);
    g_autofree char *code = g_regex_replace_literal(comment, script->text, -1, 0, "", 0, NULL);
    const char *end = g_str_has_prefix(script->path, NETWORKD) ? "\n(?=\\[)" : "(?<!\\\\)\n";
    GArray *lines = IBH_NEW_ARRAY(Line);
    gboolean in_routes = FALSE;
    guint number = 1;

    g_array_set_clear_func(lines, script_line_clear);
    *ret_texts = g_regex_split_simple(end, code ? code : "", G_REGEX_RAW, 0);
    for (char **text = *ret_texts; *text; text++, number++) {
        Line line = {.number = number, .text = *text};

        /* Replace each line break, and a backslash before it, with a blank. `number` goes on counting the lines. */
        for (char *at = strchr(*text, '\n'); at; at = strchr(at, '\n'), number++) {
            *at = ' ';
            if (at > *text && at[-1] == '\\')
                at[-1] = ' ';
        }
        line.words = g_regex_split_simple(":?[ \t\r\"'`(){},;|&=\\[\\]]+", line.text, G_REGEX_RAW, 0);
        for (char **word = line.words; is_netplan && *word; word++) {
            /* compare the beginning only: at the end of a line, a key still has its colon */
            in_routes = g_str_has_prefix(*word, "routes") || (in_routes && !g_str_has_prefix(*word, "routing-policy"));
            if (in_routes && g_str_equal(*word, "from"))
                (*word)[0] = '\0';
        }
        g_array_append_val(lines, line);
    }
    return lines;
}

/* Returns the tables to which lines of a script lead an address of a rail, as a set of texts "IFINDEX TABLE": the
 * ifindex of the rail, and Saying.table. The caller frees the set. */
static GHashTable *find_led_tables(const IbhRails *rails, const GArray *lines, gboolean is_netplan)
{
    GHashTable *led = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    IBH_EACH (const Line, line, lines) {
        IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
            Saying saying = {0};

            if (nic->status == IBH_NIC_RAIL)
                saying = read_words(rails, line->words, is_netplan, nic);
            if (saying.table && saying.by_address)
                g_hash_table_add(led, g_strdup_printf("%d %s", nic->link->ifindex, saying.table));
        }
    }
    return led;
}

/* Finds the lines of the script that route a rail, if the user asks about this rail, and asks the rows about each of
 * these lines. All lines of a script share one finding, which quotes the first of them. A line does not count if
 * Saying.table is NULL. Any other line counts if it names an address of the rail as a source. A line with a route
 * through the rail also counts if a foreign rule, or a line of the script, leads an address of the rail to the route's
 * table: a table to which only marks or ports lead is not ib-hook's business. */
void ibh_script_judge(IbhSubject *about, const IbhScript *script)
{
    const IbhCheck *check = about->check;
    g_auto(GStrv) texts = NULL;
    const gboolean is_netplan = strstr(script->text, "routing-policy:") != NULL; /* netplan's key for rules */
    g_autoptr(GArray) lines = split_lines(script, is_netplan, &texts);
    g_autoptr(GHashTable) led = find_led_tables(check->rails, lines, is_netplan);

    IBH_EACH (const Line, line, lines) {
        IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
            g_autofree char *key = NULL;
            gboolean is_led_route; /* a route through the rail, in a table to which an address of the rail is led */
            Saying saying;

            if (nic->status != IBH_NIC_RAIL || !ibh_nic_is_selected(nic, check->only))
                continue;
            saying = read_words(check->rails, line->words, is_netplan, nic);
            if (!saying.table)
                continue;
            key = g_strdup_printf("%d %s", nic->link->ifindex, saying.table);
            /* a [Route] section does not name the device: the file's [Match] does */
            saying.by_device |= g_str_has_prefix(line->text, "[Route]") && is_file_of(script, check->facts, nic);
            is_led_route = saying.by_device &&
                           (g_hash_table_contains(led, key) || has_foreign_rule(check->rails, nic, saying.table));
            if (!saying.by_address && !is_led_route)
                continue;
            about->nic = nic;
            about->iface = nic->link->name;
            ibh_subject_say(about, "path=%s\nnumber=%u\nline=%s", script->path, line->number,
                            script->is_public ? g_strstrip(g_strdelimit(line->text, "\t\r", ' ')) : IBH_NOT_PUBLIC);
            ibh_subject_ask(about, IBH_OF_SCRIPT);
            g_string_truncate(about->words, 0);
        }
    }
}

/* Always TRUE: the caller has found the line. The finding is a warning if ib-hook routes an address of the NIC, too. */
gboolean ibh_script_is_in_force(IbhSubject *about)
{
    if (about->nic->programmed->len)
        about->severity = IBH_WARNING;
    return TRUE;
}
