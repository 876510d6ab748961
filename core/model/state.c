/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/operation.h"

#include <linux/if_arp.h>
#include <stdio.h>
#include <string.h>

#define HEADER                                                                                                         \
    "# ib-hook: old sysctl values (iface ifindex hardware key old set), interfaces that --undo left alone (hold) or "  \
    "that stay as they are (keep), rails (iface ifindex table explicit|auto), known hardware (iface port slot "        \
    "hardware since addresses), the configuration in force, whether it is private, whether the hardware known in "     \
    "earlier boots is recalled"

#define PRIVATE "private"

#define KNOWN_MAX 1024 /* more hardware than a host has */
#define GUID_LEN 8 /* an IPoIB address ends with the port GUID; the bytes before it (flags, QPN, prefix) can change */

/* ---- the hardware of a link ---- */

/* Runs for each known rail and each link, so it avoids printf. */
void ibh_link_name_hardware(const IbhLink *link, char text[IBH_HARDWARE_LEN])
{
    static const char digits[] = "0123456789abcdef";
    const guint first =
        link->type == ARPHRD_INFINIBAND && link->lladdr_len > GUID_LEN ? link->lladdr_len - GUID_LEN : 0;

    g_strlcpy(text, "-", IBH_HARDWARE_LEN);
    for (guint i = first; i < link->lladdr_len; i++) {
        *text++ = digits[link->lladdr[i] >> 4];
        *text++ = digits[link->lladdr[i] & 15];
        *text++ = i + 1 < link->lladdr_len ? ':' : '\0';
    }
}

gboolean ibh_link_has_hardware(const IbhLink *link, const char *hardware)
{
    char own[IBH_HARDWARE_LEN];

    ibh_link_name_hardware(link, own);
    return link->lladdr_len && g_str_equal(own, hardware);
}

/* ---- from text ---- */

/* The word before each line of the configuration in force. Without configuration files, the state has one such line,
 * with nothing after the word. */
#define CONFIG_LINE "config "

/* Adds what a line says about this interface; nothing if the line is malformed or of another kind. */
static void parse_entry(IbhState *state, const char *iface, const char *line)
{
    IbhSavedSysctl saved = {.ifindex = 0};
    IbhSavedRail rail = {.ifindex = 0};
    IbhKnownRail known = {.since = 0};
    char word[32], list[512], *rest = NULL;

    if (g_str_has_prefix(line, "hold "))
        ibh_state_hold(state, iface);
    if (g_str_has_prefix(line, "keep "))
        ibh_state_keep(state, iface);
    if (sscanf(line, "sysctl %15s %d %95s %31s %d %d", saved.iface, &saved.ifindex, saved.hardware, word, &saved.old,
               &saved.set) == 6 &&
        saved.ifindex > 0 && ibh_sysctl_parse(word, &saved.key))
        g_array_append_val(state->sysctls, saved);
    if (sscanf(line, "rail %15s %d %u %8s", rail.iface, &rail.ifindex, &rail.table, word) == 4 && rail.ifindex > 0 &&
        rail.table) {
        rail.is_explicit = g_str_equal(word, "explicit");
        if (rail.is_explicit || g_str_equal(word, "auto"))
            g_array_append_val(state->rails, rail);
    }
    if (state->known->len < KNOWN_MAX &&
        sscanf(line, "known %15s %71s %39s %95s %" G_GINT64_FORMAT " %511s", known.iface, known.port, known.slot,
               known.hardware, &known.since, list) == 6 &&
        known.since >= 0) {
        for (char *ip = strtok_r(list, ",", &rest); ip && known.n_addresses < IBH_KNOWN_ADDRESSES;
             ip = strtok_r(NULL, ",", &rest)) {
            if (ibh_ip_parse(ip, &known.addresses[known.n_addresses]))
                known.n_addresses++;
        }
        g_array_append_val(state->known, known);
    }
}

IbhState *ibh_state_parse(const char *text, gsize length)
{
    g_autofree char *copy = g_strndup(text, length);
    g_auto(GStrv) lines = g_strsplit(copy, "\n", -1);
    IbhState *state = ibh_state_new();
    GString *config = NULL;
    char iface[IFNAMSIZ];

    for (char **line = lines; *line; line++) {
        if (sscanf(*line, "%*[a-z] %15s", iface) == 1 && ibh_iface_name_is_valid(iface))
            parse_entry(state, iface, *line);
        state->recalled |= g_str_equal(*line, IBH_STATE_RECALLED);
        state->is_private |= g_str_equal(*line, PRIVATE);
        if (g_str_has_prefix(*line, CONFIG_LINE)) {
            config = config ? g_string_append_c(config, '\n') : g_string_new(NULL);
            g_string_append(config, *line + strlen(CONFIG_LINE));
        }
    }
    state->config = config ? g_string_free(config, FALSE) : NULL;
    return state;
}

/* ---- to text ---- */

char *ibh_state_format(const IbhState *state)
{
    GString *text = g_string_new(HEADER "\n");

    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls) {
        g_string_append_printf(text, "sysctl %s %d %s %s %d %d\n", saved->iface, saved->ifindex, saved->hardware,
                               ibh_sysctl_name(saved->key), saved->old, saved->set);
    }
    IBH_EACH_POINTER (const char, iface, state->holds)
        g_string_append_printf(text, "hold %s\n", iface);
    IBH_EACH_POINTER (const char, iface, state->kept)
        g_string_append_printf(text, "keep %s\n", iface);
    IBH_EACH (const IbhSavedRail, saved, state->rails)
        g_string_append_printf(text, "rail %s %d %u %s\n", saved->iface, saved->ifindex, saved->table,
                               saved->is_explicit ? "explicit" : "auto");
    if (state->config) {
        g_auto(GStrv) lines = g_strsplit(state->config, "\n", -1);
        g_autofree char *joined = g_strjoinv("\n" CONFIG_LINE, lines);

        g_string_append_printf(text, CONFIG_LINE "%s\n%s", joined, state->is_private ? PRIVATE "\n" : "");
    }
    if (state->recalled)
        g_string_append(text, IBH_STATE_RECALLED "\n");
    /* The known rails come last: host/store.c writes all lines from the first "known" on into the rails file. */
    IBH_EACH (const IbhKnownRail, known, state->known) {
        char ip[IBH_IP_STRLEN];

        g_string_append_printf(text, "known %s %s %s %s %" G_GINT64_FORMAT " ", known->iface, known->port, known->slot,
                               known->hardware, known->since);
        for (guint i = 0; i < known->n_addresses; i++)
            g_string_append_printf(text, "%s%s", i ? "," : "", ibh_ip_format(&known->addresses[i], ip));
        g_string_append(text, known->n_addresses ? "\n" : "-\n"); /* parse_entry() needs a word */
    }
    return g_string_free(text, FALSE);
}

IbhState *ibh_state_copy(const IbhState *state)
{
    IbhState *copy = ibh_state_new();

    g_array_append_vals(copy->sysctls, state->sysctls->data, state->sysctls->len);
    IBH_EACH_POINTER (const char, iface, state->holds)
        ibh_state_hold(copy, iface);
    IBH_EACH_POINTER (const char, iface, state->kept)
        ibh_state_keep(copy, iface);
    g_array_append_vals(copy->rails, state->rails->data, state->rails->len);
    g_array_append_vals(copy->known, state->known->data, state->known->len);
    ibh_state_set_config(copy, state->config, state->is_private);
    copy->recalled = state->recalled;
    return copy;
}

/* ---- sysctls ---- */

void ibh_state_remember(IbhState *state, const GPtrArray *ops, gboolean done)
{
    IBH_EACH_POINTER (const IbhOp, op, ops) {
        IbhSavedSysctl new = {.ifindex = op->ifindex, .hardware = "-", .key = op->key, .old = op->from, .set = op->to};

        if (op->type != IBH_OP_SYSCTL_SET)
            continue;
        g_strlcpy(new.iface, op->iface, sizeof new.iface); /* ibh_state_match_links() fills in the hardware */
        /* If the current value is ours, the administrator's value is the one that we saved with it. */
        IBH_EACH_BACK (const IbhSavedSysctl, saved, state->sysctls) {
            if (saved->ifindex != op->ifindex || saved->key != op->key)
                continue;
            if (saved->set == op->from)
                new.old = saved->old;
            if (done || saved->set == op->to)
                IBH_REMOVE(IbhSavedSysctl, saved, state->sysctls);
        }
        if (new.old != new.set)
            g_array_append_val(state->sysctls, new);
    }
}

/* A netdev keeps its index while it is in a namespace, and a new netdev starts with the kernel's defaults, even on the
 * same hardware. But the kernel may reuse an index, so the name or the hardware address has to match as well. We do not
 * ask for both, because each may change alone: a NIC is renamed, its MAC is set, a bond over InfiniBand takes the
 * address of its new active port. */
void ibh_state_match_links(IbhState *state, const IbhSnapshot *snapshot)
{
    IBH_EACH_BACK (IbhSavedSysctl, saved, state->sysctls) {
        const IbhLink *link = ibh_snapshot_link(snapshot, saved->ifindex);

        if (!link || (!g_str_equal(saved->iface, link->name) && !ibh_link_has_hardware(link, saved->hardware))) {
            IBH_REMOVE(IbhSavedSysctl, saved, state->sysctls);
            continue;
        }
        g_strlcpy(saved->iface, link->name, sizeof saved->iface);
        ibh_link_name_hardware(link, saved->hardware);
    }
}

void ibh_state_set_config(IbhState *state, const char *text, gboolean is_private)
{
    g_free(state->config);
    state->config = g_strdup(text);
    state->is_private = is_private;
}

/* ---- held and kept NICs ---- */

/* Removes a name, or all names if `iface` is NULL. */
static void remove_name(GPtrArray *names, const char *iface)
{
    for (guint i = names->len; i-- > 0;) {
        if (!iface || g_str_equal(g_ptr_array_index(names, i), iface))
            g_ptr_array_remove_index(names, i);
    }
}

static void move_name(GPtrArray *from, GPtrArray *to, const char *iface)
{
    remove_name(from, iface);
    if (!ibh_names_have(to, iface))
        g_ptr_array_add(to, g_strdup(iface));
}

void ibh_state_hold(IbhState *state, const char *iface)
{
    move_name(state->kept, state->holds, iface);
}

void ibh_state_keep(IbhState *state, const char *iface)
{
    move_name(state->holds, state->kept, iface);
}

void ibh_state_lift(IbhState *state, const char *iface)
{
    remove_name(state->holds, iface);
    remove_name(state->kept, iface);
}
