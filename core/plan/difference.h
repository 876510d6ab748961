/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input of a plan: for each rail the items that are wanted and missing, and those of ours that are not wanted.
 * Pure.
 */
#pragma once

#include "plan/emit.h"

/* The wanted items of one rail that do not exist. */
typedef struct {
    const IbhNic *nic;
    GArray *rules;        /* IbhRule, of each address in ascending order */
    GArray *routes;       /* IbhRoute, in the order they must be added */
    gboolean has_default; /* a rule of ours leads to D already */
    gboolean changed;
    gboolean done;
} IbhTodo;

/* Something of ours that is not wanted. */
typedef struct {
    const IbhNic *owner; /* NULL: its NIC has disappeared */
    const IbhRule *rule; /* or */
    const IbhRoute *route;
    gboolean done;
} IbhStale;

typedef struct {
    const IbhRails *rails;
    const char *const *only;
    GPtrArray *makes_room; /* const IbhNic *: rails not asked for, whose table a selected rail needs */
    GArray *todos;         /* IbhTodo, one per selected rail, by rank */
    GArray *stales;        /* IbhStale, in an order in which they can be deleted and, if that fails, restored */
    GHashTable *led;       /* IbhIp: addresses that a rule of ours leads to T already */
    gboolean rules_change;
    IbhPlan *plan;
} IbhWork;

/* Its rails and `only` are given. `only`: the interfaces this run is about, NULL: all. */
void ibh_work_init(IbhWork *work);
void ibh_work_clear(IbhWork *work); /* not the plan */

IbhTodo *ibh_find_todo(const IbhWork *work, const IbhNic *nic); /* NULL: none */
gboolean ibh_may_touch(const IbhWork *work, const IbhNic *nic); /* NULL: of no NIC any more */
gboolean ibh_is_place_wanted(const IbhTodo *todo, const IbhRoute *route);
/* TRUE if the tables of this rail hold something of another NIC: a route, or a rule that leads there. */
gboolean ibh_is_in_the_way(const IbhStale *stale, const IbhTodo *todo);
