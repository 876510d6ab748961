/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan.h"

#include "plan/want.h"

/* TRUE if the NIC has an address of the operation's family; ARP settings serve both families. */
static gboolean has_address_for(const IbhNic *nic, const IbhOp *op)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if ((op->type == IBH_OP_SYSCTL_SET || address->local.family == op->unit.family) && !address->tentative &&
            !ibh_ip_is_fe80(&address->local))
            return TRUE;
    }
    return FALSE;
}

/* TRUE for sysctls that a NIC gets before it has an address that counts (no carrier, duplicate address detection). */
static gboolean needs_no_address(const IbhRails *rails, const IbhNic *nic, const IbhOp *op)
{
    return op->type == IBH_OP_SYSCTL_SET &&
           (nic->status == IBH_NIC_RAIL ||
            (op->key != IBH_SYSCTL_RP_FILTER && op->to == 1 && ibh_nic_must_be_silent(rails, nic)));
}

static gboolean is_spared(const IbhRails *rails, const IbhRestraint *restraint, const IbhOp *op)
{
    const IbhNic *nic = ibh_rails_nic(rails, op->ifindex);

    if (!nic || nic->status == IBH_NIC_UNMANAGED || has_address_for(nic, op) || needs_no_address(rails, nic, op))
        return FALSE;
    if (restraint->down && g_strv_contains(restraint->down, nic->link->name))
        return FALSE;
    return !ibh_numbers_have(restraint->given_up, op->ifindex) &&
           op->unit.kind != IBH_UNIT_MOVES; /* another NIC waits for the table */
}

GArray *ibh_plan_restrain(GPtrArray *plan, const IbhRails *rails, const IbhRestraint *restraint)
{
    GArray *spared = IBH_NEW_ARRAY(int);
    gboolean changes = FALSE;

    for (guint i = plan->len; i-- > 0;) {
        const IbhOp *op = g_ptr_array_index(plan, i);
        const gboolean is_left = restraint->leaves && restraint->leaves(restraint->data, &op->unit);

        if (!is_left && !is_spared(rails, restraint, op))
            continue;
        if (!is_left && !ibh_numbers_have(spared, op->ifindex))
            g_array_append_val(spared, op->ifindex);
        g_ptr_array_remove_index(plan, i);
    }
    IBH_EACH_POINTER (const IbhOp, op, plan)
        changes |= op->type != IBH_OP_ANNOUNCE && op->type != IBH_OP_NEIGH_DEL;
    if (!changes) /* peers need to hear of changes only */
        g_ptr_array_set_size(plan, 0);
    return spared;
}
