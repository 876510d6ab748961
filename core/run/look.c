/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/look.h"

#include "host/scripts.h"
#include "host/manager.h"
#include "kernel/sysctl.h"
#include "probe/run_io.h"
#include "render/render.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- looking ---- */

int ibh_run_plan(IbhRun *run)
{
    g_autoptr(IbhPlan) plan = ibh_run_make_plan(run);
    IbhReport report = {.rails = run->rails, .only = run->only, .plan = plan};
    g_autofree char *text = run->writer->plan(&report, &run->style);

    g_string_append(run->out, text);
    return IBH_EXIT_OK;
}

#define MAIN_MAX 10000 /* more of them come from a routing protocol: any answer counts as right */

static gboolean look_into_main(IbhRun *run, GError **error)
{
    const IbhRouteFilter filter = {.table = IBH_TABLE_MAIN};

    return ibh_netlink_read_some_routes(run->netlink, &filter, MAIN_MAX, run->snapshot->more, error);
}

static gboolean is_anothers_table(const IbhRun *run, const IbhRule *rule)
{
    return !ibh_rule_is_ours(rule) && !rule->l3mdev && rule->action == FR_ACT_TO_TBL && rule->table != IBH_TABLE_MAIN &&
           rule->table != IBH_TABLE_LOCAL && !ibh_rails_nic_by_table(run->rails, rule->table);
}

/* Tables of foreign rules cut the rails' subnets into pieces. */
static gboolean look_into_foreign_tables(IbhRun *run, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

    IBH_EACH (const IbhRule, rule, run->snapshot->rules) {
        const IbhRouteFilter filter = {.table = rule->table};

        if (is_anothers_table(run, rule) && g_hash_table_add(seen, GUINT_TO_POINTER(rule->table)) &&
            !ibh_netlink_read_some_routes(run->netlink, &filter, MAIN_MAX, run->snapshot->more, error))
            return FALSE;
    }
    return TRUE;
}

/* The local table is asked first. Addresses of this host, type local, are known. */
static gboolean look_into_local(IbhRun *run, GError **error)
{
    static const guint8 types[] = {RTN_UNICAST,   RTN_BROADCAST, RTN_ANYCAST,
                                   RTN_BLACKHOLE, RTN_PROHIBIT,  RTN_UNREACHABLE};

    IBH_EACH_ROW (const guint8, type, types) {
        const IbhRouteFilter filter = {.table = IBH_TABLE_LOCAL, .type = *type};

        if (!ibh_netlink_read_some_routes(run->netlink, &filter, MAIN_MAX, run->snapshot->more, error))
            return FALSE;
    }
    return TRUE;
}

/* Foreign routes in the rails' tables concern only --check. */
static gboolean look_into_tables(IbhRun *run, GError **error)
{
    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        if (nic->status == IBH_NIC_RAIL &&
            (!ibh_snapshot_add_table(run->snapshot, run->netlink, nic->table, error) ||
             !ibh_snapshot_add_table(run->snapshot, run->netlink, ibh_nic_defaults(nic), error)))
            return FALSE;
    }
    return TRUE;
}

static gboolean look_at_neighbours(IbhRun *run, GError **error)
{
    g_array_set_size(run->snapshot->neighbours, 0);
    run->snapshot->proxy_arp = ibh_sysctl_read_proxy_arp();
    IBH_EACH (IbhLink, link, run->snapshot->links) {
        const IbhNic *nic = ibh_rails_nic(run->rails, link->ifindex);

        if (!nic || !ibh_is_routed(nic))
            continue;
        link->mute = ibh_serves_family(nic, AF_INET) && ibh_sysctl_read_mute(link->name, AF_INET);
        link->mute6 = ibh_serves_family(nic, AF_INET6) && ibh_sysctl_read_mute(link->name, AF_INET6);
    }
    return ibh_netlink_read_all_neighbours(run->netlink, AF_INET, run->snapshot->neighbours, error) &&
           ibh_netlink_read_all_neighbours(run->netlink, AF_INET6, run->snapshot->neighbours, error) &&
           ibh_netlink_read_proxied(run->netlink, run->snapshot->neighbours, error);
}

static gboolean ask_kernel(IbhRun *run, GArray *questions, GError **error)
{
    IBH_EACH (IbhQuestion, question, questions) {
        if (!ibh_netlink_lookup(run->netlink, &question->lookup, error))
            return FALSE;
    }
    return TRUE;
}

static void warn_of_problem(IbhRun *run, const IbhTree *tree)
{
    g_autofree char *text = NULL;

    if (!tree->problem)
        return;
    text = g_strdup_printf("%s: not everything that RDMA ports say could be read: %s", tree->sys,
                           g_strerror(tree->problem));
    ibh_run_warn(run, text);
}

/* `again`: what grows and changes, too. */
static const IbhFabric *look_at_fabric(IbhRun *run, gboolean again)
{
    g_auto(IbhTree) tree = {0};

    ibh_tree_open(&tree, run->options->sysfs);
    run->fabric = ibh_fabric_read(&tree, run->snapshot->links, run->rails);
    if (run->options->action != IBH_ACTION_CHECK)
        ibh_fabric_read_gpus(&tree, run->fabric);
    if (again)
        ibh_fabric_read_again(&tree, run->fabric);
    warn_of_problem(run, &tree);
    ibh_fabric_use_rails(run->fabric, run->rails);
    return run->fabric;
}

int ibh_run_check(IbhRun *run)
{
    g_autoptr(IbhPlan) plan = ibh_run_make_plan(run);
    g_autoptr(GArray) questions = NULL;
    g_autoptr(GPtrArray) findings = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    IbhReport report = {.rails = run->rails, .only = run->only};
    gboolean show = run->options->action == IBH_ACTION_SHOW;

    if (!look_into_tables(run, &error) || !ibh_snapshot_add_errors(run->snapshot, run->netlink, &error) ||
        !look_into_main(run, &error) || !look_into_foreign_tables(run, &error) || !look_into_local(run, &error) ||
        !look_at_neighbours(run, &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    questions = ibh_check_questions(run->rails, run->only);
    if (!ask_kernel(run, questions, &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    (void)look_at_fabric(run, TRUE);
    report.questions = questions;
    ibh_host_read_scripts(run->options->sysfs, run->snapshot);
    ibh_managers_read(run->options->sysfs, run->rails, run->snapshot);
    report.findings = findings = ibh_findings_new();
    ibh_fabric_judge(run->fabric, run->only, findings);
    ibh_check_judge(run->rails, plan, questions, run->only, findings);
    text = (show ? run->writer->show : run->writer->check)(&report, &run->style);
    g_string_append(run->out, text);
    return show || ibh_findings_are_ok(findings, NULL) ? IBH_EXIT_OK : IBH_EXIT_FINDINGS;
}

int ibh_run_render(IbhRun *run)
{
    IbhRender render = {.rails = run->rails, .only = run->only};
    g_autofree char *text = NULL;

    ibh_managers_read(run->options->sysfs, run->rails, run->snapshot);
    if (g_str_equal(run->options->render, "env"))
        render.fabric = look_at_fabric(run, FALSE);
    text = ibh_render(run->options->render, &render);
    g_string_append(run->out, text);
    return IBH_EXIT_OK;
}

/* ---- probing ---- */

int ibh_run_probe(IbhRun *run)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IbhProbe) probe = ibh_probe_new(run->rails, &run->options->probe, &error);
    IbhReport report = {.rails = run->rails, .only = run->only, .probe = probe};
    g_autofree char *text = NULL;

    if (!probe)
        return ibh_run_fail(run, IBH_EXIT_USAGE, error);
    if (probe->pairs->len &&
        !ibh_probe_run(probe, run->netlink, run->options->sysfs, !run->style.quiet && isatty(STDERR_FILENO), &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    ibh_probe_judge(probe);
    report.findings = probe->findings;
    text = run->writer->probe(&report, &run->style);
    g_string_append(run->out, text);
    return ibh_findings_are_ok(probe->findings, NULL) ? IBH_EXIT_OK : IBH_EXIT_FINDINGS;
}
