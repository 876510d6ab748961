/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of routing tables, as iproute2 keeps them. Pure: files.c opens the files.
 */
#pragma once

#include <glib.h>

/* Looks for `name` in the text of one rt_tables file: `ID NAME [#…]`, decimal or 0x. Malformed lines are skipped. */
gboolean ibh_rt_tables_find(const char *text, gsize length, const char *name, guint32 *ret_table);
