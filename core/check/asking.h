/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by questions.c (questions about every rail) and pieces.c (questions where foreign rules and routes cut pieces
 * out).
 */
#pragma once

#include "check/neighbours.h"
#include "check/outcome.h"

/* The questions, and the facts that all of them need. */
typedef struct {
    const IbhRails *rails;
    GPtrArray *foreign; /* const IbhRule *: foreign rules that can match a rail's traffic */
    IbhNeighbours all;
    GArray *questions; /* IbhQuestion */
} IbhAsking;

/* The destinations for which this address has to leave by its NIC: its subnet, or the prefixes of its NIC's own table.
 */
typedef struct {
    const IbhNic *nic;
    const IbhAddress *address;
    const IbhPrefix *prefix;
    GArray *holes; /* IbhPrefix: longer prefixes of main */
} IbhAskTarget;

IbhQuestion ibh_ask_about(IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from, const IbhIp *to);
IbhQuestion ibh_ask_leaving(const IbhAskTarget *target, const IbhIp *neighbour);
/* Takes the question among those that are asked. */
void ibh_question_add(const IbhAsking *asking, const IbhQuestion *question);
void ibh_ask_simply(const IbhAsking *asking, IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from,
                    const IbhIp *to);
/* Traffic without a source concerns the whole host: one question for each subnet is enough. */
gboolean ibh_is_asked_unbound(const IbhAsking *asking, const IbhIp *to);

/* Asks about a host in this piece; with `rule`, using the values that the rule matches by. */
void ibh_ask_in_piece(const IbhAsking *asking, const IbhAskTarget *target, const IbhPrefix *piece, const IbhRule *rule);
/* Longer prefixes of main are used as main says. */
void ibh_ask_about_holes(const IbhAsking *asking, const IbhAskTarget *target);
/* Pieces that a rule without a source, or a throw in main, takes from traffic without a source. */
void ibh_ask_unbound_pieces(const IbhAsking *asking, const IbhAskTarget *target);
/* Asks about rules that lead this address to another rail's table. */
void ibh_ask_about_detours(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address);
/* Pieces that foreign rules and routes take. */
void ibh_ask_about_others(const IbhAsking *asking, const IbhAskTarget *target);
