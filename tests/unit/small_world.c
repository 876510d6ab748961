/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "small_world.h"

#include <string.h>

/* Each is one choice of its kind: lines with a `;` between them, "" for none. */

static const char *const addresses[] = {
    "ip address add 172.16.34.1/16 dev ib0;ip address add 172.16.34.2/16 dev ib1",
    "ip address add 172.16.34.1/16 dev ib0;ip address add 172.16.34.2/24 dev ib1",
    "ip address add 172.16.34.1/16 dev ib0;ip address add 172.16.34.3/16 dev ib0;ip address add 172.16.34.2/16 dev ib1",
    "ip address add 172.16.34.1/16 dev ib0;ip address add 10.1.0.1/24 dev ib0;ip address add 172.16.34.2/16 dev ib1",
    "ip address add 172.16.34.1/16 dev ib0;ip address add 9.9.9.9/32 dev ib0;ip address add 172.16.34.2/16 dev ib1",
    "ip address add 172.16.34.1/16 dev ib0;ip address add 172.16.34.2/32 dev ib1;ip address add 172.16.34.4/16 dev ib1",
    "ip address add 172.16.34.1/16 dev ib0;ip address add 172.16.34.1/16 dev ib1",
    "ip address add 172.16.34.1/16 dev ib0;ip address add 172.16.34.2/16 dev ib1 noprefixroute",
    "ip address add 172.16.34.1/16 dev ib0 noprefixroute;ip address add 172.16.34.2/16 dev ib1 noprefixroute;"
    "ip route append 172.16.0.0/16 dev ib1 src 172.16.34.2 table main metric 150 protocol kernel mtu lock 1400",
    "ip address add 169.254.7.1/16 dev ib0;ip address add 169.254.7.2/16 dev ib1",
    "ip address add fd00:16::1/64 dev ib0;ip address add fd00:16::2/64 dev ib1",
    "ip address add fd00:16::1/64 dev ib0;ip address add fd00:17::1/64 dev ib0;ip address add fd00:16::2/64 dev ib1",
    "ip address add fd00:16::1/64 dev ib0;ip address add 172.16.34.1/16 dev ib0;ip address add fd00:16::2/64 dev ib1 "
    "noprefixroute;ip address add 172.16.34.2/16 dev ib1",
    "ip address add 10.1.0.1/24 dev ib0;ip address add 10.2.0.1/24 dev ib1;config [interface ib*] manage=yes",
    "ip address add 10.1.0.1/31 dev ib0;config [interface ib*] manage=yes",
    "ip address add 172.16.34.1/16 dev ib0;ip address add 172.16.34.2/16 dev ib1;ip address add 172.16.34.9/32 dev lo",
};

/* $ is the place. */
static const char *const rules[] = {
    "",
    "ip rule add from 172.16.34.1 lookup 100 priority $ protocol static;ip route add 172.16.0.0/16 dev ib0 table 100",
    "ip rule add from 172.16.34.1 lookup 100 priority $ protocol static;ip route add 172.16.0.0/16 dev ib1 table 100",
    "ip rule add from 172.16.0.0/16 lookup 100 priority $ protocol static;ip route add blackhole default table 100",
    ("ip rule add from 172.16.34.1 to 172.16.64.0/18 lookup 100 priority $ protocol static;"
     "ip route add 172.16.64.0/18 dev ib0 table 100"),
    "ip rule add not from 172.16.0.0/16 lookup 100 priority $ protocol static;ip route add default dev ib1 table 100",
    "ip rule add lookup 100 priority $ protocol static;ip route add 10.9.0.0/16 dev ib1 table 100",
    "ip rule add from 172.16.34.2 lookup main priority $ protocol static",
    "ip rule add to 172.16.64.0/18 unreachable priority $ protocol static",
    "ip rule add from 172.16.34.1 goto 32766 priority $ protocol static",
    "ip rule add from 172.16.34.1 lookup 941 priority $ protocol static",
    "ip -6 rule add from fd00:16::1 lookup 100 priority $ protocol static;ip route add fd00:16::/64 dev ib0 table 100",
    "ip -6 rule add lookup 100 priority $ protocol static;ip route add fd00:9::/64 dev ib1 table 100",
};
static const char *const places[] = {"1000", "1939", "1940", "1941", "5000", "32765"};

static const char *const routes[] = {
    "",
    "ip route append default via 172.16.0.1 dev ib0 table main protocol dhcp mtu lock 1400",
    ("ip route append default via 172.16.0.1 dev ib1 table main metric 5 protocol dhcp;"
     "ip route append default via 172.16.0.2 dev ib1 table main metric 6 protocol dhcp"),
    "ip route append default table main protocol static nexthop via 172.16.0.1 dev ib0 nexthop via 172.16.0.2 dev ib1",
    "ip route append default encap mpls via 172.16.0.1 dev ib0 table main protocol static",
    "ip route append default via 172.16.34.2 dev ib0 table main protocol static",
    "ip route append 172.16.64.0/18 via 172.16.0.1 dev ib1 table main protocol static",
    "ip route append 172.16.0.0/16 via 172.16.0.1 dev ib0 table main metric 0 protocol static",
    "ip route append unreachable 172.16.64.0/18 table main protocol static",
    "ip route append 10.9.1.0/24 via 172.16.0.1 dev ib0 table main protocol static advmss 1300",
    "ip -6 route append default via fe80::9 dev ib0 table main metric 1024 protocol ra hoplimit 64",
    "ip -6 route append default via fd00:16::9 dev ib1 table main metric 1024 protocol static",
};

static const char *const settings[] = {
    "",
    "config [defaults] gateway=none",
    "config [defaults] gateway=172.16.0.1",
    "config [interface ib0] gateway=first",
    "config [interface ib0] gateway=peer",
    "config [defaults] remote=10.0.0.0/8",
    "config [interface ib0] remote=10.0.0.0/8 via 172.16.0.9,fd00::/16 via fe80::8",
    "config [defaults] arp=strict",
    "config [defaults] main=spread",
};

#define RULES (1 + (G_N_ELEMENTS(rules) - 1) * G_N_ELEMENTS(places)) /* no rule has one place */

guint64 small_worlds(void)
{
    return (guint64)G_N_ELEMENTS(addresses) * RULES * G_N_ELEMENTS(routes) * G_N_ELEMENTS(settings);
}

static void add(GPtrArray *lines, const char *text, const char *place)
{
    g_auto(GStrv) each = g_strsplit(text, ";", -1);

    for (char **line = each; *line; line++) {
        g_auto(GStrv) parts = g_strsplit(*line, "$", -1);

        if (**line)
            g_ptr_array_add(lines, g_strjoinv(place, parts));
    }
}

/* Takes the last digit of the number, to this base. */
static guint digit(guint64 *number, guint64 base)
{
    const guint last = (guint)(*number % base);

    *number /= base;
    return last;
}

GPtrArray *small_world(guint64 number)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    const guint rule = digit(&number, RULES);

    add(lines, "nic ib0 infiniband;nic ib1 infiniband", "");
    add(lines, addresses[digit(&number, G_N_ELEMENTS(addresses))], "");
    add(lines, routes[digit(&number, G_N_ELEMENTS(routes))], "");
    if (rule)
        add(lines, rules[1 + (rule - 1) / G_N_ELEMENTS(places)], places[(rule - 1) % G_N_ELEMENTS(places)]);
    add(lines, settings[digit(&number, G_N_ELEMENTS(settings))], "");
    return lines;
}
