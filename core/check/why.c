/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/why.h"

#include "plan/want.h"

/* ---- why a NIC is a rail or not ---- */

static const char *const WORDS[] = {
    [IBH_WHY_LOOPBACK] = "loopback",
    [IBH_WHY_REPRESENTOR] = "a switchdev representor: it stands for another function's port",
    [IBH_WHY_NOT_RDMA] = "not RDMA-capable (manage=yes would make it a candidate)",
    [IBH_WHY_KEPT] =
        "left as it was before an --apply that was not confirmed; this ends with --apply, --undo or a reboot",
    [IBH_WHY_UNMANAGED] = "manage=no",
    [IBH_WHY_NO_ADDRESS] = "it has no address",
    [IBH_WHY_NOT_SHARED] = "no other RDMA NIC shares one of its subnets",
    [IBH_WHY_UNDONE] = "left alone since it was undone, until --apply or a reboot",
    [IBH_WHY_NO_LOCAL_RULE] = "there is no rule that leads everything to the local table first",
    [IBH_WHY_MANAGED] = "manage=yes",
    [IBH_WHY_STAYS] = "it stays a rail, though no other RDMA NIC shares its subnet now",
};

static char *describe_reason(const IbhNic *nic)
{
    const IbhReason *reason = &nic->reason;
    char subnet[IBH_PREFIX_STRLEN];

    switch (reason->why) {
    case IBH_WHY_NAME:
        return g_strdup_printf("its name: net.ipv4.conf.%s stands for all NICs; rename it", nic->link->name);
    case IBH_WHY_PORT:
        return g_strdup_printf("a port of %s: what is configured there decides",
                               reason->other ? reason->other->name : "another link");
    case IBH_WHY_LATE_LOCAL_RULE:
        return g_strdup_printf("the rule for the local table has priority %u, which is not before %u", reason->priority,
                               IBH_PRIORITY_BASE - IBH_PRIORITY_SPAN);
    case IBH_WHY_ADVERTISED:
        return g_strdup_printf("the addresses in %s, which %s shares, are advertised: no rails without manage=yes",
                               ibh_prefix_format(reason->subnet, subnet), reason->other->name);
    case IBH_WHY_SHARES:
        return g_strdup_printf("shares %s with %s", ibh_prefix_format(reason->subnet, subnet), reason->other->name);
    default:
        return g_strdup(WORDS[reason->why]);
    }
}

/* If foreign rules route the NIC's first address, the clause also names the first of these rules. */
char *ibh_nic_why(const IbhNic *nic)
{
    const IbhRule *rule = nic->served->len ? ibh_nic_foreign_rule(nic, nic->served->pdata[0]) : NULL;
    g_autofree char *why = describe_reason(nic);
    char from[IBH_PREFIX_STRLEN];

    if (!rule)
        return g_steal_pointer(&why);
    return g_strdup_printf("%s; routed by the rule %u (from %s lookup %u), which is not ours", why, rule->priority,
                           ibh_prefix_format(&rule->from, from), rule->table);
}

/* ---- why a plan has an operation ---- */

static char *why_new_rule(const IbhOp *op, const char *name)
{
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN];

    ibh_ip_format(&op->rule.from.ip, from);
    ibh_prefix_format(&op->rule.to, to);
    if (ibh_rule_asks_main(&op->rule) && op->rule.to.length)
        return g_strdup_printf("main's more specific routes inside %s still win", to);
    if (ibh_rule_asks_main(&op->rule))
        return g_strdup_printf("main is asked before the default of %s", name);
    if (op->unit.kind == IBH_UNIT_SPREAD)
        return g_strdup_printf("unbound traffic to %s is spread", to);
    if (!op->rule.to.length)
        return g_strdup_printf("everything else that %s sends goes via a gateway of %s", from, name);
    return g_strdup_printf("what %s sends to %s leaves through %s", from, to, name);
}

/* TRUE if foreign rules route a pair that the deleted rule or route was for. */
static gboolean has_foreign_pair(const IbhNic *nic, const IbhOp *op)
{
    const gboolean is_rule = op->type == IBH_OP_RULE_DEL;

    IBH_EACH (const IbhPair, pair, nic->pairs) {
        const gboolean is_of_route = ibh_prefix_equal(&pair->to, &op->route.dst),
                       is_of_rule = ibh_ip_equal(&pair->address->local, &op->rule.from.ip) &&
                                    (!op->rule.to.length || ibh_prefix_equal(&pair->to, &op->rule.to));

        if (pair->theirs && (is_rule ? is_of_rule : is_of_route))
            return TRUE;
    }
    return FALSE;
}

/* Returns why the plan deletes an old rule or route. `nic` is the NIC that the rule or route belongs to; NULL: none any
 * more. */
static char *why_old(const IbhRails *rails, const IbhNic *nic, const IbhOp *op)
{
    const gboolean is_rule = op->type == IBH_OP_RULE_DEL;
    const char *name = nic ? nic->link->name : NULL;
    const IbhNic *owner = is_rule ? ibh_rails_owner(rails, &op->rule.from.ip) : NULL;
    char ip[IBH_IP_STRLEN];

    if (op->unit.kind == IBH_UNIT_SPREAD)
        return g_strdup(is_rule ? "unbound traffic follows the main table again"
                                : "this subnet is not spread (any more)");
    if (!nic)
        return g_strdup("its interface or address is gone");
    if (nic->held && rails->undo)
        return g_strdup("undone");
    if (nic->status != IBH_NIC_RAIL) {
        g_autofree char *why = ibh_nic_why(nic);

        return g_strdup_printf("%s is not a rail: %s", name, why);
    }
    if (has_foreign_pair(nic, op))
        return g_strdup_printf("rules of others route %s", name);
    if (!is_rule)
        return g_strdup_printf("no address of %s needs it", name);
    if (owner == nic)
        return g_strdup_printf("%s has other rules now", name);
    if (owner)
        return g_strdup_printf("%s has %s now", owner->link->name, ibh_ip_format(&op->rule.from.ip, ip));
    return g_strdup_printf("%s is no address of %s", ibh_ip_format(&op->rule.from.ip, ip), name);
}

/* Returns why the plan sets an ARP value. Operations on rp_filter have a reason already (IbhOp.why). */
static char *why_arp(const IbhRails *rails, const IbhNic *nic, const IbhOp *op)
{
    static const char *const does[IBH_N_SYSCTLS] = {
        [IBH_SYSCTL_ARP_FILTER] = "answer ARP only if the reply leaves through",
        [IBH_SYSCTL_ARP_ANNOUNCE] = "send ARP requests only with an address of",
        [IBH_SYSCTL_ARP_IGNORE] = "answer ARP only for addresses of",
    };

    if (ibh_nic_must_be_silent(rails, nic) && op->to != nic->base[op->key])
        return g_strdup("it has no IPv4 address, and does not answer ARP for the rails");
    /* --undo of another NIC: this NIC stays a rail, and may have to answer for the undone NIC (plan/wanted.c). */
    if (!ibh_nic_is_selected(nic, rails->only) && rails->undo)
        return g_strdup("answer for the NIC that is no longer a rail, too");
    if (nic->status != IBH_NIC_RAIL || op->to == nic->base[op->key])
        return g_strdup("as it was before");
    return g_strdup_printf("%s %s", does[op->key], nic->link->name);
}

char *ibh_op_why(const IbhRails *rails, const IbhOp *op)
{
    const IbhNic *nic = ibh_rails_nic(rails, op->ifindex), *owner;
    const char *name = nic ? nic->link->name : "the NIC";
    char text[IBH_PREFIX_STRLEN];

    if (op->why)
        return g_strdup(op->why);
    if (!nic && op->type == IBH_OP_SYSCTL_SET)
        return g_strdup("its interface is gone");
    switch (op->type) {
    case IBH_OP_RULE_ADD:
        return why_new_rule(op, name);
    case IBH_OP_ROUTE_ADD:
    case IBH_OP_ROUTE_REPLACE:
        ibh_prefix_format(&op->route.dst, text);
        return op->unit.kind == IBH_UNIT_SPREAD
                   ? g_strdup_printf("unbound traffic to %s uses every rail", text)
                   : g_strdup_printf("table %u reaches %s by %s", op->route.table, text, name);
    case IBH_OP_SYSCTL_SET:
        return why_arp(rails, nic, op);
    case IBH_OP_NEIGH_DEL:
        return g_strdup_printf("nothing leaves through %s now", name);
    case IBH_OP_ANNOUNCE:
        /* An address is announced from its own NIC. Another NIC announces the address if three things are true: no rule
         * of ours and no foreign rule routes the address; main uses the other NIC for the subnet; and the other NIC
         * answers ARP for the address. */
        owner = ibh_rails_owner(rails, &op->ip);
        if (nic != (owner ? owner : ibh_rails_holder(rails, &op->ip)))
            return g_strdup_printf("main uses %s for its subnet", name);
        return g_strdup_printf("peers that learned another NIC for %s switch at once", ibh_ip_format(&op->ip, text));
    default:
        return why_old(rails, nic, op);
    }
}
