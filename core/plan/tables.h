/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which table each candidate has. Pure.
 *
 * A NIC keeps the table that it is programmed with: what happens to one rail touches no other. Only table= promises a
 * number; what is automatic is 940 + the rank when a NIC is first programmed, so ib0 and ib1 have 941 and 942.
 */
#pragma once

#include "plan/rails.h"

/* Gives each candidate its table, and fills in rails->by.tables. The explicit tables are there already. */
void ibh_assign_tables(IbhRails *rails);

/* What to remember of these rails: IbhSavedRail. Of earlier ones, those whose NIC has gone. `undone`: names of
 * interfaces that are left alone now; NULL: none. `all`: all are. */
GArray *ibh_rails_to_remember(const IbhRails *rails, const char *const *undone, gboolean all);

/* A NIC of this name or index is here. */
gboolean ibh_is_saved_rail_here(const IbhSnapshot *snapshot, const IbhSavedRail *saved);
