/*
 * What --check asks the kernel about its own routing, and which answers are right. Pure: run/look.c asks in between.
 */
#pragma once

#include "plan/rails.h"

typedef enum {
    IBH_ASK_LEAVES,  /* what the rail's address sends to a neighbour leaves by the rail */
    IBH_ASK_ARRIVES, /* what a neighbour sends to it by the rail is accepted */
    IBH_ASK_LOCAL,   /* what it sends to ourselves stays here */
    IBH_ASK_UNBOUND  /* what is bound to no address has a way, though main lacks the connected route */
} IbhQuestionKind;

typedef struct {
    IbhQuestionKind kind;
    const IbhNic *nic;
    IbhLookup lookup;
} IbhQuestion;

gboolean ibh_question_is_well_answered(const IbhRails *rails, const IbhQuestion *question);

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only); /* IbhQuestion */

/* Of a question of where something leaves: its answer names another NIC, or none. */
gboolean ibh_question_leaves_wrong(const IbhQuestion *question);

/* ---- what questions and judgement share ---- */

gboolean ibh_nic_is_usable(const IbhNic *nic);                /* up, with carrier */
gboolean ibh_check_covers(const IbhRails *rails, int family); /* --family */
/* The address of this NIC in whose subnet `ip` lies; NULL: none. It belongs to the snapshot. */
const IbhAddress *ibh_find_address_near(const IbhRails *rails, int ifindex, const IbhIp *ip);
