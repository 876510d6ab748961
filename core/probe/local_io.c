/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what could drop packets on this host (the facts); the NICs' forwarding tables (FDB), which show macvlans in
 * other network namespaces; and the limits and use of the host's neighbour tables. */
#include "kernel/dump.h"
#include "probe/prober_io.h"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Older kernel headers lack these. */
#define NO_DESTINATION 2 /* MACVLAN_FLAG_NODST */
#define TCX_INGRESS 46   /* BPF_TCX_INGRESS */
#define TCX_EGRESS 47

typedef struct {
    IbhProbe *probe;
    int sign; /* what counters are multiplied by: -1 before the run, 1 after it */
} Reader;

/* ---- what is attached to links ---- */

/* TRUE if the link is a macvlan or macvtap that takes packets away from the NIC below it. In mode passthru, it takes
 * all unicast packets that come in; in mode source with "nodst", all packets from the hosts on its list. */
static gboolean takes_packets(struct nlattr *info)
{
    struct nlattr *data = find_in(info, IFLA_INFO_DATA), *flags = find_in(data, IFLA_MACVLAN_FLAGS);
    const guint mode = get_u32(find_in(data, IFLA_MACVLAN_MODE), 0);
    char kind[16];

    get_string(find_in(info, IFLA_INFO_KIND), kind, sizeof kind);
    if (!g_str_equal(kind, "macvlan") && !g_str_equal(kind, "macvtap"))
        return FALSE;
    return mode == MACVLAN_MODE_PASSTHRU ||
           (mode == MACVLAN_MODE_SOURCE && flags && nla_get_u16(flags) & NO_DESTINATION);
}

static gboolean on_link(struct nlmsghdr *header, gpointer data)
{
    const Reader *reader = data;
    const struct ifinfomsg *info = nlmsg_data(header);
    struct nlattr *attributes[IFLA_MAX + 1];

    if (header->nlmsg_type != RTM_NEWLINK || !parse(header, sizeof *info, attributes, IFLA_MAX))
        return TRUE;
    if (get_u8(find_in(attributes[IFLA_XDP], IFLA_XDP_ATTACHED)))
        *ibh_probe_fact(reader->probe, info->ifi_index, IBH_FACT_XDP) = 1;
    /* If the parent is in another network namespace, IFLA_LINK is the parent's ifindex there; it means nothing here. */
    if (takes_packets(attributes[IFLA_LINKINFO]) && !attributes[IFLA_LINK_NETNSID])
        *ibh_probe_fact(reader->probe, (int)get_u32(attributes[IFLA_LINK], 0), IBH_FACT_MACVLAN) = 1;
    return TRUE;
}

/* A macvlan in another network namespace is not among the links, but the NIC below it has a forwarding entry with the
 * macvlan's hardware address. With these entries, whole.c recognises claims that come from such a macvlan. */
static gboolean on_forwarding(struct nlmsghdr *header, gpointer data)
{
    const IbhProbe *probe = ((const Reader *)data)->probe;
    const struct ndmsg *info = nlmsg_data(header);
    struct nlattr *attributes[NDA_MAX + 1], *lladdr;
    IbhLladdr child;

    if (header->nlmsg_type != RTM_NEWNEIGH || !parse(header, sizeof *info, attributes, NDA_MAX) ||
        !(lladdr = attributes[NDA_LLADDR]) ||
        !g_ptr_array_find(probe->nics, ibh_rails_nic(probe->rails, info->ndm_ifindex), NULL))
        return TRUE;
    child = ibh_lladdr_from_bytes(nla_data(lladdr), (guint)nla_len(lladdr));
    g_array_append_val(probe->children, child);
    return TRUE;
}

/* Returns how many tcx programs of this type are attached to the NIC; 0 if the kernel has no tcx, or refuses the query.
 * Netlink does not tell this number. */
static gint64 count_tcx(int ifindex, guint attach_type)
{
    union bpf_attr question;

    memset(&question, 0, sizeof question);
    question.query.target_fd = (guint32)ifindex; /* for tcx, the kernel reads this member as target_ifindex */
    question.query.attach_type = attach_type;
    return syscall(SYS_bpf, BPF_PROG_QUERY, &question, sizeof question) == 0 ? question.query.prog_cnt : 0;
}

/* ---- counters ---- */

static gboolean on_qdisc(struct nlmsghdr *header, gpointer data)
{
    const Reader *reader = data;
    const struct tcmsg *info = nlmsg_data(header);
    struct nlattr *attributes[TCA_MAX + 1];
    struct tc_stats stats = {0};

    if (header->nlmsg_type != RTM_NEWQDISC || !parse(header, sizeof *info, attributes, TCA_MAX))
        return TRUE;
    if (info->tcm_parent == TC_H_INGRESS) /* a qdisc ingress or clsact, to which filters can be attached */
        *ibh_probe_fact(reader->probe, info->tcm_ifindex, IBH_FACT_TC) = 1;
    /* the root's counter includes the drops of the queues below the root */
    if (info->tcm_parent == TC_H_ROOT && attributes[TCA_STATS])
        nla_memcpy(&stats, attributes[TCA_STATS], sizeof stats);
    *ibh_probe_fact(reader->probe, info->tcm_ifindex, IBH_FACT_QUEUE) += reader->sign * (gint64)stats.drops;
    return TRUE;
}

/* Returns the sum of all counters whose names begin with `begin`. The text has lines "NAME VALUE", or pairs of lines
 * "Group: NAME …" and "Group: VALUE …". */
static gint64 sum_counters(const char *text, const char *begin)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    gint64 sum = 0;

    for (guint i = 0; lines[i]; i++) {
        g_auto(GStrv) names = g_strsplit_set(lines[i], " \t", -1);
        g_auto(GStrv) values = g_strsplit(lines[i + 1] ? lines[i + 1] : "", " ", -1);
        const guint n = g_strv_length(names), n_values = g_strv_length(values);

        for (guint k = 0; k < n; k++) {
            /* The value of a word is the word at the same place in the next line. The first word is different: in a
             * line "NAME VALUE", its value ends the line; in the other lines, it is the group, which is no counter. */
            const char *value = k == 0 ? names[n - 1] : k < n_values ? values[k] : NULL;

            if (value && g_str_has_prefix(names[k], begin))
                sum += g_ascii_strtoll(value, NULL, 10);
        }
    }
    return sum;
}

/* Ignores what cannot be read: a fact only helps to explain a loss. */
void ibh_prober_read_local(IbhProber *prober, gboolean after)
{
    Reader reader = {.probe = prober->probe, .sign = after ? 1 : -1};
    struct ifinfomsg links = {.ifi_family = AF_UNSPEC};
    struct ndmsg forwarding = {.ndm_family = AF_BRIDGE};
    struct tcmsg qdiscs = {.tcm_family = AF_UNSPEC};
    g_autoptr(GArray) none = IBH_NEW_ARRAY(char); /* ibh_netlink_dump() needs an array; nothing is appended */

    for (IbhProbeFact fact = 0; fact < IBH_N_FACTS; fact++) {
        const IbhFactRow *row = &ibh_probe_facts[fact];
        g_autofree char *path = row->file ? g_strdup_printf("/proc/net/%s", row->file) : NULL, *text = NULL;

        if (path && g_file_get_contents(path, &text, NULL, NULL))
            *ibh_probe_fact(reader.probe, 0, fact) += reader.sign * sum_counters(text, row->key);
    }
    (void)ibh_netlink_dump(prober->netlink, ibh_message_new(RTM_GETQDISC, NLM_F_DUMP, &qdiscs, sizeof qdiscs), on_qdisc,
                           &reader, none, NULL, "the queues", NULL);
    if (!after)
        return;
    IBH_EACH_RAIL (nic, prober->probe) {
        const int ifindex = nic->link->ifindex;

        *ibh_probe_fact(reader.probe, ifindex, IBH_FACT_TCX_IN) = count_tcx(ifindex, TCX_INGRESS);
        *ibh_probe_fact(reader.probe, ifindex, IBH_FACT_TCX_OUT) = count_tcx(ifindex, TCX_EGRESS);
    }
    (void)ibh_netlink_dump(prober->netlink, ibh_message_new(RTM_GETLINK, NLM_F_DUMP, &links, sizeof links), on_link,
                           &reader, none, NULL, "the links", NULL);
    (void)ibh_netlink_dump(prober->netlink, ibh_message_new(RTM_GETNEIGH, NLM_F_DUMP, &forwarding, sizeof forwarding),
                           on_forwarding, &reader, none, NULL, "the forwarding tables", NULL);
}

/* ---- the limits of neighbour tables ---- */

/* The kernel sends a message for each table, and also for each device; messages about devices lack the table's
 * limits. */
static gboolean on_neighbour_table(struct nlmsghdr *header, gpointer data)
{
    const struct ndtmsg *info = nlmsg_data(header);
    IbhNeighbourTable *tables = data;
    struct nlattr *attributes[NDTA_MAX + 1];
    struct ndt_config config = {0};
    struct ndt_stats stats = {0};

    if (!parse(header, sizeof *info, attributes, NDTA_MAX))
        return FALSE;
    if (!attributes[NDTA_THRESH3] || (info->ndtm_family != AF_INET && info->ndtm_family != AF_INET6))
        return TRUE;
    nla_memcpy(&config, attributes[NDTA_CONFIG], sizeof config);
    nla_memcpy(&stats, attributes[NDTA_STATS], sizeof stats);
    tables[info->ndtm_family == AF_INET6] = (IbhNeighbourTable){
        .limit = get_u32(attributes[NDTA_THRESH3], 0), .used = config.ndtc_entries, .full = stats.ndts_table_fulls};
    return TRUE;
}

gboolean ibh_prober_read_tables(IbhProber *prober, IbhNeighbourTable ret_tables[2], GError **error)
{
    struct ndtmsg tables = {.ndtm_family = AF_UNSPEC};
    g_autoptr(GArray) none = IBH_NEW_ARRAY(char); /* ibh_netlink_dump() needs an array; nothing is appended */

    ret_tables[0] = ret_tables[1] = (IbhNeighbourTable){0};
    return ibh_netlink_dump(prober->netlink, ibh_message_new(RTM_GETNEIGHTBL, NLM_F_DUMP, &tables, sizeof tables),
                            on_neighbour_table, ret_tables, none, NULL, "the neighbour tables", error);
}
