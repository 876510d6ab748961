/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts as trees below tests/unit/fabric, and faults in them: every one is named, and nothing else. Read and judged by
 * the real thing, which is compiled together with the test because it is no part of the archive that the tests link.
 *
 * Writes fabric-table.md beside the program.
 */
#include "host/tree.c"
#include "check/fabric_judge.h"

#include "host/sysfs.c"

#include "host/fabric_read.c"
#include "host/port_read.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "speaks.h"
#include "fabric_tree.h"

#include <glib/gstdio.h>

static const char *program;

/* ---- judging ---- */

static GPtrArray *judge(const char *const *only, GPtrArray *good)
{
    GPtrArray *findings = ibh_findings_new();
    g_autoptr(IbhFabric) fabric = NULL;
    g_auto(IbhTree) tree = {0};

    ibh_tree_open(&tree, root);
    fabric = ibh_fabric_read_captured(&tree, NULL);
    ibh_fabric_judge(fabric, only, findings, good);
    assert_findings_speak(findings);
    return findings;
}

static char *describe_finding(const IbhFinding *finding)
{
    return g_strdup_printf("%s %s %s", ibh_severity_name(finding->severity), finding->code,
                           finding->iface[0] ? finding->iface : "-");
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
    g_autoptr(GPtrArray) findings = judge(only, NULL);
    g_autofree char *found = describe_findings(findings);

    assert_string_equal(found, expected);
}

/* ---- the table of faults ---- */

typedef struct {
    char *what, *host;
    guint line;
    GPtrArray *changes;  /* char *: "set PATH TEXT", "remove PATH" */
    GPtrArray *expected; /* char *: "error sm-missing ib0" */
    GPtrArray *parts;    /* char *: "fix 0 PART", "say 0 PART": the number of the finding they belong to */
    guint named, invented;
    char *found;
} Fault;

static void fault_free(gpointer data)
{
    Fault *fault = data;

    g_free(fault->what);
    g_free(fault->host);
    g_free(fault->found);
    g_ptr_array_unref(fault->changes);
    g_ptr_array_unref(fault->expected);
    g_ptr_array_unref(fault->parts);
    g_free(fault);
}

static Fault *fault_new(const char *what, guint line)
{
    Fault *fault = g_new0(Fault, 1);

    fault->what = g_strdup(what);
    fault->line = line;
    fault->changes = g_ptr_array_new_with_free_func(g_free);
    fault->expected = g_ptr_array_new_with_free_func(g_free);
    fault->parts = g_ptr_array_new_with_free_func(g_free);
    return fault;
}

static void take_line(Fault *fault, const char *line)
{
    const char *rest = strchr(line, ' ');

    if (!rest++ || !fault)
        fail_msg("faults: what is “%s”?", line);
    else if (g_str_has_prefix(line, "host "))
        fault->host = g_strdup(rest);
    else if (g_str_has_prefix(line, "set ") || g_str_has_prefix(line, "remove "))
        g_ptr_array_add(fault->changes, g_strdup(line));
    else if (g_str_has_prefix(line, "expect "))
        g_ptr_array_add(fault->expected, g_strdup(rest));
    else if (g_str_has_prefix(line, "fix ") || g_str_has_prefix(line, "say "))
        g_ptr_array_add(fault->parts, g_strdup_printf("%.3s %u %s", line, fault->expected->len - 1, rest));
    else
        fail_msg("faults: what is “%s”?", line);
}

static GPtrArray *read_faults(void)
{
    GPtrArray *faults = g_ptr_array_new_with_free_func(fault_free);
    g_auto(GStrv) lines = read_fixture("faults");

    for (guint i = 0; lines[i]; i++) {
        if (g_str_has_prefix(lines[i], "fault "))
            g_ptr_array_add(faults, fault_new(lines[i] + strlen("fault "), i + 1));
        else if (lines[i][0] && lines[i][0] != '#')
            take_line(faults->len ? g_ptr_array_index(faults, faults->len - 1) : NULL, lines[i]);
    }
    return faults;
}

static void check_part(const Fault *fault, const GPtrArray *findings, const char *part)
{
    guint n = (guint)atoi(part + 4);
    const IbhFinding *finding = n < findings->len ? g_ptr_array_index(findings, n) : NULL;
    const char *wanted = strchr(part + 4, ' ') + 1, *text;

    if (!finding)
        return; /* it is missing, and counted as such */
    text = part[0] == 'f' ? remedy_of(finding) : finding->message;
    if (!strstr(text, wanted))
        fail_msg("faults:%u: %s: “%s” is not in “%s”", fault->line, fault->what, wanted, text);
}

static void inject(Fault *fault)
{
    g_autoptr(GPtrArray) findings = NULL;

    put_host(fault->host);
    for (guint i = 0; i < fault->changes->len; i++) {
        const char *change = g_ptr_array_index(fault->changes, i);

        if (g_str_has_prefix(change, "set "))
            put_line(change + strlen("set "));
        else
            take_away(change + strlen("remove "));
    }
    findings = judge(NULL, NULL);
    fault->found = describe_findings(findings);
    for (guint i = 0; i < findings->len; i++) {
        g_autofree char *one = describe_finding(g_ptr_array_index(findings, i));

        if (g_ptr_array_find_with_equal_func(fault->expected, one, g_str_equal, NULL))
            fault->named++;
        else
            fault->invented++;
    }
    for (guint i = 0; i < fault->parts->len; i++)
        check_part(fault, findings, g_ptr_array_index(fault->parts, i));
}

static void write_table(const GPtrArray *faults)
{
    g_autofree char *directory = g_path_get_dirname(program),
                    *path = g_build_filename(directory, "fabric-table.md", NULL);
    g_autoptr(GString) text = g_string_new("| host | injected | named |\n| --- | --- | --- |\n");
    guint n = 0, named = 0, harmless = 0, invented = 0;

    for (guint i = 0; i < faults->len; i++) {
        const Fault *fault = g_ptr_array_index(faults, i);

        g_string_append_printf(text, "| %s | %s | %s |\n", fault->host, fault->what, fault->found);
        n += fault->expected->len > 0;
        named += fault->expected->len > 0 && fault->named == fault->expected->len;
        harmless += fault->expected->len == 0;
        invented += fault->invented;
    }
    g_string_append_printf(text,
                           "\n%u faults injected, %u named (%u %%); %u changes that are none; %u findings invented.\n",
                           n, named, n ? 100 * named / n : 0, harmless, invented);
    write_file(path, text->str);
}

static void test_faults(void **state)
{
    g_autoptr(GPtrArray) faults = read_faults();
    guint wrong = 0;

    (void)state;
    assert_true(faults->len > 30);
    for (guint i = 0; i < faults->len; i++) {
        Fault *fault = g_ptr_array_index(faults, i);

        inject(fault);
        if (fault->named != fault->expected->len || fault->invented) {
            print_error("faults:%u: %s: found %s\n", fault->line, fault->what, fault->found);
            wrong++;
        }
        remove_root(NULL);
        make_root(NULL);
    }
    write_table(faults);
    assert_int_equal(wrong, 0);
}

/* ---- hosts that are right ---- */

static void test_right_hosts_are_silent(void **state)
{
    g_autoptr(GDir) dir = g_dir_open(FIXTURES, 0, NULL);
    const char *name;
    guint hosts = 0;

    (void)state;
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *host = g_strndup(name, MAX(strlen(name), 5) - 5);
        g_autoptr(GPtrArray) findings = NULL;
        g_autofree char *found = NULL;

        if (!g_str_has_suffix(name, ".tree"))
            continue;
        put_host(host);
        findings = judge(NULL, NULL);
        found = describe_findings(findings);
        if (findings->len)
            fail_msg("%s: %s", host, found);
        remove_root(NULL);
        make_root(NULL);
        hosts++;
    }
    assert_true(hosts >= 9);
}

/* Every port, interface, module and limit has its line, so that silence is never ambiguous. */
static void test_what_was_checked(void **state)
{
    static const char *const WANTED[] = {
        "modules: loaded: ib_core ib_ipoib ib_uverbs rdma_ucm ib_umad",
        "mlx4_0/1: mlx4_ib0, InfiniBand: ACTIVE, LinkUp, with a subnet manager",
        "mlx4_1/2: ens2d1, Ethernet: ACTIVE, LinkUp",
        "ens2d1: MTU 9000",
        "mlx4_ib0: MTU 65520, connected",
        "mlx4_ib0: P_Key 0xffff: a full member by the table of mlx4_0/1",
        "mlx4_ib0.8002: P_Key 0x8002: a full member by the table of mlx4_0/1",
        "mlx4_ib1: MTU 65520, connected, as mlx4_ib0",
        "mlx4_1/2: RoCE v2",
        "mlx4_0/1: 56.0 Gb/s, 4 lanes",
        "mlx4_0: PCIe: 8 lanes of 8.0 GT/s",
        "mlx4_1/1: no errors that grow or stand out",
        "mlx4_0/1: GID fabric fe80000000000000, port 0xf4521403007be131",
        "ens2d1: its addresses have GIDs of mlx4_1/2",
        "mlx4_ib1: number of the P_Key: as most of the rails in its subnet",
        "mlx4_ib1: subnet prefix: as most of the rails in its subnet",
        "mlx4_ib1: lid of the subnet manager: as most of the rails in its subnet",
        "mlx4_1: firmware 2.42.5000, board MT_1090120019",
        "memlock: unlimited",
    };
    g_autoptr(GPtrArray) good = g_ptr_array_new_with_free_func(g_free), findings = NULL;

    (void)state;
    put_host("mlx4-mixed");
    findings = judge(NULL, good);
    for (gsize i = 0; i < G_N_ELEMENTS(WANTED); i++) {
        if (!g_ptr_array_find_with_equal_func(good, WANTED[i], g_str_equal, NULL))
            fail_msg("“%s” is not said", WANTED[i]);
    }
}

static void test_what_could_not_be_checked(void **state)
{
    static const char *const WANTED[] = {
        "modules: not known (there is no module directory)",
        "mlx5_0/1: state not known",
        "memlock: not known (there is no proc/self/limits)",
        "ib1: MTU not known",
        "ib1: P_Key 0xffff: the table of mlx5_1/1 is not known",
        "mlx5_1/1: rate not known",
        "mlx5_1/1: no counters of errors",
        "mlx5_1/1: GID not known",
        "mlx5_1: PCIe not known",
        "mlx5_1: board not known",
    };
    g_autoptr(GPtrArray) good = g_ptr_array_new_with_free_func(g_free), findings = NULL;

    (void)state;
    put_host("mlx5-infiniband");
    take_away("sys/module");
    take_away("proc/self");
    take_away("sys/class/infiniband/mlx5_0/ports/1/state");
    take_away("sys/class/infiniband/mlx5_1/ports/1/pkeys");
    take_away("sys/class/infiniband/mlx5_1/ports/1/gids");
    take_away("sys/class/infiniband/mlx5_1/ports/1/rate");
    take_away("sys/class/infiniband/mlx5_1/ports/1/counters");
    take_away("sys/class/infiniband/mlx5_1/device/current_link_width");
    take_away("sys/class/infiniband/mlx5_1/board_id");
    take_away("sys/class/infiniband/mlx5_1/hca_type");
    take_away("sys/class/net/ib1/mtu");
    take_away("sys/class/net/ib1/mode");
    findings = judge(NULL, good);
    assert_int_equal(findings->len, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(WANTED); i++) {
        if (!g_ptr_array_find_with_equal_func(good, WANTED[i], g_str_equal, NULL))
            fail_msg("“%s” is not said", WANTED[i]);
    }
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
    expect(NULL, "error port-not-active ib0, error sm-missing ib1, info memlock-low -");
    expect(ONLY("ib1"), "error sm-missing ib1, info memlock-low -");
    expect(ONLY("ib0"), "error port-not-active ib0, info memlock-low -");
    expect(ONLY("eth7"), "info memlock-low -");
}

/* ---- MTU: the majority is right ---- */

/* Rails of one subnet, with these MTUs; returns "ib0 fix, ib2 fix …", which the caller frees. */
static char *judge_mtus(const int *mtus)
{
    g_autoptr(IbhFabric) fabric = ibh_fabric_new();
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    GString *found = g_string_new(NULL);
    IbhPrefix subnet;

    assert_true(ibh_prefix_parse("172.16.0.0/16", &subnet));
    for (int n = 0; mtus[n]; n++) {
        IbhPortNic nic = {.type = 32, .up = TRUE, .usable = TRUE, .mtu = mtus[n], .pkey = IBH_UNKNOWN};

        g_snprintf(nic.iface, sizeof nic.iface, "ib%d", n);
        nic.subnets = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
        g_array_append_val(nic.subnets, subnet);
        g_array_append_val(fabric->nics, nic);
    }
    ibh_fabric_use_subnets(fabric);
    ibh_fabric_judge(fabric, NULL, findings, NULL);
    IBH_EACH_POINTER (const IbhFinding, finding, findings)
        g_string_append_printf(found, "%s%s: %s", found->len ? ", " : "", finding->iface, remedy_of(finding));
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
    expect_mtus("ib1: ip link set ib1 mtu 2044", MTUS(2044, 1400, 2044, 2044, 2044, 2044, 2044, 2044));
    expect_mtus("ib0: ip link set ib0 mtu 2044", MTUS(1400, 2044, 2044));
    expect_mtus("ib0: ip link set ib0 mtu 2044, ib3: ip link set ib3 mtu 2044", MTUS(1400, 2044, 2044, 4092, 2044));
    /* No majority: each is named, and which of them is right nobody knows. */
#define ALIKE "make them alike, as the fabric has it; as ib0 is: "
    expect_mtus("ib0: " ALIKE "ip link set ib1 mtu 2044, ib1: " ALIKE "ip link set ib1 mtu 2044", MTUS(2044, 1400));
#define BOTH ALIKE "ip link set ib1 mtu 2044; ip link set ib3 mtu 2044"
    expect_mtus("ib0: " BOTH ", ib1: " BOTH ", ib2: " BOTH ", ib3: " BOTH, MTUS(2044, 1400, 2044, 1400));
}

/* A port without an address is somebody's business once he asks for it. */
static void test_unused_port_by_name(void **state)
{
    (void)state;
    put_host("mlx4-mixed");
    expect(ONLY("ens1d1"), "error port-not-active ens1d1");
    expect(NULL, "nothing");
}

/* ---- trees that are not as they should be ---- */

/* Not captured by us: its ports matter, whoever has their interfaces. */
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
    g_auto(IbhTree) tree = {0};

    ibh_tree_open(&tree, sys);
    assert_false(tree.captured);
    assert_false(tree.complete);
    fabric = ibh_fabric_read(&tree, links);
    ibh_fabric_judge(fabric, NULL, findings, NULL);
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
    findings = judge(NULL, NULL);
    assert_int_equal(findings->len, 1);
    assert_non_null(strstr(remedy_of(findings->pdata[0]), "ibstat '$(id)' 1"));
    assert_string_equal(((IbhFinding *)findings->pdata[0])->iface, "`id`");
}

/* rxe's GID table has 1,024 entries, adapters' P_Key tables 128: as many as are needed are read. */
static void test_reads_are_bounded(void **state)
{
    g_auto(IbhTree) tree = {0};
    g_autoptr(IbhFabric) fabric = NULL;

    (void)state;
    put_host("soft-roce");
    for (int i = 0; i < 1024; i++) {
        g_autofree char *types = g_strdup_printf("sys/class/infiniband/rxe0/ports/1/gid_attrs/types/%d", i);
        g_autofree char *ndevs = g_strdup_printf("sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/%d", i);

        put(types, "RoCE v2");
        put(ndevs, "eth0");
    }
    ibh_tree_open(&tree, root);
    ibh_tree_start_recording(&tree);
    fabric = ibh_fabric_read_captured(&tree, NULL);
    assert_in_range(tree.record->len, 50, 150);
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
    expect(NULL, "warning pkey-unknown ib0");
}

/* ---- counters that grow ---- */

/* What stands in a file changes between both looks. */
static void look_twice(const char *path, const char *first, const char *text, const char *expected)
{
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    g_autoptr(IbhFabric) fabric = NULL;
    g_autofree char *found = NULL;
    g_auto(IbhTree) tree = {0};

    put_host("mlx5-infiniband");
    if (first)
        put(path, first);
    ibh_tree_open(&tree, root);
    fabric = ibh_fabric_read_captured(&tree, NULL);
    put(path, text);
    ibh_ports_read_again(&tree, fabric);
    ibh_fabric_judge(fabric, NULL, findings, NULL);
    assert_findings_speak(findings);
    found = describe_findings(findings);
    assert_string_equal(found, expected);
}

static void test_what_changes_meanwhile(void **state)
{
#define PORT1 "sys/class/infiniband/mlx5_1/ports/1/"
    (void)state;
    look_twice(PORT1 "counters/symbol_error", NULL, "1", "warning port-errors ib1");
    look_twice(PORT1 "counters/port_rcv_errors", NULL, "4294967295", "warning port-errors ib1");
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults),
        TEST(test_right_hosts_are_silent),
        TEST(test_what_was_checked),
        TEST(test_what_could_not_be_checked),
        TEST(test_by_name),
        TEST(test_majority_of_mtus),
        TEST(test_unused_port_by_name),
        TEST(test_ports_without_netdevs),
        TEST(test_nonsense),
        TEST(test_strange_names),
        TEST(test_reads_are_bounded),
        TEST(test_long_pkey_table),
        TEST(test_what_changes_meanwhile),
        TEST(test_subnet_manager_changes),
    };

    (void)argc;
    program = argv[0];
    if (access("/dev/shm", W_OK) == 0) /* not the disk: tens of thousands of files come and go */
        g_setenv("TMPDIR", "/dev/shm", FALSE);
    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
