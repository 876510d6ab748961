/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of formats: what is said before each of them, and the words of managers' formats; rt_tables.
 *
 * No manager can express our marks (metric, suppress_ifgroup): rules and routes are the manager's. The rules have our
 * priorities, but lead to a table of another number than the NIC's own: an unmarked rule to another table that routes
 * the NIC's subnet by it makes ib-hook leave the address to it. If they led to the NIC's own table, both programs would
 * write that table.
 *
 * The routes name no source: packets that match these rules have one. NetworkManager 1.42 adds routes before DHCP has
 * set the address, and never adds a route whose source is missing then.
 */
#include "render/render.h"

#include "check/check.h"
#include "check/fib.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>

/* ---- tables of other numbers ---- */

/* Another program's routes would decide for the rail, and the rail's for that program. */
static gboolean is_anothers(const IbhRails *rails, const IbhNic *nic, guint32 table)
{
    if (ibh_render_is_led_to(rails->snapshot, table))
        return TRUE;
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->table == table && !ibh_route_is_ours(route) && !ibh_route_leads_by(route, nic->link->ifindex))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_taken(const IbhRails *rails, const IbhNic *nic, guint32 table)
{
    return table <= IBH_TABLE_LOCAL || table == IBH_TABLE_SPREAD || ibh_rails_nic_by_table(rails, table) ||
           is_anothers(rails, nic, table);
}

/* The same distance for all, so that no two NICs get the same table: T' = T + distance, D' = T' + 2000. */
static guint32 find_distance(const IbhRails *rails)
{
    guint32 distance = 1000;

    for (guint i = 0; i < rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(rails->nics, i);

        if (nic->rank &&
            (is_taken(rails, nic, nic->table + distance) || is_taken(rails, nic, ibh_nic_defaults(nic) + distance))) {
            distance += 1000;
            i = G_MAXUINT; /* from the first one again */
        }
    }
    return distance;
}

/* ---- what is said before ---- */

/* Rails that were asked for, of such names; and what the formats cannot express of this host. */
static GPtrArray *choose(GString *out, const IbhRails *rails)
{
    GPtrArray *chosen = g_ptr_array_new();

    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        g_autofree char *name = ibh_text_printable(nic->link->name), *why = ibh_nic_why(nic);
        g_autofree char *no_rail = ibh_text_printable(why);
        const char *never = nic->status != IBH_NIC_RAIL             ? no_rail
                            : !ibh_render_is_plain(nic->link->name) ? "its name cannot stand in such a file"
                                                                    : NULL;
        const char *now = nic->link->flags & IFF_UP ? NULL : "it is down, so its routes are not known now";

        if (!ibh_nic_is_selected(nic, rails->only))
            continue;
        if (!never)
            g_ptr_array_add(chosen, nic);
        if ((never || now) && (nic->rank || rails->only))
            g_string_append_printf(out, "#\n# Nothing of %s is in this output: %s\n", name, never ? never : now);
    }
    if (!chosen->len)
        g_string_append(out, "#\n# There is no rail.\n");
    return chosen;
}

/* The sysctls that ib-hook sets: not those that it only found, nor those that are kept. A candidate that is no rail,
 * and must not answer ARP for rails, has one. */
static void put_sysctls(GString *out, const IbhRails *rails, const IbhNic *nic)
{
    const gboolean sets = nic->status == IBH_NIC_RAIL && nic->settings.arp != IBH_ARP_KEEP;

    for (int key = 0; key <= IBH_SYSCTL_ARP_IGNORE; key++) {
        const int value = ibh_want_sysctl(rails, nic, (IbhSysctl)key);

        if ((value != nic->base[key] || (sets && value)) && ibh_nic_is_selected(nic, rails->only) &&
            ibh_render_is_plain(nic->link->name))
            g_string_append_printf(out, "#   net/ipv4/conf/%s/%s = %d\n", nic->link->name,
                                   ibh_sysctl_name((IbhSysctl)key), value);
    }
}

static const char native_why[] =
    "#\n"
    "# These rules and routes have no mark, and their tables have other numbers. So ib-hook, if it is installed, sees\n"
    "# that the manager routes an address, and removes its own rules for it. After a change of addresses or gateways,\n"
    "# render again.\n"
    "#\n"
    "# No manager sets the ARP values of ib-hook: write these lines into /etc/sysctl.d/90-ib-hook.conf. Set "
    "rp_filter=1\n"
    "# only after the rules are in force and peers have learned the right NICs.\n";

/* ---- the table ---- */

/* What a format says of each rail, routes first, for each family or (`both`) for the two together. $ and a
 * letter is a value: $d the destination, $t the table, $a the gateway of a route, the source of a rule; of a route $o
 * and $s nothing, if it is onlink, of scope link, $m its metrics; of a rule $p its priority, $l the length that it
 * suppresses; of the NIC $n its name, $c its connection of NetworkManager, $f its .network file, $g the one that
 * netplan makes of it, $T and $D its own tables, $N and $M those of managers' formats; of the family $4 its number, $6
 * nothing for IPv4. */
typedef enum { WORDS_OF_IP, WORDS_OF_NETWORKD, WORDS_OF_NMCLI, N_WORDS } Words;

typedef struct {
    const char *name, *why; /* NULL: it is written in env.c */
    Words words;            /* of metrics */
    gboolean both;
    const char *routes, *route, *rules, *rule; /* what stands before all; each, "" where it is no manager's */
} Format;

/* As `ip route add` and `ip rule add` take it. */
#define IP_ROUTE "$d{ via $a} dev $n{ onlink$o} table $t{ scope link$s}{$m}"
#define IP_RULE "priority $p from $a{ to $d} table $t{ suppress_prefixlength $l}"

#define DROP_IN(file)                                                                                                  \
    WORDS_OF_NETWORKD, TRUE, "\n# /etc/systemd/network/" file ".d/ib-hook.conf\n", NETWORKD_ROUTE, "", NETWORKD_RULE
#define NETWORKD_ROUTE "\n[Route]\nDestination=$d\n{Gateway=$a\n}{GatewayOnLink=yes$o\n}Table=$t\n{Scope=link$s\n}{$m}"
#define NETWORKD_RULE "\n[RoutingPolicyRule]\nPriority=$p\nFrom=$a\n{To=$d\n}Table=$t\n{SuppressPrefixLength=$l\n}"

static const Format formats[] = {
    {"netplan",
     "# For netplan with the renderer networkd. With the renderer NetworkManager, these rules are lost: use nmcli.\n"
     "# netplan cannot express suppress_prefixlength, and without it, these rules match too much traffic. So each NIC\n"
     "# gets a drop-in for the .network file that netplan generates. The file has netplan's name for the NIC or, if "
     "that\n"
     "# is not known, the name of the interface. In force after netplan apply.\n",
     DROP_IN("$g")},
    {"networkd",
     "# For systemd-networkd 245 and later: a drop-in for the .network file of each NIC; that file keeps the "
     "addresses.\n"
     "# Then run networkctl reload and networkctl reconfigure NIC. If NICs share one .network file, first give each "
     "NIC\n"
     "# its own, here named NIC.network.\n",
     DROP_IN("$f")},
    {"nmcli",
     "# For NetworkManager 1.20 and later: commands that change the connection of each NIC. If the connection is not\n"
     "# known, the name of the interface stands in its place. In force at the next activation, or after nmcli device\n"
     "# reapply NIC. If you run the commands twice, nothing is added twice.\n",
     WORDS_OF_NMCLI, FALSE, "\n# $n, IPv$4\n",
     "nmcli connection modify $c +ipv$4.routes '$d{ $a}{ onlink=true$o} table=$t{$m}'\n", "",
     "nmcli connection modify $c +ipv$4.routing-rules '" IP_RULE "'\n"},
    {"ifupdown",
     "# For ifupdown, ifupdown-ng and ifupdown2: lines for the stanza of each NIC, after its addresses. A link that\n"
     "# you set down and up by hand loses its routes: to restore them, run ifdown NIC, then ifup NIC.\n",
     WORDS_OF_IP, FALSE, "\n# /etc/network/interfaces: iface $n inet$6\n", "    up ip -$4 route replace " IP_ROUTE "\n",
     "", "    up ip -$4 rule add " IP_RULE " || true\n    down ip -$4 rule del " IP_RULE " || true\n"},
    {"ifcfg",
     "# For RHEL's network-scripts (RHEL 8 and before) with NM_CONTROLLED=no in ifcfg-NIC, or without NetworkManager.\n"
     "# NetworkManager ignores these files: use nmcli. ifdown deletes the rules.\n",
     WORDS_OF_IP, FALSE, "\n# /etc/sysconfig/network-scripts/route$6-$n\n", IP_ROUTE "\n",
     "\n# /etc/sysconfig/network-scripts/rule$6-$n\n", IP_RULE "\n"},
    {"rt_tables",
     "# /etc/iproute2/rt_tables.d/ib-hook.conf\n"
     "#\n"
     "# Names of tables, for ip and for table= in ib-hook's configuration. rail-…: the tables of ib-hook; default-…:\n"
     "# those of their defaults; native-… and native-default-…: those of the other formats.\n",
     WORDS_OF_IP, TRUE, "\n$T rail-$n\n$D default-$n\n$N native-$n\n$M native-default-$n\n", "", "", ""},
    {"env", NULL, WORDS_OF_IP, FALSE, NULL, NULL, NULL, NULL},
};

/* ---- metrics of a route ---- */

/* NULL: the format cannot say it. */
static const char *const metrics[][N_WORDS] = {
    {"mtu", "MTUBytes", "mtu"},
    {"advmss", "TCPAdvertisedMaximumSegmentSize", "advmss"},
    {"window", NULL, "window"},
    {"cwnd", NULL, "cwnd"},
    {"initcwnd", "InitialCongestionWindow", "initcwnd"},
    {"initrwnd", "InitialAdvertisedReceiveWindow", "initrwnd"},
    {"hoplimit", "HopLimit", NULL},
    {"rto_min", NULL, "rto_min"},
    {"quickack", "QuickAck", "quickack"},
    {"congctl", "TCPCongestionControlAlgorithm", NULL},
};

static const char *find_metric(const char *ip, Words words)
{
    for (guint i = 0; i < G_N_ELEMENTS(metrics); i++) {
        if (g_str_equal(metrics[i][WORDS_OF_IP], ip))
            return metrics[i][words];
    }
    return NULL;
}

/* In the words of a format; what it cannot say goes to `lost`. NULL: the route has none. */
static char *write_metrics(const IbhRoute *route, Words format, GString *lost)
{
    g_autoptr(GString) ip = g_string_new(NULL);
    GString *text = g_string_new(NULL);
    g_auto(GStrv) words = NULL;

    ibh_route_put_metrics(ip, route);
    if (!ip->len || format == WORDS_OF_IP)
        return g_string_free(g_string_append(text, ip->str), !ip->len);
    words = g_strsplit(ip->str + 1, " ", -1);
    for (char **word = words; word[0] && word[1]; word += 2) {
        const char *name = find_metric(word[0], format);
        const gboolean locked = g_str_equal(word[1], "lock");

        if (!name || (locked && format == WORDS_OF_NETWORKD))
            g_string_append_printf(lost, " %s%s", word[0], locked && name ? " lock" : "");
        word += locked;
        if (name && format == WORDS_OF_NETWORKD)
            g_string_append_printf(text, "%s=%s\n", name, word[1]);
        else if (name)
            g_string_append_printf(text, " %s=%s%s%s%s", name, word[1], locked ? " lock-" : "", locked ? name : "",
                                   locked ? "=true" : "");
    }
    return g_string_free(text, FALSE);
}

/* ---- a rail as its own manager would configure it ---- */

/* The name of its connection, or of its file, if this manager has it, and for no other NIC: each of several would get
 * the routes of all. NULL: none. */
static const char *find_connection(const IbhFacts *facts, const IbhNic *nic, const char *name)
{
    const IbhManager *own = ibh_facts_manager(facts, nic->link->ifindex);
    guint n = 0;

    IBH_EACH (const IbhManager, manager, facts->managers)
        n += own && g_strcmp0(manager->connection, own->connection) == 0;
    return n == 1 && g_strcmp0(own->name, name) == 0 ? own->connection : NULL;
}

/* What a route and a rule both have, and `names`. */
static void put_row(GString *out, const char *template, const IbhValues *names, const IbhPrefix *dst, const IbhIp *ip,
                    guint32 table)
{
    char to[IBH_PREFIX_STRLEN], address[IBH_IP_STRLEN], number[12];
    IbhValues values = *names;

    g_snprintf(number, sizeof number, "%u", table);
    values.of['d'] = dst ? ibh_prefix_format(dst, to) : NULL;
    values.of['a'] = ip ? ibh_ip_format(ip, address) : NULL;
    values.of['t'] = number;
    ibh_template_fill(out, template, &values);
}

static void put_route(GString *out, const Format *format, IbhValues *values, const IbhRoute *route, guint32 table)
{
    g_autoptr(GString) lost = g_string_new(NULL);
    g_autofree char *own = write_metrics(route, format->words, lost);
    char dst[IBH_PREFIX_STRLEN];

    values->of['o'] = route->onlink ? "" : NULL;
    values->of['s'] = route->scope == RT_SCOPE_LINK ? "" : NULL;
    values->of['m'] = own;
    put_row(out, format->route, values, &route->dst, route->gateway.family != AF_UNSPEC ? &route->gateway : NULL,
            table);
    if (lost->len && format->route[0])
        g_string_append_printf(out, "# Without%s of the route to %s, which this format cannot say.\n", lost->str,
                               ibh_prefix_format(&route->dst, dst));
}

typedef struct {
    GString *out;
    const Format *format;
    const IbhRails *rails;
    const IbhFacts *facts;
    guint32 distance;
} Rendering;

static void put_routed_by_others(const Rendering *all, const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        const IbhOwner owner = {.rule = ibh_nic_foreign_rule(nic, address)};
        g_autofree char *rule = owner.rule ? ibh_owner_text(all->rails->snapshot, &owner) : NULL;
        char ip[IBH_IP_STRLEN];

        if (rule && (family == AF_UNSPEC || family == address->local.family) && ibh_nic_has_first(nic, address))
            g_string_append_printf(all->out, "# Without %s: %s routes it.\n", ibh_ip_format(&address->local, ip), rule);
    }
}

static void put_rules(const Rendering *all, const IbhNic *nic, int family, const GArray *rules, IbhValues *values)
{
    char priority[12], length[12];

    ibh_template_fill(all->out, all->format->rules, values);
    if (all->format->rule[0])
        put_routed_by_others(all, nic, family);
    IBH_EACH (const IbhRule, rule, rules) {
        g_snprintf(priority, sizeof priority, "%u", rule->priority);
        g_snprintf(length, sizeof length, "%" G_GINT64_FORMAT, rule->suppress_prefixlength);
        values->of['p'] = priority;
        values->of['l'] = rule->suppress_prefixlength >= 0 ? length : NULL;
        if (family == AF_UNSPEC || family == rule->family)
            put_row(all->out, all->format->rule, values, rule->to.length ? &rule->to : NULL, &rule->from.ip,
                    rule->table + (ibh_nic_has_table(nic, rule->table) ? all->distance : 0));
    }
}

static void put_family(const Rendering *all, const IbhNic *nic, int family, IbhValues *values)
{
    values->of['4'] = family == AF_INET6 ? "6" : "4";
    values->of['6'] = family == AF_INET6 ? "6" : "";
    ibh_template_fill(all->out, all->format->routes, values);
    IBH_EACH (const IbhRoute, route, nic->routes) {
        if (family == AF_UNSPEC || family == route->family)
            put_route(all->out, all->format, values, route, route->table + all->distance);
    }
    put_rules(all, nic, family, nic->rules, values);
}

static void put_rail(const Rendering *all, const IbhNic *nic)
{
    const char *network = find_connection(all->facts, nic, "systemd-networkd");
    const char *netplan = find_connection(all->facts, nic, "netplan");
    const char *connection = find_connection(all->facts, nic, "NetworkManager"), *name = nic->link->name;
    g_autofree char *safe = ibh_text_printable(connection ? connection : name), *word = ibh_text_shell_word(safe);
    g_autofree char *generated =
        g_strdup_printf("10-netplan-%s.network", netplan && ibh_render_is_plain(netplan) ? netplan : name);
    g_autofree char *file = network   ? ibh_text_printable(network)
                            : netplan ? g_strdup(generated)
                                      : g_strdup_printf("%s.network", name);
    IbhValues values = {.of = {['n'] = name, ['c'] = word, ['f'] = file, ['g'] = generated}};
    char numbers[4][12];

    for (int i = 0; i < 4; i++) { /* for rt_tables, where a decimal number is read as a signed one */
        const guint32 table = nic->table + (i % 2 ? IBH_TABLE_DEFAULTS : 0) + (i < 2 ? 0 : all->distance);

        g_snprintf(numbers[i], sizeof numbers[i], table > G_MAXINT32 ? "0x%x" : "%u", table);
        values.of[(guchar) "TDNM"[i]] = numbers[i];
    }
    if (all->format->both)
        put_family(all, nic, AF_UNSPEC, &values);
    for (int i = 0; i < 2 && !all->format->both; i++) {
        if (ibh_nic_serves_family(nic, i ? AF_INET6 : AF_INET))
            put_family(all, nic, i ? AF_INET6 : AF_INET, &values);
    }
}

/* ---- the whole ---- */

static const Format *find(const char *name)
{
    IBH_EACH_ROW (const Format, format, formats) {
        if (g_str_equal(format->name, name))
            return format;
    }
    return NULL;
}

gboolean ibh_render_knows(const char *format)
{
    return find(format) != NULL;
}

char *ibh_render_formats(void)
{
    GString *names = g_string_new(NULL);

    IBH_EACH_ROW (const Format, format, formats)
        g_string_append_printf(names, "%s%s", names->len ? ", " : "", format->name);
    return g_string_free(names, FALSE);
}

char *ibh_render(const char *name, const IbhRails *rails, const IbhFacts *facts, const IbhFabric *fabric)
{
    const Format *format = find(name);
    g_autoptr(GPtrArray) chosen = NULL;
    GString *out = g_string_new(NULL);
    Rendering all;

    if (!format->why) {
        ibh_render_env(out, rails, fabric);
        return g_string_free(out, FALSE);
    }
    g_string_append(out, format->why);
    if (format->route[0]) {
        g_string_append(out, native_why);
        IBH_EACH_POINTER (const IbhNic, nic, rails->nics)
            put_sysctls(out, rails, nic);
        if (rails->main != IBH_MAIN_KEEP)
            g_string_append(out, "#\n# Without what main=spread does: only ib-hook itself keeps that right.\n");
    }
    chosen = choose(out, rails);
    all = (Rendering){out, format, rails, facts, find_distance(rails)};
    IBH_EACH_POINTER (const IbhNic, nic, chosen)
        put_rail(&all, nic);
    return g_string_free(out, FALSE);
}
