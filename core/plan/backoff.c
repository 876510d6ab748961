/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan.h"

#define TIMES 5                      /* undone so often … */
#define WITHIN (10 * G_USEC_PER_SEC) /* … in this time, is a fight */
#define FIRST_PAUSE 10               /* seconds; doubled each time */
#define LAST_PAUSE 600               /* seconds */
#define FORGOTTEN_AFTER (1200 * G_USEC_PER_SEC)
#define NOT_SET G_MININT

typedef struct {
    int to[IBH_N_SYSCTLS]; /* the values that its sysctls got last; or NOT_SET */
    guint count;           /* in how many runs something had to be repaired … */
    gint64 first;          /* … since then */
    gint64 counted;        /* the last of them */
    gint64 seen;           /* the last run with a change that was looked at */
    int pause;             /* seconds, of the last time that it was left alone */
    gint64 until;
} Unit;

GHashTable *ibh_backoff_new(void)
{
    return g_hash_table_new_full(NULL, NULL, NULL, g_free);
}

static gboolean is_forgotten(gpointer key, gpointer value, gpointer data)
{
    const Unit *unit = value;

    (void)key;
    return *(const gint64 *)data - MAX(unit->seen, unit->until) > FORGOTTEN_AFTER;
}

static void forget_sysctls(Unit *unit)
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++)
        unit->to[key] = NOT_SET;
}

static Unit *find_unit(GHashTable *backoff, int number, gint64 now)
{
    Unit *unit = g_hash_table_lookup(backoff, GINT_TO_POINTER(number));

    if (!unit) {
        g_hash_table_foreach_remove(backoff, is_forgotten, &now); /* NICs that come and go have new numbers */
        unit = g_new0(Unit, 1);
        unit->counted = G_MININT64;
        forget_sysctls(unit);
        g_hash_table_insert(backoff, GINT_TO_POINTER(number), unit);
    }
    unit->seen = now;
    return unit;
}

/* The kernel does not tell which process sets a sysctl. But a value that is set twice, with no other one between, was
 * undone between. */
static gboolean is_set_again(Unit *unit, const IbhOp *op)
{
    const gboolean again = unit->to[op->key] == op->to;

    unit->to[op->key] = op->to;
    return again;
}

int ibh_backoff_note(GHashTable *backoff, const IbhOp *op, gboolean was_taken, gint64 now)
{
    Unit *unit;

    if (!op->unit || (!was_taken && op->type != IBH_OP_SYSCTL_SET))
        return 0;
    unit = find_unit(backoff, op->unit, now);
    if (op->type == IBH_OP_SYSCTL_SET && !is_set_again(unit, op))
        return 0;
    if (unit->counted == now) /* one deletion of a whole table is one, not as many as it has routes */
        return 0;
    if (!unit->count || now - unit->first > WITHIN) {
        unit->count = 0;
        unit->first = now;
    }
    unit->counted = now;
    if (++unit->count < TIMES)
        return 0;
    unit->count = 0;
    unit->pause = unit->pause && now - unit->until < FORGOTTEN_AFTER ? MIN(2 * unit->pause, LAST_PAUSE) : FIRST_PAUSE;
    unit->until = now + unit->pause * G_USEC_PER_SEC;
    return unit->pause;
}

void ibh_backoff_forgive(GHashTable *backoff, int ifindex)
{
    Unit *unit = g_hash_table_lookup(backoff, GINT_TO_POINTER(ifindex)); /* as IPv4's it has the sysctls */

    if (unit)
        forget_sysctls(unit);
}

gint64 ibh_backoff_units(GHashTable *backoff, gint64 now, GArray *units)
{
    gint64 next = G_MAXINT64;
    GHashTableIter iter;
    gpointer number, value;

    g_hash_table_iter_init(&iter, backoff);
    while (g_hash_table_iter_next(&iter, &number, &value)) {
        const Unit *unit = value;
        const int left_alone = GPOINTER_TO_INT(number);

        if (unit->until <= now)
            continue;
        next = MIN(next, unit->until);
        if (units)
            g_array_append_val(units, left_alone);
    }
    return next;
}
