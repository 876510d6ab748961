#include "plan/rails.h"

#include <linux/fib_rules.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

int ibh_natural_compare(const char *a, const char *b)
{
    const char *whole_a = a, *whole_b = b;

    while (*a || *b) {
        if (g_ascii_isdigit(*a) && g_ascii_isdigit(*b)) {
            gsize len_a, len_b;
            int order;

            a += strspn(a, "0");
            b += strspn(b, "0");
            len_a = strspn(a, "0123456789");
            len_b = strspn(b, "0123456789");
            if (len_a != len_b)
                return len_a < len_b ? -1 : 1;
            if ((order = strncmp(a, b, len_a)))
                return order;
            a += len_a;
            b += len_b;
        } else if (*a != *b) {
            return (guchar)*a < (guchar)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return strcmp(whole_a, whole_b); /* ib01 and ib1: still a total order */
}

/* ---- candidates ---- */

static gboolean is_stacked_on_ethernet(const IbhLink *link)
{
    return link->parent && (g_str_equal(link->kind, "vlan") || g_str_equal(link->kind, "macvlan"));
}

static gboolean is_rdma_capable(const IbhSnapshot *snapshot, const IbhLink *link)
{
    const IbhLink *parent = is_stacked_on_ethernet(link) ? ibh_snapshot_link(snapshot, link->parent) : NULL;

    return link->type == ARPHRD_INFINIBAND || link->rdma[0] || (parent && parent->rdma[0]);
}

gboolean ibh_is_candidate(const IbhSnapshot *snapshot, const IbhLink *link, IbhManage manage)
{
    return !(link->flags & IFF_LOOPBACK) && ibh_has_sysctls(link->name) && !link->master && !link->representor &&
           (manage == IBH_MANAGE_YES || is_rdma_capable(snapshot, link));
}

/* NULL where it is a candidate, else why not. */
static char *why_no_candidate(const IbhSnapshot *snapshot, const IbhLink *link, IbhManage manage)
{
    if (ibh_is_candidate(snapshot, link, manage))
        return NULL;
    if (link->flags & IFF_LOOPBACK)
        return g_strdup("loopback");
    if (!ibh_has_sysctls(link->name))
        return g_strdup_printf("its name: net.ipv4.conf.%s is everybody's; rename it", link->name);
    if (link->master) {
        const IbhLink *master = ibh_snapshot_link(snapshot, link->master);

        return g_strdup_printf("a port of %s: what is configured there decides",
                               master ? master->name : "another link");
    }
    if (link->representor)
        return g_strdup("a switchdev representor: it stands for another function's port");
    return g_strdup("not RDMA-capable (manage=yes would make it a candidate)");
}

static gboolean is_child(const IbhNic *nic)
{
    return nic->link->parent || nic->link->vf;
}

static gint compare_nics(gconstpointer left, gconstpointer right)
{
    const IbhNic *a = *(const IbhNic *const *)left, *b = *(const IbhNic *const *)right;
    gboolean a_out = a->status == IBH_NIC_NO_CANDIDATE, b_out = b->status == IBH_NIC_NO_CANDIDATE;
    gboolean a_ib = a->link->type == ARPHRD_INFINIBAND, b_ib = b->link->type == ARPHRD_INFINIBAND;

    if (a_out != b_out)
        return a_out ? 1 : -1;
    if (!a_out && is_child(a) != is_child(b))
        return is_child(a) ? 1 : -1;
    if (!a_out && a_ib != b_ib)
        return a_ib ? -1 : 1;
    return ibh_natural_compare(a->link->name, b->link->name);
}

/* The rank depends on nothing but which candidates are present: not on their state, order of arrival or manage=no. */
static void rank_candidates(IbhRails *rails)
{
    guint rank = 0;

    g_ptr_array_sort(rails->nics, compare_nics);
    for (guint i = 0; i < rails->nics->len; i++) {
        IbhNic *nic = g_ptr_array_index(rails->nics, i);

        if (nic->status == IBH_NIC_NO_CANDIDATE)
            break;
        nic->rank = ++rank;
        nic->table = nic->settings.table == IBH_TABLE_AUTO ? IBH_TABLE_BASE + rank : nic->settings.table;
    }
}

/* ---- engaged ---- */

static gboolean can_be_shared(const IbhAddress *address)
{
    return ibh_address_counts(address) && address->scope < RT_SCOPE_LINK &&
           address->subnet.length < ibh_ip_bits(&address->local) && !ibh_ip_is_link_local(&address->subnet.ip);
}

static gboolean is_stacked_on(const IbhSnapshot *snapshot, const IbhLink *upper, const IbhLink *lower)
{
    const IbhLink *link = upper;

    for (int depth = 0; link && link->parent && depth < IBH_STACK_DEPTH; depth++) {
        if (link->parent == lower->ifindex)
            return TRUE;
        link = ibh_snapshot_link(snapshot, link->parent);
    }
    return FALSE;
}

/* The other candidate that has a subnet in common with this one, and which subnet of ours that is. */
static const IbhNic *find_sharer(const IbhRails *rails, const IbhNic *nic, const IbhAddress **ret_address)
{
    const GArray *addresses = rails->snapshot->addresses;

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *mine = &g_array_index(addresses, IbhAddress, i);

        if (!ibh_nic_serves(nic, mine) || !can_be_shared(mine))
            continue;
        for (guint j = 0; j < addresses->len; j++) {
            const IbhAddress *theirs = &g_array_index(addresses, IbhAddress, j);
            const IbhNic *other;

            if (theirs->ifindex == mine->ifindex || !can_be_shared(theirs) ||
                !ibh_prefix_overlaps(&mine->subnet, &theirs->subnet))
                continue;
            other = ibh_rails_nic(rails, theirs->ifindex);
            if (!other || !other->rank || !ibh_nic_serves(other, theirs) ||
                is_stacked_on(rails->snapshot, nic->link, other->link) ||
                is_stacked_on(rails->snapshot, other->link, nic->link))
                continue;
            *ret_address = mine;
            return other;
        }
    }
    return NULL;
}

/* Why it is a rail whatever was before; NULL: it is none. */
static char *why_engaged(const IbhRails *rails, const IbhNic *nic)
{
    const IbhAddress *shared = NULL;
    const IbhNic *sharer;
    char subnet[IBH_PREFIX_STRLEN];

    if (nic->settings.manage == IBH_MANAGE_YES)
        return g_strdup("manage=yes");
    if (!(sharer = find_sharer(rails, nic, &shared)))
        return NULL;
    return g_strdup_printf("shares %s with %s", ibh_prefix_format(&shared->subnet, subnet), sharer->link->name);
}

static gboolean serves_address(const IbhRails *rails, const IbhNic *nic, const IbhIp *ip)
{
    for (guint i = 0; i < rails->snapshot->addresses->len; i++) {
        const IbhAddress *address = &g_array_index(rails->snapshot->addresses, IbhAddress, i);

        if (ibh_ip_equal(&address->local, ip) && ibh_nic_serves(nic, address))
            return TRUE;
    }
    return FALSE;
}

/* A rule of ours for a present address: the rail stays one when the NIC it shared its subnet with flaps. Where another
 * NIC has the same address, one of them has the rule. */
static gboolean has_standing_rule(const IbhRails *rails, const IbhNic *nic)
{
    const GArray *rules = rails->snapshot->rules;

    for (guint i = 0; i < rules->len; i++) {
        const IbhRule *rule = &g_array_index(rules, IbhRule, i);

        if (ibh_rule_is_ours(rule) && rule->table != IBH_TABLE_MAIN && /* a second tier does not say whose it is */
            ibh_rails_has_address(rails, nic, &rule->from.ip) && ibh_rule_owner(rails, rule) == nic &&
            (rule->family == AF_INET || nic->settings.ipv6) &&
            (rule->table == nic->table || serves_address(rails, nic, &rule->from.ip)) &&
            !g_hash_table_contains(rails->by.engaged, &rule->from.ip))
            return TRUE;
    }
    return FALSE;
}

/* Its addresses are its own: a rule for one of them makes no rail of another NIC that has it, too. */
static void claim_addresses(const IbhRails *rails, const IbhNic *nic)
{
    const GArray *addresses = rails->snapshot->addresses;

    for (guint i = 0; i < addresses->len; i++) {
        IbhAddress *address = &g_array_index(addresses, IbhAddress, i);

        if (ibh_nic_serves(nic, address))
            g_hash_table_add(rails->by.engaged, &address->local);
    }
}

static void find_engaged(const IbhRails *rails)
{
    for (guint i = 0; i < rails->nics->len; i++) {
        IbhNic *nic = g_ptr_array_index(rails->nics, i);

        if (nic->rank && nic->settings.manage != IBH_MANAGE_NO && (nic->why = why_engaged(rails, nic)))
            claim_addresses(rails, nic);
    }
}

/* ---- deferred: somebody routes it already ---- */

static gboolean is_builtin_table(guint32 table)
{
    return table == IBH_TABLE_MAIN || table == IBH_TABLE_LOCAL || table == RT_TABLE_DEFAULT || table == RT_TABLE_UNSPEC;
}

/* main=remove took its connected route to this subnet out of main. */
static gboolean was_in_main(const IbhSnapshot *snapshot, const IbhNic *nic, const IbhPrefix *subnet)
{
    for (guint i = 0; i < snapshot->state->routes->len; i++) {
        const IbhSavedRoute *saved = &g_array_index(snapshot->state->routes, IbhSavedRoute, i);

        if (saved->ifindex == nic->link->ifindex && ibh_prefix_equal(&saved->dst, subnet))
            return TRUE;
    }
    return FALSE;
}

/* Its connected route lies only in a table that is neither main nor T (NetworkManager's route-table). */
static char *why_routed_elsewhere(const IbhSnapshot *snapshot, const IbhNic *nic, const IbhAddress *address)
{
    char subnet[IBH_PREFIX_STRLEN];
    guint32 elsewhere = 0;

    for (guint i = 0; i < snapshot->routes->len; i++) {
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);

        if (ibh_route_is_ours(route) || route->type != RTN_UNICAST || route->protocol != RTPROT_KERNEL ||
            route->ifindex != nic->link->ifindex || !ibh_prefix_equal(&route->dst, &address->subnet))
            continue;
        if (route->table == IBH_TABLE_MAIN || route->table == nic->table)
            return NULL;
        elsewhere = route->table;
    }
    if (!elsewhere || is_builtin_table(elsewhere) || was_in_main(snapshot, nic, &address->subnet))
        return NULL;
    return g_strdup_printf("its connected route to %s is in table %u", ibh_prefix_format(&address->subnet, subnet),
                           elsewhere);
}

static gboolean table_routes_subnet(const IbhSnapshot *snapshot, guint32 table, int ifindex, const IbhPrefix *subnet)
{
    for (guint i = 0; i < snapshot->routes->len; i++) {
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);

        if (!ibh_route_is_ours(route) && route->table == table && route->ifindex == ifindex &&
            route->type == RTN_UNICAST && route->dst.length <= subnet->length &&
            ibh_prefix_contains(&route->dst, &subnet->ip))
            return TRUE;
    }
    return FALSE;
}

#define MAIN_PRIORITY 32766 /* a rule behind main's is never asked about a subnet that main reaches */

/* A rule that is not ours leads this address to a table other than T that routes the subnet by this NIC. */
static char *why_ruled_elsewhere(const IbhSnapshot *snapshot, const IbhNic *nic, const IbhAddress *address)
{
    char from[IBH_PREFIX_STRLEN];

    for (guint i = 0; i < snapshot->rules->len; i++) {
        const IbhRule *rule = &g_array_index(snapshot->rules, IbhRule, i);

        if (ibh_rule_is_ours(rule) || rule->action != FR_ACT_TO_TBL || rule->l3mdev || rule->selectors ||
            rule->from.length == 0 || rule->priority >= MAIN_PRIORITY || rule->table == nic->table ||
            is_builtin_table(rule->table) || !ibh_prefix_contains(&rule->from, &address->local) ||
            !table_routes_subnet(snapshot, rule->table, nic->link->ifindex, &address->subnet))
            continue;
        return g_strdup_printf("the rule %u: from %s lookup %u routes it already", rule->priority,
                               ibh_prefix_format(&rule->from, from), rule->table);
    }
    return NULL;
}

static char *why_deferred(const IbhSnapshot *snapshot, const IbhNic *nic)
{
    for (guint i = 0; i < snapshot->addresses->len; i++) {
        const IbhAddress *address = &g_array_index(snapshot->addresses, IbhAddress, i);
        char *why;

        if (!ibh_nic_serves(nic, address) || ibh_address_is_host(address))
            continue;
        if ((why = why_routed_elsewhere(snapshot, nic, address)) || (why = why_ruled_elsewhere(snapshot, nic, address)))
            return why;
    }
    return NULL;
}

/* ---- blocked: programming it would do harm ---- */

/* The NIC to which the configuration gives this one's table: automatic ones never clash with each other. */
static const IbhNic *find_table_clash(const IbhRails *rails, const IbhNic *nic)
{
    for (guint i = 0; i < rails->nics->len; i++) {
        const IbhNic *other = g_ptr_array_index(rails->nics, i);

        if (other != nic && other->rank && other->settings.table == nic->table &&
            other->settings.manage != IBH_MANAGE_NO)
            return other;
    }
    return NULL;
}

/* Traffic to ourselves would leave by a rail if a rail's rule came before the local table's. */
static gboolean is_local_rule_late(const IbhRails *rails, int family, guint32 *ret_priority)
{
    *ret_priority = G_MAXUINT32; /* there is none */
    for (guint i = 0; i < rails->snapshot->rules->len; i++) {
        const IbhRule *rule = &g_array_index(rails->snapshot->rules, IbhRule, i);

        if (rule->family != family || rule->table != IBH_TABLE_LOCAL || rule->action != FR_ACT_TO_TBL ||
            rule->from.length || rule->selectors)
            continue;
        *ret_priority = MIN(*ret_priority, rule->priority);
    }
    return *ret_priority >= rails->priority;
}

gboolean ibh_serves_family(const IbhRails *rails, const IbhNic *nic, int family)
{
    for (guint i = 0; i < rails->snapshot->addresses->len; i++) {
        const IbhAddress *address = &g_array_index(rails->snapshot->addresses, IbhAddress, i);

        if (address->local.family == family && ibh_nic_serves(nic, address))
            return TRUE;
    }
    return FALSE;
}

static char *why_blocked(const IbhRails *rails, const IbhNic *nic, const char **ret_code)
{
    const IbhNic *clash = nic->settings.table == IBH_TABLE_AUTO ? find_table_clash(rails, nic) : NULL;
    guint32 local = 0;

    if (clash) {
        *ret_code = "table-clash";
        return g_strdup_printf("its automatic table %u is the explicit table of %s (%s)", nic->table, clash->link->name,
                               clash->settings.table_origin ? clash->settings.table_origin : "configuration");
    }
    if ((ibh_serves_family(rails, nic, AF_INET) && is_local_rule_late(rails, AF_INET, &local)) ||
        (ibh_serves_family(rails, nic, AF_INET6) && is_local_rule_late(rails, AF_INET6, &local))) {
        *ret_code = "local-rule-late";
        return local == G_MAXUINT32
                   ? g_strdup("there is no rule that leads everything to the local table first")
                   : g_strdup_printf("the rule for the local table has priority %u, which is not before %u", local,
                                     rails->priority);
    }
    return NULL;
}

/* ---- the verdict ---- */

/* Which NICs are to be left alone. */
typedef struct {
    gboolean remembered;      /* those that --undo left alone */
    const char *const *named; /* these too; NULL: none */
} Holds;

static gboolean is_held(const IbhRails *rails, const IbhNic *nic, const Holds *holds)
{
    return (holds->remembered && ibh_state_is_held(rails->snapshot->state, nic->link->name)) ||
           (holds->named && g_strv_contains(holds->named, nic->link->name));
}

static gboolean has_any_address(const IbhSnapshot *snapshot, const IbhNic *nic)
{
    for (guint i = 0; i < snapshot->addresses->len; i++) {
        IbhAddress address = g_array_index(snapshot->addresses, IbhAddress, i);

        address.tentative = FALSE;
        if (ibh_nic_serves(nic, &address))
            return TRUE;
    }
    return FALSE;
}

static void judge(const IbhRails *rails, IbhNic *nic, const Holds *holds)
{
    g_autofree char *engaged = g_steal_pointer(&nic->why);

    if (!engaged && nic->settings.manage != IBH_MANAGE_NO && has_standing_rule(rails, nic))
        engaged = g_strdup("it was a rail before, and its rule still stands");
    if (nic->settings.manage == IBH_MANAGE_NO) {
        nic->status = IBH_NIC_UNMANAGED;
        nic->why = g_strdup("manage=no");
    } else if (!has_any_address(rails->snapshot, nic)) {
        nic->status = IBH_NIC_NO_ADDRESS;
        nic->why = g_strdup(nic->settings.ipv6 ? "it has no address" : "it has no IPv4 address");
    } else if (!engaged) {
        nic->status = IBH_NIC_ALONE;
        nic->why = g_strdup("no other RDMA NIC shares one of its subnets");
    } else if (is_held(rails, nic, holds)) {
        nic->status = IBH_NIC_HELD;
        nic->why = g_strdup("left alone since --undo, until --apply or a reboot");
    } else if (nic->settings.manage != IBH_MANAGE_YES && (nic->why = why_deferred(rails->snapshot, nic))) {
        nic->status = IBH_NIC_DEFERRED;
    } else if ((nic->why = why_blocked(rails, nic, &nic->code))) {
        nic->status = IBH_NIC_BLOCKED;
    } else {
        nic->status = IBH_NIC_RAIL;
        nic->why = g_steal_pointer(&engaged);
    }
}

static gboolean check_explicit_tables(const IbhRails *rails, GError **error)
{
    for (guint i = 0; i < rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(rails->nics, i);
        const IbhNic *other;

        if (!nic->rank || nic->settings.table == IBH_TABLE_AUTO || nic->settings.manage == IBH_MANAGE_NO)
            continue;
        other = find_table_clash(rails, nic);
        if (other) {
            g_set_error(error, IBH_CONFIG_ERROR, 0,
                        "%s: table=%u is read for %s and %s: each NIC needs a table of its own",
                        nic->settings.table_origin, nic->table, nic->link->name, other->link->name);
            return FALSE;
        }
    }
    return TRUE;
}

/* ---- the index ---- */

static guint holder_hash(gconstpointer data)
{
    const IbhAddress *address = data;

    return ibh_ip_hash(&address->local) * 31 + (guint)address->ifindex;
}

static gboolean holder_equal(gconstpointer left, gconstpointer right)
{
    const IbhAddress *a = left, *b = right;

    return a->ifindex == b->ifindex && ibh_ip_equal(&a->local, &b->local);
}

/* NICs are sorted by rank here, so of several that have an address the lowest stays. */
static void index_addresses(const IbhRails *rails, GHashTable *table, gboolean only_rails)
{
    const GArray *addresses = rails->snapshot->addresses;

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);
        IbhNic *nic = g_hash_table_lookup(rails->by.nics, GINT_TO_POINTER(address->ifindex));
        const IbhNic *other = g_hash_table_lookup(table, &address->local);

        if (!nic || (only_rails && (nic->status != IBH_NIC_RAIL || !ibh_nic_serves(nic, address))))
            continue;
        if (!other || nic->position < other->position)
            g_hash_table_replace(table, (gpointer)(guintptr)&address->local, nic);
    }
}

static void index_nics(IbhRails *rails)
{
    const GArray *addresses = rails->snapshot->addresses;

    rails->by.nics = g_hash_table_new(NULL, NULL);
    rails->by.first = g_hash_table_new(ibh_ip_hash, ibh_ip_equals);
    rails->by.owners = g_hash_table_new(ibh_ip_hash, ibh_ip_equals);
    rails->by.engaged = g_hash_table_new(ibh_ip_hash, ibh_ip_equals);
    rails->by.holders = g_hash_table_new(holder_hash, holder_equal);
    for (guint i = 0; i < rails->nics->len; i++) {
        IbhNic *nic = g_ptr_array_index(rails->nics, i);

        nic->position = i;
        g_hash_table_insert(rails->by.nics, GINT_TO_POINTER(nic->link->ifindex), nic);
    }
    for (guint i = 0; i < addresses->len; i++)
        g_hash_table_add(rails->by.holders, &g_array_index(addresses, IbhAddress, i));
    index_addresses(rails, rails->by.first, FALSE);
}

/* ---- the whole ---- */

static void nic_free(gpointer data)
{
    IbhNic *nic = data;

    g_free(nic->why);
    g_free(nic);
}

static IbhRails *find(const IbhConfig *config, const IbhSnapshot *snapshot, const Holds *holds, GError **error)
{
    g_autoptr(IbhRails) rails = g_new0(IbhRails, 1);

    rails->snapshot = snapshot;
    rails->priority = ibh_config_priority(config);
    rails->main = ibh_config_main(config);
    rails->nics = g_ptr_array_new_with_free_func(nic_free);
    for (guint i = 0; i < snapshot->links->len; i++) {
        const IbhLink *link = &g_array_index(snapshot->links, IbhLink, i);
        IbhNic *nic = g_new0(IbhNic, 1);

        nic->link = link;
        nic->settings = ibh_config_settings(config, link->name);
        nic->why = why_no_candidate(snapshot, link, nic->settings.manage);
        nic->status = nic->why ? IBH_NIC_NO_CANDIDATE : IBH_NIC_ALONE;
        g_ptr_array_add(rails->nics, nic);
    }
    rank_candidates(rails);
    index_nics(rails);
    if (!check_explicit_tables(rails, error))
        return NULL;
    find_engaged(rails);
    for (guint i = 0; i < rails->nics->len; i++) {
        IbhNic *nic = g_ptr_array_index(rails->nics, i);

        if (nic->rank)
            judge(rails, nic, holds);
        if (nic->status == IBH_NIC_RAIL)
            claim_addresses(rails, nic); /* before those of higher rank are judged */
    }
    index_addresses(rails, rails->by.owners, TRUE);
    return g_steal_pointer(&rails);
}

IbhRails *ibh_rails_find(const IbhConfig *config, const IbhSnapshot *snapshot, gboolean respect_holds, GError **error)
{
    const Holds holds = {.remembered = respect_holds};

    return find(config, snapshot, &holds, error);
}

IbhRails *ibh_rails_without(const IbhConfig *config, const IbhSnapshot *snapshot, const char *const *ifaces)
{
    static const char *const none[] = {NULL};
    const Holds holds = {.remembered = TRUE, .named = ifaces};
    IbhRails *rails = find(config, snapshot, &holds, NULL);

    if (rails)
        rails->only = none;
    return rails;
}

void ibh_rails_free(IbhRails *rails)
{
    if (!rails)
        return;
    g_clear_pointer(&rails->by.nics, g_hash_table_unref);
    g_clear_pointer(&rails->by.first, g_hash_table_unref);
    g_clear_pointer(&rails->by.owners, g_hash_table_unref);
    g_clear_pointer(&rails->by.engaged, g_hash_table_unref);
    g_clear_pointer(&rails->by.holders, g_hash_table_unref);
    g_ptr_array_unref(rails->nics);
    g_free(rails);
}

/* ---- look-ups ---- */

const IbhNic *ibh_rails_nic(const IbhRails *rails, int ifindex)
{
    return g_hash_table_lookup(rails->by.nics, GINT_TO_POINTER(ifindex));
}

const IbhNic *ibh_rails_nic_by_table(const IbhRails *rails, guint32 table)
{
    const IbhNic *found = NULL;

    for (guint i = 0; i < rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(rails->nics, i);

        if (!nic->rank)
            break; /* candidates come first */
        if (nic->table == table && (!found || nic->status == IBH_NIC_RAIL))
            found = nic; /* where tables clash, the rail has it */
    }
    return found;
}

const IbhNic *ibh_rails_owner(const IbhRails *rails, const IbhIp *address)
{
    return g_hash_table_lookup(rails->by.owners, address);
}

const IbhNic *ibh_rails_holder(const IbhRails *rails, const IbhIp *address)
{
    return g_hash_table_lookup(rails->by.first, address);
}

gboolean ibh_nic_serves(const IbhNic *nic, const IbhAddress *address)
{
    return address->ifindex == nic->link->ifindex && ibh_address_counts(address) &&
           (address->local.family == AF_INET || nic->settings.ipv6);
}

gboolean ibh_rails_has_address(const IbhRails *rails, const IbhNic *nic, const IbhIp *address)
{
    const IbhAddress key = {.ifindex = nic->link->ifindex, .local = *address};

    return g_hash_table_contains(rails->by.holders, &key);
}

static const IbhNic *owner_of_first_tier(const IbhRails *rails, const IbhRule *rule)
{
    const GArray *rules = rails->snapshot->rules;

    for (guint i = 0; i < rules->len; i++) {
        const IbhRule *other = &g_array_index(rules, IbhRule, i);

        if (ibh_rule_is_ours(other) && other->table != rule->table && ibh_prefix_equal(&other->from, &rule->from))
            return ibh_rails_nic_by_table(rails, other->table);
    }
    return NULL;
}

const IbhNic *ibh_rule_owner(const IbhRails *rails, const IbhRule *rule)
{
    const IbhNic *by_table = ibh_rails_nic_by_table(rails, rule->table);
    const IbhNic *holder = ibh_rails_holder(rails, &rule->from.ip);

    if (rule->table == IBH_TABLE_MAIN) { /* a second tier: the address, or its first tier, tells whose it is */
        const IbhNic *owner = ibh_rails_owner(rails, &rule->from.ip);

        return owner ? owner : holder ? holder : owner_of_first_tier(rails, rule);
    }
    if (!holder || (by_table && ibh_rails_has_address(rails, by_table, &rule->from.ip)))
        return by_table;
    return holder;
}

const IbhNic *ibh_route_owner(const IbhRails *rails, const IbhRoute *route)
{
    const IbhNic *by_device = route->ifindex ? ibh_rails_nic(rails, route->ifindex) : NULL;

    return by_device ? by_device : ibh_rails_nic_by_table(rails, route->table);
}
