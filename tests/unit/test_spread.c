/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main=spread: unbound traffic over all rails of a subnet. What is planned for table 940 and its rule, from namespaces
 * made by hand, and what becomes of it when an operation fails.
 */
#include "plan/apply.h"
#include "plan/plan.h"

#include <linux/fib_rules.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define SPREAD "main=spread\n"

#define MAIN_RULE(verb, priority, subnet, length)                                                                      \
    "ip -4 rule " verb " priority " priority " from 0.0.0.0 to " subnet "/" length                                     \
    " lookup 254 suppress_prefixlength " length " suppress_ifgroup 1768056939 protocol kernel\n"
#define RAILS_RULE(verb, priority, subnet)                                                                             \
    "ip -4 rule " verb " priority " priority " from 0.0.0.0 to " subnet                                                \
    " lookup 940 suppress_ifgroup 1768056939 protocol kernel\n"
#define S "172.16.0.0"
#define ADDED(priority_of_main, priority, hops)                                                                        \
    MAIN_RULE("add", priority_of_main, S, "16") ROUTE("add", S "/16", hops) RAILS_RULE("add", priority, S "/16")
#define ADD(hops) ADDED("4940", "4941", hops)
#define DEL_RULE RAILS_RULE("del", "4941", S "/16") MAIN_RULE("del", "4940", S, "16")
#define ROUTE(verb, subnet, hops)                                                                                      \
    "ip -4 route " verb " " subnet " table 940 protocol kernel scope link metric 1768056939 " hops "\n"
#define BOTH "nexthop dev ib0 nexthop dev ib1"
#define ALL_THREE BOTH " nexthop dev ib2"

/* ---- namespaces ---- */

static int index_of(const IbhSnapshot *world, const char *name)
{
    const IbhLink *link = ibh_snapshot_link_by_name(world, name);

    if (!link)
        fail_msg("no link %s", name);
    return link->ifindex;
}

static IbhLink *link_of(IbhSnapshot *world, const char *name)
{
    int ifindex = index_of(world, name);

    for (guint i = 0; i < world->links->len; i++) {
        if (g_array_index(world->links, IbhLink, i).ifindex == ifindex)
            return &g_array_index(world->links, IbhLink, i);
    }
    return NULL;
}

static void add_link(IbhSnapshot *world, const char *name)
{
    IbhLink link = {.ifindex = (int)world->links->len + 2, .flags = IFF_UP, .carrier = TRUE};

    g_strlcpy(link.name, name, sizeof link.name);
    link.type = g_str_has_prefix(name, "ib") ? ARPHRD_INFINIBAND : ARPHRD_ETHER;
    g_array_append_val(world->links, link);
}

static IbhPrefix prefix_of(const char *text)
{
    IbhPrefix prefix;

    if (!ibh_prefix_parse(text, &prefix))
        fail_msg("%s is no prefix", text);
    return prefix;
}

/* The address itself: ibh_prefix_parse() clears the host bits. */
static IbhIp ip_of(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "/", 2);
    IbhIp ip;

    if (!ibh_ip_parse(parts[0], &ip))
        fail_msg("%s is no address", text);
    return ip;
}

static IbhAddress address_of(const IbhSnapshot *world, const char *name, const char *text)
{
    const char *slash = strchr(text, '/');
    IbhAddress address = {.ifindex = index_of(world, name), .local = ip_of(text)};

    address.subnet = ibh_prefix(&address.local, (guint)g_ascii_strtoull(slash + 1, NULL, 10));
    return address;
}

static void add_address(IbhSnapshot *world, const char *name, const char *text)
{
    IbhAddress address = address_of(world, name, text);

    for (guint i = 0; i < world->addresses->len; i++) {
        const IbhAddress *other = &g_array_index(world->addresses, IbhAddress, i);

        address.secondary |= other->ifindex == address.ifindex && ibh_prefix_equal(&other->subnet, &address.subnet);
    }
    g_array_append_val(world->addresses, address);
}

static void del_address(IbhSnapshot *world, const char *text)
{
    IbhIp ip = ip_of(text);

    for (guint i = world->addresses->len; i-- > 0;) {
        if (ibh_ip_equal(&g_array_index(world->addresses, IbhAddress, i).local, &ip))
            g_array_remove_index(world->addresses, i);
    }
}

/* ib0 .1, ib1 .2 … in 172.16.0.0/16, and lo */
static IbhSnapshot *make_world(guint rails)
{
    IbhSnapshot *world = ibh_snapshot_new();
    IbhRule local = {.family = AF_INET,
                     .from = prefix_of("0.0.0.0/0"),
                     .action = FR_ACT_TO_TBL,
                     .table = IBH_TABLE_LOCAL,
                     .protocol = RTPROT_KERNEL,
                     .suppress_prefixlength = -1,
                     .suppress_ifgroup = -1};
    IbhRule main_rule = local, local6 = local;

    if (!world->state)
        world->state = ibh_state_new();
    main_rule.priority = 32766;
    main_rule.table = IBH_TABLE_MAIN;
    local6.family = AF_INET6;
    local6.from = prefix_of("::/0");
    g_array_append_val(world->rules, local);
    g_array_append_val(world->rules, local6);
    g_array_append_val(world->rules, main_rule);
    for (guint i = 0; i < rails; i++) {
        g_autofree char *name = g_strdup_printf("ib%u", i);
        g_autofree char *address = g_strdup_printf("172.16.34.%u/16", i + 1);

        add_link(world, name);
        add_address(world, name, address);
    }
    return world;
}

static IbhRoute route_940(const IbhSnapshot *world, const char *dst, const char *first, const char *hops)
{
    g_auto(GStrv) words = g_strsplit(hops ? hops : "", " ", -1);

    return (IbhRoute){.family = AF_INET,
                      .table = IBH_TABLE_SPREAD,
                      .dst = prefix_of(dst),
                      .type = RTN_UNICAST,
                      .protocol = RTPROT_KERNEL,
                      .scope = RT_SCOPE_LINK,
                      .metric = IBH_MARK,
                      .ifindex = index_of(world, first),
                      .nexthops = hops ? g_strv_length(words) : 1,
                      .hops = hops ? g_intern_string(hops) : NULL};
}

static IbhRule rule_940(guint32 priority)
{
    return (IbhRule){.family = AF_INET,
                     .priority = priority,
                     .from = prefix_of("0.0.0.0/32"),
                     .to = prefix_of("172.16.0.0/16"),
                     .selectors = IBH_SELECT_TO,
                     .action = FR_ACT_TO_TBL,
                     .table = IBH_TABLE_SPREAD,
                     .protocol = RTPROT_KERNEL,
                     .suppress_prefixlength = -1,
                     .suppress_ifgroup = IBH_MARK};
}

/* ---- plans ---- */

static IbhRails *find_rails(const IbhSnapshot *world, const char *settings)
{
    g_autofree char *text = g_strdup_printf("[defaults]\narp=keep\n%s", settings);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(GError) error = NULL;
    IbhRails *rails = NULL;

    if (ibh_config_add(config, "config", text, strlen(text), NULL, NULL, &error))
        rails = ibh_rails_find(config, world, FALSE, &error);
    if (!rails)
        fail_msg("%s", error->message);
    return rails;
}

static gboolean is_spread(const IbhOp *op)
{
    switch (op->type) {
    case IBH_OP_RULE_ADD:
    case IBH_OP_RULE_DEL:
        return op->rule.table == IBH_TABLE_SPREAD || ibh_rule_is_spread(&op->rule);
    case IBH_OP_ROUTE_ADD:
    case IBH_OP_ROUTE_REPLACE:
    case IBH_OP_ROUTE_DEL:
        return op->route.table == IBH_TABLE_SPREAD;
    default:
        return FALSE;
    }
}

/* The commands for table 940, one per line. Each has a reason, no interface, and is of the unit of the others. */
static char *spread_of(const IbhPlan *plan)
{
    GString *text = g_string_new(NULL);
    int unit = 0;

    for (guint i = 0; i < plan->ops->len; i++) {
        const IbhOp *op = g_ptr_array_index(plan->ops, i);
        g_autofree char *command = ibh_op_command(op);

        if (!is_spread(op)) {
            assert_int_not_equal(op->unit, G_MAXINT);
            continue;
        }
        assert_true(op->why && op->why[0]);
        assert_true(op->unit && (!unit || unit == op->unit));
        unit = op->unit;
        g_string_append_printf(text, "%s\n", command);
    }
    return g_string_free(text, FALSE);
}

static void expect_plan(const IbhSnapshot *world, const char *settings, const char *const *only, const char *expected)
{
    g_autoptr(IbhRails) rails = find_rails(world, settings);
    g_autoptr(IbhPlan) plan = ibh_plan_apply(rails, only);
    g_autofree char *got = spread_of(plan);

    assert_string_equal(got, expected);
}

static void expect_undo(const IbhSnapshot *world, const char *only_one, const char *expected)
{
    const char *only[] = {only_one, NULL};
    g_autoptr(IbhConfig) config = ibh_config_new();
    const char *settings = "[defaults]\nmain=spread\narp=keep\n";
    g_autoptr(IbhRails) rails = find_rails(world, SPREAD), after = NULL;
    g_autoptr(IbhPlan) plan = NULL;
    g_autofree char *got = NULL;

    assert_true(ibh_config_add(config, "config", settings, strlen(settings), NULL, NULL, NULL));
    after = only_one ? ibh_rails_without(config, world, only) : NULL;
    plan = ibh_plan_undo(rails, after, only_one ? only : NULL);
    got = spread_of(plan);
    assert_string_equal(got, expected);
}

/* ---- a kernel that does as it is told ---- */

typedef struct {
    IbhSnapshot *world;
    int fail_at;     /* counts operations for table 940 from 1; 0: none fails */
    gboolean lost;   /* the operation that fails is done, only its answer is lost */
    int seen;        /* operations for table 940 */
    gboolean behind; /* an operation for a rail came after one for table 940 */
} Kernel;

static void take_rule(GArray *rules, const IbhRule *rule)
{
    for (guint i = 0; i < rules->len; i++) {
        if (ibh_rule_compare(&g_array_index(rules, IbhRule, i), rule) == 0) {
            g_array_remove_index(rules, i);
            return;
        }
    }
    fail_msg("a rule is deleted that is not there");
}

static void take_route(GArray *routes, const IbhRoute *route)
{
    for (guint i = 0; i < routes->len; i++) {
        if (ibh_route_compare(&g_array_index(routes, IbhRoute, i), route) == 0) {
            g_array_remove_index(routes, i);
            return;
        }
    }
    fail_msg("a route is deleted or replaced that is not there");
}

static void perform(IbhSnapshot *world, const IbhOp *op)
{
    switch (op->type) {
    case IBH_OP_RULE_ADD:
        g_array_append_val(world->rules, op->rule);
        break;
    case IBH_OP_RULE_DEL:
        take_rule(world->rules, &op->rule);
        break;
    case IBH_OP_ROUTE_REPLACE:
        take_route(world->routes, &op->replaced);
        g_array_append_val(world->routes, op->route);
        break;
    case IBH_OP_ROUTE_ADD:
        g_array_append_val(world->routes, op->route);
        break;
    case IBH_OP_ROUTE_DEL:
        take_route(world->routes, &op->route);
        break;
    default:
        break;
    }
}

static gboolean execute(gpointer data, const IbhOp *op, GError **error)
{
    Kernel *kernel = data;
    gboolean fails = is_spread(op) && ++kernel->seen == kernel->fail_at;

    kernel->behind |= kernel->seen && !is_spread(op);
    if (!fails || kernel->lost)
        perform(kernel->world, op);
    if (fails)
        g_set_error_literal(error, kernel->lost ? IBH_ANSWER_LOST : G_FILE_ERROR, 0, "Out of spoons");
    return !fails;
}

static void apply(IbhSnapshot *world, const char *settings)
{
    g_autoptr(IbhRails) rails = find_rails(world, settings);
    g_autoptr(IbhPlan) plan = ibh_plan_apply(rails, NULL);
    Kernel kernel = {.world = world};
    g_autoptr(IbhOutcome) outcome = ibh_apply(plan, execute, &kernel);

    assert_int_equal(outcome->errors->len, 0);
}

/* Rules and routes: with those of table 940 or without. */
static char *print(const IbhSnapshot *world, gboolean spread)
{
    GString *text = g_string_new(NULL);
    IbhOp op = {.ifindex = 0};

    op.type = IBH_OP_RULE_ADD;
    for (guint i = 0; i < world->rules->len; i++) {
        g_autofree char *command = NULL;

        op.rule = g_array_index(world->rules, IbhRule, i);
        command = ibh_op_command(&op);
        if (is_spread(&op) == spread)
            g_string_append_printf(text, "%s\n", command);
    }
    op.type = IBH_OP_ROUTE_ADD;
    for (guint i = 0; i < world->routes->len; i++) {
        g_autofree char *command = NULL;

        op.route = g_array_index(world->routes, IbhRoute, i);
        command = ibh_op_command(&op);
        if (is_spread(&op) == spread)
            g_string_append_printf(text, "%s [%s]\n", command, op.route.hops ? op.route.hops : "");
    }
    return g_string_free(text, FALSE);
}

/* ---- what is wanted ---- */

static void test_two_and_three(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) two = make_world(2), three = make_world(3);

    expect_plan(two, SPREAD, NULL, ADD(BOTH));
    expect_plan(three, SPREAD, NULL, ADD(ALL_THREE));
    expect_plan(two, "", NULL, "");
    expect_plan(two, "main=keep\n", NULL, "");
}

static void test_by_rank(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(0);

    for (int i = 10; i >= 8; i--) {
        g_autofree char *name = g_strdup_printf("ib%d", i);
        g_autofree char *address = g_strdup_printf("172.16.34.%d/16", i);

        add_link(world, name);
        add_address(world, name, address);
    }
    expect_plan(world, SPREAD, NULL, ADD("nexthop dev ib8 nexthop dev ib9 nexthop dev ib10"));
}

static void test_two_subnets(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);

    for (int i = 2; i < 4; i++) {
        g_autofree char *name = g_strdup_printf("ib%d", i);
        g_autofree char *address = g_strdup_printf("10.1.0.%d/24", i);

        add_link(world, name);
        add_address(world, name, address);
    }
    expect_plan(world, SPREAD, NULL,
                MAIN_RULE("add", "4940", S, "16") MAIN_RULE("add", "4940", "10.1.0.0", "24")
                    ROUTE("add", "172.16.0.0/16", BOTH) ROUTE("add", "10.1.0.0/24", "nexthop dev ib2 nexthop dev ib3")
                        RAILS_RULE("add", "4941", S "/16") RAILS_RULE("add", "4941", "10.1.0.0/24"));
    apply(world, SPREAD);
    expect_plan(world, SPREAD, NULL, "");
    link_of(world, "ib3")->carrier = FALSE; /* the other subnet is still spread */
    expect_plan(world, SPREAD, NULL,
                RAILS_RULE("del", "4941", "10.1.0.0/24") MAIN_RULE("del", "4940", "10.1.0.0", "24")
                    ROUTE("del", "10.1.0.0/24", "nexthop dev ib2 nexthop dev ib3"));
}

static void test_second_run(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(3);
    g_autoptr(IbhRails) rails = NULL;
    g_autoptr(IbhPlan) plan = NULL;

    apply(world, SPREAD);
    rails = find_rails(world, SPREAD);
    plan = ibh_plan_apply(rails, NULL);
    assert_int_equal(plan->ops->len, 0);
}

/* The rails' own routes and rules come first: until they stand, an address bound to one rail would follow the rule. */
static void test_order(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(3);
    g_autoptr(IbhRails) rails = find_rails(world, SPREAD);
    g_autoptr(IbhPlan) plan = ibh_plan_apply(rails, NULL);
    Kernel kernel = {.world = world};
    g_autoptr(IbhOutcome) outcome = ibh_apply(plan, execute, &kernel);

    assert_int_equal(outcome->done->len, 3 * 4 + 3);
    assert_int_equal(kernel.seen, 3);
    assert_false(kernel.behind);
}

/* IPv6 rails are never spread, and an IPv6 address is no first primary one. */
static void test_ipv6_never(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(0);
    g_autoptr(IbhRails) rails = NULL;

    for (int i = 0; i < 2; i++) {
        g_autofree char *name = g_strdup_printf("ib%d", i);
        g_autofree char *address = g_strdup_printf("fd00::%d/64", i + 1);

        add_link(world, name);
        add_address(world, name, address);
    }
    rails = find_rails(world, SPREAD);
    assert_int_equal(ibh_rails_nic(rails, index_of(world, "ib0"))->status, IBH_NIC_RAIL);
    expect_plan(world, SPREAD, NULL, "");
    add_address(world, "ib0", "172.16.34.1/16");
    add_address(world, "ib1", "172.16.34.2/16");
    expect_plan(world, SPREAD, NULL, ADD(BOTH));
}

/* ---- who takes part ---- */

static void test_carrier(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(3);

    apply(world, SPREAD);
    link_of(world, "ib1")->carrier = FALSE;
    expect_plan(world, SPREAD, NULL, ROUTE("replace", "172.16.0.0/16", "nexthop dev ib0 nexthop dev ib2"));
    apply(world, SPREAD);
    expect_plan(world, SPREAD, NULL, "");
    link_of(world, "ib1")->carrier = TRUE;
    expect_plan(world, SPREAD, NULL, ROUTE("replace", "172.16.0.0/16", ALL_THREE));
    link_of(world, "ib0")->flags = 0;
    expect_plan(world, SPREAD, NULL, ROUTE("replace", "172.16.0.0/16", "nexthop dev ib1 nexthop dev ib2"));
}

static void test_fewer_than_two(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);

    link_of(world, "ib0")->carrier = FALSE;
    expect_plan(world, SPREAD, NULL, "");
    link_of(world, "ib0")->carrier = TRUE;
    apply(world, SPREAD);
    link_of(world, "ib1")->carrier = FALSE;
    expect_plan(world, SPREAD, NULL, DEL_RULE ROUTE("del", "172.16.0.0/16", BOTH));
    apply(world, SPREAD);
    expect_plan(world, SPREAD, NULL, "");
}

/* The kernel takes the first primary address of the NIC as the source: one of another subnet is a foreign one. */
static void test_first_primary(void **state G_GNUC_UNUSED)
{
    static const char *const first[] = {"10.9.9.9/24", "172.16.99.9/24", "172.16.34.2/8", "10.9.9.9/32"};

    for (guint i = 0; i < G_N_ELEMENTS(first); i++) {
        g_autoptr(IbhSnapshot) world = make_world(3);

        del_address(world, "172.16.34.2");
        add_address(world, "ib1", first[i]);
        add_address(world, "ib1", "172.16.34.2/16");
        expect_plan(world, SPREAD, NULL, ADD("nexthop dev ib0 nexthop dev ib2"));
    }
}

static void test_more_addresses(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);

    add_address(world, "ib0", "172.16.34.101/16"); /* secondary */
    add_address(world, "ib1", "172.16.34.200/32"); /* a VIP behind the primary */
    add_address(world, "ib1", "10.9.9.9/24");
    expect_plan(world, SPREAD, NULL, ADD(BOTH));
}

static void test_a_nic_that_is_no_rail(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) plain = make_world(2), unmanaged = make_world(3), applied = make_world(2);

    add_link(plain, "eth0");
    add_address(plain, "eth0", "172.16.34.9/24"); /* another prefix */
    expect_plan(plain, SPREAD, NULL, ADD(BOTH));
    add_address(plain, "eth0", "172.16.34.10/16");
    expect_plan(plain, SPREAD, NULL, "");
    expect_plan(unmanaged, SPREAD "[interface ib2]\nmanage=no\n", NULL, "");

    apply(applied, SPREAD);
    add_link(applied, "eth0");
    add_address(applied, "eth0", "172.16.34.10/16");
    expect_plan(applied, SPREAD, NULL, DEL_RULE ROUTE("del", "172.16.0.0/16", BOTH));
}

static void test_has(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(3);
    g_autoptr(IbhRails) spread = NULL, keep = NULL;

    link_of(world, "ib1")->carrier = FALSE;
    spread = find_rails(world, SPREAD);
    keep = find_rails(world, "");
    assert_true(ibh_spread_has(spread, ibh_rails_nic(spread, index_of(world, "ib0"))));
    assert_false(ibh_spread_has(spread, ibh_rails_nic(spread, index_of(world, "ib1"))));
    assert_true(ibh_spread_has(spread, ibh_rails_nic(spread, index_of(world, "ib2"))));
    assert_false(ibh_spread_has(keep, ibh_rails_nic(keep, index_of(world, "ib0"))));
}

/* ---- what stands already ---- */

/* What the kernel leaves of a route: it is written anew, for good, since a dead nexthop comes back by no command. */
static void test_rewritten(void **state G_GNUC_UNUSED)
{
    static const struct {
        const char *hops;
        gboolean for_good;
    } left[] = {{"2 3!", TRUE}, {"2! 3!", TRUE}, {"2 3*1", FALSE}, {"3 2", FALSE}, {"2 3 4", FALSE}, {NULL, FALSE}};

    for (guint i = 0; i < G_N_ELEMENTS(left); i++) {
        g_autoptr(IbhSnapshot) world = make_world(2);
        g_autoptr(IbhRails) rails = NULL;
        g_autoptr(IbhPlan) plan = NULL;
        IbhRoute route = route_940(world, "172.16.0.0/16", "ib0", left[i].hops);
        IbhOp inverse;

        apply(world, "");
        g_array_append_val(world->routes, route);
        rails = find_rails(world, SPREAD);
        plan = ibh_plan_apply(rails, NULL);
        expect_plan(world, SPREAD, NULL,
                    MAIN_RULE("add", "4940", S, "16") ROUTE("replace", "172.16.0.0/16", BOTH)
                        RAILS_RULE("add", "4941", S "/16"));
        assert_int_equal(ibh_op_inverse(g_ptr_array_index(plan->ops, 1), &inverse), !left[i].for_good);
        apply(world, SPREAD);
        expect_plan(world, SPREAD, NULL, "");
    }
}

/* All links went down and came back: the kernel has dropped the route and kept the rule. */
static void test_route_lost(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);

    apply(world, SPREAD);
    for (guint i = world->routes->len; i-- > 0;) {
        if (g_array_index(world->routes, IbhRoute, i).table == IBH_TABLE_SPREAD)
            g_array_remove_index(world->routes, i);
    }
    expect_plan(world, SPREAD, NULL, ROUTE("add", "172.16.0.0/16", BOTH));
}

static void test_renumbered(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);

    apply(world, SPREAD);
    for (int i = 0; i < 2; i++) {
        g_autofree char *name = g_strdup_printf("ib%d", i), *old = g_strdup_printf("172.16.34.%d", i + 1);
        g_autofree char *new = g_strdup_printf("172.17.34.%d/16", i + 1);

        del_address(world, old);
        add_address(world, name, new);
    }
    expect_plan(world, SPREAD, NULL,
                MAIN_RULE("add", "4940", "172.17.0.0", "16") ROUTE("add", "172.17.0.0/16", BOTH)
                    RAILS_RULE("add", "4941", "172.17.0.0/16") DEL_RULE ROUTE("del", "172.16.0.0/16", BOTH));
}

static void test_rule_twice(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);
    IbhRule copy = rule_940(4941), elsewhere = rule_940(5000);

    apply(world, SPREAD);
    g_array_append_val(world->rules, copy);
    g_array_append_val(world->rules, elsewhere);
    expect_plan(world, SPREAD, NULL, RAILS_RULE("del", "5000", S "/16") RAILS_RULE("del", "4941", S "/16"));
}

static void test_nested(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);

    for (int i = 2; i < 4; i++) {
        g_autofree char *name = g_strdup_printf("ib%d", i);
        g_autofree char *address = g_strdup_printf("172.16.77.%d/24", i);

        add_link(world, name);
        add_address(world, name, address);
    }
    expect_plan(world, SPREAD, NULL, ADD(BOTH));
}

static void test_switched_off(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);

    apply(world, SPREAD);
    expect_plan(world, "main=keep\n", NULL, DEL_RULE ROUTE("del", "172.16.0.0/16", BOTH));
    expect_plan(world, SPREAD "manage=no\n", NULL, DEL_RULE ROUTE("del", "172.16.0.0/16", BOTH));
    apply(world, "");
    expect_plan(world, "", NULL, "");
}

/* A route or rule in table 940 that lacks a part of what makes one ours. */
static void test_foreign(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);
    IbhRoute unmarked = route_940(world, "172.16.0.0/16", "ib0", "2 3"), protocol = unmarked;
    IbhRule plain = rule_940(4941), marked = plain, from = plain, other_table = plain, not_table = plain;
    g_autofree char *before = NULL, *after = NULL;

    unmarked.metric = 100;
    unmarked.protocol = RTPROT_BOOT;
    protocol.protocol = RTPROT_STATIC;
    protocol.dst = prefix_of("172.18.0.0/16");
    plain.suppress_ifgroup = -1;
    marked.selectors |= IBH_SELECT_FWMARK;
    from.from = prefix_of("10.0.0.0/8");
    other_table.table = 939;
    not_table.action = FR_ACT_UNREACHABLE;
    g_array_append_val(world->routes, unmarked);
    g_array_append_val(world->routes, protocol);
    g_array_append_val(world->rules, plain);
    g_array_append_val(world->rules, marked);
    g_array_append_val(world->rules, from);
    g_array_append_val(world->rules, other_table);
    g_array_append_val(world->rules, not_table);
    before = print(world, TRUE);
    expect_plan(world, "", NULL, "");
    expect_undo(world, NULL, "");
    expect_plan(world, SPREAD, NULL, ADD(BOTH));
    apply(world, SPREAD);
    expect_plan(world, SPREAD, NULL, "");
    expect_undo(world, NULL, DEL_RULE ROUTE("del", "172.16.0.0/16", BOTH));
    apply(world, "");
    after = print(world, TRUE);
    assert_string_equal(after, before);
}

/* ---- some interfaces only, and undoing ---- */

/* The route is of no rail: a run for one rail neither builds nor takes it. */
static void test_only_one(void **state G_GNUC_UNUSED)
{
    const char *only[] = {"ib1", NULL};
    g_autoptr(IbhSnapshot) fresh = make_world(3), applied = make_world(3);

    expect_plan(fresh, SPREAD, only, "");
    apply(applied, SPREAD);
    expect_plan(applied, "", only, "");
    link_of(applied, "ib1")->carrier = FALSE;
    expect_plan(applied, SPREAD, only, "");
}

static void test_undo(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) two = make_world(2), three = make_world(3), none = make_world(3);

    apply(two, SPREAD);
    expect_undo(two, NULL, DEL_RULE ROUTE("del", "172.16.0.0/16", BOTH));
    expect_undo(two, "ib1", DEL_RULE ROUTE("del", "172.16.0.0/16", BOTH));
    apply(three, SPREAD);
    expect_undo(three, NULL, DEL_RULE ROUTE("del", "172.16.0.0/16", ALL_THREE));
    /* What is left alone is no rail any more, and has the prefix. */
    expect_undo(three, "ib0", DEL_RULE ROUTE("del", "172.16.0.0/16", ALL_THREE));
    expect_undo(none, NULL, "");
}

/* Unbound traffic leaves a rail before that rail goes. */
static void test_undo_order(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(2);
    g_autoptr(IbhRails) rails = NULL;
    g_autoptr(IbhPlan) plan = NULL;

    apply(world, SPREAD);
    rails = find_rails(world, SPREAD);
    plan = ibh_plan_undo(rails, NULL, NULL);
    assert_int_equal(plan->ops->len, 3 + 2 * 3);
    assert_true(is_spread(g_ptr_array_index(plan->ops, 0)));
    assert_true(is_spread(g_ptr_array_index(plan->ops, 1)));
    assert_true(is_spread(g_ptr_array_index(plan->ops, 2)));
}

/* ---- a unit of its own ---- */

typedef void (*Prepare)(IbhSnapshot *world);

static void prepare_nothing(IbhSnapshot *world G_GNUC_UNUSED)
{
}

static void prepare_applied(IbhSnapshot *world)
{
    apply(world, SPREAD);
    add_link(world, "ib3");
    add_address(world, "ib3", "172.16.34.4/16");
}

/* Operation `fail_at` for table 940 fails: all for the rails is done, table 940 and its rule are as before. */
static void fail_at(Prepare prepare, const char *settings, int at, gboolean lost)
{
    g_autoptr(IbhSnapshot) world = make_world(3), reference = make_world(3);
    g_autoptr(IbhRails) rails = NULL;
    g_autoptr(IbhPlan) plan = NULL;
    g_autoptr(IbhOutcome) outcome = NULL;
    Kernel kernel = {.world = world, .fail_at = at, .lost = lost};
    g_autofree char *before = NULL, *after = NULL, *own = NULL, *own_reference = NULL;

    prepare(world);
    prepare(reference);
    apply(reference, settings);
    before = print(world, TRUE);
    rails = find_rails(world, settings);
    plan = ibh_plan_apply(rails, NULL);
    outcome = ibh_apply(plan, execute, &kernel);
    after = print(world, TRUE);
    own = print(world, FALSE);
    own_reference = print(reference, FALSE);
    assert_int_equal(outcome->errors->len, 1);
    assert_non_null(strstr(g_ptr_array_index(outcome->errors, 0), "Out of spoons"));
    assert_non_null(strstr(g_ptr_array_index(outcome->errors, 0), "940"));
    assert_non_null(strstr(g_ptr_array_index(outcome->errors, 0), "it is as it was before"));
    assert_string_equal(after, before);
    assert_string_equal(own, own_reference);
    assert_int_equal(outcome->done->len, plan->ops->len - 3);
}

static void test_unit_fails(void **state G_GNUC_UNUSED)
{
    for (int lost = FALSE; lost <= TRUE; lost++) {
        for (int at = 1; at <= 3; at++) {
            fail_at(prepare_nothing, SPREAD, at, lost); /* route-add, rule-add twice */
            fail_at(prepare_applied, "", at, lost);     /* rule-del twice, route-del */
        }
    }
}

/* The failure of a rail leaves the others spread. */
static gboolean refuse_ib1(gpointer data, const IbhOp *op, GError **error)
{
    if (g_str_equal(op->iface, "ib1")) {
        g_set_error_literal(error, G_FILE_ERROR, 0, "Out of spoons");
        return FALSE;
    }
    return execute(data, op, error);
}

static void test_rail_fails(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhSnapshot) world = make_world(3);
    g_autoptr(IbhRails) rails = find_rails(world, SPREAD);
    g_autoptr(IbhPlan) plan = ibh_plan_apply(rails, NULL);
    Kernel kernel = {.world = world};
    g_autoptr(IbhOutcome) outcome = ibh_apply(plan, refuse_ib1, &kernel);

    assert_int_equal(outcome->errors->len, 1);
    assert_int_equal(kernel.seen, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_and_three),
        cmocka_unit_test(test_by_rank),
        cmocka_unit_test(test_two_subnets),
        cmocka_unit_test(test_second_run),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ipv6_never),
        cmocka_unit_test(test_carrier),
        cmocka_unit_test(test_fewer_than_two),
        cmocka_unit_test(test_first_primary),
        cmocka_unit_test(test_more_addresses),
        cmocka_unit_test(test_a_nic_that_is_no_rail),
        cmocka_unit_test(test_has),
        cmocka_unit_test(test_rewritten),
        cmocka_unit_test(test_route_lost),
        cmocka_unit_test(test_renumbered),
        cmocka_unit_test(test_rule_twice),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_only_one),
        cmocka_unit_test(test_undo),
        cmocka_unit_test(test_undo_order),
        cmocka_unit_test(test_unit_fails),
        cmocka_unit_test(test_rail_fails),
    };

    return cmocka_run_group_tests_name("spread", tests, NULL, NULL);
}
