/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/window.h"

#include <sys/socket.h>

void ibh_probe_window_init(IbhProbeWindow *window, IbhProbe *probe)
{
    *window = (IbhProbeWindow){.probe = probe};
    window->asked = g_new0(guint, (gsize)probe->count);
}

void ibh_probe_window_clear(IbhProbeWindow *window)
{
    g_clear_pointer(&window->asked, g_free);
}

guint ibh_probe_room(const IbhNeighbourTable *table)
{
    guint limit = table->limit ? table->limit : IBH_PROBE_TABLE;
    guint spared = table->spared && table->spared < limit ? table->spared : limit / 2;

    if (table->used >= limit)
        return 0;
    return table->used < spared ? spared - table->used : (limit - table->used) / 2;
}

static int family_of(const IbhProbeWindow *window, guint pair)
{
    return ibh_probe_family(ibh_probe_peer(window->probe, ibh_probe_pair(window->probe, pair)));
}

static gboolean takes_entry(const IbhProbeWindow *window, guint pair)
{
    const IbhProbePair *of = ibh_probe_pair(window->probe, pair);

    return of->on_link && !of->known_before;
}

/* If the table has no room at all, one entry at a time. */
static gboolean has_room(const IbhProbeWindow *window, guint pair)
{
    int family = family_of(window, pair);

    return !takes_entry(window, pair) || window->room[family] || !window->standing[family];
}

/* When the n-th echo of the next pair is due. FALSE: no pair is waiting for it now. */
static gboolean is_next(const IbhProbeWindow *window, guint number, gint64 now, gint64 *ret_due)
{
    const IbhProbe *probe = window->probe;
    guint pair = window->asked[number];

    if (pair >= (number ? window->asked[number - 1] : probe->pairs->len))
        return FALSE;
    if (!number && !has_room(window, pair))
        return FALSE;
    *ret_due = number ? ibh_probe_echo(probe, pair, number - 1)->sent_at + probe->interval : now;
    return TRUE;
}

gboolean ibh_probe_window_next(const IbhProbeWindow *window, gint64 now, IbhProbeSlot *ret_slot)
{
    gboolean any = FALSE;

    for (guint number = 0; number < (guint)window->probe->count; number++) {
        gint64 due;

        if (!is_next(window, number, now, &due) || (any && due >= ret_slot->due))
            continue;
        any = TRUE;
        *ret_slot = (IbhProbeSlot){.pair = window->asked[number], .number = number, .due = due};
    }
    return any;
}

void ibh_probe_window_take(IbhProbeWindow *window, const IbhProbeSlot *slot, gint64 now)
{
    window->asked[slot->number]++;
    if (!ibh_probe_echo(window->probe, slot->pair, slot->number)->sent)
        ibh_probe_echo(window->probe, slot->pair, slot->number)->sent_at = now;
    if (!slot->number && takes_entry(window, slot->pair)) {
        int family = family_of(window, slot->pair);

        window->standing[family]++;
        window->room[family] -= window->room[family] ? 1 : 0;
    }
}

static gboolean is_over(const IbhProbeWindow *window, guint i, gint64 now)
{
    const IbhProbe *probe = window->probe;
    const IbhProbePair *pair = ibh_probe_pair(probe, i);

    return pair->received >= pair->sent ||
           now >= ibh_probe_echo(probe, i, (guint)probe->count - 1)->sent_at + probe->timeout;
}

void ibh_probe_window_collect(IbhProbeWindow *window, gint64 now, GArray *pairs)
{
    for (guint i = window->oldest; i < window->asked[window->probe->count - 1]; i++) {
        IbhProbePair *pair = ibh_probe_pair(window->probe, i);

        if (pair->is_over || !is_over(window, i, now))
            continue;
        pair->is_over = TRUE;
        g_array_append_val(pairs, i);
    }
    while (window->oldest < window->probe->pairs->len && ibh_probe_pair(window->probe, window->oldest)->is_over)
        window->oldest++;
}

void ibh_probe_window_release(IbhProbeWindow *window, guint pair)
{
    window->standing[family_of(window, pair)] -= takes_entry(window, pair) ? 1 : 0;
}

gboolean ibh_probe_window_is_done(const IbhProbeWindow *window)
{
    return window->oldest == window->probe->pairs->len;
}
