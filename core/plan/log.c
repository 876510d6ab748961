/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan.h"

#include <net/if.h>

#define ITEMS_MAX 12 /* in one line: a host may have hundreds of addresses */

/* The partners of a "lookup main" rule are the rules for the same address to T, to D or to the table of main=spread. If
 * the operation adds or removes a "lookup main" rule, and another operation of `ops` does the same to a partner,
 * returns this partner. Otherwise returns NULL. (If the operation is not on a rule, its IbhOp.rule is empty, and so is
 * no "lookup main" rule.) */
static const IbhRule *find_partner_rule(const GPtrArray *ops, const IbhOp *op)
{
    IBH_EACH_POINTER (const IbhOp, other, ops) {
        if (other->type == op->type && ibh_rule_asks_main(&op->rule) && !ibh_rule_asks_main(&other->rule) &&
            ibh_prefix_equal(&other->rule.from, &op->rule.from))
            return &other->rule;
    }
    return NULL;
}

/* Returns words for a NIC that is gone, down or without carrier, if its operations only remove rules and routes or set
 * values: then the line only counts the removals. Otherwise, and for main=spread, returns NULL. */
static const char *describe_loss(const IbhSnapshot *snapshot, const char *iface, const GPtrArray *ops)
{
    const IbhLink *link = ibh_snapshot_link_by_name(snapshot, iface);

    IBH_EACH_POINTER (const IbhOp, op, ops) {
        if (op->unit.kind == IBH_UNIT_SPREAD || (!ibh_op_removes(op->type) && op->type != IBH_OP_SYSCTL_SET))
            return NULL;
    }
    if (!link)
        return " is gone";
    if (!(link->flags & IFF_UP))
        return " is down";
    return link->carrier ? NULL : " has no carrier";
}

static void put_line(GString *out, const char *iface, const GPtrArray *ops, const IbhSnapshot *snapshot,
                     const char *cause)
{
    const char *loss = describe_loss(snapshot, iface, ops);
    g_autoptr(GString) line = g_string_new(NULL);
    g_autofree char *name = ibh_text_printable(iface), *why = ibh_text_printable(cause);
    guint removed = 0, n = 0;

    IBH_EACH_POINTER (const IbhOp, op, ops) {
        g_autofree char *item = NULL;

        if (loss && ibh_op_removes(op->type)) {
            removed++;
            continue;
        }
        if (find_partner_rule(ops, op)) /* the partner's item stands for both rules */
            continue;
        n++;
        if (n > ITEMS_MAX)
            continue;
        item = ibh_op_describe(op);
        g_string_append_printf(line, "%s%s", n > 1 ? "; " : "", item);
    }
    if (n > ITEMS_MAX)
        g_string_append_printf(line, " and %u more", n - ITEMS_MAX);
    g_string_append_printf(out, "%s%s: ", name, loss ? loss : "");
    if (removed)
        g_string_append_printf(out, removed == 1 ? "%u rule or route removed%s" : "%u rules and routes removed%s",
                               removed, n ? "; " : "");
    g_string_append_printf(out, "%s (%s)\n", line->str, why);
}

/* Returns the name with which the operation's line begins: the name of the NIC, or "main=spread". If no NIC owns the
 * rule or route any more (the operation is a rule-del or a route-del), looks for the table (for a "lookup main" rule,
 * the partner's) in the state. If the state has no name, returns "a NIC". */
static const char *find_line_name(const GPtrArray *done, const IbhOp *op, const IbhSnapshot *snapshot)
{
    const IbhRule *partner = op->type == IBH_OP_RULE_DEL ? find_partner_rule(done, op) : NULL;
    const IbhRule *rule = partner ? partner : &op->rule;
    const guint32 table = op->type == IBH_OP_RULE_DEL ? rule->table : op->route.table;

    if (op->iface[0])
        return op->iface;
    if (op->unit.kind == IBH_UNIT_SPREAD)
        return "main=spread";
    IBH_EACH (const IbhSavedRail, rail, snapshot->state->rails) {
        if (rail->table == table || rail->table + IBH_TABLE_DEFAULTS == table)
            return rail->iface;
    }
    return "a NIC";
}

char *ibh_ops_log_text(const GPtrArray *done, const IbhSnapshot *snapshot, const char *cause)
{
    g_autoptr(GHashTable) ops_of =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    g_autoptr(GPtrArray) ifaces = g_ptr_array_new();
    GString *out = g_string_new(NULL);

    IBH_EACH_POINTER (IbhOp, op, done) {
        gpointer name = (gpointer)(guintptr)find_line_name(done, op, snapshot);
        GPtrArray *ops = g_hash_table_lookup(ops_of, name);

        if (!ops) {
            ops = g_ptr_array_new();
            g_hash_table_insert(ops_of, name, ops);
            g_ptr_array_add(ifaces, name);
        }
        g_ptr_array_add(ops, op);
    }
    IBH_EACH_POINTER (const char, iface, ifaces)
        put_line(out, iface, g_hash_table_lookup(ops_of, iface), snapshot, cause);
    return g_string_free(out, FALSE);
}
