/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every operation of a plan fails once, with every error a kernel may answer: that rail is back where it was, the
 * others are done, the message says what, where and why, and the next run comes to the end that was wanted.
 */
#include "plan/apply.h"
#include "random_world.h"
#include "model/state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static const int errors[] = {EPERM, EEXIST, ENOENT, ESRCH, ENETDOWN, EINVAL, ENOBUFS, ENOMEM, EBUSY, EROFS};

/* ---- worlds ---- */

typedef struct {
    const char *name;
    WorldAction action;
    const char *lines[32]; /* of random_world.h */
} Scene;

#define TWO_RAILS                                                                                                      \
    "nic ib0 infiniband rp_filter=1", "nic ib1 infiniband rp_filter=1", "ip address add 172.16.34.1/16 dev ib0",       \
        "ip address add 172.16.34.2/16 dev ib1"

#define FOUR_RAILS                                                                                                     \
    TWO_RAILS, "nic ib2 infiniband", "nic ib3 infiniband", "ip address add 172.16.34.3/16 dev ib2",                    \
        "ip address add 172.16.34.4/16 dev ib3"

#define TWO_ADDRESSES6 "ip address add 2001:db8:1::1/64 dev ib0", "ip address add 2001:db8:1::2/64 dev ib1"

#define TWO_RAILS6                                                                                                     \
    "nic ib0 infiniband", "nic ib1 infiniband", "ip address add 2001:db8:1::1/48 dev ib0",                             \
        "ip address add 2001:db8:1::2/48 dev ib1"

static const Scene scenes[] = {
    {"two rails", WORLD_APPLY, {TWO_RAILS}},
    {"two rails beside a bridge",
     WORLD_APPLY,
     {TWO_RAILS, "ip link add docker0 up type bridge", "ip address add 172.16.200.1/24 dev docker0"}},
    {"eight rails",
     WORLD_APPLY,
     {FOUR_RAILS, "nic ib4 infiniband", "nic ib5 infiniband", "nic ib6 infiniband", "nic ib7 infiniband",
      "ip address add 172.16.34.5/16 dev ib4", "ip address add 172.16.34.6/16 dev ib5",
      "ip address add 172.16.34.7/16 dev ib6", "ip address add 172.16.34.8/16 dev ib7"}},
    {"several addresses and a VIP",
     WORLD_APPLY,
     {TWO_RAILS, "ip address add 172.16.34.11/16 dev ib0", "ip address add 10.1.0.1/24 dev ib0",
      "ip address add 172.16.34.99/32 dev ib1"}},
    {"strict", WORLD_APPLY, {TWO_RAILS, "config [defaults] arp=strict"}},
    {"a flap emptied a table", WORLD_APPLY, {FOUR_RAILS, "do apply", "ip link set ib1 down", "ip link set ib1 up"}},
    {"addresses come and go",
     WORLD_APPLY,
     {TWO_RAILS, "ip address add 172.16.34.22/16 dev ib1", "do apply", "ip address add 10.1.0.1/24 dev ib0",
      "ip address del 172.16.34.22 dev ib1"}},
    {"another table", WORLD_APPLY, {FOUR_RAILS, "do apply", "config [interface ib1] table=100"}},
    {"all move up: a NIC came",
     WORLD_APPLY,
     {FOUR_RAILS, "do apply", "nic ib-1 infiniband", "ip address add 172.16.34.9/16 dev ib-1"}},
    {"all move down: a NIC is gone", WORLD_APPLY, {FOUR_RAILS, "do apply", "ip link del ib0"}},
    {"two rails exchange their tables",
     WORLD_APPLY,
     {FOUR_RAILS, "config [interface ib0] table=100", "config [interface ib1] table=101", "do apply",
      "config [interface ib0] table=102", "config [interface ib1] table=100", "config [interface ib0] table=101"}},
    {"no rail any more", WORLD_APPLY, {FOUR_RAILS, "do apply", "config [interface ib1] manage=no"}},
    {"from strict to auto",
     WORLD_APPLY,
     {TWO_RAILS, "config [interface ib*] arp=strict", "do apply", "config [interface ib1] arp=auto"}},
    {"both families",
     WORLD_APPLY,
     {FOUR_RAILS, "ip address add 2001:db8:1::1/64 dev ib0", "ip address add 2001:db8:1::2/64 dev ib1",
      "ip address add 2001:db8:1::1:3/128 dev ib1"}},
    {"IPv6 alone, beside a bridge",
     WORLD_APPLY,
     {TWO_RAILS6, "ip link add docker0 up type bridge", "ip address add 2001:db8:1:2::1/64 dev docker0"}},
    {"a default is gained",
     WORLD_APPLY,
     {TWO_RAILS, TWO_ADDRESSES6, "do apply", "ip route append default via 172.16.0.1 dev ib0 protocol dhcp",
      "ip route append ::/0 via 2001:db8:1::9 dev ib1 protocol ra"}},
    {"a default is lost",
     WORLD_APPLY,
     {TWO_RAILS, TWO_ADDRESSES6, "ip route append default via 172.16.0.1 dev ib0 protocol dhcp",
      "ip route append ::/0 via 2001:db8:1::9 dev ib1 protocol ra", "do apply",
      "ip route del default via 172.16.0.1 dev ib0 protocol dhcp",
      "ip route del ::/0 via 2001:db8:1::9 dev ib1 protocol ra"}},
    {"a default is replaced",
     WORLD_APPLY,
     {TWO_RAILS, TWO_ADDRESSES6, "ip route append default via 172.16.0.1 dev ib0 protocol dhcp",
      "ip route append ::/0 via 2001:db8:1::9 dev ib1 protocol ra", "do apply",
      "ip route del default via 172.16.0.1 dev ib0 protocol dhcp",
      "ip route del ::/0 via 2001:db8:1::9 dev ib1 protocol ra",
      "ip route append default via 172.16.0.2 dev ib1 protocol dhcp",
      "ip route append ::/0 via 2001:db8:1::8 dev ib0 protocol ra"}},
    {"gateways beside a bridge",
     WORLD_APPLY,
     {TWO_RAILS, "ip link add docker0 up type bridge", "ip address add 10.9.0.1/16 dev docker0",
      "ip route append 10.0.0.0/8 via 172.16.0.1 dev ib0 protocol static",
      "ip route append default via 172.16.0.1 dev ib0 protocol static metric 100"}},
    {"from gateway=auto to a configured one",
     WORLD_APPLY,
     {TWO_RAILS, "ip route append default via 172.16.0.1 dev ib0 protocol static", "do apply",
      "config [defaults] gateway=172.16.0.2"}},
    {"from gateway=auto to none",
     WORLD_APPLY,
     {TWO_RAILS, "ip route append default via 172.16.0.1 dev ib0 protocol static", "do apply",
      "config [defaults] gateway=none"}},
    {"an address is ready",
     WORLD_APPLY,
     {TWO_RAILS, TWO_ADDRESSES6, "ip address add 2001:db8:1::22/64 dev ib1 tentative", "do apply",
      "ready 2001:db8:1::22 dev ib1"}},
    {"undo both families with a default",
     WORLD_UNDO,
     {TWO_RAILS, TWO_ADDRESSES6, "ip route append default via 172.16.0.1 dev ib0 protocol dhcp",
      "ip route append ::/0 via 2001:db8:1::9 dev ib1 protocol ra", "do apply"}},
    {"undo",
     WORLD_UNDO,
     {FOUR_RAILS, "do apply", "ip neigh add 172.16.34.200 dev ib1", "ip neigh add 172.16.34.201 dev ib0"}},
    {"undo strict", WORLD_UNDO, {TWO_RAILS, "config [defaults] arp=strict", "do apply"}},
};

typedef struct {
    const Scene *scene;
    World *world;
    Planned *planned;
    FakeKernel *end;
} Stage;

static void stage_clear(Stage *stage)
{
    world_free(stage->world);
    planned_free(stage->planned);
    fake_kernel_free(stage->end);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Stage, stage_clear)

static void stage_init(Stage *stage)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new();

    for (guint i = 0; stage->scene->lines[i]; i++)
        g_ptr_array_add(lines, (gpointer)(guintptr)stage->scene->lines[i]);
    stage->world = world_build(lines);
    if (!stage->world)
        fail_msg("%s: its configuration is refused", stage->scene->name);
    stage->planned = world_plan(stage->world->config, stage->world->kernel, stage->scene->action, NULL);
    stage->end = fake_kernel_clone(stage->world->kernel);
    if (world_run(stage->end, stage->planned) || stage->end->inexact || !stage->planned->plan->ops->len)
        fail_msg("%s: its plan is empty, or refused something", stage->scene->name);
}

static const IbhOp *op_at(const Stage *stage, guint k)
{
    return g_ptr_array_index(stage->planned->plan->ops, k);
}

static void G_GNUC_PRINTF(4, 5) complain(const Stage *stage, guint k, int code, const char *format, ...)
{
    g_autofree char *what = NULL, *command = ibh_op_command(op_at(stage, k));
    va_list args;

    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    fail_msg("%s, operation %u (%s) fails with %s: %s", stage->scene->name, k + 1, command, g_strerror(code), what);
}

/* ---- what must hold ---- */

/* What was done by all units but that of operation k. */
static FakeKernel *without_unit_of(const Stage *stage, guint k)
{
    FakeKernel *kernel = fake_kernel_clone(stage->world->kernel);

    for (guint i = 0; i < stage->planned->plan->ops->len; i++) {
        const IbhOp *op = op_at(stage, i);

        if (op_at(stage, k)->unit ? op->unit != op_at(stage, k)->unit : i != k)
            fake_execute(kernel, op, NULL);
    }
    return kernel;
}

static void check_message(const Stage *stage, guint k, int code, const IbhOutcome *outcome)
{
    const IbhOp *op = op_at(stage, k);
    const char *message;

    if (outcome->errors->len != 1)
        complain(stage, k, code, "%u errors instead of one", outcome->errors->len);
    message = g_ptr_array_index(outcome->errors, 0);
    if (!strstr(message, ibh_op_name(op->type)) || !strstr(message, op->iface) || !strstr(message, g_strerror(code)))
        complain(stage, k, code, "the message says not what, where and why: %s", message);
    if (strstr(message, "also failed"))
        complain(stage, k, code, "the way back failed: %s", message);
}

/* Nothing of the unit is among what is reported as done; all else is. */
static void check_done(const Stage *stage, guint k, int code, const IbhOutcome *outcome)
{
    guint expected = 0;

    for (guint i = 0; i < stage->planned->plan->ops->len; i++)
        expected += op_at(stage, i)->unit ? op_at(stage, i)->unit != op_at(stage, k)->unit : i != k;
    if (outcome->done->len != expected)
        complain(stage, k, code, "%u operations are reported as done, not %u", outcome->done->len, expected);
    for (guint i = 0; i < outcome->done->len; i++) {
        const IbhOp *op = g_ptr_array_index(outcome->done, i);

        if (op->unit && op->unit == op_at(stage, k)->unit)
            complain(stage, k, code, "something that was rolled back is reported as done");
    }
}

static void check_next_run(const Stage *stage, guint k, int code, FakeKernel *kernel)
{
    g_autoptr(Planned) again = world_plan(stage->world->config, kernel, stage->scene->action, NULL);
    g_autofree char *difference = NULL;

    if (world_run(kernel, again) || kernel->inexact)
        complain(stage, k, code, "the next run is refused something");
    if ((difference = fake_difference(stage->end, kernel, FAKE_ALL)))
        complain(stage, k, code, "the next run comes to another end:\n%s", difference);
}

static void fail_once(const Stage *stage, guint k, int code)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_clone(stage->world->kernel), expected = without_unit_of(stage, k);
    g_autoptr(IbhOutcome) outcome = NULL;
    g_autofree char *difference = NULL;

    fake_fail_at(kernel, k + 1, code);
    outcome = ibh_apply(stage->planned->plan, fake_execute, kernel);
    fake_fail_at(kernel, 0, 0);
    check_message(stage, k, code, outcome);
    check_done(stage, k, code, outcome);
    if (kernel->inexact)
        complain(stage, k, code, "the way back hit something else than it named");
    if ((difference = fake_difference(expected, kernel, FAKE_ALL)))
        complain(stage, k, code, "its rail is not back where it was, or another one is affected:\n%s", difference);
    ibh_state_remember(kernel->now->state, outcome->done, TRUE);
    check_next_run(stage, k, code, kernel);
}

static void test_scene(void **state)
{
    g_auto(Stage) stage = {.scene = *state};

    stage_init(&stage);
    for (guint k = 0; k < stage.planned->plan->ops->len; k++) {
        for (guint i = 0; i < G_N_ELEMENTS(errors); i++)
            fail_once(&stage, k, errors[i]);
    }
}

/* ---- two faults: the way back fails as well ---- */

typedef struct {
    FakeKernel *kernel;
    guint first; /* from here on, all is refused */
} Stubborn;

static gboolean stubborn_execute(gpointer data, const IbhOp *op, GError **error)
{
    Stubborn *stubborn = data;

    if (stubborn->kernel->executed + 1 >= stubborn->first)
        fake_fail_at(stubborn->kernel, stubborn->kernel->executed + 1, EIO),
            stubborn->kernel->executed = stubborn->kernel->fail_at - 1;
    return fake_execute(stubborn->kernel, op, error);
}

/* TRUE if something of the unit that fails with its operation number k was done before, and would have to go. */
static gboolean leaves_something(const IbhPlan *plan, guint k)
{
    const IbhOp *failed = g_ptr_array_index(plan->ops, k);
    IbhOp inverse;

    for (guint i = 0; i < k && failed->unit; i++) {
        const IbhOp *op = g_ptr_array_index(plan->ops, i);

        if (op->unit == failed->unit && ibh_op_inverse(op, &inverse))
            return TRUE;
    }
    return FALSE;
}

/* It is said, once per unit; and when the kernel comes to its senses, the next run repairs everything. */
static void test_way_back_fails(void **state)
{
    const Scene *scene = *state;
    g_auto(Stage) stage = {.scene = scene};

    stage_init(&stage);
    for (guint k = 0; k < stage.planned->plan->ops->len; k++) {
        g_autoptr(FakeKernel) kernel = fake_kernel_clone(stage.world->kernel);
        Stubborn stubborn = {.kernel = kernel, .first = k + 1};
        g_autoptr(IbhOutcome) outcome = ibh_apply(stage.planned->plan, stubborn_execute, &stubborn);
        const char *message = g_ptr_array_index(outcome->errors, 0);

        if (!strstr(message, g_strerror(EIO)))
            complain(&stage, k, EIO, "the message does not say why: %s", message);
        if ((strstr(message, "failed, too") != NULL) != leaves_something(stage.planned->plan, k))
            complain(&stage, k, EIO, "the message is wrong about what is left: %s", message);
        fake_fail_at(kernel, 0, 0);
        ibh_state_remember(kernel->now->state, outcome->done, TRUE);
        check_next_run(&stage, k, EIO, kernel);
    }
}

int main(void)
{
    GArray *tests = g_array_new(FALSE, TRUE, sizeof(struct CMUnitTest));
    int status;

    for (guint i = 0; i < G_N_ELEMENTS(scenes); i++) {
        struct CMUnitTest once = {
            .name = scenes[i].name, .test_func = test_scene, .initial_state = (gpointer)(guintptr)&scenes[i]};

        g_array_append_val(tests, once);
    }
    for (guint i = 0; i < G_N_ELEMENTS(scenes); i++) {
        struct CMUnitTest twice = {
            .name = scenes[i].name, .test_func = test_way_back_fails, .initial_state = (gpointer)(guintptr)&scenes[i]};

        g_array_append_val(tests, twice);
    }
    status =
        _cmocka_run_group_tests("faults", (const struct CMUnitTest *)(gpointer)tests->data, tests->len, NULL, NULL);
    g_array_unref(tests);
    return status;
}
