/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/missing.h"
#include "case_text.h"
#include "check/check.h"
#include "fabric/fabric.h"
#include "speaks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* ---- a world: what a namespace looks like, what is asked and what is found in it ----------------------- */

typedef struct {
    IbhCase *cas;
    IbhConfig *config;
    IbhRails *rails;
    GPtrArray *plan;
    IbhCheck *check;
    GPtrArray *findings;
} World;

static void world_clear(World *world)
{
    g_clear_pointer(&world->findings, g_ptr_array_unref);
    g_clear_pointer(&world->check, ibh_check_free);
    g_clear_pointer(&world->plan, g_ptr_array_unref);
    g_clear_pointer(&world->rails, ibh_rails_free);
    g_clear_pointer(&world->config, ibh_config_free);
    g_clear_pointer(&world->cas, ibh_case_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(World, world_clear)

/* What a kernel says that goes by the rules and routes of this world. */
static void answer_as_kernel(const IbhFib *fib, IbhQuestion *question)
{
    const IbhTrace trace = ibh_fib_walk(fib, &question->lookup);
    IbhLookup *lookup = &question->lookup;

    lookup->error = trace.refused ? ENETUNREACH : 0;
    lookup->type = trace.route ? trace.route->type : RTN_UNICAST;
    lookup->oif = trace.route ? trace.route->ifindex : 0;
}

typedef void (*Answer)(IbhQuestion *question);

static World look(const char *text, Answer answer)
{
    g_autoptr(GError) error = NULL;
    World world = {.cas = ibh_case_parse("world", text, &error), .config = ibh_config_new()};
    g_autoptr(IbhFib) kernel = NULL;
    g_autoptr(GArray) missed = NULL, own = NULL;
    const char *const *only;

    if (!world.cas ||
        !ibh_config_add(world.config, "config", world.cas->config->str, world.cas->config->len, NULL, TRUE, &error))
        fail_msg("%s", error->message);
    fake_snapshot_add_main(world.cas->snapshot->routes, world.cas->snapshot, world.config);
    world.rails = ibh_rails_find(world.config, world.cas->snapshot,
                                 &(IbhRequest){.respects_holds = world.cas->respect_holds}, &error);
    if (!world.rails)
        fail_msg("%s", error->message);
    only = ibh_case_only(world.cas);
    world.rails->only = only;
    world.plan = ibh_plan(world.rails);
    world.check = ibh_check_new(world.rails, world.cas->facts, only);
    kernel = ibh_fib_new(world.cas->snapshot);
    own = ibh_snapshot_own_routes(world.cas->snapshot);
    IBH_EACH (const IbhRoute, route, own)
        ibh_fib_add_route(kernel, route);
    ibh_fib_add_snapshot(kernel, world.cas->snapshot, TRUE);
    for (guint i = 0; i < world.check->questions->len; i++) {
        answer_as_kernel(kernel, &g_array_index(world.check->questions, IbhQuestion, i));
        if (answer)
            answer(&g_array_index(world.check->questions, IbhQuestion, i));
    }
    world.findings = ibh_findings_new();
    missed = ibh_missing_list(world.rails, world.config, FALSE);
    ibh_check_judge(world.check, world.plan, missed, world.findings);
    ibh_rails_judge_sections(world.rails, world.config, missed, world.findings);
    assert_findings_speak(world.findings);
    return world;
}

/* ---- parts of worlds ----------------------------------------------------------------------------------- */

#define RIGHT "arp_announce=2 arp_ignore=1"
#define STRICT "rp_filter=1 arp_filter=1 arp_announce=2 arp_ignore=2\n"
/* The kernel makes no route of main's for a prefix that begins with 0. */
#define WIDE                                                                                                           \
    IB0 IB1 "ip address add 10.1.34.1/1 dev ib0\nip address add 10.1.34.2/1 dev ib1\nip route flush table main\n"      \
            "ip route add 0.0.0.0/1 dev ib0 src 10.1.34.1 table 941 metric mark protocol kernel\n"                     \
            "ip route add 0.0.0.0/1 dev ib1 src 10.1.34.2 table 942 metric mark protocol kernel\n" RULE_IN(            \
                "0.0.0.0", "1", "10.1.34.1", "941") RULE_IN("0.0.0.0", "1", "10.1.34.2", "942")
#define STRICTLY                                                                                                       \
    "nic ib0 infiniband rdma mlx5_0/1 " STRICT "nic ib1 infiniband rdma mlx5_1/1 " STRICT ADDRESSES RAIL0 RAIL1        \
    "config [interface ib*] arp=strict\n"
#define IB0 "nic ib0 infiniband rdma mlx5_0/1 " RIGHT "\n"
#define IB1 "nic ib1 infiniband rdma mlx5_1/1 " RIGHT "\n"
#define ADDRESSES "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/16 dev ib1\n"
#define ROUTE0 "ip route add 172.16.0.0/16 dev ib0 src 172.16.34.1 table 941 metric mark protocol kernel\n"
#define ROUTE1 "ip route add 172.16.0.0/16 dev ib1 src 172.16.34.2 table 942 metric mark protocol kernel\n"
#define OURS " suppress_ifgroup mark protocol kernel\n"
#define STALE(ip, table) "ip rule add priority 1941 from " ip " lookup " table OURS
#define RULE_IN(subnet, length, ip, table)                                                                             \
    "ip rule add priority 1940 from " ip " to " subnet "/" length " lookup main suppress_prefixlength " length OURS    \
    "ip rule add priority 1941 from " ip " to " subnet "/" length " lookup " table OURS
#define RULE(ip, table) RULE_IN("172.16.0.0", "16", ip, table)
#define RULE6(ip, table) RULE_IN("fd00:16::", "64", ip, table)
#define RULE48(ip, table) RULE_IN("fd00:16::", "48", ip, table)
#define RULE0 RULE("172.16.34.1", "941")
#define RULE1 RULE("172.16.34.2", "942")
#define HOST IB0 IB1 ADDRESSES
#define RAIL0 ROUTE0 RULE0
#define RAIL1 ROUTE1 RULE1
#define RAILS HOST RAIL0 RAIL1
/* main has lost its connected routes */
#define RAILS_ALONE HOST "ip route flush table main\n" RAIL0 RAIL1
#define ADDRESSES6 "ip address add fd00:16::34:1/64 dev ib0\nip address add fd00:16::34:2/64 dev ib1\n"
#define HOST6 IB0 IB1 ADDRESSES6
#define RAIL60 "ip route add fd00:16::/64 dev ib0 table 941 metric mark protocol kernel\n" RULE6("fd00:16::34:1", "941")
#define ROUTE61 "ip route add fd00:16::/64 dev ib1 table 942 metric mark protocol kernel\n"
#define RULE61 RULE6("fd00:16::34:2", "942")
#define RAIL61 ROUTE61 RULE61
#define RAILS6 HOST6 RAIL60 RAIL61
#define BOTH IB0 IB1 ADDRESSES ADDRESSES6 RAIL0 RAIL1 RAIL60 RAIL61
#define TIERS(ip, table)                                                                                               \
    "ip rule add priority 32764 from " ip " lookup main suppress_prefixlength 0" OURS                                  \
    "ip rule add priority 32765 from " ip " lookup 2" table OURS
#define VRF_NIC "ip link add blue up type vrf\nnic ib4 infiniband master blue\nip address add 172.16.34.5/16 dev ib4\n"
#define FIRST_IN_MAIN(kind) "ip link add br9 up type " kind "\nip address add 172.16.99.1/16 dev br9\n" RAILS
/* The address of another netdev, and rails that answered for it before they were rails. */
#define SILENT(link, iface, length)                                                                                    \
    RAILS "ip link add " link "\nip address add 172.16.99.1/" length " dev " iface                                     \
          "\nsaved ib0 arp_ignore old=0 set=1\nsaved ib1 arp_ignore old=0 set=1\n"
/* With a gateway of its own, the other end of its cable. */
#define ROUTED                                                                                                         \
    IB0 "ip address add 10.1.0.2/30 dev ib0\nconfig [interface ib0] manage=yes\nconfig [interface ib0] gateway=peer\n" \
        "ip route add 10.1.0.0/30 dev ib0 src 10.1.0.2 table 941 metric mark protocol kernel\n"                        \
        "ip route add default via 10.1.0.1 dev ib0 onlink table 2941 metric mark protocol kernel\n" RULE_IN(           \
            "10.1.0.0", "30", "10.1.0.2", "941") TIERS("10.1.0.2", "941")
#define MTU6(rails)                                                                                                    \
    "nic ib0 infiniband rdma mlx5_0/1 mtu=9000 mtu6=9000 " RIGHT                                                       \
    "\nnic ib1 infiniband rdma mlx5_1/1 mtu=9000 mtu6=1500 " RIGHT "\n" rails
#define LOWERED(more)                                                                                                  \
    "nic ib0 infiniband rdma mlx5_0/1 mtu=9000 mtu6=1280" more " " RIGHT                                               \
    "\nnic ib1 infiniband rdma mlx5_1/1 mtu=9000 mtu6=1280" more " " RIGHT "\n" ADDRESSES6 RAIL60 RAIL61
#define LARGE                                                                                                          \
    "nic ib0 infiniband rdma mlx5_0/1 mtu=9000 " RIGHT "\nnic ib1 infiniband rdma mlx5_1/1 mtu=9000 mtu6=1500 " RIGHT  \
    "\n" ADDRESSES RAIL0
/* Others route ib1. */
#define THEIRS(metrics)                                                                                                \
    LARGE                                                                                                              \
    "ip rule add priority 100 from 172.16.34.2 lookup 200\nip route add 172.16.0.0/16 dev ib1 table 200 " metrics "\n"
#define ELSEWHERE6                                                                                                     \
    "ip address add fd00:80::34:2/64 dev ib1\nip route add fd00:80::/64 dev ib1 table 942 metric mark protocol "       \
    "kernel\n" RULE_IN("fd00:80::", "64", "fd00:80::34:2", "942") "config [interface ib*] manage=yes\n"
/* DHCPv6 gives single addresses, and a router's advertisement says what is on the link. */
#define LEASES6 RAILS "ip address add fd00:16::34:1/128 dev ib0\nip address add fd00:16::34:2/128 dev ib1\n"
#define LEASED0                                                                                                        \
    "ip route add fd00:16::/64 dev ib0 table 941 metric mark protocol kernel\n" RULE6("fd00:16::34:1", "941")
#define LEASED1                                                                                                        \
    "ip route add fd00:16::/64 dev ib1 table 942 metric mark protocol kernel\n" RULE6("fd00:16::34:2", "942")
#define ON_LINK6                                                                                                       \
    "ip route add fd00:16::/64 dev ib0 protocol ra metric 1024\n"                                                      \
    "ip route add fd00:16::/64 dev ib1 protocol ra metric 1025\n"
/* What a packet that was too big, or a redirect, has taught the kernel about one host. */
#define LEARNED(host) "ip route add " host " dev ib0 protocol kernel mtu 1300 cached\n"
#define LEARNED_BEYOND "ip route add fd00:88::1 via fd00:99::1 dev eth0 mtu 1300 cached\n"
#define GATEWAY6(nic, ip, table)                                                                                       \
    "ip -6 route add default via fd00:16::16:1 dev " nic " table 2" table " metric mark protocol kernel\n"             \
    "ip route add fd00:16::16:1/128 dev " nic " table 2" table " metric mark protocol kernel\n" TIERS(ip, table)
#define GATEWAYS6                                                                                                      \
    "config [interface ib*] gateway=fd00:16::16:1\n" GATEWAY6("ib0", "fd00:16::34:1", "941")                           \
        GATEWAY6("ib1", "fd00:16::34:2", "942")
#define ETH6 "nic eth0\nip address add fd00:99::34/64 dev eth0\n"
#define ETH0 "nic eth0\nip address add 192.168.1.5/24 dev eth0\n"

/* ---- answers that are wrong ---------------------------------------------------------------------------- */

static gboolean is_about(const IbhQuestion *question, const char *iface, IbhQuestionKind kind)
{
    return question->kind == kind && g_str_equal(question->nic->link->name, iface);
}

static void filtered_einval(IbhQuestion *question)
{
    if (is_about(question, "ib1", IBH_ASK_ARRIVES))
        question->lookup.error = EINVAL;
}

static void filtered_exdev(IbhQuestion *question)
{
    if (is_about(question, "ib0", IBH_ASK_ARRIVES))
        question->lookup.error = EXDEV;
}

static void local_fails(IbhQuestion *question)
{
    if (is_about(question, "ib1", IBH_ASK_LOCAL))
        question->lookup.error = ENETUNREACH;
}

/* As if a rule or route were there that the snapshot has not. */
static void leaves_by_ib0(IbhQuestion *question)
{
    if (is_about(question, "ib1", IBH_ASK_LEAVES))
        question->lookup.oif = 2;
}

/* ---- each finding, and what brings it about ------------------------------------------------------------ */

typedef struct {
    const char *name;
    const char *world;
    Answer answer;
    const char *expected; /* "SEVERITY CODE IFACE", sorted */
} Case;

static const Case CASES[] = {
    /* clang-format off */
    {"a right host", RAILS, NULL, ""},
    {"the local table's rule twice", RAILS "ip rule add priority 100 lookup local\n", NULL, ""},

    {"a subnet of /1 has 127.0.0.0/8 inside", WIDE, NULL, "info unbound ib0"},

    {"no rule", HOST RAIL0 ROUTE1, NULL, "error rule-missing ib1"},
    {"no route", HOST RAIL0 RULE1, NULL, "error route-missing ib1"},
    {"a route that somebody altered", HOST RAIL0 RULE1
     "ip route add 172.16.0.0/16 dev ib1 src 172.16.34.2 table 942 metric mark protocol kernel mtu lock 1000\n", NULL, "error route-missing ib1"},
    {"nothing at all", HOST, NULL, "error rule-missing ib0+ib1"},
    {"main has no way: a script deleted its routes", RAILS_ALONE, NULL, "info unbound ib0"},
    {"the same, and it refuses the rest of the world", RAILS_ALONE "ip route add prohibit default table 253\n", NULL, "info unbound ib0"},
    {"the same, by a throw", RAILS_ALONE "ip route append throw default table main metric 1\n", NULL, "info unbound ib0"},
    {"the same, by one in another table that hides nothing", RAILS_ALONE "ip route append throw 172.16.16.2 table default metric 100\n",
     NULL, "info unbound ib0"},
    {"a throw in main hides a part of the subnet", RAILS "ip route add throw 172.16.16.0/24 table main\n", NULL, "warning foreign-route ib0"},
    {"that one, behind one that hides nothing",
     RAILS "ip rule add priority 31000 lookup 200\nip route add throw 172.16.16.0/24 table 200\n"
     "ip route add throw 172.16.16.0/24 table main\n", NULL, "warning foreign-route ib0"},
    {"a bridge inside the subnet",
     RAILS "ip link add docker0 up type bridge\nip address add 172.16.99.1/24 dev docker0\n", NULL, "info foreign-route ib0+ib1"},
    {"a bridge with the rails' own prefix is first in main", FIRST_IN_MAIN("bridge"), NULL, "warning unbound ib0"},
    {"so is a dummy", FIRST_IN_MAIN("dummy"), NULL, "warning unbound ib0"},
    {"or a tunnel", FIRST_IN_MAIN("wireguard"), NULL, "warning unbound ib0"},
    {"a bridge that has a NIC as its port reaches the wire", FIRST_IN_MAIN("bridge") "nic eth2 master br9\n", NULL,
     "info foreign-route ib0"},
    {"a table before main has a default by a peer",
     RAILS "ip rule add priority 1941 lookup 700\nip route add default via 172.16.16.103 dev ib0 table 700\n", NULL, "info gateway-missing ib1\nwarning foreign-rule ib0"},
    {"a table before main has the subnet by two gateways elsewhere",
     RAILS ETH0 "ip rule add priority 5000 lookup 700\n"
     "ip route add 172.16.0.0/16 nexthop via 192.168.1.1 dev eth0 nexthop via 192.168.1.2 dev eth0 table 700\n", NULL, "warning foreign-rule ib0"},
    {"a rule of each family in the same words: the worse packet counts",
     BOTH ETH0 "ip rule add priority 5000 lookup 700\nip route add unreachable 172.16.0.0/16 table 700\n"
     "ip -6 rule add priority 5000 lookup 700\nip route add fd00:16::/64 dev eth0 table 700\n", NULL, "error foreign-rule ib0"},
    {"a host of the subnet is its own gateway, on another rail", RAILS "ip route add 172.16.16.2 via 172.16.16.2 dev ib0 table main\n", NULL,
     "warning foreign-route ib1"},
    {"so is one host of a part of the subnet", RAILS "ip route add 172.16.16.0/24 via 172.16.16.2 dev ib0 table main\n", NULL,
     "warning foreign-route ib1"},
    {"the part is behind a host outside of it", RAILS "ip route add 172.16.16.0/24 via 172.16.17.3 dev ib0 table main\n", NULL,
     "info foreign-route ib1"},
    {"it is behind another host of the subnet", RAILS "ip route add 172.16.16.2 via 172.16.16.3 dev ib0 table main\n", NULL,
     "info foreign-route ib1"},
    {"another NIC is first in main", "nic eth9 arp_ignore=1\nip address add 172.16.34.9/16 dev eth9\n" RAILS, NULL, "info foreign-route ib0"},
    {"a NIC's link group is our mark", IB0 "nic ib1 infiniband rdma mlx5_1/1 group mark " RIGHT "\n" ADDRESSES RAIL0 RAIL1, NULL,
     "error link-group ib1"},
    {"main's first route is its own all the same", "nic ib0 infiniband rdma mlx5_0/1 group mark " RIGHT "\n" IB1 ADDRESSES RAIL0 RAIL1, NULL, ""},
    {"of a bridge inside the subnet", RAILS "ip link add docker0 up type bridge group mark\nip address add 172.16.99.1/24 dev docker0\n", NULL,
     "error link-group ib0+ib1"},
    {"another group is none of ours", IB0 "nic ib1 infiniband rdma mlx5_1/1 group 7 " RIGHT "\n" ADDRESSES RAIL0 RAIL1, NULL, ""},
    {"its rule is missing, too", IB0 "nic ib1 infiniband rdma mlx5_1/1 group mark " RIGHT "\n" ADDRESSES RAIL0 ROUTE1, NULL,
     "error rule-missing ib1"},
    {"a rail answers no ARP requests at all", IB0 "nic ib1 infiniband rdma mlx5_1/1 arp_announce=2 arp_ignore=8\n" ADDRESSES RAIL0 RAIL1, NULL,
     "error effective-sysctl ib1"},
    {"the same, but the larger value of all, without a meaning, is in force", IB0 "nic ib1 infiniband rdma mlx5_1/1 arp_announce=2 arp_ignore=8\n"
     ADDRESSES RAIL0 RAIL1 "sysctl -w net/ipv4/conf/all/arp_ignore=9\n", NULL, "warning effective-sysctl ib0+ib1"},
    {"the same value of all: all comes first", IB0 "nic ib1 infiniband rdma mlx5_1/1 arp_announce=2 arp_ignore=8\n"
     ADDRESSES RAIL0 RAIL1 "sysctl -w net/ipv4/conf/all/arp_ignore=8\n", NULL, "error effective-sysctl ib0+ib1"},
    {"nobody answers for an address on a bridge", SILENT("br9 up type bridge", "br9", "16"), NULL, "warning sysctl-wrong ib0+ib1"},
    {"nor for one on a dummy", SILENT("d9 up type dummy", "d9", "32"), NULL, "info foreign-route ib0+ib1\nwarning sysctl-wrong ib0+ib1"},
    {"a network of its own inside the subnet is routed", SILENT("br9 up type bridge", "br9", "24"), NULL, "info foreign-route ib0+ib1\nwarning sysctl-wrong ib0+ib1"},
    {"one of a rail, which answers for it", SILENT("d9 up type dummy", "d9", "32") "ip address del 172.16.99.1/32 dev d9\nip address add 172.16.34.2/32 dev lo\n",
     NULL, ""},
    {"though it has no rules", HOST RAIL0 "ip link add br9 up type bridge\nip address add 172.16.34.2/16 dev br9\n"
     "saved ib0 arp_ignore old=0 set=1\ndo apply only br9\n", NULL, "warning not-engaged br9"},
    {"but not while its cable is out", IB0 "nic ib1 infiniband rdma mlx5_1/1 no-carrier " RIGHT "\n" ADDRESSES RAIL0 RAIL1
     "ip link add d9 up type dummy\nip address add 172.16.34.2/32 dev d9\nsaved ib0 arp_ignore old=0 set=1\n", NULL,
     "error carrier-down ib1\nwarning address-silent d9"},
    {"but a NIC of their wire that is not a rail does", SILENT("br9 up type bridge", "br9", "16")
     "nic eth9 infiniband\nip address add 172.16.34.9/16 dev eth9\nconfig [interface eth9] manage=no\n",
     NULL, "info foreign-nic-answers eth9\nwarning sysctl-wrong ib0+ib1"},
    {"so it does with arp_ignore=3", SILENT("br9 up type bridge", "br9", "16")
     "nic eth9 infiniband arp_ignore=3\nip address add 172.16.34.9/16 dev eth9\nconfig [interface eth9] manage=no\n",
     NULL, "info foreign-nic-answers eth9\nwarning sysctl-wrong ib0+ib1"},
    {"which does not if it is told so", SILENT("br9 up type bridge", "br9", "16")
     "nic eth9 infiniband arp_ignore=1\nip address add 172.16.34.9/16 dev eth9\nconfig [interface eth9] manage=no\n",
     NULL, "warning sysctl-wrong ib0+ib1"},
    {"nor on another wire", SILENT("br9 up type bridge", "br9", "16") "nic eth9\nip address add 172.16.34.9/16 dev eth9\n",
     NULL, "warning sysctl-wrong ib0+ib1"},
    {"nobody answers for a NIC whose own packets main sends by a rail: arp=strict", STRICTLY "saved ib0 rp_filter old=0 set=1\n"
     "saved ib0 arp_ignore old=0 set=2\nsaved ib0 arp_filter old=0 set=1\nnic eth9 rp_filter=1 arp_ignore=1\n"
     "ip address add 172.16.34.9/16 dev eth9\n", NULL, "warning address-silent eth9"},
    {"it does so itself without a strict rp_filter", STRICTLY "saved ib0 rp_filter old=0 set=1\nsaved ib0 arp_ignore old=0 set=2\n"
     "saved ib0 arp_filter old=0 set=1\nnic eth9 arp_ignore=1\nip address add 172.16.34.9/16 dev eth9\n", NULL, ""},
    {"its administrator had silenced the rails before", RAILS "ip link add br9 up type bridge\nip address add 172.16.99.1/16 dev br9\n", NULL, ""},
    {"a service's address", RAILS "ip address add 172.16.99.1/32 dev lo\n", NULL, "info foreign-route ib0+ib1"},
    {"a rule for an address that is gone", RAILS STALE("172.16.34.7", "942"), NULL, "warning stale ib1"},
    {"a rule for a NIC that is gone", RAILS STALE("172.16.34.7", "999"), NULL, "warning stale "},
    {"something is missing on the other rail", HOST RAIL0 "do apply only ib0\n", NULL, ""},

    {"it answers for others", IB0 "nic ib1 infiniband rdma mlx5_1/1 arp_announce=2\n" ADDRESSES
     RAIL0 RAIL1, NULL, "warning sysctl-wrong ib1"},
    {"all answers nobody", RAILS "sysctl -w net/ipv4/conf/all/arp_ignore=8\n", NULL, "error effective-sysctl ib0+ib1"},
    {"all answers nobody, and rails without IPv4 need no answer", RAILS6 "sysctl -w net/ipv4/conf/all/arp_ignore=8\n", NULL, ""},
    {"all has a value without a meaning", RAILS "sysctl -w net/ipv4/conf/all/arp_ignore=9\n", NULL, "warning effective-sysctl ib0+ib1"},
    {"as configured", IB0 "nic ib1 infiniband rdma mlx5_1/1\n" ADDRESSES RAIL0 RAIL1
     "config [interface ib1] arp=keep\n", NULL, "info foreign-nic-answers ib1"},
    {"no rule, and values that change only meanwhile", "nic ib0 infiniband rdma mlx5_0/1 " STRICT "nic ib1 infiniband rdma mlx5_1/1 " STRICT
     ADDRESSES RAIL0 ROUTE1 "config [interface ib*] arp=strict\n", NULL, "error rule-missing ib1"},
    {"proxy_arp_pvlan, which no rp_filter stops: the asking peer is on the same wire",
     "nic ib0 infiniband rdma mlx5_0/1 forwarding=1 proxy_arp_pvlan=1 " STRICT "nic ib1 infiniband rdma mlx5_1/1 " STRICT
     ADDRESSES RAIL0 RAIL1 "config [interface ib*] arp=strict\n", NULL, "warning proxy-arp ib0"},
    {"not as configured", RAILS "config [interface ib1] arp=strict\n", NULL, "warning sysctl-wrong ib1"},
    {"rp_filter drops, as newer kernels say it", RAILS, filtered_exdev, "error effective-sysctl ib0"},

    {"it leaves through the other NIC", RAILS, leaves_by_ib0, "warning not-known ib1"},
    {"what is for ourselves fails", RAILS, local_fails,
     "error address-unusable ib0\nerror address-unusable ib1"},
    {"the local table's rule comes late", IB0 IB1 ADDRESSES "ip rule add priority 32000 lookup local\n"
"ip rule del priority 0 lookup local protocol kernel\n", NULL, "error local-rule-late ib0+ib1"},

    {"an earlier rule for all", RAILS "ip rule add priority 1500 lookup 52\n", NULL, ""},
    {"an earlier rule for a mark", RAILS "ip rule add priority 1500 from 172.16.0.0/16 fwmark 1 lookup 52\n", NULL, "info foreign-rule ib0+ib1"},
    {"an earlier rule, and the kernel goes by another one", RAILS "ip rule add priority 1500 lookup 52\n", leaves_by_ib0, "warning not-known ib1"},
    {"an earlier rule that bears our mark and more", RAILS
     "ip rule add priority 1500 from 172.16.34.2 fwmark 1 lookup 942 suppress_prefixlength 0 suppress_ifgroup mark protocol kernel\n", NULL,
     "info foreign-rule ib1"},

    {"somebody's default route, which no rule of ours asks", RAILS ETH0 "ip route add default dev ib1 table 942\n", NULL, ""},
    {"somebody's piece of the subnet", RAILS "ip route add 172.16.7.0/24 dev ib0 table 942\n", NULL, "error foreign-route ib1"},
    {"the first address of it", RAILS "ip route add 172.16.0.0/32 dev ib0 table 942\n", NULL, "error foreign-route ib1"},
    {"a cable's other end is the only host there, and so its own gateway", ROUTED
     "ip rule add priority 1 from 10.1.0.0/30 to 10.1.0.0/30 lookup 2941\n", NULL, ""},
    {"a router has announced an IPv6 prefix on the cable: gateway=peer still means the cable's other end",
     ROUTED "ip address add fd00:5::5/64 dev ib0\nip route add fd00:5::/64 dev ib0 table 941 metric mark protocol kernel\n"
     RULE_IN("fd00:5::", "64", "fd00:5::5", "941"), NULL, ""},
    {"no subnet has room for one peer only", RAILS "config [interface ib1] gateway=peer\n", NULL, "warning gateway-missing ib1"},
    {"which is a broadcast before Linux 5.14", RAILS "ip route add broadcast 172.16.0.0/32 dev ib0 table local protocol kernel\n", NULL, ""},
    {"the same without our mark", RAILS
     "ip route add 172.16.0.0/16 dev ib1 src 172.16.34.2 table 942 protocol kernel\n", NULL, ""},

    {"others lead an address with a smaller MTU", THEIRS("mtu 1500"), NULL, "info foreign-route ib1"},
    {"or with the NIC's", THEIRS("mtu 9000"), NULL, ""},
    {"or with other metrics", THEIRS("advmss 1300"), NULL, ""},
    {"main leads a part of the subnet by one rail, with a smaller MTU: only the other is hit", LARGE RAIL1
     "ip route add 172.16.20.0/24 dev ib1 mtu 1400\n", NULL, "warning foreign-route ib0\nwarning rule-missing ib1"},
    {"or for a network behind a gateway", LARGE RAIL1 "config [interface ib1] remote=10.0.0.0/8 via 172.16.16.1\n"
     "ip route add 10.50.0.0/16 via 172.16.16.1 dev ib1 mtu 1400\n", NULL,
     "error rule-missing ib1\ninfo gateway-missing ib0"},
    {"a route in its own table with a smaller MTU", LARGE RAIL1 "ip route add 172.16.16.1/32 dev ib1 table 942 mtu 1280\n", NULL,
     "warning foreign-route ib1"},
    {"IPv6: a route of others with the NIC's own MTU", LARGE RAIL1 "ip address add fd00:16::34:2/64 dev ib1\nip address add fd00:16::34:1/64 dev ib0\n"
     RAIL60 "ip -6 rule add priority 100 from fd00:16::34:2 lookup 200\nip route add fd00:16::/64 dev ib1 table 200 mtu 1500\n", NULL,
     "warning router-mtu ib1"},

    {"longer prefixes that cover all of it", IB0 IB1 "nic ib2 infiniband rdma mlx5_2/1 " RIGHT "\n"
     "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/17 dev ib1\nip address add 172.16.200.3/17 dev ib2\n", NULL,
     "info foreign-route ib0\ninfo foreign-route ib0\nwarning prefix-differs ib1+ib2\nwarning rule-missing ib0+ib1+ib2"},
    {"a longer prefix", IB0 IB1 "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/24 dev ib1\n", NULL, "info foreign-route ib0\nwarning prefix-differs ib1\nwarning rule-missing ib0+ib1"},
    {"two of them are one finding", IB0 IB1 "nic ib2 infiniband " RIGHT "\nip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/24 dev ib1\n"
     "ip address add 172.16.34.3/24 dev ib2\n", NULL, "error rule-missing ib0+ib1+ib2\ninfo foreign-route ib0\nwarning prefix-differs ib1+ib2"},
    {"a cable inside a subnet", IB0 IB1 "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/31 dev ib1\n", NULL, "info foreign-route ib0\nwarning rule-missing ib0+ib1"},

    {"one address on two rails", IB0 IB1 ADDRESSES "ip address add 172.16.34.1/16 dev ib1\n" RAIL0 RAIL1, NULL,
     "error duplicate-address ib1"},
    {"no carrier", IB0 "nic ib1 infiniband rdma mlx5_1/1 no-carrier " RIGHT "\n" ADDRESSES RAIL0 RAIL1, NULL,
     "error carrier-down ib1"},
    {"down", IB0 "nic ib1 infiniband rdma mlx5_1/1 down " RIGHT "\n" ADDRESSES RAIL0 RULE1, NULL,
     "info carrier-down ib1"},

    {"held", HOST RAIL0 "hold ib1\ndo apply respect-holds\n", NULL, "warning held ib1"},
    {"all are held", HOST "hold ib0\nhold ib1\ndo apply respect-holds\n", NULL, "warning held ib0+ib1"},
    {"kept as it was, without a rail", HOST RAIL0 "keep ib1\ndo apply respect-holds\n", NULL, "warning held ib1"},
    {"kept as it was, its rail standing", HOST RAIL0 RAIL1 "keep ib1\nconfig [interface ib1] manage=no\n"
     "do apply respect-holds only ib1\n", NULL, "warning held ib1"},
    {"kept as it was, and an event took its route", HOST RAIL0 RULE1 "keep ib1\ndo apply respect-holds\n", NULL,
     "error route-missing ib1\nwarning held ib1"},
    {"the same of one that is down", IB0 "nic ib1 infiniband rdma mlx5_1/1 down " RIGHT "\n" ADDRESSES RAIL0 RULE1
     "keep ib1\ndo apply respect-holds\n", NULL, "warning held ib1"},
    {"others route it", HOST RAIL0 "ip rule add priority 1500 from 172.16.34.2 lookup 52\n"
"ip route add 172.16.0.0/16 dev ib1 table 52\n", NULL,
     ""},
    {"an explicit table that is another's automatic one", HOST RULE("172.16.34.2", "941")
     "ip route add 172.16.0.0/16 dev ib1 src 172.16.34.2 table 941 metric mark protocol kernel\n"
     RULE("172.16.34.1", "943") "ip route add 172.16.0.0/16 dev ib0 src 172.16.34.1 table 943 metric mark protocol kernel\n"
     "config [interface ib1] table=941\n", NULL, "info table-moved ib0"},
    {"no address", RAILS "nic ib2 infiniband rdma mlx5_2/1 arp_ignore=1\n", NULL, "info no-address ib2"},
    {"no address, and it answers for the rails", RAILS "nic ib2 infiniband rdma mlx5_2/1\n", NULL, "info no-address ib2\nwarning sysctl-wrong ib2"},
    {"no address, and is to be a rail", RAILS "nic ib2 infiniband rdma mlx5_2/1 arp_ignore=1\n"
     "config [interface ib2] manage=yes\n", NULL, "warning no-address ib2"},
    {"the same, it is down", RAILS "nic ib2 infiniband rdma mlx5_2/1 arp_ignore=1 down\n"
     "config [interface ib2] manage=yes\n", NULL, "info carrier-down ib2"},
    {"the same, it has no carrier", RAILS "nic ib2 infiniband rdma mlx5_2/1 arp_ignore=1 no-carrier\n"
     "config [interface ib2] manage=yes\n", NULL, "error carrier-down ib2"},
    {"Ethernet in the subnet of InfiniBand is another wire", RAILS "nic eth9\nip address add 172.16.34.9/16 dev eth9\n",
     NULL, ""},
    {"manage=no", HOST RAIL0 "config [interface ib1] manage=no\n", NULL, ""},

    {"asked about an Ethernet NIC", RAILS ETH0 "do apply only eth0\n", NULL, "warning not-engaged eth0"},
    {"asked about a NIC that is held", HOST RAIL0 "hold ib1\ndo apply respect-holds only ib1\n", NULL,
     "warning held ib1\nwarning not-engaged ib1"},

    {"in a VRF, in the rails' subnet", RAILS VRF_NIC "ip rule add priority 1000 l3mdev\n", NULL, "info foreign-nic-answers ib4"},
    {"the same, VRFs are asked before the local table", IB0 IB1 ADDRESSES VRF_NIC
     "ip rule add priority 1000 l3mdev\nip rule add priority 1500 lookup local\n"
     "ip rule del priority 0 lookup local protocol kernel\n"
     RAIL0 RAIL1, NULL, ""},
    {"a port of a bond, in the rails' subnet", RAILS "ip link add bond0 up type bond\n"
     "nic ib4 infiniband master bond0\nip address add 172.16.34.5/16 dev ib4\n", NULL,
     "error address-unusable ib4"},
    {"so is a NIC of a bridge that is no RDMA NIC", RAILS "ip link add br9 up type bridge\n"
     "nic ib4 master br9\nip address add 172.16.34.5/16 dev ib4\nconfig [interface ib4] manage=yes\n", NULL,
     "error address-unusable ib4"},
    {"a part of the subnet leads to a port of a bridge", RAILS "ip link add br9 up type bridge\n"
     "nic eth4 master br9\nip address add 172.16.99.1/24 dev eth4\n", NULL, "warning foreign-route ib0+ib1"},
    {"a neighbour as a local route of main", RAILS "ip route add local 172.16.0.9/32 dev lo table main\n", NULL,
     "error foreign-route ib0+ib1"},
    {"a part of remote= leads to a port of a bridge", RAILS "ip link add br9 up type bridge\n"
     "nic eth4 master br9\nip address add 10.1.0.1/24 dev eth4\n"
     "config [interface ib1] remote=10.0.0.0/8 via 172.16.0.1\n"
     "ip route add 10.0.0.0/8 via 172.16.0.1 dev ib1 onlink table 942 metric mark protocol kernel\n"
     RULE_IN("10.0.0.0", "8", "172.16.34.2", "942"), NULL, "warning foreign-route ib1"},
    {"a port of a bond was a rail: its left-overs are not told beside it", IB0 "ip link add bond0 up type bond\n"
     "nic ib1 infiniband master bond0\n" ADDRESSES RAIL0 RAIL1, NULL, "error address-unusable ib1"},

    {"IPv6: a right host", RAILS6, NULL, ""},
    {"IPv6: a right host of both families", BOTH, NULL, ""},
    {"IPv6: a temporary address without its rule", RAILS6 "ip address add fd00:16::aaaa:1/64 dev ib1 secondary\n", NULL,
     "error rule-missing ib1"},
    {"IPv6: a tentative address", RAILS6 "ip address add fd00:16::34:9/64 dev ib1 tentative\n", NULL, ""},
    {"IPv6: a lease without its rule", RAILS6 "ip address add fd00:99::9/128 dev ib1\n", NULL, "error rule-missing ib1"},
    {"IPv6: leases, and main's first route to their subnet is ib0's", LEASES6 ON_LINK6 LEASED0 LEASED1, NULL, ""},
    {"IPv6: leases, of one of which main has no subnet", LEASES6 LEASED0 "ip route add fd00:16::/64 dev ib0 protocol ra metric 1024\n",
     NULL, "warning gateway-missing ib1"},
    {"IPv6: leases, and a container's bridge inside their subnet", LEASES6 LEASED0 "ip link add br9 up type bridge\n"
     "ip route add fd00:16::/80 dev br9\nip route add fd00:16::/64 dev ib0 protocol ra metric 1024\n", NULL,
     "info foreign-route ib0\nwarning gateway-missing ib1"},
    {"a lease of /32 beside a subnet", RAILS "ip address add 172.16.99.9/32 dev ib1\n" RULE("172.16.99.9", "942"), NULL, ""},
    {"IPv6: what the kernel has learned of a host by ib0 is right for ib0 alone", RAILS6 LEARNED("fd00:16::77"), NULL, "error foreign-route ib1"},
    {"IPv6: a container's bridge leads there anyway", RAILS6 "ip link add br9 up type bridge\n"
     "ip route add fd00:16::70/124 dev br9\nip route add fd00:16::77 dev br9 cached\n", NULL, "info foreign-route ib0+ib1"},
    {"IPv6: it was learned by a route that main has no more", RAILS6 "ip route add fd00:16::70/124 dev ib1\n" LEARNED("fd00:16::77"), NULL,
     "warning foreign-route ib0\nwarning rule-missing ib1"},
    {"IPv6: beyond the subnets main decides", RAILS6 ETH6 "ip -6 route add default via fd00:99::1 dev eth0\n" LEARNED_BEYOND, NULL,
     "info gateway-missing ib0+ib1"},
    {"IPv6: unless gateway= does", RAILS6 ETH6 "ip -6 route add default via fd00:99::1 dev eth0\n" LEARNED_BEYOND
     GATEWAYS6, NULL, "error foreign-route ib0+ib1"},
    {"IPv6: a container's bridge has the router's fe80:: address", RAILS6 "ip link add docker0 up type bridge\n"
     "ip address add fe80::1/64 dev docker0\nconfig [interface ib*] gateway=fe80::1\n"
     "ip -6 route add default via fe80::1 dev ib0 table 2941 metric mark protocol kernel\n" TIERS("fd00:16::34:1", "941")
     "ip -6 route add default via fe80::1 dev ib1 table 2942 metric mark protocol kernel\n" TIERS("fd00:16::34:2", "942"), NULL, ""},
    {"IPv6: a part of the world, which main leads elsewhere", RAILS6 ETH6 "ip route add fd00:88::/64 via fd00:99::1 dev eth0\n" LEARNED_BEYOND
     GATEWAYS6, NULL, ""},
#define SIX(n, more) "ip address add fd00:16::34:" n "/64 dev ib" more "\n"
    {"IPv6: deprecated everywhere", IB0 IB1 SIX("1", "0 deprecated") SIX("2", "1 deprecated") RAIL60 RAIL61, NULL,
     "warning address-unusable ib0+ib1"},
    {"IPv6: deprecated on one", IB0 IB1 SIX("1", "0") SIX("2", "1 deprecated") RAIL60 RAIL61, NULL, ""},
    {"IPv6: switched off on one", IB0 "nic ib1 infiniband rdma mlx5_1/1 " RIGHT "\nno-ipv6 ib1\n" ADDRESSES
     "ip address add fd00:16::34:1/64 dev ib0\n" RAIL0 RAIL1 RAIL60, NULL, "info address-unusable ib1"},
    {"IPv6: switched off on one of another subnet", IB0 "nic ib1 infiniband rdma mlx5_1/1 " RIGHT "\nno-ipv6 ib1\n"
     "ip address add 172.16.34.1/16 dev ib0\nip address add 172.17.34.2/16 dev ib1\nip address add fd00:16::34:1/64 dev ib0\n"
     "config [interface ib*] manage=yes\n" RAIL0 RAIL60 RULE_IN("172.17.0.0", "16", "172.17.34.2", "942")
     "ip route add 172.17.0.0/16 dev ib1 src 172.17.34.2 table 942 metric mark protocol kernel\n", NULL, ""},
    {"IPv6: a smaller MTU", MTU6(ADDRESSES6 RAIL60 RAIL61), NULL, "warning mode-mtu ib1"},
    {"IPv6: a smaller MTU in another subnet", MTU6("ip address add fd00:16::34:1/64 dev ib0\n" RAIL60 ELSEWHERE6), NULL,
     "warning router-mtu ib1"},
    {"IPv6: a smaller MTU on all rails", LOWERED(""), NULL, "warning router-mtu ib0+ib1"},
    {"IPv6: which is meant", LOWERED(" keeps-mtu6"), NULL, ""},
    {"IPv6: a smaller MTU where there is no IPv6", LARGE RAIL1, NULL, ""},
    {"IPv6: a bridge inside the subnet", IB0 IB1
     "ip link add docker0 up type bridge\n"
"ip address add fd00:16:0:5::1/64 dev docker0\n"
"ip address add fd00:16::34:1/48 dev ib0\n"
     "ip address add fd00:16::34:2/48 dev ib1\n" "ip route add fd00:16::/48 dev ib0 table 941 metric mark protocol kernel\n"
     "ip route add fd00:16::/48 dev ib1 table 942 metric mark protocol kernel\n" RULE48("fd00:16::34:1", "941")
     RULE48("fd00:16::34:2", "942"), NULL, "info foreign-route ib0+ib1"},
    {"IPv6: rp_filter is not asked about", RAILS6, filtered_einval, ""},
    {"IPv6: the local table's rule comes late", IB0 IB1 ADDRESSES6
     "ip -6 rule add priority 32000 lookup local\nip -6 rule del priority 0 lookup local protocol kernel\n", NULL, "error local-rule-late ib0+ib1"},

    {"a section for a name that no interface has", RAILS "config [interface ibs1] manage=no\n", NULL, "info section-unmatched "},
    {"and a glob, but not one that matches, nor a name that exists", RAILS "config [interface mlx*] arp=keep\n"
     "config [interface ib*] gateway=none\nconfig [interface ib1] table=942\n", NULL, "info section-unmatched "},
    {"gateway: nothing is missing", RAILS "ip route add default via 172.16.0.1 dev ib0 protocol static\n"
     "ip route add default via 172.16.0.1 dev ib1 protocol static metric 9\n"
     "ip route add default via 172.16.0.1 dev ib0 onlink table 2941 metric mark protocol kernel\n"
     "ip route add default via 172.16.0.1 dev ib1 onlink table 2942 metric mark protocol kernel\n"
     TIERS("172.16.34.1", "941") TIERS("172.16.34.2", "942"), NULL, ""},
    {"gateway: remote= and no default, but a prefix of main's", RAILS "config [interface ib1] remote=198.18.0.0/15\n"
     "ip route add 10.0.0.0/8 via 172.16.0.1 dev ib1 protocol static\n", NULL, "info gateway-missing ib0\nwarning gateway-missing ib1"},
    {"gateway: main sends a network through another rail", RAILS "ip route add 10.66.0.0/16 via 172.16.0.9 dev ib0\n"
     "ip route add 10.67.0.0/16 via 172.16.0.9 dev ib0\n", NULL, "info gateway-missing ib1"},
    {"gateway: main sends a network around the subnet through another rail",
     RAILS "ip route add 172.0.0.0/8 via 172.16.0.9 dev ib0\nip route add 172.16.0.0/12 via 172.16.0.9 dev ib0\n", NULL,
     "info gateway-missing ib1"},
    {"a rail's address, alone, on a rail of a lower rank", IB0 IB1 "ip address add 172.16.34.1/16 dev ib1\nip address add 172.16.34.1/32 dev ib0\n"
     "ip address add 10.1.1.1/24 dev ib0\nconfig [interface ib*] manage=yes\n", NULL, "error duplicate-address ib1\nerror rule-missing ib0+ib1"},
    {"gateway: for two rails, the worst decides", IB0 "nic ib1 infiniband rdma mlx5_1/1 " STRICT "nic ib2 infiniband rdma mlx5_2/1 " RIGHT "\n"
     ADDRESSES "ip address add 172.16.34.3/16 dev ib2\n" RAIL0 RAIL1
     "ip route add 172.16.0.0/16 dev ib2 src 172.16.34.3 table 943 metric mark protocol kernel\n" RULE_IN("172.16.0.0", "16", "172.16.34.3", "943")
     "config [interface ib1] arp=strict\nip route add 10.66.0.0/16 via 172.16.0.9 dev ib0\n", NULL, "warning gateway-missing ib1+ib2"},
    {"gateway: a subnet with room beside a cable's", "nic ib0 infiniband rdma mlx5_0/1 " RIGHT "\n" IB1 "ip address add 10.0.0.0/31 dev ib0\n"
     ADDRESSES RAIL0 RAIL1 "ip route add 10.0.0.0/31 dev ib0 src 10.0.0.0 table 941 metric mark protocol kernel\n" RULE_IN("10.0.0.0", "31", "10.0.0.0", "941")
     RULE_IN("10.0.0.0", "31", "172.16.34.1", "941") RULE_IN("172.16.0.0", "16", "10.0.0.0", "941") "config [interface ib0] manage=yes\n", NULL, ""},
    {"gateway: a route to more than the cable, which begins with the own address", "nic ib0 infiniband rdma mlx5_0/1 " RIGHT "\n"
     "ip address add 10.0.0.0/31 dev ib0\nip route add 10.0.0.0/16 via 10.0.0.1 dev ib0\n"
     "ip route add 10.0.0.0/31 dev ib0 src 10.0.0.0 table 941 metric mark protocol kernel\n" RULE_IN("10.0.0.0", "31", "10.0.0.0", "941")
     "config [interface ib0] manage=yes\n", NULL, ""},
    {"gateway: from there nothing comes back where rp_filter is strict", STRICTLY "ip route add 10.66.0.0/16 via 172.16.0.9 dev ib0\n",
     NULL, "warning gateway-missing ib1"},
    {"gateway: nor by main's default", STRICTLY "ip route add default via 172.16.0.9 dev ib0\nconfig [interface ib0] gateway=none\n",
     NULL, "warning gateway-missing ib1"},
    {"gateway: containers behind a host of the subnet, by another rail", RAILS "ip route add 172.16.40.0/24 via 172.16.0.9 dev ib0\n", NULL,
     "info foreign-route ib1"},
    {"gateway: a virtual address behind it", RAILS "ip route add 172.16.40.1/32 via 172.16.0.9 dev ib0\n", NULL, "info foreign-route ib1"},
    {"gateway: no gateway", RAILS "ip route add 172.16.40.0/24 dev ib0\n", NULL, "warning foreign-route ib1\nwarning rule-missing ib0"},
    {"gateway: nothing comes back from there where rp_filter is strict", STRICTLY "ip route add 172.16.40.0/24 via 172.16.0.9 dev ib0\n", NULL,
     "warning foreign-route ib1"},
    {"gateway: nor from a part of remote=", STRICTLY "config [interface ib1] remote=10.0.0.0/8 via 172.16.0.1\n"
     "ip route add 10.0.0.0/8 via 172.16.0.1 dev ib1 onlink table 942 metric mark protocol kernel\n" RULE_IN("10.0.0.0", "8", "172.16.34.2", "942")
     "ip route add 10.66.0.0/16 via 172.16.0.9 dev ib0\n", NULL, "warning foreign-route ib1"},
    {"gateway: a part of remote= that the main table refuses", RAILS "config [interface ib1] remote=10.0.0.0/8 via 172.16.0.1\n"
     "ip route add 10.0.0.0/8 via 172.16.0.1 dev ib1 onlink table 942 metric mark protocol kernel\n" RULE_IN("10.0.0.0", "8", "172.16.34.2", "942")
     "ip route add blackhole 10.244.7.64/26\n", NULL, "info foreign-route ib1"},
    {"gateway: all of remote= that the main table refuses", RAILS "config [interface ib1] remote=10.0.0.0/8 via 172.16.0.1\n"
     "ip route add 10.0.0.0/8 via 172.16.0.1 dev ib1 onlink table 942 metric mark protocol kernel\n" RULE_IN("10.0.0.0", "8", "172.16.34.2", "942")
     "ip route add unreachable 10.0.0.0/8\n", NULL, "warning foreign-route ib1"},
    {"gateway: a VPN before the rail's own default", RAILS ETH0 "ip route add default via 172.16.0.254 dev ib1 protocol static\n"
     "ip route add default via 172.16.0.254 dev ib1 onlink table 2942 metric mark protocol kernel\n"
     "ip rule add priority 32764 from 172.16.34.2 lookup main suppress_prefixlength 0 suppress_ifgroup mark protocol kernel\n"
     "ip rule add priority 32765 from 172.16.34.2 lookup 2942 suppress_ifgroup mark protocol kernel\n"
     "ip rule add priority 5269 lookup main suppress_prefixlength 0\nip rule add priority 5270 lookup 52\n"
     "ip route add default dev eth0 table 52\n", NULL, "info gateway-missing ib0+ib1"},
    {"gateway: two cables with one multipath route", IB0 IB1 "ip address add 10.1.0.0/31 dev ib0\nip address add 10.1.0.2/31 dev ib1\n"
     "ip route add 10.0.0.0/8 nexthop via 10.1.0.1 dev ib0 nexthop via 10.1.0.3 dev ib1\nconfig [interface ib*] manage=yes\n"
     "ip route add 10.1.0.0/31 dev ib0 src 10.1.0.0 table 941 metric mark protocol kernel\n" RULE_IN("10.1.0.0", "31", "10.1.0.0", "941")
     "ip route add 10.1.0.2/31 dev ib1 src 10.1.0.2 table 942 metric mark protocol kernel\n" RULE_IN("10.1.0.2", "31", "10.1.0.2", "942"),
     NULL, ""},
    {"a port of a VRF has a rail's address", RAILS "ip link add blue up type vrf table 10\nnic ib9 infiniband master blue\n"
     "ip address add 172.16.34.1/32 dev ib9\n", NULL, "info foreign-nic-answers ib9"},
    {"gateway: a configured one in no subnet of the rail", RAILS "config [interface ib1] gateway=10.0.0.1\n", NULL,
     "warning gateway-missing ib1"},
    {"gateway: one file for all hosts, and this is the router", RAILS "config [interface ib*] gateway=172.16.34.1\n", NULL,
     "info gateway-missing ib0\ninfo gateway-missing ib1"},
    {"gateway: the same, but remote= has no way", RAILS "config [interface ib1] gateway=172.16.34.1\nconfig [interface ib1] remote=10.0.0.0/8\n", NULL,
     "warning gateway-missing ib1"},
    /* clang-format on */
};

static int compare_lines(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *write_findings(const GPtrArray *findings)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < findings->len; i++) {
        const IbhFinding *finding = g_ptr_array_index(findings, i);
        g_autofree char *ifaces = NULL;

        assert_true(finding->message && *finding->message);
        g_ptr_array_add(finding->ifaces, NULL);
        ifaces = g_strjoinv("+", (char **)finding->ifaces->pdata);
        g_ptr_array_remove_index(finding->ifaces, finding->ifaces->len - 1);
        g_ptr_array_add(lines,
                        g_strdup_printf("%s %s %s", ibh_severity_name(finding->severity), finding->code, ifaces));
    }
    g_ptr_array_sort(lines, compare_lines);
    g_ptr_array_add(lines, NULL);
    return g_strjoinv("\n", (char **)lines->pdata);
}

static void test_case(void **state)
{
    const Case *cas = *state;
    g_auto(World) world = look(cas->world, cas->answer);
    g_autofree char *found = write_findings(world.findings);

    assert_string_equal(found, cas->expected);
    assert_int_equal(!ibh_findings_worst(world.findings, NULL),
                     !strstr(cas->expected, "error") && !strstr(cas->expected, "warning"));
}

/* ---- what is said -------------------------------------------------------------------------------------- */

static const IbhFinding *find_code(const World *world, const char *code)
{
    IBH_EACH_POINTER (const IbhFinding, finding, world->findings) {
        if (g_str_equal(finding->code, code))
            return finding;
    }
    fail_msg("no %s", code);
    return NULL;
}

static void check_said(const char *text, const char *const *parts)
{
    for (; *parts; parts++) {
        if (!strstr(text, *parts))
            fail_msg("no “%s” in “%s”", *parts, text);
    }
}

#define SAID(text, ...) check_said(text, (const char *const[]){__VA_ARGS__, NULL})

#define ASTRAY                                                                                                         \
    RAILS "ip rule add priority 1500 from 172.16.34.2 lookup 52\nip route add 172.16.0.0/16 dev ib0 table 52\n"

static void test_fixes(void **state)
{
    g_auto(World) missing = look(HOST RAIL0, NULL);
    g_auto(World) stale = look(RAILS RULE("172.16.34.7", "942"), NULL);
    g_auto(World) values = look(RAILS "config [interface ib1] arp=strict\n", NULL);
    g_auto(World) rule = look(ASTRAY, NULL);
    g_auto(World) daemon =
        look(RAILS "ip rule add priority 1500 from 172.16.34.2 lookup 52 protocol 186\nip route add 172.16.0.0/16 "
                   "dev ib0 table 52\n",
             NULL);
    g_auto(World) single = look(IB0 IB1 "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/32 dev ib1\n"
                                        "config [interface ib*] manage=yes\ndo apply\n",
                                NULL);
    g_auto(World) longer =
        look(IB0 IB1 "nic ib2 infiniband " RIGHT "\nip address add 172.16.34.1/16 dev ib0\n"
                     "ip address add 172.16.34.2/24 dev ib1\nip address add 172.16.34.3/24 dev ib2\n",
             NULL);
    g_auto(World) meant = look(RAILS "config [interface ibs1] manage=no\n", NULL);
    g_auto(World) begins_like_main = /* 254 */
        look(RAILS
             "ip rule add priority 1500 from 172.16.34.2 lookup 2541\nip route add 172.16.0.0/16 dev ib0 table 2541\n",
             NULL);
    g_auto(World) lone_lease =
        look(LEASES6 LEASED0 "ip route add fd00:16::/64 dev ib0 protocol ra metric 1024\n", NULL);
    g_auto(World) learned =
        look("nic ib0 infiniband rdma mlx5_0/1 forwarding6=1 " RIGHT "\n" IB1 ADDRESSES6 RAIL60 RAIL61
             "ip rule add priority 1000 from fd00:98::/64 lookup main suppress_prefixlength 0\n" LEARNED("fd00:16::77"),
             NULL);
    g_auto(World) hidden = look(ASTRAY "ip rule add priority 1600 from 172.16.34.2 unreachable\n", NULL);
    g_auto(World) target = look(ASTRAY "nic eth5\nip address add 192.168.5.5/24 dev eth5\n"
                                       "ip rule add priority 1400 from 192.168.5.5 goto 1500\n"
                                       "ip rule add priority 1450 from 192.168.5.5 unreachable\n",
                                NULL);

    (void)state;
    assert_string_equal(find_code(&missing, "rule-missing")->fix, "sudo ib-hook --apply");
    assert_string_equal(find_code(&stale, "stale")->fix, "sudo ib-hook --apply");
    assert_string_equal(find_code(&values, "sysctl-wrong")->fix, "sudo ib-hook --apply");
    assert_string_equal(find_code(&rule, "foreign-rule")->fix,
                        "sudo ip -4 rule del priority 1500 from 172.16.34.2 lookup 52 protocol boot");
    assert_string_equal(find_code(&begins_like_main, "foreign-rule")->fix,
                        "sudo ip -4 rule del priority 1500 from 172.16.34.2 lookup 2541 protocol boot");
    assert_null(find_code(&daemon, "foreign-rule")->fix);
    assert_null(find_code(&target, "foreign-rule")->fix); /* without its target, the goto would do nothing */
    assert_non_null(find_code(&daemon, "foreign-rule")->advice);
    SAID(find_code(&meant, "section-unmatched")->message, "no interface is called ibs1",
         "nearest name that exists is ib1");
    SAID(find_code(&longer, "prefix-differs")->advice, "give all of them", "/24 as far as");
    assert_string_equal(find_code(&single, "address-unusable")->advice,
                        "give it the prefix of the subnet: 172.16.34.2/16");
    SAID(find_code(&lone_lease, "gateway-missing")->message, "none of its addresses has a subnet, and no route leads");
    assert_string_equal(find_code(&learned, "foreign-route")->fix, "sudo ip -6 route flush cache fd00:16::77");
    SAID(find_code(&learned, "foreign-route")->message,
         "fd00:16::34:2 to fd00:16::77 leaves through ib0: cached route");
    SAID(find_code(&hidden, "foreign-rule")->fix, "sudo ip -4 rule del priority 1500 ",
         " && sudo ip -4 rule del priority 1600 ");
}

/* What else the object does is worth a look, and no command. */
static void test_harm(void **state)
{
    static const struct {
        const char *more, *harmed;
    } cases[] = {
        {"ip rule add priority 100 from 172.16.34.2 lookup 200\nip route add 172.16.0.0/16 dev ib0 table 200\n"
         "ip route add 10.50.0.0/16 via 172.16.16.1 dev ib1 table 200\n",
         "172.16.34.2 to 10.50.0.0/16 leaves through ib1 via 172.16.16.1"},
        {"nic eth5\nip address add 172.16.34.55/32 dev eth5\nip rule add priority 100 from 172.16.34.0/24 lookup 200\n"
         "ip route add 172.16.0.0/16 dev ib0 table 200\nip route add 10.60.0.0/16 dev eth5 table 200\n",
         "10.60.0.0/16 leaves through eth5"},
        {"nic eth5\nip address add 192.168.5.5/24 dev eth5\nip route add 172.16.20.0/24 via 172.16.34.1 dev ib0 "
         "protocol static\nip rule add priority 100 from 192.168.5.5 to 172.16.0.0/16 lookup 200\n"
         "ip route add throw 172.16.20.0/24 table 200\nip route add 172.16.0.0/16 dev eth5 table 200\n",
         NULL},
        {"nic eth5 forwarding=1\nip rule add priority 100 from 172.16.34.0/24 lookup 200\n"
         "ip route add 172.16.0.0/16 dev ib0 table 200\n",
         "it may also route packets that this host forwards"},
        {"nic eth5 forwarding=1\nip rule add priority 100 from 172.16.34.2 lookup 200\n"
         "ip route add 172.16.0.0/16 dev ib0 table 200\n",
         NULL},
        {"nic eth5 forwarding6=1\nip rule add priority 100 from 172.16.34.0/24 lookup 200\n"
         "ip route add 172.16.0.0/16 dev ib0 table 200\n",
         NULL},
        {"nic eth5 forwarding=1\nip rule add priority 100 lookup 200\nip route add 172.16.20.0/24 dev ib0 table 200\n"
         "ip route add 10.60.0.0/16 dev eth5 table 200\n",
         "find out what needs it: it may also route packets"},
        {"nic eth5 forwarding=1\nip route add 172.16.20.0/24 dev ib0 table 942\n", NULL},
        {"ip rule add priority 100 from 172.16.34.2 lookup 200\nip route add 172.16.20.0/24 dev ib0 table 200\n"
         "ip route add 172.16.0.0/16 dev ib1 table 200 mtu 1500\n",
         "because of it, 172.16.34.2 has mtu 1500"},
        {"ip rule add priority 100 from 172.16.34.2 lookup 200\n"
         "ip route add 172.16.0.0/16 dev ib0 table 200 mtu 1500 advmss 1400\n",
         "because of it, 172.16.34.2 has mtu 1500 advmss 1400"},
        {"nic eth5\nip address add 172.16.34.55/32 dev eth5\nip rule add priority 100 from 172.16.34.0/24 lookup 200\n"
         "ip route add 172.16.0.0/16 dev ib0 table 200\nip route add 10.60.0.0/16 dev eth5\n"
         "ip route add 10.60.0.0/16 dev eth5 table 200 mtu 1400\n",
         "because of it, 172.16.34.1 to 10.60.0.0/16 has mtu 1400"},
        {"ip route add 172.16.40.0/24 dev ib1\n",
         "because of it, traffic without a source address to 172.16.40.0/24 leaves through ib1, too"},
        {"ip link add br9 up type bridge\nip rule add priority 100 lookup 200\n"
         "ip route add 172.16.40.0/24 dev br9 table 200\nip route add 10.60.0.0/16 dev br9 table 200\n",
         NULL},
        {"ip rule add priority 100 from 172.16.34.2 to 172.16.20.0/24 lookup main\n"
         "ip rule add priority 90 from 172.16.34.2 to 172.16.16.0/20 lookup main\n",
         NULL},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strconcat(RAILS, cases[i].more, NULL);
        g_auto(World) world = look(text, NULL);
        const IbhFinding *finding = ibh_findings_worst(world.findings, NULL);

        assert_non_null(finding);
        if (cases[i].harmed) {
            assert_null(finding->fix);
            SAID(finding->advice, cases[i].harmed);
        } else {
            SAID(finding->fix, "sudo ip -4 ", " del ");
            assert_null(strstr(finding->fix, "254"));
        }
    }
}

/* A NIC that stops answering ARP for others cuts no guest of this host. */
static void test_proxies(void **state)
{
#define PROXY(own)                                                                                                     \
    IB0 "nic ib1 infiniband rdma mlx5_1/1 forwarding=1 " own RIGHT "\n" ADDRESSES RAIL0 RAIL1 "nic cali1\n"
    g_auto(World) plain = look(PROXY("proxy_arp=1 "), NULL);
    g_auto(World) pods = look(PROXY("proxy_arp=1 ") "ip route add 172.16.77.0/26 dev cali1 protocol static\n"
                                                    "ip route add 172.16.78.5/32 dev cali1 protocol static\n"
                                                    "ip route add 10.0.0.77/32 dev cali1 protocol static\n"
                                                    "ip route add 10.1.0.0/16 dev cali1 protocol static\n",
                              NULL);
    g_auto(World) containers = look(
        PROXY("proxy_arp=1 ") "ip link add docker0 up type bridge\nip address add 10.88.0.1/16 dev docker0\n", NULL);

    (void)state;
    assert_null(find_code(&containers, "proxy-arp")->fix);
    SAID(find_code(&containers, "proxy-arp")->advice,
         "if no peer needs it to reach other networks behind this host, such as 10.88.0.0/16: sudo sysctl -w "
         "net/ipv4/conf/ib1/proxy_arp=0");
    assert_string_equal(find_code(&plain, "proxy-arp")->fix, "sudo sysctl -w net/ipv4/conf/ib1/proxy_arp=0");
    assert_null(find_code(&pods, "proxy-arp")->fix);
    SAID(find_code(&pods, "proxy-arp")->advice,
         "(10.0.0.77 through cali1, 172.16.77.0/26 through cali1, 172.16.78.5 through cali1)",
         "sudo ip neigh add proxy ADDRESS dev ib1", "net/ipv4/conf/ib1/proxy_arp=0");
}

/* The value of all is not one NIC's: where both are set, both are named, each with its own step. */
static void test_proxy_of_all(void **state)
{
    g_auto(World) world = look(PROXY("proxy_arp=1 "), NULL);
    g_autoptr(GArray) missed = ibh_missing_list(world.rails, world.config, FALSE);
    const IbhFinding *all, *own;

    (void)state;
    world.cas->facts->proxy_arp = TRUE;
    g_ptr_array_unref(world.findings);
    world.findings = ibh_findings_new();
    ibh_check_judge(world.check, world.plan, missed, world.findings);
    all = ibh_findings_find(world.findings, "proxy-arp", NULL, "net.ipv4.conf.all.proxy_arp");
    own = ibh_findings_find(world.findings, "proxy-arp", NULL, "net.ipv4.conf.ib1.proxy_arp");
    assert_non_null(all);
    assert_null(all->fix);
    SAID(all->advice, "sudo sysctl -w net.ipv4.conf.all.proxy_arp=0");
    assert_non_null(own);
    assert_non_null(own->fix);
}

/* A script may also lead an address beyond its subnets, where ib-hook does not: these lines are not to be deleted. */
static void test_script(void **state)
{
    static const char line[] = "ip rule add from 172.16.34.2 lookup 52\n";
    g_auto(World) world = look(HOST RAIL0 "ip rule add priority 1500 from 172.16.34.2 lookup 52\n"
                                          "ip route add 172.16.0.0/16 dev ib1 table 52\n"
                                          "ip route add default via 172.16.0.1 dev ib1 table 52\n",
                               NULL);
    g_autoptr(GArray) missed = ibh_missing_list(world.rails, world.config, FALSE);
    const IbhScript script = {.path = g_strdup("/etc/rc.local"), .text = g_strdup(line), .is_public = TRUE};

    (void)state;
    g_array_append_val(world.cas->facts->scripts, script);
    g_ptr_array_unref(world.findings);
    world.findings = ibh_findings_new();
    ibh_check_judge(world.check, world.plan, missed, world.findings);
    assert_findings_speak(world.findings);
    SAID(find_code(&world, "legacy-script")->advice,
         "delete the lines that lead these NICs' addresses to their own subnets");
}

/* An address that another NIC has now is reachable, even if the NIC that had it is still there. */
static void test_moved_address(void **state)
{
    g_auto(World) world = look(IB0 IB1 "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/16 dev ib0\n"
                                       "config [interface ib*] manage=yes\n",
                               NULL);
    g_autoptr(GArray) missed = IBH_NEW_ARRAY(IbhKnownRail);
    IbhKnownRail known = {.iface = "ib1", .hardware = "-", .n_addresses = 1, .why = IBH_LACKS_ADDRESS};

    (void)state;
    known.link = ibh_snapshot_link_by_name(world.rails->snapshot, "ib1");
    assert_true(ibh_ip_parse("172.16.34.2", &known.addresses[0]));
    g_array_append_val(missed, known);
    g_ptr_array_unref(world.findings);
    world.findings = ibh_findings_new();
    ibh_check_judge(world.check, world.plan, missed, world.findings);
    SAID(find_code(&world, "no-address")->message, "a rail is missing: it has a link, but no configured address");
}

/* remote= may name a network before a wider one: the check asks about each packet once. */
static void test_nested_zones(void **state)
{
    g_auto(World) world =
        look(RAILS "config [interface ib1] remote=10.1.0.0/24 via 172.16.0.1, 10.0.0.0/8 via 172.16.0.1\n", NULL);
    const GArray *questions = world.check->questions;

    (void)state;
    IBH_EACH (const IbhQuestion, question, questions) {
        IBH_EACH (const IbhQuestion, other, questions) {
            if (other < question && other->kind == question->kind && other->nic == question->nic)
                assert_false(ibh_ip_equal(&other->lookup.from, &question->lookup.from) &&
                             ibh_ip_equal(&other->lookup.to, &question->lookup.to) &&
                             other->lookup.bound == question->lookup.bound);
        }
    }
}

static void test_messages(void **state)
{
    g_auto(World) missing = look(HOST RAIL0, NULL);
    g_auto(World) other = look(ASTRAY, NULL);
    g_auto(World) gateways = look(RAILS "ip rule add priority 1500 from 172.16.34.2 lookup 52\n"
                                        "ip route add 172.16.0.0/16 nexthop via 172.16.1.1 dev ib0 "
                                        "nexthop via 172.16.1.2 dev ib0 table 52\n",
                                  NULL);
    g_auto(World) several = look(RAILS "ip rule add priority 1500 from 172.16.34.2 lookup 52\n"
                                       "ip route add 172.16.0.0/16 nexthop dev ib0 nexthop dev ib1 table 52\n",
                                 NULL);
    g_auto(World) one_dead = look(RAILS "nic eth5\nip address add 10.5.0.1/24 dev eth5\n"
                                        "ip rule add priority 1500 from 172.16.34.2 lookup 52\n"
                                        "ip route add 172.16.0.0/16 nexthop dev eth5 nexthop dev ib0 table 52\n"
                                        "ip link set eth5 carrier off\nip link set eth5 down\n",
                                  NULL);
    g_auto(World) unknown = look(RAILS, leaves_by_ib0);
    g_auto(World) held = look("nic ib0 infiniband rdma mlx5_0/1 no-carrier " RIGHT "\n" IB1 ADDRESSES RAIL0
                              "hold ib1\ndo apply respect-holds\n",
                              NULL);
    g_auto(World) kept = look(HOST RAIL0 RAIL1 "keep ib1\ndo apply respect-holds\n", NULL);
    g_auto(World) kept_astray = look(HOST RAIL0 RULE1 "keep ib1\ndo apply respect-holds\n", NULL);
    g_auto(World) all_held = look(HOST "hold ib0\nhold ib1\ndo apply respect-holds\n", NULL);
    g_auto(World) beside_held =
        look(HOST "nic ib2 infiniband rdma mlx5_2/1 " RIGHT "\n"
                  "ip address add 172.16.34.3/16 dev ib2\n" RAIL0 RULE1 "hold ib2\ndo apply respect-holds\n",
             NULL);
    g_auto(World) held_and_kept = look(HOST "hold ib0\nkeep ib1\ndo apply respect-holds\n", NULL);
    g_auto(World) mtu6 = look(MTU6(ADDRESSES6 RAIL60 RAIL61), NULL);
    g_auto(World) plain = look(HOST, NULL);
    g_auto(World) lucky = look(HOST ROUTE0 RAIL1 "ip rule add priority 1940 from 172.16.34.1 to 172.16.0.0/16 lookup "
                                                 "main suppress_prefixlength 16" OURS,
                               NULL);
    g_auto(World) bare = look(IB0 IB1 ADDRESSES "ip route add default via 172.16.0.1 dev ib0 protocol static\n", NULL);
    g_auto(World) two_families = look(IB0 IB1 ADDRESSES ADDRESSES6 RAIL0 ROUTE1 RAIL60 RAIL61
                                      "ip -6 route add default via fe80::1 dev ib1 protocol ra\n",
                                      NULL);
    g_auto(World) spread = look(RAILS "config [defaults] main=spread\n", NULL);
    g_auto(World) strict = look(RAILS "config [defaults] arp=strict\n", NULL);
    g_auto(World) off = look(RAILS "saved arp of ib0\nsaved arp of ib1\nconfig [interface *] manage=no\n", NULL);

    (void)state;
    SAID(find_code(&missing, "rule-missing")->message, "172.16.34.2 leaves through ib0: not routed yet");
    /* NICs whose packets go as they should are no error; nor are those that have no source. */
    SAID(ibh_finding_text(find_code(&plain, "rule-missing"), "ib0"),
         "172.16.34.1 leaves through ib0 by chance: not routed yet");
    assert_int_equal(ibh_finding_severity_for(find_code(&plain, "rule-missing"), "ib0"), IBH_WARNING);
    assert_int_equal(ibh_finding_severity_for(find_code(&plain, "rule-missing"), "ib1"), IBH_ERROR);
    SAID(ibh_finding_text(find_code(&bare, "rule-missing"), "ib0"),
         "172.16.34.1 still lacks its own default: not routed yet");
    SAID(find_code(&lucky, "rule-missing")->message, "172.16.34.1 leaves through ib0: ib-hook's rule 1941 is missing");
    assert_int_equal(find_code(&lucky, "rule-missing")->severity, IBH_WARNING);
    /* IPv4 lacks a rule; the main table's new route is of IPv6, so it is not why. */
    SAID(find_code(&two_families, "rule-missing")->message, "172.16.34.2 leaves through ib0: ib-hook's rule ");
    SAID(find_code(&spread, "rule-missing")->message,
         "traffic without a source address to 172.16.0.0/16 leaves through ib0: ib-hook's rule 4940 lookup main is "
         "missing (3 changes)");
    assert_int_equal(find_code(&spread, "rule-missing")->severity, IBH_WARNING);
    SAID(find_code(&strict, "sysctl-wrong")->message, "it answers ARP for other NICs' addresses, too: arp_ignore=1");
    SAID(find_code(&off, "sysctl-wrong")->message,
         "it does not have the value that it should: arp_ignore=1 instead of 0");
    SAID(find_code(&other, "foreign-rule")->message,
         "172.16.34.2 leaves through ib0: rule 1500 (from 172.16.34.2/32 lookup 52)");
    assert_string_equal(find_code(&other, "foreign-rule")->owner, "rule 1500: from 172.16.34.2/32 lookup 52");
    SAID(find_code(&gateways, "foreign-rule")->message, "172.16.34.2 leaves through ib0: rule 1500");
    SAID(find_code(&several, "foreign-rule")->message, "172.16.34.2 leaves through several NICs: rule 1500");
    SAID(find_code(&one_dead, "foreign-rule")->message, "172.16.34.2 leaves through ib0: rule 1500");
    SAID(find_code(&unknown, "not-known")->message, "through ib0");
    SAID(find_code(&held, "held")->message, "undone");
    SAID(find_code(&held, "held")->fix, "--iface ib1", "--apply");
    assert_string_equal(find_code(&beside_held, "route-missing")->fix, "sudo ib-hook --apply --iface ib1");
    SAID(find_code(&kept, "held")->message, "left as it was before an --apply that was not confirmed");
    assert_null(strstr(find_code(&kept, "held")->message, "no rail"));
    SAID(find_code(&kept_astray, "route-missing")->message,
         "172.16.34.2 leaves through ib0: ib-hook's route to 172.16.0.0/16 in table 942 is missing");
    assert_null(find_code(&kept_astray, "route-missing")->fix); /* it would put the configuration in force */
    SAID(find_code(&kept, "held")->advice, "correct the configuration, then: sudo ib-hook --apply --confirm 60");
    assert_string_equal(find_code(&all_held, "held")->fix, "sudo ib-hook --apply");
    assert_string_equal(find_code(&held_and_kept, "held")->fix, "sudo ib-hook --apply --iface ib0");
    assert_int_equal(find_code(&held_and_kept, "held")->ifaces->len, 1);
    assert_null(find_code(&mtu6, "mode-mtu")->fix);
    SAID(find_code(&mtu6, "mode-mtu")->advice, "carries 9000 bytes: sudo sysctl -w net/ipv6/conf/ib1/mtu=9000;");
}

static void test_is_ok(void **state)
{
    g_auto(World) warned = look(HOST RAIL0 "hold ib1\ndo apply respect-holds\n", NULL);

    (void)state;
    assert_int_equal(ibh_findings_worst(warned.findings, "ib1")->severity, IBH_WARNING);
    assert_null(ibh_findings_worst(warned.findings, "ib0"));
}

/* Only what NetworkManager prunes of a family that the rail serves is worth a word. */
static void test_manager_prunes(void **state)
{
    static const struct {
        const char *world;
        gboolean prunes4, prunes6;
        const char *expected;
    } cases[] = {
        {RAILS, FALSE, FALSE, ""},
        {RAILS, TRUE, FALSE, "warning manager-removes-foreign ib1"},
        {RAILS, FALSE, TRUE, ""},
        {BOTH, TRUE, TRUE, "warning manager-removes-foreign ib1"},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(World) world = look(cases[i].world, NULL);
        IbhManager manager = {.ifindex = 3,
                              .name = "NetworkManager",
                              .connection = g_strdup("rail 1"),
                              .prunes4 = cases[i].prunes4,
                              .prunes6 = cases[i].prunes6};
        g_autoptr(GArray) missed = ibh_missing_list(world.rails, world.config, FALSE);
        g_autofree char *found = NULL;

        g_array_append_val(world.cas->facts->managers, manager);
        g_ptr_array_unref(world.findings);
        world.findings = ibh_findings_new();
        ibh_check_judge(world.check, world.plan, missed, world.findings);
        ibh_rails_judge_sections(world.rails, world.config, missed, world.findings);
        found = write_findings(world.findings);
        assert_string_equal(found, cases[i].expected);
        if (found[0])
            assert_true(g_str_has_prefix(remedy_of(g_ptr_array_index(world.findings, 0)),
                                         "sudo nmcli connection modify 'rail 1' ipv"));
    }
}

/* A port of a bond has a netdev, though no candidate; a representor is the netdev of another function. */
static void test_ports_without_rails(void **state)
{
    static const char *const ports[] = {"mlx5_0/1", "mlx5_1/1", "mlx5_2/1", "mlx5_3/1"};
    g_auto(World) world = look("ip link add bond0 up type bond\n" IB0
                               "nic ib1 infiniband rdma mlx5_1/1 master bond0\nnic pf0vf0 rdma mlx5_2/1 representor\n",
                               NULL);
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    g_autoptr(IbhFabric) fabric = ibh_fabric_new();

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(ports); i++) {
        IbhPort port = {0};

        g_strlcpy(port.name, ports[i], sizeof port.name);
        g_array_append_val(fabric->ports, port);
    }
    ibh_fabric_judge_count(fabric, world.rails, 4, findings);
    assert_int_equal(findings->len, 1);
    SAID(((const IbhFinding *)findings->pdata[0])->message, "mlx5_0/1 (ib0: it has no address)",
         "mlx5_1/1 (ib1: a port of bond0", "mlx5_2/1 (no netdev here)", "mlx5_3/1 (no netdev here)");
}

int main(void)
{
    static const struct CMUnitTest OTHERS[] = {
        cmocka_unit_test(test_fixes),        cmocka_unit_test(test_harm),
        cmocka_unit_test(test_messages),     cmocka_unit_test(test_moved_address),
        cmocka_unit_test(test_is_ok),        cmocka_unit_test(test_manager_prunes),
        cmocka_unit_test(test_proxies),      cmocka_unit_test(test_proxy_of_all),
        cmocka_unit_test(test_nested_zones), cmocka_unit_test(test_ports_without_rails),
        cmocka_unit_test(test_script),
    };
    struct CMUnitTest tests[G_N_ELEMENTS(CASES) + G_N_ELEMENTS(OTHERS)] = {0};

    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        tests[i].name = CASES[i].name;
        tests[i].test_func = test_case;
        tests[i].initial_state = (void *)(guintptr)&CASES[i];
    }
    memcpy(tests + G_N_ELEMENTS(CASES), OTHERS, sizeof OTHERS);
    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
