/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/operation.h"

#include <linux/if_arp.h>
#include <stdio.h>
#include <string.h>

#define HEADER                                                                                                         \
    "# ib-hook: old sysctl values (iface ifindex hardware key old set), interfaces that --undo left alone (hold) or "  \
    "that stay as they are (keep), rails (iface ifindex table), known hardware (iface port slot hardware since "       \
    "addresses), the configuration in force, whether it is private, whether the hardware known in earlier boots is "   \
    "recalled"

#define PRIVATE "private"

#define KNOWN_MAX 1024 /* more hardware than a host has */
#define GUID_LEN 8     /* the last bytes of an IPoIB address: the others change */

/* ---- the hardware of a link ---- */

/* Called for each known rail and link: no formatting. */
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

static void parse_known(IbhState *state, const char *line)
{
    IbhKnownRail known = {.since = 0};
    char list[512], *rest = NULL;

    if (state->known->len == KNOWN_MAX ||
        sscanf(line, "known %15s %71s %39s %95s %" G_GINT64_FORMAT " %511s", known.iface, known.port, known.slot,
               known.hardware, &known.since, list) != 6)
        return;
    for (char *ip = strtok_r(list, ",", &rest); ip && known.n_addresses < IBH_KNOWN_ADDRESSES;
         ip = strtok_r(NULL, ",", &rest))
        known.n_addresses += ibh_ip_parse(ip, &known.addresses[known.n_addresses]) ? 1 : 0;
    if (ibh_iface_name_is_valid(known.iface) && known.since >= 0)
        g_array_append_val(state->known, known);
}

static void parse_rail(IbhState *state, const char *line)
{
    IbhSavedRail rail = {.ifindex = 0};
    char how[9];

    if (sscanf(line, "rail %15s %d %u %8s", rail.iface, &rail.ifindex, &rail.table, how) != 4)
        return;
    rail.is_explicit = g_str_equal(how, "explicit");
    if (ibh_iface_name_is_valid(rail.iface) && rail.ifindex > 0 && rail.table &&
        (rail.is_explicit || g_str_equal(how, "auto")))
        g_array_append_val(state->rails, rail);
}

static void parse_sysctl(IbhState *state, const char *line)
{
    IbhSavedSysctl saved = {.ifindex = 0};
    char key[32];

    if (sscanf(line, "sysctl %15s %d %95s %31s %d %d", saved.iface, &saved.ifindex, saved.hardware, key, &saved.old,
               &saved.set) == 6 &&
        ibh_iface_name_is_valid(saved.iface) && saved.ifindex > 0 && ibh_sysctl_parse(key, &saved.key))
        g_array_append_val(state->sysctls, saved);
}

/* Each function takes the lines that it knows. */
static void parse_line(IbhState *state, const char *line)
{
    char iface[IFNAMSIZ];

    parse_sysctl(state, line);
    parse_rail(state, line);
    parse_known(state, line);
    if (sscanf(line, "hold %15s", iface) == 1 && ibh_iface_name_is_valid(iface))
        ibh_state_hold(state, iface);
    if (sscanf(line, "keep %15s", iface) == 1 && ibh_iface_name_is_valid(iface))
        ibh_state_keep(state, iface);
    state->recalled |= g_str_equal(line, IBH_STATE_RECALLED);
    state->is_private |= g_str_equal(line, PRIVATE);
}

/* What stands behind "config " in each of these lines, and there is one at least for a configuration without files. */
static char *parse_config(char **lines)
{
    static const char key[] = "config ";
    GString *text = NULL;

    for (; *lines; lines++) {
        if (!g_str_has_prefix(*lines, key))
            continue;
        if (text)
            g_string_append_c(text, '\n');
        else
            text = g_string_new(NULL);
        g_string_append(text, *lines + strlen(key));
    }
    return text ? g_string_free(text, FALSE) : NULL;
}

IbhState *ibh_state_parse(const char *text, gsize length)
{
    g_autofree char *copy = g_strndup(text, length);
    g_auto(GStrv) lines = g_strsplit(copy, "\n", -1);
    IbhState *state = ibh_state_new();

    for (char **line = lines; *line; line++)
        parse_line(state, *line);
    state->config = parse_config(lines);
    return state;
}

/* ---- to text ---- */

static void format_known(const IbhState *state, GString *text)
{
    IBH_EACH (const IbhKnownRail, known, state->known) {
        char ip[IBH_IP_STRLEN];

        g_string_append_printf(text, "known %s %s %s %s %" G_GINT64_FORMAT " ", known->iface, known->port, known->slot,
                               known->hardware, known->since);
        for (guint i = 0; i < known->n_addresses; i++)
            g_string_append_printf(text, "%s%s", i ? "," : "", ibh_ip_format(&known->addresses[i], ip));
        g_string_append(text, known->n_addresses ? "\n" : "-\n");
    }
}

static void format_config(const IbhState *state, GString *text)
{
    g_auto(GStrv) lines = g_strsplit(state->config, "\n", -1);
    g_autofree char *joined = g_strjoinv("\nconfig ", lines);

    g_string_append_printf(text, "config %s\n%s", joined, state->is_private ? PRIVATE "\n" : "");
}

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
    if (state->config)
        format_config(state, text);
    if (state->recalled)
        g_string_append(text, IBH_STATE_RECALLED "\n");
    format_known(state, text); /* the last: host/store.c also keeps them alone */
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

/* The administrator's value of the sysctl that this operation changes. */
static int old_of(const IbhState *state, const IbhOp *op)
{
    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls) {
        if (saved->ifindex == op->ifindex && saved->key == op->key && saved->set == op->from)
            return saved->old;
    }
    return op->from;
}

/* Drops the saved values of this sysctl of the NIC: all, or only those for which its new value was set. */
static void forget(IbhState *state, const IbhOp *op, gboolean all)
{
    IBH_EACH_BACK (const IbhSavedSysctl, saved, state->sysctls) {
        if (saved->ifindex == op->ifindex && saved->key == op->key && (all || saved->set == op->to))
            IBH_REMOVE(IbhSavedSysctl, saved, state->sysctls);
    }
}

void ibh_state_remember(IbhState *state, const GPtrArray *ops, gboolean done)
{
    IBH_EACH_POINTER (const IbhOp, op, ops) {
        IbhSavedSysctl saved = {.ifindex = op->ifindex, .hardware = "-", .key = op->key, .set = op->to};

        if (op->type != IBH_OP_SYSCTL_SET)
            continue;
        g_strlcpy(saved.iface, op->iface, sizeof saved.iface);
        saved.old = old_of(state, op);
        forget(state, op, done);
        if (saved.old != saved.set)
            g_array_append_val(state->sysctls, saved);
    }
}

/* A netdev keeps its index for life, and a new one has values of the kernel's own, even for the same hardware. But an
 * index may be given again: so the name or the hardware must be the same as well. Either may change: a NIC is renamed,
 * an administrator gives it another address, and that of a bond over InfiniBand changes with its active port. */
static gboolean is_of(const IbhSavedSysctl *saved, const IbhLink *link)
{
    return g_str_equal(saved->iface, link->name) || ibh_link_has_hardware(link, saved->hardware);
}

void ibh_state_match_links(IbhState *state, const IbhSnapshot *snapshot)
{
    IBH_EACH_BACK (IbhSavedSysctl, saved, state->sysctls) {
        const IbhLink *link = ibh_snapshot_link(snapshot, saved->ifindex);

        if (!link || !is_of(saved, link)) {
            IBH_REMOVE(IbhSavedSysctl, saved, state->sysctls);
            continue;
        }
        g_strlcpy(saved->iface, link->name, sizeof saved->iface);
        ibh_link_name_hardware(link, saved->hardware);
    }
}

/* ---- the configuration ---- */

void ibh_state_set_config(IbhState *state, const char *text, gboolean is_private)
{
    g_free(state->config);
    state->config = g_strdup(text);
    state->is_private = is_private;
}

/* ---- holds ---- */

static void take_out(GPtrArray *names, const char *iface)
{
    for (guint i = names->len; i-- > 0;) {
        if (!iface || g_str_equal(g_ptr_array_index(names, i), iface))
            g_ptr_array_remove_index(names, i);
    }
}

/* A name is in one of the two lists. */
static void put_in_place(GPtrArray *names, GPtrArray *others, const char *iface)
{
    take_out(others, iface);
    if (!ibh_names_have(names, iface))
        g_ptr_array_add(names, g_strdup(iface));
}

void ibh_state_hold(IbhState *state, const char *iface)
{
    put_in_place(state->holds, state->kept, iface);
}

void ibh_state_keep(IbhState *state, const char *iface)
{
    put_in_place(state->kept, state->holds, iface);
}

void ibh_state_lift(IbhState *state, const char *iface)
{
    take_out(state->holds, iface);
    take_out(state->kept, iface);
}
