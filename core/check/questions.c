/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/questions.h"

#include "check/asking.h"
#include "check/rules.h"
#include "plan/emit.h"
#include "plan/want.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* The NIC whose address this is; NULL: none. */
static const IbhNic *find_asked(const IbhRails *rails, const IbhIp *address)
{
    return ibh_rails_owner(rails, address);
}

static gboolean can_match_rail(const IbhRails *rails, const IbhRule *rule)
{
    if (!rule->from.length || (rule->selectors & IBH_SELECT_NOT))
        return TRUE;
    if (rule->from.length == ibh_ip_bits(&rule->from.ip))
        return find_asked(rails, &rule->from.ip) != NULL;
    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses) {
        if (ibh_prefix_contains(&rule->from, &address->local))
            return TRUE;
    }
    return FALSE;
}

static GPtrArray *find_foreign_rules(const IbhRails *rails)
{
    GPtrArray *foreign = g_ptr_array_new();

    IBH_EACH (IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_foreign(rails, rule) && can_match_rail(rails, rule))
            g_ptr_array_add(foreign, rule);
    }
    return foreign;
}

static gboolean have_same_rules(const IbhAsking *asking, const IbhAddress *a, const IbhAddress *b)
{
    IBH_EACH_POINTER (const IbhRule, rule, asking->foreign) {
        if (ibh_rule_matches_source(rule, &a->local) != ibh_rule_matches_source(rule, &b->local))
            return FALSE;
    }
    return TRUE;
}

/* ---- questions ---- */

static const IbhAddress *first_address(const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (address->local.family == family)
            return address;
    }
    return NULL;
}

#define OWN_MAX 1024 /* own addresses that are all asked for */

/* Each own address is this host's. */
static void ask_own(const IbhAsking *asking, const IbhNic *nic, int family)
{
    if (asking->rails->snapshot->addresses->len > OWN_MAX)
        return;
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (address->local.family == family && address != first_address(nic, family))
            ibh_ask_simply(asking, IBH_ASK_LOCAL, nic, &address->local, &address->local);
    }
}

/* From each rail to itself and to the next one: a ring reaches all of them. */
static void ask_local(const IbhAsking *asking, const IbhNic *nic, int family)
{
    const IbhRails *rails = asking->rails;
    const IbhAddress *own = first_address(nic, family), *next = NULL;
    gboolean passed = FALSE;

    IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
        if (other == nic)
            passed = TRUE;
        else if (ibh_is_routed(other) && (passed || !next)) {
            const IbhAddress *first = first_address(other, family);

            next = first ? first : next;
            if (passed && first)
                break;
        }
    }
    if (own)
        ibh_ask_simply(asking, IBH_ASK_LOCAL, nic, &own->local, &own->local);
    if (own && next)
        ibh_ask_simply(asking, IBH_ASK_LOCAL, nic, &own->local, &next->local);
}

/* Traffic without a source. Main may lack the connected route on purpose: if another program routes the NIC, and in
 * IPv6. */
static void ask_unbound(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address, const IbhIp *neighbour)
{
    const IbhIp none = {.family = neighbour->family};
    gboolean may_lack =
        ibh_rails_theirs(asking->rails, address) || (neighbour->family == AF_INET6 && !address->is_on_link);
    gboolean has = ibh_main_has(asking->rails, &address->subnet);

    if (has ? !ibh_is_asked_unbound(asking, neighbour) : !may_lack)
        ibh_ask_simply(asking, IBH_ASK_UNBOUND, nic, &none, neighbour);
}

/* With proxy_arp a NIC answers for every address that would be forwarded by another one. */
static void ask_proxies(const IbhAsking *asking, const IbhNic *nic, const IbhPrefix *subnet, const IbhIp *neighbour,
                        GArray *holes)
{
    const IbhPrefix first = ibh_prefix(neighbour, ibh_ip_bits(neighbour));
    IbhIp second;

    if (!nic->link->forwarding)
        return;
    IBH_EACH (const IbhNeighbour, other, asking->rails->snapshot->neighbours) {
        if (other->proxied && other->ifindex == nic->link->ifindex && ibh_prefix_contains(subnet, &other->ip))
            ibh_ask_simply(asking, IBH_ASK_PROXIES, nic, neighbour, &other->ip);
    }
    if (!nic->link->proxy_arp && !asking->rails->snapshot->proxy_arp)
        return;
    g_array_append_val(holes, first);
    if (ibh_find_neighbour(&asking->all, subnet, holes, &second))
        ibh_ask_simply(asking, IBH_ASK_PROXIES, nic, neighbour, &second);
    g_array_set_size(holes, holes->len - 1);
}

/* Rules that refuse what arrives from a piece of the subnet alone. */
static void ask_about_refusals(const IbhAsking *asking, const IbhAskTarget *target)
{
    IBH_EACH (const IbhRule, rule, asking->rails->snapshot->rules) {
        IbhIp neighbour;

        if (rule->family == target->address->local.family && ibh_rule_refuses(rule) &&
            ibh_prefix_is_inside(&rule->from, target->prefix) &&
            ibh_find_in_piece(&asking->all, &rule->from, NULL, &neighbour))
            ibh_ask_simply(asking, IBH_ASK_ARRIVES, target->nic, &neighbour, &target->address->local);
    }
}

static void ask_about_subnet(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address)
{
    g_autoptr(GArray) holes = ibh_find_holes(asking->rails, &address->subnet);
    const IbhAskTarget target = {.nic = nic, .address = address, .prefix = &address->subnet, .holes = holes};
    IbhQuestion question;
    IbhIp neighbour;

    if (ibh_find_neighbour(&asking->all, &address->subnet, holes, &neighbour)) {
        question = ibh_ask_leaving(&target, &neighbour);
        ibh_question_add(asking, &question);
        ask_unbound(asking, nic, address, &neighbour);
        if (neighbour.family == AF_INET) { /* IPv6 has no rp_filter, and no ARP */
            ibh_ask_simply(asking, IBH_ASK_ARRIVES, nic, &neighbour, &address->local);
            ask_proxies(asking, nic, &address->subnet, &neighbour, holes);
        }
    }
    ibh_ask_unbound_pieces(asking, &target);
    ask_about_refusals(asking, &target);
    ibh_ask_about_others(asking, &target);
    if (nic->status == IBH_NIC_RAIL)
        ibh_ask_about_holes(asking, &target);
}

/* Foreign routes in the rail's own tables, to destinations beyond its subnets: they may use the rail itself. */
static void ask_beyond(const IbhAsking *asking, const IbhNic *nic, const IbhIp *own)
{
    IBH_EACH (const IbhRoute, route, asking->rails->snapshot->routes) {
        IbhQuestion question;
        IbhIp neighbour;

        if (ibh_route_is_ours(route) || !ibh_nic_has_table(nic, route->table) || route->family != own->family ||
            !route->dst.length || ibh_find_address_near(asking->rails, nic->link->ifindex, &route->dst.ip) ||
            !ibh_find_in_piece(&asking->all, &route->dst, NULL, &neighbour))
            continue;
        question = ibh_ask_about(IBH_ASK_ELSEWHERE, nic, own, &neighbour);
        question.as_main_says = TRUE;
        ibh_question_add(asking, &question);
    }
}

/* An address reserved for documentation stands for all destinations beyond the subnets. */
static void ask_in_default(const IbhAsking *asking, const IbhAskTarget *target)
{
    IbhPrefix beyond;

    if (ibh_prefix_parse(target->prefix->ip.family == AF_INET6 ? "2001:db8::/32" : "192.0.2.0/24", &beyond))
        ibh_ask_in_piece(asking, target, &beyond, NULL);
}

/* The prefixes that its own tables have beyond its subnets: remote=, siblings, gateways. */
static void ask_about_gateways(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH (const IbhRoute, route, asking->rails->snapshot->routes) {
        g_autoptr(GArray) holes = NULL;
        IbhAskTarget target = {.nic = nic, .address = address, .prefix = &route->dst};

        if (!ibh_route_is_ours(route) || !ibh_nic_has_table(nic, route->table) ||
            route->family != address->local.family || route->gateway.family == AF_UNSPEC ||
            ibh_find_address_near(asking->rails, nic->link->ifindex, &route->dst.ip))
            continue;
        holes = ibh_find_holes(asking->rails, &route->dst);
        target.holes = holes;
        if (!route->dst.length) {
            ask_in_default(asking, &target);
            continue;
        }
        ibh_ask_in_piece(asking, &target, &route->dst, NULL);
        ibh_ask_about_others(asking, &target);
        ibh_ask_about_holes(asking, &target);
    }
}

/* A foreign route in the rail's own table takes all of it. */
static gboolean is_covered_by_foreign(const IbhRails *rails, const IbhNic *nic, const IbhPrefix *network)
{
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (!ibh_route_is_ours(route) && route->table == nic->table && route->family == network->ip.family &&
            route->dst.length <= network->length && ibh_prefix_contains(&route->dst, &network->ip))
            return TRUE;
    }
    return FALSE;
}

#define ELSEWHERE_MAX 16

/* The networks of other NICs, unless this rail has a subnet there; those of rails only if its table may lead to them.
 */
static void ask_elsewhere(const IbhAsking *asking, const IbhNic *nic, const IbhIp *own)
{
    guint asked = 0;

    IBH_EACH (const IbhRoute, route, asking->rails->snapshot->routes) {
        const IbhNic *other = route->ifindex ? ibh_rails_nic(asking->rails, route->ifindex) : NULL;
        IbhIp neighbour;

        if (asked == ELSEWHERE_MAX)
            return;
        if (route->family != own->family || route->table != IBH_TABLE_MAIN || route->gateway.family != AF_UNSPEC ||
            !other || (other->status == IBH_NIC_RAIL && !is_covered_by_foreign(asking->rails, nic, &route->dst)) ||
            (other->link->flags & IFF_LOOPBACK) || ibh_ip_is_link_local(&route->dst.ip) ||
            ibh_find_address_near(asking->rails, nic->link->ifindex, &route->dst.ip) ||
            !ibh_find_neighbour(&asking->all, &route->dst, NULL, &neighbour))
            continue;
        ibh_ask_simply(asking, IBH_ASK_ELSEWHERE, nic, own, &neighbour);
        asked++;
    }
}

/* The first of its NIC's addresses with the same foreign rules: in its subnet it stands for all that have that subnet,
 * and beyond the subnets, for all of its family. */
static gboolean stands_for_all(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address, gboolean beyond)
{
    IBH_EACH_POINTER (const IbhAddress, other, &nic->served) {
        if (other == address)
            return TRUE;
        if ((beyond ? other->local.family == address->local.family
                    : ibh_prefix_equal(&other->subnet, &address->subnet)) &&
            have_same_rules(asking, other, address) && find_asked(asking->rails, &other->local) == nic)
            return FALSE;
    }
    return TRUE;
}

/* An address leaves by its NIC to all subnets of that NIC, also a single one (a VIP). It is asked for where the
 * addresses of such a subnet do not have the same foreign rules. */
static void ask_in_other_subnets(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH_POINTER (const IbhAddress, other, &nic->served) {
        g_autoptr(GArray) holes = NULL;
        IbhAskTarget target = {.nic = nic, .address = address, .prefix = &other->subnet};

        if (other->local.family != address->local.family || ibh_address_is_host(other) ||
            ibh_prefix_equal(&other->subnet, &address->subnet) || have_same_rules(asking, other, address))
            continue;
        holes = ibh_find_holes(asking->rails, &other->subnet);
        target.holes = holes;
        ibh_ask_in_piece(asking, &target, &other->subnet, NULL);
        ibh_ask_about_others(asking, &target);
    }
}

static void ask_about_family(const IbhAsking *asking, const IbhNic *nic, int family)
{
    if (!first_address(nic, family) || !ibh_check_covers(asking->rails, family))
        return;
    ask_local(asking, nic, family);
    ask_own(asking, nic, family);
}

static void ask_about_rail(const IbhAsking *asking, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (!ibh_check_covers(asking->rails, address->local.family) ||
            find_asked(asking->rails, &address->local) != nic)
            continue;
        if (nic->status == IBH_NIC_RAIL && stands_for_all(asking, nic, address, TRUE)) {
            ask_elsewhere(asking, nic, &address->local);
            ask_about_gateways(asking, nic, address);
            ask_beyond(asking, nic, &address->local);
        }
        if (!stands_for_all(asking, nic, address, FALSE))
            continue;
        if (!ibh_address_is_host(address))
            ask_about_subnet(asking, nic, address);
        if (nic->status == IBH_NIC_RAIL)
            ask_in_other_subnets(asking, nic, address);
        ibh_ask_about_detours(asking, nic, address);
    }
    ask_about_family(asking, nic, AF_INET);
    ask_about_family(asking, nic, AF_INET6);
}

/* A NIC without an IPv4 address is kept silent on the rails' wire, but as a proxy it still answers. */
static void ask_about_silent(const IbhAsking *asking, const IbhNic *nic)
{
    g_autoptr(GArray) subnets = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));

    IBH_EACH_POINTER (const IbhNic, rail, asking->rails->nics) {
        if (rail->status != IBH_NIC_RAIL || rail->link->type != nic->link->type)
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, &rail->served) {
            g_autoptr(GArray) holes = ibh_find_holes(asking->rails, &address->subnet);
            IbhIp neighbour;

            if (address->local.family != AF_INET || ibh_address_is_host(address) ||
                !ibh_add_once(subnets, &address->subnet) ||
                !ibh_find_neighbour(&asking->all, &address->subnet, holes, &neighbour))
                continue;
            ask_proxies(asking, nic, &address->subnet, &neighbour, holes);
        }
    }
}

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only)
{
    g_autoptr(GPtrArray) foreign = find_foreign_rules(rails);
    IbhAsking asking = {.rails = rails, .foreign = foreign, .questions = g_array_new(FALSE, TRUE, sizeof(IbhQuestion))};

    ibh_neighbours_init(&asking.all, rails);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (ibh_is_routed(nic) && ibh_nic_is_usable(nic) && ibh_is_selected(nic, only))
            ask_about_rail(&asking, nic);
        else if (ibh_must_be_silent(rails, nic) && ibh_check_covers(rails, AF_INET) && ibh_is_selected(nic, only))
            ask_about_silent(&asking, nic);
    }
    ibh_neighbours_clear(&asking.all);
    return asking.questions;
}
