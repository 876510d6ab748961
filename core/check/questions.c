/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/questions.h"

#include "check/pieces.h"
#include "plan/emit.h"
#include "plan/gateways.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

typedef struct {
    const IbhRails *rails;
    const IbhFib *actual;
    const GArray *pieces; /* IbhPiece: all */
    const GArray *found;  /* IbhPiece: those with a host */
    GArray *siblings;     /* IbhPrefix: subnets of all rails */
    GHashTable *classes;  /* what decides, as text → index of the question that is asked, + 1 */
    GPtrArray *bound;     /* char *: NICs that a foreign rule names by oif */
    gboolean before_local;
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

static void add_subnets(GArray *zones, const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (!ibh_address_is_host(address) && (!family || address->local.family == family))
            add_zone(zones, &address->subnet);
    }
}

/* IbhPrefix: the outermost */
static GArray *find_zones(const Asking *asking, const IbhNic *nic, int family)
{
    GArray *zones = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
    const GArray *remote = nic->settings.remote;

    add_subnets(zones, nic, family);
    for (guint i = 0; remote && i < remote->len; i++) {
        const IbhPrefix *prefix = &g_array_index(remote, IbhPrefix, i);

        if (!family || prefix->ip.family == family)
            add_zone(zones, prefix);
    }
    if (!remote || !remote->len)
        return zones;
    IBH_EACH (const IbhPrefix, subnet, asking->siblings) {
        if ((!family || subnet->ip.family == family) && ibh_prefixes_overlap(remote, subnet))
            add_zone(zones, subnet);
    }
    return zones;
}

static GArray *find_all_zones(Asking *asking)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GArray *all = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
    char text[IBH_PREFIX_STRLEN];

    IBH_EACH_POINTER (const IbhNic, nic, asking->rails->nics) {
        g_autoptr(GArray) zones = NULL;

        if (!nic->rank)
            continue;
        zones = find_zones(asking, nic, 0);
        IBH_EACH (const IbhPrefix, zone, zones) {
            if (g_hash_table_add(seen, g_strdup(ibh_prefix_format(zone, text))))
                g_array_append_val(all, *zone);
        }
    }
    return all;
}

/* ---- questions and their classes ---- */

/* Our own rules to one table are alike; every other object counts for itself. */
static char *name_class(const IbhQuestion *question, const IbhTrace *trace, const char *more)
{
    gboolean ours = trace->rule && ibh_rule_is_ours(trace->rule);

    return g_strdup_printf("%d %u %d %d %p %u/%u %p %p %s", question->kind, question->nic->position,
                           question->lookup.to.family, question->lookup.bound, ours ? NULL : (gconstpointer)trace->rule,
                           ours ? trace->rule->priority : 0, ours ? trace->rule->table : 0, (gconstpointer)trace->jump,
                           (gconstpointer)trace->route, more ? more : "");
}

/* `as`: what decides about it beside rules and routes of its own way; NULL: nothing. */
static void ask(const Asking *asking, IbhQuestion *question, const char *as)
{
    const IbhTrace trace = ibh_fib_walk(asking->actual, &question->lookup);
    g_autofree char *name = name_class(question, &trace, as);
    gpointer like = g_hash_table_lookup(asking->classes, name);

    question->asked = !like || question->kind == IBH_ASK_PROXIES;
    question->like = question->asked ? asking->questions->len : GPOINTER_TO_UINT(like) - 1;
    if (!like)
        g_hash_table_insert(asking->classes, g_steal_pointer(&name), GUINT_TO_POINTER(question->like + 1));
    g_array_append_val(asking->questions, *question);
}

static void ask_simply(const Asking *asking, IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from,
                       const IbhIp *to)
{
    IbhQuestion question = {.kind = kind,
                            .nic = nic,
                            .piece = ibh_prefix(to, ibh_ip_bits(to)),
                            .lookup = {.from = *from, .to = *to, .match = kind == IBH_ASK_UNBOUND}};

    if (kind == IBH_ASK_PROXIES)
        question.lookup.iif = nic->link->ifindex;
    ask(asking, &question, NULL);
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
    way = name_class(out, &trace, NULL);
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
    if (!g_ptr_array_find_with_equal_func(asking->bound, nic->link->name, g_str_equal, NULL))
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

static gboolean is_beyond(const IbhPiece *piece)
{
    static const guint8 nets[][4] = {{192, 0, 2}, {198, 51, 100}, {203, 0, 113}}, six[] = {0x20, 0x01, 0x0d, 0xb8};

    if (piece->prefix.ip.family == AF_INET6)
        return piece->prefix.length == 32 && memcmp(piece->prefix.ip.bytes, six, sizeof six) == 0;
    for (guint i = 0; i < G_N_ELEMENTS(nets); i++) {
        if (piece->prefix.length == 24 && memcmp(piece->prefix.ip.bytes, nets[i], 3) == 0)
            return TRUE;
    }
    return FALSE;
}

static void ask_beyond(const Asking *asking, const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH (const IbhPiece, piece, asking->found) {
        const IbhRoute *route;

        if (!is_beyond(piece) || piece->prefix.ip.family != address->local.family)
            continue;
        route = ibh_fib_find(asking->actual, IBH_TABLE_MAIN, &piece->host);
        if (route && route->dst.length)
            continue;
        ask_piece(asking, nic, address, piece);
        return;
    }
}

static void ask_from(const Asking *asking, const IbhNic *nic, const IbhAddress *address, const GArray *zones)
{
    guint first, end;

    IBH_EACH (const IbhPrefix, zone, zones) {
        if (zone->ip.family != address->local.family)
            continue;
        ibh_pieces_inside(asking->found, zone, &first, &end);
        for (guint i = first; i < end; i++)
            ask_piece(asking, nic, address, &g_array_index(asking->found, IbhPiece, i));
    }
    if (reaches_beyond(nic, address->local.family))
        ask_beyond(asking, nic, address);
}

/* To itself and to the next rail; to all, where a rule comes before table local's. */
static void ask_local(const Asking *asking, const IbhNic *nic, const IbhIp *from)
{
    guint others = 0;

    ask_simply(asking, IBH_ASK_LOCAL, nic, from, from);
    IBH_EACH_POINTER (const IbhNic, other, asking->rails->nics) {
        if (other == nic || !ibh_is_routed(other) || (others && !asking->before_local))
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, &other->served) {
            if (address->local.family == from->family) {
                ask_simply(asking, IBH_ASK_LOCAL, nic, from, &address->local);
                others++;
                break;
            }
        }
    }
}

/* With proxy_arp a NIC answers for every address that would be forwarded by another one. */
static void ask_proxies(const Asking *asking, const IbhNic *nic, const IbhPrefix *subnet)
{
    IbhIp first, second;

    if (!nic->link->forwarding || !ibh_find_neighbour(asking->pieces, subnet, NULL, &first))
        return;
    IBH_EACH (const IbhNeighbour, other, asking->rails->snapshot->neighbours) {
        if (other->proxied && other->ifindex == nic->link->ifindex && ibh_prefix_contains(subnet, &other->ip))
            ask_simply(asking, IBH_ASK_PROXIES, nic, &first, &other->ip);
    }
    if ((nic->link->proxy_arp || asking->rails->snapshot->proxy_arp) &&
        ibh_find_neighbour(asking->pieces, subnet, &first, &second))
        ask_simply(asking, IBH_ASK_PROXIES, nic, &first, &second);
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
        add_subnets(subnets, nic, 0);
        IBH_EACH (const IbhPrefix, subnet, subnets) {
            ibh_pieces_inside(asking->found, subnet, &first, &end);
            for (guint i = first; i < end; i++) {
                IbhPiece *piece = &g_array_index(asking->found, IbhPiece, i);
                const IbhIp none = {.family = piece->prefix.ip.family};

                if (g_hash_table_add(seen, piece))
                    ask_simply(asking, IBH_ASK_UNBOUND, nic, &none, &piece->host);
            }
        }
    }
}

static void ask_about_rail(const Asking *asking, const IbhNic *nic)
{
    g_autoptr(GArray) zones = find_zones(asking, nic, 0);

    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        const IbhNic *owner = ibh_rails_owner(asking->rails, &address->local);

        if ((owner && owner != nic))
            continue;
        ask_from(asking, nic, address, zones);
        ask_local(asking, nic, &address->local);
    }
    IBH_EACH (const IbhPrefix, zone, zones) {
        if (zone->ip.family == AF_INET && ibh_serves_subnet(nic, zone))
            ask_proxies(asking, nic, zone);
    }
}

/* It is kept silent on the rails' wire, but as a proxy it still answers. */
static void ask_about_silent(const Asking *asking, const IbhNic *nic)
{
    g_autoptr(GArray) subnets = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));

    IBH_EACH_POINTER (const IbhNic, rail, asking->rails->nics) {
        if (rail->status == IBH_NIC_RAIL && rail->link->type == nic->link->type)
            add_subnets(subnets, rail, AF_INET);
    }
    IBH_EACH (const IbhPrefix, subnet, subnets)
        ask_proxies(asking, nic, subnet);
}

/* What foreign rules make necessary. */
static void look_at_rules(Asking *asking)
{
    gboolean local[2] = {FALSE, FALSE};

    IBH_EACH (const IbhRule, rule, asking->rails->snapshot->rules) {
        gboolean *seen = &local[rule->family == AF_INET6];

        if ((rule->selectors & IBH_SELECT_OIF) && !ibh_rule_is_ours(rule))
            g_ptr_array_add(asking->bound, (gpointer)(guintptr)rule->by.oif);
        *seen |= ibh_rule_is_expected(rule) && rule->table == IBH_TABLE_LOCAL;
        asking->before_local |= !*seen && !rule->l3mdev;
    }
}

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only)
{
    g_auto(IbhWanted) wanted = {0};
    g_autoptr(IbhFib) actual = NULL;
    g_autoptr(GArray) pieces = NULL, zones = NULL, found = g_array_new(FALSE, TRUE, sizeof(IbhPiece)),
                      siblings = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
    g_autoptr(GHashTable) classes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) bound = g_ptr_array_new();
    Asking asking = {.rails = rails,
                     .siblings = siblings,
                     .classes = classes,
                     .bound = bound,
                     .questions = g_array_new(FALSE, TRUE, sizeof(IbhQuestion))};

    ibh_wanted_init(&wanted, rails);
    actual = ibh_model_new(&wanted, IBH_MODEL_ACTUAL, NULL);
    asking.actual = actual;
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL)
            add_subnets(siblings, nic, 0);
    }
    zones = find_all_zones(&asking);
    pieces = ibh_pieces_new(&wanted, zones, found);
    asking.pieces = pieces;
    asking.found = found;
    look_at_rules(&asking);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (ibh_is_routed(nic) && ibh_nic_is_usable(nic) && ibh_is_selected(nic, only))
            ask_about_rail(&asking, nic);
        else if (ibh_must_be_silent(rails, nic) && ibh_is_selected(nic, only))
            ask_about_silent(&asking, nic);
    }
    ask_unbound(&asking, only);
    return asking.questions;
}
