/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/backoff.h"

#define TIMES 5                      /* the same change, so often … */
#define WITHIN (10 * G_USEC_PER_SEC) /* … in this time, is a fight */
#define FIRST_PAUSE 10               /* seconds; doubled each time */
#define LAST_PAUSE 600               /* seconds */
#define FORGOTTEN_AFTER (1200 * G_USEC_PER_SEC)

/* One change, as its command says it, and how often it had to be made. */
typedef struct {
    guint count;
    gint64 first;
} Repeats;

typedef struct {
    int pause; /* seconds, of the last time */
    gint64 until;
} Fight;

struct IbhBackoff {
    GHashTable *repeats; /* command → Repeats */
    GHashTable *fights;  /* unit → Fight */
    GHashTable *set;     /* "ib0 arp_ignore" → int: the value that was set last */
};

IbhBackoff *ibh_backoff_new(void)
{
    IbhBackoff *backoff = g_new0(IbhBackoff, 1);

    backoff->repeats = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    backoff->fights = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    backoff->set = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return backoff;
}

void ibh_backoff_free(IbhBackoff *backoff)
{
    g_hash_table_unref(backoff->repeats);
    g_hash_table_unref(backoff->fights);
    g_hash_table_unref(backoff->set);
    g_free(backoff);
}

static gboolean is_over(gpointer key, gpointer value, gpointer data)
{
    (void)key;
    return *(const gint64 *)data - ((const Repeats *)value)->first > WITHIN;
}

static int start_fight(IbhBackoff *backoff, int unit, gint64 now)
{
    Fight *fight = g_hash_table_lookup(backoff->fights, GINT_TO_POINTER(unit));

    if (!fight) {
        fight = g_new0(Fight, 1);
        g_hash_table_insert(backoff->fights, GINT_TO_POINTER(unit), fight);
    }
    fight->pause =
        fight->pause && now - fight->until < FORGOTTEN_AFTER ? MIN(2 * fight->pause, LAST_PAUSE) : FIRST_PAUSE;
    fight->until = now + fight->pause * G_USEC_PER_SEC;
    return fight->pause;
}

/* It still was as we had set it: a NIC went down and came up, and no other program set anything. */
static gboolean is_ours_alone(IbhBackoff *backoff, const IbhOp *op)
{
    g_autofree char *key = NULL;
    gpointer last;
    gboolean same;

    if (op->type != IBH_OP_SYSCTL_SET)
        return FALSE;
    key = g_strdup_printf("%s %s", op->iface, ibh_sysctl_name(op->key));
    same = g_hash_table_lookup_extended(backoff->set, key, NULL, &last) && GPOINTER_TO_INT(last) == op->from;
    g_hash_table_insert(backoff->set, g_steal_pointer(&key), GINT_TO_POINTER(op->to));
    return same;
}

int ibh_backoff_note(IbhBackoff *backoff, const IbhOp *op, gboolean contested, gint64 now)
{
    g_autofree char *command = NULL;
    Repeats *repeats;

    if (is_ours_alone(backoff, op) || !contested || !op->unit || op->type == IBH_OP_ANNOUNCE ||
        op->type == IBH_OP_NEIGH_DEL)
        return 0;
    g_hash_table_foreach_remove(backoff->repeats, is_over, &now);
    command = ibh_op_command(op);
    repeats = g_hash_table_lookup(backoff->repeats, command);
    if (!repeats) {
        repeats = g_new0(Repeats, 1);
        repeats->first = now;
        g_hash_table_insert(backoff->repeats, g_steal_pointer(&command), repeats);
    }
    if (++repeats->count < TIMES)
        return 0;
    g_hash_table_remove_all(backoff->repeats);
    return start_fight(backoff, op->unit, now);
}

GArray *ibh_backoff_units(IbhBackoff *backoff, gint64 now)
{
    GArray *units = g_array_new(FALSE, FALSE, sizeof(int));
    GHashTableIter iter;
    gpointer unit, value;

    g_hash_table_iter_init(&iter, backoff->fights);
    while (g_hash_table_iter_next(&iter, &unit, &value)) {
        int number = GPOINTER_TO_INT(unit);

        if (((const Fight *)value)->until > now)
            g_array_append_val(units, number);
    }
    return units;
}

gint64 ibh_backoff_next(const IbhBackoff *backoff, gint64 now)
{
    gint64 next = -1;
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, backoff->fights);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        gint64 until = ((const Fight *)value)->until;

        if (until > now && (next < 0 || until < next))
            next = until;
    }
    return next;
}
