/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token stands for the trial, the --apply that waits for --confirm (trial_io.h). The token is a line in a file
 * beside the state. Call these functions only while the store is locked (ibh_store_lock()).
 *
 * Removing the line from the file ends the trial: then nothing is taken back. The process that waits for --confirm has
 * the file open. So the process sees that the line is gone even if the file is removed right afterwards, as when the
 * package is removed. Removing the file with the line in it, as when /run is emptied, does not end the trial.
 */
#pragma once

#include "host/store.h"

typedef struct {
    int process;  /* the process number of the --apply that began the trial; 0 if there is no trial */
    gint64 end;   /* when the time of the trial is over, in microseconds (g_get_monotonic_time()) */
    GStrv ifaces; /* char *: the interfaces of the trial; NULL for all */
} IbhToken;

void ibh_token_clear(IbhToken *token);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhToken, ibh_token_clear)

/* Returns the token. Its `process` and `end` are 0 if `store` is NULL, or if the file is missing, cannot be read or
 * trusted, or has no valid line. */
IbhToken ibh_token_read(const IbhStore *store);
int ibh_token_open(const IbhStore *store); /* for the process that waits; -1 if the file cannot be opened */
/* Reads the open file. Returns FALSE if the file cannot be read. Then, and also if the file has no line any more, the
 * token is empty: `process` and `end` are 0. */
gboolean ibh_token_read_open(int file, IbhToken *ret_token);
gboolean ibh_token_write(const IbhStore *store, const IbhToken *token, GError **error);
gboolean ibh_token_remove(const IbhStore *store, GError **error); /* TRUE also if there is no token */
