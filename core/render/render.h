/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The work of ib-hook in other tools' languages: the whole end state, not the difference. Pure.
 */
#pragma once

#include "check/facts.h"
#include "fabric/fabric.h"
#include "plan/rails.h"

gboolean ibh_render_knows(const char *format);
char *ibh_render_formats(void); /* "netplan, networkd, …" */
/* former.c: takes files that were rendered before out of the snapshot. The rails have to be found again then. */
void ibh_render_forget_former(const IbhRails *rails, IbhSnapshot *snapshot);
/* By a rule of others. */
gboolean ibh_render_is_led_to(const IbhSnapshot *snapshot, guint32 table);
/* `facts`: the managers, for managers' formats; `fabric`: RDMA ports, for env alone. */
char *ibh_render(const char *format, const IbhRails *rails, const IbhFacts *facts, const IbhFabric *fabric);

/* Names stand in files of many languages, in lists and beside patterns: TRUE for letters, digits, and what means
 * nothing in any of them. */
gboolean ibh_render_is_plain(const char *name);
void ibh_render_env(GString *out, const IbhRails *all, const IbhFabric *fabric); /* env.c */
