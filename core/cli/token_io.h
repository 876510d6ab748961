/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token stands for the trial that waits for --confirm. It is a line in a file beside the state. The caller holds
 * the lock of the store.
 *
 * Removing the line from the file confirms the trial. The process that waits has the file open, so it sees that the
 * line is gone even if the file is removed right afterwards, as when the package is removed. Removing the file with the
 * line in it, as when /run is emptied, confirms nothing.
 */
#pragma once

#include "host/store.h"

typedef struct {
    int process;  /* the process number of the --apply that began the trial; 0 if no trial waits */
    gint64 end;   /* when the time of the trial is over, in microseconds since the boot */
    GStrv ifaces; /* char *: the interfaces of the trial; NULL for all */
} IbhToken;

void ibh_token_clear(IbhToken *token);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhToken, ibh_token_clear)

/* `process` of the token is 0 if `store` is NULL, or if the file is missing, cannot be read or has no valid line. */
IbhToken ibh_token_read(const IbhStore *store);
int ibh_token_open(const IbhStore *store); /* for the process that waits; -1 if the file cannot be opened */
/* Reads the open file. If that fails, returns FALSE, and an empty token: `process` and `end` are 0. */
gboolean ibh_token_read_open(int file, IbhToken *ret_token);
gboolean ibh_token_write(const IbhStore *store, const IbhToken *token, GError **error);
gboolean ibh_token_remove(const IbhStore *store, GError **error); /* TRUE also if there is no token */
