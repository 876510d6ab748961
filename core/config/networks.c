/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/networks.h"

#include <sys/socket.h>

/* Of a host: not 0.0.0.0 or ::, not of this host alone, not of a group. */
static gboolean is_of_a_host(const IbhIp *ip)
{
    const IbhPrefix none[] = {
        {.ip = {.family = AF_INET}, .length = 8},
        {.ip = {.family = AF_INET, .bytes = {127}}, .length = 8},
        {.ip = {.family = AF_INET, .bytes = {224}}, .length = 3}, /* multicast, reserved, broadcast */
        {.ip = {.family = AF_INET6}, .length = 127},
        {.ip = {.family = AF_INET6, .bytes = {0xff}}, .length = 8},
    };

    for (guint i = 0; i < G_N_ELEMENTS(none); i++) {
        if (ibh_prefix_contains(&none[i], ip))
            return FALSE;
    }
    return TRUE;
}

gboolean ibh_networks_is_gateway(const char *text, char **ret_reason)
{
    IbhIp ip;

    if (!ibh_ip_parse(text, &ip))
        return FALSE;
    if (is_of_a_host(&ip))
        return TRUE;
    *ret_reason = g_strdup("no host can have this address");
    return FALSE;
}

#define REMOTE_MAX 64

GArray *ibh_networks_parse(const char *text, char **ret_reason)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    g_autoptr(GArray) list = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));

    for (char **word = words; *word; word++) {
        IbhPrefix prefix;

        if (!ibh_prefix_parse(g_strstrip(*word), &prefix))
            return NULL;
        if (prefix.length == 0)
            *ret_reason = g_strdup("a prefix of length 0 is everything: use gateway= for that");
        else if (ibh_ip_is_link_local(&prefix.ip) || !is_of_a_host(&prefix.ip))
            *ret_reason = g_strdup_printf("%s is reached by no gateway", *word);
        else if (list->len == REMOTE_MAX)
            *ret_reason = g_strdup_printf("more than %d prefixes", REMOTE_MAX);
        if (*ret_reason)
            return NULL;
        g_array_append_val(list, prefix);
    }
    return g_steal_pointer(&list);
}
