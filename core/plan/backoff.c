/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan.h"

#define TIMES 5                      /* the same change, so often … */
#define WITHIN (10 * G_USEC_PER_SEC) /* … in this time, is a fight */
#define FIRST_PAUSE 10               /* seconds; doubled each time */
#define LAST_PAUSE 600               /* seconds */
#define FORGOTTEN_AFTER (1200 * G_USEC_PER_SEC)

/* One change: a sysctl, or a command. */
typedef struct {
    int unit;
    int to;       /* the value that a sysctl got last */
    guint count;  /* how often it was made … */
    gint64 first; /* … since then */
    int pause;    /* seconds, of the last time that it was left alone */
    gint64 until;
} Change;

GHashTable *ibh_backoff_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

static gboolean is_forgotten(gpointer key, gpointer value, gpointer data)
{
    const Change *change = value;

    (void)key;
    return *(const gint64 *)data - MAX(change->first, change->until) > FORGOTTEN_AFTER;
}

static Change *find_change(GHashTable *backoff, const IbhOp *op, gint64 now)
{
    g_autofree char *name = op->type == IBH_OP_SYSCTL_SET
                                ? g_strdup_printf("%s %s", op->iface, ibh_sysctl_name(op->key))
                                : ibh_op_command(op);
    Change *change = g_hash_table_lookup(backoff, name);

    if (change)
        return change;
    g_hash_table_foreach_remove(backoff, is_forgotten, &now);
    change = g_new0(Change, 1);
    *change = (Change){.unit = op->unit, .to = op->from - 1, .first = now};
    g_hash_table_insert(backoff, g_steal_pointer(&name), change);
    return change;
}

int ibh_backoff_note(GHashTable *backoff, const IbhOp *op, gboolean contested, gint64 now)
{
    Change *change;
    gboolean other;

    if (!op->unit || op->type == IBH_OP_ANNOUNCE || op->type == IBH_OP_NEIGH_DEL)
        return 0;
    change = find_change(backoff, op, now);
    other = change->to != op->to || now - change->first > WITHIN;
    change->to = op->to;
    if (!contested)
        return 0;
    if (other) {
        change->count = 0;
        change->first = now;
    }
    if (++change->count < TIMES)
        return 0;
    change->count = 0;
    change->pause =
        change->pause && now - change->until < FORGOTTEN_AFTER ? MIN(2 * change->pause, LAST_PAUSE) : FIRST_PAUSE;
    change->until = now + change->pause * G_USEC_PER_SEC;
    return change->pause;
}

gint64 ibh_backoff_units(GHashTable *backoff, gint64 now, GArray *units)
{
    gint64 next = G_MAXINT64;
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, backoff);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Change *change = value;

        if (change->until <= now)
            continue;
        next = MIN(next, change->until);
        if (units)
            g_array_append_val(units, change->unit);
    }
    return next;
}
