/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a plan is made of: for each rail, and for main=spread, what is wanted and missing; and all of ours that is not
 * wanted. All parts of a plan take their operations from here. Pure.
 */
#pragma once

#include "plan/emit.h"

/* The wanted items of one rail that do not exist. */
typedef struct {
    const IbhNic *nic; /* NULL: of main=spread */
    GArray *rules;     /* IbhRule, of each address in ascending order */
    GArray *routes;    /* IbhRoute, in the order they must be added */
    gboolean changed;
    gboolean done;
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
    const char *const *only; /* the interfaces this run is about, NULL: all */
    const IbhRails *spread;  /* over which of them unbound traffic is spread; NULL: none */
    gboolean undo;           /* nothing is wanted */
    /* Made of it: */
    IbhPlan *plan;
    GArray *todos;          /* IbhTodo, one per selected rail, by rank */
    IbhTodo of_spread;      /* of no rail */
    GArray *stales;         /* IbhStale, in an order in which they can be deleted and, if that fails, restored */
    GHashTable *makes_room; /* const IbhNic *: not asked for, but a selected rail needs their table */
    GHashTable *undone;     /* const IbhNic *: selected, no rails any more, with something of ours on them */
    GHashTable *mains_nics; /* const IbhNic *: by which main reaches their subnets */
    GHashTable *led;        /* IbhIp: addresses that a rule of ours leads to T already */
    gboolean rules_change;
} IbhWork;

/* difference.c */
void ibh_work_init(IbhWork *work);
void ibh_work_clear(IbhWork *work);                             /* not the plan */
IbhTodo *ibh_find_todo(const IbhWork *work, const IbhNic *nic); /* NULL: none */
gboolean ibh_may_touch(const IbhWork *work, const IbhNic *nic); /* NULL: of no NIC any more */
gboolean ibh_is_place_wanted(const IbhTodo *todo, const IbhRoute *route);
/* TRUE if the tables of this rail hold something of another NIC: a route, or a rule that leads there. */
gboolean ibh_is_in_the_way(const IbhStale *stale, const IbhTodo *todo);

/* program.c: rail by rail, routes, the rules that lead to them, then the deletion of what they replace. */
void ibh_program_rails(IbhWork *work);
void ibh_join_units(const IbhWork *work); /* NICs that need each other's tables stand or fall together */
void ibh_add_routes(IbhWork *work, const IbhTodo *todo, guint32 table); /* those of this table */
void ibh_drop(IbhWork *work, IbhStale *stale, char *why);               /* takes `why` */
char *ibh_why_stale(const IbhWork *work, const IbhStale *stale);

/* spread.c */
void ibh_want_spread(const IbhRails *rails, IbhTodo *todo); /* NULL: nothing is */
void ibh_emit_spread(IbhWork *work);

/* undo.c: everything of ours on work->undone. */
void ibh_find_undone(IbhWork *work);
void ibh_restore_rp_filters(const IbhWork *work, gboolean first);
void ibh_emit_undo(IbhWork *work);
