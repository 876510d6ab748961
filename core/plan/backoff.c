/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan.h"

#define TIMES 5                      /* undone so often … */
#define WITHIN (10 * G_USEC_PER_SEC) /* … in this time, is a fight */
#define FIRST_PAUSE 10               /* seconds; doubled each time */
#define LAST_PAUSE 600               /* seconds */
#define FORGOTTEN_AFTER (1200 * G_USEC_PER_SEC)

typedef struct {
    int unit;
    guint count;  /* in how many runs it had to be repaired … */
    gint64 first; /* … since then */
    gint64 last;
    int pause; /* seconds, of the last time that it was left alone */
    gint64 until;
} Fight;

GArray *ibh_backoff_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(Fight));
}

static Fight *find_fight(GArray *backoff, int unit, gint64 now)
{
    const Fight begun = {.unit = unit, .first = now};

    IBH_EACH_BACK (Fight, fight, backoff) {
        if (now - MAX(fight->last, fight->until) > FORGOTTEN_AFTER)
            IBH_REMOVE(Fight, fight, backoff);
    }
    IBH_EACH (Fight, fight, backoff) {
        if (fight->unit == unit)
            return fight;
    }
    g_array_append_val(backoff, begun);
    return &g_array_index(backoff, Fight, backoff->len - 1);
}

int ibh_backoff_note(GArray *backoff, int unit, gint64 now)
{
    Fight *fight = unit ? find_fight(backoff, unit, now) : NULL;

    if (!fight || fight->last == now) /* one deletion of a whole table is one, not as many as it has routes */
        return 0;
    if (now - fight->first > WITHIN) {
        fight->count = 0;
        fight->first = now;
    }
    fight->last = now;
    if (++fight->count < TIMES)
        return 0;
    fight->count = 0;
    fight->pause = CLAMP(2 * fight->pause, FIRST_PAUSE, LAST_PAUSE);
    fight->until = now + fight->pause * G_USEC_PER_SEC;
    return fight->pause;
}

gint64 ibh_backoff_units(const GArray *backoff, gint64 now, GArray *units)
{
    gint64 next = G_MAXINT64;

    IBH_EACH (const Fight, fight, backoff) {
        if (fight->until <= now)
            continue;
        next = MIN(next, fight->until);
        if (units)
            g_array_append_val(units, fight->unit);
    }
    return next;
}
