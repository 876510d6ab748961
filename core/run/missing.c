/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/missing.h"

#include "plan/known.h"
#include "run/journal.h"

#include <string.h>

/* A link that trains again, a DHCP server that takes its time: no fault yet. */
#define WHILE (10 * G_USEC_PER_SEC)

typedef struct {
    gint64 since;
    gboolean said, still;
    char iface[IFNAMSIZ];
} Entry;

struct IbhMissing_ {
    GHashTable *entries; /* the hardware → Entry */
};

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

IbhMissingLog *ibh_missing_log_new(void)
{
    IbhMissingLog *log = g_new0(IbhMissingLog, 1);

    log->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return log;
}

void ibh_missing_log_free(IbhMissingLog *log)
{
    g_hash_table_unref(log->entries);
    g_free(log);
}

static Entry *find_entry(IbhMissingLog *log, const IbhKnownRail *known, gint64 now)
{
    Entry *entry = g_hash_table_lookup(log->entries, known->hardware);

    if (!entry) {
        entry = g_new0(Entry, 1);
        entry->since = now;
        g_hash_table_insert(log->entries, g_strdup(known->hardware), entry);
    }
    g_strlcpy(entry->iface, known->iface, sizeof entry->iface);
    entry->still = TRUE;
    return entry;
}

static void end_others(IbhMissingLog *log)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, log->entries);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Entry *entry = value;

        if (!entry->still) {
            g_autofree char *text = g_strdup_printf("%s is missing no more", entry->iface);

            if (entry->said)
                ibh_log_lines(LOG_NOTICE, text);
            g_hash_table_iter_remove(&iter);
            continue;
        }
        entry->still = FALSE;
    }
}

gint64 ibh_missing_log(IbhMissingLog *log, const GArray *missed, gint64 now)
{
    gint64 next = G_MAXINT64;

    for (guint i = 0; missed && i < missed->len; i++) {
        const IbhMissed *one = &g_array_index(missed, IbhMissed, i);
        Entry *entry = ibh_is_fault(one->why) ? find_entry(log, &one->known, now) : NULL;

        if (!entry || entry->said)
            continue;
        entry->said = now - entry->since >= WHILE;
        if (entry->said)
            say(one);
        else
            next = MIN(next, entry->since + WHILE);
    }
    if (missed)
        end_others(log);
    return next;
}
