/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Appends operations to a plan; shared by the plans to apply and to undo. Pure.
 */
#pragma once

#include "model/operation.h"
#include "plan/rails.h"

typedef struct {
    GPtrArray *ops; /* IbhOp * */
} IbhPlan;

void ibh_plan_free(IbhPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhPlan, ibh_plan_free)

IbhPlan *ibh_plan_new(void);

/* Makes one unit of the operations of two NICs in one family. */
void ibh_plan_join(IbhPlan *plan, const IbhNic *a, const IbhNic *b, int family);

/* `nic`: the operation belongs to its unit; NULL: its NIC has disappeared. */
IbhOp *ibh_emit(IbhPlan *plan, IbhOpType type, const IbhNic *nic, char *why);
void ibh_emit_rule(IbhPlan *plan, IbhOpType type, const IbhNic *nic, const IbhRule *rule, char *why);
void ibh_emit_route(IbhPlan *plan, const IbhRails *rails, IbhOpType type, const IbhNic *nic, const IbhRoute *route,
                    const IbhRoute *replaced, char *why);
void ibh_emit_sysctl(IbhPlan *plan, const IbhNic *nic, IbhSysctl key, int from, int to, char *why);
/* Announces `ip` from the NIC `from`, for the unit of `nic`. */
void ibh_emit_announce(IbhPlan *plan, const IbhNic *nic, const IbhNic *from, const IbhIp *ip, char *why);

/* IbhRule *: rules of ours in the order in which they can be deleted: descending, and of one priority as they stand,
 * because a delete hits the first that matches. */
GPtrArray *ibh_rules_to_delete(const IbhSnapshot *snapshot);

/* FALSE: the NIC serves this address twice, with two prefix lengths, and this is the second. */
gboolean ibh_is_first(const IbhNic *nic, const IbhAddress *address);
gboolean ibh_is_selected(const IbhNic *nic, const char *const *only);

/* ---- rp_filter: 1 drops what comes in on another NIC than the answer would leave by ---- */

/* `first`, before rules change, it is loosened; after peers were told, it is tightened. With `rules_change`, one that
 * is strict before and after is loosened in between. */
void ibh_emit_rp_filter(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic, int want, gboolean rules_change,
                        gboolean first);
/* An rp_filter that the administrator keeps is not loosened for a moment either. */
gboolean ibh_may_loosen(const IbhNic *nic);
