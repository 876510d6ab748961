/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules and routes in the words of ip. The caller frees the text.
 */
#pragma once

#include "check/models.h"

char *ibh_rule_describe(const IbhRule *rule);
char *ibh_route_describe(const IbhSnapshot *snapshot, const IbhRoute *route);
char *ibh_owner_describe(const IbhSnapshot *snapshot, const IbhOwner *owner); /* "rule 100: from all lookup 700" */
char *ibh_owner_command(const IbhSnapshot *snapshot, const IbhOwner *owner);  /* that takes it away */
