/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What judges share. Pure.
 */
#pragma once

#include "check/finding.h"
#include "check/questions.h"
#include "check/ways.h"
#include "plan/emit.h"

typedef struct {
    const IbhRails *rails;
    const IbhPlan *plan;
    const char *const *only;
    GPtrArray *findings;
} IbhCheck;

/* A finding of this NIC, with the severity of its code, and its advice where there is no remedy. */
G_GNUC_PRINTF(5, 6)
IbhFinding *ibh_tell(const IbhCheck *check, const IbhNic *nic, const char *code, IbhRemedy remedy, const char *format,
                     ...);

/* Sets `wrong` of the questions, and adds a finding for each owner. Returns what is wrong because something of ours is
 * missing, in words; NULL: nothing. The caller frees it. */
char *ibh_judge_ways(const IbhCheck *check, GArray *questions);
void ibh_judge_wire(const IbhCheck *check, const IbhNic *nic);
/* NICs that answer ARP for the neighbours that unbound traffic is asked about. */
void ibh_judge_proxies(const IbhCheck *check, const IbhFib *actual, const GArray *questions);
/* gateway= and remote= that cannot be used, and rails that reach no other host without a gateway. */
void ibh_judge_gateway(const IbhCheck *check, const IbhNic *nic);
void ibh_judge_manager(const IbhCheck *check, const IbhNic *nic);
void ibh_judge_scripts(const IbhCheck *check);

char *ibh_command_for(const char *command, const char *iface); /* a command that ends in the interface's name */
const char *ibh_check_link_name(const IbhCheck *check, int ifindex);

/* ---- grades.c, fixes.c: from a packet that goes astray to its owner, and how to take that away ---- */

typedef enum { IBH_RIGHT, IBH_NOTED, IBH_DOUBTFUL, IBH_WRONG } IbhGrade;

typedef struct {
    const IbhCheck *check;
    const GArray *questions;
    const IbhWanted *wanted;
    const IbhFib *ideal, *repaired; /* `repaired` is the actual model, where nothing of ours is missing */
} IbhJudging;

IbhGrade ibh_grade(const IbhJudging *judging, const IbhQuestion *question, const IbhTrace *got);

/* Both NULL: none. `without`: objects that the model `trace` comes from does not have; NULL: none. */
IbhOwner ibh_find_owner(const IbhJudging *judging, const IbhQuestion *question, const IbhTrace *trace,
                        const GArray *without);

/* The commands that make these questions (const IbhQuestion *) right, of which this owner is the cause; NULL: none are
 * proved, or the owner is not one that a command may take away. */
char *ibh_find_fix(const IbhJudging *judging, const IbhOwner *owner, const GPtrArray *wrong);
