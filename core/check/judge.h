/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What judges share; the models that packets walk through, their objects in words, and the pieces of the world that
 * packets are sent into. Pure.
 */
#pragma once

#include "check/check.h"
#include "plan/emit.h"

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

/* Each route of the snapshot, those of foreign tables too; `break` ends one list of the two. */
#define IBH_EACH_ROUTE(x, snapshot)                                                                                    \
    for (int x##_list = 0; x##_list < 2; x##_list++)                                                                   \
        IBH_EACH (const IbhRoute, x, x##_list ? (snapshot)->more : (snapshot)->routes)

/* One of ours, or of those that every host has. */
gboolean ibh_rule_is_expected(const IbhRule *rule);

/* ---- names.c: rules and routes in the words of ip; the caller frees the text ---- */

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

/* ---- what judges share ---- */

typedef struct {
    const IbhRails *rails;
    const IbhPlan *plan;
    const char *const *only;
    GPtrArray *findings;
} IbhCheck;

/* One cause, one finding: that of this code and owner hits this NIC (NULL: the host), too. If there is none it is made,
 * with the severity of its code, and its advice where there is no remedy. Without an owner it is this NIC's alone; with
 * "" the whole host's. */
G_GNUC_PRINTF(6, 7)
IbhFinding *ibh_tell(const IbhCheck *check, const IbhNic *nic, const char *code, const char *owner, IbhRemedy remedy,
                     const char *format, ...);

/* Sets `wrong` of the questions, and adds a finding for each owner. Returns what is wrong because something of ours is
 * missing, in words; NULL: nothing. The caller frees it. */
char *ibh_judge_ways(const IbhCheck *check, GArray *questions);
void ibh_judge_wire(const IbhCheck *check, const IbhNic *nic);
/* NICs that answer ARP for the neighbours that unbound traffic is asked about. */
void ibh_judge_proxies(const IbhCheck *check, const IbhFib *actual, const GArray *questions);
/* gateway= and remote= that cannot be used, and rails that reach no other host without a gateway. */
void ibh_judge_gateway(const IbhCheck *check, const IbhNic *nic);
void ibh_judge_manager(const IbhCheck *check, const IbhNic *nic);
/* Of rails that were there and are not, and of those that are down. */
void ibh_judge_missing(const IbhCheck *check, const GArray *missed);
void ibh_judge_scripts(const IbhCheck *check);

const char *ibh_check_link_name(const IbhCheck *check, int ifindex);

/* ---- grades.c, fixes.c: from a packet that goes astray to its owner, and how to take that away ---- */

typedef enum { IBH_RIGHT, IBH_NOTED, IBH_DOUBTFUL, IBH_WRONG } IbhGrade;

typedef struct {
    const IbhCheck *check;
    const GArray *questions;
    const IbhWanted *wanted;
    const IbhFib *ideal, *repaired; /* `repaired` is the actual model, where nothing of ours is missing */
} IbhJudging;

IbhGrade ibh_grade(const IbhJudging *judging, const IbhQuestion *question, const IbhTrace *got);

/* Both NULL: none. `without`: objects that the model `trace` comes from does not have; NULL: none. */
IbhOwner ibh_find_owner(const IbhJudging *judging, const IbhQuestion *question, const IbhTrace *trace,
                        const GArray *without);

/* The commands that make these questions (const IbhQuestion *) right, of which this owner is the cause; NULL: none are
 * proved, or the owner is not one that a command may take away. */
char *ibh_find_fix(const IbhJudging *judging, const IbhOwner *owner, const GPtrArray *wrong);
