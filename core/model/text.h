/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that others wrote (names of interfaces above all, which may hold anything but blanks and slashes), made safe to
 * show and to paste.
 */
#pragma once

#include <glib.h>

/* As a shell reads it: names may hold `;`, `$` and quotes. The caller frees it. */
char *ibh_shell_word(const char *word);
/* strerror() with what to do where descriptors have run out. (g_strerror() loads the tables of iconv.) */
const char *ibh_strerror(int number);
/* Without control characters for terminals and journals: a byte that is not printable becomes `?`. Caller frees it. */
char *ibh_printable(const char *text);
