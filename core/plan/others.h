/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which addresses others route: they need no rules and routes of ours. A function of others' rules and routes alone.
 * Pure.
 */
#pragma once

#include "plan/rails.h"

/* Of a rule of others: it leads some source, and nothing but a source and a destination, to a table of their own. */
gboolean ibh_rule_is_of_a_source(const IbhRule *rule);

IbhOthers *ibh_others_new(const IbhRails *rails);
void ibh_others_free(IbhOthers *others);

/* The first rule of others that has a part in it, if they lead by this NIC all that it would reach from this address;
 * NULL: they do not. */
const IbhRule *ibh_others_route(const IbhOthers *others, const IbhNic *nic, const IbhAddress *address);
/* A rule of theirs leads it to a table that has a default of whatever type: what it sends beyond is theirs. */
gboolean ibh_others_lead_out(const IbhOthers *others, const IbhAddress *address);
