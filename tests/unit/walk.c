/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "walk.h"

#include <errno.h>
#include <linux/rtnetlink.h>

void walk_answer(const IbhCheck *check)
{
    IBH_EACH (IbhQuestion, question, check->questions) {
        const IbhTrace trace = ibh_fib_walk(check->actual, &question->lookup);

        question->lookup.error = trace.refused ? ENETUNREACH : 0;
        question->lookup.type = trace.route ? trace.route->type : RTN_UNICAST;
        question->lookup.oif = trace.route ? trace.route->ifindex : 0;
    }
}
