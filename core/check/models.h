/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's routing as it is, as it should be, and as it would be with all of ours in place. Pure.
 */
#pragma once

#include "plan/fib.h"
#include "plan/rails.h"

typedef enum {
    IBH_MODEL_IDEAL,   /* table local, what we want, main */
    IBH_MODEL_ACTUAL,  /* the snapshot */
    IBH_MODEL_REPAIRED /* the snapshot, and what we want in the place of what is ours */
} IbhModelKind;

/* What we want of all rails; models borrow from it. */
typedef struct {
    const IbhRails *rails;
    GPtrArray *rules, *routes; /* GArray of IbhRule, of IbhRoute: a pair for each rail */
} IbhWanted;

void ibh_wanted_init(IbhWanted *wanted, const IbhRails *rails);
void ibh_wanted_clear(IbhWanted *wanted);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhWanted, ibh_wanted_clear)

/* The rule or route that is the cause of something; both NULL: none. */
typedef struct {
    const IbhRule *rule;
    const IbhRoute *route;
} IbhOwner;

gboolean ibh_owner_equal(const IbhOwner *a, const IbhOwner *b);

/* `without`: IbhOwner, objects of others that are taken away; NULL: none. */
IbhFib *ibh_model_new(const IbhWanted *wanted, IbhModelKind kind, const GArray *without);

/* One of ours, or of those that every host has. */
gboolean ibh_rule_is_expected(const IbhRule *rule);
