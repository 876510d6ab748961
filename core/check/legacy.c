/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/legacy.h"

#include "model/operation.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>

/* ---- rules and routes in the kernel ---- */

/* A plain foreign rule for one address of this NIC. */
static gboolean is_rule_beside(const IbhRails *rails, const IbhNic *nic, const IbhRule *rule)
{
    return !ibh_rule_is_ours(rule) && rule->action == FR_ACT_TO_TBL && !rule->selectors && rule->from.length &&
           rule->from.length == ibh_ip_bits(&rule->from.ip) && rule->table != IBH_TABLE_MAIN &&
           rule->table != IBH_TABLE_LOCAL && ibh_rails_has_address(rails, nic, &rule->from.ip);
}

/* Once: a table that a rule leads to and that is the NIC's own was read twice, and a second deletion could hit our
 * route. */
static void add_command(GPtrArray *commands, IbhOp *op, const IbhNic *nic)
{
    g_autofree char *command = NULL;

    g_strlcpy(op->iface, nic->link->name, sizeof op->iface);
    command = ibh_op_command(op);
    if (!g_ptr_array_find_with_equal_func(commands, command, g_str_equal, NULL))
        g_ptr_array_add(commands, g_steal_pointer(&command));
}

/* Deletes foreign routes by this NIC: in its own table, and in the rule's. */
static void delete_routes(GPtrArray *commands, const IbhRails *rails, const IbhNic *nic, guint32 table)
{
    const GArray *routes = rails->snapshot->routes;

    IBH_EACH (const IbhRoute, route, routes) {
        IbhOp op = {.type = IBH_OP_ROUTE_DEL, .route = *route};

        if (route->table == table && route->ifindex == nic->link->ifindex && !ibh_route_is_ours(route) &&
            route->type == RTN_UNICAST && route->nexthops <= 1)
            add_command(commands, &op, nic);
    }
}

static void add_once(GArray *tables, guint32 table)
{
    IBH_EACH (const guint32, known, tables) {
        if (*known == table)
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
    IBH_EACH (const IbhRule, rule, rules) {
        IbhOp op = {.type = IBH_OP_RULE_DEL, .rule = *rule};

        if (!is_rule_beside(rails, nic, rule))
            continue;
        add_command(commands, &op, nic);
        add_once(tables, rule->table);
    }
    IBH_EACH (const guint32, table, tables)
        delete_routes(commands, rails, nic, *table);
    return commands;
}

/* ---- commands in a text ---- */

/* From `$(` to its end; without an end, to the end of the text. */
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

/* Words, and "\n" between commands: enough of a shell to find `ip` in usual scripts. Text in quotes is searched like
 * other text. The output of a command counts as a variable. */
static GPtrArray *split_words(const char *text)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) word = g_string_new(NULL);

    for (const char *at = text;; at++) {
        gboolean ends = *at == '\0' || strchr(";&|()`\n", *at);

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

static gboolean is_end(const char *word)
{
    return *word == '\n';
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

/* The word after this one in the command that begins at `at`; NULL: none. */
static const char *argument(const GPtrArray *words, guint at, const char *name)
{
    for (; !is_end(word_at(words, at)) && !is_ip(word_at(words, at)); at++) {
        const char *value = word_at(words, at + 1);

        if (g_str_equal(word_at(words, at), name))
            return is_end(value) ? NULL : value;
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

/* A variable's value is not known: then rules and routes in the kernel decide whether it concerns this rail. */
static gboolean is_variable(const char *word, gboolean has_traces)
{
    return has_traces && strchr(word, '$');
}

static gboolean is_address_of(const char *word, const IbhNic *nic)
{
    gboolean host = !strchr(word, '/');
    IbhPrefix from = {0};

    if (host ? !ibh_ip_parse(word, &from.ip) : !ibh_prefix_parse(word, &from))
        return FALSE;
    if (host)
        from = ibh_prefix(&from.ip, ibh_ip_bits(&from.ip));
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (from.length && ibh_prefix_contains(&from, &address->local))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_rule_for(const GPtrArray *words, guint at, const IbhNic *nic, gboolean traces)
{
    const char *from = argument(words, at, "from");

    return from && has_table(words, at) && (is_address_of(from, nic) || is_variable(from, traces));
}

static gboolean is_route_for(const GPtrArray *words, guint at, const IbhNic *nic, gboolean traces)
{
    const char *dev = argument(words, at, "dev");

    return dev && has_table(words, at) && (g_str_equal(dev, nic->link->name) || is_variable(dev, traces));
}

/* The index of the object (rule, route) of the command whose `ip` is at `at`. Its verb follows. */
static guint object_at(const GPtrArray *words, guint at)
{
    for (at++; word_at(words, at)[0] == '-'; at++)
        ;
    return at;
}

static gboolean is_command_for(const GPtrArray *words, guint at, const IbhNic *nic, gboolean traces)
{
    static const char *const adds[] = {"add", "append", "change", "prepend", "replace"};
    gboolean adds_it = FALSE;
    const char *object;

    at = object_at(words, at);
    object = word_at(words, at);
    for (guint i = 0; i < G_N_ELEMENTS(adds); i++)
        adds_it |= is_short_for(word_at(words, at + 1), adds[i], 1);
    if (!adds_it)
        return FALSE;
    return (is_short_for(object, "rule", 2) && is_rule_for(words, at + 2, nic, traces)) ||
           (is_short_for(object, "route", 1) && is_route_for(words, at + 2, nic, traces));
}

/* From `at` to the end of the command. The caller frees it. */
static char *join_command(const GPtrArray *words, guint at)
{
    GString *text = g_string_new(word_at(words, at));

    for (at++; !is_end(word_at(words, at)) && !is_ip(word_at(words, at)); at++)
        g_string_append_printf(text, " %s", word_at(words, at));
    return g_string_free(text, FALSE);
}

static char *find_in_shell(const char *text, const IbhNic *nic, gboolean traces)
{
    g_autoptr(GPtrArray) words = split_words(text);

    for (guint at = 0; at < words->len; at++) {
        if (is_ip(word_at(words, at)) && is_command_for(words, at, nic, traces))
            return join_command(words, at);
    }
    return NULL;
}

/* Each line of rule-ib0 and route-ib0 is the end of a command, which need not name the device. */
static char *find_in_line(const IbhScript *script, const char *line, const IbhNic *nic)
{
    const char *start = script->kind == IBH_SCRIPT_RULES ? "ip rule add" : "ip route add";
    const char *dash = strchr(strrchr(script->path, '/'), '-');
    gboolean named = dash && g_str_equal(dash + 1, nic->link->name);
    g_autofree char *command = g_strjoin(" ", start, line, named ? "dev" : NULL, nic->link->name, NULL);

    return find_in_shell(command, nic, FALSE);
}

static char *find_in_lines(const IbhScript *script, const IbhNic *nic)
{
    g_auto(GStrv) lines = g_strsplit(script->text, "\n", -1);

    for (char **line = lines; *line; line++) {
        char *found = find_in_line(script, *line, nic);

        if (found)
            return found;
    }
    return NULL;
}

/* YAML in as many forms as people write it: only the address after `from:` in a file with a routing-policy counts. */
static char *find_in_netplan(const char *text, const IbhNic *nic)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_auto(GStrv) parts = g_strsplit_set(text, " \t\n,{}[]\"'", -1);

    for (char **part = parts; *part; part++) {
        if (**part)
            g_ptr_array_add(words, *part);
    }
    for (guint i = 0; strstr(text, "routing-policy:") && i + 1 < words->len; i++) {
        const char *address = word_at(words, i + 1);

        if (g_str_equal(word_at(words, i), "from:") && is_address_of(address, nic))
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
        return find_in_shell(script->text, nic, traces->len > 0);
    case IBH_SCRIPT_RULES:
    case IBH_SCRIPT_ROUTES:
        return find_in_lines(script, nic);
    case IBH_SCRIPT_NETPLAN:
        return find_in_netplan(script->text, nic);
    }
    g_assert_not_reached();
}

/* ---- other contents of the file ---- */

static gboolean is_line_for_rails(const IbhScript *script, const char *line, const IbhRails *rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        g_autofree char *command = nic->status == IBH_NIC_RAIL ? find_in_line(script, line, nic) : NULL;

        if (command)
            return TRUE;
    }
    return FALSE;
}

/* The first line that does not concern rails. `ours`: the lines that do, as arguments of grep. */
static char *find_other_line(const IbhScript *script, const IbhRails *rails, GString *ours)
{
    g_auto(GStrv) lines = g_strsplit(script->text, "\n", -1);
    char *other = NULL;

    for (char **line = lines; *line; line++) {
        const char *start = *line + strspn(*line, " \t\r");
        g_autofree char *word = ibh_shell_word(*line);

        if (!*start || *start == '#')
            continue;
        if (is_line_for_rails(script, *line, rails))
            g_string_append_printf(ours, " -e %s", word);
        else if (!other)
            other = g_strdup(start);
    }
    return other;
}

char *ibh_legacy_caution(const IbhScript *script, const IbhRails *rails)
{
    g_autoptr(GString) ours = g_string_new(NULL);
    g_autofree char *other = NULL;

    if (script->kind == IBH_SCRIPT_SHELL)
        return g_strdup("look at it first, it may do other things, too");
    if (script->kind == IBH_SCRIPT_RULES || script->kind == IBH_SCRIPT_ROUTES)
        other = find_other_line(script, rails, ours);
    return other ? g_strdup_printf("look at it first, it does other things, too (%s)", other) : NULL;
}

/* ---- the fix ---- */

/* No program runs or reads files below this directory, and no package owns it. */
#define REPLACED "/var/lib/ib-hook/replaced"

/* An unused name: files that were moved there before stay. */
static char *make_room(const IbhScript *script)
{
    g_autofree char *copy = g_strconcat(REPLACED, script->path, NULL), *dir = g_path_get_dirname(copy);
    g_autofree char *copy_word = ibh_shell_word(copy), *dir_word = ibh_shell_word(dir);

    return g_strdup_printf("mkdir -p %s && copy=$(mktemp %s.XXXXXX)", dir_word, copy_word);
}

/* The commands may be pasted a second time: a script can route several rails, and each rail has this fix. */
static char *move_away(const IbhScript *script)
{
    g_autofree char *path = ibh_shell_word(script->path), *room = make_room(script);

    return g_strdup_printf("[ ! -e %s ] || { %s && mv -f %s \"$copy\"; }; ", path, room, path);
}

static char *take_lines_out(const IbhScript *script, const char *ours)
{
    g_autofree char *path = ibh_shell_word(script->path), *room = make_room(script);

    return g_strdup_printf("! grep -qxF%s %s || { %s && cp -p %s \"$copy\" && grep -vxF%s \"$copy\" >%s; }; ", ours,
                           path, room, path, ours, path);
}

/* Lines that grep can find literally, and that do not continue on the next line. */
static gboolean are_plain(const char *lines)
{
    for (; *lines; lines++) {
        if (!g_ascii_isprint(*lines) || *lines == '\\')
            return FALSE;
    }
    return TRUE;
}

/* The commands; NULL: a person has to do it. */
static char *take_out(const IbhScript *script, const IbhRails *rails)
{
    g_autofree char *other = NULL;
    g_autoptr(GString) ours = g_string_new(NULL);

    if (script->kind == IBH_SCRIPT_STANZAS || script->kind == IBH_SCRIPT_NETPLAN)
        return NULL;
    other = script->kind == IBH_SCRIPT_SHELL ? NULL : find_other_line(script, rails, ours);
    if (!other)
        return move_away(script);
    return are_plain(ours->str) ? take_lines_out(script, ours->str) : NULL;
}

/* A delete that names no mark may also delete one of ours: --apply comes last. */
static char *command_after(const IbhRails *rails, const IbhNic *nic, gboolean deletes)
{
    g_autoptr(GPtrArray) deletions = list_deletions(rails, nic);
    GString *command = g_string_new(NULL);

    IBH_EACH_POINTER (const char, deletion, deletions) {
        if (deletes)
            g_string_append_printf(command, "%s; ", deletion);
    }
    g_string_append(command, "ib-hook --apply");
    return g_string_free(command, FALSE);
}

/* Only the commands about rails are known in a foreign script: a person has to look at the rest. */
IbhRemedy ibh_legacy_fix(const IbhScript *script, const IbhRails *rails, const IbhNic *nic, const char *command,
                         gboolean deletes)
{
    g_autofree char *taken = take_out(script, rails), *after = command_after(rails, nic, deletes);

    if (script->kind == IBH_SCRIPT_SHELL)
        return ibh_advice("look at %s first, all that it does will end; then: %s%s", script->path, taken, after);
    if (!taken)
        return ibh_advice("take \"%s\" out of %s, which does other things, too; then: %s", command, script->path,
                          after);
    return ibh_fix(g_strconcat(taken, after, NULL));
}
