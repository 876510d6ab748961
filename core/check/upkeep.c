/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What keeps a rail as it is, and what does not: its manager, our hook, scripts that route it by hand.
 */
#include "check/judge.h"

#include <linux/fib_rules.h>
#include <string.h>
#include <sys/socket.h>

/* ---- its manager ---- */

/* Of each manager once, at its first rail. */
static void judge_hook(const IbhCheck *check, const IbhNic *nic, const IbhManager *manager)
{
    IBH_EACH_POINTER (const IbhFinding, finding, check->findings) {
        if (g_str_equal(finding->code, "hook-inactive") && strstr(finding->message, manager->inactive))
            return;
    }
    ibh_tell(check, nic, "hook-inactive", (IbhRemedy){0},
             "ib-hook misses the next event of %s, and --watch does not run: %s", manager->name, manager->inactive);
}

/* Our rules and routes have protocol kernel, which all managers but this one leave alone. */
static void judge_pruning(const IbhCheck *check, const IbhNic *nic, const IbhManager *manager, int family)
{
    char version = family == AF_INET6 ? '6' : '4';
    g_autofree char *connection = ibh_shell_word(manager->connection);

    if (ibh_serves_family(nic, family))
        ibh_tell(
            check, nic, "manager-removes-foreign",
            ibh_advice("nmcli connection modify %s ipv%c.route-table 0, and activate it again", connection, version),
            "this %s removes the routes of table %u each time it configures the NIC, and its traffic takes "
            "another way until that is repaired, because its connection sets ipv%c.route-table (from 1.36 on it "
            "does not)",
            manager->name, nic->table, version);
}

/* ---- scripts: enough of a shell, and of YAML, to find commands in usual files ---- */

/* A variable's value is not known: rules and routes in the kernel decide whether it concerns this rail. */
static gboolean has_traces(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (!ibh_rule_is_ours(rule) && rule->action == FR_ACT_TO_TBL && rule->table != IBH_TABLE_MAIN &&
            rule->table != IBH_TABLE_LOCAL && rule->from.length && ibh_rails_address(rails, nic, &rule->from.ip))
            return TRUE;
    }
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->table == nic->table && route->ifindex == nic->link->ifindex && !ibh_route_is_ours(route))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_of(const char *value, const IbhNic *nic, gboolean traces)
{
    IbhPrefix prefix = {0};

    if (g_str_equal(value, nic->link->name) || (traces && strchr(value, '$')))
        return TRUE;
    if (ibh_ip_parse(value, &prefix.ip))
        prefix.length = ibh_ip_bits(&prefix.ip);
    else if (!ibh_prefix_parse(value, &prefix))
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (prefix.length && ibh_prefix_contains(&prefix, &address->local))
            return TRUE;
    }
    return FALSE;
}

/* Gives one of this rail's addresses, or a route by it, a table. `has_table`: netplan has it in a line of its own. */
static gboolean routes(char *const *words, const IbhNic *nic, gboolean traces, gboolean has_table)
{
    static const char *const names[] = {"from", "from:", "src", "dev", NULL};
    static const char *const tables[] = {"table", "table:", "lookup", NULL};
    static const char *const kernels[] = {"main", "254", "local", "255", NULL};
    static const char *const others[] = {"del", "delete", "show", "list", "flush", "get", NULL};
    gboolean named = FALSE;

    for (; *words; words++) {
        if (g_strv_contains(others, *words))
            return FALSE;
        named |= words[1] && g_strv_contains(names, *words) && is_of(words[1], nic, traces);
        has_table |= words[1] && g_strv_contains(tables, *words) && !g_strv_contains(kernels, words[1]);
    }
    return named && has_table;
}

/* Commands without comments, and without what stands in $(…); a line that goes on in the next has \v there. */
static char *simplify(const char *text)
{
    char *copy = g_strdup(text);
    gboolean comment = FALSE;
    int depth = 0;

    for (char *at = copy; *at; at++) {
        if (depth)
            depth += (*at == '(') - (*at == ')');
        else if (at[0] == '$' && at[1] == '(' && !comment)
            depth = 1, at++;
        else if (*at == '#' && (at == copy || strchr(" \t\n;", at[-1])))
            comment = TRUE;
        if (at[0] == '\n')
            *at = depth ? '\v' : '\n';
        else if (depth || comment)
            *at = ' ';
        else if (at[0] == '\\' && at[1] == '\n')
            *at = ' ', *++at = '\v';
        comment &= *at != '\n';
    }
    return copy;
}

static void judge_command(const IbhCheck *check, const IbhScript *script, const char *command, guint line)
{
    g_auto(GStrv) words = g_regex_split_simple("[ \t\r\v\"'(){},\\[\\]]+", command, 0, 0);
    g_autofree char *text = g_strjoinv(" ", words);

    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        IbhFinding *finding;

        if (nic->status != IBH_NIC_RAIL || !ibh_is_selected(nic, check->only) ||
            !routes(words, nic, strchr(text, '$') && has_traces(check->rails, nic),
                    strstr(script->text, "routing-policy:") != NULL))
            continue;
        finding = ibh_finding_of(check->findings, "legacy-script", script->path, nic->link->name);
        if (!finding->message)
            finding->message = g_strdup_printf("%s routes it by hand, and follows no change: line %u: %s", script->path,
                                               line, g_strstrip(text));
    }
}

static void judge_script(const IbhCheck *check, const IbhScript *script)
{
    g_autofree char *text = simplify(script->text);
    guint line = 1;

    for (char *at = text, *next; at; at = next) {
        guint first = line;
        char end;

        next = at + strcspn(at, ";&|`\n");
        end = *next;
        *next = '\0';
        if (strstr(at, "table") || strstr(at, "lookup") || strstr(at, "from"))
            judge_command(check, script, at, first);
        for (; *at; at++)
            line += *at == '\v';
        line += end == '\n';
        next = end ? next + 1 : NULL;
    }
}

void ibh_judge_manager(const IbhCheck *check, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(check->rails->snapshot, nic->link->ifindex);

    if (manager && manager->inactive)
        judge_hook(check, nic, manager);
    if (manager && manager->connection && manager->prunes4)
        judge_pruning(check, nic, manager, AF_INET);
    if (manager && manager->connection && manager->prunes6)
        judge_pruning(check, nic, manager, AF_INET6);
}

void ibh_judge_scripts(const IbhCheck *check)
{
    IBH_EACH_POINTER (const IbhScript, script, check->rails->snapshot->scripts)
        judge_script(check, script);
}
