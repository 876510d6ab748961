/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/foreign.h"

#include "check/names.h"
#include "check/scripts.h"
#include "plan/fib.h"
#include "plan/want.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

char ibh_ip_option(int family) /* ip -4, ip -6 */
{
    return family == AF_INET6 ? '6' : '4';
}

char *ibh_sysctl_command(const char *iface, IbhSysctl key, int value)
{
    IbhOp op = {.type = IBH_OP_SYSCTL_SET, .key = key, .to = value};

    g_strlcpy(op.iface, iface, sizeof op.iface);
    return ibh_op_command(&op);
}

char *ibh_command_for(const char *command, const char *iface)
{
    g_autofree char *word = ibh_shell_word(iface);

    return g_strdup_printf("%s %s", command, word);
}

const char *ibh_check_link_name(const IbhCheck *check, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(check->rails->snapshot, ifindex);

    return link ? link->name : "no interface";
}

/* Our rule leads all that the rail sends into its table: a default there by another NIC, or an error, takes what main
 * has elsewhere. */
static void judge_default_in_table(IbhCheck *check, const IbhNic *nic)
{
    IBH_EACH (const IbhRoute, route, check->rails->snapshot->routes) {
        const IbhOwner owner = {.route = route};
        g_autofree char *text = NULL;
        IbhFinding *finding;

        if (route->table != nic->table || route->dst.length || route->type == RTN_THROW || ibh_route_is_ours(route) ||
            (route->type == RTN_UNICAST && ibh_route_leads_by(route, nic->link->ifindex)) ||
            !ibh_serves_family(nic, route->family))
            continue;
        text = ibh_owner_describe(check->rails->snapshot, &owner);
        finding = ibh_finding_of(check->findings, "table-clash", text, nic->link->name);
        if (!finding->message)
            finding->message =
                g_strdup_printf("%s stands in the rail's table, and takes what it sends elsewhere", text);
    }
}

/* The configuration has given its old number to another NIC. */
void ibh_judge_table(IbhCheck *check, const IbhNic *nic)
{
    guint32 number = IBH_TABLE_BASE + nic->rank;
    const IbhNic *other = ibh_rails_nic_by_table(check->rails, number);

    judge_default_in_table(check, nic);
    if (nic->settings.table != IBH_TABLE_AUTO || nic->table == number || !other ||
        other->settings.table == IBH_TABLE_AUTO)
        return;
    ibh_finding_add(check->findings, nic->link->name, IBH_INFO, "table-moved",
                    ibh_advice("table= promises a number, where one is needed"),
                    "its table is %u, because %s has table=%u (%s): programs that use the old number reach that NIC",
                    nic->table, other->link->name, other->table, other->settings.table_origin);
}

/* ---- the manager, scripts, addresses ---- */

/* Of each manager once, at its first rail. */
static void judge_hook(IbhCheck *check, const IbhNic *nic, const IbhManager *manager)
{
    IBH_EACH_POINTER (const IbhFinding, finding, check->findings) {
        if (g_str_equal(finding->code, "hook-inactive") && strstr(finding->message, manager->inactive))
            return;
    }
    ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "hook-inactive",
                    ibh_advice("put the link back (reinstalling the package makes it), under SELinux install "
                               "ib-hook-selinux and run restorecon; or let ib-hook-watch.service run"),
                    "ib-hook misses the next event of %s, and --watch does not run: %s", manager->name,
                    manager->inactive);
}

/* Our rules and routes have protocol kernel, which all managers but this one leave alone. */
void ibh_judge_manager(IbhCheck *check, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(check->rails->snapshot, nic->link->ifindex);
    static const int families[] = {AF_INET, AF_INET6};

    if (manager && manager->inactive)
        judge_hook(check, nic, manager);
    for (guint i = 0; manager && manager->connection && i < G_N_ELEMENTS(families); i++) {
        gboolean six = families[i] == AF_INET6;
        g_autofree char *connection = ibh_shell_word(manager->connection);

        if ((six ? manager->prunes6 : manager->prunes4) && ibh_serves_family(nic, families[i]))
            ibh_finding_add(
                check->findings, nic->link->name, IBH_WARNING, "manager-removes-foreign",
                ibh_advice("nmcli connection modify %s ipv%d.route-table 0, and activate it again", connection,
                           six ? 6 : 4),
                "this %s removes the routes of table %u each time it configures the NIC, and its traffic takes another "
                "way until that is repaired, because its connection sets ipv%d.route-table (from 1.36 on it does not)",
                manager->name, nic->table, six ? 6 : 4);
    }
}

void ibh_judge_scripts(IbhCheck *check, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhScript, script, check->rails->snapshot->scripts) {
        g_autofree char *command = ibh_script_command(script, check->rails, nic);
        IbhFinding *finding =
            command ? ibh_finding_of(check->findings, "legacy-script", script->path, nic->link->name) : NULL;

        if (finding && !finding->message)
            finding->message =
                g_strdup_printf("%s routes it by hand, and follows no change: %s", script->path, command);
    }
}

void ibh_judge_duplicates(IbhCheck *check, const IbhNic *nic)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        const IbhNic *owner = ibh_rails_owner(check->rails, &address->local);
        if (owner && owner != nic)
            ibh_finding_add(
                check->findings, nic->link->name, IBH_ERROR, "duplicate-address",
                ibh_advice("take %s from one of the two", ibh_ip_format(&address->local, ip)),
                "%s is also an address of %s, which has the rule: what it sends leaves by that one, and peers learn "
                "either",
                ip, owner->link->name);
    }
}

/* A NIC that is no rail has the same address, and answers for it if it is on the same wire. */
void ibh_judge_duplicate_elsewhere(IbhCheck *check, const IbhNic *nic)
{
    char ip[IBH_IP_STRLEN];

    if (nic->status == IBH_NIC_RAIL || ibh_link_is_of_the_host(nic->link) || !(nic->link->flags & IFF_UP))
        return;
    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        const IbhNic *owner = ibh_rails_owner(check->rails, &address->local);

        if (owner && owner != nic && owner->link->type == nic->link->type)
            ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "duplicate-address",
                            ibh_advice("take %s from one of the two", ibh_ip_format(&address->local, ip)),
                            "%s is also an address of the rail %s: where both are on one wire, peers learn either", ip,
                            owner->link->name);
    }
}

/* ---- other NICs on the wire ---- */

/* TRUE if this NIC has the address in a subnet at least as large as the rail's. A smaller one, as of a docker bridge
 * inside the rail's subnet, is another wire. */
static gboolean reaches_like(const IbhNic *nic, const IbhPrefix *subnet, const IbhIp *ip)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        if (ibh_prefix_contains(&address->subnet, ip) && address->subnet.length > subnet->length)
            return FALSE;
    }
    return ibh_prefix_contains(subnet, ip);
}

static gboolean has_anything_in(const IbhCheck *check, const IbhNic *nic, const IbhPrefix *subnet)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;

    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        if (reaches_like(nic, subnet, &address->local))
            return TRUE;
    }
    IBH_EACH (const IbhNeighbour, neighbour, snapshot->neighbours) {
        if (!neighbour->fixed && neighbour->ifindex == nic->link->ifindex && reaches_like(nic, subnet, &neighbour->ip))
            return TRUE;
    }
    return FALSE;
}

/* A VLAN is another wire, a macvlan is not. */
static gboolean is_on_top_of(const IbhNic *nic, const IbhNic *rail)
{
    static const char *const kinds[] = {"macvlan", "macvtap", "ipvlan", NULL};

    return nic->link->parent == rail->link->ifindex && ibh_serves_family(rail, AF_INET) &&
           g_strv_contains(kinds, nic->link->kind);
}

/* TRUE if it has an address or a neighbour in the rail's subnet. */
static gboolean is_on_wire_of(const IbhCheck *check, const IbhNic *nic, const IbhNic *rail)
{
    if (is_on_top_of(nic, rail))
        return TRUE;
    IBH_EACH_POINTER (const IbhAddress, address, &rail->served) {
        if (address->local.family == AF_INET && !ibh_address_is_host(address) &&
            has_anything_in(check, nic, &address->subnet))
            return TRUE;
    }
    return FALSE;
}

/* A port of a bond or bridge has no IP of its own. A NIC in a VRF has, and answers for addresses outside of the VRF as
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

static gboolean is_bridge_without_ports(const IbhSnapshot *snapshot, const IbhLink *link)
{
    if (!g_str_equal(link->kind, "bridge"))
        return FALSE;
    IBH_EACH (const IbhLink, port, snapshot->links) {
        if (port->master == link->ifindex)
            return FALSE;
    }
    return TRUE;
}

static gboolean answers_for_all(const IbhCheck *check, const IbhNic *nic)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;
    const int *own = nic->link->sysctl, *all = snapshot->all;

    return nic->status != IBH_NIC_RAIL && ibh_nic_is_usable(nic) && !has_no_ip(snapshot, nic->link) &&
           !is_bridge_without_ports(snapshot, nic->link) && !(nic->link->flags & (IFF_LOOPBACK | IFF_NOARP)) &&
           !ibh_is_strict(check->rails, nic) &&
           !ibh_sysctl_effective(IBH_SYSCTL_ARP_IGNORE, own[IBH_SYSCTL_ARP_IGNORE], all[IBH_SYSCTL_ARP_IGNORE]) &&
           !ibh_sysctl_effective(IBH_SYSCTL_ARP_FILTER, own[IBH_SYSCTL_ARP_FILTER], all[IBH_SYSCTL_ARP_FILTER]);
}

/* A NIC that is no rail, on the rails' wire, answers ARP for the rails' addresses as for its own. */
void ibh_judge_foreign_nic(IbhCheck *check, const IbhNic *nic)
{
    if (!answers_for_all(check, nic))
        return;
    IBH_EACH_POINTER (const IbhNic, rail, check->rails->nics) {
        if (rail == nic || !ibh_is_routed(rail) || rail->link->type != nic->link->type ||
            !is_on_wire_of(check, nic, rail))
            continue;
        ibh_finding_add(
            check->findings, nic->link->name, IBH_INFO, "foreign-nic-answers",
            ibh_advice("ib-hook --probe asks the wire; arp_ignore=1 silences this NIC"),
            "it is no rail of ib-hook's, but on the wire of %s, and answers ARP for its address: peers may send to the "
            "wrong NIC",
            rail->link->name);
        return;
    }
}
