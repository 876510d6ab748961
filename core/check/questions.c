/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/questions.h"

#include "check/neighbours.h"
#include "check/rules.h"
#include "plan/emit.h"
#include "plan/want.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

gboolean ibh_nic_is_usable(const IbhNic *nic)
{
    return (nic->link->flags & IFF_UP) && nic->link->carrier;
}

gboolean ibh_is_routed(const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL || nic->status == IBH_NIC_DEFERRED;
}

gboolean ibh_check_covers(const IbhRails *rails, int family)
{
    return !rails->family || rails->family == family;
}

/* What is asked, and what all questions need to know. */
typedef struct {
    const IbhRails *rails;
    GPtrArray *foreign; /* const IbhRule *: those of others that can match what a rail sends */
    IbhNeighbours all;
    GArray *questions; /* IbhQuestion */
} Asking;

/* The NIC that this address is asked about; NULL: none. */
static const IbhNic *find_asked(const IbhRails *rails, const IbhIp *address)
{
    const IbhNic *owner = ibh_rails_owner(rails, address), *holder = ibh_rails_holder(rails, address);

    return owner ? owner : holder && holder->status == IBH_NIC_DEFERRED ? holder : NULL;
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

static gboolean have_same_rules(const Asking *asking, const IbhAddress *a, const IbhAddress *b)
{
    IBH_EACH_POINTER (const IbhRule, rule, asking->foreign) {
        if (ibh_rule_matches_source(rule, &a->local) != ibh_rule_matches_source(rule, &b->local))
            return FALSE;
    }
    return TRUE;
}

/* ---- questions ---- */

#define UNASKABLE (IBH_SELECT_NOT | IBH_SELECT_OTHER)
#define SELECTIVE (IBH_SELECT_FWMARK | IBH_SELECT_TOS | IBH_SELECT_UID | IBH_SELECT_PORT)

static IbhQuestion about(IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from, const IbhIp *to)
{
    return (IbhQuestion){
        .kind = kind,
        .nic = nic,
        .lookup = {.from = *from,
                   .to = *to,
                   .iif = kind == IBH_ASK_ARRIVES || kind == IBH_ASK_PROXIES ? nic->link->ifindex : 0,
                   .match = kind == IBH_ASK_LEAVES || kind == IBH_ASK_ELSEWHERE || kind == IBH_ASK_UNBOUND}};
}

/* Where this address is to leave by its NIC: to its subnet, or to what its NIC's own table has. */
typedef struct {
    const IbhNic *nic;
    const IbhAddress *address;
    const IbhPrefix *prefix;
    GArray *holes; /* IbhPrefix: what main has more exactly */
} Target;

static IbhQuestion leaves(const Target *target, const IbhIp *neighbour)
{
    IbhQuestion question = about(IBH_ASK_LEAVES, target->nic, &target->address->local, neighbour);

    question.length = target->prefix->length;
    return question;
}

static void ask(const Asking *asking, const IbhQuestion *question)
{
    if (asking->questions->len < IBH_QUESTIONS_MAX)
        g_array_append_val(asking->questions, *question);
}

/* The same with what a rule matches by. */
static void ask_with(const Asking *asking, IbhQuestion *question, const IbhRule *rule)
{
    question->lookup.by = rule->by;
    question->lookup.selectors = rule->selectors & SELECTIVE;
    ask(asking, question);
}

static void ask_simply(const Asking *asking, IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from,
                       const IbhIp *to)
{
    const IbhQuestion question = about(kind, nic, from, to);

    ask(asking, &question);
}

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
static void ask_own(const Asking *asking, const IbhNic *nic, int family)
{
    if (asking->rails->snapshot->addresses->len > OWN_MAX)
        return;
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (address->local.family == family && address != first_address(nic, family))
            ask_simply(asking, IBH_ASK_LOCAL, nic, &address->local, &address->local);
    }
}

/* From each rail to itself and to the next one: all of them are reached in a ring. */
static void ask_local(const Asking *asking, const IbhNic *nic, int family)
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
        ask_simply(asking, IBH_ASK_LOCAL, nic, &own->local, &own->local);
    if (own && next)
        ask_simply(asking, IBH_ASK_LOCAL, nic, &own->local, &next->local);
}

gboolean ibh_main_has(const IbhRails *rails, const IbhPrefix *subnet)
{
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->table == IBH_TABLE_MAIN && ibh_prefix_equal(&route->dst, subnet))
            return TRUE;
    }
    return FALSE;
}

/* What names no source is the host's: once for each subnet is enough. */
static gboolean is_asked_unbound(const Asking *asking, const IbhIp *to)
{
    IBH_EACH (const IbhQuestion, question, asking->questions) {
        if (question->kind == IBH_ASK_UNBOUND && ibh_ip_equal(&question->lookup.to, to))
            return TRUE;
    }
    return FALSE;
}

/* Traffic without a source. Main may lack the connected route on purpose: with main=remove, where somebody else routes
 * the NIC, and in IPv6, which main=remove does not touch. */
static void ask_unbound(const Asking *asking, const IbhNic *nic, const IbhPrefix *subnet, const IbhIp *neighbour)
{
    const IbhIp none = {.family = neighbour->family};
    gboolean may_lack = nic->status == IBH_NIC_DEFERRED || neighbour->family == AF_INET6;
    gboolean has = ibh_main_has(asking->rails, subnet);

    if (asking->rails->main != IBH_MAIN_REMOVE && (has ? !is_asked_unbound(asking, neighbour) : !may_lack))
        ask_simply(asking, IBH_ASK_UNBOUND, nic, &none, neighbour);
}

/* With proxy_arp a NIC answers for whatever would be forwarded by another one. */
static void ask_proxies(const Asking *asking, const IbhNic *nic, const IbhPrefix *subnet, const IbhIp *neighbour,
                        GArray *holes)
{
    const IbhPrefix first = ibh_prefix(neighbour, ibh_ip_bits(neighbour));
    IbhIp second;

    if (!nic->link->forwarding || !(nic->link->proxy_arp || asking->rails->snapshot->proxy_arp))
        return;
    g_array_append_val(holes, first);
    if (ibh_find_neighbour(&asking->all, subnet, holes, &second))
        ask_simply(asking, IBH_ASK_PROXIES, nic, neighbour, &second);
    g_array_set_size(holes, holes->len - 1);
}

static void ask_in_piece(const Asking *asking, const Target *target, const IbhPrefix *piece, const IbhRule *rule)
{
    IbhQuestion question;
    IbhIp neighbour;

    if (!ibh_find_in_piece(&asking->all, piece, target->holes, &neighbour))
        return;
    question = leaves(target, &neighbour);
    if (rule)
        ask_with(asking, &question, rule);
    else
        ask(asking, &question);
}

/* A rule that takes a piece of it, or only some packets: what it matches is asked with what it matches by. */
static void ask_about_rule(const Asking *asking, const Target *target, const IbhRule *rule)
{
    gboolean takes_piece = ibh_prefix_is_inside(&rule->to, target->prefix);

    if ((takes_piece || (rule->selectors & SELECTIVE)) &&
        (!rule->to.length || ibh_prefix_overlaps(&rule->to, target->prefix)))
        ask_in_piece(asking, target, takes_piece ? &rule->to : target->prefix, rule);
}

/* Somebody's route in a table that this address is led to takes a piece of it. */
static void ask_about_foreign_routes(const Asking *asking, const Target *target, guint32 table, const IbhRule *rule)
{
    const IbhSnapshot *snapshot = asking->rails->snapshot;
    const GArray *lists[] = {snapshot->routes, snapshot->more};

    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (const IbhRoute, route, lists[i]) {
            if (route->table == table && (route->type == RTN_UNICAST || route->type >= RTN_BLACKHOLE) &&
                !ibh_route_is_ours(route) && ibh_prefix_is_inside(&route->dst, target->prefix))
                ask_in_piece(asking, target, &route->dst, rule);
        }
    }
}

static void ask_about_piece(const Asking *asking, const IbhNic *nic, const IbhAddress *address, const IbhRule *rule,
                            const IbhPrefix *subnet)
{
    const IbhPrefix *piece = rule->to.length > subnet->length ? &rule->to : subnet;
    g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    IbhQuestion question;
    IbhIp neighbour;

    g_array_append_val(own, address->subnet);
    if (piece->ip.family != address->local.family || (rule->to.length && !ibh_prefix_overlaps(&rule->to, subnet)) ||
        !ibh_find_in_piece(&asking->all, piece, own, &neighbour) ||
        ibh_find_address_near(asking->rails, nic->link->ifindex, &neighbour))
        return;
    question = about(IBH_ASK_ELSEWHERE, nic, &address->local, &neighbour);
    ask_with(asking, &question, rule);
}

/* A rule that leads to another rail's table, and beyond this one's subnet: to that one's, and what main has inside. */
static void ask_about_detour(const Asking *asking, const IbhNic *nic, const IbhAddress *address, const IbhRule *rule)
{
    const IbhNic *owner = rule->action == FR_ACT_TO_TBL ? ibh_rails_nic_by_table(asking->rails, rule->table) : NULL;

    if (!owner || owner == nic)
        return;
    IBH_EACH_POINTER (const IbhAddress, other, &owner->served) {
        g_autoptr(GArray) holes = ibh_find_holes(asking->rails, &other->subnet);

        ask_about_piece(asking, nic, address, rule, &other->subnet);
        IBH_EACH (const IbhPrefix, hole, holes)
            ask_about_piece(asking, nic, address, rule, hole);
    }
}

static void ask_about_holes(const Asking *asking, const Target *target)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));

    IBH_EACH (const IbhPrefix, hole, target->holes) {
        IbhQuestion question;
        IbhIp neighbour;

        if (!ibh_find_in_piece(&asking->all, hole, none, &neighbour))
            continue;
        question = leaves(target, &neighbour);
        question.as_main_says = TRUE;
        ask(asking, &question);
    }
}

static void ask_unbound_piece(const Asking *asking, const Target *target, const IbhPrefix *piece, const GArray *holes)
{
    const IbhIp none = {.family = piece->ip.family};
    IbhQuestion question;
    IbhIp neighbour;

    if (!ibh_find_in_piece(&asking->all, piece, holes, &neighbour) || is_asked_unbound(asking, &neighbour))
        return;
    question = about(IBH_ASK_UNBOUND, target->nic, &none, &neighbour);
    question.as_main_says = TRUE;
    ask(asking, &question);
}

/* A rule without a source that refuses a piece of the subnet, wherever it stands, refuses it to all the host; so does a
 * throw in main. */
static void ask_unbound_pieces(const Asking *asking, const Target *target)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));

    IBH_EACH (const IbhRule, rule, asking->rails->snapshot->rules) {
        if (rule->family == target->prefix->ip.family && !rule->l3mdev &&
            (!rule->from.length || (rule->selectors & IBH_SELECT_NOT)) &&
            !(rule->selectors & ~(guint)(IBH_SELECT_TO | IBH_SELECT_NOT)) && !ibh_rule_is_ours(rule) &&
            ibh_prefix_is_inside(&rule->to, target->prefix))
            ask_unbound_piece(asking, target, &rule->to, target->holes);
    }
    IBH_EACH (const IbhPrefix, hole, target->holes)
        ask_unbound_piece(asking, target, hole, none);
}

/* An inverted rule matches what its selectors do not: what is asked simply, inside its own destination, too. */
static void ask_about_inverted(const Asking *asking, const Target *target, const IbhRule *rule)
{
    if (ibh_prefix_is_inside(&rule->to, target->prefix))
        ask_in_piece(asking, target, &rule->to, NULL);
    if (rule->action == FR_ACT_TO_TBL)
        ask_about_foreign_routes(asking, target, rule->table, NULL);
}

static void ask_about_others(const Asking *asking, const Target *target)
{
    IBH_EACH_POINTER (const IbhRule, rule, asking->foreign) {
        if ((rule->selectors & IBH_SELECT_NOT) && rule->family == target->prefix->ip.family)
            ask_about_inverted(asking, target, rule);
        if ((rule->selectors & UNASKABLE) || !ibh_rule_matches_source(rule, &target->address->local))
            continue;
        ask_about_rule(asking, target, rule);
        ask_about_detour(asking, target->nic, target->address, rule);
        if (rule->action == FR_ACT_TO_TBL)
            ask_about_foreign_routes(asking, target, rule->table, rule);
    }
    IBH_EACH_POINTER (const IbhRule, rule, asking->rails->routing) {
        if (target->nic->status == IBH_NIC_DEFERRED && ibh_rule_matches_source(rule, &target->address->local))
            ask_about_foreign_routes(asking, target, rule->table, NULL);
    }
    if (target->nic->status == IBH_NIC_RAIL) {
        ask_about_foreign_routes(asking, target, target->nic->table, NULL);
        ask_about_foreign_routes(asking, target, ibh_nic_defaults(target->nic), NULL);
    }
    ask_about_foreign_routes(asking, target, IBH_TABLE_LOCAL, NULL);
}

static void ask_about_subnet(const Asking *asking, const IbhNic *nic, const IbhAddress *address)
{
    g_autoptr(GArray) holes = ibh_find_holes(asking->rails, &address->subnet);
    const Target target = {.nic = nic, .address = address, .prefix = &address->subnet, .holes = holes};
    IbhQuestion question;
    IbhIp neighbour;

    if (ibh_find_neighbour(&asking->all, &address->subnet, holes, &neighbour)) {
        question = leaves(&target, &neighbour);
        ask(asking, &question);
        ask_unbound(asking, nic, &address->subnet, &neighbour);
        if (neighbour.family == AF_INET) { /* IPv6 has no rp_filter, and no ARP */
            ask_simply(asking, IBH_ASK_ARRIVES, nic, &neighbour, &address->local);
            ask_proxies(asking, nic, &address->subnet, &neighbour, holes);
        }
    }
    if (asking->rails->main != IBH_MAIN_REMOVE)
        ask_unbound_pieces(asking, &target);
    ask_about_others(asking, &target);
    if (nic->status == IBH_NIC_RAIL)
        ask_about_holes(asking, &target);
}

/* Somebody's routes in the rail's own tables, to what is beyond its subnets: they may lead there by the rail itself. */
static void ask_beyond(const Asking *asking, const IbhNic *nic, const IbhIp *own)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));

    IBH_EACH (const IbhRoute, route, asking->rails->snapshot->routes) {
        IbhQuestion question;
        IbhIp neighbour;

        if (ibh_route_is_ours(route) || !ibh_nic_has_table(nic, route->table) || route->family != own->family ||
            !route->dst.length || ibh_find_address_near(asking->rails, nic->link->ifindex, &route->dst.ip) ||
            !ibh_find_in_piece(&asking->all, &route->dst, none, &neighbour))
            continue;
        question = about(IBH_ASK_ELSEWHERE, nic, own, &neighbour);
        question.as_main_says = TRUE;
        ask(asking, &question);
    }
}

/* Of all that is beyond, what is for documentation alone stands for the rest. */
static void ask_in_default(const Asking *asking, const Target *target)
{
    IbhPrefix beyond;

    if (ibh_prefix_parse(target->prefix->ip.family == AF_INET6 ? "2001:db8::/32" : "192.0.2.0/24", &beyond))
        ask_in_piece(asking, target, &beyond, NULL);
}

/* What its own tables reach beyond its subnets: remote=, siblings, gateways. */
static void ask_about_gateways(const Asking *asking, const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH (const IbhRoute, route, asking->rails->snapshot->routes) {
        g_autoptr(GArray) holes = NULL;
        Target target = {.nic = nic, .address = address, .prefix = &route->dst};

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
        ask_in_piece(asking, &target, &route->dst, NULL);
        ask_about_others(asking, &target);
    }
}

#define ELSEWHERE_MAX 16

/* The networks of other NICs, as far as this rail has no subnet there. */
static void ask_elsewhere(const Asking *asking, const IbhNic *nic, const IbhIp *own)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    guint asked = 0;

    IBH_EACH (const IbhRoute, route, asking->rails->snapshot->routes) {
        const IbhNic *other = route->ifindex ? ibh_rails_nic(asking->rails, route->ifindex) : NULL;
        IbhIp neighbour;

        if (asked == ELSEWHERE_MAX)
            return;
        if (route->family != own->family || route->table != IBH_TABLE_MAIN || route->gateway.family != AF_UNSPEC ||
            !other || other->status == IBH_NIC_RAIL || (other->link->flags & IFF_LOOPBACK) ||
            ibh_ip_is_link_local(&route->dst.ip) ||
            ibh_find_address_near(asking->rails, nic->link->ifindex, &route->dst.ip) ||
            !ibh_find_neighbour(&asking->all, &route->dst, none, &neighbour))
            continue;
        ask_simply(asking, IBH_ASK_ELSEWHERE, nic, own, &neighbour);
        asked++;
    }
}

/* The first of its NIC's addresses that has this subnet, and the same rules of others. */
static gboolean stands_for_all(const Asking *asking, const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH_POINTER (const IbhAddress, other, &nic->served) {
        if (other == address)
            return TRUE;
        if (ibh_prefix_equal(&other->subnet, &address->subnet) && have_same_rules(asking, other, address) &&
            find_asked(asking->rails, &other->local) == nic)
            return FALSE;
    }
    return TRUE;
}

static void ask_about_family(const Asking *asking, const IbhNic *nic, int family)
{
    const IbhAddress *own = first_address(nic, family);

    if (!own || !ibh_check_covers(asking->rails, family))
        return;
    if (nic->status == IBH_NIC_RAIL) {
        ask_elsewhere(asking, nic, &own->local);
        ask_about_gateways(asking, nic, own);
        ask_beyond(asking, nic, &own->local);
    }
    ask_local(asking, nic, family);
    ask_own(asking, nic, family);
}

static void ask_about_rail(const Asking *asking, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (ibh_check_covers(asking->rails, address->local.family) && !ibh_address_is_host(address) &&
            find_asked(asking->rails, &address->local) == nic && stands_for_all(asking, nic, address))
            ask_about_subnet(asking, nic, address);
    }
    ask_about_family(asking, nic, AF_INET);
    ask_about_family(asking, nic, AF_INET6);
}

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only)
{
    g_autoptr(GPtrArray) foreign = find_foreign_rules(rails);
    Asking asking = {.rails = rails, .foreign = foreign, .questions = g_array_new(FALSE, TRUE, sizeof(IbhQuestion))};

    ibh_neighbours_init(&asking.all, rails);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (ibh_is_routed(nic) && ibh_nic_is_usable(nic) && ibh_is_selected(nic, only))
            ask_about_rail(&asking, nic);
    }
    ibh_neighbours_clear(&asking.all);
    return asking.questions;
}
