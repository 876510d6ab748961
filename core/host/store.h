/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /run/ib-hook: one state file and one lock per network namespace.
 */
#pragma once

#include "hook/request.h" /* IBH_RUN_DIR */
#include "model/model.h"

typedef struct IbhStore IbhStore;

/* `cookie`: of the namespace, 0 where the kernel has none. With `create`, the directory is made; without, a missing one
 * is an empty store. A directory that others could write is refused. */
IbhStore *ibh_store_open(guint64 cookie, gboolean create, GError **error);
void ibh_store_close(IbhStore *store); /* gives the lock back */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhStore, ibh_store_close)

/* Takes the lock; waits for it for at most `seconds`. */
gboolean ibh_store_lock(IbhStore *store, int seconds, GError **error);

/* Runs on events: a boot makes many at once, and each sees all that happened before it began. So whoever waits leaves
 * it to one that begins meanwhile and ends well; then `ret_is_done`, and there is no lock. */
gboolean ibh_store_lock_or_share(IbhStore *store, int seconds, gboolean *ret_is_done, GError **error);
/* With the lock held. Before anything is looked at; FALSE: nobody knows that it began, so it must not be said to end.
 */
gboolean ibh_store_begin(IbhStore *store);
void ibh_store_end(IbhStore *store); /* it ended well */

/* What --apply --confirm leaves for the process that waits: NULL is none. With the lock held. */
char *ibh_store_get_token(IbhStore *store);
gboolean ibh_store_set_token(IbhStore *store, const char *token, GError **error);

/* Empty, where there is none or it cannot be trusted; NULL where it is there and cannot be read. */
IbhState *ibh_store_load(IbhStore *store, GError **error);
gboolean ibh_store_save(IbhStore *store, const IbhState *state, GError **error);
