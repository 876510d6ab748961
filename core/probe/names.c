/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of peers, in few words. */
#include "probe/probe.h"

#include <string.h>

/* The one after the other, in the part behind the last dot or colon. */
static gboolean follows(const IbhIp *ip, const IbhIp *before)
{
    const gsize head = ip->family == AF_INET6 ? 14 : 3;
    const guint8 *one = before->bytes + head, *other = ip->bytes + head;

    return ip->family == before->family && memcmp(ip->bytes, before->bytes, head) == 0 &&
           (ip->family == AF_INET6 ? ibh_get16(one) + 1 == ibh_get16(other) : *one + 1 == *other);
}

/* The first `most`, and how many there are beside them: `more`, that have no names, and the other names. */
char *ibh_probe_join_names(const GPtrArray *names, guint most, guint more)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < MIN(names->len, most); i++)
        g_string_append_printf(text, "%s%s", i ? ", " : "", (const char *)names->pdata[i]);
    more += names->len > most ? names->len - most : 0;
    if (more)
        g_string_append_printf(text, " and %u more", more);
    return g_string_free(text, FALSE);
}

char *ibh_probe_name_peers(const GArray *peers, guint most)
{
    const IbhIp *ips = (const IbhIp *)(gconstpointer)peers->data;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    guint more = 0;

    for (guint i = 0, end; i < peers->len; i = end) {
        char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

        for (end = i + 1; end < peers->len && follows(&ips[end], &ips[end - 1]);)
            end++;
        if (names->len == most) {
            more += end - i;
            continue;
        }
        ibh_ip_format(&ips[i], from);
        ibh_ip_format(&ips[end - 1], to);
        g_ptr_array_add(names, g_strconcat(from, end - i > 1 ? "-" : NULL,
                                           strrchr(to, ips[i].family == AF_INET6 ? ':' : '.'), NULL));
    }
    return ibh_probe_join_names(names, most, more);
}
