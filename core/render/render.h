/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What ib-hook sets, in other tools' languages: the whole end state, not the difference. Pure.
 */
#pragma once

#include "check/facts.h"
#include "fabric/fabric.h"
#include "plan/rails.h"

gboolean ibh_render_knows(const char *format);
char *ibh_render_formats(void); /* "netplan, networkd, …" */
/* Removes from the snapshot the rules and routes of files that were rendered earlier (former.c). Find the rails again
 * after that. */
void ibh_render_forget_former(const IbhRails *rails, IbhSnapshot *snapshot);
/* TRUE if a foreign rule leads to the table. */
gboolean ibh_render_is_led_to(const IbhSnapshot *snapshot, guint32 table);
/* `facts` has the managers, for managers' formats; `fabric` has the RDMA ports, for env alone. */
char *ibh_render(const char *format, const IbhRails *rails, const IbhFacts *facts, const IbhFabric *fabric);

/* TRUE if the name has only letters, digits, and characters that mean nothing in any format. Names stand in files of
 * many languages, in lists and beside patterns. */
gboolean ibh_render_is_plain(const char *name);
void ibh_render_env(GString *out, const IbhRails *all, const IbhFabric *fabric); /* env.c */
