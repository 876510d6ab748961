/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration that --watch goes by. An editor may not have finished with its files: a changed one waits until
 * --apply, or a manager that calls a hook, has put it into force.
 */
#pragma once

#include "run/run.h"

typedef struct {
    IbhConfig *config; /* NULL: none yet, the files' will be */
    gboolean reload;   /* the files' is put into force now */
    guint64 told;      /* the fingerprint of the last one that was said to wait */
} IbhInForce;

/* Of a run that has read the files, or could not: it leaves the configuration that is in force. */
void ibh_in_force_configure(IbhInForce *in_force, IbhRun *run);
/* Takes the configuration back from a run that ends. */
void ibh_in_force_keep(IbhInForce *in_force, IbhRun *run);
