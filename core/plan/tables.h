/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which table each candidate has. Pure.
 *
 * A NIC keeps the table that it is programmed with, so a change of one rail touches no other. Only table= promises a
 * number; an automatic one is 940 + the rank when a NIC is first programmed, so ib0 and ib1 have 941 and 942.
 */
#pragma once

#include "plan/rails.h"

/* Gives each candidate its table, and fills in rails->by.tables. The explicit tables have been set before. */
void ibh_assign_tables(IbhRails *rails);

/* The tables to remember of these rails (IbhSavedRail), and of earlier ones whose NIC has disappeared. `undone`: names
 * of interfaces that are left alone now; NULL: none. `all`: all interfaces are. */
GArray *ibh_rails_to_remember(const IbhRails *rails, const char *const *undone, gboolean all);
