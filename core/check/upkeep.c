/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What keeps a rail as it is, and what does not: its manager, our hook, scripts that route it by hand.
 */
#include "check/rows.h"

#include <string.h>
#include <sys/socket.h>

/* ---- by which way does an event reach us? ---- */

/* Returns the manager of a rail that the user asks about; NULL for other NICs, or if the manager is not known. */
static const IbhManager *find_rail_manager(const IbhCheck *check, const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL && ibh_nic_is_selected(nic, check->only)
               ? ibh_facts_manager(check->facts, nic->link->ifindex)
               : NULL;
}

static gboolean has_way_of_a_manager(const IbhCheck *check)
{
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        const IbhManager *manager = find_rail_manager(check, nic);

        if (manager && !manager->inactive)
            return TRUE;
    }
    return FALSE;
}

/* Packets go right until the next event, so this finding is about the host, not about the NIC. */
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
    if (watched || check->facts->will_watch || manager->will_start ||
        (manager->by_choice && has_way_of_a_manager(check)))
        about->severity = IBH_INFO;
    return TRUE;
}

/* ---- its manager ---- */

/* Our rules and routes have protocol kernel, which all managers but this one leave alone. */
gboolean ibh_manager_prunes(IbhSubject *about)
{
    const IbhNic *nic = about->nic;
    const IbhManager *manager = ibh_facts_manager(about->check->facts, nic->link->ifindex);
    const gboolean four = manager && manager->prunes4 && ibh_nic_serves_family(nic, AF_INET),
                   six = manager && manager->prunes6 && ibh_nic_serves_family(nic, AF_INET6);
    g_autofree char *connection = NULL;

    if (!(four || six) || !manager->connection)
        return FALSE;
    connection = ibh_text_shell_word(manager->connection);
    ibh_subject_say(about, "manager=%s\ntable=%u\nconnection=%s%s%s", manager->name, nic->table, connection,
                    four ? " ipv4.route-table 0" : "", six ? " ipv6.route-table 0" : "");
    return TRUE;
}

/* ---- scripts: lines that lead a rail's address to a table, and routes by the rail in such a table ---- */

#define NETWORKD "/etc/systemd/network/"

static gboolean contains_one_of(const IbhPrefix *prefix, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (prefix->length && ibh_prefix_contains(prefix, &address->local))
            return TRUE;
    }
    return FALSE;
}

/* In the kernel, a rule of others leads an address of this rail to this table. A name's or a variable's number is not
 * known. */
static gboolean has_rule(const IbhRails *rails, const IbhNic *nic, const char *table)
{
    char *end;
    const guint64 number = g_ascii_strtoull(table, &end, 0);

    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_of_a_source(rule) && contains_one_of(&rule->from, nic) &&
            (end == table || *end || number == rule->table))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if the value of a selector is an address of this rail. The value of a shell variable is not known, so rules in
 * the kernel decide. */
static gboolean is_address_of(const char *value, const IbhRails *rails, const IbhNic *nic)
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

/* What a line says of a NIC. */
typedef struct {
    gboolean by_address, by_device;
    const char *table; /* NULL: none that it gives anything */
} Saying;

/* netplan has the table in a line of its own. */
static Saying read_words(const IbhRails *rails, char *const *words, gboolean is_netplan, const IbhNic *nic)
{
    static const char *const
        sources[] = {"from", "src", "From", "PreferredSource", NULL},
        *const tables[] = {"table", "lookup", "Table", NULL}, *const kernels[] = {"main", "254", "local", "255", NULL},
        *const gives[] = {"add", "a", "append", "replace", "change", NULL}, *const takes[] = {"del",  "delete", "show",
                                                                                              "list", "flush",  "get",
                                                                                              NULL};
    Saying saying = {.table = is_netplan ? "" : NULL};
    gboolean given = FALSE, taken = FALSE;

    for (; *words; words++) {
        given |= g_strv_contains(gives, *words);
        taken |= g_strv_contains(takes, *words);
        if (!words[1])
            break;
        saying.by_address |= g_strv_contains(sources, *words) && is_address_of(words[1], rails, nic);
        saying.by_device |=
            g_str_equal(*words, "dev") && (words[1][0] == '$' || g_str_equal(words[1], nic->link->name));
        if (g_strv_contains(tables, *words) && !g_strv_contains(kernels, words[1]))
            saying.table = words[1];
    }
    if (taken && !given)
        saying.table = NULL;
    return saying;
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

static void script_line_clear(gpointer data)
{
    g_strfreev(((Line *)data)->words);
}

/* Without its comments. A line goes on behind a backslash; in a file of systemd-networkd, a section counts as a line.
 */
static GArray *split_lines(const IbhScript *script, GStrv *ret_texts)
{
    g_autoptr(GRegex) comment = g_regex_new("(^|[ \t;])#.*|^;.*", G_REGEX_RAW | G_REGEX_MULTILINE, 0, NULL);
    g_autofree char *code = g_regex_replace_literal(comment, script->text, -1, 0, "", 0, NULL);
    const char *end = g_str_has_prefix(script->path, NETWORKD) ? "\n(?=\\[)" : "(?<!\\\\)\n";
    GArray *lines = IBH_NEW_ARRAY(Line);
    guint number = 1;

    g_array_set_clear_func(lines, script_line_clear);
    *ret_texts = g_regex_split_simple(end, code ? code : "", G_REGEX_RAW, 0);
    for (char **text = *ret_texts; *text; text++, number++) {
        Line line = {.number = number, .text = *text};

        for (char *at = *text; (at = strchr(at, '\n')); number++) {
            *at = ' ';
            if (at > *text && at[-1] == '\\')
                at[-1] = ' ';
        }
        line.words = g_regex_split_simple(":?[ \t\r\"'`(){},;|&=\\[\\]]+", line.text, G_REGEX_RAW, 0);
        g_array_append_val(lines, line);
    }
    return lines;
}

/* A table counts if a rule of others, or a line of the script, leads an address of the NIC there: marks or ports may
 * lead to a table whose route is by a rail, and ib-hook does nothing of the kind. So the lines are read twice. */
void ibh_script_judge(IbhSubject *about, const IbhScript *script)
{
    const IbhCheck *check = about->check;
    g_autoptr(GHashTable) led = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL); /* "IFINDEX TABLE" */
    g_auto(GStrv) texts = NULL;
    g_autoptr(GArray) lines = split_lines(script, &texts);
    const gboolean is_netplan = strstr(script->text, "routing-policy:") != NULL;

    for (int judges = FALSE; judges <= TRUE; judges++) {
        IBH_EACH (const Line, line, lines) {
            IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
                g_autofree char *key = NULL;
                Saying saying = {0};

                if (nic->status == IBH_NIC_RAIL)
                    saying = read_words(check->rails, line->words, is_netplan, nic);
                if (!saying.table)
                    continue;
                key = g_strdup_printf("%d %s", nic->link->ifindex, saying.table);
                if (!judges && saying.by_address)
                    g_hash_table_add(led, g_steal_pointer(&key));
                if (!judges || !ibh_nic_is_selected(nic, check->only))
                    continue;
                saying.by_device |= g_str_has_prefix(line->text, "[Route]") && is_file_of(script, check->facts, nic);
                if (!saying.by_address && !(saying.by_device && (g_hash_table_contains(led, key) ||
                                                                 has_rule(check->rails, nic, saying.table))))
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
}

gboolean ibh_script_is_in_force(IbhSubject *about)
{
    if (about->nic->programmed->len)
        about->severity = IBH_WARNING;
    return TRUE;
}
