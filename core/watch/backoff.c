/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/backoff.h"

#include <string.h>

#define TIMES 5                      /* undone so often … */
#define WITHIN (10 * G_USEC_PER_SEC) /* … in this time, is a fight */
#define FIRST_PAUSE 10               /* seconds; doubled each time */
#define LAST_PAUSE 600               /* seconds */
#define FORGOTTEN_AFTER (1200 * G_USEC_PER_SEC)

typedef struct {
    IbhUnit unit;
    int to[IBH_N_SYSCTLS]; /* the values that its sysctls got last, + 1; 0: not known */
    guint count;           /* in how many runs something had to be repaired … */
    gint64 first;          /* … since then */
    gint64 counted;        /* the last of them */
    gint64 seen;           /* the last run with a change that was looked at */
    int pause;             /* seconds, of the last time that it was left alone */
    gint64 until;
} Fight;

GArray *ibh_backoff_new(void)
{
    return IBH_NEW_ARRAY(Fight);
}

static Fight *find_fight(GArray *backoff, const IbhUnit *unit, gint64 now)
{
    IBH_EACH_BACK (Fight, fight, backoff) {
        if (ibh_unit_is_same(&fight->unit, unit))
            return fight;
        if (now - MAX(fight->seen, fight->until) > FORGOTTEN_AFTER) /* NICs that come and go have new numbers */
            IBH_REMOVE(Fight, fight, backoff);
    }
    g_array_append_val(backoff, (Fight){.unit = *unit});
    return &g_array_index(backoff, Fight, backoff->len - 1);
}

int ibh_backoff_note(GArray *backoff, const IbhOp *op, gboolean was_taken, gint64 now)
{
    Fight *fight;

    if (op->unit.kind == IBH_UNIT_NONE || (!was_taken && op->type != IBH_OP_SYSCTL_SET))
        return 0;
    fight = find_fight(backoff, &op->unit, now);
    fight->seen = now;
    /* The kernel does not tell which process sets a sysctl. But a value that is set twice, with no other one between,
     * was undone between. */
    if (op->type == IBH_OP_SYSCTL_SET) {
        const gboolean again = fight->to[op->key] == op->to + 1;

        fight->to[op->key] = op->to + 1;
        if (!again)
            return 0;
    }
    if (fight->counted == now) /* one deletion of a whole table is one, not as many as it has routes */
        return 0;
    if (!fight->count || now - fight->first > WITHIN) {
        fight->count = 0;
        fight->first = now;
    }
    fight->counted = now;
    if (++fight->count < TIMES)
        return 0;
    fight->count = 0;
    fight->pause =
        fight->pause && now - fight->until < FORGOTTEN_AFTER ? MIN(2 * fight->pause, LAST_PAUSE) : FIRST_PAUSE;
    fight->until = now + fight->pause * G_USEC_PER_SEC;
    return fight->pause;
}

void ibh_backoff_forgive(GArray *backoff, int ifindex)
{
    IBH_EACH (Fight, fight, backoff) {
        if (fight->unit.ifindex == ifindex)
            memset(fight->to, 0, sizeof fight->to);
    }
}

gboolean ibh_backoff_leaves_alone(const GArray *backoff, const IbhUnit *unit, gint64 now)
{
    IBH_EACH (const Fight, fight, backoff) {
        if (ibh_unit_is_same(&fight->unit, unit))
            return fight->until > now;
    }
    return FALSE;
}

gint64 ibh_backoff_next(const GArray *backoff, gint64 now)
{
    gint64 next = G_MAXINT64;

    IBH_EACH (const Fight, fight, backoff) {
        if (fight->until > now)
            next = MIN(next, fight->until);
    }
    return next;
}
