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

void ibh_report_foreign_rule(IbhCheck *check, const IbhRule *rule, const IbhQuestion *question); /* it makes it wrong */
char *ibh_rule_describe(const IbhRule *rule); /* in the words of ip; the caller frees it */
/* It takes what it should not; only its owner knows whether that is meant. */
IbhRemedy ibh_advise_on_rule(const IbhCheck *check, const IbhRule *rule);
void ibh_judge_foreign_rules(IbhCheck *check, const IbhNic *nic);
void ibh_judge_foreign_routes(IbhCheck *check, const IbhNic *nic);
/* The foreign route in the rail's tables that makes this answer wrong; NULL: none. */
const IbhRoute *ibh_find_foreign_route(const IbhCheck *check, const IbhQuestion *question);
void ibh_judge_table(IbhCheck *check, const IbhNic *nic);
void ibh_judge_errors_in_main(IbhCheck *check, const IbhNic *nic);
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
char *ibh_check_say_where(const IbhCheck *check, const IbhLookup *answer); /* "leaves by ib0"; the caller frees it */
