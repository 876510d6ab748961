/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/known.h"
#include "plan/rails.h"
#include "plan/want.h"

#include <linux/fib_rules.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define STACK_DEPTH 8 /* how many links below a stacked link we follow */

/* ---- candidates ---- */

IbhWhy ibh_link_why(const IbhSnapshot *snapshot, const IbhLink *link, IbhManage manage)
{
    const gboolean is_stacked = g_str_equal(link->kind, "vlan") || g_str_equal(link->kind, "macvlan");
    const IbhLink *parent = is_stacked ? ibh_snapshot_link(snapshot, link->parent) : NULL;
    const gboolean has_rdma = link->type == ARPHRD_INFINIBAND || link->rdma[0] || (parent && parent->rdma[0]);

    if (link->flags & IFF_LOOPBACK)
        return IBH_WHY_LOOPBACK;
    if (!ibh_iface_name_has_sysctls(link->name))
        return IBH_WHY_NAME;
    if (link->master)
        return IBH_WHY_PORT;
    if (link->representor)
        return IBH_WHY_REPRESENTOR;
    if (manage == IBH_MANAGE_YES)
        return IBH_WHY_MANAGED;
    return has_rdma ? IBH_WHY_NOT_SHARED : IBH_WHY_NOT_RDMA;
}

/* Candidates come first. The other NICs follow, in the order of their names. Among candidates, physical NICs come
 * before virtual functions, VLANs and other children; within each of these groups, InfiniBand comes before other links;
 * then the name decides. So a candidate's rank depends only on which candidates are present. The state of their links,
 * the order in which they appeared, and manage=no do not matter. */
static gint compare_ranks(gconstpointer left, gconstpointer right)
{
    const IbhNic *a = *(const IbhNic *const *)left, *b = *(const IbhNic *const *)right;
    const gboolean a_is_child = a->link->parent || a->link->vf, b_is_child = b->link->parent || b->link->vf;

    IBH_COMPARE(a->status == IBH_NIC_NO_CANDIDATE, b->status == IBH_NIC_NO_CANDIDATE);
    if (a->status != IBH_NIC_NO_CANDIDATE) {
        IBH_COMPARE(a_is_child, b_is_child);
        IBH_COMPARE(a->link->type != ARPHRD_INFINIBAND, b->link->type != ARPHRD_INFINIBAND);
    }
    return strverscmp(a->link->name, b->link->name);
}

/* ---- shared subnets: a partner of a NIC is another candidate with a subnet that overlaps a subnet of the NIC ---- */

/* TRUE if the subnet of this address makes the NIC a rail when another candidate shares the subnet. FALSE for:
 * - an address that does not count (ibh_address_counts());
 * - the prefix length 0, which is a mistake (every NIC would share the subnet), and that of a single host;
 * - an advertised address, unless `advertised`;
 * - an address outside 169.254/16 with the scope link;
 * - an address in 169.254/16, if the NIC also serves an IPv4 address outside: then 169.254/16 is usually the network of
 *   a cloud's metadata service, which this host has to reach through one certain NIC (NICs without other IPv4
 *   addresses form a small cluster, and can be rails);
 * - a global IPv6 address whose peer has an fe80:: address. */
static gboolean can_be_shared(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address, gboolean advertised)
{
    if (!ibh_address_counts(address) || !address->subnet.length ||
        address->subnet.length == ibh_ip_bits(&address->local) ||
        (ibh_rails_is_advertised(rails, address) && !advertised))
        return FALSE;
    if (!ibh_ip_is_link_local(&address->subnet.ip))
        return address->scope < RT_SCOPE_LINK;
    IBH_EACH_POINTER (const IbhAddress, other, nic->served) {
        if (other->local.family == AF_INET && !ibh_ip_is_link_local(&other->local))
            return FALSE;
    }
    return address->local.family == AF_INET;
}

/* TRUE if `lower` is the parent of `link` (IbhLink.parent), the parent's parent, and so on, up to STACK_DEPTH links
 * below `link`. */
static gboolean is_stacked_on(const IbhSnapshot *snapshot, const IbhLink *link, const IbhLink *lower)
{
    for (int depth = 0; link && depth < STACK_DEPTH; depth++) {
        if (link->parent == lower->ifindex)
            return TRUE;
        link = ibh_snapshot_link(snapshot, link->parent);
    }
    return FALSE;
}

/* Finds a partner of this NIC, and describes the partner in `ret_reason`. Skips candidates that are stacked on this
 * NIC, or on which this NIC is stacked. With `advertised`, advertised addresses count, too. Returns FALSE, and leaves
 * `ret_reason` alone, if there is no partner. */
static gboolean find_partner(const IbhRails *rails, const IbhNic *nic, gboolean advertised, IbhReason *ret_reason)
{
    const IbhSnapshot *snapshot = rails->snapshot;

    IBH_EACH_POINTER (const IbhAddress, mine, nic->served) {
        if (!can_be_shared(rails, nic, mine, advertised))
            continue;
        IBH_EACH (const IbhAddress, theirs, snapshot->addresses) {
            const IbhNic *other =
                ibh_prefix_overlaps(&mine->subnet, &theirs->subnet) ? ibh_rails_nic(rails, theirs->ifindex) : NULL;

            if (!other || other == nic || !other->rank || !can_be_shared(rails, other, theirs, advertised) ||
                is_stacked_on(snapshot, nic->link, other->link) || is_stacked_on(snapshot, other->link, nic->link))
                continue;
            *ret_reason = (IbhReason){
                .why = advertised ? IBH_WHY_ADVERTISED : IBH_WHY_SHARES, .other = other->link, .subnet = &mine->subnet};
            return TRUE;
        }
    }
    return FALSE;
}

/* ---- a rail that lost its partners ---- */

/* TRUE if the NIC serves a configured address, that is, one that is not advertised. */
static gboolean has_configured_address(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (!ibh_rails_is_advertised(rails, address))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if every NIC that could be a partner of this NIC is here with its addresses. There are two conditions:
 * - Each known rail is a candidate now, and has a subnet for each address that it had (ibh_known_has_subnet()). A known
 *   rail whose NIC has a master or manage=no now does not count.
 * - There are other candidates, and each of them has a configured address.
 * If so, and this NIC is still not engaged, there is no partner to wait for (IbhNic.is_alone_for_good). */
static gboolean are_partners_all_there(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH (const IbhKnownRail, known, rails->snapshot->state->known) {
        const IbhLink *link = ibh_known_link(rails->snapshot, known);
        const IbhNic *known_nic = link ? ibh_rails_nic(rails, link->ifindex) : NULL;

        if (known_nic && (link->master || known_nic->settings.manage == IBH_MANAGE_NO)) /* this run forgets the rail */
            continue;
        if (!known_nic || !known_nic->rank)
            return FALSE;
        for (guint i = 0; i < known->n_addresses; i++) {
            if (!ibh_known_has_subnet(rails, known_nic, known, &known->addresses[i]))
                return FALSE;
        }
    }
    IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
        if (other->rank && other != nic && !has_configured_address(rails, other))
            return FALSE;
    }
    return rails->candidates > 1;
}

/* TRUE if an earlier run left one of two signs that this NIC was a rail:
 * - a rule of ours that the NIC owns (ibh_rule_owner()), other than a "lookup main" rule, for a configured address that
 *   has a subnet and that no engaged NIC serves;
 * - our arp_announce, if the NIC has a configured address. If foreign rules route all addresses of a rail, the rail has
 *   only this sign.
 * These signs keep the NIC a rail while its partner is away for a moment. */
static gboolean has_remains(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        const IbhAddress *address = ibh_rails_address(rails, nic, &rule->from.ip);

        if (!address || !ibh_rule_is_ours(rule) || rule->table == IBH_TABLE_MAIN || ibh_rule_owner(rails, rule) != nic)
            continue;
        if (ibh_address_is_host(address) || ibh_rails_is_advertised(rails, address) ||
            ibh_rails_is_claimed(rails, &rule->from.ip))
            continue;
        /* For an address that does not count, such as a tentative one, only a rule to T proves that this NIC was a
         * rail. */
        if (rule->table == nic->table || ibh_address_counts(address))
            return TRUE;
    }
    return nic->base[IBH_SYSCTL_ARP_ANNOUNCE] != nic->link->sysctl[IBH_SYSCTL_ARP_ANNOUNCE] &&
           has_configured_address(rails, nic);
}

/* ---- the verdict ---- */

/* Returns the priority of the first rule that looks everything up in the local table; G_MAXUINT32 if there is none; 0
 * if the NIC serves no address of the family, and so needs no such rule. */
static guint32 find_local_priority(const IbhRails *rails, const IbhNic *nic, int family)
{
    guint32 priority = ibh_nic_serves_family(nic, family) ? G_MAXUINT32 : 0;

    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (rule->family == family && rule->table == IBH_TABLE_LOCAL && rule->action == FR_ACT_TO_TBL &&
            !rule->from.length && !rule->selectors)
            priority = MIN(priority, rule->priority);
    }
    return priority;
}

/* TRUE if the NIC has an address that counts, or that would count if it were not tentative. */
static gboolean has_any_address(const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        IbhAddress settled = *address;

        settled.tentative = FALSE;
        if (ibh_address_counts(&settled))
            return TRUE;
    }
    return FALSE;
}

/* Sets the status of a candidate and the reason for it. A candidate is a rail because of its subnets or settings, or
 * because of what an earlier run left. But the candidate is blocked if our rules would come before the rule for the
 * local table: then traffic to this host's own addresses would leave through a rail. */
static void find_status(const IbhRails *rails, IbhNic *nic)
{
    const guint32 ipv4 = find_local_priority(rails, nic, AF_INET), ipv6 = find_local_priority(rails, nic, AF_INET6);
    const guint32 local_priority = MAX(ipv4, ipv6); /* of the family whose rule for the local table comes later */
    IbhNicStatus status = IBH_NIC_RAIL; /* set in `nic` at the end: has_remains() asks which NICs are rails */
    IbhWhy why = nic->is_engaged ? nic->reason.why : IBH_WHY_STAYS;

    nic->is_alone_for_good = !nic->is_engaged && are_partners_all_there(rails, nic);
    if (nic->kept) {
        status = IBH_NIC_HELD;
        why = IBH_WHY_KEPT;
    } else if (nic->settings.manage == IBH_MANAGE_NO) {
        status = IBH_NIC_UNMANAGED;
        why = IBH_WHY_UNMANAGED;
    } else if (!has_any_address(nic)) {
        status = IBH_NIC_NO_ADDRESS;
        why = IBH_WHY_NO_ADDRESS;
    } else if (!nic->is_engaged && (nic->is_alone_for_good || !has_remains(rails, nic))) {
        status = IBH_NIC_ALONE;
        why = find_partner(rails, nic, TRUE, &nic->reason) ? IBH_WHY_ADVERTISED : IBH_WHY_NOT_SHARED;
    } else if (nic->held) {
        status = IBH_NIC_HELD;
        why = IBH_WHY_UNDONE;
    } else if (local_priority >= IBH_PRIORITY_BASE - IBH_PRIORITY_SPAN) {
        /* Our first rule has 1926, but --check asks for a number below 1925 (check/rows.c). */
        status = IBH_NIC_BLOCKED;
        why = local_priority == G_MAXUINT32 ? IBH_WHY_NO_LOCAL_RULE : IBH_WHY_LATE_LOCAL_RULE;
        nic->reason.priority = local_priority;
    }
    nic->status = status;
    nic->reason.why = why;
}

/* ---- the index ---- */

/* TRUE if a router on the wire probably made this IPv6 address: the address is dynamic (see IbhAddress), or main has
 * routes to its subnet through its NIC, all with protocol ra. The routes count because systemd-networkd adds an address
 * without a lifetime, which is not dynamic, if the router's prefix has an infinite lifetime. FALSE for a /128, such as
 * a DHCPv6 lease, and for an fe80:: address. */
static gboolean is_advertised(const IbhSnapshot *snapshot, const IbhAddress *address)
{
    gboolean has_route = FALSE, has_configured = FALSE;

    if (address->local.family != AF_INET6 || address->subnet.length == 128 || ibh_ip_is_fe80(&address->local))
        return FALSE;
    if (address->dynamic)
        return TRUE;
    IBH_EACH (const IbhRoute, route, snapshot->main_by_nic) {
        if (route->ifindex != address->ifindex || !ibh_prefix_equal(&route->dst, &address->subnet))
            continue;
        has_route = TRUE;
        has_configured |= route->protocol != RTPROT_RA;
    }
    return has_route && !has_configured;
}

/* Gives each NIC its addresses, served ones first, and each IP address its holders. Notes the advertised addresses. */
static void index_addresses(const IbhRails *rails)
{
    IBH_EACH (IbhAddress, address, rails->snapshot->addresses) {
        const IbhNic *nic = ibh_rails_nic(rails, address->ifindex);

        if (nic && ibh_address_counts(address)) {
            g_ptr_array_add(nic->addresses, address);
            g_ptr_array_add(nic->served, address);
        }
        if (nic && is_advertised(rails->snapshot, address))
            g_hash_table_add(rails->by.advertised, address);
    }
    IBH_EACH (IbhAddress, address, rails->snapshot->addresses) {
        const IbhNic *nic = ibh_rails_nic(rails, address->ifindex);

        if (nic && !ibh_address_counts(address))
            g_ptr_array_add(nic->addresses, address);
    }
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IBH_EACH_POINTER (IbhAddress, address, nic->addresses) {
            GPtrArray *holders = g_hash_table_lookup(rails->by.holders, &address->local);

            if (!holders) {
                holders = g_ptr_array_new();
                g_hash_table_insert(rails->by.holders, &address->local, holders);
            }
            g_ptr_array_add(holders, address);
        }
    }
}

/* Sorts the NICs, ranks the candidates, indexes all NICs by ifindex, and finds the administrator's values. */
static void index_nics(IbhRails *rails)
{
    g_ptr_array_sort(rails->nics, compare_ranks);
    for (guint i = 0; i < rails->nics->len; i++) {
        IbhNic *nic = g_ptr_array_index(rails->nics, i);

        nic->position = i;
        g_hash_table_insert(rails->by.nics, GINT_TO_POINTER(nic->link->ifindex), nic);
        if (nic->status != IBH_NIC_NO_CANDIDATE)
            nic->rank = rails->candidates = i + 1;
    }
    /* If the present value is one that we set, the administrator's value is the saved one. If the present value is the
     * `set` of two saved entries, the first entry counts, so the loop runs backwards. */
    IBH_EACH_BACK (const IbhSavedSysctl, saved, rails->snapshot->state->sysctls) {
        IbhNic *nic = g_hash_table_lookup(rails->by.nics, GINT_TO_POINTER(saved->ifindex));

        if (nic && nic->link->sysctl[saved->key] == saved->set)
            nic->base[saved->key] = saved->old;
    }
}

/* ---- the whole ---- */

static void nic_free(gpointer data)
{
    IbhNic *nic = data;

    g_ptr_array_unref(nic->addresses);
    g_ptr_array_unref(nic->served);
    g_ptr_array_unref(nic->programmed);
    g_array_unref(nic->pairs);
    g_array_unref(nic->routes);
    g_array_unref(nic->rules);
    g_free(nic);
}

/* Treats a kept NIC as a NIC with manage=yes and without table=, because its settings may come from an --apply that
 * nobody confirmed. */
static IbhNic *nic_new(const IbhConfig *config, const IbhSnapshot *snapshot, const IbhLink *link,
                       const IbhRequest *request)
{
    IbhNic *nic = g_new0(IbhNic, 1);
    gboolean undone;

    nic->link = link;
    undone = request->undo && ibh_nic_is_selected(nic, request->only);
    memcpy(nic->base, link->sysctl, sizeof nic->base);
    nic->addresses = g_ptr_array_new();
    nic->served = g_ptr_array_new();
    nic->programmed = g_ptr_array_new();
    nic->pairs = IBH_NEW_ARRAY(IbhPair);
    nic->routes = IBH_NEW_ARRAY(IbhRoute);
    nic->rules = IBH_NEW_ARRAY(IbhRule);
    nic->settings = ibh_config_settings(config, link->name);
    nic->held = undone || (request->respects_holds && ibh_names_have(snapshot->state->holds, link->name));
    nic->kept = !undone && request->respects_holds && ibh_names_have(snapshot->state->kept, link->name);
    if (nic->kept) {
        nic->settings.manage = IBH_MANAGE_YES;
        nic->settings.table = IBH_TABLE_AUTO; /* tables.c: the NIC keeps its number */
    }
    nic->reason.why = ibh_link_why(snapshot, link, nic->settings.manage);
    nic->reason.other = ibh_snapshot_link(snapshot, link->master);
    /* find_status() sets the final status of candidates. */
    nic->status = nic->reason.why > IBH_WHY_NOT_RDMA ? IBH_NIC_ALONE : IBH_NIC_NO_CANDIDATE;
    return nic;
}

IbhRails *ibh_rails_find(const IbhConfig *config, const IbhSnapshot *snapshot, const IbhRequest *request,
                         GError **error)
{
    g_autoptr(IbhRails) rails = g_new(IbhRails, 1);

    *rails = (IbhRails){
        .snapshot = snapshot,
        .only = request->only,
        .undo = request->undo,
        .blind = request->blind,
        .pool = ibh_pool_new(),
        .by.nics = g_hash_table_new(NULL, NULL),
        .by.holders =
            g_hash_table_new_full(ibh_ip_hash, (GEqualFunc)ibh_ip_equal, NULL, (GDestroyNotify)g_ptr_array_unref),
        .by.tables = g_hash_table_new(NULL, NULL),
        .by.advertised = g_hash_table_new(NULL, NULL),
        .main = ibh_config_settings(config, "").main,
        .nics = g_ptr_array_new_with_free_func(nic_free),
    };
    IBH_EACH (const IbhLink, link, snapshot->links)
        g_ptr_array_add(rails->nics, nic_new(config, snapshot, link, request));
    index_nics(rails);
    index_addresses(rails);
    /* First find every NIC that is engaged because of its subnets or settings. Only then look at what earlier runs
     * left: if an engaged NIC has an address, an old rule for the address must not make another NIC with this address a
     * rail.
     */
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        if (nic->rank && nic->settings.manage != IBH_MANAGE_NO)
            nic->is_engaged = nic->settings.manage == IBH_MANAGE_YES || find_partner(rails, nic, FALSE, &nic->reason);
    }
    if (!ibh_rails_assign_tables(rails, error))
        return NULL;
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        if (nic->rank)
            find_status(rails, nic);
        if (nic->status == IBH_NIC_RAIL)
            nic->is_engaged = TRUE; /* has_remains() of the NICs that follow reads is_engaged */
    }
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL)
            ibh_want(rails, nic);
    }
    return g_steal_pointer(&rails);
}
