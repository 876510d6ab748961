/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts that an event reads: the candidates, and all that can affect them. The cost does not grow with the host's
 * other links and addresses. Pure: a source answers the questions (host/near_source.c asks the kernel).
 *
 * Tests with random worlds prove that the plan is the same as with everything read (tests/unit/test_random.c). If the
 * facts do not tell whether that is so, everything is read.
 */
#pragma once

#include "plan/rails.h"

/* Whether a foreign rule, for this source and to this table, matters. */
typedef gboolean (*IbhRuleMatters)(gconstpointer data, const IbhPrefix *from, guint32 table);

/* Each appends to an array. An absent object is no error. */
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
    /* All rules of ours or for every source, and foreign ones that matter. */
    gboolean (*read_rules)(gpointer data, IbhRuleMatters matters, gconstpointer of, GArray *rules, GError **error);
    /* Routes of protocol kernel; 0: of all tables, but only unicast ones. */
    gboolean (*read_table)(gpointer data, guint32 table, GArray *routes, GError **error);
    /* Unicast routes of main by these devices (int). */
    gboolean (*read_main)(gpointer data, const GArray *ifindexes, GArray *routes, GError **error);
} IbhSource;

typedef struct {
    gboolean enough;     /* FALSE: everything has to be read */
    GArray *main;        /* IbhRoute: routes of main by candidates, but for protocol kernel */
    GHashTable *tables;  /* those that were asked for */
    gboolean all_tables; /* were read instead */
} IbhNear;

void ibh_near_clear(IbhNear *near);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhNear, ibh_near_clear)

/* Fills the snapshot, whose state and sysctls of all NICs are read already. */
gboolean ibh_near_read(const IbhSource *source, IbhSnapshot *snapshot, const IbhConfig *config, IbhNear *near,
                       GError **error);
/* Adds main's routes by rails. */
void ibh_near_add_main(const IbhNear *near, const IbhRails *rails, IbhSnapshot *snapshot);
/* Call it when the rails are known. FALSE: other NICs have to be read as well. */
gboolean ibh_near_is_enough(const IbhNear *near, const IbhRails *rails);
