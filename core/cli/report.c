/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/report.h"

#include "plan/emit.h"
#include "plan/spread.h"
#include "plan/want.h"

#include <linux/if_arp.h>

char *ibh_report_error(int status, const char *message)
{
    g_auto(GStrv) lines = g_strsplit(message, "\n", -1);
    GString *out = g_string_new(NULL);

    (void)status;
    for (char **line = lines; *line; line++) {
        g_autofree char *text = ibh_printable(*line);

        g_string_append_printf(out, "ib-hook: %s\n", text);
    }
    return g_string_free(out, FALSE);
}

gboolean ibh_report_lists(const IbhReport *report, const IbhNic *nic, gboolean verbose)
{
    if (report->only)
        return ibh_is_selected(nic, report->only);
    return verbose || nic->rank || nic->link->rdma[0] || nic->link->type == ARPHRD_INFINIBAND;
}

GPtrArray *ibh_report_addresses(const IbhNic *nic)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        if (ibh_address_counts(address))
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
    return ibh_spread_has(rails, nic) ? "spread" : "keep";
}

const IbhNic *ibh_report_nic(const IbhReport *report, const char *name)
{
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (g_str_equal(nic->link->name, name))
            return nic;
    }
    return NULL;
}

const char *ibh_report_link(const IbhLink *link)
{
    if (!(link->flags & IFF_UP))
        return "down";
    return link->carrier ? "up" : "no carrier";
}

/* How many of its wanted rules exist. */
static guint count_rules(const IbhRails *rails, const IbhNic *nic, guint *ret_wanted)
{
    g_autoptr(GArray) routes = ibh_want_routes(rails, nic), wanted = ibh_want_rules(rails, nic, routes);
    guint found = 0;

    IBH_EACH (const IbhRule, rule, wanted) {
        IBH_EACH (const IbhRule, standing, rails->snapshot->rules) {
            if (ibh_rule_compare(rule, standing) == 0) {
                found++;
                break;
            }
        }
    }
    *ret_wanted = wanted->len;
    return found;
}

char *ibh_report_facts(const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(report->rails->snapshot, nic->link->ifindex);
    guint wanted, found = count_rules(report->rails, nic, &wanted);
    const int *value = nic->link->sysctl;

    return g_strdup_printf("%s: %s, %s%s%s%s, table %u, main=%s, %u of %u rules, rp_filter=%d arp_filter=%d "
                           "arp_announce=%d arp_ignore=%d",
                           nic->link->name, nic->link->rdma[0] ? nic->link->rdma : "no RDMA port",
                           manager ? manager->name : "no manager known", manager && manager->connection ? " (" : "",
                           manager && manager->connection ? manager->connection : "",
                           manager && manager->connection ? ")" : "", nic->table, ibh_report_main(report->rails, nic),
                           found, wanted, value[IBH_SYSCTL_RP_FILTER], value[IBH_SYSCTL_ARP_FILTER],
                           value[IBH_SYSCTL_ARP_ANNOUNCE], value[IBH_SYSCTL_ARP_IGNORE]);
}

static void add_rail(const IbhReport *report, const IbhNic *nic, GPtrArray *lines)
{
    guint wanted, found = count_rules(report->rails, nic, &wanted), asked = 0, well = 0;

    for (guint i = 0; report->questions && i < report->questions->len; i++) {
        const IbhQuestion *question = &g_array_index(report->questions, IbhQuestion, i);

        asked += question->nic == nic;
        well += question->nic == nic && !question->wrong;
    }
    g_ptr_array_add(lines,
                    g_strdup_printf("%s: %u of %u rules stand; the kernel was asked where its traffic goes: %u of "
                                    "%u answers are right",
                                    nic->link->name, found, wanted, well, asked));
}

GPtrArray *ibh_report_checked(const IbhReport *report)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (nic->status == IBH_NIC_RAIL && ibh_report_lists(report, nic, FALSE))
            add_rail(report, nic, lines);
    }
    return lines;
}
