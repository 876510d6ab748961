/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/scripts.h"

#include <linux/fib_rules.h>
#include <string.h>

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

/* ---- commands: enough of a shell, and of YAML, to find them in usual files ---- */

/* From `$(` to its end, or to the end of the text. */
static const char *skip_substitution(const char *at)
{
    int depth = 0;

    for (at++; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (!depth)
            return at;
    }
    return at - 1;
}

/* The words of the command at `at`, where the next one begins, and the line of its end. */
static const char *split_command(const char *at, GPtrArray *words, guint *line)
{
    g_autoptr(GString) word = g_string_new(NULL);

    g_ptr_array_set_size(words, 0);
    for (;; at++) {
        gboolean ends = *at == '\0' || strchr(";&|`\n", *at);

        if (at[0] == '\\' && at[1] == '\n') {
            (*line)++;
            at++;
            continue;
        }
        if (*at == '#' && !word->len)
            ends = *(at += strcspn(at, "\n")) == '\0' || *at == '\n';
        if (!ends && !strchr(" \t\r\"'(){},[]", *at)) {
            g_string_append_c(word, *at);
            at = at[0] == '$' && at[1] == '(' ? skip_substitution(at) : at;
            continue;
        }
        if (word->len)
            g_ptr_array_add(words, g_strdup(word->str));
        g_string_truncate(word, 0);
        if (ends) {
            *line += *at == '\n';
            return *at ? at + 1 : NULL;
        }
    }
}

/* ---- what it is about ---- */

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

/* `has_table`: netplan has it in a line of its own. */
static gboolean is_about(const GPtrArray *words, const IbhNic *nic, gboolean traces, gboolean has_table)
{
    static const char *const names[] = {"from", "from:", "src", "dev", NULL};
    static const char *const tables[] = {"table", "table:", "lookup", NULL};
    static const char *const kernels[] = {"main", "254", "local", "255", NULL};
    static const char *const others[] = {"del", "delete", "show", "list", "flush", "get", NULL};
    gboolean named = FALSE;

    for (guint i = 0; i < words->len; i++) {
        const char *word = g_ptr_array_index(words, i);
        const char *value = i + 1 < words->len ? g_ptr_array_index(words, i + 1) : NULL;

        if (g_strv_contains(others, word))
            return FALSE;
        named = named || (value && g_strv_contains(names, word) && is_of(value, nic, traces));
        has_table = has_table || (value && g_strv_contains(tables, word) && !g_strv_contains(kernels, value));
    }
    return named && has_table;
}

char *ibh_script_command(const IbhScript *script, const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    gboolean traces = has_traces(rails, nic), policy = strstr(script->text, "routing-policy:") != NULL;
    guint line = 1;

    for (const char *at = script->text; at;) {
        guint first = line;

        at = split_command(at, words, &line);
        if (is_about(words, nic, traces, policy)) {
            g_ptr_array_add(words, NULL);
            g_autofree char *command = g_strjoinv(" ", (char **)words->pdata);

            return g_strdup_printf("line %u: %s", first, command);
        }
    }
    return NULL;
}
