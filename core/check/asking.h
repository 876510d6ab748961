/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What questions.c (what is asked of every rail) and pieces.c (where rules and routes of others cut pieces out) share.
 */
#pragma once

#include "check/neighbours.h"
#include "check/outcome.h"

/* The questions, and the facts that all of them need. */
typedef struct {
    const IbhRails *rails;
    GPtrArray *foreign; /* const IbhRule *: those of others that can match what a rail sends */
    IbhNeighbours all;
    GArray *questions; /* IbhQuestion */
} IbhAsking;

/* Where this address is to leave by its NIC: to its subnet, or to what its NIC's own table has. */
typedef struct {
    const IbhNic *nic;
    const IbhAddress *address;
    const IbhPrefix *prefix;
    GArray *holes; /* IbhPrefix: what main has more exactly */
} IbhAskTarget;

IbhQuestion ibh_ask_about(IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from, const IbhIp *to);
IbhQuestion ibh_ask_leaving(const IbhAskTarget *target, const IbhIp *neighbour);
/* Takes the question among those that are asked. */
void ibh_question_add(const IbhAsking *asking, const IbhQuestion *question);
void ibh_ask_simply(const IbhAsking *asking, IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from,
                    const IbhIp *to);
/* What names no source is the host's: once for each subnet is enough. */
gboolean ibh_is_asked_unbound(const IbhAsking *asking, const IbhIp *to);

/* A host in this piece; with `rule`, by what the rule matches by. */
void ibh_ask_in_piece(const IbhAsking *asking, const IbhAskTarget *target, const IbhPrefix *piece, const IbhRule *rule);
/* What main has more exactly leaves as main says. */
void ibh_ask_about_holes(const IbhAsking *asking, const IbhAskTarget *target);
/* Pieces that a rule without a source, or a throw in main, takes from what names no source. */
void ibh_ask_unbound_pieces(const IbhAsking *asking, const IbhAskTarget *target);
/* Pieces that rules and routes of others take. */
void ibh_ask_about_others(const IbhAsking *asking, const IbhAskTarget *target);
