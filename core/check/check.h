/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check: the packets that it is about, and findings from the kernel's answers to them, from the plan, and from
 * foreign rules, routes and NICs. Of each address of a rail, a packet goes into every piece that rules and routes cut
 * out of its subnets. Packets that the same rule and route decide are one class, and the kernel is asked about one of
 * each. Pure.
 */
#pragma once

#include "check/finding.h"
#include "plan/fib.h"
#include "plan/known.h"
#include "plan/plan.h"

typedef enum {
    IBH_ASK_LEAVES,  /* from a rail's address to another host */
    IBH_ASK_ARRIVES, /* from a host that the rail reaches, by the rail, to its address */
    IBH_ASK_LOCAL,   /* from it to ourselves */
    IBH_ASK_UNBOUND  /* without a source address, to a rail's subnet */
} IbhQuestionKind;

typedef struct {
    IbhQuestionKind kind;
    const IbhNic *nic;
    IbhPrefix piece;
    gboolean theirs; /* rules of others route its address */
    IbhLookup lookup;
    gboolean asked; /* the kernel is; else the answer of `like` stands for it, too */
    guint like;     /* the index of the question that is asked for this class */
    gboolean wrong; /* ibh_judge_ways() */
} IbhQuestion;

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only); /* IbhQuestion */

gboolean ibh_is_routed(const IbhNic *nic);     /* a rail, routed by ib-hook or by another program */
gboolean ibh_nic_is_usable(const IbhNic *nic); /* up, with carrier */
/* The address of this NIC in whose subnet `ip` lies; NULL: none. It belongs to the snapshot. */
const IbhAddress *ibh_find_address_near(const IbhRails *rails, int ifindex, const IbhIp *ip);

/* `plan`: what --apply would do; `questions`: answered; `missed`: IbhMissed, rails that were there and are not;
 * `findings`: begins with those of the RDMA ports, which explain others. */
void ibh_check_judge(const IbhRails *rails, const IbhPlan *plan, GArray *questions, const GArray *missed,
                     const char *const *only, GPtrArray *findings);
