/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says in the journal which rails are missing: once when it begins, once when it ends.
 */
#pragma once

#include <glib.h>

typedef struct IbhMissing_ IbhMissingLog;

IbhMissingLog *ibh_missing_log_new(void);
void ibh_missing_log_free(IbhMissingLog *log);

/* `missed`: IbhMissed, NULL: not known now. What has been missing for a while is said. Returns when there may be more
 * to say (G_MAXINT64: when something happens). */
gint64 ibh_missing_log(IbhMissingLog *log, const GArray *missed, gint64 now);
/* At once. */
void ibh_missing_say(const GArray *missed);
