/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run on an event leaves alone, and what it says to the journal. */
#include "case_text.h"
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static const char *const IB0[] = {"ib0", NULL}, *const IB1[] = {"ib1", NULL};

/* Two rails as they were programmed; what `change` says has happened since. */
static const char BEFORE[] =
    "nic ib0 infiniband rdma mlx5_0/1 arp_ignore=1 arp_announce=2\n"
    "nic ib1 infiniband rdma mlx5_1/1 arp_ignore=1 arp_announce=2\n"
    "ip address add 172.16.34.1/16 dev ib0\n"
    "ip rule add priority 1940 from 172.16.34.1 to 172.16.0.0/16 lookup main suppress_prefixlength 16 suppress_ifgroup "
    "mark protocol kernel\n"
    "ip rule add priority 1940 from 172.16.34.2 to 172.16.0.0/16 lookup main suppress_prefixlength 16 suppress_ifgroup "
    "mark protocol kernel\n"
    "ip rule add priority 1941 from 172.16.34.1/32 to 172.16.0.0/16 lookup 941 suppress_ifgroup mark protocol kernel\n"
    "ip rule add priority 1941 from 172.16.34.2/32 to 172.16.0.0/16 lookup 942 suppress_ifgroup mark protocol "
    "kernel\n"
    "ip route add 172.16.0.0/16 dev ib0 src 172.16.34.1 table 941 metric mark protocol kernel\n"
    "rail ib0 table=941\nrail ib1 table=942\n"
    "saved ib0 arp_ignore old=0 set=1\nsaved ib0 arp_announce old=0 set=2\n"
    "saved ib1 arp_ignore old=0 set=1\nsaved ib1 arp_announce old=0 set=2\n";

typedef struct {
    IbhCase *cas;
    IbhConfig *config;
    IbhRails *rails;
    GPtrArray *plan;
    GArray *spared;
} World;

static World restrain(const char *change, const IbhRestraint *restraint)
{
    g_autofree char *text = g_strconcat(BEFORE, change, "do apply\n", NULL);
    g_autoptr(GError) error = NULL;
    World world = {.cas = ibh_case_parse("test", text, &error)};

    if (!world.cas)
        fail_msg("%s", error->message);
    world.config = ibh_config_new();
    assert_true(
        ibh_config_add(world.config, "config", world.cas->config->str, world.cas->config->len, NULL, TRUE, NULL));
    world.rails = ibh_rails_find(world.config, world.cas->snapshot, &(IbhRequest){.respects_holds = TRUE}, NULL);
    world.plan = ibh_plan(world.rails);
    world.spared = ibh_plan_restrain(world.plan, world.rails, restraint);
    return world;
}

static void end(World *world)
{
    g_array_unref(world->spared);
    g_ptr_array_unref(world->plan);
    ibh_rails_free(world->rails);
    ibh_config_free(world->config);
    ibh_case_free(world->cas);
}

static guint count(const World *world, IbhOpType type, const char *iface)
{
    guint n = 0;

    IBH_EACH_POINTER (const IbhOp, op, world->plan)
        n += op->type == type && g_str_equal(op->iface, iface);
    return n;
}

static void test_an_address_that_may_come_back(void **state)
{
    const IbhRestraint restraint = {.down = IB0};
    World world = restrain("", &restraint);

    (void)state;
    assert_int_equal(world.plan->len, 0);
    assert_int_equal(world.spared->len, 1);
    assert_int_equal(g_array_index(world.spared, int, 0), 3);
    end(&world);
}

/* What has happened since, and what is done then; {0} ends it. ib1's arp_ignore stays while ib0 is a rail. */
typedef struct {
    const char *change;
    const char *const *down;
    gboolean given_up; /* ib1 */
    guint n_spared;
    struct {
        IbhOpType type;
        const char *iface;
        guint n;
    } ops[4];
} Row;

static const Row rows[] = {
    {.down = IB1, .ops = {{IBH_OP_RULE_DEL, "ib1", 2}, {IBH_OP_SYSCTL_SET, "ib1", 1}}},
    {.given_up = TRUE, .ops = {{IBH_OP_RULE_DEL, "ib1", 2}}},
    /* Renumbered: with another address there, the old one will not come back. */
    {.change = "ip address add 172.16.34.7/16 dev ib1\n",
     .ops = {{IBH_OP_RULE_DEL, "ib1", 2}, {IBH_OP_RULE_ADD, "ib1", 2}}},
    /* With manage=yes it is a rail nevertheless, and gets what a rail gets. */
    {.change = "nic ib2 infiniband rdma mlx5_2/1\nip address add 2001:db8::1/64 dev ib2 tentative\n"
               "config [interface ib2] manage=yes\n",
     .n_spared = 1,
     .ops = {{IBH_OP_SYSCTL_SET, "ib2", 2}}},
    /* A NIC without addresses must not answer for the rails. */
    {.change = "nic ib2 infiniband rdma mlx5_2/1\n", .n_spared = 1, .ops = {{IBH_OP_SYSCTL_SET, "ib2", 1}}},
    /* Its NIC is gone. */
    {.change = "ip rule add priority 1941 from 172.16.34.9/32 lookup 949 suppress_ifgroup mark protocol kernel\n",
     .n_spared = 1,
     .ops = {{IBH_OP_RULE_DEL, "", 1}}},
    /* ib00 has the table of ib1 by configuration: they stand or fall together, so what is ib1's is not spared. */
    {.change = "nic ib00 infiniband rdma mlx5_2/1\nip address add 172.16.34.3/16 dev ib00\n"
               "once ip route add 172.16.0.0/16 dev ib1 src 172.16.34.2 table 942 metric mark protocol kernel\n"
               "config [interface ib00] table=942\n",
     .ops = {{IBH_OP_ROUTE_REPLACE, "ib00", 1}, {IBH_OP_RULE_DEL, "ib00", 2}, {IBH_OP_SYSCTL_SET, "ib1", 1}}},
};

static void test_what_happened(void **state)
{
    g_autoptr(GArray) ib1 = g_array_new(FALSE, FALSE, sizeof(int));

    (void)state;
    g_array_append_vals(ib1, (int[]){3}, 1);
    IBH_EACH_ROW (const Row, row, rows) {
        const IbhRestraint restraint = {.down = row->down, .given_up = row->given_up ? ib1 : NULL};
        World world = restrain(row->change ? row->change : "", &restraint);

        print_message("row %d\n", (int)(row - rows));
        assert_int_equal(world.spared->len, row->n_spared);
        for (guint i = 0; row->ops[i].iface; i++)
            assert_int_equal(count(&world, row->ops[i].type, row->ops[i].iface), row->ops[i].n);
        end(&world);
    }
}

static gboolean leaves_ib1(gconstpointer peace, const IbhUnit *unit)
{
    return !*(const gboolean *)peace && unit->kind == IBH_UNIT_NIC && unit->family == AF_INET && unit->ifindex == 3;
}

static void test_a_unit_that_is_left_alone(void **state)
{
    (void)state;
    for (gboolean peace = FALSE; peace <= TRUE; peace++) {
        const IbhRestraint restraint = {.down = IB1, .leaves = leaves_ib1, .data = &peace};
        World world = restrain("ip address add 172.16.34.2/16 dev ib1\n", &restraint); /* its route is missing */

        assert_int_equal(count(&world, IBH_OP_ROUTE_ADD, "ib1"), peace);
        end(&world);
    }
}

/* ---- the journal ---- */

static char *log_of(const World *world)
{
    return ibh_ops_log_text(world->plan, world->cas->snapshot, "ifupdown: ib1 start");
}

static void test_the_journal(void **state)
{
    typedef struct {
        const char *change, *text;
    } Loss;
    static const char known[] = "known ib1 mlx5_1/1 0000:81:00.1/1 02:00:00:00:00:01 0 172.16.34.2\n";
    static const Loss losses[] = {
        {"ip link set ib1 carrier off\n",
         "ib1 has no carrier: 2 rules and routes removed; set arp_announce=0 (ifupdown: ib1 start)\n"},
        {"ip link set ib1 down\n",
         "ib1 is down: 2 rules and routes removed; set arp_announce=0; set arp_ignore=0 (ifup"},
        {"ip link del ib1\nrail ib1 table=942 ifindex=9\nonce ip rule add priority 32765 from 172.16.34.2 lookup 2942 "
         "suppress_ifgroup mark protocol kernel\n",
         "ib1 is gone: 3 rules and routes removed (ifupdown: ib1 start)\n"},
        {"ip link del ib1\n", "ib1 is gone: 2 rules and routes removed (ifup"}, /* it is known */
        {"ip address del 172.16.34.1/16 dev ib0\nip address add 172.16.34.9/16 dev ib0\n",
         "ib0: removed rule from 172.16.34.1 to table 941; added route 172.16.0.0/16 in table 941; added rule from "
         "172.16.34.9 to table 941; announced 172.16.34.9 (ifup"},
        {"ip address add 172.16.34.9/16 dev ib1\n",
         "ib1: removed rule from 172.16.34.2 to table 942; added route 172.16.0.0/16 in table 942; added rule from "
         "172.16.34.9 to table 942; announced 172.16.34.9 (ifup"},
        {"once ip rule add from 0.0.0.0/32 to 172.16.0.0/16 priority 4941 lookup 940 suppress_ifgroup mark protocol "
         "kernel\n",
         "main=spread: removed rule to table 940 (ifup"},
        {"ip address add 172.16.34.2/16 dev ib1\n", "ib1: added route 172.16.0.0/16 in table 942 (ifup"},
    };

    (void)state;
    IBH_EACH_ROW (const Loss, loss, losses) {
        const IbhRestraint restraint = {.down = IB1};
        World world = restrain(loss->change, &restraint);
        g_autoptr(IbhState) past = ibh_state_parse(known, strlen(known));
        g_autofree char *text = NULL;

        if (!strstr(loss->change, "rail ib1"))
            g_array_append_vals(world.cas->snapshot->state->known, past->known->data, past->known->len);
        text = log_of(&world);
        if (!strstr(text, loss->text))
            fail_msg("not \"%s\" but \"%s\"", loss->text, text);
        end(&world);
    }
}

/* Whatever a name holds, it is one line. */
static void test_hostile_names_in_the_journal(void **state)
{
    g_autoptr(GPtrArray) plan = g_ptr_array_new_with_free_func((GDestroyNotify)ibh_op_free);
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_autofree char *text = NULL, *whole = NULL;
    g_auto(GStrv) items = NULL;

    (void)state;
    for (int i = 0; i < 40; i++) {
        IbhOp *op = g_new0(IbhOp, 1);

        op->type = IBH_OP_SYSCTL_SET;
        g_strlcpy(op->iface, "x\n\033]0;\a", sizeof op->iface);
        g_ptr_array_add(plan, op);
    }
    text = ibh_ops_log_text(plan, snapshot, "ifupdown: ib1 \033]0;\nstart");
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, " and 28 more"));
    items = g_strsplit(text, "; ", -1);
    assert_int_equal(g_strv_length(items), 12);
    g_ptr_array_set_size(plan, 12);
    whole = ibh_ops_log_text(plan, snapshot, "ifupdown: ib1 start");
    assert_null(strstr(whole, " more"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address_that_may_come_back), cmocka_unit_test(test_what_happened),
        cmocka_unit_test(test_a_unit_that_is_left_alone),     cmocka_unit_test(test_the_journal),
        cmocka_unit_test(test_hostile_names_in_the_journal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
