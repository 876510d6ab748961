/*
 * For the journal: one line per interface that changed, with what changed.
 */
#include "report.h"

#include <linux/rtnetlink.h>

#define ITEMS_MAX 12 /* of one kind in one line: a host may have hundreds of addresses */

static const struct {
    IbhOpType type;
    const char *verb;
} kinds[] = {
    {IBH_OP_RULE_ADD, "added "},         {IBH_OP_ROUTE_ADD, "added "},
    {IBH_OP_ROUTE_REPLACE, "replaced "}, {IBH_OP_RULE_DEL, "removed "},
    {IBH_OP_ROUTE_DEL, "removed "},      {IBH_OP_SYSCTL_SET, "set "},
    {IBH_OP_ANNOUNCE, "announced "},     {IBH_OP_NEIGH_DEL, "forgot neighbour "},
};

static char *describe_rule(const IbhRule *rule)
{
    char from[IBH_IP_STRLEN];

    if (!rule->from.length)
        return g_strdup_printf("rule to table %u", rule->table);
    return g_strdup_printf("rule from %s to table %u", ibh_ip_format(&rule->from.ip, from), rule->table);
}

static char *describe_route(const IbhRoute *route)
{
    char dst[IBH_PREFIX_STRLEN];

    return g_strdup_printf("%s%s in table %u", route->type == RTN_THROW ? "throw " : "route ",
                           ibh_prefix_format(&route->dst, dst), route->table);
}

static char *describe(const IbhOp *op)
{
    char ip[IBH_IP_STRLEN];

    switch (op->type) {
    case IBH_OP_RULE_ADD:
    case IBH_OP_RULE_DEL:
        return describe_rule(&op->rule);
    case IBH_OP_ROUTE_ADD:
    case IBH_OP_ROUTE_REPLACE:
    case IBH_OP_ROUTE_DEL:
        return describe_route(&op->route);
    case IBH_OP_SYSCTL_SET:
        return g_strdup_printf("%s=%d", ibh_sysctl_name(op->key), op->to);
    case IBH_OP_ANNOUNCE:
    case IBH_OP_NEIGH_DEL:
        break;
    }
    return g_strdup(ibh_ip_format(&op->ip, ip));
}

static void put_kind(GString *line, const GPtrArray *done, const char *iface, guint kind)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < done->len; i++) {
        const IbhOp *op = g_ptr_array_index(done, i);

        if (op->type == kinds[kind].type && g_str_equal(op->iface, iface))
            g_ptr_array_add(items, describe(op));
    }
    for (guint i = 0; i < items->len && i < ITEMS_MAX; i++)
        g_string_append_printf(line, "%s%s%s",
                               i           ? ", "
                               : line->len ? "; "
                                           : "",
                               i ? "" : kinds[kind].verb, (const char *)g_ptr_array_index(items, i));
    if (items->len > ITEMS_MAX)
        g_string_append_printf(line, " and %u more", items->len - ITEMS_MAX);
}

static gboolean was_named(const GPtrArray *done, guint at)
{
    for (guint i = 0; i < at; i++) {
        if (g_str_equal(((const IbhOp *)g_ptr_array_index(done, i))->iface,
                        ((const IbhOp *)g_ptr_array_index(done, at))->iface))
            return TRUE;
    }
    return FALSE;
}

static char *change(const IbhReport *report, const IbhStyle *style)
{
    GString *out = g_string_new(NULL);

    (void)style;
    for (guint i = 0; i < report->done->len; i++) {
        const char *iface = ((const IbhOp *)g_ptr_array_index(report->done, i))->iface;
        g_autoptr(GString) line = g_string_new(NULL);
        g_autofree char *name = ibh_report_clean(iface[0] ? iface : "an interface that is gone");

        if (was_named(report->done, i))
            continue;
        for (guint kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
            put_kind(line, report->done, iface, kind);
        g_string_append_printf(out, "%s: %s\n", name, line->str);
    }
    return g_string_free(out, FALSE);
}

static char *error(int status, const char *message)
{
    g_autofree char *text = ibh_report_clean(message);

    (void)status;
    return g_strconcat(text, "\n", NULL);
}

const IbhWriter ibh_log_writer = {.change = change, .error = error};
