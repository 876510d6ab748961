/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include "plan/known.h"

#include <string.h>

/* A link that trains again, a DHCP server that takes its time: no fault yet. */
#define WHILE (10 * G_USEC_PER_SEC)

typedef struct {
    IbhMissed missed;
    gint64 since;
    gboolean said;
} Entry;

static void say(const IbhMissed *missed)
{
    char ip[IBH_IP_STRLEN];
    g_autofree char *was = missed->known.n_addresses
                               ? g_strdup_printf("a rail with %s", ibh_ip_format(&missed->known.addresses[0].ip, ip))
                               : g_strdup("to be a rail (manage=yes)");
    g_autofree char *text =
        g_strdup_printf("%s is missing: it was %s, and %s", missed->known.iface, was, ibh_missing_text(missed->why));

    ibh_log_lines(LOG_WARNING, text);
}

void ibh_missing_say(const GArray *missed)
{
    IBH_EACH (const IbhMissed, one, missed) {
        if (ibh_is_fault(one->why))
            say(one);
    }
}

static const Entry *find_entry(const GArray *entries, const Entry *like)
{
    IBH_EACH (const Entry, entry, entries) {
        if (g_str_equal(entry->missed.known.hardware, like->missed.known.hardware))
            return entry;
    }
    return NULL;
}

/* Those of before that are missing no more. */
static void say_ends(const GArray *before, const GArray *now)
{
    IBH_EACH (const Entry, entry, before) {
        g_autofree char *text = g_strdup_printf("%s is missing no more", entry->missed.known.iface);

        if (entry->said && !find_entry(now, entry))
            ibh_log_lines(LOG_NOTICE, text);
    }
}

gint64 ibh_missing_log(GArray **log, const GArray *missed, gint64 now)
{
    g_autoptr(GArray) before = NULL;
    gint64 next = G_MAXINT64;

    if (!missed)
        return next;
    before = *log ? *log : g_array_new(FALSE, FALSE, sizeof(Entry));
    *log = g_array_new(FALSE, FALSE, sizeof(Entry));
    IBH_EACH (const IbhMissed, one, missed) {
        Entry entry = {.missed = *one, .since = now};
        const Entry *old = find_entry(before, &entry);

        if (!ibh_is_fault(one->why))
            continue;
        entry.since = old ? old->since : now;
        entry.said = (old && old->said) || now - entry.since >= WHILE;
        if (!entry.said)
            next = MIN(next, entry.since + WHILE);
        else if (!old || !old->said)
            say(one);
        g_array_append_val(*log, entry);
    }
    say_ends(before, *log);
    return next;
}
