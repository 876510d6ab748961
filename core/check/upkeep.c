/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What keeps a rail as it is, and what does not: its manager, our hook, scripts that route it by hand.
 */
#include "check/check.h"

#include <string.h>
#include <sys/socket.h>

/* ---- its manager ---- */

static void judge_hook(const IbhCheck *check, const IbhNic *nic, const IbhManager *manager)
{
    static const char enable[] = "enable it, or ib-hook-watch.service, if ib-hook is to follow changes";

    ibh_check_tell(
        check, nic, "hook-inactive", manager->inactive, manager->by_choice ? ibh_remedy_advice(enable) : (IbhRemedy){0},
        "ib-hook misses the next event of %s, and --watch does not run: %s", manager->name, manager->inactive)
        ->severity = manager->by_choice ? IBH_INFO : IBH_WARNING;
}

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

/* ---- scripts: lines that give a rail's address, or a route by the rail, a table ---- */

#define NETWORKD "/etc/systemd/network/"

/* A variable's value is not known: rules in the kernel decide whether it concerns this rail. */
static gboolean has_rule(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_of_a_source(rule) && ibh_rails_address(rails, nic, &rule->from.ip))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_of(const char *value, const IbhRails *rails, const IbhNic *nic)
{
    IbhPrefix prefix = {0};

    if (g_str_equal(value, nic->link->name) || (value[0] == '$' && has_rule(rails, nic)))
        return TRUE;
    if (ibh_ip_parse(value, &prefix.ip))
        prefix.length = ibh_ip_bits(&prefix.ip);
    else if (!ibh_prefix_parse(value, &prefix))
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (prefix.length && ibh_prefix_contains(&prefix, &address->local))
            return TRUE;
    }
    return FALSE;
}

/* `named`: the file is this NIC's. `has_table`: netplan has it in a line of its own. */
static gboolean routes(char *const *words, const IbhRails *rails, const IbhNic *nic, gboolean named, gboolean has_table)
{
    static const char *const
        names[] = {"from", "src", "dev", "From", "PreferredSource", NULL},
        *const tables[] = {"table", "lookup", "Table", NULL}, *const kernels[] = {"main", "254", "local", "255", NULL},
        *const gives[] = {"add", "a", "append", "replace", "change", NULL}, *const takes[] = {"del",  "delete", "show",
                                                                                              "list", "flush",  "get",
                                                                                              NULL};
    gboolean given = FALSE, taken = FALSE;

    for (; *words; words++) {
        given |= g_strv_contains(gives, *words);
        taken |= g_strv_contains(takes, *words);
        named |= words[1] && g_strv_contains(names, *words) && is_of(words[1], rails, nic);
        has_table |= words[1] && g_strv_contains(tables, *words) && !g_strv_contains(kernels, words[1]);
    }
    return named && has_table && (given || !taken);
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

static void judge_line(const IbhCheck *check, const IbhScript *script, gboolean netplan, char *text, guint line)
{
    g_auto(GStrv) words = g_regex_split_simple(":?[ \t\r\"'`(){},;|&=\\[\\]]+", text, G_REGEX_RAW, 0);
    gboolean is_route = g_str_has_prefix(text, "[Route]");

    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        IbhFinding *finding;

        if (nic->status != IBH_NIC_RAIL || !ibh_nic_is_selected(nic, check->only) ||
            !routes(words, check->rails, nic, is_route && is_file_of(script, check->facts, nic), netplan))
            continue;
        finding = ibh_check_tell(
            check, nic, "legacy-script", script->path, (IbhRemedy){0},
            "%s sets fixed routes for this NIC, and does not follow changes of addresses: line %u: %s", script->path,
            line, script->is_public ? g_strstrip(g_strdelimit(text, "\t\r", ' ')) : IBH_NOT_PUBLIC);
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

/* Without its comments. A line goes on behind a backslash; in a file of systemd-networkd, a section counts as a line.
 */
static void judge_script(const IbhCheck *check, const IbhScript *script)
{
    g_autoptr(GRegex) comment = g_regex_new("(^|[ \t;])#.*|^;.*", G_REGEX_RAW | G_REGEX_MULTILINE, 0, NULL);
    g_autofree char *code = g_regex_replace_literal(comment, script->text, -1, 0, "", 0, NULL);
    gboolean netplan = strstr(script->text, "routing-policy:") != NULL;
    const char *end = g_str_has_prefix(script->path, NETWORKD) ? "\n(?=\\[)" : "(?<!\\\\)\n";
    g_auto(GStrv) lines = g_regex_split_simple(end, code ? code : "", G_REGEX_RAW, 0);

    for (guint i = 0, number = 1; lines[i]; i++, number++) {
        guint first = number;

        number += join_lines(lines[i]);
        judge_line(check, script, netplan, lines[i], first);
    }
}

void ibh_check_judge_manager(const IbhCheck *check, const IbhNic *nic)
{
    const IbhManager *manager = ibh_facts_manager(check->facts, nic->link->ifindex);

    if (manager && manager->inactive)
        judge_hook(check, nic, manager);
    if (manager)
        judge_pruning(check, nic, manager);
}

void ibh_check_judge_scripts(const IbhCheck *check)
{
    IBH_EACH (const IbhScript, script, check->facts->scripts)
        judge_script(check, script);
}
