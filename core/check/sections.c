/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds sections of the configuration that match neither an interface nor a missing rail. If the name of such a section
 * is not a glob, also finds the interface that was probably meant.
 */
#include "check/rows.h"

#include <string.h>

#define WORD_MAX 32 /* letters */

/* Computes the Levenshtein distance. Before step j, row[i] is the distance of the first j - 1 letters of `word` from
 * the first i letters of `name`. */
guint ibh_text_count_slips(const char *word, const char *name)
{
    const gsize length = strlen(name);
    guint row[WORD_MAX + 1];

    if (strlen(word) > WORD_MAX || length > WORD_MAX)
        return G_MAXUINT;
    for (guint i = 0; i <= length; i++)
        row[i] = i;
    for (guint j = 1; word[j - 1]; j++) {
        guint diagonal = row[0]; /* in the loop below: row[i - 1] as it was before step j */

        row[0] = j;
        for (guint i = 1; i <= length; i++) {
            const guint replaced = diagonal + (word[j - 1] == name[i - 1] ? 0 : 1);

            diagonal = row[i];
            row[i] = MIN(replaced, MIN(row[i], row[i - 1]) + 1);
        }
    }
    return row[length];
}

/* Returns the interface name that is most similar to `name`. Among equally similar names, returns the first that
 * belongs to a candidate, or the first of all if none does. NULL if no name is similar. A similar name has at most two
 * slips (ibh_text_count_slips()), and at most half as many slips as `name` has letters. */
static const char *find_meant(const IbhRails *rails, const char *name)
{
    /* at first, the most slips that a name may have and still be similar; once `meant` is set, the slips of `meant` */
    guint least = MIN(2, (guint)strlen(name) / 2);
    const char *meant = NULL;
    gboolean means_candidate = FALSE;

    IBH_EACH (const IbhLink, link, rails->snapshot->links) {
        const IbhNic *nic = ibh_rails_nic(rails, link->ifindex);
        const gboolean is_candidate = nic && nic->rank;
        const guint slips = ibh_text_count_slips(name, link->name);

        if (slips > least || (meant && slips == least && (means_candidate || !is_candidate)))
            continue;
        least = slips;
        meant = link->name;
        means_candidate = is_candidate;
    }
    return meant;
}

void ibh_rails_judge_sections(const IbhRails *rails, const IbhConfig *config, const GArray *missed, GPtrArray *findings)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GString) words = g_string_new(NULL);
    IbhSubject about = {.rows = ibh_rows, .findings = findings, .words = words, .iface = ""};

    IBH_EACH_POINTER (const IbhSetting, setting, config->settings) {
        const char *meant = NULL;
        gboolean matches = FALSE;

        if (setting->rank == IBH_RANK_DEFAULTS || !g_hash_table_add(seen, setting->pattern))
            continue; /* skip [defaults]; look at any other section once, although it may have several settings */
        IBH_EACH (const IbhLink, link, rails->snapshot->links)
            matches = matches || ibh_setting_matches(setting, link->name);
        IBH_EACH (const IbhKnownRail, rail, missed) /* the section may be for a NIC that is only missing now */
            matches = matches || ibh_setting_matches(setting, rail->iface);
        if (matches)
            continue;
        if (setting->rank == IBH_RANK_EXACT)
            meant = find_meant(rails, setting->pattern);
        ibh_subject_say(&about, "origin=%s\npattern=%s\nmeant=%s", setting->origin, setting->pattern,
                        meant ? meant : "");
        ibh_subject_ask(&about, meant ? IBH_OF_MISSPELT_SECTION : IBH_OF_SECTION);
    }
}
