/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings about foreign rules, routes, addresses, scripts and NICs. Pure.
 */
#pragma once

#include "check/finding.h"
#include "check/questions.h"
#include "plan/emit.h"

typedef struct {
    const IbhRails *rails;
    const IbhPlan *plan;
    const GArray *questions;
    const char *const *only;
    GPtrArray *findings;
} IbhCheck;

void ibh_judge_table(IbhCheck *check, const IbhNic *nic);
void ibh_judge_gateway(IbhCheck *check, const IbhNic *nic);
void ibh_judge_manager(IbhCheck *check, const IbhNic *nic);
void ibh_judge_scripts(IbhCheck *check, const IbhNic *nic);
void ibh_judge_duplicates(IbhCheck *check, const IbhNic *nic);
void ibh_judge_duplicate_elsewhere(IbhCheck *check, const IbhNic *nic); /* of a NIC that is no rail */
void ibh_judge_foreign_nic(IbhCheck *check, const IbhNic *nic);

/* ---- for fixes: the caller frees a command ---- */

char ibh_ip_option(int family); /* of ip: -4, -6 */
char *ibh_sysctl_command(const char *iface, IbhSysctl key, int value);
char *ibh_command_for(const char *command, const char *iface); /* a command that ends in the interface's name */
const char *ibh_check_link_name(const IbhCheck *check, int ifindex);
