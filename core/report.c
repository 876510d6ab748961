#include "report.h"

#include "emit.h"
#include "spread.h"

#include <linux/if_arp.h>

/* Names of interfaces may hold anything but blanks and slashes: no terminal and no journal sees what is not printable
 * in them. */
char *ibh_report_clean(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *out = g_string_new(NULL);

    for (char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        g_string_append_unichar(out, g_unichar_isprint(c) ? c : '?');
    }
    return g_string_free(out, FALSE);
}

gboolean ibh_report_lists(const IbhReport *report, const IbhNic *nic, gboolean verbose)
{
    if (report->only)
        return ibh_is_selected(nic, report->only);
    return verbose || nic->rank || nic->link->rdma[0] || nic->link->type == ARPHRD_INFINIBAND;
}

GPtrArray *ibh_report_addresses(const IbhRails *rails, const IbhNic *nic)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    const GArray *addresses = rails->snapshot->addresses;
    char ip[IBH_IP_STRLEN];

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);

        if (address->ifindex == nic->link->ifindex && ibh_address_counts(address))
            g_ptr_array_add(texts,
                            g_strdup_printf("%s/%u", ibh_ip_format(&address->local, ip), address->subnet.length));
    }
    return texts;
}

char *ibh_report_lladdr(const guint8 *lladdr, guint length)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < length; i++)
        g_string_append_printf(text, "%s%02x", i ? ":" : "", lladdr[i]);
    return g_string_free(text, FALSE);
}

const char *ibh_report_main(const IbhRails *rails, const IbhNic *nic)
{
    if (rails->main == IBH_MAIN_REMOVE)
        return "remove";
    return ibh_spread_has(rails, nic) ? "spread" : "keep";
}
