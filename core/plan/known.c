/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/known.h"

#include <string.h>
#include <sys/socket.h>

/* ---- the hardware of a link ---- */

static gboolean stays(const IbhLink *link)
{
    static const char *const soft[] = {"bond", "team", "vlan", "macvlan", "ipvlan", "dummy", NULL};

    return link->rdma[0] && !link->vf && !link->parent && !link->representor && !g_strv_contains(soft, link->kind);
}

static gboolean has_family(const IbhKnownRail *known, int family)
{
    for (guint i = 0; i < known->n_addresses; i++) {
        if (known->addresses[i].family == family)
            return TRUE;
    }
    return FALSE;
}

static void add_address(IbhKnownRail *known, const IbhIp *ip)
{
    if (known->n_addresses < IBH_KNOWN_ADDRESSES)
        known->addresses[known->n_addresses++] = *ip;
}

static void add_lost_family(IbhKnownRail *now, const IbhKnownRail *before, int family)
{
    const gboolean is_lost = !has_family(now, family);

    for (guint i = 0; is_lost && i < before->n_addresses; i++) {
        if (before->addresses[i].family == family)
            add_address(now, &before->addresses[i]);
    }
}

gboolean ibh_known_of(const IbhRails *rails, const IbhNic *nic, const GArray *known, gboolean all,
                      IbhKnownRail *ret_known)
{
    const IbhLink *link = nic->link;
    IbhKnownRail now = {.since = 0};

    g_strlcpy(now.iface, link->name, sizeof now.iface);
    g_strlcpy(now.port, link->rdma, sizeof now.port);
    ibh_link_name_hardware(link, now.hardware);
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (!ibh_rails_is_advertised(rails, address))
            add_address(&now, &address->local);
    }
    IBH_EACH (const IbhKnownRail, one, known) {
        if (!g_str_equal(one->hardware, now.hardware))
            continue;
        now.since = one->since;
        if (g_str_equal(one->port, now.port))
            g_strlcpy(now.slot, one->slot, sizeof now.slot);
        if (all)
            continue;
        add_lost_family(&now, one, AF_INET);
        add_lost_family(&now, one, AF_INET6);
    }
    *ret_known = now;
    return nic->status == IBH_NIC_RAIL && stays(link);
}

/* It may have got another hardware address, or have been replaced in its slot: then its name and port tell. A NIC in
 * another slot is another one, also with the same name. */
static gboolean is_in_its_place(const IbhLink *link, const IbhKnownRail *known)
{
    return g_str_equal(link->rdma, known->port) && (!link->slot[0] || g_str_equal(link->slot, known->slot));
}

const IbhLink *ibh_known_link(const IbhSnapshot *snapshot, const IbhKnownRail *known)
{
    const IbhLink *named = ibh_snapshot_link_by_name(snapshot, known->iface);

    if (named && (!known->hardware[0] || ibh_link_has_hardware(named, known->hardware)))
        return named;
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (ibh_link_has_hardware(link, known->hardware) && stays(link))
            return link;
    }
    return named && is_in_its_place(named, known) ? named : NULL;
}

/* ---- is it missing? ---- */

static gboolean shares_a_subnet(const IbhNic *nic, const IbhKnownRail *known)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        for (guint i = 0; i < known->n_addresses; i++) {
            if (ibh_prefix_contains(&address->subnet, &known->addresses[i]))
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean is_forgotten(const IbhNic *nic, const IbhKnownRail *known)
{
    return nic->status == IBH_NIC_UNMANAGED || nic->link->master ||
           (nic->status == IBH_NIC_ALONE && (nic->shares_nothing || !shares_a_subnet(nic, known)));
}

static IbhMissing what_lacks(const IbhNic *nic)
{
    if (nic->status == IBH_NIC_NO_CANDIDATE)
        return nic->link->rdma[0] ? IBH_IS_THERE : IBH_LACKS_RDMA;
    if (nic->status != IBH_NIC_NO_ADDRESS && nic->status != IBH_NIC_ALONE && nic->status != IBH_NIC_RAIL)
        return IBH_IS_THERE;
    if (!(nic->link->flags & IFF_UP))
        return IBH_ON_PURPOSE;
    if (!nic->link->carrier)
        return IBH_LACKS_CARRIER;
    return nic->status == IBH_NIC_NO_ADDRESS ? IBH_LACKS_ADDRESS : IBH_IS_THERE;
}

static IbhMissing judge(const IbhKnownRail *known, const IbhRails *rails, const IbhConfig *config)
{
    const IbhNic *nic = known->link ? ibh_rails_nic(rails, known->link->ifindex) : NULL;
    const gboolean was_rail = known->hardware[0] != '\0';

    if (nic)
        return was_rail && is_forgotten(nic, known) ? IBH_FORGOTTEN : what_lacks(nic);
    if (ibh_config_settings(config, known->iface).manage == IBH_MANAGE_NO)
        return IBH_FORGOTTEN;
    return was_rail ? IBH_IS_GONE : IBH_NO_SUCH_NIC;
}

void ibh_known_look(IbhKnownRail *known, const IbhRails *rails, const IbhConfig *config)
{
    known->link = ibh_known_link(rails->snapshot, known);
    known->why = judge(known, rails, config);
}

IbhMissing ibh_nic_missing(const IbhRails *rails, const IbhNic *nic)
{
    if (nic->status == IBH_NIC_RAIL)
        return IBH_IS_THERE;
    IBH_EACH (const IbhKnownRail, known, rails->snapshot->state->known) {
        const IbhLink *link = ibh_known_link(rails->snapshot, known);

        if (link && link == nic->link)
            return what_lacks(nic);
    }
    return IBH_IS_THERE;
}

/* ---- the list ---- */

const IbhKnownRail *ibh_known_with(const GArray *known, const IbhIp *ip)
{
    IBH_EACH (const IbhKnownRail, one, known) {
        for (guint i = 0; i < one->n_addresses; i++) {
            if (ibh_ip_equal(&one->addresses[i], ip))
                return one;
        }
    }
    return NULL;
}

void ibh_known_put(GArray *known, const IbhKnownRail *now)
{
    gboolean stands = FALSE;

    IBH_EACH_BACK (IbhKnownRail, one, known) {
        if (!g_str_equal(one->hardware, now->hardware) && !g_str_equal(one->slot, now->slot))
            continue;
        if (stands)
            IBH_REMOVE(IbhKnownRail, one, known);
        else
            *one = *now;
        stands = TRUE;
    }
    if (!stands)
        g_array_append_vals(known, now, 1);
}

static gboolean has_all(const GArray *list, const GArray *of)
{
    IBH_EACH (const IbhKnownRail, one, of) {
        gboolean has = FALSE;

        IBH_EACH (const IbhKnownRail, other, list)
            has |= g_str_equal(other->hardware, one->hardware) && g_str_equal(other->slot, one->slot) &&
                   has_family(other, AF_INET) == has_family(one, AF_INET) &&
                   has_family(other, AF_INET6) == has_family(one, AF_INET6);
        if (!has)
            return FALSE;
    }
    return TRUE;
}

gboolean ibh_known_differ(const GArray *before, const GArray *after)
{
    return !has_all(before, after) || !has_all(after, before);
}

/* ---- old values that no run could save ---- */

static gboolean is_remembered(const IbhState *state, int ifindex)
{
    IBH_EACH (const IbhSavedRail, saved, state->rails) {
        if (saved->ifindex == ifindex)
            return TRUE;
    }
    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls) {
        if (saved->ifindex == ifindex)
            return TRUE;
    }
    return FALSE;
}

static void note_lost_values(const IbhNic *nic, IbhState *state)
{
    /* What is set on a rail: rp_filter, arp_filter, arp_announce, arp_ignore. */
    static const int ours[][IBH_N_SYSCTLS] = {
        [IBH_ARP_AUTO] = {2, 1, 2, 1}, [IBH_ARP_STRICT] = {1, 1, 2, 2}, [IBH_ARP_KEEP] = {0}};

    for (IbhSysctl key = 0; key < IBH_N_SYSCTLS; key++) {
        const int value = nic->link->sysctl[key];
        IbhSavedSysctl saved = {.ifindex = nic->link->ifindex, .key = key, .old = value, .set = value};

        g_strlcpy(saved.iface, nic->link->name, sizeof saved.iface);
        if (value && value == ours[nic->settings.arp][key])
            g_array_append_val(state->sysctls, saved);
    }
}

void ibh_known_note_lost_values(const IbhRails *rails, IbhState *state)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        const IbhNic *nic = ibh_rule_is_ours(rule) ? ibh_rails_holder(rails, &rule->from.ip) : NULL;

        if (nic && !is_remembered(state, nic->link->ifindex))
            note_lost_values(nic, state);
    }
}
