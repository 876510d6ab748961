/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether another program routes a NIC already. Pure.
 */
#pragma once

#include "plan/rails.h"

/* NULL: it is not. The caller frees the reason. */
char *ibh_why_deferred(const IbhRails *rails, const IbhNic *nic);

/* IbhRule *: foreign rules that lead a source to a table of its own. */
GPtrArray *ibh_find_routing_rules(const IbhSnapshot *snapshot);
/* One of these leads an address of this NIC to a table that routes its subnet by this NIC. */
gboolean ibh_is_routed_by(const IbhSnapshot *snapshot, const IbhNic *nic, const IbhRule *rule);

/* One of the numbers that the documents' script uses: it is no reason to leave a NIC alone. */
gboolean ibh_is_documents_table(const IbhRails *rails, guint32 table);
