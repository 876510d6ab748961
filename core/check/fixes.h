/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a packet that goes astray to its owner; and commands that take owners away, proved on the model. Pure.
 */
#pragma once

#include "check/foreign.h"

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
