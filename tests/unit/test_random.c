/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must hold in every world, tried in many made by chance; and in those of random/, which failed once.
 *
 * IBH_CASES: how many worlds; IBH_SEED: where to begin. A failure prints its seed and the world, made as small as it
 * gets, and keeps it as a file; `IBH_WORLD=FILE` tries that one again.
 */
#include "check/check.h"
#include "plan/plan.h"
#include "check/fib.h"
#include "fib.h"
#include "cli/back.h"
#include "random_world.h"
#include "small_world.h"
#include "model/model.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_SOURCES 12
#define MAX_TARGETS 24

typedef struct {
    IbhIp ip;
    gboolean local;
    guint64 wire; /* where it may leave; 0: anywhere (outside) */
} Target;

/* Whether what is sent arrives; FOREIGN: somebody's own route in a rail's table decides, and is respected. */
typedef enum { LOST, ARRIVES, FOREIGN } Fate;

typedef struct {
    Fate fate;
    int by;          /* ifindex */
    guint64 devices; /* all by which it may leave */
    gboolean led;    /* by somebody's own rule, into a table of their choice */
    const IbhRoute *route;
} Way;

/* Who sends, and where to; a set of devices is a fib_bit() for each. */
typedef struct {
    guint64 wires[64];          /* by ifindex: with whom it is on one wire */
    IbhIp sources[MAX_SOURCES]; /* AF_UNSPEC: unbound */
    Target targets[MAX_TARGETS];
    guint n_sources, n_targets;
} Reach;

typedef struct {
    Way of[MAX_SOURCES][MAX_TARGETS];
} Ways;

/* One world with all that was computed of it; a property says FALSE and leaves its reason here. */
typedef struct {
    guint64 seed;
    const GPtrArray *lines;
    gboolean thorough; /* all properties, not only those that are due */
    World *world;      /* before */
    Planned *planned;  /* to apply */
    FakeKernel *after; /* applied */
    Planned *undo;     /* of `after` */
    FakeKernel *undone;
    FakeKernel *plain; /* before, without anything of ours */
    Reach reach;
    Ways before, then, at_last, without; /* in `world`, `after`, `undone`, `plain` */
    const char *property;
    char *reason;
} Case;

typedef gboolean (*Property)(Case *c);

static gboolean G_GNUC_PRINTF(2, 3) broken(Case *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    c->reason = g_strdup_vprintf(format, args);
    va_end(args);
    return FALSE;
}

static const IbhOp *op_at(const Planned *planned, guint i)
{
    return g_ptr_array_index(planned->plan, i);
}

static guint n_ops(const Planned *planned)
{
    return planned->plan->len;
}

static gboolean same_world(Case *c, const FakeKernel *expected, const FakeKernel *found, const char *what)
{
    g_autofree char *difference = fake_difference(expected, found, FAKE_ALL);

    return !difference || broken(c, "%s:\n%s", what, difference);
}

static guint count_holders(const IbhSnapshot *world, const IbhIp *ip)
{
    guint count = 0;

    IBH_EACH (const IbhAddress, address, world->addresses)
        count += ibh_ip_equal(&address->local, ip) ? 1 : 0;
    return count;
}

static gboolean is_local_address(const IbhSnapshot *world, const IbhIp *ip)
{
    return count_holders(world, ip) > 0;
}

static gboolean has_duplicates(const IbhSnapshot *world)
{
    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (count_holders(world, &address->local) > 1)
            return TRUE;
    }
    return FALSE;
}

static gboolean any_blocked(const IbhRails *rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_BLOCKED)
            return TRUE;
    }
    return FALSE;
}

static gint compare_lines(gconstpointer left, gconstpointer right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Automatic numbers are never promised: a rail's tables by its name. */
static char *without_number(const IbhRails *rails, char *text, guint32 table)
{
    const IbhNic *nic = ibh_rails_nic_by_table(rails, table);
    g_autofree char *number = g_strdup_printf(" %u ", table);
    g_autofree char *name =
        nic ? g_strdup_printf(" %s%s ", table == nic->table ? "T of " : "D of ", nic->link->name) : g_strdup(number);
    g_auto(GStrv) parts = g_strsplit(text, number, 2);

    g_free(text);
    return g_strjoinv(name, parts);
}

/* What is ours, and sysctls, by name: indexes differ where links come in another order. */
static GPtrArray *describe_result(const FakeKernel *kernel, const IbhRails *rails)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

    IBH_EACH (const IbhRule, rule, kernel->now->rules) {
        if (fake_is_our_rule(rule))
            g_ptr_array_add(lines, without_number(rails, fake_print_rule(rule), rule->table));
    }
    IBH_EACH (const IbhRoute, route, kernel->now->routes) {
        if (fake_is_our_route(route))
            g_ptr_array_add(lines, without_number(rails, fake_print_route(kernel->now, route), route->table));
    }
    IBH_EACH (const IbhLink, link, kernel->now->links) {
        for (int key = 0; key < IBH_N_SYSCTLS; key++)
            g_ptr_array_add(
                lines, g_strdup_printf("%s %s %d", link->name, ibh_sysctl_name((IbhSysctl)key), link->sysctl[key]));
    }
    g_ptr_array_sort(lines, compare_lines);
    return lines;
}

/* Lines of `a` that `b` has not. */
static char *lines_missing(GPtrArray *a, GPtrArray *b)
{
    g_autoptr(GPtrArray) missing = g_ptr_array_new();

    for (guint i = 0; i < a->len; i++) {
        if (!g_ptr_array_find_with_equal_func(b, g_ptr_array_index(a, i), g_str_equal, NULL))
            g_ptr_array_add(missing, g_ptr_array_index(a, i));
    }
    return missing->len ? lines_print(missing, "    ") : NULL;
}

/* The same, but for automatic numbers of tables. */
static gboolean same_end(Case *c, const IbhConfig *config, const FakeKernel *expected, const FakeKernel *found,
                         const char *what)
{
    g_autoptr(Planned) one = world_plan(config, expected, WORLD_APPLY, NULL);
    g_autoptr(Planned) other = world_plan(config, found, WORLD_APPLY, NULL);
    g_autoptr(GPtrArray) a = describe_result(expected, one->rails), b = describe_result(found, other->rails);
    g_autofree char *missing = lines_missing(a, b), *more = lines_missing(b, a);

    return (!missing && !more) ||
           broken(c, "%s: there is not\n%s  but there is\n%s", what, missing ? missing : "", more ? more : "");
}

/* ---- (a) what is planned is what is wanted ---- */

static gboolean nothing_left(Case *c, const IbhConfig *config, const FakeKernel *kernel, WorldAction action,
                             const char *what)
{
    g_autoptr(Planned) again = world_plan(config, kernel, action, NULL);
    g_autofree char *command = NULL, *why = NULL;

    if (!again || n_ops(again) == 0)
        return TRUE;
    command = ibh_op_command(op_at(again, 0));
    why = ibh_op_why(again->rails, op_at(again, 0));
    return broken(c, "%s has %u operations, first: %s (%s)", what, n_ops(again), command, why);
}

static gboolean second_plan_is_empty(Case *c)
{
    if (c->after->inexact)
        return broken(c, "%u operations hit something else than they named", c->after->inexact);
    return nothing_left(c, c->world->config, c->after, WORLD_APPLY, "the second plan");
}

/* The kernel refuses nothing of what is planned. */
static gboolean nothing_is_refused(Case *c)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(c->world->kernel);
    g_autoptr(IbhOutcome) outcome = ibh_plan_execute(c->planned->plan, fake_execute, kernel);

    return !outcome->errors->len || broken(c, "%s", (const char *)g_ptr_array_index(outcome->errors, 0));
}

/* ---- (b) what is not ours stays ---- */

/* An earlier run gave it this value, and nobody changed it since. */
static gboolean is_our_value(const IbhSnapshot *world, const IbhLink *link, IbhSysctl key)
{
    IBH_EACH (const IbhSavedSysctl, saved, world->state->sysctls) {
        if (saved->ifindex == link->ifindex && saved->key == key)
            return saved->set == link->sysctl[key] && saved->old != saved->set;
    }
    return FALSE;
}

static gboolean is_kept(const IbhNic *nic)
{
    return nic->settings.arp == IBH_ARP_KEEP;
}

static gboolean has_ipv4(const IbhSnapshot *world, int ifindex)
{
    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (address->ifindex == ifindex && address->local.family == AF_INET)
            return TRUE;
    }
    return FALSE;
}

/* A candidate without an IPv4 address, beside a rail of its kind, no longer answers ARP for others' addresses. */
static gboolean may_fall_silent(const Case *c, const IbhNic *nic)
{
    const GPtrArray *nics = c->planned->rails->nics;

    IBH_EACH_POINTER (const IbhNic, other, nics) {
        if (other->status == IBH_NIC_RAIL && other->link->type == nic->link->type &&
            has_ipv4(c->after->now, other->link->ifindex))
            return nic->rank && !is_kept(nic) && !has_ipv4(c->after->now, nic->link->ifindex);
    }
    return FALSE;
}

static gboolean sysctls_stay(Case *c, const IbhNic *nic)
{
    const IbhLink *after = ibh_snapshot_link(c->after->now, nic->link->ifindex);

    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        int before = nic->link->sysctl[key];

        if ((nic->status != IBH_NIC_RAIL || is_kept(nic)) && after->sysctl[key] != before &&
            !is_our_value(c->world->kernel->now, nic->link, (IbhSysctl)key) &&
            !((key == IBH_SYSCTL_ARP_IGNORE || key == IBH_SYSCTL_ARP_FILTER) && after->sysctl[key] == 1 &&
              may_fall_silent(c, nic)))
            return broken(c, "%s of %s was %d and is %d, which is not for us to change",
                          ibh_sysctl_name((IbhSysctl)key), nic->link->name, before, after->sysctl[key]);
    }
    return TRUE;
}

static gboolean foreign_things_stay(Case *c)
{
    const IbhRails *rails = c->planned->rails;
    g_autofree char *difference = fake_difference(c->world->kernel, c->after, FAKE_FOREIGN);
    const GPtrArray *nics = rails->nics;

    if (difference)
        return broken(c, "foreign rules or routes changed:\n%s", difference);
    for (guint i = 0; i < nics->len; i++) {
        if (!sysctls_stay(c, g_ptr_array_index(nics, i)))
            return FALSE;
    }
    return TRUE;
}

/* ---- (c) all or nothing per unit ---- */

/* A route whose source is gone, whose gateway has become an address of ours, or with a dead nexthop, stays in
 * the kernel, but cannot be added again: no way back from its deletion. */
static gboolean is_irreversible(const IbhSnapshot *world, const IbhOp *op)
{
    const IbhRoute *gone = op->type == IBH_OP_ROUTE_DEL       ? &op->route
                           : op->type == IBH_OP_ROUTE_REPLACE ? &op->replaced
                                                              : NULL;

    if (!gone)
        return FALSE;
    IBH_EACH_HOP (hop, gone) {
        if (hop->dead)
            return TRUE;
    }
    return (gone->src.family && !is_local_address(world, &gone->src)) ||
           (gone->gateway.family && is_local_address(world, &gone->gateway));
}

/* Operation i is undone where k fails. */
static gboolean falls_with(const Planned *planned, guint i, guint k)
{
    return i == k || ibh_unit_is_same(&op_at(planned, i)->unit, &op_at(planned, k)->unit);
}

static gboolean unit_has_way_back(const Case *c, guint k)
{
    for (guint i = 0; i < n_ops(c->planned); i++) {
        if (falls_with(c->planned, i, k) && is_irreversible(c->world->kernel->now, op_at(c->planned, i)))
            return FALSE;
    }
    return TRUE;
}

/* What must stand when operation k fails: all other units. */
static FakeKernel *without_unit_of(const Case *c, guint k)
{
    FakeKernel *kernel = fake_kernel_clone(c->world->kernel);

    for (guint i = 0; i < n_ops(c->planned); i++) {
        if (!falls_with(c->planned, i, k))
            fake_execute(kernel, op_at(c->planned, i), NULL);
    }
    return kernel;
}

/* One message, that says what, where and why; and nothing of the unit is among what was done, but all else. */
static gboolean is_said(Case *c, guint k, int code, const IbhOutcome *outcome)
{
    const IbhOp *failed = op_at(c->planned, k);
    const char *message = outcome->errors->len == 1 ? g_ptr_array_index(outcome->errors, 0) : "";
    g_autofree char *command = ibh_op_command(failed);
    guint expected = 0, same = 0;

    if (!strstr(message, ibh_op_name(failed->type)) || !strstr(message, failed->iface) ||
        !strstr(message, g_strerror(code)) || strstr(message, "could not be taken back") ||
        (strstr(message, "; the state before is back: ") != NULL) != (failed->unit.kind != IBH_UNIT_NONE))
        return broken(c, "operation %u (%s) failed, with %u messages: %s", k + 1, command, outcome->errors->len,
                      message);
    for (guint i = 0; i < n_ops(c->planned); i++)
        expected += !falls_with(c->planned, i, k);
    IBH_EACH_POINTER (const IbhOp, op, outcome->done)
        same += ibh_unit_is_same(&op->unit, &failed->unit) ? 1 : 0;
    return (outcome->done->len == expected && !same) ||
           broken(c, "operation %u (%s) failed, and %u are said to be done, not %u", k + 1, command, outcome->done->len,
                  expected);
}

/* The failed unit may have had to take that rule away, as its table is another NIC's now: nothing makes it a rail then.
 */
static gboolean has_rail_by_rule_alone(const IbhRails *rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL && nic->reason.why == IBH_WHY_STAYS)
            return TRUE;
    }
    return FALSE;
}

static gboolean next_run_converges(Case *c, FakeKernel *kernel, guint k, const char *after)
{
    g_autofree char *command = ibh_op_command(op_at(c->planned, k));
    g_autoptr(Planned) again = world_plan(c->world->config, kernel, WORLD_APPLY, NULL);

    if (world_run(kernel, again))
        return broken(c, "operation %u (%s) failed%s, and the next run was refused something", k + 1, command, after);
    if (has_duplicates(kernel->now) ||
        has_rail_by_rule_alone(c->planned->rails)) /* whose the standing rule is may look different now */
        return TRUE;
    return same_end(c, c->world->config, c->after, kernel, "after a failure, the next run comes to another end");
}

static gboolean fails_well_at(Case *c, guint k)
{
    static const int codes[] = {EPERM, EEXIST, ENOENT, ESRCH, ENETDOWN, EINVAL, ENOBUFS, ENOMEM, EBUSY, EROFS};
    int code = codes[(c->seed + k) % G_N_ELEMENTS(codes)];
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(c->world->kernel), expected = without_unit_of(c, k);
    g_autofree char *command = ibh_op_command(op_at(c->planned, k));
    g_autofree char *what =
        g_strdup_printf("operation %u (%s) failed, and its unit is not back where it was", k + 1, command);
    g_autoptr(IbhOutcome) outcome = NULL;

    fake_fail_at(kernel, k + 1, code);
    outcome = world_try(kernel, c->planned);
    fake_fail_at(kernel, 0, 0);
    if (!is_said(c, k, code, outcome))
        return FALSE;
    if (kernel->inexact)
        return broken(c, "operation %u (%s) failed, and the way back hit something else than it named", k + 1, command);
    return same_world(c, expected, kernel, what) && next_run_converges(c, kernel, k, "");
}

/* TRUE if something of the unit that fails with its operation number k was done before, and would have to go. */
static gboolean leaves_something(const Planned *planned, guint k)
{
    IbhOp inverse;

    for (guint i = 0; i < k; i++) {
        if (falls_with(planned, i, k) && ibh_op_inverse(op_at(planned, i), &inverse))
            return TRUE;
    }
    return FALSE;
}

/* From k on all is refused, the way back as well: that is said, and the next run repairs everything. */
static gboolean is_honest_from(Case *c, guint k)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(c->world->kernel);
    g_autoptr(IbhOutcome) outcome = NULL;
    const char *message;

    fake_fail_at(kernel, k + 1, EIO);
    kernel->fail_on = TRUE;
    outcome = world_try(kernel, c->planned);
    fake_fail_at(kernel, 0, 0);
    message = g_ptr_array_index(outcome->errors, 0);
    if (!strstr(message, g_strerror(EIO)) ||
        (strstr(message, "could not be taken back") != NULL) != leaves_something(c->planned, k))
        return broken(c, "all from operation %u on failed, and the message is wrong about why, or what is left: %s",
                      k + 1, message);
    return next_run_converges(c, kernel, k, " and all after it");
}

static gboolean failures_are_contained(Case *c)
{
    guint step = 1 + n_ops(c->planned) / 12, first = (guint)(c->seed % step);

    for (guint k = first; k < n_ops(c->planned); k += step) {
        if (unit_has_way_back(c, k) && (!fails_well_at(c, k) || !is_honest_from(c, k)))
            return FALSE;
    }
    return TRUE;
}

/* ---- (d) there is a way back from everywhere; and a command does what its operation does ---- */

static gboolean rolls_back_from(Case *c, const Planned *planned, const FakeKernel *start, guint end)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(start);
    g_autofree char *what = g_strdup_printf("rolled back after %u operations, the world is not what it was", end);

    for (guint i = 0; i < end; i++) {
        if (is_irreversible(kernel->now, op_at(planned, i)))
            return TRUE;
        fake_execute(kernel, op_at(planned, i), NULL);
    }
    for (guint i = end; i > 0; i--) {
        g_autoptr(GError) error = NULL;
        IbhOp inverse;

        if (!ibh_op_inverse(op_at(planned, i - 1), &inverse) || fake_execute(kernel, &inverse, &error))
            continue;
        return broken(c, "the inverse of operation %u is refused: %s", i, error->message);
    }
    if (kernel->inexact)
        return broken(c, "on the way back from operation %u, something else was hit than was named", end);
    return same_world(c, start, kernel, what);
}

static gboolean command_is_exact(Case *c, const FakeKernel *before, const FakeKernel *after, const IbhOp *op)
{
    g_autoptr(FakeKernel) pasted = fake_kernel_clone(before);
    g_autofree char *command = ibh_op_command(op), *difference = NULL;
    g_autoptr(GError) error = NULL;

    if (!fake_try(pasted, command, &error))
        return broken(c, "pasted, %s is refused: %s", command, error->message);
    difference = fake_difference(after, pasted, FAKE_ALL);
    return !difference || broken(c, "pasted, %s does something else:\n%s", command, difference);
}

static gboolean commands_are_exact(Case *c, const Planned *planned, const FakeKernel *start)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(start);

    for (guint i = 0; i < n_ops(planned); i++) {
        g_autoptr(FakeKernel) before = fake_kernel_clone(kernel);

        fake_execute(kernel, op_at(planned, i), NULL);
        if (!command_is_exact(c, before, kernel, op_at(planned, i)))
            return FALSE;
    }
    return TRUE;
}

static gboolean there_is_a_way_back(Case *c)
{
    guint half = (guint)(c->seed / 7 % (n_ops(c->planned) + 1)),
          half_undo = (guint)(c->seed / 7 % (n_ops(c->undo) + 1));

    return rolls_back_from(c, c->planned, c->world->kernel, n_ops(c->planned)) &&
           rolls_back_from(c, c->planned, c->world->kernel, half) &&
           rolls_back_from(c, c->undo, c->after, n_ops(c->undo)) && rolls_back_from(c, c->undo, c->after, half_undo);
}

static gboolean commands_can_be_pasted(Case *c)
{
    return commands_are_exact(c, c->planned, c->world->kernel) && commands_are_exact(c, c->undo, c->after);
}

/* ---- (e) no packet is lost on the way ---- */

/* An address that packets can be sent from as from any other: not of the link alone, not tentative. */
static gboolean is_served(const IbhAddress *address)
{
    return address->scope < (address->local.family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_LINK) && !address->tentative;
}

static gboolean is_address_up(const IbhSnapshot *world, const IbhAddress *address)
{
    const IbhLink *link = ibh_snapshot_link(world, address->ifindex);

    return link && (link->flags & IFF_UP) && is_served(address) && !ibh_address_is_host(address);
}

static gboolean is_candidate(const IbhRails *rails, int ifindex)
{
    const IbhNic *nic = ibh_rails_nic(rails, ifindex);

    return nic && nic->rank;
}

static gboolean is_wired(const IbhRails *rails, const IbhSnapshot *world, const IbhAddress *address)
{
    return is_address_up(world, address) && is_candidate(rails, address->ifindex);
}

/* Candidates of overlapping subnets are on one wire, and whoever is on a wire with them. */
static void find_wires(const IbhRails *rails, const IbhSnapshot *world, guint64 wires[64])
{
    for (int i = 0; i < 64; i++)
        wires[i] = fib_bit(i);
    for (guint i = 0; i < world->addresses->len; i++) {
        const IbhAddress *a = &g_array_index(world->addresses, IbhAddress, i);

        for (guint j = is_wired(rails, world, a) ? 0 : i; j < i; j++) {
            const IbhAddress *b = &g_array_index(world->addresses, IbhAddress, j);
            guint64 joined = wires[a->ifindex & 63] | wires[b->ifindex & 63];

            if (!ibh_prefix_overlaps(&a->subnet, &b->subnet) || !is_wired(rails, world, b))
                continue;
            for (int k = 0; k < 64; k++) {
                if (joined & fib_bit(k))
                    wires[k] = joined;
            }
        }
    }
}

static guint64 spread_wire(const guint64 wires[64], guint64 wire)
{
    for (int i = 0; i < 64; i++) {
        if (wire & fib_bit(i))
            wire |= wires[i];
    }
    return wire;
}

/* Candidates with a subnet that overlaps this one. */
static guint64 find_overlapping(const IbhRails *rails, const IbhSnapshot *world, const IbhPrefix *prefix)
{
    guint64 wire = 0;

    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (is_address_up(world, address) && is_candidate(rails, address->ifindex) &&
            ibh_prefix_overlaps(&address->subnet, prefix))
            wire |= fib_bit(address->ifindex);
    }
    return wire;
}

/* A router said that this prefix is on the link. */
static gboolean is_announced(const IbhRoute *route)
{
    return route->table == IBH_TABLE_MAIN && route->protocol == RTPROT_RA && route->gateway.family == AF_UNSPEC;
}

/* The links whose subnet this is: of the longest prefix that has it. */
static guint64 find_wire(const guint64 wires[64], const IbhRails *rails, const IbhSnapshot *world, const IbhIp *ip)
{
    guint64 wire = 0;
    guint longest = 0;

    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (!is_address_up(world, address) || !ibh_prefix_contains(&address->subnet, ip) ||
            address->subnet.length < longest)
            continue;
        if (address->subnet.length > longest)
            wire = 0;
        longest = address->subnet.length;
        wire |= fib_bit(address->ifindex);
    }
    for (guint i = 0; ip->family == AF_INET6 && i < world->routes->len; i++) {
        const IbhRoute *route = &g_array_index(world->routes, IbhRoute, i);

        if (!is_announced(route) || !is_candidate(rails, route->ifindex) || !ibh_prefix_contains(&route->dst, ip) ||
            route->dst.length < longest)
            continue;
        if (route->dst.length > longest)
            wire = 0;
        longest = route->dst.length;
        wire |= fib_bit(route->ifindex) | find_overlapping(rails, world, &route->dst);
    }
    return spread_wire(wires, wire);
}

/* A host of the subnet that is not ourselves, and not its first or last address; FALSE: none found. */
static gboolean find_neighbour(const IbhSnapshot *world, const IbhPrefix *subnet, IbhIp *ret_ip)
{
    guint host_bits = ibh_ip_bits(&subnet->ip) - subnet->length;
    guint size = host_bits > 7 ? 128 : 1u << host_bits;

    for (guint n = size; n > 0; n--) {
        IbhIp ip = subnet->ip;

        ip.bytes[ibh_ip_bits(&ip) / 8 - 1] |= (guint8)(n - 1);
        if (size > 2 && (n == 1 || (host_bits <= 7 && n == size)))
            continue;
        if (!is_local_address(world, &ip)) {
            *ret_ip = ip;
            return TRUE;
        }
    }
    return FALSE;
}

static void add_target(Reach *reach, const IbhRails *rails, const IbhSnapshot *world, const IbhIp *ip, gboolean local)
{
    Target target = {.ip = *ip, .local = local};

    for (guint i = 0; i < reach->n_targets; i++) {
        if (ibh_ip_equal(&reach->targets[i].ip, ip))
            return;
    }
    if (reach->n_targets == MAX_TARGETS)
        return;
    if (!local)
        target.wire = find_wire(reach->wires, rails, world, ip);
    reach->targets[reach->n_targets++] = target;
}

static void add_source(Reach *reach, const IbhIp *ip)
{
    for (guint i = 0; i < reach->n_sources; i++) {
        if (ibh_ip_equal(&reach->sources[i], ip))
            return;
    }
    if (reach->n_sources < MAX_SOURCES)
        reach->sources[reach->n_sources++] = *ip;
}

/* Then traffic to ourselves already depends on what our tables happen to hold. */
static gboolean ours_before_local(const IbhSnapshot *world, int family)
{
    IBH_EACH (const IbhRule, rule, world->rules) {
        if (rule->family == family && (rule->table == IBH_TABLE_LOCAL || fake_is_our_rule(rule)))
            return rule->table != IBH_TABLE_LOCAL;
    }
    return FALSE;
}

static void reach_init(Reach *reach, const IbhRails *rails, const IbhSnapshot *world)
{
    IbhIp outside = {.family = AF_INET, .bytes = {8, 8, 8, 8}}, unbound = {.family = AF_UNSPEC}, neighbour;
    gboolean has6 = FALSE;
    IbhIp outside6 = {.family = AF_INET6, .bytes = {0x20, 0x01, 0x48, 0x60, [15] = 0x88}};

    reach->n_sources = reach->n_targets = 0;
    find_wires(rails, world, reach->wires);
    add_source(reach, &unbound);
    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (!is_served(address))
            continue;
        add_source(reach, &address->local);
        has6 |= address->local.family == AF_INET6;
        if (is_address_up(world, address) && find_neighbour(world, &address->subnet, &neighbour))
            add_target(reach, rails, world, &neighbour, FALSE);
    }
    for (guint i = 1; i < MIN(reach->n_sources, 4); i++) {
        if (!ours_before_local(world, reach->sources[i].family))
            add_target(reach, rails, world, &reach->sources[i], TRUE);
    }
    add_target(reach, rails, world, &outside, FALSE);
    if (has6)
        add_target(reach, rails, world, &outside6, FALSE);
}

/* Not a default that is suppressed; but one that is unreachable is a result at once. */
static gboolean is_foreign_in_ours(const FibAnswer *answer)
{
    return answer->rule && fake_is_our_rule(answer->rule) && answer->rule->table != IBH_TABLE_MAIN && answer->route &&
           !fake_is_our_route(answer->route) &&
           ((gint64)answer->route->dst.length > answer->rule->suppress_prefixlength ||
            answer->route->type != RTN_UNICAST);
}

static Fate fate_of(const Target *target, const FibAnswer *answer)
{
    if (target->local)
        return answer->kind == FIB_LOCAL ? ARRIVES : LOST;
    if (is_foreign_in_ours(answer))
        return FOREIGN;
    if (answer->kind != FIB_DEVICE)
        return LOST;
    return !target->wire || (answer->devices & ~target->wire) == 0 ? ARRIVES : LOST;
}

/* A rule of somebody else decides: neither ours nor one that the kernel starts with; or it leads past ours. */
static gboolean is_led(const FibAnswer *answer)
{
    if (answer->jump)
        return TRUE;
    return answer->rule && !fake_is_our_rule(answer->rule) && answer->rule->table != IBH_TABLE_LOCAL &&
           answer->rule->priority < 32766;
}

static Way find_way(const IbhSnapshot *world, const IbhIp *source, const Target *target)
{
    FibAnswer answer;

    if (source->family && source->family != target->ip.family)
        return (Way){.fate = LOST};
    answer = fib_lookup(world, source->family ? source : NULL, &target->ip);

    return (Way){.fate = fate_of(target, &answer),
                 .by = answer.ifindex,
                 .devices = answer.devices,
                 .led = is_led(&answer),
                 .route = answer.route};
}

static void reach_ask(const Reach *reach, const IbhSnapshot *world, Ways *ways)
{
    for (guint i = 0; i < reach->n_sources; i++) {
        for (guint j = 0; j < reach->n_targets; j++)
            ways->of[i][j] = find_way(world, &reach->sources[i], &reach->targets[j]);
    }
}

static gboolean lost(Case *c, const FakeKernel *kernel, guint i, guint j, const char *what, const char *when)
{
    const Reach *reach = &c->reach;
    FibAnswer answer =
        fib_lookup(kernel->now, reach->sources[i].family ? &reach->sources[i] : NULL, &reach->targets[j].ip);
    g_autofree char *text = fib_describe(kernel->now, &answer);
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    return broken(c, "%s, what %s sends to %s %s: %s", when, ibh_ip_format(&reach->sources[i], from),
                  ibh_ip_format(&reach->targets[j].ip, to), what, text);
}

/* The judge here knows selectors by name alone. */
static gboolean is_known_to_both(const IbhRule *rule)
{
    return !(rule->selectors & ~(guint)IBH_SELECT_TO) && !rule->l3mdev;
}

static gboolean walk_is_right(Case *c)
{
    const IbhSnapshot *now = c->after->now;
    g_autoptr(IbhFib) fib = ibh_fib_new(now);

    IBH_EACH (const IbhRule, rule, now->rules) {
        if (!is_known_to_both(rule))
            return TRUE;
    }
    ibh_fib_add_snapshot(fib, now, TRUE);
    for (guint i = 0; i < c->reach.n_sources; i++) {
        for (guint j = 0; j < c->reach.n_targets; j++) {
            const IbhIp *from = &c->reach.sources[i];
            IbhLookup packet = {.from = *from, .to = c->reach.targets[j].ip};
            FibAnswer answer;
            IbhTrace trace;

            if (from->family && from->family != packet.to.family)
                continue;
            packet.from.family = packet.to.family;
            answer = fib_lookup(now, from->family ? from : NULL, &packet.to);
            trace = ibh_fib_walk(fib, &packet);
            if (answer.rule != trace.rule || answer.route != trace.route)
                return lost(c, c->after, i, j, "goes by the walk elsewhere", "afterwards");
        }
    }
    return TRUE;
}

/* Only these can change: the source of the rule; those whose rules lead to the table, for what the route covers. */
static gboolean may_change(const IbhSnapshot *world, const IbhOp *op, const IbhIp *source)
{
    const IbhIp *bound = source->family ? source : NULL;

    if (op->type == IBH_OP_RULE_ADD || op->type == IBH_OP_RULE_DEL)
        return fib_rule_matches(&op->rule, op->rule.family, bound, NULL);
    IBH_EACH (const IbhRule, rule, world->rules) {
        if (rule->table == op->route.table && fib_rule_matches(rule, op->route.family, bound, NULL))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_rule_op(const IbhOp *op)
{
    return op->type == IBH_OP_RULE_ADD || op->type == IBH_OP_RULE_DEL;
}

static gboolean is_route_op(const IbhOp *op)
{
    return op->type == IBH_OP_ROUTE_ADD || op->type == IBH_OP_ROUTE_DEL || op->type == IBH_OP_ROUTE_REPLACE;
}

typedef struct {
    guint32 from, to;
} Move;

/* Of what goes from one table, whose it is, and which table that rail has. */
static GArray *find_moves(const Planned *planned)
{
    GArray *moves = g_array_new(FALSE, FALSE, sizeof(Move));

    for (guint i = 0; i < n_ops(planned); i++) {
        const IbhOp *op = op_at(planned, i);
        const IbhRoute *route = op->type == IBH_OP_ROUTE_REPLACE ? &op->replaced : &op->route;
        const IbhNic *nic = ibh_rails_nic(planned->rails, op->type == IBH_OP_RULE_DEL ? op->ifindex : route->ifindex);
        Move move = {.from = op->type == IBH_OP_RULE_DEL ? op->rule.table : route->table};

        if (!nic || op->type == IBH_OP_ROUTE_ADD || (!is_rule_op(op) && !is_route_op(op)))
            continue;
        move.to = nic->table;
        if (nic->rank && !ibh_nic_has_table(nic, move.from))
            g_array_append_val(moves, move);
    }
    return moves;
}

/* Whether rails move from table to table in a circle: moves into a table that nothing leaves are taken away until
 * there is none. */
static gboolean moves_in_circle(const Planned *planned)
{
    g_autoptr(GArray) moves = find_moves(planned);
    gboolean fewer = TRUE;

    while (fewer) {
        fewer = FALSE;
        for (guint i = moves->len; i > 0; i--) {
            gboolean blocked = FALSE;

            for (guint j = 0; j < moves->len; j++)
                blocked |= g_array_index(moves, Move, j).from == g_array_index(moves, Move, i - 1).to;
            if (!blocked) {
                g_array_remove_index(moves, i - 1);
                fewer = TRUE;
            }
        }
    }
    return moves->len > 0;
}

/* NULL where all is well. What leaves through one NIC before and after leaves through that one in between, too. Where
 * somebody's own rule leads into a rail's table, what the rail needs there is what they get. */
static const char *whats_wrong(const Way *before, const Way *after, const Way *now)
{
    if (before->fate != ARRIVES || before->led || after->fate == LOST || after->led || now->led)
        return NULL;
    if (now->fate == LOST)
        return "is lost";
    if (after->fate != ARRIVES)
        return NULL;
    return before->devices == after->devices && now->devices != after->devices ? "strays" : NULL;
}

static gboolean is_of_no_rail(const IbhRails *rails, int ifindex)
{
    const IbhNic *nic = ibh_rails_nic(rails, ifindex);

    return nic && nic->status != IBH_NIC_RAIL;
}

typedef struct {
    const Planned *planned;
    const FakeKernel *start;
    const Ways *before, *after;
    gboolean
        may_stray; /* rails exchange tables, or one is left as it happens to be: it counts only what goes nowhere */
} Journey;

/* The route that main itself would take. */
static const IbhRoute *find_in_main(const IbhSnapshot *world, const IbhIp *to)
{
    for (const IbhRoute *route = fib_first(world, IBH_TABLE_MAIN); route; route = fib_next(world, route)) {
        if (ibh_prefix_contains(&route->dst, to))
            return route;
    }
    return NULL;
}

/* A route of ours that neither an address nor a route of main stands for any more. */
static gboolean is_left_over(const IbhSnapshot *world, const IbhRoute *route)
{
    if (!fake_is_our_route(route) || route->type != RTN_UNICAST)
        return FALSE;
    for (const IbhRoute *other = fib_first(world, IBH_TABLE_MAIN); other; other = fib_next(world, other)) {
        if (ibh_prefix_equal(&other->dst, &route->dst))
            return FALSE;
    }
    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (address->ifindex == route->ifindex && !address->tentative &&
            ibh_prefix_equal(&address->subnet, &route->dst))
            return FALSE;
    }
    return TRUE;
}

/* In a rail's own table it serves the rail by chance, and goes before the rail's own is there. */
static gboolean was_by_chance(const Case *c, const Way *before, guint i)
{
    const IbhNic *nic = ibh_rails_owner(c->planned->rails, &c->reach.sources[i]);

    return nic && before->route && before->route->table == nic->table &&
           is_left_over(c->world->kernel->now, before->route);
}

static gboolean pair_is_kept(Case *c, const Journey *journey, const FakeKernel *kernel, const IbhOp *op, guint i,
                             guint j)
{
    const Target *target = &c->reach.targets[j];
    Way now = find_way(kernel->now, &c->reach.sources[i], target);
    const Way *before = &journey->before->of[i][j];
    const char *wrong = whats_wrong(before, &journey->after->of[i][j], &now);
    g_autofree char *command = NULL, *when = NULL;

    /* Rails that exchange tables may pass through an undo: then main decides, and may have no route either. */
    if (!wrong || (journey->may_stray && (now.by || !find_in_main(kernel->now, &target->ip))) ||
        was_by_chance(c, before, i))
        return TRUE;
    command = ibh_op_command(op);
    when = g_strdup_printf("after %s", command);
    return lost(c, kernel, i, j, wrong, when);
}

static gboolean has_guard(const IbhSnapshot *world, const IbhRule *rule)
{
    IBH_EACH (const IbhRule, other, world->rules) {
        if (fake_is_our_rule(other) && other->table == IBH_TABLE_MAIN && other->priority == rule->priority - 1 &&
            ibh_prefix_equal(&other->from, &rule->from) && ibh_prefix_equal(&other->to, &rule->to))
            return TRUE;
    }
    return FALSE;
}

/* A rule of ours leads to a table, and the one before it that asks main first is missing. No run leaves that: the two
 * come and go in this order. Somebody tore them apart, and until both are there again main's longer prefixes stray. */
static gboolean is_torn(const IbhSnapshot *world, const IbhIp *source)
{
    IBH_EACH (const IbhRule, rule, world->rules) {
        if (fake_is_our_rule(rule) && rule->table != IBH_TABLE_MAIN && rule->to.length < ibh_ip_bits(&rule->from.ip) &&
            fib_rule_matches(rule, rule->family, source->family ? source : NULL, NULL) && !has_guard(world, rule))
            return TRUE;
    }
    return FALSE;
}

static gboolean step_keeps(Case *c, const Journey *journey, const FakeKernel *kernel, const IbhOp *op)
{
    for (guint i = 0; i < c->reach.n_sources; i++) {
        /* An address that two NICs have is an error already: nobody can say by which it should leave. */
        if (count_holders(kernel->now, &c->reach.sources[i]) > 1 ||
            is_torn(journey->start->now, &c->reach.sources[i]) || !may_change(kernel->now, op, &c->reach.sources[i]))
            continue;
        for (guint j = 0; j < c->reach.n_targets; j++) {
            const IbhIp *to = &c->reach.targets[j].ip;

            if (journey->before->of[i][j].fate == ARRIVES && op->unit.family == to->family &&
                (is_rule_op(op) || ibh_prefix_contains(&op->route.dst, to)) &&
                !pair_is_kept(c, journey, kernel, op, i, j))
                return FALSE;
        }
    }
    return TRUE;
}

static gboolean every_step_keeps(Case *c, Journey *journey)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(journey->start);

    journey->may_stray = moves_in_circle(journey->planned) || any_blocked(journey->planned->rails);
    for (guint i = 0; i < n_ops(journey->planned); i++) {
        const IbhOp *op = op_at(journey->planned, i);

        fake_execute(kernel, op, NULL);
        if ((is_rule_op(op) || is_route_op(op)) && !step_keeps(c, journey, kernel, op))
            return FALSE;
    }
    return TRUE;
}

static gboolean nothing_is_lost_applying(Case *c)
{
    Journey journey = {.planned = c->planned, .start = c->world->kernel, .before = &c->before, .after = &c->then};

    return every_step_keeps(c, &journey);
}

static gboolean nothing_is_lost_undoing(Case *c)
{
    Journey journey = {.planned = c->undo, .start = c->after, .before = &c->then, .after = &c->at_last};

    return every_step_keeps(c, &journey);
}

/* ---- (f) what it is for ---- */

static FakeKernel *without_ours(const FakeKernel *kernel)
{
    FakeKernel *plain = fake_kernel_clone(kernel);

    for (guint i = plain->now->rules->len; i > 0; i--) {
        if (fake_is_our_rule(&g_array_index(plain->now->rules, IbhRule, i - 1)))
            g_array_remove_index(plain->now->rules, i - 1);
    }
    for (guint i = plain->now->routes->len; i > 0; i--) {
        if (fake_is_our_route(&g_array_index(plain->now->routes, IbhRoute, i - 1)))
            g_array_remove_index(plain->now->routes, i - 1);
    }
    return plain;
}

/* Of the same prefix by a rail and by another NIC, the rail's is taken; and main's error routes are obeyed where
 * somebody else's rule went around them. */
static gboolean is_meant_so(const Way *before, const Way *after)
{
    return before->led ||
           (after->route && fake_is_our_route(after->route) && before->route->dst.length <= after->route->dst.length);
}

/* What arrives without us arrives with us. */
static gboolean nothing_is_worse_than_without_us(Case *c)
{
    const IbhRails *rails = c->planned->rails;

    if (any_blocked(rails)) /* then ours from earlier stays as it is */
        return TRUE;
    for (guint i = 0; i < c->reach.n_sources; i++) {
        for (guint j = 0; j < c->reach.n_targets; j++) {
            const Way *without = &c->without.of[i][j], *then = &c->then.of[i][j];

            if (without->fate == ARRIVES && then->fate == LOST && !then->led && !is_meant_so(without, then))
                return lost(c, c->after, i, j, "is lost", "after all, though not without us");
        }
    }
    return TRUE;
}

/* Main has a longer prefix for it: there it goes. */
static gboolean belongs_elsewhere(const IbhSnapshot *world, const IbhPrefix *subnet, const IbhIp *ip)
{
    for (const IbhRoute *route = fib_first(world, IBH_TABLE_MAIN); route; route = fib_next(world, route)) {
        if (route->dst.length > subnet->length && ibh_prefix_contains(&route->dst, ip))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_foreign_in_table(const IbhSnapshot *world, guint32 table, const IbhIp *ip)
{
    for (const IbhRoute *route = fib_first(world, table); route; route = fib_next(world, route)) {
        if (!fake_is_our_route(route) && ibh_prefix_contains(&route->dst, ip))
            return TRUE;
    }
    return FALSE;
}

/* A host on the wire made it: by a lifetime, or by the protocol of main's only routes to its subnet through the NIC. */
static gboolean is_advertised(const IbhSnapshot *world, const IbhAddress *address)
{
    guint routes = 0, by_ra = 0;

    if (address->local.family != AF_INET6 || address->subnet.length == 128)
        return FALSE;
    IBH_EACH (const IbhRoute, route, world->routes) {
        IbhRoute part;

        if (route->table != RT_TABLE_MAIN || !ibh_prefix_equal(&route->dst, &address->subnet) ||
            route->type != RTN_UNICAST || !ibh_route_part(route, address->ifindex, &part))
            continue;
        routes++;
        by_ra += route->protocol == RTPROT_RA;
    }
    return address->dynamic || (routes && routes == by_ra);
}

/* Our table of this NIC has four subnets of this family, and not this one. */
static gboolean has_four_others(const Case *c, const IbhNic *nic, const IbhPrefix *subnet)
{
    guint others = 0;

    IBH_EACH (const IbhRoute, route, c->after->now->routes) {
        if (route->table != nic->table || route->family != subnet->ip.family || !fake_is_our_route(route))
            continue;
        if (ibh_prefix_equal(&route->dst, subnet))
            return FALSE;
        others++;
    }
    return others >= 4;
}

static gboolean subnet_is_right(Case *c, const IbhNic *nic, const IbhAddress *source, const IbhPrefix *subnet)
{
    const IbhSnapshot *now = c->after->now;
    g_autofree char *text = NULL;
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];
    FibAnswer answer;
    IbhIp neighbour;

    if (!find_neighbour(now, subnet, &neighbour) || belongs_elsewhere(now, subnet, &neighbour) ||
        is_foreign_in_table(now, nic->table, &neighbour))
        return TRUE;
    answer = fib_lookup(now, &source->local, &neighbour);
    if (answer.kind == FIB_DEVICE && answer.ifindex == nic->link->ifindex)
        return TRUE;
    if (answer.jump ? answer.jump->priority <= IBH_PRIORITY_BASE
                    : answer.rule && !fake_is_our_rule(answer.rule) && answer.rule->priority <= IBH_PRIORITY_BASE)
        return TRUE;
    if (answer.route && answer.kind == FIB_UNREACHABLE && !fake_is_our_route(answer.route) &&
        (answer.route->table == IBH_TABLE_MAIN || (!fake_is_our_rule(answer.rule) && answer.rule->from.length)))
        return TRUE; /* main's own errors are obeyed where it lacks the subnet, and theirs where they lead the source */
    text = fib_describe(now, &answer);
    return broken(c, "%s of %s to %s: %s", ibh_ip_format(&source->local, from), nic->link->name,
                  ibh_ip_format(&neighbour, to), text);
}

/* In IPv6 an address does not make its prefix one of the link: a route of main does. */
static gboolean is_on_link(const IbhSnapshot *world, const IbhAddress *address)
{
    for (const IbhRoute *route = address->local.family == AF_INET6 ? fib_first(world, IBH_TABLE_MAIN) : NULL; route;
         route = fib_next(world, route)) {
        if (route->ifindex == address->ifindex && route->gateway.family == AF_UNSPEC &&
            ibh_prefix_equal(&route->dst, &address->subnet))
            return TRUE;
    }
    return address->local.family == AF_INET;
}

static gboolean is_simple(const IbhRoute *route)
{
    return route->nexthops == 1 && !route->special && !route->encapsulated;
}

/* Main's first route to exactly this subnet, through this NIC alone (0: through any). */
static gboolean find_way_in_main(const IbhSnapshot *world, int ifindex, const IbhPrefix *subnet, IbhRoute *ret_part)
{
    for (const IbhRoute *route = fib_first(world, IBH_TABLE_MAIN); route; route = fib_next(world, route)) {
        if (ibh_prefix_equal(&route->dst, subnet) && route->type == RTN_UNICAST && !route->special &&
            ibh_route_part(route, ifindex ? ifindex : route->ifindex, ret_part))
            return TRUE;
    }
    return FALSE;
}

/* Main reaches the subnet via a gateway of another NIC, or in a way that a route of ours cannot: it decides. */
static gboolean main_decides(const IbhSnapshot *world, const IbhAddress *address)
{
    IbhRoute part;

    if (find_way_in_main(world, address->ifindex, &address->subnet, &part))
        return !is_simple(&part) || is_local_address(world, &part.gateway);
    return find_way_in_main(world, 0, &address->subnet, &part) && part.gateway.family != AF_UNSPEC;
}

/* Others do not route it. */
static gboolean is_programmed(const IbhNic *nic, const IbhIp *ip)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->programmed) {
        if (ibh_ip_equal(&address->local, ip))
            return TRUE;
    }
    return FALSE;
}

/* What a host on the wire announces beside the rail's own prefixes is the network of another NIC of this host. */
static gboolean is_of_another_nic(Case *c, const IbhNic *nic, const IbhPrefix *prefix)
{
    gboolean is_elsewhere = FALSE;

    IBH_EACH (const IbhPair, pair, nic->pairs) {
        if (ibh_prefix_is_inside(prefix, &pair->to))
            return FALSE;
    }
    IBH_EACH (const IbhAddress, address, c->after->now->addresses)
        is_elsewhere |=
            is_of_no_rail(c->planned->rails, address->ifindex) && ibh_prefix_contains(prefix, &address->local);
    return is_elsewhere;
}

static gboolean rail_is_right(Case *c, const IbhNic *nic)
{
    const GArray *addresses = c->after->now->addresses;

    IBH_EACH (const IbhAddress, source, addresses) {
        if (source->ifindex != nic->link->ifindex || !is_served(source) ||
            ibh_rails_owner(c->planned->rails, &source->local) != nic)
            continue;
        IBH_EACH (const IbhAddress, address, addresses) {
            /* What the wire makes is bounded: main decides about the rest. */
            if (is_advertised(c->after->now, address) &&
                (has_four_others(c, nic, &address->subnet) ||
                 (!ibh_prefix_contains(&address->subnet, &source->local) &&
                  (is_advertised(c->after->now, source) || is_of_another_nic(c, nic, &address->subnet)))))
                continue;
            if (address->ifindex == nic->link->ifindex && address->local.family == source->local.family &&
                (is_programmed(nic, &source->local) || /* others may route its own subnet alone */
                 ibh_prefix_equal(&address->subnet, &source->subnet)) &&
                is_address_up(c->after->now, address) && is_on_link(c->after->now, address) &&
                !main_decides(c->after->now, address) && !subnet_is_right(c, nic, source, &address->subnet))
                return FALSE;
        }
    }
    return TRUE;
}

static gboolean rails_are_right(Case *c)
{
    const GPtrArray *nics = c->planned->rails->nics;

    if (any_blocked(c->planned->rails)) /* its old rule for an address that a rail has, too, is left where it is */
        return TRUE;
    IBH_EACH_POINTER (const IbhNic, nic, nics) {
        if (nic->status == IBH_NIC_RAIL && !rail_is_right(c, nic))
            return FALSE;
    }
    return TRUE;
}

/* ---- which packets a rule meets, and who answers for a NIC ---- */

/* Before those that lead to defaults, a rule of ours names its destination: it meets no packet that is not for there,
 * so neither an old rule nor a new route leads others' packets astray while a plan runs. */
static gboolean rules_name_their_destination(Case *c)
{
    for (guint i = 0; i < n_ops(c->planned); i++) {
        const IbhOp *op = op_at(c->planned, i);
        g_autofree char *command = ibh_op_command(op);

        if (op->type == IBH_OP_RULE_ADD && op->rule.priority < IBH_PRIORITY_DEFAULTS - 1 && !op->rule.to.length)
            return broken(c, "operation %u meets packets for everywhere: %s", i + 1, command);
    }
    return TRUE;
}

/* With both values of ours nobody answers for a NIC while its rules are missing. */
static gboolean one_arp_value_is_enough(Case *c)
{
    IBH_EACH_POINTER (const IbhNic, nic, c->planned->rails->nics) {
        const IbhLink *link = ibh_snapshot_link(c->after->now, nic->link->ifindex);

        if (nic->settings.arp == IBH_ARP_AUTO && is_our_value(c->after->now, link, IBH_SYSCTL_ARP_IGNORE) &&
            is_our_value(c->after->now, link, IBH_SYSCTL_ARP_FILTER))
            return broken(c, "%s has arp_ignore=%d and arp_filter=%d, both of ours", link->name,
                          link->sysctl[IBH_SYSCTL_ARP_IGNORE], link->sysctl[IBH_SYSCTL_ARP_FILTER]);
    }
    return TRUE;
}

/* ---- (g) undo ---- */

static gboolean has_ours(const FakeKernel *kernel)
{
    g_autoptr(FakeKernel) plain = without_ours(kernel);

    return plain->now->rules->len != kernel->now->rules->len || plain->now->routes->len != kernel->now->routes->len;
}

static gboolean undo_gives_all_back(Case *c)
{
    const FakeKernel *before = c->world->kernel;
    g_autoptr(FakeKernel) undone_at_once = fake_kernel_clone(before);
    g_autoptr(Planned) at_once = world_plan(c->world->config, before, WORLD_UNDO, NULL);

    if (has_ours(c->undone))
        return broken(c, "something of ours stands after --undo");
    if (!has_ours(before) && !before->now->state->sysctls->len &&
        !same_world(c, before, c->undone, "after --apply and --undo, the world is not what it was"))
        return FALSE;
    if (world_run(undone_at_once, at_once) || undone_at_once->inexact)
        return broken(c, "--undo of the world as it was is refused something");
    if (!same_world(c, undone_at_once, c->undone, "--apply and --undo come to another end than --undo alone"))
        return FALSE;
    return nothing_left(c, c->world->config, c->undone, WORLD_UNDO, "a second --undo");
}

/* ---- an --apply that was not confirmed ---- */

static gboolean lacks_gateway(const Planned *planned, const IbhRoute *route)
{
    IBH_EACH (const IbhAddress, address, planned->seen->addresses) {
        if (address->ifindex == route->ifindex && ibh_prefix_contains(&address->subnet, &route->gateway))
            return FALSE;
    }
    return route->gateway.family != AF_UNSPEC && !ibh_ip_is_fe80(&route->gateway) && !route->onlink;
}

/* The kernel would not take it again, or it was of an address that had gone. */
static gboolean goes_for_good(const Planned *planned, const IbhOp *op)
{
    if (op->type == IBH_OP_RULE_DEL)
        return !ibh_rule_is_spread(&op->rule) && !count_holders(planned->seen, &op->rule.from.ip);
    if (op->type == IBH_OP_ROUTE_DEL || op->type == IBH_OP_ROUTE_REPLACE)
        return op->for_good || lacks_gateway(planned, op->type == IBH_OP_ROUTE_DEL ? &op->route : &op->replaced);
    return FALSE;
}

static gboolean can_all_come_back(const Planned *planned)
{
    for (guint i = 0; i < n_ops(planned); i++) {
        if (goes_for_good(planned, op_at(planned, i)))
            return FALSE;
    }
    return TRUE;
}

static Planned *plan_back(const Case *c, const FakeKernel *kernel)
{
    const IbhTrial trial = {.made = c->planned->plan, .then = c->planned->seen};
    Planned *planned = g_new0(Planned, 1);

    planned->seen = fake_look(kernel, c->world->config);
    planned->rails = ibh_rails_find(c->world->config, planned->seen, &(IbhRequest){.respects_holds = FALSE}, NULL);
    planned->plan = ibh_trial_plan_back(planned->rails, &trial);
    return planned;
}

/* What is kept as it was is changed for its own NIC only, by its name; its end tells peers who has its address. 0: for
 * none. */
static gboolean changes_only(Case *c, const Planned *planned, int ifindex, const char *who)
{
    for (guint i = 0; i < n_ops(planned); i++) {
        const IbhOp *op = op_at(planned, i);
        g_autofree char *command = ibh_op_command(op);

        if (ifindex && op->type == IBH_OP_ANNOUNCE)
            continue;
        if (op->ifindex && op->ifindex != ifindex)
            return broken(c, "kept as it was, %s changes it: %s", who, command);
    }
    return TRUE;
}

/* And hooks change nothing there: they would apply the same configuration again. Nor does the end of another rail. */
static gboolean state_before_comes_back(Case *c)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(c->after);
    g_autoptr(Planned) back = NULL, event = NULL;

    ibh_state_lift(kernel->now->state, NULL); /* by that --apply */
    back = plan_back(c, kernel);
    if (world_run(kernel, back) || kernel->inexact)
        return broken(c, "giving the state before back is refused something");
    if (can_all_come_back(c->planned) &&
        !same_world(c, c->world->kernel, kernel, "not confirmed, the world is not what it was"))
        return FALSE;
    IBH_EACH_POINTER (const IbhNic, nic, back->rails->nics)
        ibh_state_keep(kernel->now->state, nic->link->name);
    event = world_plan(c->world->config, kernel, WORLD_EVENT, NULL);
    if (!changes_only(c, event, 0, "a hook"))
        return FALSE;
    IBH_EACH_POINTER (const IbhNic, nic, event->rails->nics) {
        const char *const only[] = {nic->link->name, NULL};
        g_autoptr(Planned) undo = nic->kept ? world_plan(c->world->config, kernel, WORLD_UNDO, only) : NULL;

        if (undo && !changes_only(c, undo, nic->link->ifindex, "the --undo of another one"))
            return FALSE;
    }
    return TRUE;
}

/* ---- (h) whatever the order of arrivals ---- */

/* The name of the link that a line makes, and what follows; NULL: it makes none. */
static const char *new_link(const char *text)
{
    if (g_str_has_prefix(text, "nic "))
        return text + strlen("nic ");
    return g_str_has_prefix(text, "ip link add ") ? text + strlen("ip link add ") : NULL;
}

static const char *parent_of(const char *text)
{
    const char *name = new_link(text);

    return name ? strstr(name, " link ") : NULL;
}

/* An address, a route or a child of the link that this piece is about. */
static gboolean belongs_to(const GPtrArray *piece, const char *text)
{
    const char *name = new_link(g_ptr_array_index(piece, 0)), *device = strstr(text, " dev ");
    gsize length = strcspn(name, " ");

    if (!device && !(device = parent_of(text)))
        return FALSE;
    device = strchr(device + 1, ' ') + 1;
    return strncmp(device, name, length) == 0 && strchr(" .", device[length]);
}

/* What is gone again, or left over from earlier runs, is history, and a rail stays one when its neighbour goes. */
static gboolean is_history(const char *text)
{
    return strstr(text, " mark ") || strstr(text, " del ") || g_str_has_prefix(text, "saved") ||
           g_str_has_prefix(text, "ip link set") || (g_str_has_prefix(text, "sysctl") && !strstr(text, "/all/"));
}

/* The world's lines in pieces: settings; a piece per link with its addresses (and its children); the rest. */
static GPtrArray *cut_in_pieces(const GPtrArray *lines)
{
    GPtrArray *pieces = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    GPtrArray *settings = lines_copy(lines), *rest = lines_copy(lines);

    g_ptr_array_set_size(settings, 0);
    g_ptr_array_set_size(rest, 0);
    g_ptr_array_add(pieces, settings);
    for (guint i = 0; i < lines->len && strcmp(g_ptr_array_index(lines, i), "do apply") != 0; i++) {
        const char *text = g_ptr_array_index(lines, i);
        GPtrArray *last = g_ptr_array_index(pieces, pieces->len - 1);

        if (g_str_has_prefix(text, "config"))
            g_ptr_array_add(settings, g_strdup(text));
        else if (new_link(text) && !parent_of(text)) {
            GPtrArray *piece = g_ptr_array_new_with_free_func(g_free);

            g_ptr_array_add(piece, g_strdup(text));
            g_ptr_array_add(pieces, piece);
        } else if (rest->len == 0 && pieces->len > 1 && belongs_to(last, text))
            g_ptr_array_add(last, g_strdup(text));
        else if (!is_history(text))
            g_ptr_array_add(rest, g_strdup(text));
    }
    g_ptr_array_add(pieces, rest);
    return pieces;
}

static void put_piece(GPtrArray *lines, const GPtrArray *piece)
{
    for (guint i = 0; i < piece->len; i++)
        g_ptr_array_add(lines, g_strdup(g_ptr_array_index(piece, i)));
}

/* `dice` NULL: in the order they have, and one run at the end. */
static GPtrArray *arrange(const GPtrArray *pieces, Dice *dice)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) order = g_ptr_array_new();

    for (guint i = 1; i + 1 < pieces->len; i++) {
        guint at = dice ? dice_roll(dice, i) : i - 1;

        g_ptr_array_insert(order, (gint)at, g_ptr_array_index(pieces, i));
    }
    put_piece(lines, g_ptr_array_index(pieces, 0));
    for (guint i = 0; i < order->len; i++) {
        put_piece(lines, g_ptr_array_index(order, i));
        if (dice && dice_chance(dice, 50))
            g_ptr_array_add(lines, g_strdup("do apply"));
    }
    put_piece(lines, g_ptr_array_index(pieces, pieces->len - 1));
    g_ptr_array_add(lines, g_strdup("do apply"));
    return lines;
}

/* Of what is tentative nothing is taken away: what stands is history, too. */
static gboolean is_tentative_somewhere(const FakeKernel *kernel)
{
    for (guint i = 0; i < kernel->now->addresses->len; i++) {
        if (g_array_index(kernel->now->addresses, IbhAddress, i).tentative)
            return TRUE;
    }
    return FALSE;
}

/* The kernel takes a route via an address that is not its own yet, and refuses one via an address that is. */
static gboolean is_gateway_its_own(const FakeKernel *kernel)
{
    IBH_EACH (const IbhRoute, route, kernel->now->routes) {
        if (route->gateway.family != AF_UNSPEC && is_local_address(kernel->now, &route->gateway))
            return TRUE;
    }
    return FALSE;
}

/* Of main's routes of one prefix and metric, the first is taken: what came first is the kernel's own history. */
static const IbhRoute *find_first_in_main(const FakeKernel *kernel, const IbhRoute *like)
{
    IBH_EACH (const IbhRoute, route, kernel->now->routes) {
        if (route->table == IBH_TABLE_MAIN && route->metric == like->metric &&
            ibh_prefix_equal(&route->dst, &like->dst))
            return route;
    }
    return NULL;
}

static gboolean is_first_via_a_gateway(const FakeKernel *kernel, const IbhRoute *like)
{
    const IbhRoute *first = find_first_in_main(kernel, like);

    return first && first->gateway.family != AF_UNSPEC;
}

static gboolean has_gateways_in_order_of(const FakeKernel *kernel, const FakeKernel *other)
{
    IBH_EACH (const IbhRoute, route, kernel->now->routes) {
        if (is_first_via_a_gateway(kernel, route) != is_first_via_a_gateway(other, route))
            return FALSE;
    }
    return TRUE;
}

/* Two links of one name, or a port before its bond: other lines would be refused in another order. */
/* A multipath route can't be there before both are. */
static gboolean mentions_two_nics(const GPtrArray *piece)
{
    IBH_EACH_POINTER (const char, line, piece) {
        if (strstr(line, "nexthop"))
            return TRUE;
    }
    return FALSE;
}

static gboolean depends_on_order(const GPtrArray *pieces)
{
    for (guint i = 1; i + 1 < pieces->len; i++) {
        const GPtrArray *piece = g_ptr_array_index(pieces, i);
        const char *text = g_ptr_array_index(piece, 0), *name = new_link(text);
        gsize length = strcspn(name, " ");

        if (strstr(text, "bond") || mentions_two_nics(piece))
            return TRUE;
        for (guint j = 1; j < i; j++) {
            const GPtrArray *earlier = g_ptr_array_index(pieces, j);
            const char *other = new_link(g_ptr_array_index(earlier, 0));

            if (strcspn(other, " ") == length && strncmp(name, other, length) == 0)
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean order_does_not_matter(Case *c)
{
    g_autoptr(GPtrArray) pieces = cut_in_pieces(c->lines), straight = NULL, shuffled = NULL;
    g_autoptr(World) expected = NULL, found = NULL;
    g_autofree char *text = NULL, *what = NULL;
    g_autoptr(Planned) planned = NULL;
    Dice dice = dice_new(c->seed);

    if (depends_on_order(pieces))
        return TRUE;
    straight = arrange(pieces, NULL);
    shuffled = arrange(pieces, &dice);
    expected = world_build(straight);
    found = world_build(shuffled);
    planned = world_plan(expected->config, expected->kernel, WORLD_APPLY, NULL);
    if (is_tentative_somewhere(found->kernel) || is_gateway_its_own(found->kernel) ||
        !has_gateways_in_order_of(expected->kernel, found->kernel))
        return TRUE;
    if (!planned || any_blocked(planned->rails)) /* what is blocked is left as it happens to be */
        return TRUE;
    text = lines_print(shuffled, "    ");
    what = g_strdup_printf("in this order\n%s ", text);
    return same_end(c, expected->config, expected->kernel, found->kernel, what) &&
           nothing_left(c, found->config, found->kernel, WORLD_APPLY, "in another order of arrivals, the second plan");
}

/* ---- (i) the order of a plan ---- */

static int effective_rp(const Case *c, int own)
{
    return ibh_sysctl_effective(c->world->kernel->now, IBH_SYSCTL_RP_FILTER, own);
}

static gboolean tightens(const Case *c, const IbhOp *op)
{
    return op->type == IBH_OP_SYSCTL_SET && op->key == IBH_SYSCTL_RP_FILTER && effective_rp(c, op->to) == 1 &&
           effective_rp(c, op->from) != 1;
}

/* Its address is a rail's, and has the right rule besides: nothing depends on this one and its routes. */
static gboolean is_superseded(const Case *c, const Planned *planned, const IbhRule *rule)
{
    return planned != c->undo && ibh_rails_owner(planned->rails, &rule->from.ip);
}

/* Before the plan, a rule of ours led to this table: then what is new there may have to wait. */
static gboolean was_led(const Case *c, const Planned *planned, const IbhRule *rule)
{
    const IbhSnapshot *start = planned == c->undo ? c->after->now : c->world->kernel->now;

    IBH_EACH (const IbhRule, other, start->rules) {
        if (fake_is_our_rule(other) && other->table == rule->table)
            return TRUE;
    }
    return FALSE;
}

/* Two rules for one address. */
static gboolean is_same_address(const IbhRule *a, const IbhRule *b)
{
    return ibh_prefix_equal(&a->from, &b->from) && !ibh_rule_is_spread(a) && !ibh_rule_is_spread(b);
}

/* `early` must not come before `late`. */
static gboolean wrong_order(const Case *c, const Planned *planned, const IbhOp *early, const IbhOp *late)
{
    if (tightens(c, early) && late->type == IBH_OP_ANNOUNCE) /* of a rail: what was one is undone afterwards */
        return ibh_rails_owner(planned->rails, &late->ip) && count_holders(planned->seen, &late->ip) == 1;
    if (early->type == IBH_OP_ROUTE_DEL && late->type == IBH_OP_RULE_DEL)
        return early->ifindex == late->ifindex && early->route.table == late->rule.table &&
               early->route.family == late->rule.family &&
               is_local_address(c->world->kernel->now, &late->rule.from.ip) && !is_superseded(c, planned, &late->rule);
    if (early->type == IBH_OP_RULE_ADD && (late->type == IBH_OP_ROUTE_ADD || late->type == IBH_OP_ROUTE_REPLACE))
        return early->rule.table == late->route.table && early->rule.table != IBH_TABLE_SPREAD &&
               early->rule.family == late->route.family && !was_led(c, planned, &early->rule);
    if (early->type == IBH_OP_RULE_ADD && late->type == IBH_OP_RULE_ADD) /* those of defaults are behind all others */
        return is_same_address(&early->rule, &late->rule) && early->rule.priority > late->rule.priority &&
               early->rule.priority < 32764;
    if (early->type == IBH_OP_RULE_DEL && late->type == IBH_OP_RULE_DEL)
        return is_same_address(&early->rule, &late->rule) && early->rule.priority < late->rule.priority &&
               early->rule.table == IBH_TABLE_MAIN && late->rule.table != IBH_TABLE_MAIN &&
               ibh_unit_is_same(&early->unit, &late->unit) && count_holders(planned->seen, &late->rule.from.ip) == 1 &&
               !is_superseded(c, planned, &late->rule);
    return FALSE;
}

static gboolean plan_is_ordered(Case *c, const Planned *planned)
{
    for (guint i = 0; i < n_ops(planned); i++) {
        for (guint j = i + 1; j < n_ops(planned); j++) {
            g_autofree char *first = NULL, *second = NULL;

            if (!wrong_order(c, planned, op_at(planned, i), op_at(planned, j)))
                continue;
            first = ibh_op_command(op_at(planned, i));
            second = ibh_op_command(op_at(planned, j));
            return broken(c, "%s comes before %s", first, second);
        }
    }
    return TRUE;
}

static gboolean order_is_right(Case *c)
{
    return plan_is_ordered(c, c->planned) && plan_is_ordered(c, c->undo);
}

/* ---- (j) only what was asked for ---- */

static gboolean names_contain(GPtrArray *names, const char *name)
{
    return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

static void allow(GPtrArray *allowed, const Planned *planned, guint32 table, const IbhNic *nic)
{
    const IbhNic *comes = ibh_rails_nic_by_table(planned->rails, table);

    if (nic && comes && names_contain(allowed, comes->link->name) && !names_contain(allowed, nic->link->name))
        g_ptr_array_add(allowed, (gpointer)(guintptr)nic->link->name);
}

/* Whoever was asked for, and NICs that must leave because something of them is in a table of theirs. */
static GPtrArray *find_allowed(const Planned *planned, const char *name)
{
    GPtrArray *allowed = g_ptr_array_new();
    guint before;

    g_ptr_array_add(allowed, (gpointer)(guintptr)name);
    do {
        before = allowed->len;
        IBH_EACH (const IbhRule, rule, planned->seen->rules) {
            if (fake_is_our_rule(rule))
                allow(allowed, planned, rule->table, ibh_rule_owner(planned->rails, rule));
        }
        IBH_EACH (const IbhRoute, route, planned->seen->routes) {
            if (fake_is_our_route(route))
                allow(allowed, planned, route->table, ibh_rails_nic(planned->rails, route->ifindex));
        }
    } while (allowed->len > before);
    return allowed;
}

/* Rails that stay may have to answer for the one that is undone, and announce its address; and unbound traffic is
 * spread without it. */
static gboolean is_for_another(const Planned *planned, const IbhOp *op)
{
    return op->type == IBH_OP_ANNOUNCE ||
           (planned->undo && (op->type == IBH_OP_SYSCTL_SET || op->unit.kind == IBH_UNIT_SPREAD));
}

static gboolean only_one(Case *c, FakeKernel *kernel, const char *name, WorldAction action)
{
    const char *const only[] = {name, NULL};
    g_autoptr(Planned) planned = world_plan(c->world->config, kernel, action, only);
    g_autoptr(GPtrArray) allowed = find_allowed(planned, name);
    g_autoptr(IbhOutcome) outcome = NULL;

    for (guint i = 0; i < n_ops(planned); i++) {
        g_autofree char *command = NULL;

        if (names_contain(allowed, op_at(planned, i)->iface) || is_for_another(planned, op_at(planned, i)))
            continue;
        command = ibh_op_command(op_at(planned, i));
        return broken(c, "asked for %s alone, it plans for %s: %s", name, op_at(planned, i)->iface, command);
    }
    outcome = world_try(kernel, planned);
    if (action == WORLD_UNDO)
        ibh_state_hold(kernel->now->state, name);
    if (outcome->errors->len || kernel->inexact)
        return broken(c, "asked for %s alone, it is refused: %s", name,
                      outcome->errors->len ? (const char *)g_ptr_array_index(outcome->errors, 0) : "inexact");
    return TRUE;
}

static gboolean one_by_one(Case *c)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(c->world->kernel);
    const GPtrArray *nics = c->planned->rails->nics;
    g_autoptr(Planned) rest = NULL;

    IBH_EACH_POINTER (const IbhNic, nic, nics) {
        if (!only_one(c, kernel, nic->link->name, WORLD_APPLY))
            return FALSE;
    }
    rest = world_plan(c->world->config, kernel, WORLD_APPLY, NULL);
    world_run(kernel, rest);
    if (!is_tentative_somewhere(kernel) &&
        !same_end(c, c->world->config, c->after, kernel, "one by one, it comes to another end"))
        return FALSE;
    IBH_EACH_POINTER (const IbhNic, nic, nics) {
        if (!only_one(c, kernel, nic->link->name, WORLD_UNDO))
            return FALSE;
    }
    return !has_ours(kernel) || broken(c, "undone one by one, something of ours stands");
}

/* ---- (k) nothing that comes in is dropped on the way ---- */

typedef struct {
    IbhIp ip, peer;
    gboolean before, after;
} Inbound;

/* What a peer sends to this address comes in through the NIC it learned, and passes that NIC's rp_filter. */
static gboolean comes_in(const FakeKernel *kernel, const Inbound *in)
{
    const FakeLearned *learned = fake_learned(kernel, &in->ip);
    const IbhLink *link = learned ? ibh_snapshot_link(kernel->now, learned->ifindex) : NULL;
    FibAnswer answer;
    int filter;

    if (!link)
        return FALSE;
    filter = ibh_sysctl_effective(kernel->now, IBH_SYSCTL_RP_FILTER, link->sysctl[IBH_SYSCTL_RP_FILTER]);
    if (filter == 0)
        return TRUE;
    answer = fib_lookup(kernel->now, &in->ip, &in->peer);
    /* Where there is no way back, it is not the filter that cuts anybody off. */
    return answer.kind != FIB_DEVICE || is_led(&answer) || filter == 2 || (answer.devices & fib_bit(link->ifindex));
}

/* A link answers for the addresses of others only where its arp_ignore lets it. */
static gboolean can_answer(const IbhSnapshot *now, const IbhLink *link, const IbhAddress *address)
{
    return link->ifindex == address->ifindex ||
           ibh_sysctl_effective(now, IBH_SYSCTL_ARP_IGNORE, link->sysctl[IBH_SYSCTL_ARP_IGNORE]) == 0;
}

/* ARP flux: whichever rail of the wire answered first. */
static void teach_peers(const Case *c, FakeKernel *kernel)
{
    const IbhRails *rails = c->planned->rails;
    Dice dice = dice_new(c->seed);

    IBH_EACH (const IbhAddress, address, kernel->now->addresses) {
        FakeLearned learned = {.ip = address->local};
        guint64 wire = find_wire(c->reach.wires, rails, kernel->now, &address->local);
        guint seen = 0;

        IBH_EACH (const IbhLink, link, kernel->now->links) {
            if ((wire & fib_bit(link->ifindex)) && link->carrier && is_candidate(rails, link->ifindex) &&
                can_answer(kernel->now, link, address) && dice_roll(&dice, ++seen) == 0)
                learned.ifindex = link->ifindex;
        }
        if (learned.ifindex && address->local.family == AF_INET && !fake_learned(kernel, &address->local))
            g_array_append_val(kernel->learned, learned);
    }
}

static gboolean is_undone(const Planned *undo, const IbhNic *nic)
{
    for (guint i = 0; i < n_ops(undo); i++) {
        if (op_at(undo, i)->type == IBH_OP_RULE_DEL && op_at(undo, i)->ifindex == nic->link->ifindex)
            return TRUE;
    }
    return FALSE;
}

/* Whether it is for us to let this in: not by a strict rp_filter that is not ours to loosen, and not where a rail that
 * was asked to be strict answered for a NIC that is none. */
static gboolean is_ours_to_let_in(const Case *c, const Planned *planned, const FakeKernel *kernel,
                                  const IbhAddress *address)
{
    const IbhRails *rails = planned->rails;
    const FakeLearned *learned = fake_learned(kernel, &address->local);
    const IbhNic *nic = learned ? ibh_rails_nic(rails, learned->ifindex) : NULL;

    if (!nic || is_kept(nic) || nic->status == IBH_NIC_BLOCKED)
        return FALSE;
    if (count_holders(kernel->now, &address->local) > 1) /* nobody can say where it should come in */
        return FALSE;
    if (ibh_rails_nic(rails, address->ifindex)->status != IBH_NIC_RAIL && address->ifindex != learned->ifindex)
        return FALSE;
    /* --undo leaves alone what has nothing of ours. */
    return (nic->status == IBH_NIC_RAIL && (planned != c->undo || is_undone(c->undo, nic))) ||
           is_our_value(kernel->now, nic->link, IBH_SYSCTL_RP_FILTER);
}

static GArray *find_inbound(const Case *c, const Planned *planned, const FakeKernel *kernel)
{
    const IbhRails *rails = planned->rails;
    GArray *all = g_array_new(FALSE, TRUE, sizeof(Inbound));

    IBH_EACH (const IbhAddress, address, kernel->now->addresses) {
        Inbound in = {.ip = address->local};

        /* Neighbour discovery, other than ARP, is answered by the NIC that has the address; and IPv6 has no rp_filter.
         */
        if (address->local.family == AF_INET && is_address_up(kernel->now, address) &&
            is_candidate(rails, address->ifindex) && find_neighbour(kernel->now, &address->subnet, &in.peer)) {
            in.before = comes_in(kernel, &in) && is_ours_to_let_in(c, planned, kernel, address);
            g_array_append_val(all, in);
        }
    }
    return all;
}

static gboolean dropped(Case *c, const FakeKernel *kernel, const Inbound *in, const char *when)
{
    char peer[IBH_IP_STRLEN], ip[IBH_IP_STRLEN];
    FibAnswer answer = fib_lookup(kernel->now, &in->ip, &in->peer);
    const IbhLink *link = ibh_snapshot_link(kernel->now, fake_learned(kernel, &in->ip)->ifindex);
    g_autofree char *text = fib_describe(kernel->now, &answer);

    return broken(c, "%s, what %s sends to %s (learned at %s) is dropped: rp_filter %d, the way back is %s", when,
                  ibh_ip_format(&in->peer, peer), ibh_ip_format(&in->ip, ip), link->name,
                  link->sysctl[IBH_SYSCTL_RP_FILTER], text);
}

static gboolean every_step_lets_in(Case *c, const Planned *planned, FakeKernel *kernel, const FakeKernel *end)
{
    g_autoptr(GArray) all = find_inbound(c, planned, kernel);

    IBH_EACH (Inbound, in, all)
        in->after = comes_in(end, in);
    for (guint i = 0; i < n_ops(planned); i++) {
        const IbhOp *op = op_at(planned, i);

        fake_execute(kernel, op, NULL);
        IBH_EACH (const Inbound, in, all) {
            if (in->before && in->after && !comes_in(kernel, in)) {
                g_autofree char *command = ibh_op_command(op), *when = g_strdup_printf("after %s", command);

                return dropped(c, kernel, in, when);
            }
        }
    }
    return TRUE;
}

static gboolean changes_rule(const Planned *planned, IbhOpType type, const IbhIp *ip)
{
    for (guint i = 0; i < n_ops(planned); i++) {
        if (op_at(planned, i)->type == type && ibh_ip_equal(&op_at(planned, i)->rule.from.ip, ip))
            return TRUE;
    }
    return FALSE;
}

static gboolean learned_at(Case *c, const FakeKernel *kernel, const IbhIp *ip, const IbhLink *link, const char *when)
{
    const FakeLearned *learned = fake_learned(kernel, ip);
    char text[IBH_IP_STRLEN];

    if (!(link->flags & IFF_UP) || !link->carrier || (learned && learned->ifindex == link->ifindex))
        return TRUE;
    return broken(c, "%s, peers were not told that %s is at %s", when, ibh_ip_format(ip, text), link->name);
}

/* A rule of ours led the address to this table, so peers know its NIC. */
static gboolean was_led_to(const IbhSnapshot *world, const IbhIp *ip, guint32 table)
{
    IBH_EACH (const IbhRule, rule, world->rules) {
        if (fake_is_our_rule(rule) && rule->table == table && ibh_ip_equal(&rule->from.ip, ip))
            return TRUE;
    }
    return FALSE;
}

/* A rail's first rule, and peers that go on as they learned: half the traffic takes the wrong NIC. */
static gboolean peers_know_rails(Case *c, const FakeKernel *kernel)
{
    IBH_EACH (const IbhAddress, address, kernel->now->addresses) {
        const IbhNic *owner = ibh_rails_owner(c->planned->rails, &address->local);

        if (owner && changes_rule(c->planned, IBH_OP_RULE_ADD, &address->local) &&
            !was_led_to(c->world->kernel->now, &address->local, owner->table) &&
            !learned_at(c, kernel, &address->local, owner->link, "after --apply"))
            return FALSE;
    }
    return TRUE;
}

/* Main's longest prefix over the address has the same NIC: else it is one NIC's for near peers, and another's for far
 * ones. */
static gboolean main_agrees(const IbhSnapshot *world, const IbhIp *ip, int ifindex)
{
    for (const IbhRoute *route = fib_first(world, IBH_TABLE_MAIN); route; route = fib_next(world, route)) {
        if (ibh_prefix_contains(&route->dst, ip))
            return route->ifindex == ifindex && route->dst.length &&
                   route->protocol == RTPROT_KERNEL; /* others need not be looked at */
    }
    return FALSE;
}

/* Without rules, the address is where its answers leave; peers must be told where that NIC is undone, too. */
static gboolean peers_know_what_is_left(Case *c, const FakeKernel *kernel)
{
    IBH_EACH (const IbhAddress, address, kernel->now->addresses) {
        const IbhNic *owner = ibh_rails_owner(c->undo->rails, &address->local), *now;
        FibAnswer answer;
        IbhIp peer;

        if (!owner || address->local.family != AF_INET || owner->link->ifindex != address->ifindex ||
            ibh_ip_is_link_local(&address->local) || /* only its own NIC may announce it */
            !changes_rule(c->undo, IBH_OP_RULE_DEL, &address->local) ||
            !find_neighbour(kernel->now, &address->subnet, &peer))
            continue;
        answer = fib_lookup(kernel->now, &address->local, &peer);
        if (!is_undone(c->undo, owner))
            continue;
        now = answer.kind == FIB_DEVICE && !is_led(&answer) ? ibh_rails_nic(c->undo->rails, answer.ifindex) : NULL;
        if (now && is_undone(c->undo, now) && main_agrees(kernel->now, &address->local, now->link->ifindex) &&
            !learned_at(c, kernel, &address->local, now->link, "after --undo"))
            return FALSE;
    }
    return TRUE;
}

static gboolean nothing_is_dropped(Case *c)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(c->world->kernel), end = NULL, undone = NULL;

    teach_peers(c, kernel);
    end = fake_kernel_clone(kernel);
    world_run(end, c->planned);
    if (!every_step_lets_in(c, c->planned, kernel, end) || !peers_know_rails(c, end))
        return FALSE;
    undone = fake_kernel_clone(end);
    world_run(undone, c->undo);
    return every_step_lets_in(c, c->undo, end, undone) && peers_know_what_is_left(c, undone);
}

/* ---- (l) what is another's stays another's ---- */

/* What a rail's address, or nobody's (AF_UNSPEC), sends to where main has a longer prefix, by whatever NIC: a bridge, a
 * route of the administrator's, a nested rail. */
typedef struct {
    IbhIp from, to;
    int by;
} Elsewhere;

/* The longest of ours in this table. */
static const IbhRoute *find_ours(const IbhSnapshot *world, guint32 table, const IbhIp *to)
{
    for (const IbhRoute *route = fib_first(world, table); route; route = fib_next(world, route)) {
        if (fake_is_our_route(route) && route->type == RTN_UNICAST && ibh_prefix_contains(&route->dst, to))
            return route;
    }
    return NULL;
}

/* The address the kernel would take for what is sent through this NIC. */
static const IbhAddress *first_primary(const IbhSnapshot *world, int ifindex)
{
    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (address->ifindex == ifindex && address->local.family == AF_INET && !address->secondary &&
            address->scope < RT_SCOPE_HOST)
            return address;
    }
    return NULL;
}

/* A rail of a lower rank has the address, too: the rule from it leads there. */
static gboolean is_of_an_earlier_rail(const IbhRails *rails, const IbhSnapshot *world, guint position, const IbhIp *ip)
{
    for (guint i = 0; i < position; i++) {
        const IbhNic *nic = g_ptr_array_index(rails->nics, i);

        for (guint j = 0; nic->status == IBH_NIC_RAIL && j < world->addresses->len; j++) {
            const IbhAddress *address = &g_array_index(world->addresses, IbhAddress, j);

            if (address->ifindex == nic->link->ifindex && ibh_ip_equal(&address->local, ip))
                return TRUE;
        }
    }
    return FALSE;
}

/* A rule of others that comes later leads what has no source to a part of it. */
static gboolean is_led_in_part(const IbhSnapshot *world, const IbhPrefix *subnet)
{
    IBH_EACH (const IbhRule, rule, world->rules) {
        if (!fake_is_our_rule(rule) && rule->priority > 4939 && rule->to.length > subnet->length &&
            ibh_prefix_contains(subnet, &rule->to.ip) && (!rule->from.length || !rule->from.ip.bytes[0]) &&
            !(rule->selectors & (IBH_SELECT_NOT | IBH_SELECT_IIF)))
            return TRUE;
    }
    return FALSE;
}

/* The first route of main to exactly this subnet; through this NIC, unless that is 0. */
static const IbhRoute *first_of_main(const IbhSnapshot *world, const IbhPrefix *subnet, int ifindex)
{
    for (const IbhRoute *route = fib_first(world, IBH_TABLE_MAIN); route; route = fib_next(world, route)) {
        if (!route->special && ibh_prefix_equal(&route->dst, subnet) && (!ifindex || route->ifindex == ifindex))
            return route;
    }
    return NULL;
}

/* Whether the NIC has the subnet on link, as far as main tells, and without an MTU of its own and the like. */
static gboolean has_it_plainly(const IbhSnapshot *world, const IbhPrefix *subnet, int ifindex)
{
    const IbhRoute *own = first_of_main(world, subnet, ifindex), *any = first_of_main(world, subnet, 0);

    if (own)
        return own->nexthops == 1 && !own->encapsulated && !own->gateway.family && !own->metrics_size;
    return !any || !(any->hops ? any->hops->gateway : any->gateway).family;
}

/* The rails with carrier that have exactly this subnet first; 0: fewer than two, or another NIC has it, too, or others
 * lead to a part of it, or main says of one how to get there. */
static guint64 find_members(const IbhRails *rails, const IbhSnapshot *world, const IbhPrefix *subnet)
{
    guint64 members = 0;

    for (guint i = 0; i < rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(rails->nics, i);
        const IbhAddress *first = first_primary(world, nic->link->ifindex);

        if (nic->status == IBH_NIC_RAIL && (nic->link->flags & IFF_UP) && nic->link->carrier && first &&
            !ibh_address_is_host(first) && ibh_prefix_equal(&first->subnet, subnet) &&
            !is_of_an_earlier_rail(rails, world, i, &first->local)) {
            if (!has_it_plainly(world, subnet, nic->link->ifindex))
                return 0;
            members |= fib_bit(nic->link->ifindex);
        }
    }
    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (is_of_no_rail(rails, address->ifindex) && ibh_prefix_equal(&address->subnet, subnet))
            return 0;
    }
    return is_led_in_part(world, subnet) ? 0 : members;
}

static gboolean is_longer(const Case *c, guint32 table, const IbhRoute *route, const IbhIp *to)
{
    const IbhRoute *ours = find_ours(c->after->now, table, to);

    return !ours || ours->dst.length < route->dst.length;
}

static void add_pair(const Case *c, const IbhRoute *route, guint32 table, Elsewhere *pair, GArray *all)
{
    FibAnswer answer = fib_lookup(c->plain->now, pair->from.family ? &pair->from : NULL, &pair->to);

    if (answer.route == route && !is_led(&answer) && is_longer(c, table, route, &pair->to) &&
        is_longer(c, IBH_TABLE_SPREAD, route, &pair->to) && !is_foreign_in_table(c->plain->now, table, &pair->to))
        g_array_append_val(all, *pair);
}

static void add_elsewhere(const Case *c, const IbhRoute *route, GArray *all)
{
    const IbhSnapshot *plain = c->plain->now;
    Elsewhere pair = {.by = route->ifindex};

    if (!find_neighbour(plain, &route->dst, &pair.to) || find_in_main(plain, &pair.to) != route)
        return;
    add_pair(c, route, IBH_TABLE_SPREAD, &pair, all); /* unbound */
    IBH_EACH (const IbhAddress, address, plain->addresses) {
        const IbhNic *nic = ibh_rails_owner(c->planned->rails, &address->local);

        pair.from = address->local;
        if (nic && is_served(address) && address->local.family == route->family &&
            count_holders(plain, &address->local) == 1)
            add_pair(c, route, nic->table, &pair, all);
    }
}

/* Main has this prefix twice. */
static gboolean has_equal(const IbhSnapshot *world, const IbhRoute *route)
{
    guint count = 0;

    for (const IbhRoute *other = fib_first(world, IBH_TABLE_MAIN); other; other = fib_next(world, other))
        count += ibh_prefix_equal(&other->dst, &route->dst) ? 1 : 0;
    return count > 1;
}

static GArray *find_elsewhere(const Case *c)
{
    const FakeKernel *plain = c->plain;
    GArray *all = g_array_new(FALSE, TRUE, sizeof(Elsewhere));
    for (const IbhRoute *route = fib_first(plain->now, IBH_TABLE_MAIN); route; route = fib_next(plain->now, route)) {
        if (route->type == RTN_UNICAST && route->dst.length && route->nexthops == 1 && !has_equal(plain->now, route))
            add_elsewhere(c, route, all);
    }
    return all;
}

/* `led`: what somebody's own rule says is as good. */
static gboolean goes_there(const FakeKernel *kernel, const Elsewhere *pair, gboolean led)
{
    FibAnswer answer = fib_lookup(kernel->now, pair->from.family ? &pair->from : NULL, &pair->to);

    return is_led(&answer) ? led : answer.kind == FIB_DEVICE && answer.devices == fib_bit(pair->by);
}

static gboolean taken_over(Case *c, const FakeKernel *kernel, const Elsewhere *pair, const char *when)
{
    FibAnswer answer = fib_lookup(kernel->now, pair->from.family ? &pair->from : NULL, &pair->to);
    g_autofree char *text = fib_describe(kernel->now, &answer);
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    return broken(c, "%s, what %s sends to %s, which is %s's, is taken over: %s", when,
                  ibh_ip_format(&pair->from, from), ibh_ip_format(&pair->to, to),
                  ibh_snapshot_link(kernel->now, pair->by)->name, text);
}

/* What goes there before and after goes there at every step. */
static gboolean steps_leave_alone(Case *c, const Planned *planned, const FakeKernel *start, const FakeKernel *end,
                                  const GArray *all)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(start);

    for (guint i = 0; i < n_ops(planned); i++) {
        const IbhOp *op = op_at(planned, i);

        fake_execute(kernel, op, NULL);
        for (guint j = 0; (is_rule_op(op) || is_route_op(op)) && j < all->len; j++) {
            const Elsewhere *pair = &g_array_index(all, Elsewhere, j);

            if (may_change(kernel->now, op, &pair->from) && !is_torn(start->now, &pair->from) &&
                !goes_there(kernel, pair, TRUE) && goes_there(start, pair, FALSE) && goes_there(end, pair, FALSE)) {
                g_autofree char *command = ibh_op_command(op), *when = g_strdup_printf("after %s", command);

                return taken_over(c, kernel, pair, when);
            }
        }
    }
    return TRUE;
}

static gboolean others_are_left_alone(Case *c)
{
    g_autoptr(GArray) all = find_elsewhere(c);

    if (!all->len || any_blocked(c->planned->rails) || moves_in_circle(c->planned))
        return TRUE;
    for (guint i = 0; i < all->len; i++) {
        if (!goes_there(c->after, &g_array_index(all, Elsewhere, i), TRUE))
            return taken_over(c, c->after, &g_array_index(all, Elsewhere, i), "after all");
    }
    return steps_leave_alone(c, c->planned, c->world->kernel, c->after, all) &&
           steps_leave_alone(c, c->undo, c->after, c->undone, all);
}

static char *op_text(const IbhRails *rails, const IbhOp *op)
{
    g_autofree char *command = ibh_op_command(op), *why = ibh_op_why(rails, op);

    return g_strdup_printf("[%d/%d/%d] %d %s%s%s: %s # %s", op->unit.kind, op->unit.family, op->unit.ifindex,
                           op->ifindex, op->iface, op->by_kernel ? ", by the kernel" : "",
                           op->for_good ? ", for good" : "", command, why);
}

/* ---- (m) gateways ---- */

/* What a rail reaches via gateways follows from its own NIC, by the letter of the contract. */

static IbhIp outside_of(int family)
{
    IbhIp ip = {.family = family, .bytes = {8, 8, 8, 8}};

    return family == AF_INET ? ip : (IbhIp){.family = AF_INET6, .bytes = {0x20, 0x01, 0x48, 0x60, [15] = 0x88}};
}

/* Main's defaults through this NIC, of every kind; the last of them. Those of routers count only where no others are.
 */
static guint count_defaults(const IbhSnapshot *world, int ifindex, int family, IbhRoute *ret_last)
{
    guint count = 0;
    gboolean configured = FALSE;

    for (const IbhRoute *route = fib_first(world, IBH_TABLE_MAIN); route; route = fib_next(world, route)) {
        IbhRoute part;

        if (route->type != RTN_UNICAST || route->dst.length || route->family != family ||
            !ibh_route_part(route, ifindex, &part))
            continue;
        if (family == AF_INET6 &&
            (route->protocol == RTPROT_RA || (route->protocol == RTPROT_KERNEL && route->expires))) {
            if (configured)
                continue;
        } else {
            count = configured ? count : 0;
            configured = TRUE;
        }
        *ret_last = part;
        count++;
    }
    return count;
}

static const IbhRoute *find_own_default(const IbhSnapshot *world, const IbhNic *nic, int family)
{
    for (const IbhRoute *route = fib_first(world, nic->table + 2000); route; route = fib_next(world, route)) {
        if (fake_is_our_route(route) && !route->dst.length && route->family == family)
            return route;
    }
    return NULL;
}

static gboolean has_same_metrics(const IbhRoute *a, const IbhRoute *b)
{
    return a->metrics_size == b->metrics_size && (!a->metrics_size || !memcmp(a->metrics, b->metrics, a->metrics_size));
}

/* gateway=auto: the one default that main has through this NIC, as it is; else none. */
static gboolean default_is_mains(Case *c, const IbhNic *nic, int family)
{
    const IbhSnapshot *now = c->after->now;
    const IbhRoute *own = find_own_default(now, nic, family);
    IbhRoute last;
    const gboolean one = count_defaults(now, nic->link->ifindex, family, &last) == 1 && is_simple(&last) &&
                         !is_local_address(now, &last.gateway);

    if (one != (own != NULL))
        return broken(c, "%s has %s default of its own, and main has %s", nic->link->name, own ? "a" : "no",
                      one ? "one" : "none, several, or an odd one");
    return !one || (ibh_ip_equal(&own->gateway, &last.gateway) && has_same_metrics(own, &last)) ||
           broken(c, "the default of %s is not main's", nic->link->name);
}

/* A rule of others leads the address to a table of theirs that has a route: what it sends beyond is theirs. */
static gboolean is_led_out(const IbhSnapshot *world, const IbhIp *ip)
{
    IBH_EACH (const IbhRule, rule, world->rules) {
        if (fake_is_our_rule(rule) || rule->action != FR_ACT_TO_TBL || rule->l3mdev || rule->selectors ||
            !rule->from.length || !ibh_prefix_contains(&rule->from, ip) ||
            (rule->table >= RT_TABLE_DEFAULT && rule->table <= RT_TABLE_LOCAL))
            continue;
        IBH_EACH (const IbhRoute, route, world->routes) {
            if (route->table == rule->table && route->family == ip->family && !fake_is_our_route(route) &&
                route->type != RTN_THROW && route->dst.length > rule->suppress_prefixlength)
                return TRUE;
        }
    }
    return FALSE;
}

/* A gateway that is configured in an address's subnet has the default, unless it is this host's own. */
static gboolean default_is_configured(Case *c, const IbhNic *nic, const IbhAddress *address)
{
    const IbhIp *gateway = &nic->settings.gateway_ip;
    const IbhRoute *own = find_own_default(c->after->now, nic, gateway->family);
    gboolean has_gateway = nic->settings.gateway == IBH_GATEWAY_ADDRESS &&
                           ibh_prefix_contains(&address->subnet, gateway) && !is_local_address(c->after->now, gateway);

    if (nic->settings.gateway == IBH_GATEWAY_NONE &&
        (find_own_default(c->after->now, nic, AF_INET) || find_own_default(c->after->now, nic, AF_INET6)))
        return broken(c, "%s has gateway=none, and a default", nic->link->name);
    return !has_gateway || (own && ibh_ip_equal(&own->gateway, gateway)) ||
           broken(c, "%s has a gateway configured, and another or no default", nic->link->name);
}

/* What is sent beyond leaves through the NIC that has a default of its own, unless others lead it. */
static gboolean leaves_by_default(Case *c, const IbhNic *nic, const IbhIp *from)
{
    const IbhIp to = outside_of(from->family);
    FibAnswer answer;
    g_autofree char *text = NULL;

    if (!find_own_default(c->after->now, nic, from->family) || is_foreign_in_table(c->after->now, nic->table, &to) ||
        is_foreign_in_table(c->after->now, nic->table + 2000, &to))
        return TRUE;
    answer = fib_lookup(c->after->now, from, &to);
    if (is_led(&answer) || (answer.kind == FIB_DEVICE && answer.ifindex == nic->link->ifindex) ||
        (answer.route &&
         (answer.route->dst.length || answer.kind == FIB_UNREACHABLE))) /* no rule suppresses an error */
        return TRUE;
    text = fib_describe(c->after->now, &answer);
    return broken(c, "%s has a default, and what it sends beyond is %s", nic->link->name, text);
}

static gboolean names_subnet(const IbhSnapshot *world, int ifindex, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (address->ifindex == ifindex && ibh_prefix_equal(&address->subnet, prefix))
            return TRUE;
    }
    return FALSE;
}

static const IbhRemote *find_remote(const IbhNic *nic, const IbhPrefix *prefix)
{
    for (guint i = 0; nic->settings.remote && i < nic->settings.remote->len; i++) {
        const IbhRemote *remote = &g_array_index(nic->settings.remote, IbhRemote, i);

        if (remote->prefix.length <= prefix->length && ibh_prefix_contains(&remote->prefix, &prefix->ip))
            return remote;
    }
    return NULL;
}

/* Then what IPv6 has there waits. */
static gboolean has_tentative(const IbhSnapshot *world, int ifindex)
{
    IBH_EACH (const IbhAddress, address, world->addresses) {
        if (address->ifindex == ifindex && address->tentative)
            return TRUE;
    }
    return FALSE;
}

/* Its own subnets, remote=, its siblings' subnets in there, and the way to an IPv6 gateway: nothing else. */
/* Main has this prefix on the link of the NIC: inside a subnet of the NIC, or around an address that has none. */
static gboolean is_on_its_link(const IbhSnapshot *world, const IbhNic *nic, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhRoute, route, world->routes) {
        IbhRoute part;

        if (route->table != RT_TABLE_MAIN || route->type != RTN_UNICAST || !ibh_prefix_equal(&route->dst, prefix) ||
            !ibh_route_part(route, nic->link->ifindex, &part) || part.gateway.family != AF_UNSPEC)
            continue;
        IBH_EACH (const IbhAddress, address, world->addresses) {
            if (address->ifindex == nic->link->ifindex && is_served(address) &&
                (ibh_address_is_host(address) ? ibh_prefix_contains(prefix, &address->local)
                                              : ibh_prefix_covers(&address->subnet, prefix)))
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean table_has_reasons(Case *c, const IbhNic *nic)
{
    const IbhSnapshot *now = c->after->now;

    for (const IbhRoute *route = fib_first(now, nic->table); route; route = fib_next(now, route)) {
        char text[IBH_PREFIX_STRLEN];

        if (!fake_is_our_route(route) || route->ifindex != nic->link->ifindex ||
            names_subnet(now, route->ifindex, &route->dst) || find_remote(nic, &route->dst) ||
            is_on_its_link(now, nic, &route->dst) || (route->dst.length == 128 && route->gateway.family == AF_UNSPEC) ||
            (route->family == AF_INET6 && has_tentative(now, route->ifindex)))
            continue;
        return broken(c, "%s has %s, for no reason of its own", nic->link->name, ibh_prefix_format(&route->dst, text));
    }
    return TRUE;
}

/* What main says of exactly this subnet through this NIC is what the table says. */
static gboolean subnet_is_mains(Case *c, const IbhNic *nic, const IbhPrefix *subnet)
{
    const IbhSnapshot *now = c->after->now;
    char text[IBH_PREFIX_STRLEN];
    IbhRoute part;

    if (!find_way_in_main(now, nic->link->ifindex, subnet, &part) || !is_simple(&part))
        return TRUE;
    for (const IbhRoute *route = fib_first(now, nic->table); route; route = fib_next(now, route)) {
        if (!fake_is_our_route(route) || !ibh_prefix_equal(&route->dst, subnet))
            continue;
        return (has_same_metrics(route, &part) && ibh_ip_equal(&route->gateway, &part.gateway)) ||
               broken(c, "%s reaches %s in another way than main", nic->link->name, ibh_prefix_format(subnet, text));
    }
    return TRUE;
}

static gboolean gateways_are_right(Case *c)
{
    const GArray *addresses = c->after->now->addresses;

    if (any_blocked(c->planned->rails))
        return TRUE;
    IBH_EACH (const IbhAddress, address, addresses) {
        const IbhNic *nic = ibh_rails_owner(c->planned->rails, &address->local);

        if (!nic || address->ifindex != nic->link->ifindex || !is_served(address) || !(nic->link->flags & IFF_UP) ||
            !is_programmed(nic, &address->local) || is_led_out(c->after->now, &address->local))
            continue;
        if ((nic->settings.gateway == IBH_GATEWAY_AUTO && !default_is_mains(c, nic, address->local.family)) ||
            !default_is_configured(c, nic, address) || !leaves_by_default(c, nic, &address->local) ||
            !table_has_reasons(c, nic) || !subnet_is_mains(c, nic, &address->subnet))
            return FALSE;
    }
    return TRUE;
}

/* ---- (m2) a rail depends on its own NIC alone ---- */

/* Siblings' subnets in remote=, and how main reaches a subnet that it does not reach through this NIC. */
static gboolean depends_on_siblings(const FakeKernel *kernel, const IbhNic *nic, const IbhPrefix *dst)
{
    if (find_remote(nic, dst))
        return TRUE;
    for (const IbhRoute *route = fib_first(kernel->now, IBH_TABLE_MAIN); route; route = fib_next(kernel->now, route)) {
        IbhRoute part;

        if (ibh_prefix_equal(&route->dst, dst) && ibh_route_part(route, nic->link->ifindex, &part))
            return FALSE;
    }
    return dst->length != 0;
}

static gboolean is_of_a_route(const IbhOp *op)
{
    return op->type == IBH_OP_ROUTE_ADD || op->type == IBH_OP_ROUTE_REPLACE || op->type == IBH_OP_ROUTE_DEL;
}

static gboolean was_rail(const Case *c, const IbhNic *nic)
{
    const IbhNic *before = ibh_rails_nic(c->planned->rails, nic->link->ifindex);

    return before && before->status == IBH_NIC_RAIL;
}

/* The kernel takes a multipath route away with any of its NICs. */
static gboolean has_shared_default(const IbhSnapshot *world, const IbhNic *nic)
{
    for (const IbhRoute *route = fib_first(world, IBH_TABLE_MAIN); route; route = fib_next(world, route)) {
        IbhRoute part;

        if (!route->dst.length && route->hops && ibh_route_part(route, nic->link->ifindex, &part))
            return TRUE;
    }
    return FALSE;
}

/* Another NIC is unplugged: no route of this rail's changes. */
static gboolean outlives(Case *c, const IbhNic *gone)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(c->after);
    g_autoptr(Planned) planned = NULL;

    fake_link_del(kernel, gone->link->ifindex);
    if (!(planned = world_plan(c->world->config, kernel, WORLD_EVENT, NULL)))
        return TRUE;
    for (guint i = 0; i < n_ops(planned); i++) {
        const IbhOp *op = op_at(planned, i);
        const IbhNic *nic = op->ifindex ? ibh_rails_nic(planned->rails, op->ifindex) : NULL;
        g_autofree char *text = NULL;

        if (!is_of_a_route(op) || !nic || nic->status != IBH_NIC_RAIL || !was_rail(c, nic) ||
            !ibh_nic_programs_family(nic, op->route.family) || /* others route it alone, now */
            depends_on_siblings(kernel, nic, &op->route.dst) ||
            is_local_address(c->after->now, &op->route.gateway) || /* one of the other NIC was no gateway */
            (!op->route.dst.length && has_shared_default(c->after->now, nic)))
            continue;
        text = op_text(planned->rails, op);
        return broken(c, "%s goes, and then: %s", gone->link->name, text);
    }
    return TRUE;
}

static gboolean rails_outlive_each_other(Case *c)
{
    if (any_blocked(c->planned->rails))
        return TRUE;
    IBH_EACH_POINTER (const IbhNic, nic, c->planned->rails->nics) {
        if (nic->status == IBH_NIC_RAIL && !outlives(c, nic))
            return FALSE;
    }
    return TRUE;
}

/* ---- (n) families ---- */

static int family_of(const IbhOp *op)
{
    switch (ibh_op_what(op)) {
    case IBH_RULE:
        return op->rule.family;
    case IBH_ROUTE:
        return op->route.family;
    case IBH_PEERS:
        return op->type == IBH_OP_NEIGH_DEL ? AF_INET : op->ip.family;
    case IBH_SYSCTL:
        break;
    }
    return AF_INET;
}

/* One family's failure takes nothing back of the other's. */
static gboolean families_are_apart(Case *c, const Planned *planned)
{
    for (guint i = 0; i < n_ops(planned); i++) {
        const IbhOp *op = op_at(planned, i);
        g_autofree char *command = NULL;

        if (op->unit.family == family_of(op))
            continue;
        command = ibh_op_command(op);
        return broken(c, "%s is of a unit of family %d", command, op->unit.family);
    }
    return TRUE;
}

static gboolean families_fail_alone(Case *c)
{
    return families_are_apart(c, c->planned) && families_are_apart(c, c->undo);
}

/* ---- (o) main=spread: what is sent without a source ---- */

/* The outermost subnet with this host that unbound traffic is spread in; NULL: none. */
static const IbhPrefix *find_spread(const IbhRails *rails, const IbhSnapshot *world, const IbhIp *to)
{
    const IbhPrefix *outermost = NULL;

    for (guint i = 0; rails->main == IBH_MAIN_SPREAD && i < world->addresses->len; i++) {
        const IbhPrefix *subnet = &g_array_index(world->addresses, IbhAddress, i).subnet;

        if (to->family == AF_INET && ibh_prefix_contains(subnet, to) &&
            (!outermost || subnet->length < outermost->length) && find_members(rails, world, subnet))
            outermost = subnet;
    }
    return outermost;
}

static gboolean unbound_goes_right(Case *c, guint j)
{
    const IbhRails *rails = c->planned->rails;
    const IbhIp *to = &c->reach.targets[j].ip;
    const Way *without = &c->without.of[0][j], *then = &c->then.of[0][j];
    const IbhPrefix *spread = find_spread(rails, c->after->now, to);
    const IbhRoute *in_main = find_in_main(c->plain->now, to);
    guint64 expected = without->devices;

    if (without->led || then->led || then->fate == FOREIGN || is_foreign_in_table(c->after->now, IBH_TABLE_SPREAD, to))
        return TRUE;
    if (then->route && then->route->table == IBH_TABLE_LOCAL) /* a broadcast address of a smaller subnet */
        return TRUE;
    if (in_main && in_main->type != RTN_UNICAST) /* somebody's throw or error route in main is obeyed */
        return TRUE;
    if (spread && (!without->route || without->route->dst.length <= spread->length))
        expected = find_members(rails, c->after->now, spread);
    return c->reach.targets[j].local || then->devices == expected ||
           lost(c, c->after, 0, j, "goes elsewhere", "unbound");
}

/* Each NIC that it is spread over has a source of its own for it. */
static gboolean has_own_source(Case *c, const FibAnswer *answer)
{
    if (!answer->route || answer->route->table != IBH_TABLE_SPREAD)
        return TRUE;
    IBH_EACH_HOP (hop, answer->route) {
        const IbhAddress *first = first_primary(c->after->now, hop->ifindex);

        if (hop->dead || !first || !ibh_prefix_equal(&first->subnet, &answer->route->dst))
            return broken(c, "a nexthop of what is spread is dead, or has no source in the subnet: %d", hop->ifindex);
    }
    return TRUE;
}

static gboolean unbound_is_right(Case *c)
{
    if (any_blocked(c->planned->rails))
        return TRUE;
    for (guint j = 0; j < c->reach.n_targets; j++) {
        FibAnswer answer = fib_lookup(c->after->now, NULL, &c->reach.targets[j].ip);

        if (!unbound_goes_right(c, j) || !has_own_source(c, &answer))
            return FALSE;
    }
    return TRUE;
}

/* ---- what UCX finds ---- */

/* The longest prefix to `to` in any table, through this NIC; of all NICs: -1. No such route: -1. Multipath routes do
 * not count, and rules neither. */
static int longest_in_all_tables(const IbhSnapshot *world, int ifindex, const IbhIp *to)
{
    int longest = -1;

    IBH_EACH (const IbhRoute, route, world->routes) {
        const gboolean is_by_it = route->ifindex && (ifindex < 0 || route->ifindex == ifindex);

        if (is_by_it && !route->hops && route->family == to->family && ibh_prefix_contains(&route->dst, to))
            longest = MAX(longest, (int)route->dst.length);
    }
    return longest;
}

/* UCX from 1.20.1 on takes a NIC of RoCE for a peer only if no other NIC has a longer prefix to it. */
static gboolean is_taken_by_ucx(const IbhSnapshot *world, int ifindex, const IbhIp *to)
{
    int own = longest_in_all_tables(world, ifindex, to);

    return own >= 0 && own == longest_in_all_tables(world, -1, to);
}

/* remote= is the administrator's word. */
static gboolean is_remote_of_any(const IbhRails *rails, const IbhIp *to)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        const GArray *remote = nic->settings.remote;

        for (guint i = 0; remote && i < remote->len; i++) {
            if (ibh_prefix_contains(&g_array_index(remote, IbhRemote, i).prefix, to))
                return TRUE;
        }
    }
    return FALSE;
}

/* Another rail has an address in a smaller subnet around it, which main has no route to: that rail's now. */
static gboolean is_in_smaller_subnet(const Case *c, int ifindex, const IbhIp *to)
{
    const int own = longest_in_all_tables(c->plain->now, ifindex, to);

    IBH_EACH (const IbhAddress, address, c->after->now->addresses) {
        if (address->ifindex != ifindex && ibh_prefix_contains(&address->subnet, to) &&
            (int)address->subnet.length > own)
            return TRUE;
    }
    return FALSE;
}

/* What an earlier run left stays where an address is tentative: so the state before counts, too. */
static gboolean ucx_still_takes(Case *c, const IbhNic *nic, const IbhIp *to)
{
    const int ifindex = nic->link->ifindex;
    const gboolean was_taken =
        is_taken_by_ucx(c->plain->now, ifindex, to) && is_taken_by_ucx(c->world->kernel->now, ifindex, to);
    char text[IBH_IP_STRLEN];

    if (!was_taken || is_taken_by_ucx(c->after->now, ifindex, to) || is_in_smaller_subnet(c, ifindex, to))
        return TRUE;
    if (is_tentative_somewhere(c->after)) /* what is left of that NIC waits, and of this one it went */
        return TRUE;
    return broken(c, "UCX took %s for %s, and does not after --apply", nic->link->name, ibh_ip_format(to, text));
}

static gboolean ucx_takes_each_rail(Case *c)
{
    IBH_EACH_POINTER (const IbhNic, nic, c->planned->rails->nics) {
        for (guint j = 0; nic->status == IBH_NIC_RAIL && j < c->reach.n_targets; j++) {
            const Target *target = &c->reach.targets[j];

            if (!target->local && !is_remote_of_any(c->planned->rails, &target->ip) &&
                !ucx_still_takes(c, nic, &target->ip))
                return FALSE;
        }
    }
    return TRUE;
}

/* ---- running ---- */

static const struct {
    const char *name;
    Property holds;
    guint every; /* it is tried in one world of so many: some cost more than others */
} properties[] = {
    {"nothing is refused", nothing_is_refused, 1},
    {"the walk goes as packets do", walk_is_right, 1},
    {"a second plan is empty", second_plan_is_empty, 1},
    {"foreign things stay", foreign_things_stay, 1},
    {"rails are right", rails_are_right, 1},
    {"rules name their destination", rules_name_their_destination, 1},
    {"one ARP value is enough", one_arp_value_is_enough, 1},
    {"nothing is lost while applying", nothing_is_lost_applying, 1},
    {"nothing is worse than without us", nothing_is_worse_than_without_us, 1},
    {"nothing is lost while undoing", nothing_is_lost_undoing, 1},
    {"what comes in is let in", nothing_is_dropped, 1},
    {"what is another's stays another's", others_are_left_alone, 1},
    {"gateways are right", gateways_are_right, 1},
    {"a rail depends on its own NIC alone", rails_outlive_each_other, 2},
    {"unbound traffic goes right", unbound_is_right, 1},
    {"UCX takes each rail that it took", ucx_takes_each_rail, 1},
    {"families fail alone", families_fail_alone, 1},
    {"undo gives all back", undo_gives_all_back, 1},
    {"the state before comes back", state_before_comes_back, 1},
    {"the order of a plan is right", order_is_right, 1},
    {"the order of arrivals does not matter", order_does_not_matter, 2},
    {"one by one", one_by_one, 2},
    {"there is a way back from everywhere", there_is_a_way_back, 2},
    {"commands can be pasted", commands_can_be_pasted, 4},
    {"failures are contained", failures_are_contained, 4},
};

static void case_clear(Case *c)
{
    world_free(c->world);
    planned_free(c->planned);
    planned_free(c->undo);
    fake_kernel_free(c->after);
    fake_kernel_free(c->undone);
    fake_kernel_free(c->plain);
    g_free(c->reason);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Case, case_clear)

/* FALSE: no world, the configuration is refused. */
static gboolean case_init(Case *c)
{
    c->world = world_build(c->lines);
    c->planned = c->world ? world_plan(c->world->config, c->world->kernel, WORLD_APPLY, NULL) : NULL;
    if (!c->planned)
        return FALSE;
    c->after = fake_kernel_clone(c->world->kernel);
    world_run(c->after, c->planned);
    c->undo = world_plan(c->world->config, c->after, WORLD_UNDO, NULL);
    c->undone = fake_kernel_clone(c->after);
    world_run(c->undone, c->undo);
    c->plain = without_ours(c->world->kernel);
    reach_init(&c->reach, c->planned->rails, c->world->kernel->now);
    reach_ask(&c->reach, c->world->kernel->now, &c->before);
    reach_ask(&c->reach, c->after->now, &c->then);
    reach_ask(&c->reach, c->undone->now, &c->at_last);
    reach_ask(&c->reach, c->plain->now, &c->without);
    return TRUE;
}

/* `only` NULL: all that are due. */
static gboolean case_holds(Case *c, const char *only)
{
    for (guint i = 0; i < G_N_ELEMENTS(properties); i++) {
        if (only ? strcmp(only, properties[i].name) != 0 : !c->thorough && c->seed % properties[i].every != 0)
            continue;
        c->property = properties[i].name;
        if (!properties[i].holds(c))
            return FALSE;
    }
    return TRUE;
}

static gboolean still_fails(const GPtrArray *lines, gpointer data)
{
    const Case *failed = data;
    g_auto(Case) c = {.seed = failed->seed, .lines = lines};

    return case_init(&c) && !case_holds(&c, failed->property);
}

/* ---- a failure: shrunk, printed, and kept as a file ---- */

static const char *directory; /* of this program */

static void print_plan(const Planned *planned, const char *title)
{
    fprintf(stderr, "  %s:\n", title);
    for (guint i = 0; i < n_ops(planned); i++) {
        const IbhOp *op = op_at(planned, i);
        g_autofree char *command = ibh_op_command(op), *why = ibh_op_why(planned->rails, op);

        fprintf(stderr, "    %2u. [%d/%d] %s   # %s\n", i + 1, op->unit.kind, op->unit.ifindex, command, why);
    }
}

/* In the form of tests/unit/random/: what is moved there is tried in each run from then on. */
static void keep(const Case *small)
{
    g_autofree char *folder = g_build_filename(directory, "failed", NULL);
    g_autofree char *name = g_strdup_printf("%" G_GUINT64_FORMAT ".world", small->seed);
    g_autofree char *path = g_build_filename(folder, name, NULL), *lines = lines_print(small->lines, "");
    g_autofree char *reason = g_strdelimit(g_strdup(small->reason), "\n", ' ');
    g_autofree char *text =
        g_strdup_printf("# %s: %s\nseed %" G_GUINT64_FORMAT "\n%s", small->property, reason, small->seed, lines);

    if (g_mkdir_with_parents(folder, 0755) == 0 && g_file_set_contents(path, text, -1, NULL))
        fprintf(stderr, "  kept as %s: IBH_WORLD=%s tries it again\n", path, path);
}

static void report(const Case *failed)
{
    g_autoptr(GPtrArray) lines = lines_copy(failed->lines);
    g_auto(Case) small = {.seed = failed->seed, .lines = lines};
    Case shrinking = *failed;
    g_autofree char *text = NULL;

    lines_shrink(lines, still_fails, &shrinking);
    if (!case_init(&small) || case_holds(&small, failed->property))
        g_error("shrinking lost the failure");
    text = lines_print(lines, "    ");
    fprintf(stderr, "\nIBH_SEED=%" G_GUINT64_FORMAT ": \"%s\" does not hold:\n  %s\n  in this world:\n%s", failed->seed,
            failed->property, small.reason, text);
    print_plan(small.planned, "the plan to apply");
    print_plan(small.undo, "the plan to undo that");
    keep(&small);
}

/* ---- worlds by chance ---- */

/* What one process has done; the others see it. */
typedef struct {
    guint64 worlds, cases, refused, operations;
    gboolean failed;
} Tally;

#define MAX_JOBS 2
static Tally *tallies;

static gboolean any_failed(void)
{
    for (guint i = 0; i < MAX_JOBS; i++) {
        if (tallies[i].failed)
            return TRUE;
    }
    return FALSE;
}

static GPtrArray *(*make_lines)(guint64 seed) = random_lines;

static void try_world(guint64 seed, Tally *tally)
{
    g_autoptr(GPtrArray) lines = make_lines(seed);
    g_auto(Case) c = {.seed = seed, .lines = lines};

    if (!case_init(&c)) {
        tally->refused++;
    } else {
        tally->worlds++;
        tally->operations += n_ops(c.planned);
        /* Each plan, and each of its prefixes: the promises hold in every state it goes through. */
        tally->cases += n_ops(c.planned) + 1 + n_ops(c.undo) + 1;
        tally->failed = !case_holds(&c, NULL);
        if (tally->failed)
            report(&c);
    }
}

static void try_share(guint job, guint jobs, guint64 first, guint64 count)
{
    for (guint64 seed = first + job; seed < first + count && !any_failed(); seed += jobs)
        try_world(seed, &tallies[job]);
}

/* Each process takes every other seed. */
static void try_all(guint jobs, guint64 first, guint64 count)
{
    pid_t children[MAX_JOBS] = {0};

    fflush(NULL);
    for (guint job = 1; job < jobs; job++) {
        children[job] = fork();
        if (children[job] == 0) {
            try_share(job, jobs, first, count);
            _exit(0);
        }
        assert_true(children[job] > 0);
    }
    try_share(0, jobs, first, count);
    for (guint job = 1; job < jobs; job++) {
        int status = -1;

        assert_int_equal(waitpid(children[job], &status, 0), children[job]);
        assert_int_equal(status, 0);
    }
}

static guint64 number_from(const char *variable, guint64 otherwise)
{
    const char *text = g_getenv(variable);

    return text ? g_ascii_strtoull(text, NULL, 10) : otherwise;
}

static Tally try_worlds(guint jobs, guint64 first, guint64 count)
{
    Tally sum = {0};

    tallies = mmap(NULL, MAX_JOBS * sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(tallies != MAP_FAILED);
    try_all(jobs, first, count);
    for (guint i = 0; i < MAX_JOBS; i++) {
        sum.worlds += tallies[i].worlds;
        sum.cases += tallies[i].cases;
        sum.refused += tallies[i].refused;
        sum.operations += tallies[i].operations;
        sum.failed |= tallies[i].failed;
    }
    munmap(tallies, MAX_JOBS * sizeof(Tally));
    assert_false(sum.failed);
    return sum;
}

/* Under sanitizers and valgrind, where the worlds are few, all stays in one process. */
static guint count_jobs(guint64 count)
{
    return count < 5000 || sysconf(_SC_NPROCESSORS_ONLN) < 2 ? 1 : MAX_JOBS;
}

static void test_worlds(void **state)
{
    guint64 first = number_from("IBH_SEED", 1), count = number_from("IBH_CASES", 100000);
    Tally sum = try_worlds(count_jobs(count), first, count);

    (void)state;
    print_message("%" G_GUINT64_FORMAT " worlds, %" G_GUINT64_FORMAT
                  " cases (plans and prefixes), seed %" G_GUINT64_FORMAT " (besides: %" G_GUINT64_FORMAT
                  " worlds whose configuration is refused)\n",
                  sum.worlds, sum.cases, first, sum.refused);
    if (count >= 1000 && sum.operations < 3 * count)
        fail_msg("only %" G_GUINT64_FORMAT " operations: these worlds have nothing to test", sum.operations);
}

/* ---- all small worlds ---- */

static guint64 stride = 1;

static GPtrArray *every_small_world(guint64 number)
{
    return small_world(number * stride % small_worlds());
}

/* As many of them as IBH_CASES says, spread over all; more than there are: each. */
static void test_small_worlds(void **state)
{
    const guint64 count = MIN(number_from("IBH_CASES", 100000), small_worlds());
    Tally sum;

    (void)state;
    stride = small_worlds() / count;
    make_lines = every_small_world;
    sum = try_worlds(count_jobs(count), 0, count);
    make_lines = random_lines;
    print_message("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " small worlds\n", sum.worlds, small_worlds());
}

/* ---- worlds that failed once ---- */

/* Its lines; what is wrong with one of them is said with its number. */
static GPtrArray *read_world(const char *path, guint64 *ret_seed)
{
    g_autofree char *text = NULL;
    g_autoptr(IbhCase) cas = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) all = NULL;
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

    if (!g_file_get_contents(path, &text, NULL, &error) || !(cas = ibh_case_parse_world(path, text, &error)))
        fail_msg("%s", error->message);
    *ret_seed = cas->seed;
    all = g_strsplit(text, "\n", -1);
    for (char **line = all; *line; line++) {
        if (**line && **line != '#')
            g_ptr_array_add(lines, g_strdup(*line));
    }
    return lines;
}

/* With its own seed, and others: it decides which NIC peers learned, the order of arrivals, where operations fail. */
static void try_file(const char *path)
{
    guint64 own;
    g_autoptr(GPtrArray) lines = read_world(path, &own);
    guint seeds = number_from("IBH_CASES", 1000) < 1000 ? 2 : 12; /* valgrind takes its time */

    for (guint i = 0; i < seeds; i++) {
        g_auto(Case) c = {.seed = i ? i : own, .lines = lines, .thorough = TRUE};

        if (!case_init(&c))
            fail_msg("%s: its configuration is refused", path);
        if (!case_holds(&c, NULL)) {
            report(&c);
            fail_msg("%s", path);
        }
    }
}

static void test_kept_worlds(void **state)
{
    const char *only = g_getenv("IBH_WORLD"), *name;
    g_autoptr(GDir) folder = g_dir_open(IBH_TESTS "/unit/random", 0, NULL);
    guint count = 0;

    (void)state;
    if (only) {
        try_file(only);
        return;
    }
    while (folder && (name = g_dir_read_name(folder))) {
        g_autofree char *path = g_build_filename(IBH_TESTS "/unit/random", name, NULL);

        if (g_str_has_suffix(name, ".world"))
            try_file(path), count++;
    }
    assert_true(count > 0);
}

/* ---- UCX in the documents' example ---- */

static GPtrArray *lines_of(const char *const *texts)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

    for (; *texts; texts++)
        g_ptr_array_add(lines, g_strdup(*texts));
    return lines;
}

/* Which of ib0 and ib1 UCX takes for the peer, after --apply. */
static void expect_taken(const char *more, gboolean ib0, gboolean ib1)
{
    const char *texts[] = {"nic ib0 infiniband",
                           "ip address add 172.16.34.1/16 dev ib0",
                           "nic ib1 infiniband",
                           "ip address add 172.16.34.2/16 dev ib1",
                           more,
                           NULL};
    g_autoptr(GPtrArray) lines = lines_of(texts);
    g_auto(Case) c = {.lines = lines};
    IbhIp peer;

    assert_true(ibh_ip_parse("172.16.16.2", &peer));
    assert_true(case_init(&c));
    assert_int_equal(n_ops(c.planned) > 0, TRUE);
    assert_int_equal(is_taken_by_ucx(c.after->now, ibh_snapshot_link_by_name(c.after->now, "ib0")->ifindex, &peer),
                     ib0);
    assert_int_equal(is_taken_by_ucx(c.after->now, ibh_snapshot_link_by_name(c.after->now, "ib1")->ifindex, &peer),
                     ib1);
}

/* Both NICs reach the peer; beside a host route by ib1, as packaging/doc/profiles.md warns, ib1 alone. */
static void test_ucx_in_the_documents_example(void **state)
{
    (void)state;
    expect_taken(NULL, TRUE, TRUE);
    expect_taken("ip route add 172.16.16.2/32 dev ib1 src 172.16.34.2", FALSE, TRUE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept_worlds), cmocka_unit_test(test_small_worlds),
                                       cmocka_unit_test(test_worlds),
                                       cmocka_unit_test(test_ucx_in_the_documents_example)};
    g_autofree char *name = g_path_get_dirname(argv[0]);

    (void)argc;
    directory = name;
    return _cmocka_run_group_tests("random", tests, g_getenv("IBH_WORLD") ? 1 : G_N_ELEMENTS(tests), NULL, NULL);
}
