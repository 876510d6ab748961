/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The IPv4 sysctls: rp_filter, and the ARP values:
 * - With arp_ignore, a rail answers ARP for its own addresses only.
 * - With arp_filter, the kernel answers for an address if packets from the address to the asking peer leave through the
 *   NIC. A rail that has to answer for other addresses of this host gets arp_filter instead of arp_ignore, and still
 *   answers for no address of another rail, because packets from such an address leave through the other rail.
 * - With arp_announce, a rail sends ARP requests only with one of its own addresses as the source. */
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

gboolean ibh_nic_is_programmed(const IbhRails *rails, const IbhNic *nic)
{
    const gboolean is_rail = nic->status == IBH_NIC_RAIL;
    const gboolean others_route_some = nic->programmed->len < nic->served->len; /* foreign rules route an address */

    if (!is_rail && !nic->kept)
        return FALSE;
    if (is_rail && (rails->undo || ibh_nic_is_selected(nic, rails->only) || others_route_some))
        return TRUE;
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && ibh_rule_owner(rails, rule) == nic)
            return TRUE;
    }
    return FALSE;
}

/* TRUE if a rail other than the address's own NIC owns the IP address (ibh_rails_owner()), and answers for it. */
static gboolean is_served_by_a_rail(const IbhRails *rails, const IbhAddress *address)
{
    const IbhNic *owner = ibh_rails_owner(rails, &address->local);

    return owner && owner->link->ifindex != address->ifindex && owner->link->flags & IFF_UP &&
           ibh_nic_is_programmed(rails, owner);
}

/* TRUE if peers reach other IPv4 addresses of this host only because the rail answers ARP for them:
 * - A local prefix (AnyIP) overlaps a subnet of the rail.
 * - Or the subnet of an address on another NIC overlaps a subnet of the rail, and neither that NIC nor a rail with the
 *   same address answers for the address. A NIC that is not programmed (ibh_nic_is_programmed()) counts as not
 * answering if peers cannot ask it, because it is lo, a dummy, a tunnel or a bridge (whose ports are usually guests),
 * or if it has a strict rp_filter, which drops even the ARP requests. But FALSE if the administrator's arp_ignore
 * already keeps the rail from answering for other NICs: then arp_filter would gain nothing and, whenever our rules
 * are missing, would stop even answers for the rail's own addresses. */
static gboolean must_answer_for_others(const IbhRails *rails, const IbhNic *nic)
{
    const int ignore = ibh_sysctl_effective(rails->snapshot, IBH_SYSCTL_ARP_IGNORE, nic->base[IBH_SYSCTL_ARP_IGNORE]);

    if (ibh_arp_ignore_silences(ignore))
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, mine, nic->addresses) {
        IBH_EACH (const IbhPrefix, prefix, rails->snapshot->local) {
            if (ibh_prefix_overlaps(&mine->subnet, prefix))
                return TRUE;
        }
        IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
            /* A programmed NIC answers for its own addresses. */
            if (other == nic || ibh_nic_is_programmed(rails, other))
                continue;
            if (!ibh_link_is_of_the_host(other->link) && !g_str_equal(other->link->kind, "bridge") &&
                ibh_sysctl_effective(rails->snapshot, IBH_SYSCTL_RP_FILTER, other->base[IBH_SYSCTL_RP_FILTER]) != 1)
                continue;
            IBH_EACH_POINTER (const IbhAddress, theirs, other->addresses) {
                if (theirs->local.family == AF_INET && ibh_prefix_overlaps(&mine->subnet, &theirs->subnet) &&
                    !is_served_by_a_rail(rails, theirs))
                    return TRUE;
            }
        }
    }
    return FALSE;
}

/* ---- a NIC without IPv4 addresses beside the rails ---- */

gboolean ibh_nic_must_be_silent(const IbhRails *rails, const IbhNic *nic)
{
    if (!nic->rank || nic->held || nic->status == IBH_NIC_RAIL || nic->status == IBH_NIC_UNMANAGED)
        return FALSE;
    if (nic->settings.arp == IBH_ARP_KEEP || nic->base[IBH_SYSCTL_ARP_IGNORE] || nic->base[IBH_SYSCTL_ARP_FILTER])
        return FALSE;
    if (!(nic->link->flags & IFF_UP) || ibh_nic_serves_family(nic, AF_INET))
        return FALSE;
    IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
        if (other->link->type == nic->link->type && ibh_nic_is_programmed(rails, other) &&
            ibh_nic_serves_family(other, AF_INET))
            return TRUE;
    }
    return FALSE;
}

/* `nic` must be silent (ibh_nic_must_be_silent()). TRUE if arp_ignore would silence the NIC too much:
 * - Main has an IPv4 route through the NIC: on link, a default, or to the subnet of a candidate.
 * - Or lo, a dummy or a tunnel has an IPv4 address that no rail serves, and whose scope is neither host nor link. Peers
 *   may ask for this address on the NIC.
 * If TRUE, the NIC gets arp_filter instead, and still answers the peers that this host reaches through the NIC. */
static gboolean must_answer_some(const IbhRails *rails, const IbhNic *nic)
{
    const IbhSnapshot *snapshot = rails->snapshot;

    IBH_EACH (const IbhRoute, route, snapshot->main_by_nic) {
        if (route->ifindex == nic->link->ifindex && route->family == AF_INET)
            return TRUE;
    }
    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        const IbhLink *link = ibh_snapshot_link(snapshot, address->ifindex);

        if (address->local.family == AF_INET && address->scope < RT_SCOPE_LINK && link &&
            ibh_link_is_of_the_host(link) && !is_served_by_a_rail(rails, address))
            return TRUE;
    }
    return FALSE;
}

/* ---- values ---- */

int ibh_want_sysctl(const IbhRails *rails, const IbhNic *nic, IbhSysctl key)
{
    /* Start from the administrator's value, not from a value that an earlier run set: the result must not depend on
     * history. */
    const int base = nic->base[key];
    const gboolean filters_already =
        ibh_sysctl_effective(rails->snapshot, IBH_SYSCTL_ARP_FILTER, nic->base[IBH_SYSCTL_ARP_FILTER]) != 0;

    if ((key == IBH_SYSCTL_ARP_IGNORE || key == IBH_SYSCTL_ARP_FILTER) && ibh_nic_must_be_silent(rails, nic)) {
        const IbhSysctl silencer = must_answer_some(rails, nic) ? IBH_SYSCTL_ARP_FILTER : IBH_SYSCTL_ARP_IGNORE;

        return key == silencer ? 1 : base;
    }
    if (nic->status != IBH_NIC_RAIL || nic->settings.arp == IBH_ARP_KEEP)
        return base;
    if (nic->settings.arp == IBH_ARP_STRICT)
        return key == IBH_SYSCTL_RP_FILTER || key == IBH_SYSCTL_ARP_FILTER ? 1 : 2;
    /* With arp=auto, the kernel still accepts every IP packet that it accepted before: the values change which ARP
     * packets the NIC sends, and never make rp_filter stricter. */
    switch (key) {
    case IBH_SYSCTL_RP_FILTER: /* loosen 1, which drops multicast, VIPs' packets, and packets on the wrong NIC */
        return ibh_sysctl_effective(rails->snapshot, key, base) == 1 ? 2 : base;
    case IBH_SYSCTL_ARP_FILTER:
        return !filters_already && must_answer_for_others(rails, nic) ? 1 : base;
    case IBH_SYSCTL_ARP_ANNOUNCE:
        return 2;
    default: /* arp_ignore: the administrator's 2 or 8 stays, because both are stricter than 1 */
        if (ibh_arp_ignore_silences(base))
            return base;
        /* arp_filter, whether the administrator's or ours, takes the place of arp_ignore. */
        return filters_already || must_answer_for_others(rails, nic) ? base : 1;
    }
}
