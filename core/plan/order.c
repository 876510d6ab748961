/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of the operations of a plan. Traffic that worked before keeps working after each operation.
 * emit_in_order(), at the end, is the page to argue with.
 */
#include "plan/difference.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

typedef struct {
    const IbhDifference *difference;
    const IbhWanted *wanted;
    const IbhRails *rails;
    GArray *taken;   /* guint32: tables that a NIC takes from another NIC */
    GPtrArray *plan; /* IbhOp * */
} Order;

/* ---- operations ---- */

static IbhOp *emit(const Order *order, IbhOpType type, const IbhNic *nic, int family, char *why)
{
    IbhOp *op = g_new0(IbhOp, 1);

    op->type = type;
    op->why = why;
    op->unit.family = family;
    if (nic) {
        op->unit = (IbhUnit){IBH_UNIT_NIC, family, nic->link->ifindex};
        op->ifindex = nic->link->ifindex;
        g_strlcpy(op->iface, nic->link->name, sizeof op->iface);
    }
    g_ptr_array_add(order->plan, op);
    return op;
}

static void emit_sysctl(const Order *order, const IbhNic *nic, IbhSysctl key, int from, int to, char *why)
{
    IbhOp *op;

    if (from == to || !ibh_iface_name_has_sysctls(nic->link->name)) {
        g_free(why);
        return;
    }
    op = emit(order, IBH_OP_SYSCTL_SET, nic, AF_INET, why);
    op->key = key;
    op->from = from;
    op->to = to;
}

/* ---- reasons ---- */

static char *why_new_rule(const Order *order, const IbhItem *item)
{
    const IbhRule *rule = item->rule;
    const char *name = item->nic ? item->nic->link->name : "the NIC";
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN];

    ibh_ip_format(&rule->from.ip, from);
    ibh_prefix_format(&rule->to, to);
    if (order->wanted->why)
        return g_strdup(order->wanted->why);
    if (ibh_rule_asks_main(rule) && rule->to.length)
        return g_strdup_printf("what main has more exactly inside %s stays so", to);
    if (ibh_rule_asks_main(rule))
        return g_strdup_printf("main is asked before the default of %s", name);
    if (item->spread)
        return g_strdup_printf("unbound traffic to %s is spread", to);
    if (!rule->to.length)
        return g_strdup_printf("what else %s sends goes via a gateway of %s", from, name);
    return g_strdup_printf("what %s sends to %s leaves through %s", from, to, name);
}

static char *why_new_route(const Order *order, const IbhItem *item)
{
    const IbhRoute *route = item->route;
    char dst[IBH_PREFIX_STRLEN];

    ibh_prefix_format(&route->dst, dst);
    if (order->wanted->why)
        return g_strdup(order->wanted->why);
    if (item->spread)
        return g_strdup_printf("unbound traffic to %s uses every rail", dst);
    return g_strdup_printf("table %u reaches %s by %s", route->table, dst, item->nic->link->name);
}

static const IbhRule *find_foreign_rule(const IbhNic *nic, const IbhItem *item)
{
    IBH_EACH (const IbhPair, pair, nic->pairs) {
        if (pair->theirs && (item->rule ? ibh_ip_equal(&pair->address->local, &item->rule->from.ip) &&
                                              (!item->rule->to.length || ibh_prefix_equal(&pair->to, &item->rule->to))
                                        : ibh_prefix_equal(&pair->to, &item->route->dst)))
            return pair->theirs;
    }
    return NULL;
}

static char *why_old(const Order *order, const IbhItem *item)
{
    const IbhNic *nic = item->nic;
    const char *name = nic ? nic->link->name : NULL;
    char ip[IBH_IP_STRLEN];

    if (order->wanted->why)
        return g_strdup(order->wanted->why);
    if (item->spread)
        return g_strdup(item->rule ? "unbound traffic follows the main table again"
                                   : "this subnet is not spread (any more)");
    if (!nic)
        return g_strdup("its interface or address is gone");
    if (nic->held && order->rails->undo)
        return g_strdup("undone");
    if (nic->status != IBH_NIC_RAIL) {
        g_autofree char *why = ibh_nic_why(nic);

        return g_strdup_printf("%s is no rail: %s", name, why);
    }
    if (find_foreign_rule(nic, item))
        return g_strdup_printf("rules of others route %s", name);
    if (item->route)
        return g_strdup_printf("no address of %s needs it", name);
    if (ibh_rails_owner(order->rails, &item->rule->from.ip) == nic)
        return g_strdup_printf("%s has other rules now", name);
    return g_strdup_printf("%s is no address of %s", ibh_ip_format(&item->rule->from.ip, ip), name);
}

/* ---- routes and rules ---- */

/* TRUE if the kernel would refuse to add the route again: its source address is gone, its gateway is an address of this
 * host now, or a next hop is dead. */
static gboolean goes_for_good(const IbhRails *rails, const IbhRoute *route)
{
    IBH_EACH_HOP (hop, route) {
        if (hop->dead)
            return TRUE;
    }
    return (route->src.family != AF_UNSPEC && !ibh_rails_holder(rails, &route->src)) ||
           (route->gateway.family != AF_UNSPEC &&
            ibh_rails_have_gateway(rails, ibh_rails_nic(rails, route->ifindex), &route->gateway));
}

/* A route of main=spread has a unit of its own, and its command names the devices: "dev ib0", or "nexthop dev ib0
 * nexthop dev ib1". */
static void fill_in_route(const Order *order, const IbhItem *item, IbhOp *op)
{
    const IbhSnapshot *snapshot = order->rails->snapshot;
    const IbhLink *only = ibh_snapshot_link(snapshot, item->route->ifindex);
    g_autoptr(GString) text = NULL;

    op->route = *item->route;
    if (!item->spread)
        return;
    op->unit.kind = IBH_UNIT_SPREAD;
    text = g_string_new(NULL);
    IBH_EACH_HOP (hop, item->route) {
        const IbhLink *link = ibh_snapshot_link(snapshot, hop->ifindex);
        g_autofree char *name = ibh_text_shell_word(link ? link->name : "?");

        g_string_append_printf(text, "%snexthop dev %s", text->len ? " " : "", name);
    }
    if (!item->route->hops && only) {
        g_autofree char *name = ibh_text_shell_word(only->name);

        g_string_append_printf(text, "dev %s", name);
    }
    op->hops = text->len ? g_strdup(text->str) : NULL;
}

/* Notes the table if an old rule of another NIC leads to it, or if it has an old route of another NIC. */
static void note_taken(const IbhDifference *difference, const IbhItem *item, guint32 table, GArray *taken)
{
    const int number = (int)table;

    IBH_EACH (const IbhItem, old, difference->old_rules) {
        if (!old->spread && old->nic && old->nic != item->nic && old->rule->table == table &&
            !ibh_rule_asks_main(old->rule) && !ibh_numbers_have(taken, number))
            g_array_append_val(taken, number);
    }
    IBH_EACH (const IbhItem, old, difference->old_routes) {
        if (!old->spread && old->nic != item->nic && old->route->table == table && !ibh_numbers_have(taken, number))
            g_array_append_val(taken, number);
    }
}

/* Finds tables in which a NIC gets a rule or route while another NIC loses one: table= moved them. */
static GArray *find_taken_tables(const IbhDifference *difference)
{
    GArray *taken = IBH_NEW_ARRAY(int);

    IBH_EACH (const IbhItem, item, difference->new_rules) {
        if (!ibh_rule_asks_main(item->rule))
            note_taken(difference, item, item->rule->table, taken);
    }
    IBH_EACH (const IbhItem, item, difference->new_routes)
        note_taken(difference, item, item->route->table, taken);
    return taken;
}

static gboolean is_taken_table(const Order *order, guint32 table)
{
    return ibh_numbers_have(order->taken, (int)table);
}

/* Subnets come first: the kernel refuses a gateway that no route reaches. `takes` selects the tables that a NIC takes
 * from another NIC. */
static void emit_new_routes(const Order *order, gboolean takes)
{
    static const IbhRouteKind kinds[] = {IBH_ROUTE_SUBNET, IBH_ROUTE_BY_GATEWAY};

    IBH_EACH_ROW (const IbhRouteKind, kind, kinds) {
        IBH_EACH (const IbhItem, item, order->difference->new_routes) {
            IbhOp *op;

            if (ibh_route_kind(item->route) != *kind || is_taken_table(order, item->route->table) != takes)
                continue;
            op = emit(order, item->replaced ? IBH_OP_ROUTE_REPLACE : IBH_OP_ROUTE_ADD, item->nic, item->route->family,
                      why_new_route(order, item));
            fill_in_route(order, item, op);
            if (item->replaced) {
                op->replaced = *item->replaced;
                op->for_good = goes_for_good(order->rails, item->replaced);
            }
        }
    }
}

/* Who still uses an old route or rule. */
typedef enum {
    USE_NOBODY,
    USE_FORMER_HOLDER, /* the NIC whose table another NIC takes */
    USE_RAIL,
} Use;

/* A rule needs a route to lead to, and a route a rule that leads to its table. */
static Use find_use(const Order *order, const IbhItem *item)
{
    const IbhSnapshot *snapshot = order->rails->snapshot;
    const guint32 table = item->rule ? item->rule->table : item->route->table;
    gboolean is_used = item->rule && ibh_rule_asks_main(item->rule);

    if (item->rule) {
        IBH_EACH (const IbhRoute, route, snapshot->routes) {
            if (is_used)
                break;
            is_used = route->table == table && route->family == item->rule->family &&
                      (!item->rule->to.length || ibh_prefix_overlaps(&route->dst, &item->rule->to));
        }
    } else {
        IBH_EACH (const IbhRule, rule, snapshot->rules)
            is_used |= rule->family == item->route->family && rule->table == table;
    }
    if (!is_used)
        return USE_NOBODY;
    return is_taken_table(order, table) ? USE_FORMER_HOLDER : USE_RAIL;
}

static void emit_old_routes(const Order *order, Use use)
{
    static const IbhRouteKind kinds[] = {IBH_ROUTE_BY_GATEWAY, IBH_ROUTE_SUBNET};

    IBH_EACH_ROW (const IbhRouteKind, kind, kinds) {
        IBH_EACH (const IbhItem, item, order->difference->old_routes) {
            IbhOp *op;

            if (ibh_route_kind(item->route) != *kind || find_use(order, item) != use)
                continue;
            op = emit(order, IBH_OP_ROUTE_DEL, item->nic, item->route->family, why_old(order, item));
            fill_in_route(order, item, op);
            op->for_good = goes_for_good(order->rails, item->route);
        }
    }
}

static gint ascending_items(gconstpointer left, gconstpointer right)
{
    const IbhItem *a = left, *b = right;

    IBH_COMPARE(a->rule->priority, b->rule->priority);
    return 0;
}

static gint descending_items(gconstpointer left, gconstpointer right)
{
    return ascending_items(right, left);
}

static void emit_rule(const Order *order, IbhOpType type, const IbhItem *item, char *why)
{
    IbhOp *op = emit(order, type, item->nic, item->rule->family, why);

    op->rule = *item->rule;
    if (item->spread)
        op->unit.kind = IBH_UNIT_SPREAD;
}

static gboolean takes_a_table(const Order *order, const IbhNic *nic)
{
    IBH_EACH (const IbhItem, item, order->difference->new_rules) {
        if (order->taken->len && item->nic == nic && is_taken_table(order, item->rule->table))
            return TRUE;
    }
    return FALSE;
}

/* `takes` selects the rules of NICs that take a table from another NIC. */
static void emit_new_rules(const Order *order, gboolean takes)
{
    g_array_sort(order->difference->new_rules, ascending_items); /* a stable sort */
    IBH_EACH (const IbhItem, item, order->difference->new_rules) {
        if ((!item->spread && takes_a_table(order, item->nic)) == takes)
            emit_rule(order, IBH_OP_RULE_ADD, item, why_new_rule(order, item));
    }
}

static void emit_old_rules(const Order *order, Use use)
{
    g_array_sort(order->difference->old_rules, descending_items);
    IBH_EACH (const IbhItem, item, order->difference->old_rules) {
        if (find_use(order, item) == use)
            emit_rule(order, IBH_OP_RULE_DEL, item, why_old(order, item));
    }
}

/* ---- rp_filter ---- */

static gboolean is_strict(const Order *order, int rp_filter)
{
    const int all = order->rails->snapshot->all[IBH_SYSCTL_RP_FILTER];

    return ibh_sysctl_effective(IBH_SYSCTL_RP_FILTER, rp_filter, all) == 1;
}

/* Returns the value while the plan runs. A strict rp_filter drops packets that still arrive on the wrong NIC, so loosen
 * it on each NIC that changes. With arp=keep, never touch it. */
static int rp_filter_meanwhile(const Order *order, const IbhWantedNic *one)
{
    const int now = one->nic->link->sysctl[IBH_SYSCTL_RP_FILTER], want = one->value[IBH_SYSCTL_RP_FILTER];

    if (!is_strict(order, want))
        return want;
    return is_strict(order, now) && one->nic->settings.arp != IBH_ARP_KEEP && one->selected &&
                   ibh_difference_effect(order->difference, one->nic)->changes
               ? 2
               : now;
}

static char *why_sysctl(const Order *order, const char *why)
{
    return g_strdup(order->wanted->why ? order->wanted->why : why);
}

static void loosen_rp_filters(const Order *order)
{
    IBH_EACH (const IbhWantedNic, one, order->wanted->nics)
        emit_sysctl(order, one->nic, IBH_SYSCTL_RP_FILTER, one->nic->link->sysctl[IBH_SYSCTL_RP_FILTER],
                    rp_filter_meanwhile(order, one),
                    why_sysctl(order, "a packet that still comes in through another NIC is not dropped"));
}

static void tighten_rp_filters(const Order *order)
{
    IBH_EACH (const IbhWantedNic, one, order->wanted->nics)
        emit_sysctl(order, one->nic, IBH_SYSCTL_RP_FILTER, rp_filter_meanwhile(order, one),
                    one->value[IBH_SYSCTL_RP_FILTER], why_sysctl(order, "strict again: peers were told"));
}

static gboolean gets_strict(const Order *order, const IbhWantedNic *one)
{
    return is_strict(order, one->value[IBH_SYSCTL_RP_FILTER]) && !is_strict(order, rp_filter_meanwhile(order, one));
}

/* ---- ARP ---- */

static char *why_arp(const Order *order, const IbhWantedNic *one, IbhSysctl key)
{
    static const char *const does[IBH_N_SYSCTLS] = {
        [IBH_SYSCTL_ARP_FILTER] = "answer ARP only on the NIC that the reply leaves through",
        [IBH_SYSCTL_ARP_ANNOUNCE] = "ask peers with an address of",
        [IBH_SYSCTL_ARP_IGNORE] = "answer ARP only for addresses of",
    };

    if (order->wanted->why)
        return g_strdup(order->wanted->why);
    if (ibh_nic_must_be_silent(order->rails, one->nic))
        return g_strdup("it has no IPv4 address, and does not answer ARP for the rails");
    if (!one->selected)
        return g_strdup("answer for the NIC that is no rail any more, too");
    if (one->nic->status != IBH_NIC_RAIL || one->value[key] == one->nic->base[key])
        return g_strdup("as it was before");
    return g_strdup_printf("%s %s", does[key], one->nic->link->name);
}

/* TRUE for a NIC whose rp_filter gets strict: it drops the packets, and the ARP requests, of peers that this host
 * reaches through another NIC. Before the value is set, such peers must not learn the NIC either, so arp_filter=1
 * checks the way back until then. */
static gboolean filters_until_strict(const Order *order, const IbhWantedNic *one)
{
    return gets_strict(order, one) && !ibh_nic_must_be_silent(order->rails, one->nic);
}

static void set_arp(const Order *order, const IbhWantedNic *one, IbhSysctl key)
{
    const gboolean until_strict = key == IBH_SYSCTL_ARP_FILTER && filters_until_strict(order, one);

    emit_sysctl(order, one->nic, key, one->nic->link->sysctl[key], until_strict ? 1 : one->value[key],
                until_strict ? why_sysctl(order, "answer no peer whose packets a strict rp_filter drops")
                             : why_arp(order, one, key));
}

/* TRUE if the new value makes the NIC answer more. If arp_ignore and arp_filter replace each other, set the new sysctl
 * before the old one is cleared: with neither, every NIC would answer for all addresses. */
static gboolean gets_looser(const Order *order, const IbhWantedNic *one, IbhSysctl key)
{
    const IbhSysctl other = key == IBH_SYSCTL_ARP_IGNORE ? IBH_SYSCTL_ARP_FILTER : IBH_SYSCTL_ARP_IGNORE;
    const int *now = one->nic->link->sysctl, *want = one->value;

    if (key == IBH_SYSCTL_ARP_FILTER && filters_until_strict(order, one))
        return FALSE;
    if (want[key] > now[key] && want[other] < now[other])
        return TRUE;
    return want[key] < now[key] && want[other] <= now[other];
}

/* `early` selects the NICs that will answer for an address, and those whose sysctls replace each other. */
static void loosen_arp(const Order *order, gboolean early)
{
    IBH_EACH (const IbhWantedNic, one, order->wanted->nics) {
        const int *now = one->nic->link->sysctl, *want = one->value;
        const gboolean is_early = ibh_difference_effect(order->difference, one->nic)->answers ||
                                  want[IBH_SYSCTL_ARP_IGNORE] > now[IBH_SYSCTL_ARP_IGNORE] ||
                                  want[IBH_SYSCTL_ARP_FILTER] > now[IBH_SYSCTL_ARP_FILTER];

        if (is_early == early && gets_looser(order, one, IBH_SYSCTL_ARP_IGNORE))
            set_arp(order, one, IBH_SYSCTL_ARP_IGNORE);
        if (is_early == early && gets_looser(order, one, IBH_SYSCTL_ARP_FILTER))
            set_arp(order, one, IBH_SYSCTL_ARP_FILTER);
    }
    IBH_EACH (const IbhWantedNic, one, order->wanted->nics) {
        if (!early && filters_until_strict(order, one)) /* rp_filter is strict by now */
            emit_sysctl(order, one->nic, IBH_SYSCTL_ARP_FILTER, 1, one->value[IBH_SYSCTL_ARP_FILTER],
                        why_arp(order, one, IBH_SYSCTL_ARP_FILTER));
    }
}

static void tighten_arp(const Order *order)
{
    IBH_EACH (const IbhWantedNic, one, order->wanted->nics) {
        set_arp(order, one, IBH_SYSCTL_ARP_ANNOUNCE);
        if (!gets_looser(order, one, IBH_SYSCTL_ARP_IGNORE))
            set_arp(order, one, IBH_SYSCTL_ARP_IGNORE);
        if (!gets_looser(order, one, IBH_SYSCTL_ARP_FILTER))
            set_arp(order, one, IBH_SYSCTL_ARP_FILTER);
    }
}

/* ---- peers ---- */

/* If no traffic leaves through a NIC any more, the kernel would still send ARP probes to its neighbours from there, and
 * peers would learn the MAC of the NIC again. Without carrier, the kernel has dropped the neighbours already. */
static void delete_neighbours(const Order *order)
{
    IBH_EACH (const IbhWantedNic, one, order->wanted->nics) {
        const IbhEffect *effect = ibh_difference_effect(order->difference, one->nic);

        if (effect->led && effect->changes && !effect->answers && one->nic->link->flags & IFF_UP &&
            one->nic->link->carrier)
            emit(order, IBH_OP_NEIGH_DEL, one->nic, AF_INET,
                 g_strdup_printf("nothing leaves through %s now", one->nic->link->name));
    }
}

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

/* Returns the NIC from which to announce an address; NULL if peers know the NIC already. For IPv6, the NIC that has the
 * address always answers. If another NIC announced a link-local IPv4 address, peers would see a conflict (RFC 3927). */
static const IbhNic *find_announcer(const Order *order, const IbhNic *nic, const IbhAddress *address,
                                    gboolean any_gets_strict)
{
    const IbhDifference *difference = order->difference;
    gpointer before = g_hash_table_lookup(difference->led_before, &address->local);
    gpointer after = g_hash_table_lookup(difference->led_after, &address->local);
    const IbhNic *answering;

    if (address->local.family == AF_INET6)
        return after && after != before ? nic : NULL;
    if (ibh_nic_foreign_rule(nic, address))
        return NULL;
    answering = ibh_difference_answering(difference, address, TRUE);
    if (ibh_ip_is_link_local(&address->local) && answering != nic)
        return NULL;
    if (before != after || answering != ibh_difference_answering(difference, address, FALSE))
        return answering;
    return (after && ibh_difference_effect(difference, nic)->arp) || (any_gets_strict && (before || after)) ? answering
                                                                                                            : NULL;
}

static void announce(const Order *order)
{
    gboolean any_gets_strict = FALSE;

    IBH_EACH (const IbhWantedNic, one, order->wanted->nics)
        any_gets_strict |= gets_strict(order, one);
    IBH_EACH (const IbhWantedNic, one, order->wanted->nics) {
        IBH_EACH_POINTER (const IbhAddress, address, one->nic->served) {
            const IbhNic *owner = ibh_rails_owner(order->rails, &address->local);
            const IbhNic *from;
            char ip[IBH_IP_STRLEN];
            IbhOp *op;

            if (!owner)
                owner = ibh_rails_holder(order->rails, &address->local);
            if (!one->selected || owner != one->nic || !ibh_nic_has_first(one->nic, address) ||
                !(from = find_announcer(order, one->nic, address, any_gets_strict)))
                continue;
            if (!from->link->carrier || !(from->link->flags & IFF_UP) || from->link->flags & IFF_NOARP)
                continue;
            op = emit(order, IBH_OP_ANNOUNCE, from, address->local.family,
                      from == one->nic ? g_strdup_printf("peers that learned another NIC for %s switch at once",
                                                         ibh_ip_format(&address->local, ip))
                                       : g_strdup_printf("main uses %s for its subnet", from->link->name));
            op->unit.ifindex = one->nic->link->ifindex;
            op->ip = address->local;
            op->by_kernel = address->local.family == AF_INET && is_kernels_choice(from, &address->local);
        }
    }
}

/* ---- the order ---- */

static void emit_in_order(const Order *order)
{
    /* While rules change, packets arrive on the wrong NIC, and a strict rp_filter would drop them. */
    loosen_rp_filters(order);
    /* Nobody uses routes without a rule, and rules without a route. Delete them before they combine with new ones. */
    emit_old_routes(order, USE_NOBODY);
    emit_old_rules(order, USE_NOBODY);
    /* Routes come first, so no rule leads to an empty table. Rules name their destination, so old rules do not match
     * packets for the new routes. */
    emit_new_routes(order, FALSE);
    emit_new_rules(order, FALSE);
    /* If table= gives a NIC the table of another NIC, the former holder leaves first. It has its new rules by now. */
    emit_old_rules(order, USE_FORMER_HOLDER);
    emit_old_routes(order, USE_FORMER_HOLDER);
    emit_new_routes(order, TRUE);
    emit_new_rules(order, TRUE);
    /* NICs that will answer for an address must answer before old rules go and before we tell peers. */
    loosen_arp(order, TRUE);
    emit_old_rules(order, USE_RAIL);
    emit_old_routes(order, USE_RAIL);
    /* From here on, every address is sent from its final NIC: NICs that peers must not learn fall silent, and a NIC
     * whose rp_filter gets strict answers only the peers that it will answer then. */
    tighten_arp(order);
    delete_neighbours(order);
    /* Peers switch immediately. */
    announce(order);
    /* Now no peer sends to the wrong NIC, where a strict rp_filter would drop the packet. */
    tighten_rp_filters(order);
    /* No peer depends on the answers of the other NICs any more. */
    loosen_arp(order, FALSE);
}

/* If a route of one NIC replaces a route of another NIC, the operations of both are one unit. */
static void join_units(const Order *order)
{
    IBH_EACH (const IbhItem, item, order->difference->new_routes) {
        const IbhNic *before = item->replaced && !item->spread ? ibh_route_owner(order->rails, item->replaced) : NULL;
        const int family = item->route->family;

        if (!before || before == item->nic)
            continue;
        IBH_EACH_POINTER (IbhOp, op, order->plan) {
            if (op->unit.kind == IBH_UNIT_NIC && op->unit.family == family &&
                (op->unit.ifindex == before->link->ifindex || op->unit.ifindex == item->nic->link->ifindex))
                op->unit = (IbhUnit){IBH_UNIT_MOVES, family, 0};
        }
    }
}

GPtrArray *ibh_plan_to(const IbhWanted *wanted)
{
    g_auto(IbhDifference) difference = {.wanted = NULL};
    g_autoptr(GArray) taken = NULL;
    Order order = {.difference = &difference,
                   .wanted = wanted,
                   .rails = wanted->rails,
                   .plan = g_ptr_array_new_with_free_func((GDestroyNotify)ibh_op_free)};

    ibh_difference_init(&difference, wanted);
    order.taken = taken = find_taken_tables(&difference);
    if (!difference.is_empty)
        emit_in_order(&order);
    join_units(&order);
    return order.plan;
}

GPtrArray *ibh_plan(const IbhRails *rails)
{
    g_autoptr(IbhWanted) wanted = ibh_wanted_new(rails);

    return ibh_plan_to(wanted);
}
