#include "check/questions.h"

#include "plan/emit.h"
#include "plan/want.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

gboolean ibh_nic_is_usable(const IbhNic *nic)
{
    return (nic->link->flags & IFF_UP) && nic->link->carrier;
}

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
static gboolean is_special(const IbhRails *rails, const IbhIp *ip)
{
    if (ibh_rails_holder(rails, ip))
        return TRUE;
    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses) {
        if (is_edge(&address->subnet, ip))
            return TRUE;
    }
    return FALSE;
}

/* Inside the subnet, but in another, longer prefix: of the rail itself, or of main (a bridge, a nested rail). */
static gboolean is_in_longer_prefix(const IbhRails *rails, const IbhNic *nic, const IbhPrefix *subnet, const IbhIp *ip)
{
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if ((route->table == IBH_TABLE_MAIN || route->table == nic->table) && route->dst.length > subnet->length &&
            ibh_prefix_contains(&route->dst, ip))
            return TRUE;
    }
    return FALSE;
}

static IbhIp nth_host(const IbhPrefix *subnet, guint64 n)
{
    IbhIp ip = subnet->ip;

    for (guint at = ibh_ip_bits(&ip) / 8; at-- > 0 && n; n >>= 8)
        ip.bytes[at] |= (guint8)n; /* the host bits are 0 */
    return ip;
}

/* A host of the subnet that is neither us, nor the network or broadcast address, nor behind a bridge. */
static gboolean find_neighbour(const IbhRails *rails, const IbhNic *nic, const IbhPrefix *subnet, IbhIp *ret_ip)
{
    guint bits = MIN(ibh_ip_bits(&subnet->ip) - subnet->length, 32);
    guint64 hosts = (guint64)1 << bits;
    guint64 first = bits > 1 ? 1 : 0, last = bits > 1 ? hosts - 2 : hosts - 1; /* a /31 has neither */
    guint64 step = MAX((last - first) / 64, 1);

    for (guint64 n = first; n <= last; n += n < first + 64 ? 1 : step) {
        IbhIp ip = nth_host(subnet, n);

        if (!is_special(rails, &ip) && !is_in_longer_prefix(rails, nic, subnet, &ip)) {
            *ret_ip = ip;
            return TRUE;
        }
    }
    return FALSE;
}

gboolean ibh_check_covers(const IbhRails *rails, int family)
{
    return !rails->family || rails->family == family;
}

static void ask(GArray *questions, IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from, const IbhIp *to)
{
    IbhQuestion question = {.kind = kind, .nic = nic, .lookup = {.from = *from, .to = *to}};

    if (kind == IBH_ASK_ARRIVES)
        question.lookup.iif = nic->link->ifindex;
    g_array_append_val(questions, question);
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
static void ask_local(const IbhRails *rails, const IbhNic *nic, int family, GArray *questions)
{
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
        ask(questions, IBH_ASK_LOCAL, nic, own, own);
    if (own && next)
        ask(questions, IBH_ASK_LOCAL, nic, own, next);
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
static void ask_unbound(const IbhRails *rails, const IbhNic *nic, const IbhPrefix *subnet, const IbhIp *neighbour,
                        GArray *questions)
{
    const IbhIp none = {.family = AF_INET};

    if (rails->main == IBH_MAIN_KEEP && !main_has(rails, subnet))
        ask(questions, IBH_ASK_UNBOUND, nic, &none, neighbour);
}

static void ask_about_rail(const IbhRails *rails, const IbhNic *nic, GArray *questions)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        IbhIp neighbour;

        if (!ibh_check_covers(rails, address->local.family) || ibh_address_is_host(address) ||
            ibh_rails_owner(rails, &address->local) != nic || !find_neighbour(rails, nic, &address->subnet, &neighbour))
            continue;
        ask(questions, IBH_ASK_LEAVES, nic, &address->local, &neighbour);
        if (neighbour.family != AF_INET) /* IPv6 has no rp_filter, and main is never written to */
            continue;
        ask(questions, IBH_ASK_ARRIVES, nic, &neighbour, &address->local);
        ask_unbound(rails, nic, &address->subnet, &neighbour, questions);
    }
    if (ibh_check_covers(rails, AF_INET))
        ask_local(rails, nic, AF_INET, questions);
    if (ibh_check_covers(rails, AF_INET6))
        ask_local(rails, nic, AF_INET6, questions);
}

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only)
{
    GArray *questions = g_array_new(FALSE, TRUE, sizeof(IbhQuestion));

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL && ibh_nic_is_usable(nic) && ibh_is_selected(nic, only))
            ask_about_rail(rails, nic, questions);
    }
    return questions;
}

/* ---- answers ---- */

gboolean ibh_question_leaves_wrong(const IbhQuestion *question)
{
    return question->kind == IBH_ASK_LEAVES &&
           (question->lookup.error || question->lookup.oif != question->nic->link->ifindex);
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
        return !ibh_question_leaves_wrong(question);
    case IBH_ASK_ARRIVES:
        return answer->error != EINVAL && answer->error != EXDEV;
    case IBH_ASK_UNBOUND:
        return !answer->error && ibh_find_address_near(rails, answer->oif, &answer->to);
    default:
        return !answer->error && answer->type == RTN_LOCAL;
    }
}
