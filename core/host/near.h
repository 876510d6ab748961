/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts that an event reads: the candidates, and all that can affect them. The cost does not grow with the host's
 * other links and addresses. Where they do not tell whether the plan is the same as with everything read, everything is
 * read; random worlds prove that it is (tests/unit/test_random.c).
 */
#pragma once

#include "kernel/netlink.h"
#include "plan/rails.h"

typedef struct {
    gboolean enough;     /* FALSE: everything has to be read */
    GArray *main;        /* IbhRoute: routes of main by candidates */
    GHashTable *tables;  /* those that were asked for */
    gboolean all_tables; /* were read instead */
} IbhNear;

void ibh_near_clear(IbhNear *near);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhNear, ibh_near_clear)

/* The snapshot takes `state`; `all`: sysctls of all NICs. */
IbhSnapshot *ibh_near_take(IbhNetlink *netlink, const char *sysfs, IbhState *state, const int all[IBH_N_SYSCTLS],
                           const IbhConfig *config, IbhNear *near, GError **error);
/* Once the rails are known: adds main's routes by them. `near->enough` FALSE: other NICs have to be read as well. */
gboolean ibh_near_finish(IbhNear *near, IbhNetlink *netlink, const IbhRails *rails, IbhSnapshot *snapshot,
                         GError **error);
