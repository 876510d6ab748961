/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What ib-hook sets, in other tools' languages: the whole end state, not the difference. Pure.
 */
#pragma once

#include "check/facts.h"
#include "fabric/fabric.h"
#include "plan/rails.h"

gboolean ibh_render_knows(const char *format);
char *ibh_render_formats(void); /* "netplan, networkd, …"; the caller frees it */
/* Removes from the snapshot the rules and routes of files that were rendered earlier (former.c). The caller then has to
 * find the rails again. */
void ibh_render_forget_former(const IbhRails *rails, IbhSnapshot *snapshot);
/* TRUE if a foreign rule leads to the table. */
gboolean ibh_render_is_led_to(const IbhSnapshot *snapshot, guint32 table);
/* Returns the text, which the caller frees. The format must be a known one. `facts` has the managers, for managers'
 * formats. `fabric` has the RDMA ports, for env; NULL for other formats. */
char *ibh_render(const char *format, const IbhRails *rails, const IbhFacts *facts, const IbhFabric *fabric);

/* TRUE if the name consists of letters, digits and "._-@+", and is not empty. These characters have no special meaning
 * in any format: not in managers' files, not in a shell, and not in a list of NCCL ("=ib0,ib1"). */
gboolean ibh_render_is_plain(const char *name);
void ibh_render_env(GString *out, const IbhRails *all, const IbhFabric *fabric); /* env.c */
