/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"

static const IbhCode rows[] = {
    [IBH_ON_PURPOSE] = {"carrier-down", IBH_INFO, "ip link set it up to have it back"},
    [IBH_ELSEWHERE] = {"nic-gone", IBH_INFO,
                       "another network namespace has it, or a virtual machine; ib-hook --undo --iface forgets it"},
    [IBH_LACKS_ADDRESS] = {"no-address", IBH_WARNING, NULL},
    [IBH_LACKS_CARRIER] = {"carrier-down", IBH_ERROR, NULL},
    [IBH_LACKS_RDMA] = {"nic-gone", IBH_ERROR,
                        "is the card's RDMA driver loaded? ib-hook --undo --iface forgets the rail"},
    [IBH_IS_GONE] = {"nic-gone", IBH_ERROR,
                     "look at the card, and at dmesg for why it left the bus; if it was taken out for good, ib-hook "
                     "--undo --iface forgets it"},
    [IBH_NO_SUCH_NIC] = {"nic-gone", IBH_ERROR,
                         "is the card there, and has it another name? else take its section out of the configuration"},
};

static IbhRemedy advise(const IbhRails *rails, const IbhKnownRail *missed, const IbhCode *row)
{
    const IbhManager *manager = missed->link ? ibh_snapshot_manager(rails->snapshot, missed->link->ifindex) : NULL;

    if (row->advice || missed->why == IBH_LACKS_CARRIER)
        return ibh_advice("%s", row->advice ? row->advice : ibh_code(row->code)->advice);
    if (manager && manager->name)
        return ibh_advice("%s configures it%s%s: ask it why it gives none", manager->name,
                          manager->connection ? ", as " : "", manager->connection ? manager->connection : "");
    return ibh_advice("no network manager says that it configures it: give it its address where it had it from");
}

/* Its port says more. */
static gboolean is_explained(const GPtrArray *findings, const IbhKnownRail *missed, const char *iface)
{
    return (missed->why == IBH_LACKS_CARRIER || missed->why == IBH_LACKS_ADDRESS) &&
           (ibh_findings_find(findings, "port-not-active", iface, NULL) ||
            ibh_findings_find(findings, "sm-missing", iface, NULL));
}

static void tell(const IbhCheck *check, const IbhKnownRail *missed)
{
    const char *iface = missed->link ? missed->link->name : missed->iface;
    const IbhCode *row = &rows[missed->why];
    g_autofree char *text = ibh_known_text(missed);

    if ((!check->only || g_strv_contains(check->only, iface)) && !is_explained(check->findings, missed, iface))
        ibh_finding_add(check->findings, iface, row->severity, row->code, advise(check->rails, missed, row), "%s",
                        text);
}

void ibh_judge_missing(const IbhCheck *check)
{
    IBH_EACH (const IbhKnownRail, one, check->missed) {
        const IbhNic *nic = one->link ? ibh_rails_nic(check->rails, one->link->ifindex) : NULL;

        if (!nic || nic->status != IBH_NIC_RAIL)
            tell(check, one);
    }
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        IbhKnownRail missed;

        if (nic->status != IBH_NIC_RAIL || ibh_nic_is_usable(nic))
            continue;
        /* Its manager leaves it its address: it is as far away as one without. */
        (void)ibh_known_of(nic, check->missed, &missed);
        missed.link = nic->link;
        missed.why = nic->link->flags & IFF_UP ? IBH_LACKS_CARRIER : IBH_ON_PURPOSE;
        tell(check, &missed);
    }
}
