/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/state.h"

#include <string.h>
#include <sys/socket.h>

#define HEADER                                                                                                         \
    "# ib-hook: old sysctl values (iface ifindex key old set), interfaces that --undo left alone, rails (iface "       \
    "ifindex table), known hardware (iface port slot hardware since addresses), whether nothing else is left"

#define KNOWN_MAX 1024 /* more hardware than a host has */

static gboolean parse_int(const char *text, gint64 min, gint64 max, int *ret_value)
{
    gint64 value;

    if (!g_ascii_string_to_signed(text, 10, min, max, &value, NULL))
        return FALSE;
    *ret_value = (int)value;
    return TRUE;
}

static void parse_rail(IbhState *state, char **words)
{
    IbhSavedRail saved = {.is_explicit = g_str_equal(words[4], "explicit")};
    guint64 table;

    if (!ibh_is_iface_name(words[1]) || !parse_int(words[2], 1, G_MAXINT, &saved.ifindex) ||
        !g_ascii_string_to_unsigned(words[3], 10, 1, G_MAXUINT32, &table, NULL) ||
        (!saved.is_explicit && !g_str_equal(words[4], "auto")))
        return;
    g_strlcpy(saved.iface, words[1], sizeof saved.iface);
    saved.table = (guint32)table;
    g_array_append_val(state->rails, saved);
}

static void parse_addresses(IbhKnownRail *known, const char *list)
{
    g_auto(GStrv) each = g_strsplit(list, ",", IBH_KNOWN_ADDRESSES + 1);

    for (char **one = each; *one && known->n_addresses < IBH_KNOWN_ADDRESSES; one++) {
        const char *slash = strchr(*one, '/');
        IbhPrefix subnet;

        if (!slash || !ibh_prefix_parse(*one, &subnet))
            continue;
        *strchr(*one, '/') = '\0';
        known->addresses[known->n_addresses].length = (guint8)subnet.length;
        if (ibh_ip_parse(*one, &known->addresses[known->n_addresses].ip))
            known->n_addresses++;
    }
}

static gboolean take_word(char *place, gsize size, const char *word)
{
    return word[0] && g_strlcpy(place, word, size) < size;
}

static void parse_known(IbhState *state, char **words)
{
    IbhKnownRail known = {.since = 0};

    if (!ibh_is_iface_name(words[1]) || !take_word(known.iface, sizeof known.iface, words[1]) ||
        !take_word(known.port, sizeof known.port, words[2]) || !take_word(known.slot, sizeof known.slot, words[3]) ||
        !take_word(known.hardware, sizeof known.hardware, words[4]) ||
        !g_ascii_string_to_signed(words[5], 10, 0, G_MAXINT64, &known.since, NULL))
        return;
    parse_addresses(&known, words[6]);
    if (state->known->len < KNOWN_MAX)
        g_array_append_val(state->known, known);
}

static void parse_line(IbhState *state, char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", 8);
    guint n = g_strv_length(words);
    IbhSavedSysctl saved = {.ifindex = 0};

    if (n == 5 && g_str_equal(words[0], "rail")) {
        parse_rail(state, words);
    } else if (n == 7 && g_str_equal(words[0], "known")) {
        parse_known(state, words);
    } else if (n == 1 && g_str_equal(words[0], "recalled")) {
        state->recalled = TRUE;
    } else if (n == 1 && g_str_equal(words[0], "whole")) {
        state->whole = TRUE;
    } else if (n == 2 && g_str_equal(words[0], "hold") && ibh_is_iface_name(words[1])) {
        ibh_state_hold(state, words[1]);
    } else if (n == 6 && g_str_equal(words[0], "sysctl") && ibh_is_iface_name(words[1]) &&
               parse_int(words[2], 1, G_MAXINT, &saved.ifindex) && ibh_sysctl_parse(words[3], &saved.key) &&
               parse_int(words[4], G_MININT, G_MAXINT, &saved.old) &&
               parse_int(words[5], G_MININT, G_MAXINT, &saved.set)) {
        g_strlcpy(saved.iface, words[1], sizeof saved.iface);
        g_array_append_val(state->sysctls, saved);
    }
}

IbhState *ibh_state_parse(const char *text, gsize length)
{
    g_autofree char *copy = g_strndup(text, length);
    g_auto(GStrv) lines = g_strsplit(copy, "\n", -1);
    IbhState *state = ibh_state_new();

    for (char **line = lines; *line; line++)
        parse_line(state, *line);
    return state;
}

void ibh_state_format_known(const IbhState *state, GString *text)
{
    IBH_EACH (const IbhKnownRail, known, state->known) {
        char ip[IBH_IP_STRLEN];

        g_string_append_printf(text, "known %s %s %s %s %" G_GINT64_FORMAT " ", known->iface, known->port, known->slot,
                               known->hardware, known->since);
        for (guint i = 0; i < known->n_addresses; i++)
            g_string_append_printf(text, "%s%s/%d", i ? "," : "", ibh_ip_format(&known->addresses[i].ip, ip),
                                   known->addresses[i].length);
        g_string_append(text, known->n_addresses ? "\n" : "-\n");
    }
}

char *ibh_state_format(const IbhState *state)
{
    GString *text = g_string_new(HEADER "\n");

    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls) {
        g_string_append_printf(text, "sysctl %s %d %s %d %d\n", saved->iface, saved->ifindex,
                               ibh_sysctl_name(saved->key), saved->old, saved->set);
    }
    IBH_EACH_POINTER (const char, iface, state->holds)
        g_string_append_printf(text, "hold %s\n", iface);
    IBH_EACH (const IbhSavedRail, saved, state->rails)
        g_string_append_printf(text, "rail %s %d %u %s\n", saved->iface, saved->ifindex, saved->table,
                               saved->is_explicit ? "explicit" : "auto");
    ibh_state_format_known(state, text);
    if (state->recalled)
        g_string_append(text, "recalled\n");
    if (state->whole)
        g_string_append(text, "whole\n");
    return g_string_free(text, FALSE);
}

IbhState *ibh_state_copy(const IbhState *state)
{
    IbhState *copy = ibh_state_new();

    g_array_append_vals(copy->sysctls, state->sysctls->data, state->sysctls->len);
    IBH_EACH_POINTER (const char, iface, state->holds)
        ibh_state_hold(copy, iface);
    ibh_state_set_rails(copy, state->rails);
    g_array_append_vals(copy->known, state->known->data, state->known->len);
    copy->recalled = state->recalled;
    copy->whole = state->whole;
    return copy;
}

static gboolean equal_sysctls(const GArray *a, const GArray *b)
{
    gboolean equal = a->len == b->len;

    for (guint i = 0; equal && i < a->len; i++) {
        const IbhSavedSysctl *one = &g_array_index(a, IbhSavedSysctl, i), *other = &g_array_index(b, IbhSavedSysctl, i);

        equal = g_str_equal(one->iface, other->iface) && one->ifindex == other->ifindex && one->key == other->key &&
                one->old == other->old && one->set == other->set;
    }
    return equal;
}

static gboolean equal_rails(const GArray *a, const GArray *b)
{
    gboolean equal = a->len == b->len;

    for (guint i = 0; equal && i < a->len; i++) {
        const IbhSavedRail *one = &g_array_index(a, IbhSavedRail, i), *other = &g_array_index(b, IbhSavedRail, i);

        equal = g_str_equal(one->iface, other->iface) && one->ifindex == other->ifindex && one->table == other->table &&
                one->is_explicit == other->is_explicit;
    }
    return equal;
}

gboolean ibh_known_equal(const IbhKnownRail *a, const IbhKnownRail *b)
{
    gboolean equal = g_str_equal(a->iface, b->iface) && g_str_equal(a->port, b->port) &&
                     g_str_equal(a->hardware, b->hardware) && a->n_addresses == b->n_addresses;

    for (guint i = 0; equal && i < a->n_addresses; i++)
        equal =
            a->addresses[i].length == b->addresses[i].length && ibh_ip_equal(&a->addresses[i].ip, &b->addresses[i].ip);
    return equal;
}

gboolean ibh_state_knows_the_same(const IbhState *a, const IbhState *b)
{
    gboolean equal = a->known->len == b->known->len;

    for (guint i = 0; equal && i < a->known->len; i++)
        equal = ibh_known_equal(&g_array_index(a->known, IbhKnownRail, i), &g_array_index(b->known, IbhKnownRail, i));
    return equal;
}

static gboolean missing_alike(const GArray *a, const GArray *b)
{
    gboolean equal = a->len == b->len;

    for (guint i = 0; equal && i < a->len; i++)
        equal = g_array_index(a, IbhKnownRail, i).since == g_array_index(b, IbhKnownRail, i).since;
    return equal;
}

gboolean ibh_state_equal(const IbhState *a, const IbhState *b)
{
    gboolean equal = equal_sysctls(a->sysctls, b->sysctls) && equal_rails(a->rails, b->rails) &&
                     a->holds->len == b->holds->len && a->whole == b->whole && a->recalled == b->recalled &&
                     ibh_state_knows_the_same(a, b) && missing_alike(a->known, b->known);

    for (guint i = 0; equal && i < a->holds->len; i++)
        equal = g_str_equal(g_ptr_array_index(a->holds, i), g_ptr_array_index(b->holds, i));
    return equal;
}

/* ---- sysctls ---- */

/* The administrator's value of a sysctl that has `value` now. */
static int old_of(const IbhState *state, const IbhOp *op, int value)
{
    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls) {
        if (saved->ifindex == op->ifindex && saved->key == op->key && saved->set == value)
            return saved->old;
    }
    return value;
}

/* Drops the saved values of this sysctl of the NIC: all, or only those for which `value` was set. */
static void forget(IbhState *state, const IbhOp *op, gboolean all, int value)
{
    IBH_EACH_BACK (const IbhSavedSysctl, saved, state->sysctls) {
        if (saved->ifindex == op->ifindex && saved->key == op->key && (all || saved->set == value))
            IBH_REMOVE(IbhSavedSysctl, saved, state->sysctls);
    }
}

static gpointer key_of(int ifindex, IbhSysctl key)
{
    return GSIZE_TO_POINTER((gsize)ifindex * IBH_N_SYSCTLS + (gsize)key);
}

/* The sysctls with a saved value: of hundreds of rails, most have none yet, and need no search. */
static GHashTable *saved_keys(const IbhState *state)
{
    GHashTable *keys = g_hash_table_new(NULL, NULL);

    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls)
        g_hash_table_add(keys, key_of(saved->ifindex, saved->key));
    return keys;
}

void ibh_state_remember(IbhState *state, const GPtrArray *ops, gboolean done)
{
    g_autoptr(GHashTable) saved_before = saved_keys(state);

    IBH_EACH_POINTER (const IbhOp, op, ops) {
        IbhSavedSysctl saved = {.ifindex = op->ifindex, .key = op->key, .set = op->to};

        if (op->type != IBH_OP_SYSCTL_SET)
            continue;
        g_strlcpy(saved.iface, op->iface, sizeof saved.iface);
        saved.old = op->from;
        if (!g_hash_table_add(saved_before, key_of(op->ifindex, op->key))) {
            saved.old = old_of(state, op, op->from);
            forget(state, op, done, op->to);
        }
        if (saved.old != saved.set)
            g_array_append_val(state->sysctls, saved);
    }
}

/* ---- rails ---- */

void ibh_state_set_rails(IbhState *state, const GArray *rails)
{
    g_array_set_size(state->rails, 0);
    if (rails->len)
        g_array_append_vals(state->rails, rails->data, rails->len);
}

/* ---- holds ---- */

void ibh_state_hold(IbhState *state, const char *iface)
{
    if (!ibh_state_is_held(state, iface))
        g_ptr_array_add(state->holds, g_strdup(iface));
}

void ibh_state_lift(IbhState *state, const char *iface)
{
    for (guint i = state->holds->len; i-- > 0;) {
        if (!iface || g_str_equal(g_ptr_array_index(state->holds, i), iface))
            g_ptr_array_remove_index(state->holds, i);
    }
}
