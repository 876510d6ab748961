/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "random_world.h"

#include "plan/plan.h"
#include "model/model.h"

#include <string.h>

/* ---- dice: splitmix64 ---- */

Dice dice_new(guint64 seed)
{
    return (Dice){.state = seed * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15) + 1};
}

guint dice_roll(Dice *dice, guint n)
{
    guint64 z = dice->state += G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
    return (guint)((z ^ (z >> 31)) % n);
}

gboolean dice_chance(Dice *dice, guint percent)
{
    return dice_roll(dice, 100) < percent;
}

/* ---- generating ---- */

typedef struct {
    Dice dice;
    GPtrArray *lines;
    GPtrArray *nics;      /* char *: candidates, or so it is meant */
    GPtrArray *others;    /* char *: all other links */
    GPtrArray *addresses; /* char *: without prefix length */
    GPtrArray *gateways;  /* char *: routes of main that were added, without the verb */
    const char *wires[3]; /* subnets that the NICs share */
    const char *wires6[2];
    guint n_wires;
    gboolean nm; /* NetworkManager: noprefixroute, and routes of its own with a metric */
    gboolean v6;
} Gen;

static void G_GNUC_PRINTF(2, 3) line(Gen *gen, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_ptr_array_add(gen->lines, g_strdup_vprintf(format, args));
    va_end(args);
}

static guint roll(Gen *gen, guint n)
{
    return dice_roll(&gen->dice, n);
}

static gboolean chance(Gen *gen, guint percent)
{
    return dice_chance(&gen->dice, percent);
}

static const char *pick(Gen *gen, const GPtrArray *from)
{
    return g_ptr_array_index(from, roll(gen, from->len));
}

static const char *pick_nic(Gen *gen)
{
    return gen->others->len && chance(gen, 10) ? pick(gen, gen->others) : pick(gen, gen->nics);
}

/* Few small numbers, so that they meet. */
static const char *pick_wire(Gen *gen)
{
    return gen->wires[roll(gen, gen->n_wires)];
}

static void choose_wires(Gen *gen)
{
    static const char *const wires[] = {"172.16.34.%u/16", "172.16.34.%u/24", "10.1.0.%u/24",
                                        "10.2.0.%u/31",    "10.3.0.%u/8",     "10.1.0.%u/28"};

    gen->n_wires = 1 + roll(gen, 3);
    for (guint i = 0; i < gen->n_wires; i++)
        gen->wires[i] = wires[i == 0 && chance(gen, 60) ? 0 : roll(gen, G_N_ELEMENTS(wires))];
}

static void choose_wires6(Gen *gen)
{
    static const char *const wires[] = {"2001:db8:1::%u/64", "2001:db8:1::%u/48", "2001:db8:1::%u/120",
                                        "fd00:1::%u/64"};

    gen->v6 = chance(gen, 40);
    for (guint i = 0; i < G_N_ELEMENTS(gen->wires6); i++)
        gen->wires6[i] = wires[chance(gen, 60) ? 0 : roll(gen, G_N_ELEMENTS(wires))];
}

static char *fill_in(const char *format, guint number)
{
    g_auto(GStrv) parts = g_strsplit(format, "%u", 2);

    return g_strdup_printf("%s%u%s", parts[0], number, parts[1]);
}

static char *pick_address(Gen *gen)
{
    static const char *const odd[] = {"172.16.34.1%u/32", "9.9.9.%u/32",    "169.254.7.%u/16",
                                      "172.16.200.%u/24", "172.17.0.%u/16", "192.168.1.%u/24"};
    const char *format = chance(gen, 15) ? odd[roll(gen, G_N_ELEMENTS(odd))] : pick_wire(gen);

    return fill_in(format, 1 + roll(gen, chance(gen, 30) ? 4 : 60));
}

static void add_address(Gen *gen, const char *dev)
{
    g_autofree char *address = pick_address(gen);
    gsize length = strcspn(address, "/");
    char *bare = g_strndup(address, length);

    g_ptr_array_add(gen->addresses, bare);
    if (chance(gen, 2)) {
        guint peer = roll(gen, 9);

        line(gen, "ip address add %s peer 10.8.0.%u/%s dev %s", bare, peer, chance(gen, 50) ? "32" : "30", dev);
    } else if (chance(gen, 2))
        line(gen, "ip address add %s dev %s scope link", address, dev);
    else if (!gen->nm)
        line(gen, "ip address add %s dev %s", address, dev);
    else {
        line(gen, "ip address add %s dev %s noprefixroute", address, dev);
        line(gen, "ip route append %s dev %s src %s table %s metric %u protocol kernel", address, dev, bare,
             chance(gen, 5) ? "300" : "main", 150 + roll(gen, 3));
    }
}

/* As a manager leaves it when it takes care of routes itself: announced by a router, or with a metric of its own. */
static void add_prefix_route6(Gen *gen, const char *address, const char *dev)
{
    if (chance(gen, 50))
        line(gen, "ip route append %s dev %s table main metric 1024 protocol ra", address, dev);
    else
        line(gen, "ip route append %s dev %s table main metric %u protocol kernel", address, dev, 150 + roll(gen, 3));
}

static void add_address6(Gen *gen, const char *dev)
{
    static const char *const odd[] = {"2001:db8:1::1%u/128", "2001:db8:9::%u/128", "2001:db8:1:2::%u/64",
                                      "fd00:7::%u/64"};
    static const char *const flags[] = {" tentative", " secondary", " deprecated"};
    const char *format = chance(gen, 15) ? odd[roll(gen, 4)] : gen->wires6[roll(gen, 2)];
    g_autofree char *address = fill_in(format, 1 + roll(gen, chance(gen, 30) ? 4 : 60));
    gboolean routed = gen->nm || chance(gen, 5);

    g_ptr_array_add(gen->addresses, g_strndup(address, strcspn(address, "/")));
    line(gen, "ip address add %s dev %s%s%s", address, dev, routed ? " noprefixroute" : "",
         chance(gen, 20) ? flags[roll(gen, 3)] : "");
    if (routed)
        add_prefix_route6(gen, address, dev);
}

static void add_addresses6(Gen *gen, const char *dev)
{
    static const guint counts[] = {1, 1, 1, 1, 1, 2, 3, 0};

    if (!gen->v6)
        return;
    if (chance(gen, 60))
        line(gen, "ip address add fe80::%u/64 dev %s scope link", 1 + roll(gen, 60), dev);
    for (guint n = counts[roll(gen, G_N_ELEMENTS(counts))]; n > 0; n--)
        add_address6(gen, dev);
}

static void add_addresses(Gen *gen, const char *dev)
{
    static const guint counts[] = {1, 1, 1, 1, 1, 1, 2, 2, 3, 0};

    add_addresses6(gen, dev);
    for (guint n = counts[roll(gen, G_N_ELEMENTS(counts))]; n > 0; n--)
        add_address(gen, dev);
}

static char *random_flags(Gen *gen)
{
    static const guint highest[IBH_N_SYSCTLS] = {2, 1, 2, 2};
    GString *flags = g_string_new(NULL);

    if (chance(gen, 6))
        g_string_append(flags, " down");
    else if (chance(gen, 6))
        g_string_append(flags, " no-carrier");
    if (chance(gen, 3))
        g_string_append(flags, " representor");
    if (chance(gen, 4))
        g_string_append(flags, " vf");
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        if (chance(gen, 30))
            g_string_append_printf(flags, " %s=%u", ibh_sysctl_name((IbhSysctl)key), 1 + roll(gen, highest[key]));
    }
    return g_string_free(flags, FALSE);
}

static void add_nic(Gen *gen, guint number, gboolean ib)
{
    g_autofree char *flags = random_flags(gen);
    char *name;

    if (ib) {
        name = g_strdup_printf("ib%u", number);
        line(gen, "nic %s infiniband%s%s", name, flags, chance(gen, 3) ? " master bond0" : "");
    } else {
        name = g_strdup_printf("ens%uf%u", 1 + number / 2, number % 2);
        line(gen, "nic %s rdma mlx5_%u/1%s", name, number, flags);
    }
    g_ptr_array_add(gen->nics, name);
    add_addresses(gen, name);
    if (ib && chance(gen, 6)) {
        char *child = g_strdup_printf("%s.8002", name);

        line(gen, "ip link add %s link %s up type ipoib", child, name);
        g_ptr_array_add(gen->nics, child);
        add_addresses(gen, child);
    }
}

static void add_nics(Gen *gen)
{
    static const guint counts[] = {1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8};
    guint count = counts[roll(gen, G_N_ELEMENTS(counts))], style = roll(gen, 5), first = roll(gen, 10) == 0 ? 9 : 0;
    guint order[8];

    for (guint i = 0; i < count; i++) {
        guint at = roll(gen, i + 1);

        order[i] = order[at];
        order[at] = i;
    }
    for (guint i = 0; i < count; i++)
        add_nic(gen, first + order[i] + (chance(gen, 5) ? 8 : 0), style < 3 || (style == 3 && chance(gen, 50)));
}

static void add_other(Gen *gen, const char *name, const char *kind, const char *address)
{
    static const char *const addresses6[] = {"2001:db8:1:2::1/64", "2001:db8:2::1/64", "2001:db8:1::101/120",
                                             "2001:db8:1::9/64"};
    g_autofree char *flags = chance(gen, 30) ? random_flags(gen) : g_strdup("");

    line(gen, *kind ? "ip link add %s up%s type %s" : "nic %s%s", name, flags, kind);
    line(gen, "ip address add %s dev %s", address, name);
    if (gen->v6 && chance(gen, 60))
        line(gen, "ip address add %s dev %s", addresses6[roll(gen, G_N_ELEMENTS(addresses6))], name);
    g_ptr_array_add(gen->others, g_strdup(name));
}

static void add_others(Gen *gen)
{
    static const char *const bridges[] = {"172.16.200.1/24", "172.17.0.1/16", "172.16.34.49/28",
                                          "172.16.34.77/24", "10.1.0.129/25", "172.16.0.99/16"};
    static const char *const plain[] = {"192.168.1.5/24", "192.168.1.5/24", "172.16.34.250/16", "172.16.34.251/29",
                                        "10.0.0.7/8"};

    if (chance(gen, 50))
        add_other(gen, "eth0", "", plain[roll(gen, G_N_ELEMENTS(plain))]);
    if (chance(gen, 40))
        add_other(gen, "docker0", "bridge", bridges[roll(gen, G_N_ELEMENTS(bridges))]);
    if (chance(gen, 10))
        add_other(gen, "virbr0", "bridge", bridges[roll(gen, G_N_ELEMENTS(bridges))]);
    if (chance(gen, 6))
        line(gen, "ip link add bond0 up type bond");
    if (chance(gen, 8))
        line(gen, "ip address add 172.16.34.199/32 dev lo");
}

/* ---- gateways in main ---- */

/* What a route carries beside its gateway: metrics mostly, and what makes it more than a simple one. */
static const char *pick_extra(Gen *gen)
{
    static const char *const extras[] = {"",
                                         "",
                                         "",
                                         "",
                                         "",
                                         "",
                                         " mtu 1400",
                                         " mtu 1300",
                                         " mtu lock 1400 advmss 1300",
                                         " mtu 9000",
                                         " hoplimit 64",
                                         " encap mpls"};

    return extras[roll(gen, G_N_ELEMENTS(extras))];
}

static char *pick_gateway(Gen *gen)
{
    static const char *const wide[] = {"default",       "default",       "default",        "10.0.0.0/8",
                                       "172.16.0.0/12", "8.0.0.0/8",     "8.8.0.0/16",     "192.168.0.0/16",
                                       "172.17.0.0/16", "10.9.0.0/16",   "172.16.99.0/24", "172.16.64.0/18",
                                       "10.1.0.64/26",  "172.16.99.7/32"};
    static const char *const protocols[] = {"dhcp", "static", "static", "boot", "kernel"};
    const char *nic = pick_nic(gen);
    g_autofree char *on_wire = fill_in(pick_wire(gen), chance(gen, 70) ? 254 : 1 + roll(gen, 15));
    const char *gateway = gen->others->len && strcmp(nic, "eth0") == 0 ? "192.168.1.1" : on_wire;

    return g_strdup_printf("%s%s via %.*s dev %s table main metric %u protocol %s%s",
                           wide[roll(gen, G_N_ELEMENTS(wide))], chance(gen, 3) ? " from 10.0.0.0/8" : "",
                           (int)strcspn(gateway, "/"), gateway, nic, chance(gen, 30) ? 0 : 100 + roll(gen, 50),
                           protocols[roll(gen, 5)], pick_extra(gen));
}

static char *pick_gateway6(Gen *gen)
{
    static const char *const wide[] = {
        "::/0", "::/0", "::/0", "2001:db8::/32", "2001:4860::/32", "2001:db8:2::/48", "2001:db8:1::/48"};
    static const char *const protocols[] = {"ra", "ra", "static", "kernel"};
    g_autofree char *on_wire = fill_in(gen->wires6[roll(gen, 2)], chance(gen, 70) ? 99 : 1 + roll(gen, 15));
    const char *gateway = chance(gen, 40) ? "fe80::99" : on_wire;

    if (chance(gen, 15)) /* on the link, as a router says */
        return g_strdup_printf("%s dev %s table main metric %u protocol ra",
                               chance(gen, 50) ? "2001:db8:8::/64" : "2001:db8::/32", pick_nic(gen),
                               256 + roll(gen, 3));
    return g_strdup_printf("%s via %.*s dev %s table main metric %u protocol %s%s", wide[roll(gen, 7)],
                           (int)strcspn(gateway, "/"), gateway, pick_nic(gen), 100 + roll(gen, 50),
                           protocols[roll(gen, 4)], pick_extra(gen));
}

/* A default over two NICs, and over two gateways of one. */
static char *pick_multipath(Gen *gen)
{
    g_autofree char *one = fill_in(pick_wire(gen), 254), *other = fill_in(pick_wire(gen), 253);

    return g_strdup_printf(
        "default table main metric %u protocol static nexthop via %.*s dev %s nexthop via %.*s dev %s",
        20 + roll(gen, 3), (int)strcspn(one, "/"), one, pick_nic(gen), (int)strcspn(other, "/"), other, pick_nic(gen));
}

/* The subnet of isolated ports is reached via a gateway. */
static char *pick_way_to_subnet(Gen *gen)
{
    const char *wire = pick_wire(gen);
    g_autofree char *gateway = fill_in(wire, 254), *subnet = fill_in(wire, 0);

    return g_strdup_printf("%s via %.*s dev %s table main metric %u protocol static%s", subnet,
                           (int)strcspn(gateway, "/"), gateway, pick_nic(gen), roll(gen, 3), pick_extra(gen));
}

static void add_gateway(Gen *gen)
{
    char *route = chance(gen, 8)               ? pick_multipath(gen)
                  : chance(gen, 8)             ? pick_way_to_subnet(gen)
                  : gen->v6 && chance(gen, 50) ? pick_gateway6(gen)
                                               : pick_gateway(gen);

    g_ptr_array_add(gen->gateways, route);
    line(gen, "ip route append %s", route);
}

/* What managers do with leases: a gateway is lost, or another one takes its place. */
static void change_gateway(Gen *gen)
{
    if (gen->gateways->len && chance(gen, 60))
        line(gen, "ip route del %s", pick(gen, gen->gateways));
    if (chance(gen, 60))
        add_gateway(gen);
}

/* ---- what other people left there ---- */

static const char *pick_prefix(Gen *gen)
{
    static const char *const prefixes[] = {"172.16.0.0/16", "172.16.0.0/16", "172.16.34.0/24",  "10.1.0.0/24",
                                           "10.2.0.0/31",   "10.0.0.0/8",    "172.16.200.0/24", "172.17.0.0/16",
                                           "8.0.0.0/8",     "default"};

    return prefixes[roll(gen, G_N_ELEMENTS(prefixes))];
}

static const char *pick_prefix6(Gen *gen)
{
    static const char *const prefixes[] = {"2001:db8:1::/64",
                                           "2001:db8:1::/48",
                                           "2001:db8:1::/120",
                                           "fd00:1::/64",
                                           "2001:db8:1:2::/64",
                                           "2001:db8::/32",
                                           "::/0"};

    return prefixes[roll(gen, G_N_ELEMENTS(prefixes))];
}

static guint pick_table(Gen *gen)
{
    return chance(gen, 70) ? 941 + roll(gen, 4) : chance(gen, 50) ? 100 : 500;
}

/* Our mark, and something else that makes it somebody else's. */
static void add_marked_foreign_rule(Gen *gen)
{
    g_autofree char *selected = g_strdup_printf("%s fwmark 1", pick(gen, gen->addresses));
    const char *const almost[] = {"172.16.34.0/24", "10.0.0.0/8", "all fwmark 1", selected, selected};

    line(gen,
         "ip rule add from %s lookup 500 priority %u suppress_prefixlength 0 suppress_ifgroup mark protocol kernel",
         almost[roll(gen, G_N_ELEMENTS(almost))], chance(gen, 50) ? 1941 : 32764);
}

/* What is not from or to there; what comes in or leaves through a NIC; past ours, to the end or to where main is asked.
 */
static void add_rare_rule(Gen *gen)
{
    gboolean v6 = gen->v6 && chance(gen, 40);
    const char *prefix = v6 ? pick_prefix6(gen) : pick_prefix(gen), *verb = v6 ? "ip -6 rule add" : "ip rule add";
    const char *end = chance(gen, 50) ? "from" : "to";
    guint priority = 1000 * (1 + roll(gen, 32));

    if (g_str_equal(prefix, "default") || g_str_equal(prefix, "::/0"))
        return;
    switch (roll(gen, 4)) {
    case 0:
        line(gen, "%s not %s %s lookup %u priority %u protocol static", verb, end, prefix,
             chance(gen, 50) ? 254 : pick_table(gen), priority);
        break;
    case 1:
        line(gen, "%s %s %s %s %s lookup %u priority %u protocol static", verb, end, prefix,
             chance(gen, 50) ? "iif" : "oif", pick_nic(gen), pick_table(gen), priority);
        break;
    default:
        line(gen, "%s %s%s %s goto %u priority %u protocol static", verb, chance(gen, 30) ? "not " : "", end, prefix,
             chance(gen, 60) ? 32766 : 32767, priority);
        break;
    }
}

static void add_foreign_rule(Gen *gen)
{
    static const char *const extras[] = {"",
                                         "",
                                         "",
                                         " suppress_prefixlength 0",
                                         " suppress_prefixlength 16",
                                         " fwmark 1",
                                         " tos 0x10",
                                         " suppress_ifgroup 7"};
    static const char *const protocols[] = {"static", "boot", "kernel"};
    static const guint priorities[] = {100, 1940, 1941, 1942, 5210, 30000, 32765};
    g_autofree char *from = NULL;

    if (chance(gen, 60) && gen->addresses->len)
        from = g_strdup_printf(" from %s", pick(gen, gen->addresses));
    else if (chance(gen, 50))
        from = g_strdup_printf(" from %s", gen->v6 && chance(gen, 50) ? pick_prefix6(gen) : pick_prefix(gen));
    line(gen, "%srule add%s lookup %u priority %u%s protocol %s", gen->v6 && chance(gen, 50) ? "ip -6 " : "ip ",
         from ? from : "", chance(gen, 10) ? 254 : pick_table(gen), priorities[roll(gen, G_N_ELEMENTS(priorities))],
         extras[roll(gen, G_N_ELEMENTS(extras))], protocols[roll(gen, G_N_ELEMENTS(protocols))]);
}

static void add_foreign_route(Gen *gen)
{
    static const char *const protocols[] = {"static", "boot", "kernel", "dhcp"};
    guint table = chance(gen, 40) ? 254 : pick_table(gen), metric = chance(gen, 60) ? 0 : roll(gen, 300);
    const char *protocol = protocols[roll(gen, G_N_ELEMENTS(protocols))];

    if (gen->v6 && chance(gen, 40))
        line(gen, "ip route append %s dev %s table %u metric %u protocol %s", pick_prefix6(gen), pick_nic(gen), table,
             metric, protocol);
    else if (chance(gen, 5)) /* our metric, but not our protocol */
        line(gen, "ip route append 8.1.0.0/16 dev %s table %u metric mark protocol static", pick_nic(gen),
             table < 900 ? table : 500);     /* in a rail's own table it may stand in the place of ours */
    else if (chance(gen, 15) && table < 900) /* an error route in a rail's own table is that rail's end, by intent */
        line(gen, "ip route append %s %s table %u metric %u protocol %s", chance(gen, 50) ? "unreachable" : "throw",
             pick_prefix(gen), table, metric, protocol);
    else if (chance(gen, 25))
        line(gen, "ip route append default via %s dev %s table %u metric %u protocol %s",
             chance(gen, 50) ? "192.168.1.1" : "172.16.0.1", pick_nic(gen), table, metric, protocol);
    else
        line(gen, "ip route append %s dev %s table %u metric %u protocol %s", pick_prefix(gen), pick_nic(gen), table,
             metric, protocol);
}

/* ---- what earlier runs left there ---- */

static const char *pick_old_address(Gen *gen)
{
    static const char *const gone[] = {"172.16.34.200", "10.1.0.200", "9.9.9.200"};

    return gen->addresses->len && chance(gen, 70) ? pick(gen, gen->addresses) : gone[roll(gen, G_N_ELEMENTS(gone))];
}

/* Of now: main before the rail, and before its default. */
static void add_rule_of_now(Gen *gen, guint table)
{
    const char *address = pick_old_address(gen);
    const gboolean v6 = strchr(address, ':') != NULL, usual = chance(gen, 70);
    const char *to = v6 ? usual ? "2001:db8:1::/64" : "fd00:1::/64" : usual ? "172.16.0.0/16" : "10.1.0.0/24";

    if (chance(gen, 40))
        line(gen,
             "ip rule add from %s to %s lookup 254 priority %u suppress_prefixlength %u suppress_ifgroup mark protocol "
             "kernel",
             address, to, 1940 - 2 * roll(gen, 2), 16 + 8 * roll(gen, 2));
    else if (chance(gen, 30))
        line(gen,
             "ip rule add from %s lookup 254 priority 32764 suppress_prefixlength 0 suppress_ifgroup mark protocol "
             "kernel",
             address);
    else if (chance(gen, 50)) { /* a pair: no run that was cut short leaves the second rule without the first */
        const guint priority = 1941 - 2 * roll(gen, 2);

        line(gen,
             "ip rule add from %s to %s lookup 254 priority %u suppress_prefixlength %u suppress_ifgroup mark protocol "
             "kernel",
             address, to, priority - 1,
             v6      ? 64
             : usual ? 16
                     : 24);
        line(gen, "ip rule add from %s to %s lookup %u priority %u suppress_ifgroup mark protocol kernel", address, to,
             table, priority);
    } else
        line(gen, "ip rule add from %s lookup %u priority 32765 suppress_ifgroup mark protocol kernel", address,
             table + (chance(gen, 90) ? 2000 : 0));
}

static void add_old_route(Gen *gen, guint table)
{
    gboolean v6 = gen->v6 && chance(gen, 50);
    const char *prefix = v6 ? pick_prefix6(gen) : pick_prefix(gen);

    if (g_str_equal(prefix, "default") || g_str_equal(prefix, "::/0")) /* they lie in D */
        table += 2000;
    if (v6)
        line(gen, "once ip route add %s%s dev %s table %u metric mark protocol kernel", prefix,
             chance(gen, 30) ? " via fe80::98" : "", pick_nic(gen), table);
    else
        line(gen, "once ip route add %s dev %s src %s table %u metric mark protocol kernel", prefix, pick_nic(gen),
             pick_old_address(gen), table);
}

static void add_stale(Gen *gen)
{
    guint table = chance(gen, 90) ? 941 + roll(gen, 6) : 100;

    if (chance(gen, 50))
        add_rule_of_now(gen, table);
    else if (chance(gen, 15))
        line(gen, "once ip route add default via 172.16.0.1 dev %s onlink table %u metric mark protocol kernel",
             pick_nic(gen), table + 2000);
    else
        add_old_route(gen, table);
}

static void add_event(Gen *gen)
{
    const char *nic = pick_nic(gen);

    switch (roll(gen, 13)) {
    case 11:
        line(gen, "ip link set %s %s", nic, chance(gen, 70) ? "carrier off" : "carrier on");
        break;
    case 12:
        line(gen, "do undo only %s", nic);
        break;
    case 0:
        line(gen, "ip link set %s down", nic);
        break;
    case 1:
    case 2:
        line(gen, "ip link set %s down", nic);
        line(gen, "ip link set %s up", nic);
        break;
    case 3:
        line(gen, "ip link del %s", nic);
        break;
    case 4:
        line(gen, "ip address del %s dev %s", pick_old_address(gen), nic);
        break;
    case 5:
        if (gen->v6 && chance(gen, 50))
            add_address6(gen, nic);
        else
            add_address(gen, nic);
        break;
    case 8:
    case 9:
        change_gateway(gen);
        break;
    case 10:
        line(gen, "ready %s dev %s", pick_old_address(gen), nic);
        break;
    case 6:
        line(gen, "sysctl -w net/ipv4/conf/%s/%s=%u", nic, ibh_sysctl_name((IbhSysctl)roll(gen, IBH_N_SYSCTLS)),
             roll(gen, 2));
        break;
    default:
        add_nic(gen, roll(gen, 12), TRUE);
        break;
    }
}

/* Of main=spread: left over. */
static void add_stale_spread(Gen *gen)
{
    switch (roll(gen, 3)) {
    case 0:
        line(gen, "once ip route add %s table 940 metric mark protocol kernel scope link nexthop dev %s nexthop dev %s",
             pick_prefix(gen), pick_nic(gen), pick_nic(gen));
        break;
    case 1:
        line(gen, "ip rule add from 0.0.0.0/32 to %s lookup 940 priority 4941 suppress_ifgroup mark protocol kernel",
             chance(gen, 70) ? "172.16.0.0/16" : "172.16.34.0/24");
        break;
    default:
        line(
            gen,
            "ip rule add from 0.0.0.0/32 to %s lookup 254 priority 4940 suppress_prefixlength 16 suppress_ifgroup mark "
            "protocol kernel",
            chance(gen, 70) ? "172.16.0.0/16" : "172.16.34.0/24");
        break;
    }
}

static void add_state(Gen *gen)
{
    static const int all_values[] = {0, 0, 1, 2};

    if (chance(gen, 10))
        line(gen, "saved %s %s old=%u set=%u", pick(gen, gen->nics),
             ibh_sysctl_name((IbhSysctl)roll(gen, IBH_N_SYSCTLS)), roll(gen, 2), 1 + roll(gen, 2));
    if (chance(gen, 5))
        line(gen, "hold %s", pick(gen, gen->nics));
    if (chance(gen, 30))
        line(gen, "sysctl -w net/ipv4/conf/all/rp_filter=%d", all_values[roll(gen, 4)]);
    if (chance(gen, 10))
        line(gen, "sysctl -w net/ipv4/conf/all/%s=1", ibh_sysctl_name((IbhSysctl)(1 + roll(gen, 3))));
    if (chance(gen, 2)) {
        line(gen, "ip rule add lookup 255 priority %u protocol kernel", 1000 + roll(gen, 2) * 3000);
        line(gen, "ip rule del lookup 255 priority 0 protocol kernel");
    }
    for (guint n = roll(gen, 3); n > 0; n--)
        line(gen, "ip neigh add 172.16.34.%u dev %s", 220 + roll(gen, 9), pick_nic(gen));
}

static void add_setting(Gen *gen)
{
    static const char *const settings[] = {"manage=yes",
                                           "manage=no",
                                           "table=941",
                                           "table=942",
                                           "table=100",
                                           "table=77",
                                           "arp=strict",
                                           "arp=strict",
                                           "arp=keep",
                                           "gateway=none",
                                           "gateway=last",
                                           "gateway=auto",
                                           "gateway=172.16.34.254",
                                           "gateway=fe80::99",
                                           "gateway=2001:db8:1::99",
                                           "remote=10.0.0.0/8,172.0.0.0/8",
                                           "remote=192.168.0.0/16 via 172.16.34.254,8.0.0.0/8 via 10.1.0.254",
                                           "remote=2001:db8::/32 via fe80::99"};
    g_autofree char *section = chance(gen, 60)   ? g_strdup_printf("interface %s", pick_nic(gen))
                               : chance(gen, 50) ? g_strdup("interface ib*")
                                                 : g_strdup("defaults");

    line(gen, "config [%s] %s", section, settings[roll(gen, G_N_ELEMENTS(settings))]);
}

static void add_main(Gen *gen)
{
    static const char *const mains[] = {"keep", "spread"};

    if (chance(gen, 60))
        line(gen, "config [defaults] main=%s", mains[roll(gen, G_N_ELEMENTS(mains))]);
}

static void add_settings(Gen *gen)
{
    for (guint n = chance(gen, 50) ? 0 : 1 + roll(gen, 3); n > 0; n--)
        add_setting(gen);
}

/* An earlier run, and what happened since. */
static void add_history(Gen *gen)
{
    line(gen, "do apply");
    for (guint n = roll(gen, 4); n > 0; n--)
        add_event(gen);
    if (chance(gen, 10))
        add_main(gen);
    if (chance(gen, 20))
        add_setting(gen);
}

GPtrArray *random_lines(guint64 seed)
{
    Gen gen = {.dice = dice_new(seed)};

    gen.lines = g_ptr_array_new_with_free_func(g_free);
    gen.nics = g_ptr_array_new_with_free_func(g_free);
    gen.others = g_ptr_array_new_with_free_func(g_free);
    gen.addresses = g_ptr_array_new_with_free_func(g_free);
    gen.gateways = g_ptr_array_new_with_free_func(g_free);
    gen.nm = chance(&gen, 30);
    choose_wires(&gen);
    choose_wires6(&gen);
    add_others(&gen);
    add_nics(&gen);
    add_main(&gen);
    add_settings(&gen);
    for (guint n = chance(&gen, 55) ? 0 : 1 + roll(&gen, 3); n > 0; n--)
        add_gateway(&gen);
    for (guint n = chance(&gen, 50) ? 0 : roll(&gen, 4); n > 0; n--)
        add_foreign_route(&gen);
    for (guint n = chance(&gen, 50) ? 0 : roll(&gen, 4); n > 0; n--)
        add_foreign_rule(&gen);
    if (chance(&gen, 15))
        add_rare_rule(&gen);
    if (chance(&gen, 5) && gen.addresses->len)
        add_marked_foreign_rule(&gen);
    for (guint n = chance(&gen, 60) ? 0 : roll(&gen, 6); n > 0; n--)
        add_stale(&gen);
    for (guint n = chance(&gen, 92) ? 0 : 1 + roll(&gen, 3); n > 0; n--)
        add_stale_spread(&gen);
    add_state(&gen);
    if (chance(&gen, 50))
        add_history(&gen);
    g_ptr_array_unref(gen.nics);
    g_ptr_array_unref(gen.others);
    g_ptr_array_unref(gen.addresses);
    g_ptr_array_unref(gen.gateways);
    return gen.lines;
}

/* ---- building ---- */

/* Each setting is a file of its own: a later one counts. */
static gboolean take_config(World *world, GString *text)
{
    g_autofree char *file = g_strndup(text->str, text->len);

    g_string_truncate(text, 0);
    return !*file || ibh_config_add(world->config, "random.conf", file, strlen(file), NULL, TRUE, NULL);
}

static void run_now(World *world, WorldAction action, const char *const *only)
{
    g_autoptr(Planned) planned = world_plan(world->config, world->kernel, action, only);

    if (planned)
        world_run(world->kernel, planned);
}

/* A NIC that is undone is held from now on. */
static void do_now(World *world, const IbhCase *cas)
{
    const char *const *only = ibh_case_only(cas);

    if (only && !ibh_snapshot_link_by_name(world->kernel->now, only[0]))
        return;
    run_now(world, cas->undo ? WORLD_UNDO : WORLD_APPLY, only);
    if (cas->undo && only)
        ibh_state_hold(world->kernel->now->state, only[0]);
}

World *world_build(const GPtrArray *lines)
{
    g_autoptr(World) world = g_new0(World, 1);
    g_autoptr(IbhCase) cas = ibh_case_new();

    cas->by_chance = TRUE;
    world->kernel = cas->kernel;
    world->config = ibh_config_new();
    for (guint i = 0; i < lines->len; i++) {
        const char *text = g_ptr_array_index(lines, i);
        g_autoptr(GError) error = NULL;

        cas->asked = FALSE;
        if (!ibh_case_read(cas, text, &error) && error->domain == IBH_CASE_ERROR)
            g_error("%s, in: %s", error->message, text);
        if (!take_config(world, cas->config)) {
            world->kernel = NULL; /* the case's */
            return NULL;
        }
        if (cas->asked)
            do_now(world, cas);
    }
    cas->kernel = NULL;
    return g_steal_pointer(&world);
}

void world_free(World *world)
{
    if (!world)
        return;
    fake_kernel_free(world->kernel);
    ibh_config_free(world->config);
    g_free(world);
}

/* ---- running ---- */

/* Hooks respect holds; a person who asks for --undo is not held back by an earlier one. */
Planned *world_plan(const IbhConfig *config, const FakeKernel *kernel, WorldAction action, const char *const *only)
{
    g_autoptr(Planned) planned = g_new0(Planned, 1);

    planned->seen = fake_look(kernel, config);
    planned->rails = ibh_rails_find(
        config, planned->seen,
        &(IbhRequest){.only = only, .undo = action == WORLD_UNDO, .respects_holds = action != WORLD_APPLY}, NULL);
    if (!planned->rails)
        return NULL;
    planned->undo = action == WORLD_UNDO;
    planned->plan = ibh_plan(planned->rails);
    return g_steal_pointer(&planned);
}

void planned_free(Planned *planned)
{
    if (!planned)
        return;
    g_clear_pointer(&planned->plan, g_ptr_array_unref);
    ibh_rails_free(planned->rails);
    ibh_snapshot_free(planned->seen);
    g_free(planned);
}

IbhOutcome *world_try(FakeKernel *kernel, const Planned *planned)
{
    IbhOutcome *outcome = ibh_plan_execute(planned->plan, fake_execute, kernel);
    IbhState *state = kernel->now->state;

    ibh_state_remember(state, outcome->done, TRUE);
    g_array_unref(state->rails);
    state->rails = ibh_rails_to_remember(planned->rails, NULL);
    return outcome;
}

guint world_run(FakeKernel *kernel, const Planned *planned)
{
    g_autoptr(IbhOutcome) outcome = world_try(kernel, planned);

    return outcome->errors->len;
}

/* ---- lines ---- */

char *lines_print(const GPtrArray *lines, const char *indent)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < lines->len; i++)
        g_string_append_printf(text, "%s%s\n", indent, (const char *)g_ptr_array_index(lines, i));
    return g_string_free(text, FALSE);
}

GPtrArray *lines_copy(const GPtrArray *lines)
{
    GPtrArray *copy = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < lines->len; i++)
        g_ptr_array_add(copy, g_strdup(g_ptr_array_index(lines, i)));
    return copy;
}

static gboolean leave_out(GPtrArray *lines, guint at, guint count, LinesFail fails, gpointer data)
{
    g_autoptr(GPtrArray) less = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < lines->len; i++) {
        if (i < at || i >= at + count)
            g_ptr_array_add(less, g_strdup(g_ptr_array_index(lines, i)));
    }
    if (!fails(less, data))
        return FALSE;
    g_ptr_array_remove_range(lines, at, count);
    return TRUE;
}

void lines_shrink(GPtrArray *lines, LinesFail fails, gpointer data)
{
    gboolean smaller = TRUE;

    while (smaller) {
        smaller = FALSE;
        for (guint count = MAX(lines->len / 2, 1); count > 0; count /= 2) {
            for (guint at = 0; at + count <= lines->len;) {
                if (leave_out(lines, at, count, fails, data))
                    smaller = TRUE;
                else
                    at++;
            }
        }
    }
}
