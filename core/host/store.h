/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of our own: the configuration, and in /run/ib-hook one state file and one lock per network namespace.
 */
#pragma once

#include "config/config.h"
#include "host/tree.h"

#define IBH_RUN_DIR "/run/ib-hook"

typedef struct IbhStore IbhStore;

/* `cookie`: of the namespace, 0 if the kernel has none. With `create`, makes the directory; without, a missing one is
 * an empty store. Refuses a directory that others could write. */
IbhStore *ibh_store_open(guint64 cookie, gboolean create, GError **error);
void ibh_store_close(IbhStore *store); /* gives the lock back */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhStore, ibh_store_close)

/* Takes the lock; waits for it for at most `seconds`. */
gboolean ibh_store_lock(IbhStore *store, int seconds, GError **error);

/* The path of its file with this end, ".state". The caller frees it. */
char *ibh_store_file(const IbhStore *store, const char *end);

/* Empty if there is no state or it cannot be trusted; NULL if there is one that cannot be read. Hardware that was a
 * rail in an earlier boot is part of it, of this machine and in the network namespace of process 1 only: it is kept in
 * /var/lib/ib-hook. Where that cannot be read or written, nothing is known of earlier boots. */
IbhState *ibh_store_load(IbhStore *store, GError **error);
/* Writes what has changed since it was loaded or saved; for root's eyes only if the configuration is private. */
gboolean ibh_store_save(IbhStore *store, const IbhState *state, GError **error);

/* This is the network namespace of process 1. */
gboolean ibh_store_is_home(void);

/* --watch holds a lock as long as it runs. Returns its descriptor, -1: not now. */
int ibh_watch_hold(void);
/* A --watch of this network namespace runs. A user who may not test the lock relies on the file. */
gboolean ibh_watch_is_running(void);

/* ---- the configuration: none of its files that others could have written ---- */

#define IBH_CONFIG_DIR "/etc/ib-hook"

/* `path`: only this file, or a directory with ib-hook.conf and conf.d; NULL: IBH_CONFIG_DIR. No file: the defaults. */
IbhConfig *ibh_config_load(const char *path, GError **error);
/* The configuration in force is that of the last run that programmed, an --apply or a hook: the state keeps it. NULL:
 * what the files say now (NULL: they cannot be used) is in force. Else the files differ from what this returns. */
IbhConfig *ibh_config_in_force(const IbhState *state, const IbhConfig *files);
