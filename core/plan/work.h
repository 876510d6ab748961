/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a plan is made of: for each rail, and for main=spread, what is wanted and missing; and all of ours that is not
 * wanted. All parts of a plan take their operations from here. Pure.
 */
#pragma once

#include "model/operation.h"
#include "plan/rails.h"

/* What is done for one NIC; the rules and routes are those that it lacks. */
typedef struct {
    const IbhNic *nic; /* NULL: for main=spread */
    GArray *rules;     /* IbhRule, of each address in ascending order; NULL: it is no rail of this run */
    GArray *routes;    /* IbhRoute, in the order they must be added */
    gboolean selected; /* this run is about it, or about a rail that needs its table */
    gboolean changed;
    gboolean done;
    gboolean undone;          /* no rail any more, with something of ours on it */
    gboolean is_used_by_main; /* by it main reaches the subnets of NICs that are undone */
} IbhTodo;

/* Something of ours that is not wanted. */
typedef struct {
    const IbhNic *owner; /* NULL: its NIC has disappeared, or it is of main=spread */
    const IbhRule *rule; /* or */
    const IbhRoute *route;
    int family;
    guint32 table;
    gboolean spread;
    gboolean done;
} IbhStale;

typedef struct {
    /* Given: */
    const IbhRails *rails;
    const IbhRails *spread; /* over which of them unbound traffic is spread; NULL: none */
    gboolean undo;          /* nothing is wanted */
    /* Made of it: */
    GPtrArray *plan; /* IbhOp * */
    GArray *todos;   /* IbhTodo, one per NIC, by its position */
    IbhTodo of_spread;
    GArray *stales;           /* IbhStale, in an order in which they can be deleted and, if that fails, restored */
    GHashTable *led_to_table; /* IbhIp: addresses that a rule of ours leads to T already */
    gboolean rules_change;
} IbhWork;

/* work.c: look-ups in it */
IbhTodo *ibh_work_todo(const IbhWork *work, const IbhNic *nic);
IbhTodo *ibh_work_todo_of_rail(const IbhWork *work, const IbhNic *nic); /* NULL: no rail of this run */
gboolean ibh_work_may_touch(const IbhWork *work, const IbhNic *nic);    /* NULL: of no NIC any more */
/* TRUE if the tables of this rail hold something of another NIC: a route, or a rule that leads there. */
gboolean ibh_stale_is_in_the_way(const IbhStale *stale, const IbhTodo *todo);
void ibh_todo_clear(gpointer todo);
void ibh_work_clear(IbhWork *work); /* not the plan */

/* want_spread.c */
void ibh_want_spread(const IbhRails *rails, IbhTodo *todo); /* NULL: nothing is */

/* undone.c: NICs that are no rails any more, with something of ours on them. */
void ibh_work_find_undone(IbhWork *work);
/* The administrator's value; but a NIC that must be silent beside rails keeps ours. */
int ibh_work_value_left(const IbhWork *work, const IbhNic *nic, IbhSysctl key);
/* The NIC by which main reaches this address' subnet; NULL: none. */
const IbhNic *ibh_main_find_nic(const IbhRails *rails, const IbhAddress *address);

/* difference.c: what is wanted, less what is there. */
void ibh_work_init(IbhWork *work);

/* emit.c */
/* `nic`: the operation belongs to its unit; NULL: its NIC has disappeared. */
IbhOp *ibh_work_emit(const IbhWork *work, IbhOpType type, const IbhNic *nic, int family, char *why);
/* ARP as these rails want it; `why` NULL: by what each value does. FALSE: it is so. */
gboolean ibh_work_emit_arp(const IbhWork *work, const IbhRails *rails, const IbhNic *nic, const char *why);
/* Nothing where it is so already, or where the NIC's name leaves it no sysctls of its own. */
void ibh_work_emit_sysctl(const IbhWork *work, const IbhNic *nic, IbhSysctl key, int from, int to, const char *why);
/* Announces `ip` from the NIC `from`, for the unit of `nic`. */
void ibh_work_emit_announce(const IbhWork *work, const IbhNic *nic, const IbhNic *from, const IbhIp *ip, char *why);
void ibh_work_add_routes(const IbhWork *work, const IbhTodo *todo, guint32 table); /* those of this table */
/* Those of this priority, in T's turn all that come before; `only_led`: only of addresses that a rule leads to T
 * already. */
void ibh_work_add_rules(const IbhWork *work, const IbhTodo *todo, guint32 priority, gboolean only_led);
gboolean ibh_stale_is_programmed(const IbhStale *stale); /* others do not route it */
/* Once. `why` NULL: why it is not wanted. */
void ibh_work_drop(const IbhWork *work, IbhStale *stale, const char *why);

/* ---- the steps of a plan (order.c has their order) ---- */

typedef void IbhStep(const IbhWork *work);

/* emit.c. An rp_filter of 1 drops what comes in on another NIC than the answer would leave through: before rules
 * change, it is loosened, for a moment too; after peers were told, it is tightened. */
void ibh_work_loosen_rp_filters(const IbhWork *work);
void ibh_work_tighten_rp_filters(const IbhWork *work);
void ibh_work_join_units(const IbhWork *work); /* of rails that take each other's tables */

/* program.c: rails */
void ibh_work_program_rails(const IbhWork *work);
void ibh_work_set_arp(const IbhWork *work);
void ibh_work_silence_others(const IbhWork *work);
void ibh_work_announce_changed(const IbhWork *work);
void ibh_work_collect_garbage(const IbhWork *work);

/* spread.c */
void ibh_work_spread(const IbhWork *work);

/* undo.c: NICs that are no rails any more */
void ibh_work_restore_announce(const IbhWork *work);
void ibh_work_delete_former(const IbhWork *work);
/* Of the NICs by which main reaches the subnets of NICs that are undone. */
void ibh_work_restore_answers_in_use(const IbhWork *work);
void ibh_work_restore_other_answers(const IbhWork *work);
void ibh_work_forget_peers(const IbhWork *work);
void ibh_work_announce_former(const IbhWork *work);
void ibh_work_adapt_rails_that_stay(const IbhWork *work);
void ibh_work_forget_neighbours(const IbhWork *work, const IbhNic *nic); /* no traffic leaves through it now */
