/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plan: the operations (IbhOp *), in order, that lead from what stands to what is wanted. Pure.
 */
#pragma once

#include "model/operation.h"
#include "plan/rails.h"

/* What a NIC should have after a plan. */
typedef struct {
    const IbhNic *nic;
    gboolean selected;        /* the plan may change the NIC's rules and routes */
    int value[IBH_N_SYSCTLS]; /* the wanted values; the present value if the plan may not change the sysctl */
    /* What the plan does to the NIC (difference.c): */
    gboolean takes;       /* a new rule or route of the NIC uses a table that another NIC leaves (order.c) */
    gboolean changes;     /* a rule, a route or an ARP value changes */
    gboolean arp;         /* an ARP value changes */
    gboolean led;         /* before the plan, rules of ours led an IPv4 address of the NIC to the NIC's T or D */
    gboolean answers;     /* after the plan, the NIC answers ARP for an IPv4 address: its own, or another NIC's */
    int rp_filter;        /* the value of the sysctl while the plan runs */
    gboolean gets_strict; /* the plan makes rp_filter strict, or strict again after it loosened rp_filter */
} IbhWantedNic;

/* What a host should have after a plan. */
typedef struct {
    const IbhRails *rails;
    GArray *nics;     /* IbhWantedNic: one for each NIC, at the index IbhNic.position */
    GArray *rules;    /* IbhRule of the selected NICs and of main=spread */
    GArray *routes;   /* IbhRoute of the selected NICs and of main=spread */
    gboolean spread;  /* the plan may change the rules and routes of main=spread */
    gboolean orphans; /* the plan may delete our rules and routes that no NIC owns (ibh_rule_owner()) */
    gboolean waits;   /* the plan keeps what a tentative IPv6 address will need (waits_for_dad() in difference.c) */
} IbhWanted;

/* wanted.c: returns what the configuration wants for the interfaces of this run (IbhRails.only), and for NICs that have
 * to leave a table to one of these interfaces. With IbhRails.undo, the interfaces of this run lose our rules and
 * routes, and get the administrator's values back; the remaining rails get the ARP values that they then need, unless
 * the configuration could not be used (IbhRails.blind). */
IbhWanted *ibh_wanted_new(const IbhRails *rails);
IbhWanted *ibh_wanted_empty(const IbhRails *rails);                       /* selects no NIC, changes nothing */
IbhWantedNic *ibh_wanted_nic(const IbhWanted *wanted, const IbhNic *nic); /* NULL for NULL */
void ibh_wanted_free(IbhWanted *wanted);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhWanted, ibh_wanted_free)

/* order.c: returns the plan for what is wanted; the plan is empty if nothing differs. Otherwise, also sets the members
 * of each IbhWantedNic that say what the plan does to the NIC. */
GPtrArray *ibh_plan_to(IbhWanted *wanted);
GPtrArray *ibh_plan(const IbhRails *rails); /* the plan for what the configuration wants */

/* ---- running a plan: all or nothing per unit; operations go through a callback, which tests replace ---- */

/* Does one operation. If it fails, returns FALSE and sets the error. After an error of the domain IBH_ANSWER_LOST,
 * the kernel may have done the operation nevertheless. */
typedef gboolean (*IbhExecute)(gpointer kernel, const IbhOp *op, GError **error);

typedef struct {
    /* const IbhOp *, owned by the plan, in order: the operations that were done, or perhaps done (IBH_ANSWER_LOST), and
     * were not taken back. If a unit fails, its operations about peers (IBH_PEERS) are removed from this list, too,
     * although they cannot be taken back. */
    GPtrArray *done;
    GPtrArray *errors; /* char *: a message for each unit that failed, and for each failed operation without a unit */
} IbhOutcome;

/* Does the operations in order. If an operation fails, takes back what was done of its unit, skips the rest of the
 * unit, and goes on with other units. `kernel` is the first argument of `execute`. */
IbhOutcome *ibh_plan_execute(const GPtrArray *plan, IbhExecute execute, gpointer kernel);
void ibh_outcome_free(IbhOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhOutcome, ibh_outcome_free)

/* ---- operations that an event leaves out ---- */

/* What ibh_plan_restrain() has to know. An event must not clean up after addresses that are away for a moment only:
 * systemd-networkd 252 removes all addresses when it restarts, and adds them again up to 165 ms later. Even the last
 * hook of such a restart may run in between: if this hook cleaned up, no later event would repair the rail. */
typedef struct {
    const char *const *down; /* interfaces taken down on purpose, NULL-terminated; NULL for none */
    const GArray *given_up;  /* int: ifindexes of NICs whose addresses --watch no longer expects; NULL for none */
    gboolean (*leaves)(gconstpointer data,
                       const IbhUnit *unit); /* TRUE if --watch leaves the unit alone now; may be NULL */
    gconstpointer data;                      /* for leaves() */
} IbhRestraint;

/* Removes from the plan the operations that should not run now. Returns the ifindexes (int) of the spared NICs, whose
 * addresses may come back in a moment. */
GArray *ibh_plan_restrain(GPtrArray *plan, const IbhRails *rails, const IbhRestraint *restraint);

/* ---- lines for the journal: one per changed interface, and one for main=spread ---- */

/* Returns the lines for the operations `done` (const IbhOp *); each line ends with the cause in parentheses. The
 * snapshot's state has the names of NICs that are gone. If the operations of a NIC only remove rules and routes or set
 * values, the NIC's line also says if the NIC is gone, is down or has no carrier. */
char *ibh_ops_log_text(const GPtrArray *done, const IbhSnapshot *snapshot, const char *cause);
