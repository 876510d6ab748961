/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trial that waits for --confirm, as a line in a file beside the state. Called with the store's lock held.
 *
 * To take the line out of the file is consent: the process that waits has the file open, and sees that also if the file
 * is removed at once, as when a package is. To remove the file with the line in it (who deletes /run) is none.
 */
#pragma once

#include "host/store.h"

typedef struct {
    int process;  /* that waits; 0: none does */
    gint64 end;   /* of its time, in microseconds since the boot */
    GStrv ifaces; /* char *: of the trial; NULL: all */
} IbhToken;

void ibh_token_clear(IbhToken *token);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhToken, ibh_token_clear)

/* `store`: NULL: there is none, nor a token. */
IbhToken ibh_token_read(const IbhStore *store);
int ibh_token_open(const IbhStore *store); /* for the process that waits; -1: it cannot be opened */
/* FALSE: the file cannot be read now. */
gboolean ibh_token_read_open(int file, IbhToken *ret_token);
gboolean ibh_token_write(const IbhStore *store, const IbhToken *token, GError **error);
gboolean ibh_token_remove(const IbhStore *store, GError **error); /* none is no error */
