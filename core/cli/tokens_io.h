/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tokens of those that wait for --confirm: a file beside the state, a line for each, the latest --apply last. A
 * token has no line end. Called with the store's lock held.
 */
#pragma once

#include "host/store.h"

/* NULL: none waits; a copy of `unreadable`: who waits cannot be read. The caller frees it. */
char *ibh_tokens_read(const IbhStore *store, const char *unreadable);
gboolean ibh_tokens_add(const IbhStore *store, const char *token, GError **error);
void ibh_tokens_drop(const IbhStore *store, const char *token);
gboolean ibh_tokens_clear(const IbhStore *store, GError **error); /* none is no error */
