/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/rows.h"

/* Texts that several rows share. */
#define PROXY ": it answers ARP for {ip}, another host of the subnet, and takes its traffic"
#define OURS "{said} ({n} change{s})"
#define MISSED "{consequence}: {state}{hardware}"
#define LENGTHS                                                                                                        \
    "the main table decides how its traffic to the rest of {wide} leaves: it has {ip}/{length}, and {other} has "      \
    "{wider}/{its}"

/* Rows leave out members that are NULL. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

const IbhRow ibh_rows[] = {
    /* ---- packets: verdict.c (and ours.c, for table-clash); not-in-force: cli/main_io.c ---- */
    {IBH_NOT_ASKED, "foreign-rule", IBH_ERROR, NULL, NULL,
     "find the program that made the rule; the rule leaves the rails alone if its priority is above 32766, or if no "
     "packet "
     "of a rail matches its selectors"},
    {IBH_NOT_ASKED, "foreign-route", IBH_ERROR, NULL, NULL,
     "find the program that made the route, and make it leave the rails' subnet alone"},
    {IBH_OF_PLACE, "table-clash", IBH_ERROR, ibh_place_is_taken,
     "{owner} prevents a route of ib-hook: both have the same table, prefix and metric",
     "find the program that writes into this table, or give the rail another one: table= in the configuration",
     "{owner}"},
    {IBH_NOT_ASKED, "unbound", IBH_WARNING, NULL, NULL,
     "restore what is missing: the main table's route to the rails' subnet, or the rule 32766: from all lookup main"},
    {IBH_NOT_ASKED, "link-group", IBH_ERROR},
    {IBH_NOT_ASKED, "not-known", IBH_WARNING, NULL, NULL, "\"ip rule\" and \"ip route get\" show what the kernel does"},
    {IBH_NOT_ASKED, "not-in-force", IBH_INFO},

    /* ---- our rules, routes and values that are missing, stale or wrong: ours.c ---- */
    {IBH_OF_PLAN + IBH_OP_RULE_ADD, "rule-missing", IBH_ERROR, NULL, OURS, "{apply}"},
    {IBH_OF_PLAN + IBH_OP_ROUTE_ADD, "route-missing", IBH_ERROR, NULL, OURS, "{apply}"},
    {IBH_OF_PLAN + IBH_OP_ROUTE_REPLACE, "route-missing", IBH_ERROR, NULL, OURS, "{apply}"},
    {IBH_OF_PLAN + IBH_OP_SYSCTL_SET, "sysctl-wrong", IBH_WARNING, NULL, OURS, "{apply}"},
    {IBH_OF_PLAN + IBH_OP_RULE_DEL, "stale", IBH_WARNING, NULL, OURS, "{apply}"},
    {IBH_OF_PLAN + IBH_OP_ROUTE_DEL, "stale", IBH_WARNING, NULL, OURS, "{apply}"},

    /* ---- missing rails: missing.c ---- */
    {IBH_OF_MISSED + IBH_LACKS_CARRIER, "carrier-down", IBH_ERROR, NULL, MISSED,
     "look at the cable, the transceiver, the switch's port and, on InfiniBand, the subnet manager", .says = "{text}"},
    {IBH_OF_MISSED + IBH_ON_PURPOSE, "carrier-down", IBH_INFO, NULL, MISSED,
     "the NIC was set down on purpose; to use it again: sudo ip link set {nic} up", .says = "{text}"},
    {IBH_OF_MISSED + IBH_LACKS_RDMA, "nic-gone", IBH_ERROR, NULL, MISSED,
     "is the card's RDMA driver loaded? If `rdma system` prints exclusive, a container may have kept the device. If "
     "the rail is gone for good: sudo ib-hook --undo --iface {nic}",
     .says = "{text}"},
    {IBH_OF_MISSED + IBH_IS_GONE, "nic-gone", IBH_ERROR, NULL, MISSED,
     "look at the card, and in dmesg for why it left the bus; if it was removed for good: sudo ib-hook --undo --iface "
     "{nic}{then}",
     .says = "{text}"},
    {IBH_OF_MISSED + IBH_NO_SUCH_NIC, "nic-gone", IBH_ERROR, NULL, MISSED,
     "is the card there, perhaps with another NIC name? If not, delete its section from the configuration",
     .says = "{text}"},
    {IBH_OF_MISSED + IBH_ELSEWHERE, "nic-gone", IBH_INFO, NULL, MISSED,
     "another network namespace or a virtual machine has it; if it stays there: sudo ib-hook --undo --iface "
     "{nic}{then}",
     .says = "{text}"},
    {IBH_OF_MISSED + IBH_LACKS_ADDRESS, "no-address", IBH_WARNING, ibh_missed_lacks_address, MISSED,
     "no known network manager configures this NIC: set its address again where it was set before", .says = "{text}"},
    {IBH_OF_MISSED + IBH_LACKS_SUBNET, "address-unusable", IBH_ERROR, NULL, MISSED,
     "give the address the prefix length of its subnet, where its network manager is configured", .says = "{text}"},
    {IBH_OF_LOST_FAMILY, "no-address", IBH_WARNING, ibh_rail_has_lost_family,
     "nothing leaves or arrives over IPv{version}: it had {ip}, and has no IPv{version} address now",
     "see whether its router or DHCP server still offers the prefix, and whether {manager} still configures "
     "IPv{version} on it; if it should have none: sudo ib-hook --apply --iface {iface}"},

    /* ---- who answers ARP for whom: wires.c ---- */
    {IBH_OF_NIC, "foreign-nic-answers", IBH_INFO, ibh_nic_answers_for_rails,
     "peers may send it packets for {other}: it is on the same wire and answers ARP for all addresses of this host "
     "({because})",
     "sudo ib-hook --probe PEER shows which NIC answers; with arp_ignore=1, this NIC answers only for its own "
     "addresses, and peers lose this host's other addresses that no other NIC answers for",
     "{iface}"},
    {IBH_OF_ADDRESS_ASKED_FOR, "address-silent", IBH_WARNING, ibh_address_is_silenced,
     "peers cannot reach {ip}: no NIC answers ARP for it, because of the rails' arp_ignore or arp_filter",
     "give the address to a rail, or write arp=keep for the rails into the configuration and run sudo ib-hook --apply",
     "{ip}"},
    {IBH_OF_PROXY, "proxy-arp", IBH_WARNING, ibh_proxy_is_of_all, "net.ipv4.conf.all.proxy_arp" PROXY,
     "set proxy_arp=1 on each other NIC that needs it, then: sudo sysctl -w net.ipv4.conf.all.proxy_arp=0",
     "net.ipv4.conf.all.proxy_arp"},
    {IBH_OF_PROXY, "proxy-arp", IBH_WARNING, ibh_proxy_is_own, "net.ipv4.conf.{iface}.proxy_arp" PROXY,
     "$ sysctl -w net/ipv4/conf/{iface}/proxy_arp=0", "net.ipv4.conf.{iface}.proxy_arp"},
    {IBH_OF_PROXY, "proxy-arp", IBH_WARNING, ibh_proxy_is_of_vlan, "net.ipv4.conf.{iface}.proxy_arp_pvlan" PROXY,
     "$ sysctl -w net/ipv4/conf/{iface}/proxy_arp_pvlan=0", "net.ipv4.conf.{iface}.proxy_arp_pvlan"},
    {IBH_OF_PROXY_ENTRY, "proxy-arp", IBH_WARNING, ibh_proxy_is_entry, "proxy entry for {ip}" PROXY,
     "$ ip neigh del proxy {ip} dev {iface}", "proxy entry for {ip}"},

    /* ---- addresses and neighbours: wires.c ---- */
    {IBH_OF_ADDRESS, "duplicate-address", IBH_ERROR, ibh_address_is_duplicate,
     "{ip} is also an address of the rail {other}, which has the rule for it: peers learn the hardware address of one "
     "NIC or the other",
     "take {ip} from one of the two"},
    {IBH_OF_ADDRESS, "address-unusable", IBH_ERROR, ibh_address_is_of_port,
     "it is a port of {master} and has the address {ip}: {master} takes what comes in, ARP's answers, too, so nothing "
     "reaches that address",
     "give {ip} to {master}, or take the NIC out of it: sudo ip link set {iface} nomaster", "{iface}"},
    {IBH_OF_ADDRESS, "address-unusable", IBH_ERROR, ibh_address_has_failed,
     "{ip} failed the detection of duplicates: another host has it, so nothing is sent from it or accepted for it here",
     "find the other host that has this address, and remove it there; then delete the address here and add it again"},
    {IBH_OF_RAIL, "address-unusable", IBH_WARNING, ibh_rail_is_deprecated,
     "this host has deprecated IPv6 addresses only: new connections should not use them",
     "see whether the router or DHCP server still announces their prefix", "deprecated"},
    {IBH_OF_ASKING, "arp-off", IBH_WARNING, ibh_rail_is_mute,
     "its IPv{version} mcast_solicit is 0: it asks for no hardware address, so it reaches only hosts that ask for its "
     "own address",
     "$ sysctl -w net/ipv{version}/neigh/{iface}/mcast_solicit=3"},
    {IBH_OF_NEIGHBOUR, "neighbour-static", IBH_WARNING, ibh_neighbour_is_own,
     "the entry of the neighbour {ip} was written, not learned, and has the hardware address of {other}: what is sent "
     "to {ip} comes back to this host",
     "$ ip neigh del {ip} dev {iface}", "{ip}"},
    {IBH_OF_NEIGHBOUR, "neighbour-static", IBH_INFO, ibh_neighbour_is_written,
     "some neighbours' entries were written, not learned (the first is {ip}): --check did not test whether they are "
     "right",
     "to test this neighbour: sudo ib-hook --probe {ip}", "permanent entries"},
    {IBH_OF_WRITTEN_NEIGHBOURS, "arp-off", IBH_WARNING, ibh_rail_lacks_arp,
     "ARP is switched off on it: it neither asks nor answers, so it reaches only hosts whose hardware addresses were "
     "written by hand",
     "$ ip link set arp on dev {iface}"},

    /* ---- NICs that are no rails: nics.c ---- */
    {IBH_OF_NO_RAIL, "held", IBH_WARNING, ibh_nic_is_held, "{why}{then}", "$ ib-hook --apply --iface {iface}"},
    {IBH_OF_NO_RAIL, "local-rule-late", IBH_ERROR, ibh_nic_is_blocked, "not programmed: {why}",
     "restore the rule: sudo ip rule add priority 0 lookup local (IPv6: sudo ip -6 rule ...); if it has to come after "
     "the rule for VRFs, with a number below 1925",
     ""},
    {IBH_OF_NO_RAIL, "no-address", IBH_INFO, ibh_nic_lacks_address, "{why}: nothing to route",
     "give it an address where its network manager is configured, if it is to be used"},
    {IBH_OF_NO_RAIL, "route-missing", IBH_ERROR, ibh_nic_is_kept_astray,
     "{way}: ib-hook's route to {subnet} in table {table} is missing",
     "correct the configuration, then: sudo ib-hook --apply --confirm 60"},
    {IBH_OF_NO_RAIL, "not-engaged", IBH_WARNING, ibh_nic_is_asked_for, "it is not a rail: {why}",
     "ib-hook --show says why each NIC is, or is not, a rail; manage=yes makes a rail of a NIC that has an address"},

    /* ---- two NICs that seem to be on one wire: siblings.c ---- */
    {IBH_OF_PAIR, "mode-mtu", IBH_WARNING, ibh_pair_has_other_mtu6,
     "its IPv6 MTU is {mtu6}, below that of its link ({link}) and that of {other} ({its}): it sends larger packets in "
     "fragments, or not at all",
     "if every switch and host of their subnet carries {mtu} bytes: sudo sysctl -w net/ipv6/conf/{iface}/mtu={mtu}; "
     "otherwise give {other} the smaller IPv6 MTU, too",
     "{iface}"},
    {IBH_OF_PAIR, "address-unusable", IBH_INFO, ibh_pair_lacks_ipv6,
     "IPv6 is switched off on this NIC (disable_ipv6), but not on {other}: this NIC cannot keep an IPv6 address",
     "$ sysctl -w net/ipv6/conf/{iface}/disable_ipv6=0", "{iface}"},
    {IBH_OF_PAIR_ADDRESS, "address-unusable", IBH_ERROR, ibh_pair_lacks_subnet, LENGTHS,
     "give it the prefix of the subnet: {ip}/{its}", "{ip}", .says = "{text}"},
    {IBH_OF_PAIR_ADDRESS, "prefix-differs", IBH_WARNING, ibh_pair_has_other_length, LENGTHS,
     "give all of them the prefix that the subnet really has, /{likely} as far as this host can tell, where their "
     "network manager is configured",
     "{wide}", .says = "{text}"},
    {IBH_OF_PAIR_ADDRESS, "duplicate-mac", IBH_WARNING, ibh_pair_has_one_mac,
     "{iface} and {other} have one hardware address, in the same subnet: switches send what is for one of them to the "
     "port of the other",
     "give one of the two a hardware address of its own", "{mac}"},

    /* ---- rails: siblings.c, nics.c, gateway.c, upkeep.c ---- */
    {IBH_OF_VALUES, "router-mtu", IBH_WARNING, ibh_rail_has_lowered_mtu6,
     "IPv6 uses the MTU {mtu6} here, but the link has {mtu}: a router's advertisement or a sysctl has lowered it, and "
     "IPv6 "
     "sends no larger packets",
     "tcpdump -vni {iface} 'icmp6[0] == 134' shows the router: take the MTU option out there; then sudo sysctl -w "
     "net/ipv6/conf/{iface}/mtu={mtu}; if {mtu6} is right, say so: sudo sysctl -w "
     "net/ipv6/conf/{iface}/accept_ra_mtu=0",
     "IPv6 MTU {mtu6} of {mtu}", .says = "{text}"},
    {IBH_OF_VALUES, "effective-sysctl", IBH_ERROR, ibh_rail_answers_nothing,
     "peers get no answer to ARP requests, and cannot reach it: its arp_ignore is {value}",
     "$ sysctl -w net/ipv4/conf/{iface}/arp_ignore=1"},
    {IBH_OF_VALUES, "effective-sysctl", IBH_ERROR, ibh_rail_has_value_of_all,
     "{effect}: all.arp_ignore={value} applies to every NIC",
     "if no other NIC of this host needs it: sudo sysctl -w net.ipv4.conf.all.arp_ignore=0",
     "net.ipv4.conf.all.arp_ignore"},
    {IBH_OF_GATEWAY, "gateway-missing", IBH_WARNING, ibh_gateway_is_missing,
     "the main table decides how traffic beyond its subnets leaves: {why}",
     "set gateway= in the configuration to a gateway that the rail can reach, or add a default route through the rail "
     "to the main table"},
    {IBH_OF_GATEWAY, "gateway-missing", IBH_INFO, ibh_gateway_is_this_host,
     "gateway= names this host itself: no default route of its own", "nothing has to be done"},
    {IBH_OF_GATEWAY, "gateway-missing", IBH_WARNING, ibh_rail_leaves_through_other, "{way}: {why}",
     "nothing has to be done; gateway= gives each rail a gateway of its own", "{why}", .says = "{says}"},
    {IBH_OF_GATEWAY_ELSEWHERE, "gateway-missing", IBH_WARNING, ibh_route_leads_through_sibling, "{way}: {why}",
     "nothing has to be done; remote= gives each rail a gateway of its own", "{owner}", .says = "{says}"},
    {IBH_OF_SETUP, "manager-removes-foreign", IBH_WARNING, ibh_manager_prunes,
     "this {manager} (before 1.36) removes the routes of table {table} each time it configures the NIC, because the "
     "NIC's connection sets route-table; until the routes are restored, the NIC's traffic takes another way",
     "sudo nmcli connection modify {connection}, and activate it again"},
    {IBH_OF_SETUP, "table-moved", IBH_INFO, ibh_rail_has_other_table,
     "its table is {table}, because {other} has table={number} ({origin}): programs that use the old number reach that "
     "NIC",
     "if programs need a fixed number, set table= in the configuration"},

    /* ---- what keeps a rail as it is: upkeep.c, sections.c ---- */
    {IBH_OF_CALL, "hook-inactive", IBH_WARNING, ibh_manager_is_inactive, "{what}: {inactive}",
     "restore the hook's symbolic link (reinstall the package); under SELinux, install ib-hook-selinux and run "
     "restorecon{watch}",
     "{inactive}"},
    {IBH_OF_SCRIPT, "legacy-script", IBH_INFO, ibh_script_is_in_force,
     "{path} sets fixed routes for this NIC, and does not follow changes of addresses: line {number}: {line}",
     "look at the script, then delete the lines that lead these NICs' addresses to their own subnets: ib-hook does "
     "that",
     "{path}"},
    {IBH_OF_SECTION, "section-unmatched", IBH_INFO, NULL,
     "{origin}: no interface is called {pattern}, so this section has no effect",
     "ip -br link lists the names that exist", "[interface {pattern}]"},
    {IBH_OF_MISSPELT_SECTION, "section-unmatched", IBH_INFO, NULL,
     "{origin}: no interface is called {pattern}, so this section has no effect; the nearest name that exists is "
     "{meant}",
     "if {meant} is meant, write [interface {meant}], and then sudo ib-hook --apply", "[interface {pattern}]"},
    {0},
};

const IbhRow *ibh_code_find(const char *code)
{
    IBH_EACH_ROW (const IbhRow, row, ibh_rows) {
        if (g_strcmp0(row->code, code) == 0)
            return row;
    }
    return NULL;
}

IbhFinding *ibh_check_add_finding(const IbhCheck *check, const IbhNic *nic, const char *code, const char *owner,
                                  IbhRemedy remedy, const char *format, ...)
{
    IbhFinding *finding = owner ? ibh_findings_find(check->findings, code, NULL, owner) : NULL;
    const char *iface = nic ? nic->link->name : "";
    const IbhRow *row = ibh_code_find(code);
    g_autofree char *message = NULL;
    va_list args;

    if (finding) {
        ibh_finding_add_iface(finding, iface);
        g_free(remedy.fix);
        g_free(remedy.advice);
        return finding;
    }
    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    if (!remedy.fix && !remedy.advice)
        remedy.advice = g_strdup(row->remedy);
    finding = ibh_finding_add(check->findings, iface, row->severity, row->code, remedy, "%s", message);
    finding->owner = owner && owner[0] ? g_strdup(owner) : NULL;
    return finding;
}
