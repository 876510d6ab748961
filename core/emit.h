/*
 * Appends operations to a plan; what the plans to apply and to undo have in common. Pure.
 */
#pragma once

#include "plan.h"

IbhPlan *ibh_plan_new(void);

/* `nic`: whose unit it belongs to; NULL: something of ours whose NIC is gone. */
IbhOp *ibh_emit(IbhPlan *plan, IbhOpType type, const IbhNic *nic, char *why);
void ibh_emit_rule(IbhPlan *plan, IbhOpType type, const IbhNic *nic, const IbhRule *rule, char *why);
void ibh_emit_route(IbhPlan *plan, IbhOpType type, const IbhNic *nic, const IbhRoute *route, const IbhRoute *replaced,
                    char *why);
void ibh_emit_sysctl(IbhPlan *plan, const IbhNic *nic, IbhSysctl key, int from, int to, char *why);
/* Announces `ip` from the NIC `from`, for the unit of `nic`. */
void ibh_emit_announce(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic, const IbhNic *from, const IbhIp *ip,
                       char *why);

gboolean ibh_is_selected(const IbhNic *nic, const char *const *only);

/* Whose a rule or route of ours is: the NIC that has the address or the device, else that of the table, else NULL. */
const IbhNic *ibh_rule_owner(const IbhRails *rails, const IbhRule *rule);
const IbhNic *ibh_route_owner(const IbhRails *rails, const IbhRoute *route);

/* ---- rp_filter: 1 drops what comes in on another NIC than the answer would leave by ---- */

/* What is loosened comes first; what is tightened, last. With `rules_change`, a filter that is strict before and after
 * is loosened for as long as that takes. */
void ibh_emit_rp_first(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic, int want, gboolean rules_change);
void ibh_emit_rp_last(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic, int want, gboolean rules_change);
