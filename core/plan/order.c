/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of the operations of a plan. Traffic that worked before keeps working after each operation. There are two
 * exceptions. When a namespace gets its first IPv4 rule, the kernel splits one table into local and main; if there are
 * many routes, a packet may be lost meanwhile. And while rails exchange tables, main may decide about their packets
 * (see LEAVING_RULES). The list of steps below has the reason for each place in the order.
 */
#include "plan/difference.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- the order: each operation belongs to a step ---- */

enum {
    /* While rules change, packets arrive on the wrong NIC, and a strict rp_filter would drop them. */
    LOOSEN_RP_FILTER,
    /* Routes without a rule and rules without a route have no effect. Delete them before they combine with new ones. */
    UNUSED_ROUTES,
    UNUSED_RULES,
    /* Routes come first, so no rule leads to an empty table. Rules to T name their destination, so old rules do not
     * lead packets to new routes for other destinations. */
    NEW_ROUTES,
    NEW_RULES,
    /* If table= gives a NIC the table of another NIC, the former holder's rules and routes leave this table first. A
     * former holder that is a rail has its new rules by now, unless this rail takes a table, too: then main decides
     * about the rail's packets until TAKING_RULES. */
    LEAVING_RULES,
    LEAVING_ROUTES,
    TAKING_ROUTES,
    TAKING_RULES,
    /* A NIC that is to answer for an address must do so before old rules go and before we announce the address. */
    ANSWER_MORE,
    OLD_RULES,
    OLD_ROUTES,
    /* From here on, packets from each address leave through its final NIC. So now a NIC falls silent if peers must not
     * learn its hardware address. And a NIC whose rp_filter is about to become strict stops answering the peers whose
     * packets the strict rp_filter will drop. */
    ANSWER_LESS,
    FORGET_NEIGHBOURS,
    /* Peers that hear an announcement switch at once to the NIC that it names. */
    ANNOUNCE,
    /* Now no peer sends to the wrong NIC, where a strict rp_filter would drop the packet. */
    TIGHTEN_RP_FILTER,
    /* Even a NIC that need not answer for any address may get looser ARP sysctls. Loosen them late, when peers know the
     * final NICs. */
    ANSWER_AS_ALLOWED,
    /* The guard is arp_filter=1, see emit_sysctls(). From now on, the strict rp_filter drops the packets that the guard
     * kept away. */
    END_GUARD,
};

static gint compare_ops(gconstpointer left, gconstpointer right)
{
    const IbhOp *a = *(const IbhOp *const *)left, *b = *(const IbhOp *const *)right;

    IBH_COMPARE_MEMBER(a, b, step);
    IBH_COMPARE_MEMBER(a, b, place);
    return 0;
}

/* Adds an operation to the plan. If `nic` is NULL, the operation belongs to no unit; emit_item() then gives an
 * operation of main=spread its unit. */
static IbhOp *emit(const IbhDifference *difference, guint step, IbhOpType type, const IbhNic *nic, int family)
{
    IbhOp *op = g_new0(IbhOp, 1);

    op->step = step;
    op->type = type;
    op->unit.family = family;
    if (nic) {
        op->unit = (IbhUnit){IBH_UNIT_NIC, family, nic->link->ifindex};
        op->ifindex = nic->link->ifindex;
        g_strlcpy(op->iface, nic->link->name, sizeof op->iface);
    }
    g_ptr_array_add(difference->plan, op);
    return op;
}

/* ---- rules and routes ---- */

/* TRUE if the kernel would refuse to add the route again: a next hop is dead, the route's source address is gone, or
 * its gateway is an address of this host now. */
static gboolean goes_for_good(const IbhRails *rails, const IbhRoute *route)
{
    IBH_EACH_HOP (hop, route) {
        if (hop->dead)
            return TRUE;
    }
    return (route->src.family != AF_UNSPEC && !ibh_rails_holder(rails, &route->src)) ||
           (route->gateway.family != AF_UNSPEC &&
            ibh_rails_is_own_gateway(rails, ibh_rails_nic(rails, route->ifindex), &route->gateway));
}

/* Names the devices of a route of main=spread: "dev ib0", or "nexthop dev ib0 nexthop dev ib1". */
static char *name_devices(const IbhSnapshot *snapshot, const IbhRoute *route)
{
    const IbhHop one = {.ifindex = route->ifindex}; /* the next hop of a route without `hops` */
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < route->nexthops; i++) {
        const IbhLink *link = ibh_snapshot_link(snapshot, (route->hops ? route->hops + i : &one)->ifindex);
        g_autofree char *name = ibh_text_shell_word(link ? link->name : "?");

        g_string_append_printf(text, "%s%sdev %s", i ? " " : "", route->hops ? "nexthop " : "", name);
    }
    return g_string_free(text, FALSE);
}

/* Finds the tables that table= takes from one NIC and gives to another. Such a table has one of two signs:
 * - an old route of one NIC, and a new rule or route of the other: a new rule would lead to the old route;
 * - an old rule of one NIC, and a new route of the other: the new route would catch the old rule's packets.
 * An old rule of one NIC and a new rule of the other are no sign, because they also occur without table=: if an address
 * has moved from one NIC to another, its old rule counts as a rule of the new NIC, but still leads to the old NIC's
 * table, to which the old NIC may get a new rule for another address. An old rule without an owner is no sign either,
 * because this host sends no packets that the rule matches. */
static void find_taken_tables(const IbhDifference *difference)
{
    IBH_EACH (const IbhItem, item, difference->items) {
        gboolean is_taken = FALSE;

        if (item->is_old || item->table == IBH_TABLE_MAIN)
            continue;
        IBH_EACH (const IbhItem, old, difference->items) {
            const gboolean disturbs = old->route || (old->nic && item->route);

            if (old->is_old && old->table == item->table && old->nic != item->nic)
                is_taken |= disturbs;
        }
        if (is_taken)
            g_array_append_val(difference->taken, item->table);
        if (is_taken && item->nic)
            ibh_wanted_nic(difference->wanted, item->nic)->takes = TRUE;
    }
}

/* TRUE for a rule that can find a route in its table, for a rule that looks main up, and for a route whose table a rule
 * looks up. */
static gboolean is_in_use(const IbhSnapshot *snapshot, const IbhItem *item)
{
    if (item->rule) {
        IBH_EACH (const IbhRoute, route, snapshot->routes) {
            if (route->table == item->table && route->family == item->rule->family &&
                (!item->rule->to.length || ibh_prefix_overlaps(&route->dst, &item->rule->to)))
                return TRUE;
        }
        return ibh_rule_asks_main(item->rule);
    }
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (rule->family == item->route->family && rule->table == item->table)
            return TRUE;
    }
    return FALSE;
}

static guint find_step(const IbhDifference *difference, const IbhItem *item)
{
    const gboolean is_taken = ibh_numbers_have(difference->taken, (int)item->table);

    if (!item->is_old && item->route)
        return is_taken ? TAKING_ROUTES : NEW_ROUTES;
    if (!item->is_old) /* all new rules of a NIC that takes a table wait, not only those that lead to this table */
        return item->nic && ibh_wanted_nic(difference->wanted, item->nic)->takes ? TAKING_RULES : NEW_RULES;
    if (!is_in_use(difference->rails->snapshot, item))
        return item->rule ? UNUSED_RULES : UNUSED_ROUTES;
    if (is_taken)
        return item->rule ? LEAVING_RULES : LEAVING_ROUTES;
    return item->rule ? OLD_RULES : OLD_ROUTES;
}

/* Adds the operation for an item. Within a step, rules are deleted from the last priority to the first, and added from
 * the first to the last, so that no rule to T or D stands without its "lookup main" rule. A route via a gateway is
 * deleted before the subnet's route, and added after it: the kernel refuses a gateway that no route reaches. */
static void emit_item(const IbhDifference *difference, const IbhItem *item)
{
    const IbhOpType add = item->rule ? IBH_OP_RULE_ADD : item->replaced ? IBH_OP_ROUTE_REPLACE : IBH_OP_ROUTE_ADD;
    const IbhOpType del = item->rule ? IBH_OP_RULE_DEL : IBH_OP_ROUTE_DEL;
    const IbhRoute *removed = item->is_old ? item->route : item->replaced;
    IbhOp *op = emit(difference, find_step(difference, item), item->is_old ? del : add, item->nic,
                     item->rule ? item->rule->family : item->route->family);

    if (item->spread)
        op->unit.kind = IBH_UNIT_SPREAD;
    if (item->rule) {
        op->rule = *item->rule;
        op->place = op->rule.priority;
    } else {
        op->route = *item->route;
        op->place = op->route.gateway.family != AF_UNSPEC;
        op->hops = item->spread ? name_devices(difference->rails->snapshot, item->route) : NULL;
    }
    if (item->is_old)
        op->place = -op->place;
    if (item->replaced)
        op->replaced = *item->replaced;
    op->for_good = removed && goes_for_good(difference->rails, removed);
}

/* ---- sysctls ---- */

static void emit_sysctl(const IbhDifference *difference, guint step, const IbhWantedNic *one, IbhSysctl key, int from,
                        int to, const char *why)
{
    IbhOp *op;

    if (from == to || !ibh_iface_name_has_sysctls(one->nic->link->name))
        return;
    op = emit(difference, step, IBH_OP_SYSCTL_SET, one->nic, AF_INET);
    op->why = why;
    op->key = key;
    op->from = from;
    op->to = to;
}

/* Adds the operations for the sysctls of a NIC. A strict rp_filter drops the packets, and the ARP requests, of peers
 * that this host reaches through another NIC. Before rp_filter gets strict, the NIC would still answer these peers, and
 * they would learn its hardware address. So the plan sets a guard, arp_filter=1: with the guard, the NIC answers only
 * peers that this host reaches through the NIC.
 *
 * If arp_filter replaces arp_ignore, or the other way round, set the new sysctl before the old sysctl is cleared: with
 * neither, the NIC would answer for all addresses of this host. */
static void emit_sysctls(const IbhDifference *difference, const IbhWantedNic *one)
{
    static const IbhSysctl keys[] = {IBH_SYSCTL_ARP_IGNORE, IBH_SYSCTL_ARP_FILTER};
    const int *now = one->nic->link->sysctl, *want = one->value;
    /* A NIC that must be silent needs no guard: the plan silences the NIC before rp_filter gets strict. */
    const gboolean is_guarded = one->gets_strict && !ibh_nic_must_be_silent(difference->rails, one->nic);

    emit_sysctl(difference, LOOSEN_RP_FILTER, one, IBH_SYSCTL_RP_FILTER, now[IBH_SYSCTL_RP_FILTER], one->rp_filter,
                "a packet that still comes in through another NIC is not dropped");
    emit_sysctl(difference, TIGHTEN_RP_FILTER, one, IBH_SYSCTL_RP_FILTER, one->rp_filter, want[IBH_SYSCTL_RP_FILTER],
                "strict from now on: peers were told");
    emit_sysctl(difference, ANSWER_LESS, one, IBH_SYSCTL_ARP_ANNOUNCE, now[IBH_SYSCTL_ARP_ANNOUNCE],
                want[IBH_SYSCTL_ARP_ANNOUNCE], NULL);
    for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
        const IbhSysctl key = keys[i], other = keys[1 - i];
        const gboolean replaces = want[key] > now[key] && want[other] < now[other];
        const gboolean is_looser = want[key] < now[key] && want[other] <= now[other];
        guint step = ANSWER_LESS; /* also clears a sysctl that the other sysctl has replaced in ANSWER_MORE */

        if (replaces || (is_looser && one->answers))
            step = ANSWER_MORE;
        else if (is_looser)
            step = ANSWER_AS_ALLOWED;
        if (key == IBH_SYSCTL_ARP_FILTER && is_guarded) {
            emit_sysctl(difference, ANSWER_LESS, one, key, now[key], 1,
                        "answer no peer whose packets a strict rp_filter drops");
            emit_sysctl(difference, END_GUARD, one, key, 1, want[key], NULL);
        } else
            emit_sysctl(difference, step, one, key, now[key], want[key], NULL);
    }
}

/* ---- peers ---- */

/* TRUE if the kernel's own ARP request for `ip` on this link would have `ip` as its source: the kernel takes the first
 * primary address whose subnet contains the target. */
static gboolean is_kernels_choice(const IbhNic *nic, const IbhIp *ip)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (!address->secondary && address->scope <= RT_SCOPE_LINK && ibh_prefix_contains(&address->subnet, ip))
            return ibh_ip_equal(&address->local, ip);
    }
    return FALSE;
}

/* Returns the NIC from which to announce an address of `nic`; NULL if the address is not announced. An IPv6 address is
 * announced from `nic` if, after the plan, our rules lead it to another table than before. An IPv4 address is announced
 * from the NIC that answers for it after the plan, but not:
 * - if foreign rules route the address;
 * - if the address is link-local and another NIC answers: peers would see a conflict (RFC 3927);
 * - if no NIC answers, or peers know the answering NIC already. */
static const IbhNic *find_announcer(const IbhDifference *difference, const IbhNic *nic, const IbhAddress *address)
{
    gpointer table_before = g_hash_table_lookup(difference->led_before, &address->local);
    gpointer table_after = g_hash_table_lookup(difference->led_after, &address->local);
    const IbhNic *answering;

    if (address->local.family == AF_INET6)
        return table_after && table_after != table_before ? nic : NULL;
    answering = ibh_difference_answering(difference, address, TRUE);
    if (ibh_nic_foreign_rule(nic, address) || (ibh_ip_is_link_local(&address->local) && answering != nic))
        return NULL;
    if (table_before != table_after || answering != ibh_difference_answering(difference, address, FALSE))
        return answering;
    /* The NIC and the table are the same as before, but some peers may have learned another NIC. If our rules lead the
     * address, these peers should switch when ARP values of the address's NIC change, and have to switch before an
     * rp_filter gets strict, which would drop their packets. */
    return table_after && (ibh_wanted_nic(difference->wanted, nic)->arp || difference->gets_strict) ? answering : NULL;
}

/* Adds the operations that make peers switch to the NIC that answers after the plan: announcements, and the deletion of
 * our neighbour entries on a NIC that no longer answers. */
static void emit_for_peers(const IbhDifference *difference, const IbhWantedNic *one)
{
    /* If our rules led traffic through this NIC, and the NIC answers for no address after the plan, the kernel would
     * still send ARP probes to the NIC's neighbours, and the neighbours would learn the NIC's MAC again. Without
     * carrier, the kernel has dropped the neighbours already. */
    if (one->led && one->changes && !one->answers && ibh_nic_is_usable(one->nic))
        emit(difference, FORGET_NEIGHBOURS, IBH_OP_NEIGH_DEL, one->nic, AF_INET);
    IBH_EACH_POINTER (const IbhAddress, address, one->nic->served) {
        const IbhNic *owner = ibh_rails_owner(difference->rails, &address->local), *announcer;
        IbhOp *op;

        /* If several NICs have the address, announce it for one of them: the rail that serves the address or, without
         * a rail, the first of these NICs. */
        if (!owner)
            owner = ibh_rails_holder(difference->rails, &address->local);
        if (!one->selected || owner != one->nic || !ibh_nic_has_first(one->nic, address))
            continue;
        announcer = find_announcer(difference, one->nic, address);
        if (!announcer || !ibh_nic_is_usable(announcer) || announcer->link->flags & IFF_NOARP)
            continue;
        op = emit(difference, ANNOUNCE, IBH_OP_ANNOUNCE, announcer, address->local.family);
        op->unit.ifindex = one->nic->link->ifindex; /* the address's NIC: if its unit fails, announce nothing */
        op->ip = address->local;
        op->by_kernel = address->local.family == AF_INET && is_kernels_choice(announcer, &address->local);
    }
}

/* ---- the whole ---- */

/* If a route of one NIC replaces a route of another NIC, all operations of both NICs in this family become one unit. */
static void join_units(const IbhDifference *difference)
{
    IBH_EACH (const IbhItem, item, difference->items) {
        const IbhNic *before = item->replaced ? ibh_route_owner(difference->rails, item->replaced) : NULL;

        if (!before || before == item->nic || item->spread)
            continue;
        IBH_EACH_POINTER (IbhOp, op, difference->plan) {
            if (op->unit.kind == IBH_UNIT_NIC && op->unit.family == item->route->family &&
                (op->unit.ifindex == before->link->ifindex || op->unit.ifindex == item->nic->link->ifindex))
                op->unit = (IbhUnit){IBH_UNIT_MOVES, item->route->family, 0};
        }
    }
}

GPtrArray *ibh_plan_to(IbhWanted *wanted)
{
    g_auto(IbhDifference) difference = {.wanted = NULL};
    GPtrArray *plan = g_ptr_array_new_with_free_func((GDestroyNotify)ibh_op_free);

    if (!ibh_difference_init(&difference, wanted))
        return plan;
    difference.plan = plan;
    find_taken_tables(&difference);
    IBH_EACH (const IbhItem, item, difference.items)
        emit_item(&difference, item);
    IBH_EACH (const IbhWantedNic, one, wanted->nics) {
        emit_sysctls(&difference, one);
        emit_for_peers(&difference, one);
    }
    g_ptr_array_sort(plan, compare_ops); /* a stable sort */
    join_units(&difference);
    return plan;
}

GPtrArray *ibh_plan(const IbhRails *rails)
{
    g_autoptr(IbhWanted) wanted = ibh_wanted_new(rails);

    return ibh_plan_to(wanted);
}
