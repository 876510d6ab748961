/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Foreign rules that are asked before the rails' rules. Pure.
 */
#pragma once

#include "plan/rails.h"

/* TRUE if it is asked before the rails' rules and can match traffic of this host itself. */
gboolean ibh_rule_is_foreign(const IbhRails *rails, const IbhRule *rule);
gboolean ibh_rule_refuses(const IbhRule *rule);
gboolean ibh_rule_matches_source(const IbhRule *rule, const IbhIp *from);
/* The foreign rule that decides this answer; NULL: none. */
const IbhRule *ibh_find_foreign_rule(const IbhRails *rails, const IbhLookup *answer);
/* The rule that refuses what arrives, a foreign one or not; NULL: none. */
const IbhRule *ibh_find_refusing_rule(const IbhRails *rails, const IbhLookup *arrival);
/* The rule, before main's, to the table where the route was found: it need not be asked before the rails' rules. NULL:
 * none. */
const IbhRule *ibh_find_leading_rule(const IbhRails *rails, const IbhLookup *answer);
