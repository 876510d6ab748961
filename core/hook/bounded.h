/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by a hook and the run that it starts: they never harm the caller. Of the C library alone.
 */
#pragma once

#define IBH_HOOK_SECONDS 10 /* at most, for a hook and its run together */

/* From now on the process ends with exit status 0 after so many seconds, and at any fault; it reports that. */
void ibh_bounded(unsigned seconds);

/* To syslog, or standard error if that does not block; in a signal handler, too. The text begins with "<PRIORITY>". */
void ibh_last_words(const char *words);
/* To standard error, and only if that does not block. */
void ibh_log_last(const char *text);
