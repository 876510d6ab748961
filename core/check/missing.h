/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rails are missing, for those who say so: --check and --watch.
 */
#pragma once

#include "plan/known.h"

/* IbhKnownRail: what was a rail, or has a section of its own with manage=yes, and is none; `all`: or is one. Of what
 * has a section only the name is known. */
GArray *ibh_missing_list(const IbhRails *rails, const IbhConfig *config, gboolean all);
/* The same, and what only the host's files tell: whether hardware that is gone is elsewhere (missing_io.c). */
GArray *ibh_missing_find(const IbhRails *rails, const IbhConfig *config, const char *sysfs, gboolean all);

gboolean ibh_missing_is_fault(IbhMissing missing); /* neither there nor away on purpose */
/* Of what is missing: "its link has no carrier". It ends a sentence. */
const char *ibh_missing_text(IbhMissing missing);

/* The same one in an earlier list: its slot tells, or, where one of both has none, its name; NULL: none. */
const IbhKnownRail *ibh_missing_find_same(const GArray *known, const IbhKnownRail *now);
