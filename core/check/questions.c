/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "check/judge.h"
#include "plan/emit.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

typedef struct {
    const IbhRails *rails;
    const IbhFib *actual;
    const GArray *pieces;         /* IbhPiece */
    GArray *siblings;             /* IbhPrefix: subnets of all rails */
    GHashTable *classes;          /* what decides, as text → index of the question that is asked, + 1 */
    GPtrArray *clashes;           /* const IbhRoute *: of others, in rails' tables */
    GPtrArray *special;           /* const IbhRoute *: of IPv6, for one source: only the kernel knows what they do */
    gboolean before_local, bound; /* foreign rules come before table local's, or name a NIC by oif */
    GArray *questions;
} Asking;

gboolean ibh_nic_is_usable(const IbhNic *nic)
{
    return (nic->link->flags & IFF_UP) && nic->link->carrier;
}

gboolean ibh_is_routed(const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL;
}

const IbhAddress *ibh_find_address_near(const IbhRails *rails, int ifindex, const IbhIp *ip)
{
    const IbhNic *nic = ibh_rails_nic(rails, ifindex);

    if (!nic)
        return NULL;
    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        if (ibh_prefix_contains(&address->subnet, ip))
            return address;
    }
    return NULL;
}

/* ---- where a rail's answer matters: its subnets, remote=, with that its siblings' subnets ---- */

static void add_zone(GArray *zones, const IbhPrefix *zone)
{
    if (!ibh_ip_is_link_local(&zone->ip) || zone->ip.family == AF_INET)
        ibh_prefixes_add(zones, zone);
}

static void add_subnets(GArray *zones, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (!ibh_address_is_host(address))
            add_zone(zones, &address->subnet);
    }
}

/* The subnet of another rail, for a single address that its own NIC has none for. */
static void add_anothers_subnet(const Asking *asking, GArray *zones, const IbhAddress *address)
{
    const IbhPrefix own = ibh_prefix(&address->local, ibh_ip_bits(&address->local));

    if (ibh_prefixes_overlap(zones, &own))
        return;
    IBH_EACH (const IbhPrefix, subnet, asking->siblings) {
        if (ibh_prefix_contains(subnet, &address->local))
            add_zone(zones, subnet);
    }
}

/* IbhPrefix, the outermost, that this address reaches */
static GArray *find_zones(const Asking *asking, const IbhNic *nic, const IbhAddress *address)
{
    GArray *zones = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
    const GArray *remote = nic->settings.remote;

    add_subnets(zones, nic);
    add_anothers_subnet(asking, zones, address);
    for (guint i = 0; remote && i < remote->len; i++)
        add_zone(zones, &g_array_index(remote, IbhPrefix, i));
    if (!remote || !remote->len)
        return zones;
    IBH_EACH (const IbhPrefix, subnet, asking->siblings) {
        if (ibh_prefixes_overlap(remote, subnet))
            add_zone(zones, subnet);
    }
    return zones;
}

/* ---- questions and their classes ---- */

static const IbhRoute *find_special(const Asking *asking, const IbhIp *to)
{
    IBH_EACH_POINTER (const IbhRoute, route, asking->special) {
        if (ibh_prefix_contains(&route->dst, to))
            return route;
    }
    return NULL;
}

/* Our own rules to one table are alike; every other object counts for itself. */
static char *name_class(const Asking *asking, const IbhQuestion *question, const IbhTrace *trace, const char *more)
{
    gboolean ours = trace->rule && ibh_rule_is_ours(trace->rule);

    return g_strdup_printf(
        "%p %d %u %d %d %p %u/%u %p %p %s", (gconstpointer)find_special(asking, &question->lookup.to), question->kind,
        question->nic->position, question->lookup.to.family, question->lookup.bound,
        ours ? NULL : (gconstpointer)trace->rule, ours ? trace->rule->priority : 0, ours ? trace->rule->table : 0,
        (gconstpointer)trace->jump, (gconstpointer)trace->route, more ? more : "");
}

/* `as`: what decides about it beside rules and routes of its own way; NULL: nothing. */
static void ask(const Asking *asking, IbhQuestion *question, const char *as)
{
    const IbhTrace trace = ibh_fib_walk(asking->actual, &question->lookup);
    g_autofree char *name = name_class(asking, question, &trace, as);
    gpointer like = g_hash_table_lookup(asking->classes, name);

    question->asked = !like;
    question->like = question->asked ? asking->questions->len : GPOINTER_TO_UINT(like) - 1;
    if (!like)
        g_hash_table_insert(asking->classes, g_steal_pointer(&name), GUINT_TO_POINTER(question->like + 1));
    g_array_append_val(asking->questions, *question);
}

/* What it is answered comes back the same way. */
static void ask_back(const Asking *asking, const IbhQuestion *out, const IbhAddress *address)
{
    const IbhTrace trace = ibh_fib_walk(asking->actual, &out->lookup);
    g_autofree char *way = NULL;
    IbhQuestion question = {.kind = IBH_ASK_ARRIVES,
                            .nic = out->nic,
                            .piece = out->piece,
                            .lookup = {.from = out->lookup.to, .to = address->local, .iif = out->nic->link->ifindex}};

    if (address->local.family != AF_INET || !trace.route || trace.refused ||
        !ibh_route_leads_by(trace.route, out->nic->link->ifindex))
        return;
    way = name_class(asking, out, &trace, NULL);
    ask(asking, &question, way);
}

static void ask_piece(const Asking *asking, const IbhNic *nic, const IbhAddress *address, const IbhPiece *piece)
{
    IbhQuestion question = {.kind = IBH_ASK_LEAVES,
                            .nic = nic,
                            .piece = piece->prefix,
                            .theirs = ibh_rails_theirs(asking->rails, address) != NULL,
                            .lookup = {.from = address->local, .to = piece->host, .match = TRUE}};

    ask(asking, &question, NULL);
    if (ibh_prefix_contains(&address->subnet, &piece->host))
        ask_back(asking, &question, address);
    if (!asking->bound)
        return;
    question.lookup.bound = nic->link->ifindex; /* a socket of RDMA is bound to the NIC as well */
    g_strlcpy(question.lookup.by.oif, nic->link->name, sizeof question.lookup.by.oif);
    ask(asking, &question, NULL);
}

/* Where gateway= was set. */
static gboolean reaches_beyond(const IbhNic *nic, int family)
{
    IbhIp gateway;

    return nic->settings.gateway >= IBH_GATEWAY_ADDRESS && ibh_find_gateway(nic, family, &gateway);
}

static void ask_beyond(const Asking *asking, const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH (const IbhPiece, piece, asking->pieces) {
        const IbhRoute *route;

        if (!piece->beyond || piece->prefix.ip.family != address->local.family)
            continue;
        route = ibh_fib_find(asking->actual, IBH_TABLE_MAIN, &piece->host);
        if (route && route->dst.length)
            continue;
        ask_piece(asking, nic, address, piece);
        return;
    }
}

/* Our rule leads all that the rail sends into its table. What a route of others in it takes from main, but for its
 * default, is asked. */
static void ask_clashes(const Asking *asking, const IbhNic *nic, const IbhAddress *address)
{
    guint first, end;

    IBH_EACH_POINTER (const IbhRoute, route, asking->clashes) {
        if (route->table != nic->table || route->family != address->local.family || route->type == RTN_THROW ||
            ibh_find_address_near(asking->rails, nic->link->ifindex, &route->dst.ip))
            continue;
        ibh_pieces_inside(asking->pieces, &route->dst, &first, &end);
        for (guint i = first; i < end; i++) {
            const IbhPiece *piece = &g_array_index(asking->pieces, IbhPiece, i);
            const IbhRoute *mains = ibh_fib_find(asking->actual, IBH_TABLE_MAIN, &piece->host);

            if (mains && mains->dst.length && !ibh_route_is_error(mains))
                ask_piece(asking, nic, address, piece);
        }
    }
}

static void ask_from(const Asking *asking, const IbhNic *nic, const IbhAddress *address)
{
    g_autoptr(GArray) zones = find_zones(asking, nic, address);
    guint first, end;

    IBH_EACH (const IbhPrefix, zone, zones) {
        if (zone->ip.family != address->local.family)
            continue;
        ibh_pieces_inside(asking->pieces, zone, &first, &end);
        for (guint i = first; i < end; i++)
            ask_piece(asking, nic, address, &g_array_index(asking->pieces, IbhPiece, i));
    }
    if (reaches_beyond(nic, address->local.family))
        ask_beyond(asking, nic, address);
    ask_clashes(asking, nic, address);
}

static void ask_to_own(const Asking *asking, const IbhNic *nic, const IbhIp *from, const IbhIp *to)
{
    IbhQuestion question = {.kind = IBH_ASK_LOCAL,
                            .nic = nic,
                            .piece = ibh_prefix(to, ibh_ip_bits(to)),
                            .lookup = {.from = *from, .to = *to}};

    ask(asking, &question, NULL);
}

/* To itself and to the next rail; to all, where a rule comes before table local's. */
static void ask_local(const Asking *asking, const IbhNic *nic, const IbhIp *from)
{
    guint others = 0;

    ask_to_own(asking, nic, from, from);
    IBH_EACH_POINTER (const IbhNic, other, asking->rails->nics) {
        if (other == nic || !ibh_is_routed(other) || (others && !asking->before_local))
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, &other->served) {
            if (address->local.family == from->family) {
                ask_to_own(asking, nic, from, &address->local);
                others++;
                break;
            }
        }
    }
}

/* Traffic without a source concerns the whole host: once for each piece of the rails' subnets. */
static void ask_unbound(const Asking *asking, const char *const *only)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    guint first, end;

    IBH_EACH_POINTER (const IbhNic, nic, asking->rails->nics) {
        g_autoptr(GArray) subnets = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));

        if (!ibh_is_routed(nic) || !ibh_nic_is_usable(nic) || !ibh_is_selected(nic, only))
            continue;
        add_subnets(subnets, nic);
        IBH_EACH (const IbhPrefix, subnet, subnets) {
            ibh_pieces_inside(asking->pieces, subnet, &first, &end);
            for (guint i = first; i < end; i++) {
                IbhPiece *piece = &g_array_index(asking->pieces, IbhPiece, i);
                IbhQuestion question = {
                    .kind = IBH_ASK_UNBOUND,
                    .nic = nic,
                    .piece = piece->prefix,
                    .lookup = {.from.family = piece->host.family, .to = piece->host, .match = TRUE}};

                if (g_hash_table_add(seen, piece))
                    ask(asking, &question, NULL);
            }
        }
    }
}

static void ask_about_rail(const Asking *asking, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        const IbhNic *owner = ibh_rails_owner(asking->rails, &address->local);

        if (owner && owner != nic)
            continue;
        ask_from(asking, nic, address);
        ask_local(asking, nic, &address->local);
    }
}

/* What foreign rules make necessary. */
static void look_at_rules(Asking *asking)
{
    gboolean local[2] = {FALSE, FALSE};

    IBH_EACH (const IbhRule, rule, asking->rails->snapshot->rules) {
        gboolean *seen = &local[rule->family == AF_INET6];

        asking->bound |= (rule->selectors & IBH_SELECT_OIF) && !ibh_rule_is_ours(rule);
        *seen |= ibh_rule_is_expected(rule) && rule->table == IBH_TABLE_LOCAL;
        asking->before_local |= !*seen && !rule->l3mdev;
    }
}

static void look_at_routes(const Asking *asking)
{
    IBH_EACH_ROUTE (route, asking->rails->snapshot) {
        if (route->special && route->family == AF_INET6)
            g_ptr_array_add(asking->special, (gpointer)(guintptr)route);
        else if (!ibh_route_is_ours(route) && ibh_rails_nic_by_table(asking->rails, route->table))
            g_ptr_array_add(asking->clashes, (gpointer)(guintptr)route);
    }
}

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only)
{
    g_auto(IbhWanted) wanted = {0};
    g_autoptr(IbhFib) actual = NULL;
    g_autoptr(GArray) pieces = NULL, siblings = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
    g_autoptr(GHashTable) classes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) clashes = g_ptr_array_new(), special = g_ptr_array_new();
    Asking asking = {.rails = rails,
                     .siblings = siblings,
                     .classes = classes,
                     .clashes = clashes,
                     .special = special,
                     .questions = g_array_new(FALSE, TRUE, sizeof(IbhQuestion))};

    ibh_wanted_init(&wanted, rails);
    actual = ibh_model_new(&wanted, IBH_MODEL_ACTUAL, NULL);
    asking.actual = actual;
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL)
            add_subnets(siblings, nic);
    }
    pieces = ibh_pieces_new(&wanted);
    asking.pieces = pieces;
    look_at_rules(&asking);
    look_at_routes(&asking);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (ibh_is_routed(nic) && ibh_nic_is_usable(nic) && ibh_is_selected(nic, only))
            ask_about_rail(&asking, nic);
    }
    ask_unbound(&asking, only);
    return asking.questions;
}
