/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which IPv4 sysctls a NIC should have, so that each rail answers ARP for its own addresses. */
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* What the kernel makes of the administrator's value. */
static int effective_base(const IbhRails *rails, const IbhNic *nic, IbhSysctl key)
{
    return ibh_sysctl_effective(key, nic->base[key], rails->snapshot->all[key]);
}

gboolean ibh_nic_is_strict(const IbhRails *rails, const IbhNic *nic)
{
    return effective_base(rails, nic, IBH_SYSCTL_RP_FILTER) == 1;
}

gboolean ibh_nic_is_programmed(const IbhRails *rails, const IbhNic *nic)
{
    const gboolean is_rail = nic->status == IBH_NIC_RAIL;

    if (!is_rail && !nic->kept)
        return FALSE;
    if (is_rail && (rails->undo || ibh_nic_is_selected(nic, rails->only) || nic->programmed->len < nic->served->len))
        return TRUE;
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && ibh_rule_owner(rails, rule) == nic)
            return TRUE;
    }
    return FALSE;
}

/* Another NIC has this address as well, and answers for it: a rail that is up, with its rules. */
static gboolean is_a_rails_too(const IbhRails *rails, const IbhAddress *address)
{
    const IbhNic *owner = ibh_rails_owner(rails, &address->local);

    return owner && owner->link->ifindex != address->ifindex && owner->link->flags & IFF_UP &&
           ibh_nic_is_programmed(rails, owner);
}

/* Peers reach the addresses of this NIC only because the NIC that main uses answers ARP for them: they stand on lo, a
 * dummy or a bridge, or on a NIC that is no rail and whose strict rp_filter does not even take a request. */
static gboolean is_answered_for(const IbhRails *rails, const IbhNic *other)
{
    return ibh_link_is_of_the_host(other->link) || g_str_equal(other->link->kind, "bridge") ||
           (!ibh_nic_is_programmed(rails, other) && ibh_nic_is_strict(rails, other));
}

/* Somebody else of this host needs the rail to answer in its subnet. The administrator's arp_ignore may forbid that
 * already; then arp_filter would only silence the rail's own address while its rules are missing. */
static gboolean must_answer_for_others(const IbhRails *rails, const IbhNic *nic)
{
    const GPtrArray *others = rails->only && !rails->undo ? rails->nics : rails->no_rails;
    const int ignore = effective_base(rails, nic, IBH_SYSCTL_ARP_IGNORE);

    if (ignore == 1 || ignore == 2 || ignore == 8)
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, mine, nic->addresses) {
        IBH_EACH (const IbhPrefix, prefix, rails->snapshot->local) {
            if (ibh_prefix_overlaps(&mine->subnet, prefix))
                return TRUE;
        }
        IBH_EACH_POINTER (const IbhNic, other, others) {
            if (other == nic || !is_answered_for(rails, other))
                continue;
            IBH_EACH_POINTER (const IbhAddress, theirs, other->addresses) {
                if (theirs->local.family == AF_INET && ibh_prefix_overlaps(&mine->subnet, &theirs->subnet) &&
                    !is_a_rails_too(rails, theirs))
                    return TRUE;
            }
        }
    }
    return FALSE;
}

/* ---- a NIC without an address beside the rails ---- */

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

/* The silent NIC still answers for what main sends through it, if peers may ask it: it is unnumbered, or an address of
 * the host's own stands on lo. */
static gboolean is_asked_for_others(const IbhRails *rails, const IbhNic *nic)
{
    const IbhSnapshot *snapshot = rails->snapshot;

    IBH_EACH (const IbhRoute, route, snapshot->main_by_nic) {
        if (route->ifindex == nic->link->ifindex && route->family == AF_INET)
            return TRUE;
    }
    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        const IbhLink *link = ibh_snapshot_link(snapshot, address->ifindex);

        if (address->local.family == AF_INET && address->scope < RT_SCOPE_LINK && link &&
            ibh_link_is_of_the_host(link) && !is_a_rails_too(rails, address))
            return TRUE;
    }
    return FALSE;
}

/* ---- values ---- */

/* Fails open: it drops no packet that was accepted before, and the rails are right. */
static int want_auto(const IbhRails *rails, const IbhNic *nic, IbhSysctl key)
{
    const int base = nic->base[key];
    const gboolean filters = effective_base(rails, nic, IBH_SYSCTL_ARP_FILTER) != 0;

    switch (key) {
    case IBH_SYSCTL_RP_FILTER: /* strict would drop what still arrives on the wrong NIC, multicast and VIPs */
        return ibh_nic_is_strict(rails, nic) ? 2 : base;
    case IBH_SYSCTL_ARP_FILTER: /* answers for its own addresses, and for those that only main routes by it */
        return !filters && must_answer_for_others(rails, nic) ? 1 : base;
    case IBH_SYSCTL_ARP_ANNOUNCE:
        return 2;
    case IBH_SYSCTL_ARP_IGNORE: /* 2 answers to even fewer; from 3 on, a rail's own address may go unanswered */
        if (base == 1 || base == 2 || base == 8)
            return base;
        return filters || must_answer_for_others(rails, nic) ? base : 1;
    default:
        return base;
    }
}

int ibh_want_sysctl(const IbhRails *rails, const IbhNic *nic, IbhSysctl key)
{
    /* The value follows the administrator's, not that of an earlier run: the end state does not depend on history. */
    const int base = nic->base[key];

    if ((key == IBH_SYSCTL_ARP_IGNORE || key == IBH_SYSCTL_ARP_FILTER) && ibh_nic_must_be_silent(rails, nic))
        return (key == IBH_SYSCTL_ARP_FILTER) == is_asked_for_others(rails, nic) ? 1 : base;
    if (nic->status != IBH_NIC_RAIL || key == IBH_SYSCTL_IGNORE_LINKDOWN || nic->settings.arp == IBH_ARP_KEEP)
        return base;
    if (nic->settings.arp == IBH_ARP_STRICT)
        return key == IBH_SYSCTL_RP_FILTER || key == IBH_SYSCTL_ARP_FILTER ? 1 : 2;
    return want_auto(rails, nic, key);
}
