/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/model.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* ---- sysctls ---- */

static const char *const sysctl_names[IBH_N_SYSCTLS] = {
    [IBH_SYSCTL_RP_FILTER] = "rp_filter",
    [IBH_SYSCTL_ARP_FILTER] = "arp_filter",
    [IBH_SYSCTL_ARP_ANNOUNCE] = "arp_announce",
    [IBH_SYSCTL_ARP_IGNORE] = "arp_ignore",
};

const char *ibh_sysctl_name(IbhSysctl key)
{
    return sysctl_names[key];
}

gboolean ibh_sysctl_parse(const char *name, IbhSysctl *ret_key)
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        if (g_str_equal(name, sysctl_names[key])) {
            *ret_key = (IbhSysctl)key;
            return TRUE;
        }
    }
    return FALSE;
}

int ibh_sysctl_effective(const IbhSnapshot *snapshot, IbhSysctl key, int own)
{
    const int all = snapshot->all[key];

    return key == IBH_SYSCTL_ARP_FILTER ? own || all : MAX(own, all);
}

gboolean ibh_arp_ignore_silences(int value)
{
    return value == 1 || value == 2 || value == 8;
}

/* ---- links and addresses ---- */

gboolean ibh_iface_name_is_valid(const char *name)
{
    return name[0] && strlen(name) < IFNAMSIZ && !strpbrk(name, "/: \t\n\v\f\r") && !g_str_equal(name, ".") &&
           !g_str_equal(name, "..");
}

gboolean ibh_iface_name_has_sysctls(const char *name)
{
    return !g_str_equal(name, "all") && !g_str_equal(name, "default");
}

gboolean ibh_link_is_of_the_host(const IbhLink *link)
{
    return (link->flags & (IFF_LOOPBACK | IFF_POINTOPOINT)) || g_str_equal(link->kind, "dummy");
}

/* A NIC may have the address of a multicast group: with "autojoin", the kernel joins the group. */
gboolean ibh_address_counts(const IbhAddress *address)
{
    const guint8 first = address->local.bytes[0];

    if (address->local.family == AF_INET)
        return address->scope < RT_SCOPE_HOST && (first & 0xf0) != 0xe0;
    return address->scope == RT_SCOPE_UNIVERSE && !address->tentative && first != 0xff;
}

gboolean ibh_address_is_host(const IbhAddress *address)
{
    return address->subnet.length == ibh_ip_bits(&address->local) && ibh_ip_equal(&address->subnet.ip, &address->local);
}

/* ---- rules ---- */

int ibh_rule_compare(const IbhRule *a, const IbhRule *b)
{
    IBH_COMPARE_MEMBER(a, b, family);
    IBH_COMPARE_MEMBER(a, b, priority);
    IBH_COMPARE(ibh_prefix_compare(&a->from, &b->from), 0);
    IBH_COMPARE(ibh_prefix_compare(&a->to, &b->to), 0);
    IBH_COMPARE_MEMBER(a, b, action);
    IBH_COMPARE_MEMBER(a, b, table);
    IBH_COMPARE_MEMBER(a, b, protocol);
    IBH_COMPARE_MEMBER(a, b, suppress_prefixlength);
    IBH_COMPARE_MEMBER(a, b, suppress_ifgroup);
    IBH_COMPARE_MEMBER(a, b, selectors);
    IBH_COMPARE_MEMBER(a, b, l3mdev);
    IBH_COMPARE_MEMBER(a, b, realms);
    return 0;
}

/* TRUE for our mark, unless the rule has an action or attribute that only rules of other programs have. */
static gboolean is_marked(const IbhRule *rule)
{
    return rule->suppress_ifgroup == IBH_MARK && rule->action == FR_ACT_TO_TBL && !rule->l3mdev && !rule->realms &&
           rule->selectors == (rule->to.length ? IBH_SELECT_TO : 0u);
}

/* "from 0.0.0.0/32" matches packets of sockets that are not bound to an address. These rules come in pairs, too: the
 * first rule leads to main, the second to the table of main=spread. */
gboolean ibh_rule_is_spread(const IbhRule *rule)
{
    static const IbhPrefix unbound = {{.family = AF_INET}, 32};

    return is_marked(rule) && rule->to.length && ibh_prefix_equal(&rule->from, &unbound) &&
           (rule->table == IBH_TABLE_SPREAD || rule->table == IBH_TABLE_MAIN);
}

gboolean ibh_rule_asks_main(const IbhRule *rule)
{
    return rule->table == IBH_TABLE_MAIN && rule->suppress_prefixlength >= 0;
}

/* In our rule to the main table, suppress_prefixlength is the length of `to`: the kernel then ignores main's routes
 * whose prefix is that long or shorter. Our rule to T or D has no suppress_prefixlength (-1). */
gboolean ibh_rule_is_ours(const IbhRule *rule)
{
    const gint64 expected = rule->table == IBH_TABLE_MAIN ? (gint64)rule->to.length : -1;

    if (ibh_rule_is_spread(rule))
        return TRUE;
    return is_marked(rule) && rule->from.length == ibh_ip_bits(&rule->from.ip) &&
           rule->suppress_prefixlength == expected;
}

/* ---- state and snapshot ---- */

IbhState *ibh_state_new(void)
{
    IbhState *state = g_new(IbhState, 1);

    *state = (IbhState){
        .sysctls = IBH_NEW_ARRAY(IbhSavedSysctl),
        .holds = g_ptr_array_new_with_free_func(g_free),
        .kept = g_ptr_array_new_with_free_func(g_free),
        .rails = IBH_NEW_ARRAY(IbhSavedRail),
        .known = IBH_NEW_ARRAY(IbhKnownRail),
    };
    return state;
}

void ibh_state_free(IbhState *state)
{
    if (!state)
        return;
    g_array_unref(state->sysctls);
    g_ptr_array_unref(state->holds);
    g_ptr_array_unref(state->kept);
    g_array_unref(state->rails);
    g_array_unref(state->known);
    g_free(state->config);
    g_free(state);
}

IbhSnapshot *ibh_snapshot_new(void)
{
    IbhSnapshot *snapshot = g_new(IbhSnapshot, 1);

    *snapshot = (IbhSnapshot){
        .links = IBH_NEW_ARRAY(IbhLink),
        .places = g_hash_table_new(NULL, NULL),
        .addresses = IBH_NEW_ARRAY(IbhAddress),
        .rules = IBH_NEW_ARRAY(IbhRule),
        .routes = IBH_NEW_ARRAY(IbhRoute),
        .main_by_nic = IBH_NEW_ARRAY(IbhRoute),
        .main_to_subnets = IBH_NEW_ARRAY(IbhRoute),
        .local = IBH_NEW_ARRAY(IbhPrefix),
        .neighbours = IBH_NEW_ARRAY(IbhNeighbour),
        .state = ibh_state_new(),
    };
    return snapshot;
}

void ibh_snapshot_free(IbhSnapshot *snapshot)
{
    if (!snapshot)
        return;
    g_array_unref(snapshot->links);
    g_hash_table_unref(snapshot->places);
    g_array_unref(snapshot->addresses);
    g_array_unref(snapshot->rules);
    g_array_unref(snapshot->routes);
    g_array_unref(snapshot->main_by_nic);
    g_array_unref(snapshot->main_to_subnets);
    g_array_unref(snapshot->local);
    g_array_unref(snapshot->neighbours);
    ibh_state_free(snapshot->state);
    g_free(snapshot);
}

const IbhLink *ibh_snapshot_link(const IbhSnapshot *snapshot, int ifindex)
{
    guint place;

    /* Index the links that were added since the last call. */
    for (guint i = g_hash_table_size(snapshot->places); i < snapshot->links->len; i++)
        g_hash_table_insert(snapshot->places, GINT_TO_POINTER(g_array_index(snapshot->links, IbhLink, i).ifindex),
                            GUINT_TO_POINTER(i + 1));
    place = GPOINTER_TO_UINT(g_hash_table_lookup(snapshot->places, GINT_TO_POINTER(ifindex)));
    return place ? &g_array_index(snapshot->links, IbhLink, place - 1) : NULL;
}

const IbhLink *ibh_snapshot_link_by_name(const IbhSnapshot *snapshot, const char *name)
{
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (g_str_equal(link->name, name))
            return link;
    }
    return NULL;
}

/* ---- texts ---- */

char *ibh_text_shell_word(const char *word)
{
    for (const char *at = word; *at; at++) {
        if (!g_ascii_isalnum(*at) && !strchr("._:@%+=/-", *at))
            return g_shell_quote(word);
    }
    return g_strdup(word);
}

gboolean ibh_char_is_printable(gunichar c)
{
    const GUnicodeType type = g_unichar_type(c);

    return g_unichar_isprint(c) && type != G_UNICODE_LINE_SEPARATOR && type != G_UNICODE_PARAGRAPH_SEPARATOR;
}

char *ibh_text_printable(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *out = g_string_new(NULL);

    for (char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        g_string_append_unichar(out, ibh_char_is_printable(c) ? c : '?');
    }
    return g_string_free(out, FALSE);
}

const char *ibh_errno_text(int number)
{
    if (number == EMFILE || number == ENFILE)
        return "Too many open files: raise the limit of the program that calls ib-hook (ulimit -n, LimitNOFILE=), or "
               "this host's (the sysctl fs.file-max)";
    return number == EROFS ? "Read-only file system: make it writable" : strerror(number);
}
