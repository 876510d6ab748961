#include "check/check.h"

#include "plan/emit.h"
#include "check/fabric.h"
#include "check/legacy.h"
#include "plan/want.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

typedef struct {
    const IbhRails *rails;
    const IbhPlan *plan;
    const GArray *questions;
    const char *const *only;
    GPtrArray *findings;
} Check;

static char version(int family) /* ip -4, ip -6 */
{
    return family == AF_INET6 ? '6' : '4';
}

/* ---- what is missing or too much ---- */

/* The connected routes of main, which main=remove takes out and gives back. */
static gboolean judge_main(Check *check, const IbhOp *op)
{
    gboolean back = op->type == IBH_OP_ROUTE_ADD;
    char text[IBH_PREFIX_STRLEN];

    if (op->route.table != IBH_TABLE_MAIN || (!back && op->type != IBH_OP_ROUTE_DEL))
        return FALSE;
    ibh_finding_add(
        check->findings, op->iface, IBH_WARNING, back ? "route-missing" : "route-wrong", ibh_op_command(op),
        back ? "main lacks the connected route to %s that main=remove took, so what names no source does not get there"
             : "main has the connected route to %s, against main=remove: what names no source uses it",
        ibh_prefix_format(&op->route.dst, text));
    return TRUE;
}

static void judge_op(Check *check, const IbhOp *op)
{
    char text[IBH_PREFIX_STRLEN];

    if (judge_main(check, op))
        return;

    switch (op->type) {
    case IBH_OP_RULE_ADD:
        if (ibh_rule_is_spread(&op->rule)) {
            ibh_finding_add(check->findings, op->iface, IBH_ERROR, "rule-missing", ibh_op_command(op),
                            "no rule leads unbound traffic to table %u, so all of it leaves by one rail",
                            op->rule.table);
            break;
        }
        ibh_finding_add(check->findings, op->iface, IBH_ERROR, "rule-missing", ibh_op_command(op),
                        "no rule for what comes from %s (to table %u), so it leaves by whichever NIC main prefers",
                        ibh_ip_format(&op->rule.from.ip, text), op->rule.table);
        break;
    case IBH_OP_RULE_DEL:
        ibh_finding_add(check->findings, op->iface, IBH_WARNING, "rule-stale", ibh_op_command(op),
                        "the rule from %s lookup %u is left over (%s): whoever gets that address is misled",
                        ibh_ip_format(&op->rule.from.ip, text), op->rule.table, op->why);
        break;
    case IBH_OP_ROUTE_ADD:
        ibh_finding_add(check->findings, op->iface, IBH_ERROR, "route-missing", ibh_op_command(op),
                        "table %u lacks the %s %s, so its traffic falls through to main", op->route.table,
                        op->route.type == RTN_THROW ? "throw for" : "route to",
                        ibh_prefix_format(&op->route.dst, text));
        break;
    case IBH_OP_ROUTE_REPLACE:
        ibh_finding_add(
            check->findings, op->iface, IBH_ERROR, "route-wrong", ibh_op_command(op),
            "the route to %s in table %u has another device or a source address that is gone: what uses it leaves by "
            "the "
            "wrong NIC, or not at all",
            ibh_prefix_format(&op->route.dst, text), op->route.table);
        break;
    case IBH_OP_ROUTE_DEL:
        ibh_finding_add(check->findings, op->iface, IBH_WARNING, "rule-stale", ibh_op_command(op),
                        "the route to %s in table %u is left over (%s): what uses the table is misled",
                        ibh_prefix_format(&op->route.dst, text), op->route.table, op->why);
        break;
    case IBH_OP_SYSCTL_SET:
    case IBH_OP_ANNOUNCE:
    case IBH_OP_NEIGH_DEL:
        break;
    }
}

/* ---- sysctls ---- */

static char *sysctl_command(const char *iface, IbhSysctl key, int value)
{
    IbhOp op = {.type = IBH_OP_SYSCTL_SET, .key = key, .to = value};

    g_strlcpy(op.iface, iface, sizeof op.iface);
    return ibh_op_command(&op);
}

/* A command that ends in the interface's name. */
static char *command_for(const char *command, const char *iface)
{
    g_autofree char *word = ibh_shell_word(iface);

    return g_strdup_printf("%s %s", command, word);
}

static const char *sysctl_matters(IbhSysctl key)
{
    switch (key) {
    case IBH_SYSCTL_RP_FILTER:
        return "packets that peers send to the wrong NIC are dropped, or accepted, against what is configured";
    case IBH_SYSCTL_ARP_FILTER:
    case IBH_SYSCTL_ARP_IGNORE:
        return "it answers ARP for other NICs' addresses, and peers send to the wrong one";
    case IBH_SYSCTL_ARP_ANNOUNCE:
        return "it asks peers with other NICs' addresses, and they learn the wrong one";
    default:
        return "it is configured otherwise";
    }
}

static void judge_sysctls(Check *check, const IbhNic *nic)
{
    const int *all = check->rails->snapshot->all;
    int ignore = ibh_sysctl_effective(IBH_SYSCTL_ARP_IGNORE, nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE],
                                      all[IBH_SYSCTL_ARP_IGNORE]);

    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        int now = nic->link->sysctl[key], want = ibh_want_sysctl(check->rails, nic, (IbhSysctl)key);

        if (now != want)
            ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "effective-sysctl",
                            sysctl_command(nic->link->name, (IbhSysctl)key, want), "%s is %d, not %d: %s",
                            ibh_sysctl_name((IbhSysctl)key), now, want, sysctl_matters((IbhSysctl)key));
    }
    if (ignore > 2 && all[IBH_SYSCTL_ARP_IGNORE] == ignore)
        ibh_finding_add(
            check->findings, nic->link->name, IBH_WARNING, "effective-sysctl",
            sysctl_command("all", IBH_SYSCTL_ARP_IGNORE, 0),
            "net.ipv4.conf.all.arp_ignore=%d overrides the interface: peers get no answer to their ARP requests",
            ignore);
}

/* ---- the kernel's own answers ---- */

static const char *link_name(const Check *check, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(check->rails->snapshot, ifindex);

    return link ? link->name : "no interface";
}

/* As the kernel made it when the address came; "append", because another NIC's may stand there. */
static void judge_unbound(Check *check, const IbhQuestion *question, const char *to)
{
    const IbhNic *nic = question->nic;
    const IbhAddress *address = ibh_find_address_near(check->rails, nic->link->ifindex, &question->lookup.to);
    g_autofree char *word = ibh_shell_word(nic->link->name);
    char subnet[IBH_PREFIX_STRLEN], source[IBH_IP_STRLEN];

    ibh_prefix_format(&address->subnet, subnet);
    ibh_finding_add(
        check->findings, nic->link->name, IBH_WARNING, "route-missing",
        g_strdup_printf("ip -4 route append %s dev %s protocol kernel scope link src %s", subnet, word,
                        ibh_ip_format(&address->local, source)),
        "main has no route to %s, so what names no source (ping, mount, rping without -I) gets to %s %s%s: give main "
        "its connected route back, or set main=remove if that is meant",
        subnet, to, question->lookup.error ? "not at all: " : "by ",
        question->lookup.error ? g_strerror(question->lookup.error) : link_name(check, question->lookup.oif));
}

static void judge_answer(Check *check, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;
    const char *iface = question->nic->link->name;
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    if (ibh_question_is_well_answered(check->rails, question))
        return;
    ibh_ip_format(&answer->from, from);
    ibh_ip_format(&answer->to, to);
    switch (question->kind) {
    case IBH_ASK_LEAVES:
        ibh_finding_add(
            check->findings, iface, IBH_ERROR, "routed-other-nic",
            g_strdup_printf(
                "ip route get %s from %s # if that is so after ib-hook --apply, too: ip rule shows who comes first", to,
                from),
            "the kernel answers that what goes from %s to %s leaves by %s, not by %s: RDMA by this rail fails, or uses "
            "the other one",
            from, to, answer->error ? g_strerror(answer->error) : link_name(check, answer->oif), iface);
        break;
    case IBH_ASK_ARRIVES:
        ibh_finding_add(
            check->findings, iface, IBH_ERROR, "effective-sysctl", sysctl_command(iface, IBH_SYSCTL_RP_FILTER, 2),
            "the kernel drops what %s sends to %s by %s (rp_filter, own or of all): peers that use it get no answer",
            from, to, iface);
        break;
    case IBH_ASK_LOCAL:
        ibh_finding_add(
            check->findings, iface, IBH_ERROR, "local-rule-late",
            g_strdup_printf("ip -%c rule add priority 0 from all lookup local", version(answer->from.family)),
            "what goes from %s to %s, both addresses of this host, does not stay here: the local table's rule comes "
            "too late",
            from, to);
        break;
    case IBH_ASK_UNBOUND:
        judge_unbound(check, question, to);
        break;
    }
}

/* ---- what others put beside ours ---- */

static gboolean answers_wrong(const Check *check, const IbhNic *nic)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        if (question->nic == nic && ibh_question_leaves_wrong(question))
            return TRUE;
    }
    return FALSE;
}

static gboolean can_match(const Check *check, const IbhRule *rule, const IbhNic *nic)
{
    const GArray *addresses = check->rails->snapshot->addresses;

    if (ibh_rule_is_ours(rule) || rule->l3mdev || rule->priority > check->rails->priority ||
        (rule->action == FR_ACT_TO_TBL && rule->table == IBH_TABLE_LOCAL))
        return FALSE;
    IBH_EACH (const IbhAddress, address, addresses) {
        if (ibh_nic_serves(nic, address) && rule->family == address->local.family &&
            ((rule->selectors & IBH_SELECT_NOT) || ibh_prefix_contains(&rule->from, &address->local)))
            return TRUE;
    }
    return FALSE;
}

static void judge_foreign_rules(Check *check, const IbhNic *nic)
{
    const GArray *rules = check->rails->snapshot->rules;
    gboolean wrong = answers_wrong(check, nic);

    IBH_EACH (const IbhRule, rule, rules) {
        char from[IBH_PREFIX_STRLEN];

        if (can_match(check, rule, nic))
            ibh_finding_add(
                check->findings, nic->link->name, wrong ? IBH_ERROR : IBH_INFO, "foreign-rule",
                g_strdup_printf(
                    "ip -%c rule show priority %u # whose is it? A priority after %u leaves the rails alone",
                    version(rule->family), rule->priority, check->rails->priority),
                "the rule %u: from %s%s (table %u) is asked before ours and can match the rail's traffic%s",
                rule->priority, rule->from.length ? ibh_prefix_format(&rule->from, from) : "all",
                rule->selectors ? " …" : "", rule->table,
                wrong ? ", which leaves by another NIC" : "; it leads it right, as it is now");
    }
}

static gboolean is_foreign_in_table(const IbhRoute *route, const IbhNic *nic)
{
    return route->table == nic->table && !ibh_route_is_ours(route);
}

/* Somebody else's route in the rail's table wins over ours: by metric, or by a longer prefix. */
static void judge_foreign_routes(Check *check, const IbhNic *nic)
{
    const GArray *routes = check->rails->snapshot->routes;
    const IbhRoute *worst = NULL;
    char dst[IBH_PREFIX_STRLEN];
    gboolean elsewhere = FALSE;

    IBH_EACH (const IbhRoute, route, routes) {
        if (!is_foreign_in_table(route, nic) || elsewhere)
            continue;
        elsewhere = route->dst.length > 0 && route->type != RTN_THROW &&
                    (route->type != RTN_UNICAST || route->ifindex != nic->link->ifindex);
        if (!worst || elsewhere)
            worst = route;
    }
    if (worst)
        ibh_finding_add(
            check->findings, nic->link->name, elsewhere ? IBH_ERROR : IBH_WARNING, "foreign-table",
            g_strdup_printf("ip route show table %u # remove what is not marked there, or choose another table=",
                            nic->table),
            "table %u has a route to %s by %s that is not ours, comes before it and so decides; it is left alone",
            nic->table, ibh_prefix_format(&worst->dst, dst), link_name(check, worst->ifindex));
}

/* A last resort, behind main's own default route, is never reached. */
static gboolean has_better_default(const GArray *routes, const IbhRoute *error)
{
    IBH_EACH (const IbhRoute, route, routes) {
        if (route->table == IBH_TABLE_MAIN && route->family == error->family && ibh_route_is_default(route) &&
            route->metric <= error->metric)
            return TRUE;
    }
    return FALSE;
}

static void judge_errors_in_main(Check *check, const IbhNic *nic)
{
    g_autoptr(GArray) wanted = ibh_want_routes(check->rails, nic);
    const GArray *routes = check->rails->snapshot->routes;

    IBH_EACH (const IbhRoute, route, routes) {
        /* The kernel's own "unreachable" of IPv6 (metric 0xffffffff) is no route. */
        if (route->table != IBH_TABLE_MAIN || route->dst.length || route->metric == G_MAXUINT32 ||
            (route->type != RTN_UNREACHABLE && route->type != RTN_BLACKHOLE && route->type != RTN_PROHIBIT))
            continue;
        for (guint j = 0; j < wanted->len; j++) {
            if (g_array_index(wanted, IbhRoute, j).family != route->family ||
                !ibh_route_is_default(&g_array_index(wanted, IbhRoute, j)))
                continue;
            if (!ibh_check_covers(check->rails, route->family) || has_better_default(routes, route))
                continue;
            ibh_finding_add(
                check->findings, nic->link->name, IBH_ERROR, "main-error-route",
                g_strdup_printf(
                    "ip -%c route show table main exact default # remove the one that is no way, or give it a "
                    "higher metric",
                    version(route->family)),
                "main has a default route that is an error, and it comes before the gateway in table %u: other "
                "networks are not reached from this rail",
                nic->table);
            return;
        }
    }
}

/* gateway=ADDRESS that the rail cannot reach gives it no default route. */
static void judge_gateway(Check *check, const IbhNic *nic)
{
    const IbhIp *gateway = &nic->settings.gateway_ip;
    g_autoptr(GArray) wanted = NULL;
    char text[IBH_IP_STRLEN];

    if (nic->settings.gateway != IBH_GATEWAY_ADDRESS || !ibh_check_covers(check->rails, gateway->family))
        return;
    wanted = ibh_want_routes(check->rails, nic);
    IBH_EACH (const IbhRoute, route, wanted) {
        if (ibh_ip_equal(&route->gateway, gateway))
            return;
    }
    ibh_finding_add(
        check->findings, nic->link->name, IBH_ERROR, "route-missing", command_for("ip address show", nic->link->name),
        "gateway=%s is in no subnet of this NIC, so table %u has no default route: choose one that is, or gateway=auto",
        ibh_ip_format(gateway, text), nic->table);
}

/* Our rules and routes have protocol kernel, which managers leave alone; all but this one. */
static void judge_manager(Check *check, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(check->rails->snapshot, nic->link->ifindex);
    static const int families[] = {AF_INET, AF_INET6};

    for (guint i = 0; manager && manager->connection && i < G_N_ELEMENTS(families); i++) {
        gboolean six = families[i] == AF_INET6;
        g_autofree char *connection = ibh_shell_word(manager->connection);

        if ((six ? manager->prunes6 : manager->prunes4) && ibh_check_covers(check->rails, families[i]) &&
            ibh_serves_family(check->rails, nic, families[i]))
            ibh_finding_add(
                check->findings, nic->link->name, IBH_WARNING, "manager-removes-foreign",
                g_strdup_printf("nmcli connection modify %s ipv%d.route-table 0", connection, six ? 6 : 4),
                "this %s removes the routes of table %u each time it configures the NIC, and its traffic takes another "
                "way until that is repaired, because its connection sets ipv%d.route-table (from 1.36 on it does not)",
                manager->name, nic->table, six ? 6 : 4);
    }
}

static void judge_scripts(Check *check, const IbhNic *nic)
{
    const GPtrArray *scripts = check->rails->snapshot->scripts;
    gboolean deletes = TRUE; /* once: again, a delete would find nothing but ours */

    IBH_EACH_POINTER (const IbhScript, script, scripts) {
        g_autofree char *command = ibh_legacy_command(script, check->rails, nic), *caution = NULL;

        if (!command)
            continue;
        caution = ibh_legacy_caution(script, check->rails);
        ibh_finding_add(
            check->findings, nic->link->name, IBH_WARNING, "legacy-script",
            ibh_legacy_fix(script, check->rails, nic, command, deletes),
            "%s routes it, too (%s): it knows of no change, and what it deletes stays away; one of the two is "
            "enough%s%s",
            script->path, command, caution ? "; " : "", caution ? caution : "");
        deletes = FALSE;
    }
}

static void judge_duplicates(Check *check, const IbhNic *nic)
{
    const GArray *addresses = check->rails->snapshot->addresses;
    char ip[IBH_IP_STRLEN];

    IBH_EACH (const IbhAddress, address, addresses) {
        const IbhNic *owner = ibh_nic_serves(nic, address) ? ibh_rails_owner(check->rails, &address->local) : nic;

        if (owner && owner != nic)
            ibh_finding_add(
                check->findings, nic->link->name, IBH_ERROR, "duplicate-address",
                g_strdup_printf("ip address show to %s # take it from one of the two",
                                ibh_ip_format(&address->local, ip)),
                "%s is also an address of %s, which has the rule: what it sends leaves by that one, and peers learn "
                "either",
                ip, owner->link->name);
    }
}

/* ---- other NICs on the wire ---- */

/* Whether this NIC reaches the address in a subnet that is at least as large as the rail's. One that is smaller, as of
 * a docker bridge inside the rail's subnet, is another wire. */
static gboolean reaches_like(const Check *check, const IbhNic *nic, const IbhPrefix *subnet, const IbhIp *ip)
{
    const GArray *addresses = check->rails->snapshot->addresses;

    IBH_EACH (const IbhAddress, address, addresses) {
        if (address->ifindex == nic->link->ifindex && ibh_prefix_contains(&address->subnet, ip) &&
            address->subnet.length > subnet->length)
            return FALSE;
    }
    return ibh_prefix_contains(subnet, ip);
}

static gboolean has_anything_in(const Check *check, const IbhNic *nic, const IbhPrefix *subnet)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;

    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        if (address->ifindex == nic->link->ifindex && reaches_like(check, nic, subnet, &address->local))
            return TRUE;
    }
    IBH_EACH (const IbhNeighbour, neighbour, snapshot->neighbours) {
        if (neighbour->ifindex == nic->link->ifindex && reaches_like(check, nic, subnet, &neighbour->ip))
            return TRUE;
    }
    return FALSE;
}

/* It has an address or a neighbour where the rail has its peers. */
static gboolean is_on_wire_of(const Check *check, const IbhNic *nic, const IbhNic *rail)
{
    const GArray *addresses = check->rails->snapshot->addresses;

    IBH_EACH (const IbhAddress, address, addresses) {
        if (address->local.family == AF_INET && ibh_nic_serves(rail, address) && !ibh_address_is_host(address) &&
            has_anything_in(check, nic, &address->subnet))
            return TRUE;
    }
    return FALSE;
}

/* A port of a bond or bridge has no IP of its own. In a VRF a NIC has, and answers for the addresses outside of it as
 * long as the local table is asked before the VRF's. */
static gboolean has_no_ip(const IbhSnapshot *snapshot, const IbhLink *link)
{
    const IbhLink *master = link->master ? ibh_snapshot_link(snapshot, link->master) : NULL;
    guint32 local = G_MAXUINT32, vrf = G_MAXUINT32;

    if (!link->master || !master || !g_str_equal(master->kind, "vrf"))
        return link->master != 0;
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (rule->family == AF_INET && rule->l3mdev)
            vrf = MIN(vrf, rule->priority);
        else if (rule->family == AF_INET && rule->table == IBH_TABLE_LOCAL)
            local = MIN(local, rule->priority);
    }
    return vrf < local;
}

static gboolean answers_for_all(const Check *check, const IbhNic *nic)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;
    const int *own = nic->link->sysctl, *all = snapshot->all;

    return nic->status != IBH_NIC_RAIL && ibh_nic_is_usable(nic) && !has_no_ip(snapshot, nic->link) &&
           !(nic->link->flags & (IFF_LOOPBACK | IFF_NOARP)) && !ibh_is_strict(snapshot, nic->link) &&
           !ibh_sysctl_effective(IBH_SYSCTL_ARP_IGNORE, own[IBH_SYSCTL_ARP_IGNORE], all[IBH_SYSCTL_ARP_IGNORE]) &&
           !ibh_sysctl_effective(IBH_SYSCTL_ARP_FILTER, own[IBH_SYSCTL_ARP_FILTER], all[IBH_SYSCTL_ARP_FILTER]);
}

/* A NIC that is no rail, on the rails' wire, answers ARP for their addresses as it does for its own. */
static void judge_foreign_nic(Check *check, const IbhNic *nic)
{
    for (guint i = 0; answers_for_all(check, nic) && i < check->rails->nics->len; i++) {
        const IbhNic *rail = g_ptr_array_index(check->rails->nics, i);

        if (rail->status != IBH_NIC_RAIL || rail->link->type != nic->link->type || !is_on_wire_of(check, nic, rail))
            continue;
        ibh_finding_add(
            check->findings, nic->link->name, IBH_WARNING, "foreign-nic-answers",
            sysctl_command(nic->link->name, IBH_SYSCTL_ARP_IGNORE, 1),
            "it is no rail, but in the subnet of %s, and answers ARP for its address: peers may send to the wrong NIC",
            rail->link->name);
        return;
    }
}

/* ---- NICs ---- */

static void judge_carrier(Check *check, const IbhNic *nic)
{
    g_autofree char *word = ibh_shell_word(nic->link->name);

    if (nic->link->flags & IFF_UP)
        ibh_finding_add(
            check->findings, nic->link->name, IBH_ERROR, "carrier-down", g_strdup_printf("ip link show %s", word),
            "the link has no carrier (cable, switch port, subnet manager), expected up with carrier: nothing can "
            "leave or arrive by it");
    else
        ibh_finding_add(
            check->findings, nic->link->name, IBH_ERROR, "carrier-down", g_strdup_printf("ip link set %s up", word),
            "the link is administratively down, expected up with carrier: nothing can leave or arrive by it");
}

static void judge_rail(Check *check, const IbhNic *nic)
{
    const IbhFabric *fabric = check->rails->snapshot->fabric;

    if (!ibh_nic_is_usable(nic) && !(fabric && ibh_fabric_explains(fabric, nic->link->name)))
        judge_carrier(check, nic);
    if (ibh_check_covers(check->rails, AF_INET))
        judge_sysctls(check, nic);
    judge_errors_in_main(check, nic);
    judge_gateway(check, nic);
    judge_manager(check, nic);
    judge_scripts(check, nic);
    judge_duplicates(check, nic);
    judge_foreign_rules(check, nic);
    judge_foreign_routes(check, nic);
}

static void judge_no_rail(Check *check, const IbhNic *nic)
{
    const char *iface = nic->link->name;

    switch (nic->status) {
    case IBH_NIC_HELD:
        ibh_finding_add(check->findings, iface, IBH_WARNING, "held", command_for("ib-hook --apply --iface", iface),
                        "%s: it is no rail meanwhile", nic->why);
        break;
    case IBH_NIC_DEFERRED:
        ibh_finding_add(
            check->findings, iface, IBH_INFO, "deferred",
            g_strdup("set manage=no if it is to stay so; to make it a rail: manage=yes, then what legacy-script says"),
            "left to who routes it already: %s", nic->why);
        break;
    case IBH_NIC_BLOCKED:
        ibh_finding_add(check->findings, iface, IBH_ERROR, nic->code,
                        g_str_equal(nic->code, "table-clash")
                            ? g_strdup("choose a table= outside of 941 and on")
                            : g_strdup("ip -4 rule add priority 0 from all lookup local; "
                                       "ip -6 rule add priority 0 from all lookup local"),
                        "not programmed: %s", nic->why);
        break;
    case IBH_NIC_NO_ADDRESS:
        ibh_finding_add(check->findings, iface, IBH_INFO, "no-address", command_for("ip address show", iface),
                        "%s: nothing to route", nic->why);
        break;
    default:
        break;
    }
    if (check->only)
        ibh_finding_add(check->findings, iface, IBH_WARNING, "not-engaged",
                        g_strdup("ib-hook --show # of all NICs; manage=yes makes one a rail"), "it is no rail: %s",
                        nic->why);
}

static void judge_vrf(Check *check, const IbhNic *nic)
{
    const IbhLink *master = nic->link->master ? ibh_snapshot_link(check->rails->snapshot, nic->link->master) : NULL;

    if (master && g_str_equal(master->kind, "vrf") && (nic->link->rdma[0] || nic->link->type == ARPHRD_INFINIBAND))
        ibh_finding_add(check->findings, nic->link->name, IBH_INFO, "vrf", command_for("ip link show", master->name),
                        "in the VRF %s, whose table routes it: left alone", master->name);
}

GPtrArray *ibh_check_judge(const IbhRails *rails, const IbhPlan *plan, const GArray *questions, const char *const *only)
{
    Check check = {.rails = rails, .plan = plan, .questions = questions, .only = only};

    check.findings = ibh_findings_new();
    if (rails->snapshot->fabric)
        ibh_fabric_judge(rails->snapshot->fabric, only, check.findings, NULL);
    IBH_EACH_POINTER (const IbhOp, op, plan->ops)
        judge_op(&check, op);
    IBH_EACH (const IbhQuestion, question, questions)
        judge_answer(&check, question);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (!ibh_is_selected(nic, only))
            continue;
        judge_vrf(&check, nic);
        if (ibh_check_covers(rails, AF_INET))
            judge_foreign_nic(&check, nic);
        (nic->status == IBH_NIC_RAIL ? judge_rail : judge_no_rail)(&check, nic);
    }
    return check.findings;
}
