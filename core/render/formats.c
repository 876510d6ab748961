/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats of --render, except env (env.c): for each, the text that begins the output, and templates for a rail.
 *
 * The rendered rules and routes have no marks (metric, suppress_ifgroup): ib-hook would delete what a manager has
 * marked, and few managers can express suppress_ifgroup. So these rules and routes are foreign to ib-hook. The rules
 * have our priorities, but T' and D' in place of T and D: tables with other numbers, which the rendered routes fill. If
 * an unmarked rule leads to T', and T' routes the NIC's subnet through the NIC, ib-hook leaves the address to the
 * manager. If the rules led to T, both programs would write that table.
 *
 * The routes name no source, because packets that match these rules have one. NetworkManager 1.42 adds routes before
 * DHCP has set the address, and then never adds a route whose source is missing.
 */
#include "render/render.h"

#include "check/check.h"
#include "check/fib.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>

/* ---- tables with other numbers ---- */

/* TRUE if the rendered files cannot use the table for this NIC: its number is below 256, ib-hook uses the table, a
 * foreign rule leads to it, a VRF uses it, or the snapshot has foreign routes of the table that do not lead through
 * this NIC alone. In a shared table, each program's routes would also decide about the other program's packets. */
static gboolean is_taken(const IbhRails *rails, const IbhNic *nic, guint32 table)
{
    if (table <= IBH_TABLE_LOCAL || table == IBH_TABLE_SPREAD || ibh_rails_nic_by_table(rails, table) ||
        ibh_render_is_led_to(rails->snapshot, table))
        return TRUE;
    IBH_EACH (const IbhLink, link, rails->snapshot->links) {
        if (link->vrf == table)
            return TRUE;
    }
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->table == table && !ibh_route_is_ours(route) && !ibh_route_leads_through(route, nic->link->ifindex))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if, for each candidate, the tables T + distance and D + distance can be used. */
static gboolean are_free(const IbhRails *rails, guint32 distance)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->rank &&
            (is_taken(rails, nic, nic->table + distance) || is_taken(rails, nic, ibh_nic_defaults(nic) + distance)))
            return FALSE;
    }
    return TRUE;
}

/* Returns the distance between the tables of ib-hook and those that the rendered files use: T' is T + distance, and D'
 * is D + distance. The distance is the same for all NICs, so that no two NICs get the same table. */
static guint32 find_distance(const IbhRails *rails)
{
    guint32 distance = 1000;

    while (!are_free(rails, distance))
        distance += 1000;
    return distance;
}

/* ---- the text before the routes and rules ---- */

/* Returns the rails to write: those whose names can stand in a file; with --iface, only the named rails. Also writes
 * which candidates (with --iface: which named NICs) are left out, and why; and which rails are down. */
static GPtrArray *choose_rails(GString *out, const IbhRails *rails)
{
    GPtrArray *chosen = g_ptr_array_new();

    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        g_autofree char *name = ibh_text_printable(nic->link->name), *why = ibh_nic_why(nic);
        g_autofree char *no_rail = ibh_text_printable(why);
        const char *why_not = nic->status != IBH_NIC_RAIL             ? no_rail
                              : !ibh_render_is_plain(nic->link->name) ? "its name cannot stand in such a file"
                                                                      : NULL;

        if (!ibh_nic_is_selected(nic, rails->only))
            continue;
        if (!why_not)
            g_ptr_array_add(chosen, nic);
        if (why_not && (nic->rank || rails->only))
            g_string_append_printf(out, "#\n# Nothing of %s is in this output: %s\n", name, why_not);
        else if (!why_not && !(nic->link->flags & IFF_UP))
            g_string_append_printf(out, "#\n# %s is down, so its routes are not known now\n", name);
    }
    if (!chosen->len)
        g_string_append(out, "#\n# No rail is in this output.\n");
    return chosen;
}

/* Writes, as a comment, each sysctl whose wanted value differs from the administrator's value (IbhNic.base). The output
 * is the whole end state, so for a rail without arp=keep, also writes sysctls for which the two values are equal,
 * unless both are 0. For any other NIC, the values differ only if the NIC must be silent (ibh_nic_must_be_silent()).
 * Writes nothing for a NIC that --iface leaves out, or whose name cannot stand in a file. */
static void put_sysctls(GString *out, const IbhRails *rails, const IbhNic *nic)
{
    const gboolean sets = nic->status == IBH_NIC_RAIL && nic->settings.arp != IBH_ARP_KEEP;

    for (IbhSysctl key = IBH_SYSCTL_RP_FILTER; key < IBH_N_SYSCTLS; key++) {
        const int value = ibh_want_sysctl(rails, nic, key);

        if ((value != nic->base[key] || (sets && value)) && ibh_nic_is_selected(nic, rails->only) &&
            ibh_render_is_plain(nic->link->name))
            g_string_append_printf(out, "#   net/ipv4/conf/%s/%s = %d\n", nic->link->name, ibh_sysctl_name(key), value);
    }
}

/* The text after `why` in managers' formats; see Format. */
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

/* In which words a format writes the metrics of a route, and a gateway of the other family. */
typedef enum { WORDS_OF_IP, WORDS_OF_NETWORKD, WORDS_OF_NMCLI, N_WORDS } Words;

/* The templates of a format for a rail. Routes come before rules. Each family has its own part; with `both`, the two
 * families share a part. Text in braces is left out if its value is missing: "{ via $address}" becomes " via 10.0.0.1"
 * or nothing. The value of a flag is "" or missing: "{ onlink$onlink}" becomes " onlink" or nothing. fill_template()
 * has the values. */
typedef struct {
    const char *name, *why; /* why: the comment with which the output begins; NULL if env.c writes the format */
    Words words;
    gboolean both;
    /* `routes` and `rules`: the text before all routes or rules; `route` and `rule`: the text for each; "" for none. */
    const char *routes, *route, *rules, *rule;
} Format;

/* The syntax of `ip route add` and `ip rule add`. */
#define IP_ROUTE "{$dst}{ via $address} dev {$nic}{ onlink$onlink} table {$table}{ scope link$link}{$metrics}"
#define IP_RULE "priority {$priority} from {$address}{ to $dst} table {$table}{ suppress_prefixlength $length}"

/* The members of a Format from `words` on, for drop-ins of systemd-networkd. `file` is a template for the name of a
 * .network file. */
#define DROP_IN(file)                                                                                                  \
    WORDS_OF_NETWORKD, TRUE, "\n# /etc/systemd/network/" file ".d/ib-hook.conf\n", NETWORKD_ROUTE, "", NETWORKD_RULE
#define NETWORKD_ROUTE                                                                                                 \
    "\n[Route]\nDestination={$dst}\n{Gateway=$address\n}{GatewayOnLink=yes$onlink\n}Table={$table}\n"                  \
    "{Scope=link$link\n}{$metrics}"
#define NETWORKD_RULE                                                                                                  \
    "\n[RoutingPolicyRule]\nPriority={$priority}\nFrom={$address}\n{To=$dst\n}Table={$table}\n"                        \
    "{SuppressPrefixLength=$length\n}"

static const Format formats[] = {
    {"netplan",
     "# For netplan with the renderer networkd. With the renderer NetworkManager, these rules are lost: use nmcli.\n"
     "# netplan cannot express suppress_prefixlength, and without it, these rules match too much traffic. So each NIC\n"
     "# gets a drop-in for the .network file that netplan generates. The file has netplan's name for the NIC or, if "
     "that\n"
     "# is not known, the name of the interface. In force after netplan apply.\n",
     DROP_IN("{$generated}")},
    {"networkd",
     "# For systemd-networkd 245 and later: a drop-in for the .network file of each NIC; that file keeps the "
     "addresses.\n"
     "# Then run networkctl reload and networkctl reconfigure NIC. If NICs share one .network file, first give each "
     "NIC\n"
     "# its own, here named NIC.network.\n",
     DROP_IN("{$file}")},
    {"nmcli",
     "# For NetworkManager 1.20 and later (1.40, if a route has advmss, rto_min or quickack): commands that change "
     "the\n"
     "# connection of each NIC. If the connection is not known, the name of the interface stands in its place. In "
     "force\n"
     "# at the next activation, or after nmcli device reapply NIC. If you run the commands twice, nothing is added "
     "twice.\n",
     WORDS_OF_NMCLI, FALSE, "\n# {$nic}, IPv{$family}\n",
     "nmcli connection modify {$connection} +ipv{$family}.routes '{$dst}{ $address}{ onlink=true$onlink} "
     "table={$table}{$metrics}'\n",
     "", "nmcli connection modify {$connection} +ipv{$family}.routing-rules '" IP_RULE "'\n"},
    {"ifupdown",
     "# For ifupdown, ifupdown-ng and ifupdown2: lines for the stanza of each NIC, after its addresses. A link that\n"
     "# you set down and up by hand loses its routes: to restore them, run ifdown NIC, then ifup NIC.\n",
     WORDS_OF_IP, FALSE, "\n# /etc/network/interfaces: iface {$nic} inet{$six}\n",
     "    up ip -{$family} route replace " IP_ROUTE "\n", "",
     "    up ip -{$family} rule add " IP_RULE " || true\n    down ip -{$family} rule del " IP_RULE " || true\n"},
    {"ifcfg",
     "# For RHEL's network-scripts (RHEL 8 and before) with NM_CONTROLLED=no in ifcfg-NIC, or without NetworkManager.\n"
     "# NetworkManager itself ignores these files: use nmcli. ifdown deletes the rules.\n",
     WORDS_OF_IP, FALSE, "\n# /etc/sysconfig/network-scripts/route{$six}-{$nic}\n", IP_ROUTE "\n",
     "\n# /etc/sysconfig/network-scripts/rule{$six}-{$nic}\n", IP_RULE "\n"},
    {"rt_tables",
     "# /etc/iproute2/rt_tables.d/ib-hook.conf\n"
     "#\n"
     "# Names of tables, for ip and for table= in ib-hook's configuration. rail-…: the tables of ib-hook; default-…:\n"
     "# those of their defaults; native-… and native-default-…: those of the other formats.\n",
     WORDS_OF_IP, TRUE,
     "\n{$own} rail-{$nic}\n{$defaults} default-{$nic}\n{$native} native-{$nic}\n"
     "{$nativedefaults} native-default-{$nic}\n",
     "", "", ""},
    {"env", NULL, WORDS_OF_IP, FALSE, NULL, NULL, NULL, NULL},
};

/* ---- metrics of a route ---- */

/* Each row has the names of one metric, in the order of Words. NULL: formats with these words cannot express the
 * metric. A metric without a row can be expressed in ip's words only. */
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

/* Returns the metrics of the route in the words of a format; NULL if the route has none for which ip(8) has a word.
 * Appends to `lost` the metrics that the format cannot express, each with a blank before it. If all are lost, returns
 * "". */
static char *write_metrics(const IbhRoute *route, Words words, GString *lost)
{
    g_autoptr(GString) ip = g_string_new(NULL), text = g_string_new(NULL);
    g_auto(GStrv) parts = NULL;
    char **part;

    ibh_route_put_metrics(ip, route);
    if (!ip->len)
        return NULL;
    if (words == WORDS_OF_IP)
        return g_strdup(ip->str);
    parts = g_strsplit(ip->str + 1, " ", -1); /* the text begins with a blank */
    part = parts;
    while (part[0] && part[1]) { /* "mtu 1400" or "mtu lock 1400" */
        const gboolean is_locked = g_str_equal(part[1], "lock");
        const char *metric = part[0], *value = is_locked ? part[2] : part[1], *name = NULL;

        for (guint i = 0; i < G_N_ELEMENTS(metrics); i++)
            name = g_str_equal(metrics[i][WORDS_OF_IP], metric) ? metrics[i][words] : name;
        if (!name) {
            g_string_append_printf(lost, " %s", metric);
        } else if (words == WORDS_OF_NETWORKD) {
            g_string_append_printf(text, "%s=%s\n", name, value);
            if (is_locked) /* networkd has no word for a lock */
                g_string_append_printf(lost, " %s lock", metric);
        } else {
            g_string_append_printf(text, " %s=%s", name, value);
            if (is_locked)
                g_string_append_printf(text, " lock-%s=true", name);
        }
        part += is_locked ? 3 : 2;
    }
    return g_strdup(text->str);
}

/* ---- a rail as its own manager would configure it ---- */

/* Returns the name of the NIC's connection or file, if the manager that is called `name` configures the NIC. NULL if
 * the NIC's manager is another or not known, if the connection or file is not known, or if several NICs share the
 * connection or file: each of these NICs would get the routes of all. */
static const char *find_connection(const IbhFacts *facts, const IbhNic *nic, const char *name)
{
    const IbhManager *own = ibh_facts_manager(facts, nic->link->ifindex);
    guint n = 0;

    IBH_EACH (const IbhManager, manager, facts->managers)
        n += own && g_strcmp0(manager->connection, own->connection) == 0;
    /* If `own` is NULL, n is 0. */
    return n == 1 && g_strcmp0(own->name, name) == 0 ? own->connection : NULL;
}

/* What is being written. */
typedef struct {
    const Format *format;
    const IbhRails *rails;
    const IbhFacts *facts;
    guint32 distance; /* see find_distance() */
    const IbhNic *nic;
    int family;            /* AF_UNSPEC: both */
    const IbhRoute *route; /* the route that is being written, or NULL */
    const IbhRule *rule;   /* the rule that is being written, or NULL */
    GString *lost;         /* metrics of the route that the format cannot express; not used without a route */
} Line;

typedef struct {
    const char *name;
    char *value; /* NULL if there is none; "" for a flag that is set */
} Value;

/* Fills in the text between two braces, in which one $NAME stands for a value: " via $address" becomes " via 10.0.0.1".
 * `of` has the values (Value), one of which must have this name. Returns NULL if the value is NULL. */
static char *expand_name(gconstpointer of, const char *text)
{
    const char *mark = strchr(text, '$');
    const gsize length = strspn(mark + 1, G_CSET_a_2_z);
    const Value *value = of;

    while (strncmp(value->name, mark + 1, length) != 0 || value->name[length])
        value++;
    return value->value ? g_strdup_printf("%.*s%s%s", (int)(mark - text), text, value->value, mark + 1 + length) : NULL;
}

/* Returns the number as rt_tables needs it. In that file, `ip` reads a decimal number as signed, so a large number is
 * hexadecimal. */
static char *write_table(guint32 table)
{
    return g_strdup_printf(table > G_MAXINT32 ? "0x%x" : "%u", table);
}

/* TRUE if an IPv4 route has an IPv6 gateway, as with BGP unnumbered. `ip` writes such a gateway as "inet6 ADDRESS";
 * NetworkManager does not accept it. FALSE if `route` is NULL. */
static gboolean has_gateway_of_other_family(const IbhRoute *route)
{
    return route && route->gateway.family != AF_UNSPEC && route->gateway.family != route->family;
}

/* Fills in the template, and appends the result to `out`. Values that do not apply, such as the metrics of a route
 * while a rule is written, are NULL. */
static void fill_template(GString *out, const char *template, const Line *line)
{
    const IbhNic *nic = line->nic;
    const IbhRoute *route = line->route;
    const IbhRule *rule = line->rule;
    const IbhPrefix *to = route ? &route->dst : rule && rule->to.length ? &rule->to : NULL;
    const IbhIp *ip = rule ? &rule->from.ip : route && route->gateway.family != AF_UNSPEC ? &route->gateway : NULL;
    const guint32 table = route ? route->table : rule ? rule->table : 0, distance = line->distance;
    const gboolean six = line->family == AF_INET6,
                   other_family = line->format->words == WORDS_OF_IP && has_gateway_of_other_family(route);
    const char *iface = nic->link->name, *file = find_connection(line->facts, nic, "systemd-networkd"),
               *netplan = find_connection(line->facts, nic, "netplan"),
               *connection = find_connection(line->facts, nic, "NetworkManager");
    g_autofree char *safe = ibh_text_printable(connection ? connection : iface), *text = NULL;
    g_autofree char *generated =
        g_strdup_printf("10-netplan-%s.network", netplan && ibh_render_is_plain(netplan) ? netplan : iface);
    char address[IBH_IP_STRLEN], prefix[IBH_PREFIX_STRLEN];
    const Value values[] = {
        /* of the NIC */
        {"nic", g_strdup(iface)},
        {"family", g_strdup(six ? "6" : "4")},
        {"six", g_strdup(six ? "6" : "")},
        {"connection", ibh_text_shell_word(safe)},
        {"generated", g_strdup(generated)},
        {"file", file      ? ibh_text_printable(file)
                 : netplan ? g_strdup(generated)
                           : g_strdup_printf("%s.network", iface)},
        {"own", write_table(nic->table)},
        {"defaults", write_table(ibh_nic_defaults(nic))},
        {"native", write_table(nic->table + distance)},
        {"nativedefaults", write_table(ibh_nic_defaults(nic) + distance)},
        /* of the route or rule */
        {"dst", to ? g_strdup(ibh_prefix_format(to, prefix)) : NULL},
        {"address", ip ? g_strconcat(other_family ? "inet6 " : "", ibh_ip_format(ip, address), NULL) : NULL},
        /* T and D become T' and D'; the number of main stays. */
        {"table", g_strdup_printf("%u", table + (ibh_nic_has_table(nic, table) ? distance : 0))},
        {"onlink", route && route->onlink ? g_strdup("") : NULL},
        {"link", route && route->scope == RT_SCOPE_LINK ? g_strdup("") : NULL},
        {"metrics", route ? write_metrics(route, line->format->words, line->lost) : NULL},
        {"priority", rule ? g_strdup_printf("%u", rule->priority) : NULL},
        {"length", rule && rule->suppress_prefixlength >= 0
                       ? g_strdup_printf("%" G_GINT64_FORMAT, rule->suppress_prefixlength)
                       : NULL},
    };

    text = ibh_text_fill_in(template, expand_name, values);
    g_string_append(out, text);
    IBH_EACH_ROW (const Value, value, values)
        g_free(value->value);
}

/* Writes a rail. `line` has all members but `route`, `rule` and `lost`. The family AF_UNSPEC means both families. */
static void put_rail(GString *out, Line line)
{
    const int family = line.family;
    const IbhNic *nic = line.nic;
    char text[IBH_PREFIX_STRLEN];

    fill_template(out, line.format->routes, &line);
    IBH_EACH (const IbhRoute, route, nic->routes) {
        g_autoptr(GString) lost = g_string_new(NULL);

        if (family != AF_UNSPEC && family != route->family)
            continue;
        if (line.format->words == WORDS_OF_NMCLI && has_gateway_of_other_family(route)) {
            g_string_append_printf(out, "# Without the route to %s: NetworkManager takes no IPv6 gateway for it.\n",
                                   ibh_prefix_format(&route->dst, text));
            continue;
        }
        line.route = route;
        line.lost = lost;
        fill_template(out, line.format->route, &line);
        if (lost->len && line.format->route[0])
            g_string_append_printf(out, "# Without%s of the route to %s, which this format cannot express.\n",
                                   lost->str, ibh_prefix_format(&route->dst, text));
    }
    line.route = NULL;
    fill_template(out, line.format->rules, &line);
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        const IbhOwner owner = {.rule = ibh_nic_foreign_rule(nic, address)};
        g_autofree char *foreign = owner.rule ? ibh_owner_text(line.rails->snapshot, &owner) : NULL;

        if (foreign && line.format->rule[0] && (family == AF_UNSPEC || family == address->local.family) &&
            ibh_nic_has_first(nic, address))
            g_string_append_printf(out, "# Without %s: %s routes it.\n", ibh_ip_format(&address->local, text), foreign);
    }
    IBH_EACH (const IbhRule, rule, nic->rules) {
        line.rule = rule;
        if (family == AF_UNSPEC || family == rule->family)
            fill_template(out, line.format->rule, &line);
    }
}

/* ---- the whole ---- */

static const Format *find_format(const char *name)
{
    IBH_EACH_ROW (const Format, format, formats) {
        if (g_str_equal(format->name, name))
            return format;
    }
    return NULL;
}

gboolean ibh_render_knows(const char *format)
{
    return find_format(format) != NULL;
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
    static const int families[] = {AF_INET, AF_INET6};
    Line line = {.format = find_format(name), .rails = rails, .facts = facts, .distance = find_distance(rails)};
    g_autoptr(GPtrArray) chosen = NULL;
    GString *out = g_string_new(line.format->why);

    if (!line.format->why) {
        ibh_render_env(out, rails, fabric);
        return g_string_free(out, FALSE);
    }
    if (line.format->route[0]) { /* a manager's format, and not rt_tables, which has no routes */
        g_string_append(out, native_why);
        IBH_EACH_POINTER (const IbhNic, nic, rails->nics)
            put_sysctls(out, rails, nic);
        if (rails->main != IBH_MAIN_KEEP)
            g_string_append(out, "#\n# Without main=spread: only ib-hook itself can keep its routes right.\n");
    }
    chosen = choose_rails(out, rails);
    IBH_EACH_POINTER (const IbhNic, nic, chosen) {
        line.nic = nic;
        if (line.format->both) {
            line.family = AF_UNSPEC;
            put_rail(out, line);
            continue;
        }
        IBH_EACH_ROW (const int, family, families) {
            line.family = *family;
            if (ibh_nic_serves_family(nic, line.family))
                put_rail(out, line);
        }
    }
    return g_string_free(out, FALSE);
}
