/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/state.h"

#include <string.h>
#include <sys/socket.h>

#define HEADER                                                                                                         \
    "# ib-hook: old sysctl values (iface ifindex key old set), interfaces that --undo left alone, rails (iface "       \
    "ifindex table by device), whether nothing else is left"

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
    IbhSavedRail saved = {.is_explicit = g_str_equal(words[4], "explicit"), .has_device = words[5] != NULL};
    guint64 table;

    if (!ibh_is_iface_name(words[1]) || !parse_int(words[2], 1, G_MAXINT, &saved.ifindex) ||
        !g_ascii_string_to_unsigned(words[3], 10, 1, G_MAXUINT32, &table, NULL) ||
        (!saved.is_explicit && !g_str_equal(words[4], "auto")) || (saved.has_device && !g_str_equal(words[5], "rdma")))
        return;
    g_strlcpy(saved.iface, words[1], sizeof saved.iface);
    saved.table = (guint32)table;
    g_array_append_val(state->rails, saved);
}

static void parse_line(IbhState *state, char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", 8);
    guint n = g_strv_length(words);
    IbhSavedSysctl saved = {.ifindex = 0};

    if ((n == 5 || n == 6) && g_str_equal(words[0], "rail")) {
        parse_rail(state, words);
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
        g_string_append_printf(text, "rail %s %d %u %s%s\n", saved->iface, saved->ifindex, saved->table,
                               saved->is_explicit ? "explicit" : "auto", saved->has_device ? " rdma" : "");
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
                one->is_explicit == other->is_explicit && one->has_device == other->has_device;
    }
    return equal;
}

gboolean ibh_state_equal(const IbhState *a, const IbhState *b)
{
    gboolean equal = equal_sysctls(a->sysctls, b->sysctls) && equal_rails(a->rails, b->rails) &&
                     a->holds->len == b->holds->len && a->whole == b->whole;

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
