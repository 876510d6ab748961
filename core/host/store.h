/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our own files: the configuration; in /run/ib-hook, files for each network namespace, such as the state, a lock and
 * the lock of --watch; in /var/lib/ib-hook, the known rails.
 */
#pragma once

#include "config/config.h"
#include "host/tree.h"

#define IBH_RUN_DIR "/run/ib-hook"
#define IBH_LIB_DIR "/var/lib/ib-hook"

typedef struct IbhStore IbhStore;

/* `cookie` identifies the namespace; 0 if the kernel has no cookies. With `create`, makes IBH_RUN_DIR; fails if this
 * is not possible, or if other users could write there. Without `create`, a missing IBH_RUN_DIR is an empty store. */
IbhStore *ibh_store_open(guint64 cookie, gboolean create, GError **error);
/* Releases the lock. Then, if the state was saved with other known rails than the rails file has (ibh_known_differ()),
 * writes the rails file. */
void ibh_store_close(IbhStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhStore, ibh_store_close)

/* Takes the lock; waits at most `seconds`. If another run still has the lock then, the error is G_FILE_ERROR_AGAIN. */
gboolean ibh_store_lock(IbhStore *store, int seconds, GError **error);

/* Returns the path of a file of the store; `end` is ".state" or the like. The caller frees the path. */
char *ibh_store_file(const IbhStore *store, const char *end);

/* Returns the state. Returns NULL if the state file cannot be read for a reason that may pass, or if the user is not
 * root and may not read the file. If the file is missing or, for example, not trusted, the state starts empty. In the
 * network namespace of process 1, if the state lacks the known rails of earlier boots (`recalled` is FALSE), adds these
 * rails from the rails file, /var/lib/ib-hook/rails. In any other namespace, and if the rails file cannot be read yet,
 * `recalled` stays FALSE. */
IbhState *ibh_store_load(IbhStore *store, GError **error);
/* Writes the state if it has changed since it was loaded or saved. With IbhState.is_private, only root may read the
 * file. */
gboolean ibh_store_save(IbhStore *store, const IbhState *state, GError **error);

/* TRUE in the network namespace of process 1. */
gboolean ibh_store_is_home(void);

/* Opens the file that --watch locks while it runs. `flags` is for open(). Returns the descriptor, or -1 and errno. */
int ibh_watch_open(int flags);
/* TRUE if a --watch of this network namespace runs. A user who may not open the lock's file cannot test the lock; then
 * the file is taken as a sign that --watch runs. */
gboolean ibh_watch_is_running(void);

/* ---- the configuration: only files that no other user could have written ---- */

#define IBH_CONFIG_DIR "/etc/ib-hook"

/* `path` is a file, or a directory with ib-hook.conf and conf.d; NULL is IBH_CONFIG_DIR, which may be missing. If a
 * directory has none of these files, returns the defaults. */
IbhConfig *ibh_config_load(const char *path, GError **error);
gboolean ibh_table_look_up(const char *name, guint32 *ret_table, GError **error); /* an IbhTableLookup */
