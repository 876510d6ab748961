/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules and routes: the models that packets walk through, their objects in words, and the pieces of the world that
 * packets are sent into. Pure.
 */
#pragma once

#include "plan/fib.h"
#include "plan/rails.h"

/* ---- models.c: the host's routing as it is, as it should be, and as it would be with all of ours in place ---- */

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

/* ---- names.c: rules and routes in the words of ip; the caller frees the text ---- */

char *ibh_rule_describe(const IbhRule *rule);
char *ibh_route_describe(const IbhSnapshot *snapshot, const IbhRoute *route);
char *ibh_owner_describe(const IbhSnapshot *snapshot, const IbhOwner *owner); /* "rule 100: from all lookup 700" */
char *ibh_owner_command(const IbhSnapshot *snapshot, const IbhOwner *owner);  /* that takes it away */

/* ---- pieces.c: the world, cut by the prefixes that rules and routes name ---- */

typedef struct {
    IbhPrefix prefix;
    IbhIp host;      /* that lies in no smaller piece */
    gboolean beyond; /* it stands for all that only a default route reaches */
    gboolean ours;   /* an address of this host, or the edge of a subnet: it stands for no other host */
} IbhPiece;

/* IbhPiece, in order; none that has no other host, or that smaller ones cover */
GArray *ibh_pieces_new(const IbhWanted *wanted);
/* Pieces inside this prefix are pieces[first .. end). */
void ibh_pieces_inside(const GArray *pieces, const IbhPrefix *prefix, guint *ret_first, guint *ret_end);
