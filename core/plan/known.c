/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/known.h"

#include <string.h>
#include <sys/socket.h>

/* ---- the hardware of a link ---- */

/* TRUE for hardware with an RDMA port. Only hardware is remembered: a virtual function, a VLAN or a bond may be
 * deleted on purpose. */
static gboolean is_hardware(const IbhLink *link)
{
    static const char *const soft[] = {"bond", "team", "vlan", "macvlan", "ipvlan", "dummy", NULL};

    return link->rdma[0] && !link->vf && !link->parent && !link->representor && !g_strv_contains(soft, link->kind);
}

/* TRUE if one of the remembered addresses is of this family. */
static gboolean was_in_family(const IbhKnownRail *known, int family)
{
    for (guint i = 0; i < known->n_addresses; i++) {
        if (known->addresses[i].family == family)
            return TRUE;
    }
    return FALSE;
}

/* Adds the address, unless the entry is full. */
static void remember_address(IbhKnownRail *known, const IbhIp *ip)
{
    if (known->n_addresses < IBH_KNOWN_ADDRESSES)
        known->addresses[known->n_addresses++] = *ip;
}

gboolean ibh_known_describe(const IbhRails *rails, const IbhNic *nic, const GArray *known, gboolean drop_old,
                            IbhKnownRail *ret_known)
{
    const IbhLink *link = nic->link;
    IbhKnownRail now = {.since = 0};

    g_strlcpy(now.iface, link->name, sizeof now.iface);
    g_strlcpy(now.port, link->rdma, sizeof now.port);
    ibh_link_name_hardware(link, now.hardware);
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (!ibh_rails_is_advertised(rails, address))
            remember_address(&now, &address->local);
    }
    IBH_EACH (const IbhKnownRail, before, known) {
        static const int families[] = {AF_INET, AF_INET6};

        if (!g_str_equal(before->hardware, now.hardware))
            continue;
        now.since = before->since;
        if (g_str_equal(before->port, now.port))
            g_strlcpy(now.slot, before->slot, sizeof now.slot);
        IBH_EACH_ROW (const int, family, families) {
            if (drop_old || was_in_family(&now, *family))
                continue;
            for (guint i = 0; i < before->n_addresses; i++) {
                if (before->addresses[i].family == *family)
                    remember_address(&now, &before->addresses[i]);
            }
        }
    }
    *ret_known = now;
    /* A rail that shares no subnet now (IBH_WHY_STAYS) may lack an address that the old entry has. */
    return nic->status == IBH_NIC_RAIL && is_hardware(link) && (drop_old || nic->reason.why != IBH_WHY_STAYS);
}

const IbhLink *ibh_known_link(const IbhSnapshot *snapshot, const IbhKnownRail *known)
{
    const IbhLink *named = ibh_snapshot_link_by_name(snapshot, known->iface);

    /* An entry that is only a name (manage=yes) has no hardware: then the name alone decides. */
    if (named && (!known->hardware[0] || ibh_link_has_hardware(named, known->hardware)))
        return named;
    /* Ask is_hardware(), because a VLAN or a bond may have the hardware address of the NIC below. */
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (ibh_link_has_hardware(link, known->hardware) && is_hardware(link))
            return link;
    }
    /* The MAC may have changed, or the card may have been swapped. So the link of the same name counts, too, if it has
     * the same RDMA port, and the same slot or an unknown slot. */
    if (named && g_str_equal(named->rdma, known->port) && (!named->slot[0] || g_str_equal(named->slot, known->slot)))
        return named;
    return NULL;
}

/* ---- why a known rail is missing ---- */

/* TRUE if the subnet of one of these addresses contains an address that the known rail had. */
static gboolean shares_a_subnet(const GPtrArray *addresses, const IbhKnownRail *known)
{
    IBH_EACH_POINTER (const IbhAddress, address, addresses) {
        for (guint i = 0; i < known->n_addresses; i++) {
            if (ibh_prefix_contains(&address->subnet, &known->addresses[i]))
                return TRUE;
        }
    }
    return FALSE;
}

/* TRUE if the NIC still serves an address of the known rail, while a subnet of another candidate of the same link type
 * contains an address of the known rail. The NIC has no partner (IBH_NIC_ALONE), so its own address has the prefix
 * length of a single host. This is a mistake: the administrator has not moved the NIC to another subnet. */
static gboolean has_lost_subnet(const IbhRails *rails, const IbhNic *nic, const IbhKnownRail *known)
{
    gboolean has_partner = FALSE;

    IBH_EACH_POINTER (const IbhNic, other, rails->nics)
        has_partner |= other != nic && other->rank && other->link->type == nic->link->type &&
                       shares_a_subnet(other->addresses, known);
    return has_partner && shares_a_subnet(nic->served, known);
}

gboolean ibh_known_has_subnet(const IbhRails *rails, const IbhNic *nic, const IbhKnownRail *known, const IbhIp *ip)
{
    gboolean has_old = FALSE, has_new = FALSE;

    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family != ip->family)
            continue;
        if (ibh_prefix_contains(&address->subnet, ip))
            return TRUE;
        has_new |= !ibh_rails_is_advertised(rails, address) && !ibh_ip_is_link_local(&address->local);
        for (guint i = 0; i < known->n_addresses; i++)
            has_old |= ibh_prefix_contains(&address->subnet, &known->addresses[i]);
    }
    return has_new && !has_old;
}

IbhMissing ibh_nic_lack(const IbhNic *nic)
{
    if (nic->status == IBH_NIC_NO_CANDIDATE)
        return nic->link->rdma[0] || nic->settings.manage == IBH_MANAGE_YES ? IBH_IS_THERE : IBH_LACKS_RDMA;
    if (nic->status != IBH_NIC_NO_ADDRESS && nic->status != IBH_NIC_ALONE && nic->status != IBH_NIC_RAIL)
        return IBH_IS_THERE;
    if (!(nic->link->flags & IFF_UP))
        return IBH_ON_PURPOSE;
    if (!nic->link->carrier)
        return IBH_LACKS_CARRIER;
    return nic->status == IBH_NIC_NO_ADDRESS ? IBH_LACKS_ADDRESS : IBH_IS_THERE;
}

const char *ibh_known_name(const IbhKnownRail *known)
{
    return known->link ? known->link->name : known->iface;
}

void ibh_known_look(IbhKnownRail *known, const IbhRails *rails, const IbhConfig *config)
{
    const gboolean is_only_a_name = !known->hardware[0]; /* the name of a NIC with manage=yes, which was no rail */
    const IbhNic *nic;
    gboolean is_elsewhere; /* no subnet of the NIC contains an address that the known rail had */

    known->link = ibh_known_link(rails->snapshot, known);
    nic = known->link ? ibh_rails_nic(rails, known->link->ifindex) : NULL;
    if (!nic) {
        known->why = is_only_a_name ? IBH_NO_SUCH_NIC : IBH_IS_GONE;
        if (ibh_config_settings(config, known->iface).manage == IBH_MANAGE_NO)
            known->why = IBH_FORGOTTEN;
        return;
    }
    known->why = ibh_nic_lack(nic);
    if (is_only_a_name)
        return;
    is_elsewhere = !shares_a_subnet(nic->addresses, known);
    if (nic->settings.manage == IBH_MANAGE_NO || nic->link->master)
        known->why = IBH_FORGOTTEN;
    else if (nic->status != IBH_NIC_ALONE)
        return;
    else if (known->why == IBH_IS_THERE && has_lost_subnet(rails, nic, known))
        known->why = IBH_LACKS_SUBNET;
    else if (nic->is_alone_for_good || (is_elsewhere && ibh_known_has_subnet(rails, nic, known, known->addresses)))
        known->why = IBH_FORGOTTEN; /* the partners are gone for good, or the NIC has other subnets now */
    else if (known->why == IBH_IS_THERE && is_elsewhere)
        known->why = IBH_LACKS_ADDRESS;
}

/* ---- the list ---- */

void ibh_known_put(GArray *known, const IbhKnownRail *now)
{
    gboolean is_listed = FALSE;

    IBH_EACH_BACK (IbhKnownRail, one, known) {
        if (!g_str_equal(one->hardware, now->hardware) && !g_str_equal(one->slot, now->slot))
            continue;
        if (is_listed)
            IBH_REMOVE(IbhKnownRail, one, known);
        else
            *one = *now;
        is_listed = TRUE;
    }
    if (!is_listed)
        g_array_append_vals(known, now, 1);
}

gboolean ibh_known_differ(const GArray *before, const GArray *after)
{
    IBH_EACH (const IbhKnownRail, one, after) {
        gboolean was_there = FALSE;

        IBH_EACH (const IbhKnownRail, other, before)
            was_there |= g_str_equal(other->hardware, one->hardware) && g_str_equal(other->slot, one->slot) &&
                         was_in_family(other, AF_INET) == was_in_family(one, AF_INET) &&
                         was_in_family(other, AF_INET6) == was_in_family(one, AF_INET6);
        if (!was_there)
            return TRUE;
    }
    return before->len != after->len;
}

/* ---- administrator's values that no run saved ---- */

void ibh_known_note_lost_values(const IbhRails *rails, IbhState *state)
{
    /* The values that we set on a rail: rp_filter, arp_filter, arp_announce, arp_ignore; 0 if none. */
    static const int ours[][IBH_N_SYSCTLS] = {
        [IBH_ARP_AUTO] = {2, 1, 2, 1}, [IBH_ARP_STRICT] = {1, 1, 2, 2}, [IBH_ARP_KEEP] = {0}};

    if (state->rails->len || state->sysctls->len)
        return;
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        gboolean has_rules = FALSE;

        IBH_EACH (const IbhRule, rule, rails->snapshot->rules)
            has_rules |= nic->rank && ibh_rule_is_ours(rule) && ibh_rails_holder(rails, &rule->from.ip) == nic;
        for (IbhSysctl key = 0; has_rules && key < IBH_N_SYSCTLS; key++) {
            const int value = nic->link->sysctl[key];
            IbhSavedSysctl saved = {.ifindex = nic->link->ifindex, .key = key, .old = value, .set = value};

            g_strlcpy(saved.iface, nic->link->name, sizeof saved.iface);
            if (value && value == ours[nic->settings.arp][key])
                g_array_append_val(state->sysctls, saved);
        }
    }
}
