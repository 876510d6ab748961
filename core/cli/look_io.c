/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command_io.h"

#include "check/managers_io.h"
#include "check/check.h"
#include "kernel/netlink.h"
#include "probe/prober_io.h"
#include "render/render.h"

#include <linux/fib_rules.h>
#include <sys/socket.h>

/* ---- looking ---- */

int ibh_command_plan(IbhCommand *command, GError **error G_GNUC_UNUSED)
{
    g_autoptr(GPtrArray) plan = ibh_run_plan(&command->run);

    return ibh_command_say(command, &(IbhReport){.ops = plan});
}

#define ROUTES_MAX 10000 /* more of them come from a routing protocol: any answer counts as right */

static gboolean look_into(IbhCommand *command, guint32 table, GError **error)
{
    const IbhRouteFilter filter = {.table = table, .limit = ROUTES_MAX};

    return ibh_netlink_read_routes(command->run.netlink, &filter, command->run.snapshot->more, error);
}

static gboolean is_anothers_table(const IbhCommand *command, const IbhRule *rule)
{
    return !ibh_rule_is_ours(rule) && !rule->l3mdev && rule->action == FR_ACT_TO_TBL && rule->table != IBH_TABLE_MAIN &&
           rule->table != IBH_TABLE_LOCAL && !ibh_rails_nic_by_table(command->run.rails, rule->table);
}

/* Foreign routes in the rails' tables concern only --check. Tables of foreign rules cut the rails' subnets into pieces.
 * The local table is asked first, main last. */
static gboolean look_into_tables(IbhCommand *command, GError **error)
{
    IbhSnapshot *snapshot = command->run.snapshot;
    IbhNetlink *netlink = command->run.netlink;
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

    IBH_EACH_POINTER (const IbhNic, nic, command->run.rails->nics) {
        if (nic->status == IBH_NIC_RAIL && (!ibh_snapshot_add_table(snapshot, netlink, nic->table, error) ||
                                            !ibh_snapshot_add_table(snapshot, netlink, ibh_nic_defaults(nic), error)))
            return FALSE;
    }
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (is_anothers_table(command, rule) && g_hash_table_add(seen, GUINT_TO_POINTER(rule->table)) &&
            !look_into(command, rule->table, error))
            return FALSE;
    }
    return ibh_snapshot_add_errors(snapshot, netlink, error) && look_into(command, IBH_TABLE_MAIN, error) &&
           look_into(command, IBH_TABLE_LOCAL, error);
}

/* It sends no solicitation. */
static gboolean is_mute(const char *iface, char family)
{
    return ibh_sysctl_read("ipv%c/neigh/%s/mcast_solicit", family, iface) == 0 &&
           ibh_sysctl_read("ipv%c/neigh/%s/app_solicit", family, iface) == 0;
}

static gboolean look_at_neighbours(IbhCommand *command, GError **error)
{
    IbhSnapshot *snapshot = command->run.snapshot;
    GArray *list = snapshot->neighbours;

    g_array_set_size(list, 0);
    snapshot->proxy_arp = ibh_sysctl_read("ipv4/conf/all/proxy_arp") > 0;
    IBH_EACH (IbhLink, link, snapshot->links) {
        const IbhNic *nic = ibh_rails_nic(command->run.rails, link->ifindex);

        if (!nic || nic->status != IBH_NIC_RAIL)
            continue;
        link->mute = ibh_serves_family(nic, AF_INET) && is_mute(link->name, '4');
        link->no_ipv6 = ibh_sysctl_read("ipv6/conf/%s/disable_ipv6", link->name) == 1;
        link->mute6 = ibh_serves_family(nic, AF_INET6) && is_mute(link->name, '6');
    }
    return ibh_netlink_read_neighbours(command->run.netlink, AF_INET, IBH_NEIGHBOURS_ALL, list, error) &&
           ibh_netlink_read_neighbours(command->run.netlink, AF_INET6, IBH_NEIGHBOURS_ALL, list, error) &&
           ibh_netlink_read_neighbours(command->run.netlink, AF_INET, IBH_NEIGHBOURS_PROXY, list, error);
}

static gboolean ask_kernel(IbhCommand *command, const IbhCheck *check, GError **error)
{
    IBH_EACH (IbhQuestion, question, check->questions) {
        if (question->asked && !ibh_netlink_lookup(command->run.netlink, &question->lookup, error))
            return FALSE;
    }
    return TRUE;
}

static IbhFabric *look_at_fabric(IbhCommand *command)
{
    g_auto(IbhTree) tree = {0};
    g_autofree char *problem = NULL;
    IbhFabric *fabric;

    ibh_tree_open(&tree, command->options->sysfs);
    fabric = ibh_fabric_read(&tree, command->run.snapshot->links, command->run.rails);
    ibh_fabric_read_gpus(&tree, fabric);
    if (command->options->action != IBH_ACTION_RENDER) /* findings need to know what grows and changes */
        ibh_fabric_read_again(&tree, fabric);
    problem =
        g_strdup_printf("%s: not everything that RDMA ports say could be read: %s", tree.sys, g_strerror(tree.problem));
    if (tree.problem)
        ibh_run_warn(&command->run, problem);
    ibh_fabric_use_rails(fabric, command->run.rails);
    return fabric;
}

int ibh_command_check(IbhCommand *command, GError **error)
{
    g_autoptr(GArray) missed = NULL;
    g_autoptr(GPtrArray) plan = ibh_run_plan(&command->run);
    g_autoptr(IbhCheck) check = NULL;
    g_autoptr(IbhFabric) fabric = NULL;
    g_autoptr(GPtrArray) findings = ibh_findings_new();

    if (!look_into_tables(command, error) || !look_at_neighbours(command, error))
        return IBH_EXIT_SYSTEM;
    check = ibh_check_new(command->run.rails, command->run.only);
    if (!ask_kernel(command, check, error))
        return IBH_EXIT_SYSTEM;
    fabric = look_at_fabric(command);
    ibh_managers_read(command->options->sysfs, command->run.snapshot);
    ibh_fabric_judge(fabric, command->run.only, findings);
    missed = ibh_run_missed(&command->run);
    ibh_check_judge(check, plan, missed, findings);
    return ibh_command_say(command, &(IbhReport){.findings = findings, .missed = missed, .fabric = fabric});
}

int ibh_command_render(IbhCommand *command, GError **error G_GNUC_UNUSED)
{
    const char *format = command->options->render;
    g_autoptr(IbhFabric) fabric = g_str_equal(format, "env") ? look_at_fabric(command) : NULL;
    g_autofree char *text = NULL;

    ibh_managers_read(command->options->sysfs, command->run.snapshot);
    text = ibh_render(format, command->run.rails, fabric);
    g_string_append(command->out, text);
    return IBH_EXIT_OK;
}

/* ---- probing ---- */

int ibh_command_probe(IbhCommand *command, GError **error)
{
    g_autoptr(IbhProbe) probe = ibh_probe_new(command->run.rails, &command->options->probe, error);

    if (!probe || (probe->pairs->len && !ibh_probe_run(probe, command->run.netlink, command->options->sysfs, error)))
        return IBH_EXIT_SYSTEM;
    ibh_probe_judge(probe);
    return ibh_command_say(command, &(IbhReport){.probe = probe, .findings = probe->findings});
}
