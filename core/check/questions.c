#include "check/questions.h"

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

gboolean ibh_check_covers(const IbhRails *rails, int family)
{
    return !rails->family || rails->family == family;
}

/* What is asked, and what all questions need to know. */
typedef struct {
    const IbhRails *rails;
    GPtrArray *foreign; /* const IbhRule *: those of others that can match what a rail sends */
    GArray *subnets;    /* IbhPrefix: of all addresses here, each once */
    GArray *questions;  /* IbhQuestion */
} Asking;

/* ---- neighbours ---- */

/* The network or broadcast address of a subnet: the last bits are all 0 or all 1. */
static gboolean is_edge(const IbhPrefix *subnet, const IbhIp *ip)
{
    guint bits = ibh_ip_bits(ip);
    gboolean zeros = TRUE, ones = TRUE;

    for (guint bit = subnet->length; bit < bits; bit++) {
        gboolean set = (ip->bytes[bit / 8] & (0x80u >> (bit % 8))) != 0;

        zeros &= !set;
        ones &= set;
    }
    return subnet->ip.family == AF_INET && bits - subnet->length > 1 && ibh_prefix_contains(subnet, ip) &&
           (zeros || ones);
}

/* An address of ours, or one that stands for a whole subnet of ours. */
static gboolean is_special(const Asking *asking, const IbhIp *ip)
{
    if (ibh_rails_holder(asking->rails, ip))
        return TRUE;
    IBH_EACH (const IbhPrefix, subnet, asking->subnets) {
        if (is_edge(subnet, ip))
            return TRUE;
    }
    return FALSE;
}

static void add_prefix(GArray *prefixes, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhPrefix, other, prefixes) {
        if (ibh_prefix_equal(other, prefix))
            return;
    }
    g_array_append_val(prefixes, *prefix);
}

static gboolean is_inside(const IbhPrefix *inner, const IbhPrefix *outer)
{
    return inner->length > outer->length && ibh_prefix_contains(outer, &inner->ip);
}

/* What main has more exactly than by this subnet, inside of it. */
static GArray *find_holes(const IbhRails *rails, const IbhPrefix *subnet)
{
    const GArray *lists[] = {rails->snapshot->routes, rails->snapshot->main};
    GArray *holes = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));

    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (const IbhRoute, route, lists[i]) {
            if (route->table == IBH_TABLE_MAIN && is_inside(&route->dst, subnet))
                add_prefix(holes, &route->dst);
        }
    }
    return holes;
}

static const IbhPrefix *find_hole(const GArray *holes, const IbhIp *ip)
{
    IBH_EACH (const IbhPrefix, hole, holes) {
        if (ibh_prefix_contains(hole, ip))
            return hole;
    }
    return NULL;
}

/* The address that follows all of this prefix. */
static IbhIp next_after(const IbhPrefix *prefix)
{
    IbhIp ip = prefix->ip;
    guint carry = prefix->length;

    while (carry-- > 0 && !((ip.bytes[carry / 8] ^= (guint8)(0x80u >> (carry % 8))) & (0x80u >> (carry % 8))))
        ;
    return ip;
}

#define TRIES_MAX 4096

/* A host of this piece of a subnet that is nobody here, and that main has not more exactly (`holes`). */
static gboolean find_neighbour(const Asking *asking, const IbhPrefix *piece, const GArray *holes, IbhIp *ret_ip)
{
    IbhPrefix host = ibh_prefix(&piece->ip, ibh_ip_bits(&piece->ip));

    if (host.length - piece->length > 1)
        host.ip = next_after(&host); /* the first one is the network's */
    for (int i = 0; i < TRIES_MAX && ibh_prefix_contains(piece, &host.ip); i++) {
        const IbhPrefix *hole = find_hole(holes, &host.ip);

        if (!hole && !is_special(asking, &host.ip)) {
            *ret_ip = host.ip;
            return TRUE;
        }
        host.ip = next_after(hole ? hole : &host);
        if (ibh_ip_compare(&host.ip, &piece->ip) <= 0) /* past the last address there is */
            break;
    }
    return FALSE;
}

/* ---- rules of others ---- */

#define MAIN_PRIORITY 32766

/* Before the rails' rules; or, where it leads to a rail's table, before main's. */
static gboolean comes_first(const IbhRails *rails, const IbhRule *rule)
{
    return rule->priority <= rails->priority || (rule->priority < MAIN_PRIORITY && rule->action == FR_ACT_TO_TBL &&
                                                 ibh_rails_nic_by_table(rails, rule->table));
}

/* What is forwarded, or bound to a device, is no question of addresses. */
gboolean ibh_rule_is_foreign(const IbhRails *rails, const IbhRule *rule)
{
    return !ibh_rule_is_ours(rule) && !rule->l3mdev && comes_first(rails, rule) &&
           !(rule->action == FR_ACT_TO_TBL && rule->table == IBH_TABLE_LOCAL) && !(rule->selectors & IBH_SELECT_OIF) &&
           (!(rule->selectors & IBH_SELECT_IIF) || g_str_equal(rule->by.iif, "lo"));
}

gboolean ibh_rule_matches_source(const IbhRule *rule, const IbhIp *from)
{
    return rule->family == from->family &&
           ((rule->selectors & IBH_SELECT_NOT) || ibh_prefix_contains(&rule->from, from));
}

static gboolean can_match_rail(const IbhRails *rails, const IbhRule *rule)
{
    if (!rule->from.length || (rule->selectors & IBH_SELECT_NOT))
        return TRUE;
    if (rule->from.length == ibh_ip_bits(&rule->from.ip))
        return ibh_rails_owner(rails, &rule->from.ip) != NULL;
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

static IbhQuestion about(IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from, const IbhIp *to)
{
    return (IbhQuestion){.kind = kind,
                         .nic = nic,
                         .lookup = {.from = *from,
                                    .to = *to,
                                    .iif = kind == IBH_ASK_ARRIVES ? nic->link->ifindex : 0,
                                    .match = kind == IBH_ASK_LEAVES || kind == IBH_ASK_ELSEWHERE}};
}

static IbhQuestion leaves(const IbhNic *nic, const IbhAddress *address, const IbhIp *neighbour)
{
    IbhQuestion question = about(IBH_ASK_LEAVES, nic, &address->local, neighbour);

    question.length = address->subnet.length;
    return question;
}

static void ask(const Asking *asking, const IbhQuestion *question)
{
    if (asking->questions->len < IBH_QUESTIONS_MAX)
        g_array_append_val(asking->questions, *question);
}

static void ask_simply(const Asking *asking, IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from,
                       const IbhIp *to)
{
    const IbhQuestion question = about(kind, nic, from, to);

    ask(asking, &question);
}

static const IbhIp *first_address(const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (address->local.family == family)
            return &address->local;
    }
    return NULL;
}

/* From each rail to itself and to the next one: all of them are reached in a ring. */
static void ask_local(const Asking *asking, const IbhNic *nic, int family)
{
    const IbhRails *rails = asking->rails;
    const IbhIp *own = first_address(nic, family), *next = NULL;
    gboolean passed = FALSE;

    IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
        if (other == nic)
            passed = TRUE;
        else if (other->status == IBH_NIC_RAIL && (passed || !next)) {
            const IbhIp *first = first_address(other, family);

            next = first ? first : next;
            if (passed && first)
                break;
        }
    }
    if (own)
        ask_simply(asking, IBH_ASK_LOCAL, nic, own, own);
    if (own && next)
        ask_simply(asking, IBH_ASK_LOCAL, nic, own, next);
}

static gboolean main_has(const IbhRails *rails, const IbhPrefix *subnet)
{
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->table == IBH_TABLE_MAIN && ibh_prefix_equal(&route->dst, subnet))
            return TRUE;
    }
    return FALSE;
}

/* Asks about traffic without a source where main lacks the connected route: hand-written scripts delete it. */
static void ask_unbound(const Asking *asking, const IbhNic *nic, const IbhPrefix *subnet, const IbhIp *neighbour)
{
    const IbhIp none = {.family = AF_INET};

    if (asking->rails->main == IBH_MAIN_KEEP && !main_has(asking->rails, subnet))
        ask_simply(asking, IBH_ASK_UNBOUND, nic, &none, neighbour);
}

#define UNASKABLE (IBH_SELECT_NOT | IBH_SELECT_OTHER)
#define SELECTIVE (IBH_SELECT_FWMARK | IBH_SELECT_TOS | IBH_SELECT_UID | IBH_SELECT_PORT)

/* A rule that takes a piece of the subnet, or only some packets: what it matches is asked with what it matches by. */
static void ask_about_rule(const Asking *asking, const IbhNic *nic, const IbhAddress *address, const IbhRule *rule,
                           const GArray *holes)
{
    gboolean takes_piece = is_inside(&rule->to, &address->subnet);
    const IbhPrefix *piece = takes_piece ? &rule->to : &address->subnet;
    IbhQuestion question;
    IbhIp neighbour;

    if ((rule->selectors & UNASKABLE) || (!takes_piece && !(rule->selectors & SELECTIVE)) ||
        (rule->to.length && !ibh_prefix_overlaps(&rule->to, &address->subnet)) ||
        !ibh_rule_matches_source(rule, &address->local) || !find_neighbour(asking, piece, holes, &neighbour))
        return;
    question = leaves(nic, address, &neighbour);
    question.lookup.by = rule->by;
    question.lookup.selectors = rule->selectors & SELECTIVE;
    ask(asking, &question);
}

/* A rule that leads to another rail's table, and beyond this one's subnet. */
static void ask_about_detour(const Asking *asking, const IbhNic *nic, const IbhAddress *address, const IbhRule *rule)
{
    const IbhNic *owner = rule->action == FR_ACT_TO_TBL ? ibh_rails_nic_by_table(asking->rails, rule->table) : NULL;
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    IbhQuestion question;
    IbhIp neighbour;

    if (!owner || owner == nic || (rule->selectors & UNASKABLE) || !ibh_rule_matches_source(rule, &address->local))
        return;
    IBH_EACH_POINTER (const IbhAddress, other, &owner->served) {
        const IbhPrefix *piece = rule->to.length > other->subnet.length ? &rule->to : &other->subnet;

        if (other->local.family != address->local.family || ibh_prefix_overlaps(piece, &address->subnet) ||
            (rule->to.length && !ibh_prefix_overlaps(&rule->to, &other->subnet)) ||
            !find_neighbour(asking, piece, none, &neighbour))
            continue;
        question = about(IBH_ASK_ELSEWHERE, nic, &address->local, &neighbour);
        question.lookup.by = rule->by;
        question.lookup.selectors = rule->selectors & SELECTIVE;
        ask(asking, &question);
    }
}

static void ask_about_holes(const Asking *asking, const IbhNic *nic, const IbhAddress *address, const GArray *holes)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));

    IBH_EACH (const IbhPrefix, hole, holes) {
        IbhQuestion question;
        IbhIp neighbour;

        if (!find_neighbour(asking, hole, none, &neighbour))
            continue;
        question = leaves(nic, address, &neighbour);
        question.as_main_says = TRUE;
        ask(asking, &question);
    }
}

static void ask_about_subnet(const Asking *asking, const IbhNic *nic, const IbhAddress *address)
{
    g_autoptr(GArray) holes = find_holes(asking->rails, &address->subnet);
    IbhQuestion question;
    IbhIp neighbour;

    if (find_neighbour(asking, &address->subnet, holes, &neighbour)) {
        question = leaves(nic, address, &neighbour);
        ask(asking, &question);
        if (neighbour.family == AF_INET) { /* IPv6 has no rp_filter, and main is never written to */
            ask_simply(asking, IBH_ASK_ARRIVES, nic, &neighbour, &address->local);
            ask_unbound(asking, nic, &address->subnet, &neighbour);
        }
    }
    IBH_EACH_POINTER (const IbhRule, rule, asking->foreign)
        ask_about_rule(asking, nic, address, rule, holes);
    IBH_EACH_POINTER (const IbhRule, rule, asking->foreign)
        ask_about_detour(asking, nic, address, rule);
    ask_about_holes(asking, nic, address, holes);
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
            !find_neighbour(asking, &route->dst, none, &neighbour))
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
            ibh_rails_owner(asking->rails, &other->local) == nic)
            return FALSE;
    }
    return TRUE;
}

static void ask_about_family(const Asking *asking, const IbhNic *nic, int family)
{
    const IbhIp *own = first_address(nic, family);

    if (!own || !ibh_check_covers(asking->rails, family))
        return;
    ask_elsewhere(asking, nic, own);
    ask_local(asking, nic, family);
}

static void ask_about_rail(const Asking *asking, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (ibh_check_covers(asking->rails, address->local.family) && !ibh_address_is_host(address) &&
            ibh_rails_owner(asking->rails, &address->local) == nic && stands_for_all(asking, nic, address))
            ask_about_subnet(asking, nic, address);
    }
    ask_about_family(asking, nic, AF_INET);
    ask_about_family(asking, nic, AF_INET6);
}

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only)
{
    g_autoptr(GPtrArray) foreign = find_foreign_rules(rails);
    g_autoptr(GArray) subnets = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
    Asking asking = {.rails = rails,
                     .foreign = foreign,
                     .subnets = subnets,
                     .questions = g_array_new(FALSE, TRUE, sizeof(IbhQuestion))};

    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses)
        add_prefix(subnets, &address->subnet);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL && ibh_nic_is_usable(nic) && ibh_is_selected(nic, only))
            ask_about_rail(&asking, nic);
    }
    return asking.questions;
}

/* ---- answers ---- */

static gboolean is_within(const guint16 range[2], guint16 port)
{
    return range[0] <= port && port <= range[1];
}

/* What a question does not carry has no mark, no port, and is sent by nobody whom a rule would name. */
static gboolean matches_selection(const IbhRule *rule, const IbhLookup *lookup)
{
    const IbhSelection *by = &rule->by, *is = &lookup->by;

    return (!(rule->selectors & IBH_SELECT_FWMARK) || (is->mark & by->mask) == by->mark) &&
           (!(rule->selectors & IBH_SELECT_TOS) || is->tos == by->tos) &&
           (!(rule->selectors & IBH_SELECT_UID) ||
            ((lookup->selectors & IBH_SELECT_UID) && by->uid[0] <= is->uid[0] && is->uid[0] <= by->uid[1])) &&
           (!(rule->selectors & IBH_SELECT_PORT) || ((!by->ip_protocol || is->ip_protocol == by->ip_protocol) &&
                                                     (!by->sport[1] || is_within(by->sport, is->sport[0])) &&
                                                     (!by->dport[1] || is_within(by->dport, is->dport[0]))));
}

static gboolean matches(const IbhRule *rule, const IbhLookup *lookup)
{
    gboolean match = rule->family == lookup->to.family && ibh_prefix_contains(&rule->from, &lookup->from) &&
                     (!rule->to.length || ibh_prefix_contains(&rule->to, &lookup->to)) &&
                     matches_selection(rule, lookup);

    return rule->family == lookup->to.family && match != ((rule->selectors & IBH_SELECT_NOT) != 0);
}

/* Whether the answer can be this rule's: it leads to the table where the route was found, or refuses. */
static gboolean may_have_answered(const IbhRule *rule, const IbhLookup *answer)
{
    gboolean leads = rule->action == FR_ACT_TO_TBL;

    return answer->error ? !leads || rule->table != IBH_TABLE_MAIN : leads && rule->table == answer->table;
}

const IbhRule *ibh_question_foreign_rule(const IbhRails *rails, const IbhQuestion *question)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_foreign(rails, rule) && matches(rule, &question->lookup) &&
            may_have_answered(rule, &question->lookup))
            return rule;
    }
    return NULL;
}

/* What main has more exactly inside a rail's subnet stays so: what is not by main is somebody's rule's. */
static gboolean leaves_right(const IbhRails *rails, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;

    if (question->as_main_says)
        return answer->table == IBH_TABLE_MAIN || !ibh_question_foreign_rule(rails, question);
    return !answer->error && (answer->oif == question->nic->link->ifindex ||
                              (answer->table == IBH_TABLE_MAIN && answer->length > question->length));
}

const IbhRoute *ibh_find_in_main(const IbhSnapshot *snapshot, const IbhIp *to)
{
    const GArray *lists[] = {snapshot->routes, snapshot->main};
    const IbhRoute *best = NULL;

    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (const IbhRoute, route, lists[i]) {
            if (route->table == IBH_TABLE_MAIN && route->metric != G_MAXUINT32 &&
                ibh_prefix_contains(&route->dst, to) &&
                (!best || route->dst.length > best->dst.length ||
                 (route->dst.length == best->dst.length && route->metric < best->metric)))
                best = route;
        }
    }
    return best;
}

/* Another NIC's network is reached by none of ours, unless main says so. */
static gboolean leaves_as_main_says(const IbhRails *rails, const IbhLookup *answer)
{
    const IbhNic *nic = answer->oif ? ibh_rails_nic(rails, answer->oif) : NULL;
    const IbhRoute *route = ibh_find_in_main(rails->snapshot, &answer->to);

    return answer->error || answer->table == IBH_TABLE_MAIN || !nic || nic->status != IBH_NIC_RAIL ||
           (route && route->ifindex == answer->oif);
}

const IbhAddress *ibh_find_address_near(const IbhRails *rails, int ifindex, const IbhIp *ip)
{
    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses) {
        if (address->ifindex == ifindex && ibh_prefix_contains(&address->subnet, ip))
            return address;
    }
    return NULL;
}

gboolean ibh_question_is_well_answered(const IbhRails *rails, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;

    switch (question->kind) {
    case IBH_ASK_LEAVES:
        return leaves_right(rails, question);
    case IBH_ASK_ELSEWHERE:
        return leaves_as_main_says(rails, answer);
    case IBH_ASK_ARRIVES:
        return answer->error != EINVAL && answer->error != EXDEV;
    case IBH_ASK_UNBOUND:
        return !answer->error && ibh_find_address_near(rails, answer->oif, &answer->to);
    default:
        return !answer->error && answer->type == RTN_LOCAL;
    }
}
