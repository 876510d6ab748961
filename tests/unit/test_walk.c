/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way of a packet through rules and routes: each property of a rule, and the kernel's order of routes. */
#include "case_text.h"
#include "check/check.h"
#include "check/fib.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

typedef struct {
    FakeKernel *kernel;
    IbhFib *fib;
    IbhLookup packet;
} World;

static IbhIp ip(const char *text)
{
    IbhIp parsed;

    assert_true(ibh_ip_parse(text, &parsed));
    return parsed;
}

/* Two NICs of one subnet in either family, and eth0; plus these lines. */
static World world_of(const char *lines)
{
    World world = {.kernel = fake_kernel_new()};
    g_auto(GStrv) all = g_strsplit(lines, "\n", -1);

    fake_do(world.kernel, "nic ib0 infiniband", "nic ib1 infiniband", "nic eth0",
            "ip address add 172.16.34.1/16 dev ib0", "ip address add 172.16.34.2/16 dev ib1",
            "ip address add fd00::1/64 dev ib0", "ip address add fd00::2/64 dev ib1",
            "ip address add 192.168.1.5/24 dev eth0", "ip route add default via 192.168.1.1 dev eth0", NULL);
    for (guint i = 0; all[i]; i++)
        fake_do(world.kernel, all[i], NULL);
    return world;
}

/* The rule that was added with this priority. */
static IbhRule *rule_at(const World *world, guint32 priority)
{
    IBH_EACH (IbhRule, rule, world->kernel->now->rules) {
        if (rule->priority == priority)
            return rule;
    }
    fail_msg("no rule has priority %u", priority);
    return NULL;
}

static IbhTrace walk(World *world, const char *from, const char *to)
{
    if (!world->fib) {
        world->fib = ibh_fib_new(world->kernel->now);
        ibh_fib_add_snapshot(world->fib, world->kernel->now, TRUE);
    }
    world->packet.from = ip(from);
    world->packet.to = ip(to);
    return ibh_fib_walk(world->fib, &world->packet);
}

static void assert_leaves(World *world, const char *from, const char *to, const char *dev)
{
    IbhTrace trace = walk(world, from, to);

    if (trace.refused || !trace.route || !ibh_route_leads_through(trace.route, fake_ifindex(world->kernel, dev)))
        fail_msg("%s to %s: rule %u, route by %d%s, not %s", from, to, trace.rule ? trace.rule->priority : 0,
                 trace.route ? trace.route->ifindex : 0, trace.refused ? ", refused" : "", dev);
}

static void assert_refused(World *world, const char *from, const char *to, guint32 priority)
{
    IbhTrace trace = walk(world, from, to);

    assert_true(trace.refused);
    assert_int_equal(trace.rule ? trace.rule->priority : 0, priority);
}

static void end(World *world)
{
    ibh_fib_free(world->fib);
    fake_kernel_free(world->kernel);
}

static void test_rules_of_a_source_and_of_all_in_order(void **state)
{
    World world = world_of("ip route add 172.16.0.0/16 dev ib1 table 942\nip route add 172.16.0.0/16 dev eth0 table 7\n"
                           "ip rule add from 172.16.34.2 lookup 942 priority 1941\n"
                           "ip rule add from 172.16.34.1 lookup 942 priority 1942\n"
                           "ip rule add from all to 172.16.5.0/24 lookup 7 priority 1940\n"
                           "ip rule add from 172.16.0.0/16 to 172.16.6.0/24 lookup 7 priority 1941\n"
                           "ip rule add from 172.16.34.1 to 172.16.7.0/24 unreachable priority 1939");

    (void)state;
    assert_leaves(&world, "172.16.34.2", "172.16.1.1", "ib1");
    assert_leaves(&world, "172.16.34.2", "172.16.5.1", "eth0");
    assert_leaves(&world, "172.16.34.2", "172.16.6.1", "ib1"); /* of one priority, the older rule comes first */
    assert_leaves(&world, "172.16.34.1", "172.16.6.1", "eth0");
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib1");
    assert_refused(&world, "172.16.34.1", "172.16.7.1", 1939);
    assert_leaves(&world, "172.16.34.2", "172.16.7.1", "ib1");
    end(&world);
}

static void test_suppressors_and_errors(void **state)
{
    World world = world_of("ip route add 172.16.0.0/16 dev ib1 table 942\nip route add 172.16.5.0/24 dev eth0\n"
                           "ip route add unreachable 172.16.6.0/24\nip route add throw 172.16.7.0/24 table 942\n"
                           "ip rule add from 172.16.34.2 lookup main suppress_prefixlength 16 priority 1940\n"
                           "ip rule add from 172.16.34.2 lookup 942 priority 1941");

    (void)state;
    assert_leaves(&world, "172.16.34.2", "172.16.1.1", "ib1");
    assert_leaves(&world, "172.16.34.2", "172.16.5.1", "eth0");
    assert_leaves(&world, "172.16.34.2", "172.16.7.1", "ib0"); /* a throw ends its table */
    assert_refused(&world, "172.16.34.2", "172.16.6.1", 1940);
    rule_at(&world, 1940)->suppress_prefixlength = 24; /* an error is not suppressed */
    assert_leaves(&world, "172.16.34.2", "172.16.5.1", "ib1");
    assert_refused(&world, "172.16.34.2", "172.16.6.1", 1940);
    rule_at(&world, 1941)->suppress_ifgroup = 0; /* the group that all links have */
    assert_leaves(&world, "172.16.34.2", "172.16.1.1", "ib0");
    rule_at(&world, 1941)->suppress_ifgroup = IBH_MARK;
    assert_leaves(&world, "172.16.34.2", "172.16.1.1", "ib1");
    end(&world);
}

static void test_not_and_goto(void **state)
{
    World world = world_of("ip route add default dev ib1 table 7\nip rule add lookup 7 priority 100\n"
                           "ip rule add from 172.16.34.1 lookup 7 priority 300");
    g_autoptr(GArray) target = IBH_NEW_ARRAY(IbhOwner);
    IbhRule *rule = rule_at(&world, 100);

    (void)state;
    g_array_append_val(target, ((IbhOwner){.rule = rule_at(&world, 300)}));
    rule->selectors = IBH_SELECT_NOT | IBH_SELECT_TO;
    rule->to = ibh_prefix_of(&(IbhIp){.family = AF_INET, .bytes = {172, 16, 128}}, 17);
    assert_leaves(&world, "172.16.34.2", "172.16.1.1", "ib1");
    assert_leaves(&world, "172.16.34.2", "172.16.129.1", "ib0");
    rule->selectors = 0;
    rule->to.length = 0;
    rule->action = FR_ACT_GOTO;
    rule->target = 300;
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib1");
    assert_leaves(&world, "172.16.34.2", "172.16.1.1", "ib0");
    assert_ptr_equal(walk(&world, "172.16.34.1", "172.16.1.1").jump, rule);
    rule->target = IBH_PRIORITY_MAIN;
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib0");
    ibh_fib_set_without(world.fib, target); /* as if the rule that it leads to were gone */
    rule->target = 300;
    assert_null(walk(&world, "172.16.34.2", "172.16.1.1").jump);
    ibh_fib_set_without(world.fib, NULL);
    rule->target = 301; /* no rule is there: it does nothing */
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib1");
    assert_null(walk(&world, "172.16.34.1", "172.16.1.1").jump);
    rule->action = FR_ACT_NOP;
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib1");
    end(&world);
}

/* A packet has mark 0, user 0, tos 0, no port and no protocol. */
static void test_selections(void **state)
{
    World world = world_of("ip route add default dev ib1 table 7\nip rule add lookup 7 priority 100");
    IbhRule *rule = rule_at(&world, 100);
    static const struct {
        guint selectors;
        IbhSelection by;
        gboolean matches;
    } rows[] = {
        {IBH_SELECT_FWMARK, {.mark = 1, .mask = 3}, FALSE},
        {IBH_SELECT_FWMARK, {.mark = 0, .mask = 0xff}, TRUE},
        {IBH_SELECT_FWMARK, {.mark = 0x10, .mask = 0xf}, TRUE},
        {IBH_SELECT_UID, {.uid = {1000, 2000}}, FALSE},
        {IBH_SELECT_UID, {.uid = {0, 0}}, TRUE},
        {IBH_SELECT_PORT, {.dport = {80, 90}}, FALSE},
        {IBH_SELECT_PORT, {.sport = {80, 90}}, FALSE},
        {IBH_SELECT_PORT, {.ip_protocol = 17}, FALSE},
        {IBH_SELECT_TOS, {.tos = 16}, FALSE},
        {IBH_SELECT_TOS, {.tos = 0x20, .dscp_mask = 0x38}, FALSE},
        {IBH_SELECT_TOS, {.tos = 0, .dscp_mask = 0x38}, TRUE},
        {IBH_SELECT_OIF, {.oif = "ib1"}, FALSE},
    };

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        rule->selectors = rows[i].selectors;
        rule->by = rows[i].by;
        assert_leaves(&world, "172.16.34.1", "172.16.1.1", rows[i].matches ? "ib1" : "ib0");
    }
    world.packet.bound = fake_ifindex(world.kernel, "ib1"); /* the last row matches it */
    assert_leaves(&world, "172.16.34.1", "8.8.8.8", "ib1");
    world.packet.bound = 0;
    rule->selectors = IBH_SELECT_IIF;
    rule->by = (IbhSelection){.iif = "ib0"};
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib0");
    world.packet.iif = fake_ifindex(world.kernel, "ib0");
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib1");
    rule->by = (IbhSelection){.iif = "lo"};
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib0");
    world.packet.iif = 0;
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib1");
    rule->selectors = IBH_SELECT_OTHER; /* nobody guesses */
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib0");
    rule->selectors = 0;
    rule->l3mdev = TRUE;
    assert_leaves(&world, "172.16.34.1", "172.16.1.1", "ib0");
    end(&world);
}

static void test_routes(void **state)
{
    World world = world_of("ip rule add lookup 7 priority 100\nip route append 10.0.0.0/8 dev ib1 metric 5 table 7\n"
                           "ip route append 10.0.0.0/8 dev eth0 metric 5 table 7\n"
                           "ip route append 10.0.0.0/8 dev ib0 metric 1 table 7\n"
                           "ip route add 10.1.0.0/16 nexthop dev ib0 nexthop dev ib1 table 7\n"
                           "ip -6 rule add lookup 7 priority 100\nip route add 2001:db8::/32 dev ib1 table 7");
    IbhRoute *many = NULL;

    (void)state;
    assert_leaves(&world, "fd00::1", "2001:db8::1", "ib1");
    assert_leaves(&world, "172.16.34.1", "10.2.0.1", "ib0");
    assert_true(walk(&world, "172.16.34.1", "10.1.0.1").route->nexthops > 1);
    assert_false(
        ibh_route_leads_through(walk(&world, "172.16.34.1", "10.1.0.1").route, fake_ifindex(world.kernel, "ib0")));
    IBH_EACH (IbhRoute, route, world.kernel->now->routes) {
        if (route->nexthops > 1)
            many = route;
    }
    assert_non_null(many);
    many->hops = (IbhHop[]){{.ifindex = 2, .dead = 1}, {.ifindex = 3}}; /* ib0, ib1 */
    assert_leaves(&world, "172.16.34.1", "10.1.0.1", "ib1");
    many->hops = (IbhHop[]){{.ifindex = 2, .dead = 1}, {.ifindex = 3, .dead = 1}};
    assert_leaves(&world, "172.16.34.1", "10.1.0.1", "ib0"); /* the shorter prefix */
    assert_int_equal(walk(&world, "172.16.34.1", "10.1.0.1").route->dst.length, 8);
    world.packet.bound = fake_ifindex(world.kernel, "ib1"); /* of IPv4, only routes by that NIC count */
    assert_leaves(&world, "172.16.34.1", "10.2.0.1", "ib1");
    world.packet.bound = fake_ifindex(world.kernel, "ib0");
    assert_leaves(&world, "fd00::1", "2001:db8::1", "ib1");
    world.packet.bound = 0;
    fake_link(world.kernel, fake_ifindex(world.kernel, "ib0"))->carrier = FALSE;
    assert_leaves(&world, "172.16.34.1", "10.2.0.1", "ib0");
    fake_link(world.kernel, fake_ifindex(world.kernel, "ib0"))->ignores_linkdown = TRUE;
    assert_leaves(&world, "172.16.34.1", "10.2.0.1", "ib1"); /* of one metric, the older one */
    fake_link(world.kernel, fake_ifindex(world.kernel, "ib1"))->carrier = FALSE;
    fake_link(world.kernel, fake_ifindex(world.kernel, "ib1"))->ignores_linkdown = TRUE;
    assert_leaves(&world, "fd00::1", "2001:db8::1", "ib1");
    fake_link(world.kernel, fake_ifindex(world.kernel, "ib1"))->ignores_linkdown6 = TRUE;
    assert_true(walk(&world, "fd00::1", "2001:db8::1").refused);
    end(&world);
}

static void test_without_ours(void **state)
{
    World world =
        world_of("ip route add 172.16.0.0/16 dev ib1 table 942 metric mark protocol kernel\n"
                 "ip rule add from 172.16.34.2 lookup 942 priority 1941 suppress_ifgroup mark protocol kernel");
    g_autoptr(GArray) own = NULL;

    (void)state;
    assert_leaves(&world, "172.16.34.2", "172.16.1.1", "ib1");
    ibh_fib_free(world.fib);
    world.fib = ibh_fib_new(world.kernel->now);
    ibh_fib_add_snapshot(world.fib, world.kernel->now, FALSE);
    own = ibh_snapshot_own_routes(world.kernel->now);
    IBH_EACH (const IbhRoute, route, own)
        ibh_fib_add_route(world.fib, route);
    assert_leaves(&world, "172.16.34.2", "172.16.1.1", "ib0");
    assert_int_equal(walk(&world, "172.16.34.2", "172.16.34.1").route->type, RTN_LOCAL);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_of_a_source_and_of_all_in_order),
        cmocka_unit_test(test_suppressors_and_errors),
        cmocka_unit_test(test_not_and_goto),
        cmocka_unit_test(test_selections),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_without_ours),
    };

    return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
