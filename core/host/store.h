/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /run/ib-hook: one state file and one lock per network namespace.
 */
#pragma once

#include "hook/request.h" /* IBH_RUN_DIR */
#include "model/model.h"

typedef struct IbhStore IbhStore;

/* `cookie`: of the namespace, 0 if the kernel has none. With `create`, makes the directory; without, a missing one is
 * an empty store. Refuses a directory that others could write. */
IbhStore *ibh_store_open(guint64 cookie, gboolean create, GError **error);
void ibh_store_close(IbhStore *store); /* gives the lock back */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhStore, ibh_store_close)

/* Takes the lock; waits for it for at most `seconds`. */
gboolean ibh_store_lock(IbhStore *store, int seconds, GError **error);

/* For runs on events: a boot starts many at once, and each run sees all that happened before it began. So a waiting run
 * leaves its work to one that begins meanwhile and ends well; then `ret_is_done` is set, and this process has no lock.
 */
gboolean ibh_store_lock_or_share(IbhStore *store, int seconds, gboolean *ret_is_done, GError **error);
/* Call it with the lock held, before anything is read. FALSE: the start could not be noted, so the end must not be
 * noted either. */
gboolean ibh_store_begin(IbhStore *store);
void ibh_store_end(IbhStore *store); /* it ended well */

/* The state of --apply --confirm, for the process that waits. NULL: none. Call it with the lock held. */
char *ibh_store_get_token(IbhStore *store);
gboolean ibh_store_set_token(IbhStore *store, const char *token, GError **error);

/* Empty if there is no state or it cannot be trusted; NULL if there is one that cannot be read. */
IbhState *ibh_store_load(IbhStore *store, GError **error);
gboolean ibh_store_save(IbhStore *store, const IbhState *state, GError **error);
