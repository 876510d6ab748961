/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/known.h"

#include <linux/if_arp.h>
#include <net/if.h>
#include <string.h>

/* ---- the hardware of a link ---- */

static gboolean stays(const IbhLink *link)
{
    static const char *const soft[] = {"bond", "team", "vlan", "macvlan", "ipvlan", "dummy", NULL};

    return link->rdma[0] && !link->vf && !link->parent && !link->representor && !g_strv_contains(soft, link->kind);
}

gboolean ibh_known_of(const IbhNic *nic, IbhKnownRail *ret_known)
{
    const IbhLink *link = nic->link;

    *ret_known = (IbhKnownRail){.slot = "-"};
    g_strlcpy(ret_known->iface, link->name, sizeof ret_known->iface);
    g_strlcpy(ret_known->port, link->rdma, sizeof ret_known->port);
    ibh_link_name_hardware(link, ret_known->hardware, sizeof ret_known->hardware);
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (ret_known->n_addresses == IBH_KNOWN_ADDRESSES)
            break;
        ret_known->addresses[ret_known->n_addresses].ip = address->local;
        ret_known->addresses[ret_known->n_addresses++].length = (guint8)address->subnet.length;
    }
    return nic->status == IBH_NIC_RAIL && stays(link);
}

static gboolean has_hardware(const IbhLink *link, const IbhKnownRail *known)
{
    char hardware[sizeof known->hardware];

    ibh_link_name_hardware(link, hardware, sizeof hardware);
    return !link->parent && g_str_equal(hardware, known->hardware);
}

/* An administrator may have given it another hardware address: then its name and port tell. */
const IbhLink *ibh_known_link(const IbhSnapshot *snapshot, const IbhKnownRail *known)
{
    const IbhLink *named = ibh_snapshot_link_by_name(snapshot, known->iface);

    if (named && has_hardware(named, known))
        return named;
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (has_hardware(link, known) && stays(link))
            return link;
    }
    return named && g_str_equal(named->rdma, known->port) ? named : NULL;
}

/* ---- is it missing? ---- */

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

IbhMissing ibh_known_missing(const IbhRails *rails, const IbhKnownRail *known)
{
    const IbhLink *link = ibh_known_link(rails->snapshot, known);
    const IbhNic *nic = link ? ibh_rails_nic(rails, link->ifindex) : NULL;

    if (nic)
        return what_lacks(nic);
    return known->in_slot ? IBH_ELSEWHERE : IBH_IS_GONE;
}

gboolean ibh_is_fault(IbhMissing missing)
{
    return missing >= IBH_LACKS_ADDRESS;
}

const char *ibh_missing_text(IbhMissing missing)
{
    static const char *const texts[] = {
        [IBH_IS_THERE] = "it is there",
        [IBH_ON_PURPOSE] = "it is administratively down",
        [IBH_ELSEWHERE] = "its hardware is there, but has no interface in this network namespace",
        [IBH_LACKS_ADDRESS] = "it has link, but no address",
        [IBH_LACKS_CARRIER] = "its link has no carrier",
        [IBH_LACKS_RDMA] = "its RDMA device is gone",
        [IBH_IS_GONE] = "its hardware is gone, or no driver has it",
        [IBH_NO_SUCH_NIC] = "no NIC has this name",
    };

    return texts[missing];
}

IbhMissing ibh_nic_missing(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH (const IbhKnownRail, known, rails->snapshot->state->known) {
        if (nic->status != IBH_NIC_RAIL && ibh_known_link(rails->snapshot, known) == nic->link)
            return what_lacks(nic);
    }
    return IBH_IS_THERE;
}

static void add_missed(GArray *missed, const IbhKnownRail *known, IbhMissing why)
{
    IbhMissed one = {.known = *known, .why = why};

    if (one.why != IBH_IS_THERE)
        g_array_append_val(missed, one);
}

static gboolean is_missed_already(const GArray *missed, const char *iface)
{
    IBH_EACH (const IbhMissed, one, missed) {
        if (g_str_equal(one->known.iface, iface))
            return TRUE;
    }
    return FALSE;
}

GArray *ibh_known_missed(const IbhRails *rails, const IbhConfig *config)
{
    GArray *missed = g_array_new(FALSE, TRUE, sizeof(IbhMissed));
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    IBH_EACH (const IbhKnownRail, known, rails->snapshot->state->known)
        add_missed(missed, known, ibh_known_missing(rails, known));
    (void)ibh_config_manages(config, names);
    IBH_EACH_POINTER (const char, name, names) {
        const IbhLink *link = ibh_snapshot_link_by_name(rails->snapshot, name);
        IbhKnownRail known = {.slot = "-"};

        if (is_missed_already(missed, name))
            continue;
        g_strlcpy(known.iface, name, sizeof known.iface);
        if (link)
            ibh_link_name_hardware(link, known.hardware, sizeof known.hardware);
        else
            g_strlcpy(known.hardware, name, sizeof known.hardware); /* all that is known of it */
        add_missed(missed, &known, link ? ibh_known_missing(rails, &known) : IBH_NO_SUCH_NIC);
    }
    return missed;
}

/* ---- the list ---- */

IbhKnownRail *ibh_known_find(const GArray *known, const IbhKnownRail *like)
{
    IBH_EACH (IbhKnownRail, one, known) {
        if (g_str_equal(one->hardware, like->hardware))
            return one;
    }
    return NULL;
}

const IbhKnownRail *ibh_known_with(const GArray *known, const IbhIp *ip)
{
    IBH_EACH (const IbhKnownRail, one, known) {
        for (guint i = 0; i < one->n_addresses; i++) {
            if (ibh_ip_equal(&one->addresses[i].ip, ip))
                return one;
        }
    }
    return NULL;
}

void ibh_known_put(GArray *known, const IbhKnownRail *now)
{
    IbhKnownRail *same = ibh_known_find(known, now);

    if (same)
        *same = *now;
    else
        g_array_append_vals(known, now, 1);
    IBH_EACH_BACK (const IbhKnownRail, one, known) {
        if (!g_str_equal(one->hardware, now->hardware) &&
            (g_str_equal(one->iface, now->iface) || g_str_equal(one->slot, now->slot)))
            IBH_REMOVE(IbhKnownRail, one, known);
    }
}

static gboolean shares_a_subnet(const IbhNic *nic, const IbhKnownRail *known)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        for (guint i = 0; i < known->n_addresses; i++) {
            if (ibh_prefix_contains(&address->subnet, &known->addresses[i].ip))
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean is_missed(const IbhRails *rails, const IbhConfig *config, const IbhKnownRail *known)
{
    const IbhLink *link = ibh_known_link(rails->snapshot, known);
    const IbhNic *nic = link ? ibh_rails_nic(rails, link->ifindex) : NULL;

    if (!nic)
        return ibh_config_settings(config, known->iface).manage != IBH_MANAGE_NO;
    return nic->status != IBH_NIC_UNMANAGED && !link->master &&
           (nic->status != IBH_NIC_ALONE || shares_a_subnet(nic, known));
}

void ibh_known_forget(GArray *known, const IbhRails *rails, const IbhConfig *config)
{
    IBH_EACH_BACK (const IbhKnownRail, one, known) {
        if (!is_missed(rails, config, one))
            IBH_REMOVE(IbhKnownRail, one, known);
    }
}

void ibh_known_forget_name(GArray *known, const char *iface)
{
    IBH_EACH_BACK (const IbhKnownRail, one, known) {
        if (g_str_equal(one->iface, iface))
            IBH_REMOVE(IbhKnownRail, one, known);
    }
}

/* ---- old values that no run could write down ---- */

static gboolean has_rule(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && ibh_rails_holder(rails, &rule->from.ip) == nic)
            return TRUE;
    }
    return FALSE;
}

static gboolean was_written_down(const IbhState *state, const IbhNic *nic)
{
    IBH_EACH (const IbhSavedRail, saved, state->rails) {
        if (saved->ifindex == nic->link->ifindex)
            return TRUE;
    }
    return FALSE;
}

/* A value that we set, and no other is known that was there before. */
static gboolean is_lost(const IbhState *state, const IbhNic *nic, IbhSysctl key)
{
    const gboolean strict = nic->settings.arp == IBH_ARP_STRICT;
    const int ours[IBH_N_SYSCTLS] = {[IBH_SYSCTL_RP_FILTER] = strict ? 1 : 2,
                                     [IBH_SYSCTL_ARP_FILTER] = 1,
                                     [IBH_SYSCTL_ARP_ANNOUNCE] = 2,
                                     [IBH_SYSCTL_ARP_IGNORE] = strict ? 2 : 1};

    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls) {
        if (saved->ifindex == nic->link->ifindex && saved->key == key)
            return FALSE;
    }
    return ours[key] && nic->link->sysctl[key] == ours[key];
}

void ibh_known_note_lost_values(const IbhRails *rails, IbhState *state)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->settings.arp == IBH_ARP_KEEP || was_written_down(state, nic) || !has_rule(rails, nic))
            continue;
        for (IbhSysctl key = 0; key < IBH_N_SYSCTLS; key++) {
            const int value = nic->link->sysctl[key];
            IbhSavedSysctl saved = {
                .ifindex = nic->link->ifindex, .hardware = "-", .key = key, .old = value, .set = value};

            g_strlcpy(saved.iface, nic->link->name, sizeof saved.iface);
            if (is_lost(state, nic, key))
                g_array_append_val(state->sysctls, saved);
        }
    }
}
