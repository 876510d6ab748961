/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "check/check.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

gboolean ibh_nic_serves_subnet(const IbhNic *nic, const IbhPrefix *subnet)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (ibh_prefix_equal(&address->subnet, subnet))
            return TRUE;
    }
    return FALSE;
}

const IbhAddress *ibh_nic_address_near(const IbhNic *nic, const IbhIp *ip)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (ibh_prefix_contains(&address->subnet, ip))
            return address;
    }
    return NULL;
}

gboolean ibh_nic_leaves_to_others(const IbhNic *nic, const IbhAddress *address, const IbhIp *to)
{
    const IbhPair *best = NULL;

    IBH_EACH (const IbhPair, pair, nic->pairs) {
        if (pair->address == address && ibh_prefix_contains(&pair->to, to) &&
            (!best || pair->to.length > best->to.length))
            best = pair;
    }
    return best ? best->theirs != NULL : ibh_nic_foreign_rule(nic, address) != NULL;
}

static gboolean has_zone_around(const GArray *zones, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhPrefix, zone, zones) {
        if (ibh_prefix_covers(zone, prefix))
            return TRUE;
    }
    return FALSE;
}

/* Adds a zone unless another zone covers the prefix, and removes the zones inside the prefix, so that ask_zone() asks
 * about each piece once. */
static void add_zone(GArray *zones, const IbhPrefix *prefix)
{
    if (has_zone_around(zones, prefix))
        return;
    IBH_EACH_BACK (const IbhPrefix, zone, zones) {
        if (ibh_prefix_covers(prefix, zone))
            IBH_REMOVE(IbhPrefix, zone, zones);
    }
    g_array_append_vals(zones, prefix, 1);
}

/* Returns the zones (IbhPrefix) of the address `from` of a rail: the networks into which --check follows packets from
 * this address. The list also has zones of the other family, which ask_about_rail() skips. The zones are the rail's
 * remote=, which may cover subnets of other rails, and the rail's subnets. A subnet in which all addresses of the rail
 * are advertised is a zone only if `from` has a pair (IbhPair) with this subnet. */
static GArray *find_zones(const IbhRails *rails, const IbhNic *nic, const IbhAddress *from)
{
    GArray *zones = IBH_NEW_ARRAY(IbhPrefix);

    IBH_EACH (const IbhRemote, remote, nic->settings.remote)
        add_zone(zones, &remote->prefix);
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        gboolean matters = !ibh_rails_is_advertised(rails, address);

        IBH_EACH (const IbhPair, pair, nic->pairs)
            matters |= pair->address == from && ibh_prefix_equal(&pair->to, &address->subnet);
        if (matters && !ibh_address_is_host(address))
            add_zone(zones, &address->subnet);
    }
    return zones;
}

gboolean ibh_check_find_link_prefix(const IbhCheck *check, const IbhAddress *address, IbhPrefix *ret_prefix)
{
    const guint bits = ibh_ip_bits(&address->local);

    ret_prefix->length = bits; /* no prefix found yet */
    IBH_EACH (const IbhRoute, route, check->rails->snapshot->main_by_nic) {
        const IbhPrefix *dst = &route->dst;

        if (route->ifindex == address->ifindex && !route->gateway.family && !route->special && dst->length &&
            dst->length < ret_prefix->length && ibh_prefix_contains(dst, &address->local))
            *ret_prefix = *dst;
    }
    return ibh_address_is_host(address) && ret_prefix->length < bits;
}

gboolean ibh_check_asks_from(const IbhCheck *check, const IbhNic *nic, const IbhIp *from)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        if (question->kind == IBH_ASK_LEAVES && question->nic == nic && ibh_ip_equal(&question->lookup.from, from))
            return TRUE;
    }
    return FALSE;
}

/* ---- questions and their classes ---- */

/* Adds a question, with its trace, and returns a copy. The kernel is asked about the first packet of each class. If
 * there are IPv6 routes with a source prefix ("from"), which only the kernel can follow, each IPv6 packet is a class of
 * its own. Other questions are in one class if these things are the same:
 * - the kind, the NIC, the family, and `bound` (IbhLookup);
 * - the rule that decides (all our rules with one priority and table count as one rule), the first goto, the route, and
 *   the set of rules on the way that only the kernel can evaluate;
 * - for replies, the class of the request: `request` is the representative of the request, + 1; 0 for a packet that is
 *   no reply. */
static IbhQuestion add_question(IbhCheck *check, IbhQuestion question, guint request)
{
    const gboolean is_alone = check->has_source_routes6 && question.lookup.to.family == AF_INET6;
    const IbhTrace *got = &question.got;
    g_autofree char *decider = NULL, *class = NULL;
    guint found = 0; /* the representative of the class, + 1; 0: the class is new */

    question.got = ibh_fib_walk(check->actual, &question.lookup);
    decider = got->rule && ibh_rule_is_ours(got->rule) ? g_strdup_printf("%u/%u", got->rule->priority, got->rule->table)
                                                       : g_strdup_printf("%p", (gconstpointer)got->rule);
    class = g_strdup_printf("%d %u %d %d %s %p %p %" G_GSIZE_FORMAT " %u", question.kind, question.nic->position,
                            question.lookup.to.family, question.lookup.bound, decider, (gconstpointer)got->jump,
                            (gconstpointer)got->route, got->unknown, request);
    if (!is_alone)
        found = GPOINTER_TO_UINT(g_hash_table_lookup(check->classes, class));
    question.asked = !found;
    question.representative = found ? found - 1 : check->questions->len;
    question.lookup.neutral = check->neutral;
    /* For packets of these kinds, find_answer() (verdict.c) needs the table and the prefix of the kernel's route. */
    question.lookup.match = question.kind == IBH_ASK_LEAVES || question.kind == IBH_ASK_UNBOUND;
    if (!found)
        g_hash_table_insert(check->classes, g_steal_pointer(&class), GUINT_TO_POINTER(question.representative + 1));
    g_array_append_val(check->questions, question);
    return question;
}

/* Asks about a packet from the address into the piece. If the packet leaves through this NIC to a host of the address's
 * IPv4 subnet, also asks about the reply, which rp_filter may drop. If check->asks_bound, and if the packet does not
 * stay on this host, also asks about the same packet from a socket that is bound to the NIC. `link_length`: see
 * IbhQuestion. */
static void ask_piece(IbhCheck *check, const IbhNic *nic, const IbhAddress *address, const IbhPiece *piece,
                      guint link_length)
{
    const int ifindex = nic->link->ifindex;
    IbhQuestion question = {.kind = IBH_ASK_LEAVES,
                            .nic = nic,
                            .piece = piece->prefix,
                            .is_foreign = ibh_nic_leaves_to_others(nic, address, &piece->host),
                            .link_length = link_length,
                            .lookup = {.from = address->local, .to = piece->host}};
    IbhQuestion reply = question;
    const IbhRoute *route;

    question = add_question(check, question, 0);
    route = question.got.route;
    reply.kind = IBH_ASK_ARRIVES;
    reply.lookup = (IbhLookup){.from = piece->host, .to = address->local, .iif = ifindex};
    /* No host answers from a broadcast or multicast address. */
    if (address->local.family == AF_INET && ibh_prefix_contains(&address->subnet, &piece->host) && route &&
        route->type == RTN_UNICAST && ibh_route_leads_through(route, ifindex))
        add_question(check, reply, question.representative + 1);
    question.lookup.bound = ifindex;
    if (check->asks_bound && !(route && route->type == RTN_LOCAL))
        add_question(check, question, 0);
}

/* Asks about each piece of a zone, except pieces that are not unicast, such as 127.0.0.0/8 in the zone 64.0.0.0/2. If
 * the piece lies in a subnet of the NIC, also asks about traffic without a source address to the piece, but only once,
 * even if several NICs have the subnet. */
static void ask_zone(IbhCheck *check, const IbhNic *nic, const IbhAddress *address, const IbhPrefix *zone)
{
    IbhPiece *end;

    for (IbhPiece *piece = ibh_check_pieces_inside(check, zone, &end); piece < end; piece++) {
        const IbhQuestion unbound = {.kind = IBH_ASK_UNBOUND,
                                     .nic = nic,
                                     .piece = piece->prefix,
                                     .lookup = {.from.family = piece->host.family, .to = piece->host}};

        if (!ibh_ip_is_unicast(&piece->host))
            continue;
        ask_piece(check, nic, address, piece, 0);
        if (!piece->asked_unbound && ibh_nic_address_near(nic, &piece->host)) {
            piece->asked_unbound = TRUE;
            add_question(check, unbound, 0);
        }
    }
}

/* If gateway= names a gateway, asks about other networks: about a host that no rule or route names (the piece /0); and
 * about each host outside of the zones, if packets from the address to that host take a cached route. The cached routes
 * that we read are in the main table. Our rules let longer prefixes of main win over the rail's default, so a cached
 * route wins, too, as if somebody had configured it. */
static void ask_beyond(IbhCheck *check, const IbhNic *nic, const IbhAddress *address, const GArray *zones)
{
    const IbhPrefix world = ibh_prefix_of_world(address->local.family);
    IbhPiece *end, *first = ibh_check_pieces_inside(check, &world, &end);
    IbhIp gateway;

    if (!ibh_nic_find_gateway(nic, world.ip.family, &gateway))
        return;
    if (first < end && !first->prefix.length && ibh_ip_is_unicast(&first->host))
        ask_piece(check, nic, address, first, 0);
    IBH_EACH_ROUTE (route, check) {
        const IbhLookup packet = {.from = address->local, .to = route->dst.ip};

        if (!route->cached || route->family != address->local.family || has_zone_around(zones, &route->dst))
            continue;
        first = ibh_check_pieces_inside(check, &route->dst, &end);
        if (first < end && ibh_fib_walk(check->actual, &packet).route == route)
            ask_piece(check, nic, address, first, 0);
    }
}

/* Asks about packets from the address `from` to this host, that is, to these addresses of the same family, if table
 * local has them (ibh_address_is_in_local()):
 * - `from` itself;
 * - an address of one other rail; if a rule comes before the rule for table local, an address of every other rail;
 * - each served address of a NIC that is not a rail, if the NIC is usable and has no master, and the address has a
 *   subnet and lies in a zone.
 * Single addresses of NICs that are not candidates, such as lo, are pieces, so ask_zone() asks about them. */
static void ask_local(IbhCheck *check, const IbhNic *nic, const IbhIp *from, const GArray *zones)
{
    gboolean asked_other_rail = FALSE;

    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        const gboolean is_rail = other->status == IBH_NIC_RAIL;

        if (is_rail && other != nic && asked_other_rail && !check->has_rule_before_local)
            continue;
        if (!is_rail && (!ibh_nic_is_usable(other) || other->link->master))
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, other->served) {
            const IbhPrefix to = ibh_prefix_of_host(&address->local);
            const IbhQuestion question = {
                .kind = IBH_ASK_LOCAL, .nic = nic, .piece = to, .lookup = {.from = *from, .to = to.ip}};

            if (!ibh_address_is_in_local(check->rails->snapshot, address))
                continue;
            if (to.ip.family != from->family || (other == nic && !ibh_ip_equal(&to.ip, from)) ||
                (!is_rail && (ibh_address_is_host(address) || !has_zone_around(zones, &to))))
                continue;
            add_question(check, question, 0);
            if (is_rail) {
                asked_other_rail |= other != nic;
                break;
            }
        }
    }
}

static void ask_about_rail(IbhCheck *check, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        const IbhNic *owner = ibh_rails_owner(check->rails, &address->local);
        g_autoptr(GArray) zones = find_zones(check->rails, nic, address);
        IbhPrefix link_prefix;
        IbhPiece *end;

        if (owner && owner != nic)
            continue; /* another rail has the same address, and the rules for it */
        IBH_EACH (const IbhPrefix, zone, zones) {
            if (zone->ip.family == address->local.family)
                ask_zone(check, nic, address, zone);
        }
        /* an address without a subnet: ask about the network on its NIC's link */
        if (ibh_check_find_link_prefix(check, address, &link_prefix) && !has_zone_around(zones, &link_prefix)) {
            for (const IbhPiece *piece = ibh_check_pieces_inside(check, &link_prefix, &end); piece < end; piece++)
                ask_piece(check, nic, address, piece, link_prefix.length);
        }
        ask_beyond(check, nic, address, zones);
        ask_local(check, nic, &address->local, zones);
    }
}

/* Sets asks_bound, has_rule_before_local, has_source_routes6 and neutral, as foreign rules and routes require. For a
 * packet of a bound socket, IPv4 ignores routes through other NICs. So such a packet may meet an error route that other
 * packets do not meet. */
static void note_foreign_rules_and_routes(IbhCheck *check)
{
    /* In an IPv4 look-up, the kernel accepts no other protocols. */
    static const guint8 protocols[] = {IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP};
    gboolean has_local_rule[2] = {FALSE, FALSE};
    guint named[256] = {0};

    IBH_EACH (const IbhRule, rule, check->rails->snapshot->rules) {
        gboolean *seen = &has_local_rule[rule->family == AF_INET6];

        check->asks_bound |= (rule->selectors & IBH_SELECT_OIF) && !ibh_rule_is_ours(rule);
        /* Rules come in the kernel's order, so `*seen` stays FALSE only for rules that come before their family's
         * first rule for table local. */
        *seen |= ibh_rule_is_expected(rule) && rule->table == IBH_TABLE_LOCAL;
        check->has_rule_before_local |= !*seen;
        if (rule->family == AF_INET)
            named[rule->by.ip_protocol]++;
    }
    IBH_EACH_ROW (const guint8, protocol, protocols) {
        if (!check->neutral || named[*protocol] < named[check->neutral])
            check->neutral = *protocol;
    }
    IBH_EACH_ROUTE (route, check) {
        check->asks_bound |= route->family == AF_INET && ibh_route_is_error(route);
        check->has_source_routes6 |= route->family == AF_INET6 && route->special && !route->cached;
    }
}

IbhCheck *ibh_check_new(const IbhRails *rails, const IbhFacts *facts, const char *const *only)
{
    IbhCheck *check = g_new0(IbhCheck, 1);

    check->rails = rails;
    check->facts = facts;
    check->only = only;
    check->questions = g_array_new(FALSE, TRUE, sizeof(IbhQuestion));
    check->classes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    check->own = ibh_snapshot_own_routes(rails->snapshot);
    check->actual = ibh_check_model_new(check, IBH_MODEL_ACTUAL);
    check->ideal = ibh_check_model_new(check, IBH_MODEL_IDEAL);
    check->repaired = ibh_check_model_new(check, IBH_MODEL_REPAIRED);
    check->without = IBH_NEW_ARRAY(IbhOwner);
    ibh_fib_set_without(check->ideal, check->without);
    ibh_fib_set_without(check->repaired, check->without);
    ibh_check_cut_pieces(check);
    note_foreign_rules_and_routes(check);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL && ibh_nic_is_usable(nic) && ibh_nic_is_selected(nic, only))
            ask_about_rail(check, nic);
    }
    return check;
}

void ibh_check_free(IbhCheck *check)
{
    g_array_unref(check->questions);
    g_hash_table_unref(check->classes);
    g_array_unref(check->own);
    g_array_unref(check->pieces);
    ibh_fib_free(check->actual);
    ibh_fib_free(check->ideal);
    ibh_fib_free(check->repaired);
    g_array_unref(check->without);
    g_free(check);
}
