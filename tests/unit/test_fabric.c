/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts as trees below tests/unit/fabric, and faults in them: every one is named, and nothing else. Read and judged by
 * the real thing, which is compiled together with the test because it is no part of the archive that the tests link.
 */
#include "fabric_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "speaks.h"
#include "fabric_tree.h"

/* ---- judging ---- */

static GPtrArray *judge(const char *const *only)
{
    GPtrArray *findings = ibh_findings_new();
    g_autoptr(IbhFabric) fabric = NULL;
    g_auto(IbhTree) tree = {0};

    fabric = read_host(&tree, root);
    ibh_fabric_judge(fabric, only, findings);
    assert_findings_speak(findings);
    return findings;
}

static char *describe_finding(const IbhFinding *finding)
{
    g_autoptr(GString) ifaces = g_string_new(finding->ifaces->len ? NULL : "-");

    IBH_EACH_POINTER (const char, iface, finding->ifaces)
        g_string_append_printf(ifaces, "%s%s", ifaces->len ? "," : "", iface);
    return g_strdup_printf("%s %s %s", ibh_severity_name(finding->severity), finding->code, ifaces->str);
}

/* "error sm-missing ib0, info memlock-low -"; "nothing" */
static char *describe_findings(const GPtrArray *findings)
{
    GString *text = g_string_new(findings->len ? NULL : "nothing");

    for (guint i = 0; i < findings->len; i++) {
        g_autofree char *one = describe_finding(g_ptr_array_index(findings, i));

        g_string_append_printf(text, "%s%s", i ? ", " : "", one);
    }
    return g_string_free(text, FALSE);
}

static void expect(const char *const *only, const char *expected)
{
    g_autoptr(GPtrArray) findings = judge(only);
    g_autofree char *found = describe_findings(findings);

    assert_string_equal(found, expected);
}

/* ---- the table of faults ---- */

typedef struct {
    char *what; /* "HOST: WHAT" */
    const char *expected;
    GPtrArray *parts; /* const char *: "fix PART", "say PART" */
} Fault;

static gboolean is_said(const GPtrArray *findings, const char *part)
{
    const char *wanted = part + strlen("fix ");

    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (strstr(part[0] == 'f' ? remedy_of(finding) : finding->message, wanted))
            return TRUE;
    }
    return FALSE;
}

/* Whether it is named, and nothing else; then it is forgotten. */
static gboolean is_found(Fault *fault)
{
    g_autoptr(GPtrArray) findings = judge(NULL);
    g_autofree char *found = describe_findings(findings);
    gboolean right = g_str_equal(found, fault->expected);

    IBH_EACH_POINTER (const char, part, fault->parts) {
        if (is_said(findings, part))
            continue;
        print_error("not said: %s\n", part);
        right = FALSE;
    }
    if (!right)
        print_error("%s\n  found %s\n", fault->what, found);
    g_ptr_array_set_size(fault->parts, 0);
    g_clear_pointer(&fault->what, g_free);
    remove_root(NULL);
    make_root(NULL);
    return right;
}

static void begin(Fault *fault, const char *line)
{
    g_autofree char *host = g_strndup(line, strcspn(line, ":"));

    put_host(host);
    fault->what = g_strdup(line);
    fault->expected = "nothing";
}

static void take_line(Fault *fault, const char *line)
{
    g_auto(GStrv) removed = g_str_has_prefix(line, "remove ") ? g_strsplit(line + strlen("remove "), " | ", -1) : NULL;

    for (char **path = removed; path && *path; path++)
        take_away(*path);
    if (g_str_has_prefix(line, "expect "))
        fault->expected = line + strlen("expect ");
    else if (g_str_has_prefix(line, "fix ") || g_str_has_prefix(line, "say "))
        g_ptr_array_add(fault->parts, (gpointer)(guintptr)line);
    else if (!removed)
        put_line(line);
}

static void test_faults(void **state)
{
    g_auto(GStrv) lines = read_fixture("faults");
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    Fault fault = {.parts = parts};
    guint all = 0, wrong = 0;

    (void)state;
    for (guint i = 0; lines[i]; i++) {
        if (g_str_has_prefix(lines[i], "  "))
            take_line(&fault, lines[i] + 2);
        else if (lines[i][0] && lines[i][0] != '#')
            begin(&fault, lines[i]);
        else if (fault.what) {
            wrong += !is_found(&fault);
            all++;
        }
    }
    assert_true(all > 60);
    assert_int_equal(wrong, 0);
}

static void test_right_hosts_are_silent(void **state)
{
    g_autoptr(GPtrArray) hosts = list_hosts();

    (void)state;
    IBH_EACH_POINTER (const char, host, hosts) {
        put_host(host);
        expect(NULL, "nothing");
        remove_root(NULL);
        make_root(NULL);
    }
    assert_true(hosts->len >= 10);
}

/* ---- asked by name ---- */

#define ONLY(...) ((const char *const[]){__VA_ARGS__, NULL})

static void break_both_ports(void)
{
    put_host("mlx5-infiniband");
    put("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
    put("sys/class/infiniband/mlx5_1/ports/1/sm_lid", "0x0");
    put("proc/self/limits", "Max locked memory  65536  65536  bytes");
}

static void test_by_name(void **state)
{
    (void)state;
    break_both_ports();
    expect(NULL, "info memlock-low -, error port-not-active ib0, error sm-missing ib1");
    expect(ONLY("ib1"), "info memlock-low -, error sm-missing ib1");
    expect(ONLY("ib0"), "info memlock-low -, error port-not-active ib0");
    expect(ONLY("eth7"), "info memlock-low -");
}

/* ---- MTU: the majority is right ---- */

static const char *subnet_of_mtus = "172.16.0.0/16";

/* Rails of one subnet, with these MTUs (negative: without a link); returns "ib0 fix, ib2 fix …", which the caller
 * frees. */
static char *judge_mtus(const int *mtus)
{
    g_autoptr(IbhFabric) fabric = ibh_fabric_new();
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    GString *found = g_string_new(NULL);
    IbhPrefix subnet;

    assert_true(ibh_prefix_parse(subnet_of_mtus, &subnet));
    for (int n = 0; mtus[n]; n++) {
        IbhPortNic nic = {.type = 1, .up = TRUE, .usable = mtus[n] > 0, .mtu = ABS(mtus[n]), .pkey = IBH_UNKNOWN};

        g_snprintf(nic.iface, sizeof nic.iface, "ib%d", n);
        nic.subnets = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
        g_array_append_val(nic.subnets, subnet);
        g_array_append_val(fabric->nics, nic);
    }
    use_subnets(fabric);
    ibh_fabric_judge(fabric, NULL, findings);
    IBH_EACH_POINTER (const IbhFinding, finding, findings)
        g_string_append_printf(found, "%s%s: %s", found->len ? ", " : "", first_iface(finding), remedy_of(finding));
    return g_string_free(found, FALSE);
}

static void expect_mtus(const char *expected, const int *mtus)
{
    g_autofree char *found = judge_mtus(mtus);

    assert_string_equal(found, expected);
}

#define MTUS(...) ((const int[]){__VA_ARGS__, 0})

static void test_majority_of_mtus(void **state)
{
    (void)state;
    expect_mtus("", MTUS(2044));
    expect_mtus("", MTUS(2044, 2044));
    expect_mtus("", MTUS(2044, -4092)); /* not that of the fabric before it joins */
#define MOST "make them like most of the rails, but first the links below them, if there are any: "
    expect_mtus("ib1: " MOST "sudo ip link set ib1 mtu 2044", MTUS(2044, 1400, 2044, 2044, 2044, 2044, 2044, 2044));
    expect_mtus("ib0: " MOST "sudo ip link set ib0 mtu 2044", MTUS(1400, 2044, 2044));
    expect_mtus("ib0: " MOST "sudo ip link set ib0 mtu 2044; sudo ip link set ib3 mtu 2044",
                MTUS(1400, 2044, 2044, 4092, 2044));
    /* No majority: which of them is right only the fabric knows, and the smallest one works with all. */
#define ALIKE "make them alike, as the fabric has it; the smallest one fits all: "
#define RAISED "make them alike, as the fabric has it; IPv6 needs 1280 or more: "
    expect_mtus("ib0: " ALIKE "sudo ip link set ib0 mtu 1400", MTUS(2044, 1400));
    expect_mtus("ib0: " ALIKE "sudo ip link set ib0 mtu 1400; sudo ip link set ib2 mtu 1400", MTUS(2044, 1400, 4092));
    expect_mtus("ib0: " ALIKE "sudo ip link set ib0 mtu 1200", MTUS(2044, 1200));
    /* With IPv6 none gets less than it needs, whatever the majority has. */
    subnet_of_mtus = "fd00:16::/64";
    expect_mtus("ib0: " RAISED "sudo ip link set ib1 mtu 2044", MTUS(2044, 1200));
    expect_mtus("ib0: " RAISED "sudo ip link set ib1 mtu 2044; sudo ip link set ib2 mtu 2044", MTUS(2044, 1200, 1200));
    expect_mtus("ib0: " ALIKE "sudo ip link set ib0 mtu 1280", MTUS(2044, 1280));
    subnet_of_mtus = "172.16.0.0/16";
}

/* A port without an address is somebody's business once he asks for it. */
static void test_unused_port_by_name(void **state)
{
    (void)state;
    put_host("mlx4-mixed");
    expect(ONLY("ens1d1"), "nothing"); /* it is down: its port is, too */
    put("sys/class/net/ens1d1/flags", "0x1003");
    expect(ONLY("ens1d1"), "error port-not-active ens1d1");
    expect(NULL, "nothing");
}

/* ---- trees that are not as they should be ---- */

/* Not /sys: its ports matter, whoever has their interfaces. */
static void test_ports_without_netdevs(void **state)
{
    (void)state;
    put("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand");
    put("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
    put("sys/class/infiniband/mlx5_0/ports/1/phys_state", "2: Polling");
    put("sys/class/infiniband/mlx5_1/ports/1/link_layer", "InfiniBand");
    put("sys/class/infiniband/mlx5_1/ports/1/state", "2: INIT");
    put("sys/class/infiniband/mlx5_1/ports/1/phys_state", "5: LinkUp");
    put("sys/class/infiniband/mlx5_1/ports/1/sm_lid", "0x0");
    put("sys/class/infiniband/mlx5_2/ports/1/link_layer", "Ethernet");
    put("sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN");
    put("sys/class/infiniband/mlx5_2/ports/1/phys_state", "3: Disabled");
    g_autofree char *sys = g_build_filename(root, "sys", NULL);
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    g_autoptr(GArray) links = g_array_new(FALSE, TRUE, sizeof(IbhLink));
    g_autoptr(IbhFabric) fabric = NULL;
    g_autofree char *found = NULL;
    g_auto(IbhTree) tree = ibh_tree_of(sys);

    assert_false(tree.complete);
    fabric = ibh_fabric_read(&tree, links, NULL);
    ibh_fabric_judge(fabric, NULL, findings);
    found = describe_findings(findings);
    assert_string_equal(found, "error port-not-active -, error sm-missing -");
}

static void test_nonsense(void **state)
{
    static const char *const ATTRIBUTES[] = {"state", "phys_state", "sm_lid", "link_layer", "pkeys/0", "gids/0"};
    static const char *const TEXTS[] = {"",           "\\n",           "-1",     "0x",   "99999999999999999999",
                                        "\\377\\376", "4294967296: X", "ACTIVE", "%s%n", "::::"};

    (void)state;
    put_host("mlx5-infiniband");
    for (gsize i = 0; i < G_N_ELEMENTS(ATTRIBUTES); i++) {
        g_autofree char *path = g_strconcat("sys/class/infiniband/mlx5_0/ports/1/", ATTRIBUTES[i], NULL);
        g_autofree char *full = g_build_filename(root, path, NULL), *right = NULL;

        assert_true(g_file_get_contents(full, &right, NULL, NULL));
        for (gsize j = 0; j < G_N_ELEMENTS(TEXTS); j++) {
            put(path, TEXTS[j]);
            expect(NULL, "nothing");
        }
        write_file(full, right);
    }
}

/* Names of devices and interfaces stand in commands for people to paste. */
static void test_strange_names(void **state)
{
    g_autoptr(GPtrArray) findings = NULL;

    (void)state;
    put_host("mlx5-infiniband");
    put("sys/class/infiniband/$(id)/ports/1/link_layer", "InfiniBand");
    put("sys/class/infiniband/$(id)/ports/1/state", "1: DOWN");
    put("sys/class/infiniband/$(id)/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001");
    put("sys/class/net/`id`/type", "32");
    put("sys/class/net/`id`/ifindex", "9");
    put("sys/class/net/`id`/flags", "0x1003");
    put("sys/class/net/`id`/address", "80:00:02:29:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:01");
    findings = judge(NULL);
    assert_int_equal(findings->len, 1);
    assert_non_null(strstr(remedy_of(findings->pdata[0]), "ibstat '$(id)' 1"));
    assert_string_equal(first_iface(findings->pdata[0]), "`id`");
}

/* In a table that is longer than what is read of it, the P_Key may be further on. */
static void test_long_pkey_table(void **state)
{
    (void)state;
    put_host("mlx5-infiniband");
    for (int i = 0; i < 300; i++) {
        g_autofree char *path = g_strdup_printf("sys/class/infiniband/mlx5_0/ports/1/pkeys/%d", i);

        put(path, "0x8005");
    }
    expect(NULL, "nothing");
    take_away("sys/class/infiniband/mlx5_0/ports/1/pkeys/200");
    expect(NULL, "nothing"); /* one file is missing */
    take_away("sys/class/infiniband/mlx5_0/ports/1/pkeys/201");
    expect(NULL, "error pkey-unknown ib0");
}

/* mlx5's table has 256 entries, rxe's 1,024; where addresses were deleted, it has holes of any size. */
static void test_long_gid_table(void **state)
{
    const char *port = "sys/class/infiniband/mlx5_0/ports/1";

    (void)state;
    put_host("mlx5-roce");
    for (int i = 2; i < 256; i++) {
        g_autofree char *gid = g_strdup_printf("%s/gids/%d", port, i),
                        *type = g_strdup_printf("%s/gid_attrs/types/%d", port, i);

        put(gid, "0000:0000:0000:0000:0000:0000:0000:0000");
        put(type, "RoCE v2");
    }
    expect(NULL, "error gid-missing ens5f0np0");
    put("sys/class/infiniband/mlx5_0/ports/1/gids/200", "0000:0000:0000:0000:0000:ffff:ac10:2201");
    put("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/200", "ens5f0np0");
    expect(NULL, "nothing");
}

/* ---- counters that grow ---- */

/* What stands in a file changes between both looks. */
static void look_twice_at(const char *host, const char *path, const char *first, const char *text, const char *expected)
{
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    g_autoptr(IbhFabric) fabric = NULL;
    g_autofree char *found = NULL;
    g_auto(IbhTree) tree = {0};

    put_host(host);
    if (first)
        put(path, first);
    fabric = read_host(&tree, root);
    put(path, text);
    ibh_fabric_read_again(&tree, fabric);
    ibh_fabric_judge(fabric, NULL, findings);
    assert_findings_speak(findings);
    found = describe_findings(findings);
    assert_string_equal(found, expected);
}

static void look_twice(const char *path, const char *first, const char *text, const char *expected)
{
    look_twice_at("mlx5-infiniband", path, first, text, expected);
}

static void test_what_changes_meanwhile(void **state)
{
#define PORT1 "sys/class/infiniband/mlx5_1/ports/1/"
    (void)state;
    look_twice(PORT1 "counters/symbol_error", NULL, "1", "warning port-errors ib1");
    look_twice(PORT1 "counters/port_rcv_errors", NULL, "4294967295", "warning port-errors ib1");
    look_twice(PORT1 "counters/port_xmit_discards", NULL, "1", "warning port-errors ib1");
    for (guint i = 0; i < IBH_N_COUNTERS; i++) {
        g_autofree char *path = g_strconcat(PORT1, ibh_counters[i], NULL);

        look_twice_at("mlx5-roce", path, "5", "6", "warning port-errors ens5f1np1");
    }
    look_twice(PORT1 "counters/link_downed", NULL, "0", "nothing"); /* it was 1: somebody cleared it */
    look_twice(PORT1 "counters/symbol_error", NULL, "", "nothing");
    look_twice(PORT1 "phys_state", NULL, "2: Polling", "nothing"); /* looked at once */
}

/* A subnet manager that hands over tells one port after the other. */
static void test_subnet_manager_changes(void **state)
{
    (void)state;
    put_host("mlx5-infiniband");
    put(PORT1 "sm_lid", "0x7");
    expect(NULL, "warning sm-differs ib0, warning sm-differs ib1");
    look_twice(PORT1 "sm_lid", "0x7", "0x7", "warning sm-differs ib0, warning sm-differs ib1");
    look_twice(PORT1 "sm_lid", "0x7", "0x1", "nothing");
    look_twice(PORT1 "sm_lid", NULL, "0x7", "nothing");
    look_twice(PORT1 "gids/0", NULL, "fec0:0000:0000:0001:248a:0703:00b0:1cff", "nothing");
}

/* ---- how near two PCI devices are ---- */

static void expect_near(IbhNearness expected, const char *a, const char *b)
{
    IbhPlace one = {.node = 0}, other = {.node = 0};

    g_strlcpy(one.path, a, sizeof one.path);
    g_strlcpy(other.path, b, sizeof other.path);
    assert_string_equal(ibh_nearness_name(ibh_place_compare(&one, &other)), ibh_nearness_name(expected));
    assert_string_equal(ibh_nearness_name(ibh_place_compare(&other, &one)), ibh_nearness_name(expected));
    one.node = IBH_UNKNOWN; /* the node decides only without a common bridge */
    assert_int_equal(ibh_place_compare(&one, &other), expected == IBH_SAME_NODE ? IBH_FAR : expected);
}

/* The host bridge may be below other devices: a PC has none, Hyper-V has those of ACPI, an Arm board a controller. */
static void test_places(void **state)
{
    static const char *const hosts[] = {"devices", "devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/47505500-0001",
                                        "devices/platform/soc/40000000.pcie"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(hosts); i++) {
        g_autofree char *near = g_strconcat(hosts[i], "/pci0102:00/0102:00:00.0/0102:01:00.0/0102:02:00.0", NULL),
                        *beside = g_strconcat(hosts[i], "/pci0102:00/0102:00:00.0/0102:01:00.0/0102:02:01.0", NULL),
                        *below_port = g_strconcat(hosts[i], "/pci0102:00/0102:00:00.0/0102:01:00.1", NULL),
                        *below_bridge = g_strconcat(hosts[i], "/pci0102:00/0102:00:01.0/0102:05:00.0", NULL),
                        *bare = g_strconcat(hosts[i], "/pci0102:00/0102:00:02.0", NULL),
                        *far = g_strconcat(hosts[i], "/pci0103:00/0103:00:00.0/0103:01:00.0", NULL);

        expect_near(IBH_SAME_SWITCH, near, beside);
        expect_near(IBH_SAME_ROOT_PORT, near, below_port);
        expect_near(IBH_SAME_BRIDGE, near, below_bridge);
        expect_near(IBH_SAME_BRIDGE, near, bare);
        expect_near(IBH_SAME_NODE, near, far);
        expect_near(IBH_SAME_NODE, bare, far);
    }
    expect_near(IBH_SAME_NODE, "", "");
    expect_near(IBH_SAME_NODE, "devices/platform/soc/a.rdma", "devices/platform/soc/b.rdma");
    expect_near(IBH_SAME_NODE, "devices/platform/pcie0/a", "devices/platform/pcie0/b");
    /* VMD has a host bridge of its own below an endpoint of the first. */
    expect_near(IBH_SAME_BRIDGE, "devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:01.0",
                "devices/pci0000:00/0000:00:01.0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults),           TEST(test_right_hosts_are_silent), TEST(test_by_name),
        TEST(test_majority_of_mtus), TEST(test_unused_port_by_name),    TEST(test_ports_without_netdevs),
        TEST(test_nonsense),         TEST(test_strange_names),          TEST(test_long_pkey_table),
        TEST(test_long_gid_table),   TEST(test_what_changes_meanwhile), TEST(test_subnet_manager_changes),
        TEST(test_places),
    };

    if (access("/dev/shm", W_OK) == 0) /* not the disk: tens of thousands of files come and go */
        g_setenv("TMPDIR", "/dev/shm", FALSE);
    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
