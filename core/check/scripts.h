/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A script that routes the rails by hand: which file, which line. scripts_io.c reads the files.
 */
#pragma once

#include "plan/rails.h"

/* The first of its commands that gives one of this rail's addresses, or a route by it, a table: "line 3: ip rule add
 * …". NULL: there is none. The caller frees it. */
char *ibh_script_command(const IbhScript *script, const IbhRails *rails, const IbhNic *nic);
