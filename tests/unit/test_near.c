/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an event reads. That the plan is the same as with everything read, random worlds hold (test_random.c). */
#include "fake_near.h"

#include "case_text.h"
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Two rails, remembered ones, a strict NIC in their subnet, links above and below. */
static FakeKernel *make_host(void)
{
    FakeKernel *kernel = fake_kernel_new();
    IbhSavedRail old = {.iface = "old", .ifindex = 99, .table = 950};

    fake_do(kernel, "nic ib0 infiniband rdma mlx5_0/1", "ip address add 172.16.34.1/16 dev ib0",
            "nic ib1 infiniband rdma mlx5_1/1", "ip address add 172.16.34.2/16 dev ib1", "nic near rp_filter=1",
            "ip address add 172.16.9.1/24 dev near", "nic far", "ip address add 10.0.0.1/24 dev far",
            "ip rule add from 172.16.34.1 lookup 300 priority 100", NULL);
    g_array_append_val(kernel->now->state->rails, old);
    return kernel;
}

static void test_each_answer_fails(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();
    g_autoptr(IbhSnapshot) all = fake_snapshot(kernel);
    g_autoptr(IbhConfig) config = ibh_config_new();
    guint failed = 0;

    (void)state;
    for (gboolean read = FALSE; !read && failed < 100; failed += !read) {
        g_autoptr(GError) error = NULL;
        g_autoptr(IbhSnapshot) snapshot = fake_near_read(kernel, all, config, failed + 1, &error);

        read = snapshot != NULL;
        assert_int_equal(read, error == NULL);
        assert_true(!read || (snapshot->is_near && !snapshot->asked->everything));
    }
    assert_in_range(failed, 10, 99); /* links, RDMA, addresses, strict NICs, rules, tables, main */
}

static void add_text(IbhConfig *config, const char *text)
{
    assert_true(ibh_config_add(config, "config", text, strlen(text), NULL, TRUE, NULL));
}

static IbhSnapshot *read_near(const FakeKernel *kernel, const IbhConfig *config)
{
    g_autoptr(IbhSnapshot) all = fake_snapshot(kernel);
    g_autoptr(GError) error = NULL;
    IbhSnapshot *snapshot = fake_near_read(kernel, all, config, 0, &error);

    assert_null(error);
    assert_non_null(snapshot);
    assert_true(snapshot->is_near && !snapshot->asked->everything);
    return snapshot;
}

static void expect(const FakeKernel *kernel, const IbhConfig *config, const char *links)
{
    g_autoptr(IbhSnapshot) snapshot = read_near(kernel, config);
    g_autoptr(GString) names = g_string_new(NULL);

    IBH_EACH (const IbhLink, link, snapshot->links)
        g_string_append_printf(names, "%s%s", names->len ? " " : "", link->name);
    assert_string_equal(names->str, links);
}

/* "far" has nothing to do with rails. A NIC that is not strict need not be known, nor lo without an address of a rail's
 * subnet. */
static void test_only_what_is_near(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();
    g_autoptr(IbhConfig) config = ibh_config_new();

    (void)state;
    expect(kernel, config, "ib0 ib1 near");
    fake_do(kernel, "sysctl -w net/ipv4/conf/near/rp_filter=2", NULL);
    expect(kernel, config, "ib0 ib1");
    fake_do(kernel, "sysctl -w net/ipv4/conf/all/rp_filter=1", NULL);
    expect(kernel, config, "ib0 ib1");
    fake_do(kernel, "sysctl -w net/ipv4/conf/near/rp_filter=0", NULL);
    expect(kernel, config, "ib0 ib1 near");
    fake_do(kernel, "sysctl -w net/ipv4/conf/all/rp_filter=2", "ip address add 10.9.0.1/32 dev lo", NULL);
    expect(kernel, config, "ib0 ib1");
    fake_do(kernel, "ip address add 172.16.34.250/32 dev lo", NULL);
    expect(kernel, config, "ib0 ib1 lo");
}

/* A NIC that was a rail some runs ago: it lost its RDMA device, and stands there without. */
static void test_known_rail(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();
    g_autoptr(IbhConfig) config = ibh_config_new();
    const IbhKnownRail known = {.iface = "lost"};

    (void)state;
    g_array_append_val(kernel->now->state->known, known);
    expect(kernel, config, "ib0 ib1 near");
    fake_do(kernel, "nic lost", NULL);
    expect(kernel, config, "ib0 ib1 lost near");
}

/* So many are not asked for one by one. */
static void test_many(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(GString) names = g_string_new("ib0 ib1");
    g_autoptr(IbhSnapshot) snapshot = NULL;

    (void)state;
    for (int i = 2; i < 40; i++) {
        g_autofree char *nic = g_strdup_printf("nic ib%d infiniband rdma mlx5_%d/1", i, i);
        g_autofree char *address = g_strdup_printf("ip address add 172.16.34.%d/16 dev ib%d", i + 1, i);

        fake_do(kernel, nic, address, NULL);
        g_string_append_printf(names, " ib%d", i);
    }
    g_string_append(names, " near");
    expect(kernel, config, names->str);
    snapshot = read_near(kernel, config);
    assert_int_equal(snapshot->addresses->len, 41); /* not that of "far" */
}

static guint count_routes(const FakeKernel *kernel, const IbhConfig *config, guint32 table)
{
    g_autoptr(IbhSnapshot) snapshot = read_near(kernel, config);
    guint count = 0;

    IBH_EACH (const IbhRoute, route, snapshot->routes)
        count += route->table == table;
    return count;
}

static gboolean is_enough(const FakeKernel *kernel, const char *settings)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhSnapshot) all = fake_snapshot(kernel);
    g_autoptr(IbhSnapshot) snapshot = NULL;
    g_autoptr(IbhRails) rails = NULL;
    g_autoptr(GPtrArray) plan = NULL;

    add_text(config, settings);
    snapshot = fake_near(kernel, all, config);
    rails = snapshot ? ibh_rails_find(config, snapshot, FALSE, NULL) : NULL;
    plan = rails ? ibh_plan_apply(rails) : NULL;
    return plan && fake_near_is_enough(kernel, all, snapshot);
}

/* What stands is of rails that are here, whole. */
static void test_what_stands(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();

    (void)state;
    fake_do(kernel, "ip rule add from 172.16.34.1 lookup 941 priority 1941 suppress_ifgroup mark protocol kernel",
            "ip route add 172.16.0.0/16 dev ib0 src 172.16.34.1 table 941 metric mark protocol kernel",
            "ip address add fd00:16::1/64 dev ib0", "ip address add fd00:16::2/64 dev ib1",
            "ip route add fd00:16::/64 dev ib0 table 941 metric mark protocol kernel", NULL);
    assert_true(is_enough(kernel, ""));
    fake_do(kernel, "ip route add 10.55.0.0/24 dev near table 941", NULL); /* not ours */
    assert_true(is_enough(kernel, ""));
    assert_false(is_enough(kernel, "[interface ib0]\nmanage=no\n")); /* its subnets follow main again */
    fake_do(kernel, "ip route flush table 941", NULL);
    assert_false(is_enough(kernel, "[interface ib0]\nmanage=no\n"));
    fake_do(kernel, "ip rule del from 172.16.34.1 lookup 941 priority 1941 suppress_ifgroup mark protocol kernel",
            NULL);
    assert_true(is_enough(kernel, "[interface ib0]\nmanage=no\n"));
    fake_do(kernel, "saved ib0 arp_ignore old=0 set=1", "sysctl -w net/ipv4/conf/ib0/arp_ignore=1", NULL);
    assert_false(is_enough(kernel, "[interface ib0]\nmanage=no\n")); /* it gets its own value back */
    fake_do(kernel, "once ip route add 172.16.0.0/16 dev ib0 src 172.16.34.9 table 941 metric mark protocol kernel",
            NULL);
    assert_true(is_enough(kernel, "")); /* nobody has the address */
    fake_do(kernel, "ip address add 172.16.34.9/32 dev far", NULL);
    assert_false(is_enough(kernel, ""));
}

/* A rule of ours for an address that went away: who has it now? */
static void test_rule_without_address(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();

    (void)state;
    fake_do(kernel, "ip rule add from 172.16.34.9 lookup 941 priority 1941 suppress_ifgroup mark protocol kernel",
            NULL);
    assert_true(is_enough(kernel, ""));
    fake_do(kernel, "ip address add 172.16.34.9/32 dev far", NULL);
    assert_false(is_enough(kernel, ""));
}

/* After an --apply that was killed, routes may stand that neither a rule nor the saved state leads to. */
static void test_tables_of_its_own(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();
    g_autoptr(IbhConfig) config = ibh_config_new();

    (void)state;
    add_text(config, "[interface ib0]\ntable=1500\n");
    fake_do(kernel, "ip route add 172.16.0.0/16 dev ib0 table 940 metric mark protocol kernel",
            "ip route add 172.16.0.0/16 dev ib0 table 942 metric mark protocol kernel",
            "ip route add blackhole 172.16.7.0/24 table 942 protocol kernel", /* tells the plan nothing */
            "ip route add default via 172.16.0.1 dev ib0 table 2942 metric mark protocol kernel",
            "ip route add 172.16.0.0/16 dev ib0 table 950 metric mark protocol kernel",
            "ip route add 172.16.0.0/16 dev ib0 table 1500 metric mark protocol kernel",
            "ip route add default via 172.16.0.1 dev ib0 table 3500 metric mark protocol kernel",
            "ip route add 172.16.0.0/16 dev ib0 table 1600 metric mark protocol kernel", NULL);
    for (gsize i = 0; i < 6; i++)
        assert_int_equal(count_routes(kernel, config, (guint32[]){940, 942, 2942, 950, 1500, 3500}[i]), 1);
    assert_int_equal(count_routes(kernel, config, 1600), 0);
}

/* A rail that has got its number now asks for what stands in both of its tables: numbers of others push it anywhere. */
static void test_both_new_tables_are_asked_for(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhSnapshot) snapshot = NULL;
    g_autoptr(IbhRails) rails = NULL;
    guint n = 0;

    (void)state;
    fake_do(kernel, "ip route add 10.55.0.0/24 dev near table 941", NULL);
    snapshot = read_near(kernel, config);
    rails = ibh_rails_find(config, snapshot, FALSE, NULL);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status != IBH_NIC_RAIL)
            continue;
        n++;
        assert_true(ibh_numbers_have(snapshot->asked->tables, (int)nic->table));
        assert_true(ibh_numbers_have(snapshot->asked->tables, (int)ibh_nic_defaults(nic)));
    }
    assert_int_equal(n, 2);
}

/* Any NIC may hold a gateway's address, or have main's better route to what is no default. */
static void test_gateways(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();

    (void)state;
    fake_do(kernel, "ip address add fd00:16::1/64 dev ib0", "ip address add fd00:16::2/64 dev ib1",
            "ip address add fe80::7/64 dev far", "ip address add 172.16.9.9/32 dev far", NULL);
    assert_true(is_enough(kernel, "[interface ib0]\ngateway=172.16.255.254\n"));
    assert_true(is_enough(kernel, "[interface ib0]\ngateway=172.16.9.1\n")); /* of a NIC that is read */
    assert_false(is_enough(kernel, "[interface ib0]\ngateway=172.16.9.9\n"));
    assert_true(is_enough(kernel, "[interface ib0]\ngateway=fe80::7\n")); /* on another link it is another host */
    fake_do(kernel, "ip route add default via 172.16.255.254 dev ib0", NULL);
    assert_true(is_enough(kernel, ""));
    fake_do(kernel, "ip route add 10.9.0.0/16 via 172.16.255.254 dev ib0", NULL);
    assert_true(is_enough(kernel, "")); /* nothing is copied */
}

/* Whose rules lead a rail: where their table answers, main is not asked; where main is asked before, all of it counts.
 */
static void test_rules_of_others(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();

    (void)state;
    fake_do(kernel, "ip route add 172.16.0.0/16 dev ib0 table 300", NULL);
    assert_true(is_enough(kernel, ""));
    fake_do(kernel, "ip route add throw 172.16.8.0/24 table 300", NULL); /* back to main */
    assert_false(is_enough(kernel, ""));
    fake_do(kernel, "ip route del throw 172.16.8.0/24 table 300",
            "ip rule add lookup main priority 50 suppress_prefixlength 16", NULL);
    assert_false(is_enough(kernel, ""));
}

/* Names are asked for, and the links that are managed by theirs. */
static void test_globs(void **state)
{
    g_autoptr(FakeKernel) kernel = make_host();
    g_autoptr(IbhConfig) config = ibh_config_new();

    (void)state;
    add_text(config, "[interface f*]\nmanage=yes\n");
    expect(kernel, config, "ib0 ib1 far near");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_answer_fails),
        cmocka_unit_test(test_only_what_is_near),
        cmocka_unit_test(test_known_rail),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_gateways),
        cmocka_unit_test(test_what_stands),
        cmocka_unit_test(test_tables_of_its_own),
        cmocka_unit_test(test_both_new_tables_are_asked_for),
        cmocka_unit_test(test_rules_of_others),
        cmocka_unit_test(test_globs),
        cmocka_unit_test(test_rule_without_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
