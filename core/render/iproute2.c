/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * iproute2: a script that does what --apply does. It is the plan for a host on which nothing of ours is yet.
 */
#include "render/formats.h"
#include "plan/emit.h"
#include "plan/plan.h"
#include "plan/remove.h"
#include "model/state.h"
#include "plan/want.h"

#include <sys/socket.h>

static const char why[] =
    "What ib-hook --apply does on this host, as a script; run again, it changes nothing.\n"
    "\n"
    "Rules and routes are ib-hook's own. Protocol kernel: systemd-networkd deletes those of any other. The number\n"
    "1768056939 (\"ibhk\") is their mark, without which they could be mistaken for others when they are deleted:\n"
    "suppress_ifgroup does nothing as long as no interface is in that group. So ib-hook --check finds them right, and\n"
    "ib-hook --undo takes them away (old sysctl values it then does not know). Nothing here repairs them after a link "
    "went\n"
    "down or an address changed: run it again then, or let ib-hook do it.\n"
    "\n"
    "The order matters: routes before the rules that lead to them, peers are told before rp_filter becomes strict,\n"
    "deletions last. So no packet is lost.\n"
    "\n"
    "Where something fails, as routes do of a NIC that is down, that rail and family (4 or 6) is left at that; all "
    "others\n"
    "are done. What failed is said, and the exit status is 1.";

static const char functions[] = "\nset -u\n"
                                "failed=' '\n"
                                "has_failed() { # RAIL/FAMILY\n"
                                "    case $failed in *\" $1 \"*) return 0 ;; *) return 1 ;; esac\n"
                                "}\n"
                                "rail() { # RAIL/FAMILY COMMAND...: unless something of it failed before\n"
                                "    has_failed \"$1\" && return\n"
                                "    unit=$1\n"
                                "    shift\n"
                                "    said=$(\"$@\" 2>&1) && return\n"
                                "    case \"$*: $said\" in *' rule add '*'File exists'*) return ;; esac\n"
                                "    printf '%s: %s: %s: %s\\n' \"$0\" \"$unit\" \"$*\" \"$said\" >&2\n"
                                "    failed=\"$failed$unit \"\n"
                                "}\n"
                                "announce() { # RAIL/FAMILY COMMAND...: without the tool, peers switch when they ask "
                                "again\n"
                                "    has_failed \"$1\" && return\n"
                                "    shift\n"
                                "    ! command -v \"$1\" >/dev/null || \"$@\" >/dev/null 2>&1 &\n"
                                "}\n";

static const char end[] =
    "[ \"$failed\" = ' ' ] && exit\n"
    "printf '%s: not done:%s(see to that, then run it again); all else is\\n' \"$0\" \"$failed\" >&2\n"
    "exit 1\n";

/* The host as it would be without us. */
static void forget_ours(IbhSnapshot *bare, const IbhSnapshot *snapshot)
{
    const GArray *saved = snapshot->state->routes;

    *bare = *snapshot;
    bare->state = ibh_state_new();
    bare->rules = g_array_new(FALSE, TRUE, sizeof(IbhRule));
    bare->routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (!ibh_rule_is_ours(rule))
            g_array_append_val(bare->rules, *rule);
    }
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (!ibh_route_is_ours(route))
            g_array_append_val(bare->routes, *route);
    }
    IBH_EACH (const IbhSavedRoute, taken, saved) { /* what main=remove took out of main */
        IbhRoute route = ibh_saved_route(taken);

        g_array_append_val(bare->routes, route);
    }
}

static IbhPlan *plan_for_bare_host(const IbhRender *render)
{
    IbhSnapshot bare;
    IbhRails rails = *render->rails;
    IbhPlan *plan;

    forget_ours(&bare, rails.snapshot);
    rails.snapshot = &bare;
    plan = ibh_plan_apply(&rails, render->only);
    ibh_plan_keep_family(plan, rails.family);
    g_array_unref(bare.rules);
    g_array_unref(bare.routes);
    ibh_state_free(bare.state);
    return plan;
}

/* The name of a unit of operations, in the script. Operations without a NIC are those of main=spread. */
static char *unit_word(const char *iface, int family)
{
    g_autofree char *unit = g_strdup_printf("%s/%d", *iface ? iface : "main=spread", family == AF_INET6 ? 6 : 4);

    return ibh_shell_word(unit);
}

/* Deleting a route that does not exist can delete another one: absent attributes match anything. */
static char *delete_if_there(const IbhOp *op, const char *unit)
{
    char dst[IBH_PREFIX_STRLEN];
    g_autofree char *command = ibh_op_command(op), *iface = ibh_shell_word(op->iface);
    g_autofree char *metric = op->route.metric ? g_strdup_printf(" metric %u", op->route.metric) : g_strdup("");

    return g_strdup_printf("[ -z \"$(ip -4 route show table %u exact %s proto kernel dev %s%s)\" ] || rail %s %s",
                           op->route.table, ibh_prefix_format(&op->route.dst, dst), iface, metric, unit, command);
}

static char *say(const IbhOp *op)
{
    g_autofree char *command = NULL, *unit = unit_word(op->iface, ibh_op_family(op));
    IbhOp again = *op;

    if (op->type == IBH_OP_ROUTE_DEL)
        return delete_if_there(op, unit);
    if (op->type == IBH_OP_ROUTE_ADD)
        again.type = IBH_OP_ROUTE_REPLACE;
    command = ibh_op_command(&again);
    return g_strjoin(" ", op->type == IBH_OP_ANNOUNCE ? "announce" : "rail", unit, command, NULL);
}

static void say_sysctl(GString *out, const IbhNic *nic, IbhSysctl key, int value)
{
    g_autofree char *argument = g_strdup_printf("net/ipv4/conf/%s/%s=%d", nic->link->name, ibh_sysctl_name(key), value);
    g_autofree char *word = ibh_shell_word(argument), *unit = unit_word(nic->link->name, AF_INET);

    g_string_append_printf(out, "rail %s sysctl -qw %s\n", unit, word);
}

typedef enum { LOOSEN, SET, TIGHTEN } Phase;

static void say_sysctls(GString *out, const IbhRender *render, Phase phase)
{
    if (!ibh_render_has_family(render, AF_INET))
        return;
    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics) {
        for (int key = 0; ibh_render_has(render, nic) && key < IBH_N_SYSCTLS; key++) {
            gboolean is_rp_filter = key == IBH_SYSCTL_RP_FILTER;
            int value;

            if (!ibh_render_wants(render, nic, (IbhSysctl)key, &value) || is_rp_filter == (phase == SET))
                continue;
            if (phase == SET || (value == 1) == (phase == TIGHTEN))
                say_sysctl(out, nic, (IbhSysctl)key, value);
            else if (phase == LOOSEN && ibh_may_loosen(nic))
                say_sysctl(out, nic, (IbhSysctl)key, 2); /* until peers were told */
        }
        if (phase == SET && ibh_render_silences(render, nic))
            say_sysctl(out, nic, IBH_SYSCTL_ARP_IGNORE, 1);
    }
}

static void say_ops(GString *out, const IbhPlan *plan, const IbhRender *render, gboolean programs, IbhOpType last)
{
    const char *reason = NULL;

    IBH_EACH_POINTER (const IbhOp, op, plan->ops) {
        const IbhNic *nic = op->ifindex ? ibh_rails_nic(render->rails, op->ifindex) : NULL;
        gboolean is_last = op->type == IBH_OP_ANNOUNCE || op->type == IBH_OP_ROUTE_DEL;
        g_autofree char *command = NULL;

        if (op->type == IBH_OP_SYSCTL_SET || (nic && !ibh_render_has(render, nic)) ||
            (programs ? is_last : op->type != last))
            continue;
        command = say(op);
        if (!ibh_render_is_printable(command))
            continue; /* main=spread names all rails */
        if (g_strcmp0(reason, op->why) != 0)
            ibh_render_comment(out, op->why);
        reason = op->why;
        g_string_append_printf(out, "%s\n", command);
    }
}

char *ibh_render_iproute2(const IbhRender *render, GError **error G_GNUC_UNUSED)
{
    g_autoptr(IbhPlan) plan = plan_for_bare_host(render);
    GString *out = g_string_new("#!/bin/sh\n");

    ibh_render_comment(out, why);
    ibh_render_left_out(out, render, FALSE);
    g_string_append(out, functions);
    say_sysctls(out, render, LOOSEN);
    say_ops(out, plan, render, TRUE, IBH_OP_RULE_ADD);
    say_sysctls(out, render, SET);
    say_ops(out, plan, render, FALSE, IBH_OP_ANNOUNCE);
    g_string_append(out, "wait\n");
    say_sysctls(out, render, TIGHTEN);
    say_ops(out, plan, render, FALSE, IBH_OP_ROUTE_DEL);
    g_string_append(out, end);
    return g_string_free(out, FALSE);
}
