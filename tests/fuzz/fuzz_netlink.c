/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel answers: messages, one behind the other, as they come from a socket. They become a snapshot, and that
 * a plan, its undoing, findings and reports: whatever it was, a second plan after the first is none of ours to judge
 * here, but nothing crashes, and nothing of others is touched.
 *
 * Bits of the last byte are the configuration, and whether anything is remembered.
 */
#include "check/missing.h"
#include "reports.h"

#include "check/check.h"
#include "plan/plan.h"
#include "kernel/dump.h"
#include "cli/cli.h"
#include "host/snapshot.h"
#include "model/model.h"

#include <stdint.h>
#include <string.h>

static const uint8_t *input;
static size_t input_size;

/* In the place of core/kernel/netlink.c: every request is answered with all of the input, as far as libnl would pass it
 * on. Each message has memory of its own: a byte read behind it is seen. */
gboolean ibh_netlink_talk(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data,
                          GError **error)
{
    g_autofree char *copy = g_malloc(input_size + 1);
    struct nlmsghdr *header = (void *)copy;
    int left = (int)input_size;

    (void)netlink;
    memcpy(copy, input, input_size);
    for (; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
        g_autofree struct nlmsghdr *one = g_memdup(header, header->nlmsg_len);

        if (header->nlmsg_type == nlmsg_hdr(message)->nlmsg_type - RTM_GETLINK + RTM_NEWLINK && !each(one, data)) {
            g_set_error_literal(error, IBH_NETLINK_ERROR, 0, "unreadable");
            return FALSE;
        }
    }
    return TRUE;
}

gboolean ibh_sysctl_read_all(int values[IBH_N_SYSCTLS], GError **error)
{
    (void)values;
    (void)error;
    return TRUE;
}

/* By its name: what a mutation reaches easily, and a host has both. */
gboolean ibh_sysfs_find_rdma(IbhTree *tree, GArray *links, GError **error)
{
    (void)tree;
    (void)error;
    for (guint i = 0; i < links->len; i++) {
        IbhLink *link = &g_array_index(links, IbhLink, i);

        if (g_str_has_prefix(link->name, "ib"))
            g_strlcpy(link->rdma, "mlx5_0/1", sizeof link->rdma);
    }
    return TRUE;
}

void ibh_sysfs_find_slots(IbhTree *tree, const GArray *known, GArray *links)
{
    (void)tree;
    (void)known;
    (void)links;
}

/* ---- what is decided ---- */

static IbhConfig *configure(guint8 bits)
{
    static const char *const texts[] = {"[defaults]\nmain=spread\n", "[defaults]\nmanage=yes\n",
                                        "[ib*]\nmanage=yes\n[ib1]\ngateway=none\n"};
    IbhConfig *config = ibh_config_new();

    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (bits & 1u << i)
            (void)ibh_config_add(config, "fuzz", texts[i], strlen(texts[i]), NULL, TRUE, NULL);
    }
    return config;
}

/* NULL: a message is none. */
static IbhSnapshot *look(const IbhConfig *config, IbhNetlink *netlink)
{
    static const char remembered[] = "sysctl ib0 2 02:00 rp_filter 1 2\nsysctl eth1 3 - arp_ignore 0 1\nhold ib1\n";
    gboolean remembers = input[input_size - 1] & 0x10;

    return ibh_snapshot_take(netlink, config, "/", ibh_state_parse(remembered, remembers ? strlen(remembered) : 0),
                             NULL);
}

/* ---- what has to hold ---- */

static void check_plan(const GPtrArray *plan)
{
    for (guint i = 0; i < plan->len; i++) {
        const IbhOp *op = g_ptr_array_index(plan, i);
        g_autofree char *command = ibh_op_command(op);

        if ((op->type == IBH_OP_RULE_DEL && !ibh_rule_is_ours(&op->rule)) ||
            (op->type == IBH_OP_ROUTE_DEL && op->route.table != IBH_TABLE_MAIN && !ibh_route_is_ours(&op->route)))
            broken("%s is not ours", command);
    }
}

static void report(const IbhRails *rails, const GPtrArray *plan)
{
    g_autoptr(IbhFacts) facts = ibh_facts_new();
    g_autoptr(IbhCheck) asked = ibh_check_new(rails, facts, NULL);
    g_autoptr(GPtrArray) findings = ibh_findings_new(), errors = g_ptr_array_new();
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(GArray) missed = ibh_missing_list(rails, config, FALSE);

    ibh_check_judge(asked, plan, missed, findings);
    const IbhReport check = {
        .action = IBH_ACTION_CHECK, .rails = rails, .facts = facts, .findings = findings, .missed = missed};
    const IbhReport change = {.action = IBH_ACTION_APPLY, .rails = rails, .ops = plan, .errors = errors};
    g_autofree char *log = ibh_ops_log_text(plan, rails->snapshot, "fuzz");

    check_report(&check);
    check_report(&change);
    check_characters(log, FALSE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GHashTable) pool = ibh_pool_new();
    IbhNetlink netlink = {.pool = pool}; /* not strict: objects that no filter wants reach the readers, too */
    g_autoptr(IbhSnapshot) snapshot = NULL;
    g_autoptr(IbhConfig) config = NULL;
    g_autoptr(IbhRails) rails = NULL, undone = NULL;
    g_autoptr(GPtrArray) apply = NULL, undo = NULL;

    if (size < 1)
        return 0;
    input = data;
    input_size = size;
    config = configure(data[size - 1]);
    snapshot = look(config, &netlink);
    rails = snapshot ? ibh_rails_find(config, snapshot, &(IbhRequest){.respects_holds = TRUE}, NULL)
                     : NULL; /* NULL: two NICs with one table */
    if (!rails)
        return 0;
    apply = ibh_plan(rails);
    undone = ibh_rails_find(config, snapshot, &(IbhRequest){.undo = TRUE, .respects_holds = TRUE}, NULL);
    undo = ibh_plan(undone);
    check_plan(apply);
    check_plan(undo);
    ibh_state_remember(snapshot->state, apply, FALSE);
    report(rails, apply);
    return 0;
}
