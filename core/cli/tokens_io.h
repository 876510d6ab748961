/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tokens of those that wait for --confirm: a file beside the state, a line for each, the latest --apply last. A
 * token has no line end. Called with the store's lock held.
 *
 * To take a token out of the file is consent: who waits for it has the file open, and sees that also if the file is
 * removed at once, as when a package is. To remove the file with the token in it (who deletes /run) is none.
 */
#pragma once

#include "host/store.h"

/* NULL: none waits, or who does cannot be read. The caller frees it. */
char *ibh_tokens_read(const IbhStore *store);
int ibh_tokens_open(const IbhStore *store); /* for who waits; -1: it cannot be opened */
/* Never NULL: a copy of `unreadable`, if they cannot be read. The caller frees it. */
char *ibh_tokens_read_open(int file, const char *unreadable);
gboolean ibh_tokens_add(const IbhStore *store, const char *token, GError **error);
void ibh_tokens_drop(const IbhStore *store, const char *token);
gboolean ibh_tokens_clear(const IbhStore *store, GError **error); /* none is no error */
