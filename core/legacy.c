#include "legacy.h"

#include "operation.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>

/* ---- what stands in the kernel ---- */

/* A plain rule for one address of this NIC, of somebody else. */
static gboolean is_rule_beside(const IbhRails *rails, const IbhNic *nic, const IbhRule *rule)
{
    return !ibh_rule_is_ours(rule) && rule->action == FR_ACT_TO_TBL && !rule->selectors && rule->from.length &&
           rule->from.length == ibh_ip_bits(&rule->from.ip) && rule->table != IBH_TABLE_MAIN &&
           rule->table != IBH_TABLE_LOCAL && ibh_rails_has_address(rails, nic, &rule->from.ip);
}

static void add_command(GPtrArray *commands, IbhOp *op, const IbhNic *nic)
{
    g_strlcpy(op->iface, nic->link->name, sizeof op->iface);
    g_ptr_array_add(commands, ibh_op_command(op));
}

/* Somebody else's routes by this NIC: in its own table, and in that of the rule. */
static void delete_routes(GPtrArray *commands, const IbhRails *rails, const IbhNic *nic, guint32 table)
{
    const GArray *routes = rails->snapshot->routes;

    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *route = &g_array_index(routes, IbhRoute, i);
        IbhOp op = {.type = IBH_OP_ROUTE_DEL, .route = *route};

        if (route->table == table && route->ifindex == nic->link->ifindex && !ibh_route_is_ours(route) &&
            route->type == RTN_UNICAST && route->nexthops <= 1)
            add_command(commands, &op, nic);
    }
}

static void add_once(GArray *tables, guint32 table)
{
    for (guint i = 0; i < tables->len; i++) {
        if (g_array_index(tables, guint32, i) == table)
            return;
    }
    g_array_append_val(tables, table);
}

/* Rules before their routes. */
static GPtrArray *list_deletions(const IbhRails *rails, const IbhNic *nic)
{
    GPtrArray *commands = g_ptr_array_new_with_free_func(g_free);
    const GArray *rules = rails->snapshot->rules;
    g_autoptr(GArray) tables = g_array_new(FALSE, FALSE, sizeof(guint32));

    g_array_append_val(tables, nic->table);
    for (guint i = 0; i < rules->len; i++) {
        const IbhRule *rule = &g_array_index(rules, IbhRule, i);
        IbhOp op = {.type = IBH_OP_RULE_DEL, .rule = *rule};

        if (!is_rule_beside(rails, nic, rule))
            continue;
        add_command(commands, &op, nic);
        add_once(tables, rule->table);
    }
    for (guint i = 0; i < tables->len; i++)
        delete_routes(commands, rails, nic, g_array_index(tables, guint32, i));
    return commands;
}

/* ---- commands in a text ---- */

/* From `$(` to its end; to that of the text where it has none. */
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

/* Words, and "\n" between commands: enough of a shell to find `ip` in what people write. What a command puts in is a
 * variable, too. */
static GPtrArray *split_words(const char *text)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) word = g_string_new(NULL);

    for (const char *at = text;; at++) {
        gboolean ends = *at == '\0' || strchr(";&|()`\n", *at) != NULL;

        if (at[0] == '\\' && at[1] == '\n') {
            at++;
            continue;
        }
        if (*at == '#' && !word->len) {
            at += strcspn(at, "\n");
            ends = TRUE;
        }
        if (!ends && !g_ascii_isspace(*at)) {
            if (*at != '"' && *at != '\'')
                g_string_append_c(word, *at);
            if (at[0] == '$' && at[1] == '(')
                at = skip_substitution(at);
            continue;
        }
        if (word->len)
            g_ptr_array_add(words, g_strdup(word->str));
        g_string_truncate(word, 0);
        if (ends)
            g_ptr_array_add(words, g_strdup("\n"));
        if (*at == '\0')
            return words;
    }
}

static const char *word_at(const GPtrArray *words, guint at)
{
    return at < words->len ? g_ptr_array_index(words, at) : "\n";
}

static gboolean is_ip(const char *word)
{
    const char *slash = strrchr(word, '/');

    return g_str_equal(slash ? slash + 1 : word, "ip");
}

/* iproute2 takes the beginning of a word for the word: `ip ru a`. */
static gboolean is_short_for(const char *word, const char *whole, guint least)
{
    return strlen(word) >= least && g_str_has_prefix(whole, word);
}

/* What stands after this word in the command that begins at `at`; NULL: nothing. */
static const char *argument(const GPtrArray *words, guint at, const char *name)
{
    for (; !g_str_equal(word_at(words, at), "\n") && !is_ip(word_at(words, at)); at++) {
        const char *value = word_at(words, at + 1);

        if (g_str_equal(word_at(words, at), name))
            return g_str_equal(value, "\n") ? NULL : value;
    }
    return NULL;
}

static gboolean has_table(const GPtrArray *words, guint at)
{
    const char *table = argument(words, at, "table");

    table = table ? table : argument(words, at, "lookup");
    return table && !g_str_equal(table, "main") && !g_str_equal(table, "254") && !g_str_equal(table, "local") &&
           !g_str_equal(table, "255");
}

/* A variable's value is not known: then what stands in the kernel decides whether it concerns this rail. */
static gboolean is_variable(const char *word, gboolean has_traces)
{
    return has_traces && strchr(word, '$');
}

static gboolean is_address_of(const char *word, const IbhRails *rails, const IbhNic *nic)
{
    const GArray *addresses = rails->snapshot->addresses;
    gboolean host = !strchr(word, '/');
    IbhPrefix from = {0};

    if (host ? !ibh_ip_parse(word, &from.ip) : !ibh_prefix_parse(word, &from))
        return FALSE;
    if (host)
        from = ibh_prefix(&from.ip, ibh_ip_bits(&from.ip));
    for (guint i = 0; from.length && i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);

        if (ibh_nic_serves(nic, address) && ibh_prefix_contains(&from, &address->local))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_rule_for(const GPtrArray *words, guint at, const IbhRails *rails, const IbhNic *nic, gboolean traces)
{
    const char *from = argument(words, at, "from");

    return from && has_table(words, at) && (is_address_of(from, rails, nic) || is_variable(from, traces));
}

static gboolean is_route_for(const GPtrArray *words, guint at, const IbhNic *nic, gboolean traces)
{
    const char *dev = argument(words, at, "dev");

    return dev && has_table(words, at) && (g_str_equal(dev, nic->link->name) || is_variable(dev, traces));
}

/* `at` is that of `ip`. */
static gboolean is_command_for(const GPtrArray *words, guint at, const IbhRails *rails, const IbhNic *nic,
                               gboolean traces)
{
    static const char *const adds[] = {"add", "append", "change", "prepend", "replace"};
    gboolean adds_it = FALSE;
    const char *object;

    for (at++; word_at(words, at)[0] == '-'; at++)
        ;
    object = word_at(words, at);
    for (guint i = 0; i < G_N_ELEMENTS(adds); i++)
        adds_it |= is_short_for(word_at(words, at + 1), adds[i], 1);
    if (!adds_it)
        return FALSE;
    return (is_short_for(object, "rule", 2) && is_rule_for(words, at + 2, rails, nic, traces)) ||
           (is_short_for(object, "route", 1) && is_route_for(words, at + 2, nic, traces));
}

/* From `at` to the end of the command. */
static char *join_command(const GPtrArray *words, guint at)
{
    GString *text = g_string_new(word_at(words, at));

    for (at++; !g_str_equal(word_at(words, at), "\n") && !is_ip(word_at(words, at)); at++)
        g_string_append_printf(text, " %s", word_at(words, at));
    return g_string_free(text, FALSE);
}

static char *find_in_shell(const char *text, const IbhRails *rails, const IbhNic *nic, gboolean traces)
{
    g_autoptr(GPtrArray) words = split_words(text);

    for (guint at = 0; at < words->len; at++) {
        if (is_ip(word_at(words, at)) && is_command_for(words, at, rails, nic, traces))
            return join_command(words, at);
    }
    return NULL;
}

/* Of rule-ib0 and route-ib0 each line is the end of a command, which need not say the device. */
static char *find_in_lines(const IbhScript *script, const char *start, const IbhRails *rails, const IbhNic *nic)
{
    g_auto(GStrv) lines = g_strsplit(script->text, "\n", -1);
    const char *dash = strchr(strrchr(script->path, '/'), '-');
    gboolean named = dash && g_str_equal(dash + 1, nic->link->name);

    for (char **line = lines; *line; line++) {
        g_autofree char *command = g_strjoin(" ", start, *line, named ? "dev" : NULL, nic->link->name, NULL);
        char *found = find_in_shell(command, rails, nic, FALSE);

        if (found)
            return found;
    }
    return NULL;
}

/* YAML in as many forms as people write it: only the address after `from:` in a file with a routing-policy counts. */
static char *find_in_netplan(const char *text, const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_auto(GStrv) parts = g_strsplit_set(text, " \t\n,{}[]\"'", -1);

    for (char **part = parts; *part; part++) {
        if (**part)
            g_ptr_array_add(words, *part);
    }
    for (guint i = 0; strstr(text, "routing-policy:") && i + 1 < words->len; i++) {
        const char *address = word_at(words, i + 1);

        if (g_str_equal(word_at(words, i), "from:") && is_address_of(address, rails, nic))
            return g_strdup_printf("routing-policy: from: %s", address);
    }
    return NULL;
}

char *ibh_legacy_command(const IbhScript *script, const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GPtrArray) traces = list_deletions(rails, nic);

    switch (script->kind) {
    case IBH_SCRIPT_SHELL:
    case IBH_SCRIPT_STANZAS:
        return find_in_shell(script->text, rails, nic, traces->len > 0);
    case IBH_SCRIPT_RULES:
        return find_in_lines(script, "ip rule add", rails, nic);
    case IBH_SCRIPT_ROUTES:
        return find_in_lines(script, "ip route add", rails, nic);
    case IBH_SCRIPT_NETPLAN:
        return find_in_netplan(script->text, rails, nic);
    }
    g_assert_not_reached();
}

/* A delete that names no mark may take one of ours with it: --apply comes last. */
char *ibh_legacy_fix(const IbhScript *script, const IbhRails *rails, const IbhNic *nic, const char *command,
                     gboolean deletes)
{
    gboolean whole = script->kind != IBH_SCRIPT_STANZAS && script->kind != IBH_SCRIPT_NETPLAN;
    g_autoptr(GPtrArray) deletions = list_deletions(rails, nic);
    g_autofree char *path = ibh_shell_word(script->path);
    g_autoptr(GString) fix = g_string_new(NULL);

    if (whole)
        g_string_append_printf(fix, "rm -f %s; ", path);
    for (guint i = 0; deletes && i < deletions->len; i++)
        g_string_append_printf(fix, "%s; ", (const char *)g_ptr_array_index(deletions, i));
    g_string_append(fix, "ib-hook --apply");
    if (!whole)
        g_string_append_printf(fix, " # and take \"%s\" out of %s", command, script->path);
    return g_string_free(g_steal_pointer(&fix), FALSE);
}
