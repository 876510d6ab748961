/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A question to the kernel about its own routing, and which answers are right. Pure.
 */
#pragma once

#include "plan/rails.h"

typedef enum {
    IBH_ASK_LEAVES,    /* packets from the rail's address to a neighbour leave by the rail, or as main says */
    IBH_ASK_ELSEWHERE, /* packets from it to a network of another NIC leave by no rail */
    IBH_ASK_ARRIVES,   /* packets from a neighbour to it, by the rail, are accepted */
    IBH_ASK_LOCAL,     /* packets from it to ourselves stay here */
    IBH_ASK_UNBOUND,   /* traffic that is bound to no address has a route */
    IBH_ASK_PROXIES    /* packets that come in for another neighbour are not forwarded: with proxy_arp, the NIC would
                          answer ARP for it */
} IbhQuestionKind;

typedef struct {
    IbhQuestionKind kind;
    const IbhNic *nic;
    guint length;          /* of the rail's subnet: a longer prefix of main is right, too */
    gboolean as_main_says; /* main, or a foreign rule or route, has a longer prefix there than the subnet */
    IbhLookup lookup;
} IbhQuestion;

#define IBH_QUESTIONS_MAX 4096 /* a question can cost 0.1 ms, behind thousands of rules */

/* TRUE if main's connected route has a source address that lies in no subnet there. */
gboolean ibh_has_source_of_elsewhere(const IbhRails *rails, const IbhLookup *answer);
/* TRUE if main leads a rail's whole subnet, without a gateway, to a NIC that has no address there. */
gboolean ibh_is_led_astray(const IbhRails *rails, const IbhLookup *answer);
gboolean ibh_question_is_well_answered(const IbhRails *rails, const IbhQuestion *question);

/* ---- what questions and judgement share ---- */

/* Main's best route there: the longest prefix, the lowest metric, the first; NULL: none. */
const IbhRoute *ibh_find_in_main(const IbhSnapshot *snapshot, const IbhIp *to);
/* The same, if it is an error, which no rule suppresses; NULL: it is none. */
const IbhRoute *ibh_find_error_in_main(const IbhSnapshot *snapshot, const IbhIp *to);

gboolean ibh_is_routed(const IbhNic *nic);     /* a rail, routed by ib-hook or by another program */
gboolean ibh_nic_is_usable(const IbhNic *nic); /* up, with carrier */
gboolean ibh_main_has(const IbhRails *rails, const IbhPrefix *subnet);
gboolean ibh_check_covers(const IbhRails *rails, int family); /* --family */
/* The address of this NIC in whose subnet `ip` lies; NULL: none. It belongs to the snapshot. */
const IbhAddress *ibh_find_address_near(const IbhRails *rails, int ifindex, const IbhIp *ip);
