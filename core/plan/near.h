/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run on an event reads: the candidates, and what can matter to them. What it costs does not grow with the
 * host's other links and addresses. Pure: a source answers the questions (host/near_source.c asks the kernel).
 *
 * Random worlds hold that the plan is the same as with everything read (tests/unit/test_random.c). Where what was read
 * does not tell whether that is so, everything is read.
 */
#pragma once

#include "plan/rails.h"

/* Whether a foreign rule, for this source, matters. */
typedef gboolean (*IbhRuleMatters)(gconstpointer data, const IbhPrefix *from);

/* Each appends to an array. What is not there is no error. */
typedef struct {
    gpointer data;
    /* The links that RDMA ports name, and those that can be stacked on them. `*ret_all` FALSE: only a look at all links
     * would tell which they are. */
    gboolean (*read_candidates)(gpointer data, GArray *links, gboolean *ret_all, GError **error);
    /* Finds `rdma` of the links, once all of them are there. */
    gboolean (*find_rdma)(gpointer data, GArray *links, GError **error);
    gboolean (*read_link)(gpointer data, int ifindex, const char *name, GArray *links, GError **error); /* by either */
    gboolean (*read_addresses)(gpointer data, int ifindex, GArray *addresses, GError **error); /* 0: of all links */
    /* The NICs (int) whose rp_filter is strict, if that of all NICs is `all`. */
    gboolean (*read_strict)(gpointer data, int all, GArray *ifindexes, GError **error);
    /* All that are ours or for every source, and those of others that matter. */
    gboolean (*read_rules)(gpointer data, IbhRuleMatters matters, gconstpointer of, GArray *rules, GError **error);
    /* Routes of protocol kernel; 0: of all tables, but only unicast ones and throws. */
    gboolean (*read_table)(gpointer data, guint32 table, GArray *routes, GError **error);
    /* Unicast routes of main by these devices (int). */
    gboolean (*read_main)(gpointer data, const GArray *ifindexes, GArray *routes, GError **error);
} IbhSource;

typedef struct {
    gboolean enough;    /* FALSE: everything has to be read */
    GArray *main;       /* IbhRoute: what main has by candidates, but for protocol kernel */
    GHashTable *tables; /* those that were read; NULL: all */
} IbhNear;

void ibh_near_clear(IbhNear *near);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhNear, ibh_near_clear)

/* Fills the snapshot, whose state and sysctls of all NICs are read already. */
gboolean ibh_near_read(const IbhSource *source, IbhSnapshot *snapshot, const IbhConfig *config, IbhNear *near,
                       GError **error);
/* Adds what main has by rails. */
void ibh_near_add_main(const IbhNear *near, const IbhRails *rails, IbhSnapshot *snapshot);
/* Now that the rails are known: FALSE where others have to be looked at than they. */
gboolean ibh_near_is_enough(const IbhNear *near, const IbhRails *rails);
