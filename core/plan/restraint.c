/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan.h"

#include "plan/want.h"

/* ARP settings belong to the NIC, not to a family of addresses. */
static gboolean has_address(const IbhNic *nic, const IbhOp *op)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if ((op->type == IBH_OP_SYSCTL_SET || address->local.family == op->unit.family) && !address->tentative &&
            !ibh_ip_is_fe80(&address->local))
            return TRUE;
    }
    return FALSE;
}

/* What a NIC gets although it has no address yet that counts (no carrier, no duplicate address detection). */
static gboolean is_wanted(const IbhRails *rails, const IbhNic *nic, const IbhOp *op)
{
    return op->type == IBH_OP_SYSCTL_SET &&
           (nic->status == IBH_NIC_RAIL ||
            (op->key != IBH_SYSCTL_RP_FILTER && op->to == 1 && ibh_nic_must_be_silent(rails, nic)));
}

static gboolean is_spared(const IbhRails *rails, const IbhRestraint *restraint, const IbhOp *op)
{
    const IbhNic *nic = ibh_rails_nic(rails, op->ifindex);

    if (!nic || nic->status == IBH_NIC_UNMANAGED || has_address(nic, op) || is_wanted(rails, nic, op))
        return FALSE;
    if (restraint->down && g_strv_contains(restraint->down, nic->link->name))
        return FALSE;
    return !ibh_numbers_have(restraint->given_up, op->ifindex) &&
           op->unit.kind != IBH_UNIT_MOVES; /* another one waits for its table */
}

static gboolean is_left(const IbhRails *rails, const IbhRestraint *restraint, const IbhOp *op, GArray *spared)
{
    if (restraint->leaves && restraint->leaves(restraint->data, &op->unit))
        return TRUE;
    if (!is_spared(rails, restraint, op))
        return FALSE;
    if (!ibh_numbers_have(spared, op->ifindex))
        g_array_append_val(spared, op->ifindex);
    return TRUE;
}

/* Peers are told of a change, and of nothing else. */
static gboolean has_change(const GPtrArray *plan)
{
    IBH_EACH_POINTER (const IbhOp, op, plan) {
        if (op->type != IBH_OP_ANNOUNCE && op->type != IBH_OP_NEIGH_DEL)
            return TRUE;
    }
    return FALSE;
}

GArray *ibh_plan_restrain(GPtrArray *plan, const IbhRails *rails, const IbhRestraint *restraint)
{
    GArray *spared = IBH_NEW_ARRAY(int);

    for (guint i = plan->len; i-- > 0;) {
        if (is_left(rails, restraint, g_ptr_array_index(plan, i), spared))
            g_ptr_array_remove_index(plan, i);
    }
    if (!has_change(plan))
        g_ptr_array_set_size(plan, 0);
    return spared;
}
