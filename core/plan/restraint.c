/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan.h"

#include "plan/want.h"

/* TRUE if an event must not do this operation now: the NIC has no address of the operation's family, but addresses may
 * come back in a moment, because --watch has not given the addresses up, and nobody took the NIC down. Tentative and
 * fe80:: addresses do not count, and advertised addresses count only for a rail. The comments below name the
 * exceptions. */
static gboolean is_spared(const IbhRails *rails, const IbhRestraint *restraint, const IbhOp *op)
{
    const IbhNic *nic = ibh_rails_nic(rails, op->ifindex);
    const gboolean is_sysctl = op->type == IBH_OP_SYSCTL_SET;

    /* There are no addresses to wait for if the operation has no NIC (the owner is gone, or main=spread), or if the NIC
     * has manage=no. If rails exchange tables (IBH_UNIT_MOVES), another NIC waits for this NIC's table. */
    if (!nic || nic->status == IBH_NIC_UNMANAGED || op->unit.kind == IBH_UNIT_MOVES)
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        /* For a sysctl, an address of either family counts: a rail with only IPv6 addresses gets the sysctls, too. */
        if ((is_sysctl || address->local.family == op->unit.family) && !address->tentative &&
            !ibh_ip_is_fe80(&address->local) &&
            (nic->status == IBH_NIC_RAIL || !ibh_rails_is_advertised(rails, address)))
            return FALSE;
    }
    /* A rail gets its sysctls even while all its addresses are tentative: without carrier, or while DAD runs. */
    if (is_sysctl && nic->status == IBH_NIC_RAIL)
        return FALSE;
    /* Do not delay the value that silences a NIC (arp_ignore=1 or arp_filter=1). While the NIC has no IPv4 address, it
     * could answer ARP only for addresses of other NICs, such as the rails. */
    if (is_sysctl && op->key != IBH_SYSCTL_RP_FILTER && op->to == 1 && ibh_nic_must_be_silent(rails, nic))
        return FALSE;
    return !ibh_numbers_have(restraint->given_up, op->ifindex) &&
           !(restraint->down && g_strv_contains(restraint->down, nic->link->name));
}

GArray *ibh_plan_restrain(GPtrArray *plan, const IbhRails *rails, const IbhRestraint *restraint)
{
    GArray *spared = IBH_NEW_ARRAY(int);
    gboolean changes = FALSE;

    for (guint i = plan->len; i-- > 0;) {
        const IbhOp *op = g_ptr_array_index(plan, i);
        const gboolean is_left_alone = restraint->leaves && restraint->leaves(restraint->data, &op->unit);

        if (!is_left_alone && !is_spared(rails, restraint, op))
            continue;
        if (!is_left_alone && !ibh_numbers_have(spared, op->ifindex))
            g_array_append_val(spared, op->ifindex);
        g_ptr_array_remove_index(plan, i);
    }
    IBH_EACH_POINTER (const IbhOp, op, plan)
        changes |= ibh_op_what(op) != IBH_PEERS;
    if (!changes) /* then there is nothing to tell peers either */
        g_ptr_array_set_size(plan, 0);
    return spared;
}
