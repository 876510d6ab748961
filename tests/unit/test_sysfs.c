/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled together with what it tests: it is no part of the archive that the tests link. It reads trees like /sys,
 * made below a directory of their own.
 */
#include "late.h"

#include <errno.h>
#include <sys/syscall.h>

static gboolean is_old, is_root; /* a kernel before 5.6; a run as root */
#define syscall(...) (is_old ? (errno = ENOSYS, -1L) : syscall(__VA_ARGS__))
#define geteuid() (is_root ? 0u : 1u)

#include "host/tree.c"

#include "host/sysfs.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "temp_tree.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/stat.h>

/* ---- a tree and the links of this namespace ------------------------------------------------------------ */

static char *root;
static GArray *links;

static int set_up(void **state)
{
    (void)state;
    root = g_dir_make_tmp("ib-hook-sysfs-XXXXXX", NULL);
    links = g_array_new(FALSE, TRUE, sizeof(IbhLink));
    is_old = is_root = FALSE;
    return root == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(root);
    g_clear_pointer(&root, g_free);
    g_clear_pointer(&links, g_array_unref);
    return 0;
}

/* The full path, with its parents made. */
static char *place(const char *path)
{
    char *full = g_build_filename(root, "class", path, NULL);
    g_autofree char *parent = g_path_get_dirname(full);

    assert_int_equal(g_mkdir_with_parents(parent, 0755), 0);
    return full;
}

static void put(const char *path, const char *text)
{
    g_autofree char *full = place(path);

    assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void put_directory(const char *path)
{
    g_autofree char *full = place(path);

    assert_int_equal(g_mkdir_with_parents(full, 0755), 0);
}

/* A port, with its first GID and the netdevs that its table names, in their order. */
static void put_port(const char *device, int port, const char *gid, const char *const *ndevs)
{
    g_autofree char *base = g_strdup_printf("infiniband/%s/ports/%d", device, port);
    g_autofree char *state_path = g_strconcat(base, "/state", NULL);

    put(state_path, "4: ACTIVE\n");
    if (gid) {
        g_autofree char *path = g_strconcat(base, "/gids/0", NULL), *line = g_strconcat(gid, "\n", NULL);

        put(path, line);
    }
    for (int i = 0; ndevs && ndevs[i]; i++) {
        g_autofree char *path = g_strdup_printf("%s/gid_attrs/ndevs/%d", base, i);
        g_autofree char *line = g_strconcat(ndevs[i], "\n", NULL);

        put(path, line);
    }
}

#define NDEVS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* That the device has this netdev, in this namespace. */
static void put_net(const char *device, const char *iface, const char *dev_port)
{
    g_autofree char *net = g_strdup_printf("infiniband/%s/device/net/%s", device, iface);
    g_autofree char *attribute = g_strdup_printf("net/%s/dev_port", iface);

    put_directory(net);
    if (dev_port)
        put(attribute, dev_port);
}

static IbhLink *add_link(const char *name, guint16 type, const char *lladdr)
{
    IbhLink link = {.ifindex = (int)links->len + 1, .type = type};

    g_strlcpy(link.name, name, sizeof link.name);
    for (const char *at = lladdr; *at; at += at[2] ? 3 : 2) {
        assert_in_range(link.lladdr_len, 0, IBH_LLADDR_MAX - 1);
        link.lladdr[link.lladdr_len++] = (guint8)(g_ascii_xdigit_value(at[0]) << 4 | g_ascii_xdigit_value(at[1]));
    }
    g_array_append_val(links, link);
    return &g_array_index(links, IbhLink, links->len - 1);
}

static IbhLink *add_ethernet(const char *name, const char *mac)
{
    return add_link(name, ARPHRD_ETHER, mac);
}

static const IbhLink *find_link(const char *name)
{
    for (guint i = 0; i < links->len; i++) {
        const IbhLink *link = &g_array_index(links, IbhLink, i);

        if (g_str_equal(link->name, name))
            return link;
    }
    fail_msg("no link %s", name);
    return NULL;
}

static gboolean find_rdma(const char *sysfs)
{
    g_auto(IbhTree) tree = ibh_tree_of(sysfs);

    return ibh_sysfs_find_rdma(&tree, links, NULL);
}

/* Which port each link belongs to, in its order; NULL: none. */
static void check_rdma(const char *const *expected)
{
    assert_true(find_rdma(root));
    for (guint i = 0; i < links->len; i++) {
        const IbhLink *link = &g_array_index(links, IbhLink, i);

        if (!g_str_equal(link->rdma, expected[i] ? expected[i] : ""))
            fail_msg("%s: “%s”, not “%s”", link->name, link->rdma, expected[i] ? expected[i] : "");
    }
}

#define CHECK_RDMA(...)                                                                                                \
    do {                                                                                                               \
        const char *const wanted[] = {__VA_ARGS__};                                                                    \
        assert_int_equal(G_N_ELEMENTS(wanted), links->len);                                                            \
        check_rdma(wanted);                                                                                            \
    } while (0)

#define MAC0 "0c:42:a1:5e:9f:00"
#define GID0 "fe80:0000:0000:0000:0e42:a1ff:fe5e:9f00"
#define MAC1 "0c:42:a1:5e:9f:01"
#define GID1 "fe80:0000:0000:0000:0e42:a1ff:fe5e:9f01"
#define GID_OTHER "fe80:0000:0000:0000:1234:56ff:fe78:9abc"
#define GID_NONE "0000:0000:0000:0000:0000:0000:0000:0000"
#define IPOIB0 "80:00:02:28:fe:80:00:00:00:00:00:00:24:8a:07:03:00:b0:1c:fe"
#define IPOIB1 "80:00:02:29:fe:80:00:00:00:00:00:00:24:8a:07:03:00:b0:1c:ff"
#define GUID0 "fe80:0000:0000:0000:248a:0703:00b0:1cfe"
#define GUID1 "fe80:0000:0000:0000:248a:0703:00b0:1cff"

/* ---- hardware ------------------------------------------------------------------------------------------ */

static void test_mlx5_roce(void **state)
{
    (void)state;
    put_port("mlx5_0", 1, GID0, NDEVS("eth0", "eth0", "eth0", "eth0"));
    put_net("mlx5_0", "eth0", "0\n");
    put_port("mlx5_1", 1, GID1, NDEVS("eth1", "eth1"));
    put_net("mlx5_1", "eth1", "0\n");
    add_ethernet("eth1", MAC1);
    add_ethernet("eth0", MAC0);
    add_ethernet("eth2", "02:00:00:00:00:02");
    add_link("lo", ARPHRD_LOOPBACK, "00:00:00:00:00:00");
    CHECK_RDMA("mlx5_1/1", "mlx5_0/1", NULL, NULL);
}

static void test_mlx5_infiniband(void **state)
{
    (void)state;
    put_port("mlx5_0", 1, GUID0, NULL);
    put_port("mlx5_1", 1, GUID1, NULL);
    add_link("ib0", ARPHRD_INFINIBAND, IPOIB0);
    add_link("ib1", ARPHRD_INFINIBAND, IPOIB1);
    add_link("ib7", ARPHRD_INFINIBAND, "80:00:02:28:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:07");
    CHECK_RDMA("mlx5_0/1", "mlx5_1/1", NULL);
}

static void test_pkey_child(void **state)
{
    IbhLink *child;

    (void)state;
    put_port("mlx5_0", 1, GUID0, NULL);
    put_net("mlx5_0", "ib0", "0\n");
    add_link("ib0", ARPHRD_INFINIBAND, IPOIB0);
    child = add_link("ib0.8002", ARPHRD_INFINIBAND, "80:00:05:11:fe:80:00:00:00:00:00:00:24:8a:07:03:00:b0:1c:fe");
    child->parent = 1;
    CHECK_RDMA("mlx5_0/1", "mlx5_0/1");
}

/* One device, two ports: InfiniBand on the first, Ethernet on the second. */
static void test_mlx4_mixed(void **state)
{
    (void)state;
    put_port("mlx4_0", 1, GUID0, NULL);
    put_port("mlx4_0", 2, GID0, NDEVS("eth0"));
    put_net("mlx4_0", "ib0", "0\n");
    put_net("mlx4_0", "eth0", "1\n");
    add_link("ib0", ARPHRD_INFINIBAND, IPOIB0);
    add_ethernet("eth0", MAC0);
    CHECK_RDMA("mlx4_0/1", "mlx4_0/2");
}

/* What names no netdevs is told apart by dev_port, whatever the order. */
static void test_mlx4_without_ndevs(void **state)
{
    (void)state;
    put_port("mlx4_0", 1, NULL, NULL);
    put_port("mlx4_0", 2, NULL, NULL);
    put_net("mlx4_0", "eth0", "1\n");
    put_net("mlx4_0", "ib0", "0\n");
    put_net("mlx4_0", "eth9", "9\n");
    add_ethernet("eth0", MAC0);
    add_link("ib0", ARPHRD_INFINIBAND, IPOIB0);
    add_ethernet("eth9", MAC1);
    CHECK_RDMA("mlx4_0/2", "mlx4_0/1", NULL);
}

/* Both ports are InfiniBand: the GUIDs tell, although both netdevs stand below the one device. */
static void test_mlx4_two_infiniband(void **state)
{
    (void)state;
    put_port("mlx4_0", 1, GUID0, NULL);
    put_port("mlx4_0", 2, GUID1, NULL);
    put_net("mlx4_0", "ib0", "0\n");
    put_net("mlx4_0", "ib1", "1\n");
    add_link("ib1", ARPHRD_INFINIBAND, IPOIB1);
    add_link("ib0", ARPHRD_INFINIBAND, IPOIB0);
    CHECK_RDMA("mlx4_0/2", "mlx4_0/1");
}

/* ---- software ------------------------------------------------------------------------------------------ */

static void test_rxe(void **state)
{
    (void)state;
    put_port("rxe0", 1, GID0, NDEVS("eth0", "eth0"));
    add_ethernet("eth0", MAC0);
    add_ethernet("eth1", MAC1);
    CHECK_RDMA("rxe0/1", NULL);
}

static void test_siw(void **state)
{
    (void)state;
    put_port("siw0", 1, "0c42:a15e:9f00:0000:0000:0000:0000:0000", NULL);
    add_ethernet("eth1", MAC1);
    add_ethernet("eth0", MAC0);
    CHECK_RDMA(NULL, "siw0/1");
}

/* ---- names that may be somebody else's ----------------------------------------------------------------- */

/* The VF is in a pod, and called eth0 there, as our own NIC and a NIC without RDMA are called here. */
static void test_names_of_a_pod(void **state)
{
    (void)state;
    put_port("mlx5_0", 1, GID0, NDEVS("eth0"));
    put_net("mlx5_0", "eth0", "0\n");
    put_port("mlx5_2", 1, GID_OTHER, NDEVS("eth0", "eth5"));
    put_directory("infiniband/mlx5_2/device/net");
    put_port("mlx5_3", 1, NULL, NDEVS("eth5"));
    add_ethernet("eth0", MAC0);
    add_ethernet("eth5", "02:00:00:00:00:05");
    CHECK_RDMA("mlx5_0/1", NULL);
}

static void test_vlan(void **state)
{
    IbhLink *vlan;

    (void)state;
    put_port("mlx5_0", 1, GID0, NDEVS("eth0", "eth0", "eth0.100", "eth0.100"));
    put_net("mlx5_0", "eth0", "0\n");
    add_ethernet("eth0", MAC0);
    vlan = add_ethernet("eth0.100", MAC0);
    vlan->parent = 1;
    g_strlcpy(vlan->kind, "vlan", sizeof vlan->kind);
    add_ethernet("eth0.200", "02:00:00:00:00:01");
    CHECK_RDMA("mlx5_0/1", "mlx5_0/1", NULL);
}

/* RoCE LAG: the bond stands in the table, its ports below the device. */
static void test_bond(void **state)
{
    (void)state;
    put_port("mlx5_bond_0", 1, GID_OTHER, NDEVS("bond0"));
    put_net("mlx5_bond_0", "eth0", "0\n");
    add_ethernet("bond0", MAC0);
    add_ethernet("eth0", MAC0)->master = 1;
    add_ethernet("eth1", MAC1)->master = 1;
    assert_true(find_rdma(root));
    assert_string_equal(find_link("bond0")->rdma, "mlx5_bond_0/1");
}

/* Soft-RoCE on a bond that has failed over: the first place is empty, the default GID has got another one. */
static void test_bond_after_failover(void **state)
{
    (void)state;
    put_port("rxe0", 1, GID_NONE, NULL);
    put("infiniband/rxe0/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:ac10:2201\n");
    put("infiniband/rxe0/ports/1/gid_attrs/ndevs/1", "bond0\n");
    put("infiniband/rxe0/ports/1/gids/2", GID0 "\n");
    put("infiniband/rxe0/ports/1/gid_attrs/ndevs/2", "bond0\n");
    put("infiniband/rxe0/ports/1/gids/3", GID1 "\n");
    put("infiniband/rxe0/ports/1/gid_attrs/ndevs/3", "eth7\n"); /* in a pod */
    add_ethernet("bond0", MAC0);
    add_ethernet("bond1", MAC1);
    add_ethernet("eth7", MAC0);
    CHECK_RDMA("rxe0/1", NULL, NULL);
}

static void test_bond_of_a_pod(void **state)
{
    (void)state;
    put_port("mlx5_bond_0", 1, GID_OTHER, NDEVS("bond0"));
    put_net("mlx5_bond_0", "eth4", "0\n"); /* a port of another bond */
    add_ethernet("bond0", MAC0);
    add_ethernet("eth0", MAC0)->master = 1;
    add_ethernet("bond4", MAC1);
    add_ethernet("eth4", MAC1)->master = 3;
    assert_true(find_rdma(root));
    assert_string_equal(find_link("bond0")->rdma, "");
    assert_string_equal(find_link("bond4")->rdma, "");
}

/* ---- virtual functions --------------------------------------------------------------------------------- */

static void test_virtual_functions(void **state)
{
    (void)state;
    put_port("mlx5_0", 1, GID0, NDEVS("eth0"));
    put_net("mlx5_0", "eth0", "0\n");
    put_port("mlx5_1", 1, GID1, NDEVS("eth0v0"));
    put_net("mlx5_1", "eth0v0", "0\n");
    put_directory("net/eth0v0/device/physfn");
    put_directory("net/ib9/device/physfn");
    put_directory("net/eth0/device");
    add_ethernet("eth0", MAC0);
    add_ethernet("eth0v0", MAC1);
    add_link("ib9", ARPHRD_INFINIBAND, IPOIB0);
    CHECK_RDMA("mlx5_0/1", "mlx5_1/1", NULL);
    assert_false(find_link("eth0")->vf);
    assert_true(find_link("eth0v0")->vf);
    assert_true(find_link("ib9")->vf);
}

/* ---- trees that are not as they should be -------------------------------------------------------------- */

static void test_no_tree(void **state)
{
    g_autofree char *real = g_steal_pointer(&root);

    (void)state;
    add_ethernet("eth0", MAC0);
    root = g_build_filename(real, "nowhere", NULL);
    CHECK_RDMA(NULL);
    g_free(root);
    root = g_strdup("");
    assert_true(find_rdma("/dev/null"));
    assert_string_equal(find_link("eth0")->rdma, "");
    g_free(root);
    root = g_steal_pointer(&real);
    CHECK_RDMA(NULL);
}

/* What cannot be read is as if it were not there, and nothing waits for it. */
static void test_unreadable(void **state)
{
    g_autofree char *fifo = place("net/eth1/dev_port");
    g_autofree char *loop = place("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1");
    g_autofree char *blocked = place("infiniband/mlx5_1/ports/1/gids/0");

    (void)state;
    put_directory("infiniband/mlx5_0/ports/1/gids/0");
    put_directory("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0");
    assert_int_equal(symlink(loop, loop), 0);
    put("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/2", "eth0\n");
    put_net("mlx5_0", "eth0", NULL);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mkfifo(blocked, 0600), 0);
    put_net("mlx5_1", "eth1", NULL);
    add_ethernet("eth0", MAC0);
    add_ethernet("eth1", MAC1);
    CHECK_RDMA("mlx5_0/1", "mlx5_1/1");
}

/* ---- copies, whose links and files others may have made: here class/ stands for sys/ -------------------- */

static IbhTree tree_of_class(void)
{
    g_autofree char *directory = g_build_filename(root, "class", NULL);

    return ibh_tree_of(directory);
}

static void put_link(const char *path, const char *target)
{
    g_autofree char *full = place(path);

    assert_int_equal(symlink(target, full), 0);
}

static void change_mode(const char *path, mode_t mode)
{
    g_autofree char *full = place(path);

    assert_int_equal(chmod(full, mode), 0);
}

static void assert_line(IbhTree *tree, const char *path, const char *expected)
{
    char line[64];

    ibh_tree_line(tree, line, sizeof line, "%s", path);
    if (!g_str_equal(line, expected))
        fail_msg("%s: “%s”, not “%s”", path, line, expected);
    assert_int_equal(ibh_tree_has(tree, "%s", path), expected[0] != '\0');
}

static void assert_names(IbhTree *tree, const char *path, guint n)
{
    g_autoptr(GPtrArray) names = ibh_tree_list(tree, "%s", path);

    assert_int_equal(names->len, n);
    assert_int_equal(tree->problem, 0);
}

static void check_links(void)
{
    g_auto(IbhTree) tree = tree_of_class();
    g_autofree char *real = NULL, *outside = NULL;

    assert_line(&tree, "sys/inside", "in");
    assert_line(&tree, "sys/directory/up", "in");
    assert_names(&tree, "sys/link/to/directory", 2);
    assert_line(&tree, "sys/out", "");
    assert_line(&tree, "sys/absolute", "");
    assert_line(&tree, "sys/loop", "");
    assert_names(&tree, "sys/etc", 0);
    assert_line(&tree, "etc/file", "beside");
    assert_line(&tree, "etc/link", "beside");
    assert_line(&tree, "etc/out", "");
    assert_line(&tree, "sys", "");
    real = ibh_tree_real(&tree, "sys/directory/up");
    assert_string_equal(real, "inside");
    outside = ibh_tree_real(&tree, "sys/etc");
    assert_null(outside);
}

/* They lead nowhere but into the directory that was named, and beside it nowhere but into its parent. */
static void test_links_of_a_copy(void **state)
{
    (void)state;
    put("inside", "in\n");
    put_link("directory/up", "../inside");
    put("directory/file", "");
    put_link("link/to/directory", "../../directory");
    put_link("loop", "loop");
    put_link("out", "../etc/file");
    put_link("absolute", "/proc/self/comm");
    put_link("etc", "../etc");
    put("../etc/file", "beside\n");
    put_link("../etc/link", "file");
    put_link("../etc/out", "/proc/self/comm");
    check_links();
    is_old = TRUE;
    check_links();
}

static void swap_file(void)
{
    g_autofree char *link = place("other"), *file = place("file");

    assert_int_equal(rename(link, file), 0);
}

static void swap_directory(void)
{
    g_autofree char *link = place("other"), *directory = place("directory"), *aside = place("aside");

    assert_int_equal(rename(directory, aside), 0);
    assert_int_equal(rename(link, directory), 0);
}

/* Its maker changes it while it is read. */
static void test_swapped_in_a_copy(void **state)
{
    g_auto(IbhTree) tree = {0};
    char line[64];

    (void)state;
    put("file", "own\n");
    put("directory/one", "");
    tree = tree_of_class();
    put("../secret/file", "secret\n");
    put("../secret/another", "");
    put_link("other", "../secret/file");
    late = swap_file;
    ibh_tree_line(&tree, line, sizeof line, "sys/file");
    assert_string_equal(line, "own");
    assert_null(late);
    assert_line(&tree, "sys/file", "");
    put_link("other", "../secret");
    late = swap_directory;
    assert_names(&tree, "sys/directory", 1);
    assert_null(late);
    assert_names(&tree, "sys/directory", 0);
}

/* Root reads in it what all users may read, unless nobody but root could have made it: its maker has put files of
 * root's into it, by hard links, or has named a directory where root keeps some. */
static void test_what_root_reads_for_others(void **state)
{
    (void)state;
    assert_int_equal(chmod(root, 0755), 0);
    put("file", "open\n");
    put("private", "secret\n");
    change_mode("private", 0640);
    put("closed/file", "secret\n");
    change_mode("closed", 0750);
    put("../etc/private", "secret\n");
    change_mode("../etc/private", 0640);
    change_mode("", 0777);
    assert_int_equal(chmod(root, 0777), 0);
    for (is_root = FALSE; is_root <= TRUE; is_root++) {
        const char *secret = is_root ? "" : "secret";
        g_auto(IbhTree) tree = tree_of_class();

        assert_line(&tree, "sys/file", "open");
        assert_line(&tree, "sys/private", secret);
        assert_line(&tree, "sys/closed/file", secret);
        assert_line(&tree, "etc/private", secret);
        assert_names(&tree, "sys/closed", is_root ? 0 : 1);
    }
}

/* The kernel's own, as the copy of a container may be: links are all relative, and lead nowhere else. */
static void test_sysfs_by_another_name(void **state)
{
    g_auto(IbhTree) own = ibh_tree_of("/sys/"), copy = ibh_tree_of("/sys/../sys");
    g_autoptr(GPtrArray) nics = ibh_tree_list(&own, "sys/class/net"), same = ibh_tree_list(&copy, "sys/class/net");

    (void)state;
    assert_true(own.complete);
    assert_false(copy.complete);
    assert_int_equal(nics->len, same->len);
    IBH_EACH_POINTER (const char, nic, nics) {
        g_autofree char *one = ibh_tree_real(&own, "sys/class/net/%s", nic),
                        *other = ibh_tree_real(&copy, "sys/class/net/%s", nic);

        assert_non_null(one);
        assert_string_equal(one, other);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_mlx5_roce),
        TEST(test_mlx5_infiniband),
        TEST(test_pkey_child),
        TEST(test_mlx4_mixed),
        TEST(test_mlx4_without_ndevs),
        TEST(test_mlx4_two_infiniband),
        TEST(test_rxe),
        TEST(test_siw),
        TEST(test_names_of_a_pod),
        TEST(test_vlan),
        TEST(test_bond),
        TEST(test_bond_after_failover),
        TEST(test_bond_of_a_pod),
        TEST(test_virtual_functions),
        TEST(test_no_tree),
        TEST(test_unreadable),
        TEST(test_links_of_a_copy),
        TEST(test_swapped_in_a_copy),
        TEST(test_what_root_reads_for_others),
        TEST(test_sysfs_by_another_name),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
