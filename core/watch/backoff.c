/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/backoff.h"

#include <string.h>

/* If TIMES looks have to repair a unit within the time WITHIN, another program undoes our changes: this is a fight. */
#define TIMES 5
#define WITHIN (10 * G_USEC_PER_SEC)
/* Seconds. Each pause is twice as long as the one before, up to LONGEST_PAUSE. */
#define FIRST_PAUSE 10
#define LONGEST_PAUSE 600
/* If the last pause ended at least this long ago, the next pause is FIRST_PAUSE again. Entries that were not used for
 * this long are removed. */
#define FORGOTTEN_AFTER (1200 * G_USEC_PER_SEC)

typedef struct {
    IbhUnit unit;
    int to[IBH_N_SYSCTLS]; /* the value that we wrote last to each sysctl, plus 1; 0: not known */
    guint count;           /* how many looks since `first` had to repair the unit */
    gint64 first;          /* when the first of these looks was */
    gint64 counted;        /* when the last of these looks was */
    gint64 seen;           /* when a look last repaired the unit, or set a sysctl of it */
    int pause;             /* how many seconds the last pause takes; 0: there was none */
    gint64 until;          /* when the last pause ends */
} Fight;

GArray *ibh_backoff_new(void)
{
    return IBH_NEW_ARRAY(Fight);
}

/* Returns the entry of this unit. If the unit has no entry, adds one. Removes old entries of other units on the way. */
static Fight *find_fight(GArray *backoff, const IbhUnit *unit, gint64 now)
{
    IBH_EACH_BACK (Fight, fight, backoff) {
        if (ibh_unit_is_same(&fight->unit, unit))
            return fight;
        /* A NIC that comes back has a new ifindex, so its old entry is never found again. */
        if (now - MAX(fight->seen, fight->until) > FORGOTTEN_AFTER)
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
    /* The kernel does not tell which process sets a sysctl. But if we write the same value again, and wrote no other
     * value in between, another process has undone our change. */
    if (op->type == IBH_OP_SYSCTL_SET) {
        const gboolean again = fight->to[op->key] == op->to + 1;

        fight->to[op->key] = op->to + 1;
        if (!again)
            return 0;
    }
    if (fight->counted == now) /* a look counts once: whoever deletes a table deletes many routes at once */
        return 0;
    if (!fight->count || now - fight->first > WITHIN) { /* start counting again */
        fight->count = 0;
        fight->first = now;
    }
    fight->counted = now;
    fight->count++;
    if (fight->count < TIMES)
        return 0;
    fight->count = 0;
    fight->pause =
        fight->pause && now - fight->until < FORGOTTEN_AFTER ? MIN(2 * fight->pause, LONGEST_PAUSE) : FIRST_PAUSE;
    fight->until = now + (gint64)fight->pause * G_USEC_PER_SEC;
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
