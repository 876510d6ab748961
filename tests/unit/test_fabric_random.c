/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Right hosts below tests/unit/fabric, in which one thing is changed at random out of all that is read of them: what
 * matters is named, and nobody is accused for what does not. A file that is read, and that no row here knows, fails.
 *
 * IBH_SEED=N repeats a run, IBH_CASES=N has more of them.
 */
#include "fabric_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_tree.h"
#include "speaks.h"

/* ---- what a change means ---- */

typedef enum {
    NEED_USED = 1 << 0,       /* its interface has an address */
    NEED_RAIL = 1 << 1,       /* and there is another one in the subnet */
    NEED_INFINIBAND = 1 << 2, /* the port, or the interface, is one */
    NEED_ROCE = 1 << 3,
    NEED_SIBLING = 1 << 4 /* another device of the same board is in use */
} Need;

#define NONE "0000:0000:0000:0000:0000:0000:0000:0000"

typedef struct {
    const char *path; /* a pattern */
    guint needs;
    const char *codes; /* one of them is found; NULL: no error and no warning, … */
    const char *why;   /* … because of this */
    const char *texts[10];
} Row;

/* The first row that fits counts. */
static const Row ROWS[] = {
    {"*/ports/*/state",
     NEED_USED,
     "port-not-active carrier-down",
     NULL,
     {"1: DOWN", "2: INIT", "3: ARMED", "5: ACTIVE_DEFER"}},
    {"*/ports/*/state", 0, NULL, "nobody uses the port", {"1: DOWN", "2: INIT"}},
    {"*/ports/*/phys_state",
     NEED_USED,
     "port-not-active",
     NULL,
     {"1: Sleep", "2: Polling", "3: Disabled", "4: PortConfigurationTraining", "6: LinkErrorRecovery", "7: Phy Test"}},
    {"*/ports/*/phys_state", 0, NULL, "nobody uses the port", {"2: Polling", "3: Disabled"}},
    {"*/ports/*/sm_lid", NEED_INFINIBAND | NEED_RAIL, "sm-missing sm-differs", NULL, {"0x0", "0x11", "0xc"}},
    {"*/ports/*/sm_lid", NEED_INFINIBAND | NEED_USED, "sm-missing", NULL, {"0x0"}},
    {"*/ports/*/sm_lid", 0, NULL, "Ethernet has no subnet manager", {"0x0", "0x5"}},
    {"*/ports/*/link_layer",
     0,
     NULL,
     "a port that changes its layer loses its interface, too: see faults",
     {"Unspecified"}},
    {"*/ports/*/gids/0", NEED_INFINIBAND | NEED_RAIL, "gid-missing subnet-prefix-differs guid-duplicate", NULL, {NONE}},
    {"*/ports/*/gids/0", NEED_INFINIBAND | NEED_USED, "gid-missing", NULL, {NONE}},
    {"*/ports/*/gids/*", NEED_ROCE | NEED_USED, "gid-missing", NULL, {NONE, "0000:0000:0000:0000:0000:ffff:0a01:0203"}},
    {"*/ports/*/gids/*", 0, NULL, "nobody uses the port, or iWARP, which has none", {NONE, "fe80::1"}},
    {"*/ports/*/gid_attrs/types/*", NEED_ROCE | NEED_USED, "gid-missing", NULL, {"IB/RoCE v1"}},
    {"*/ports/*/gid_attrs/types/*", 0, NULL, "nobody uses the port", {"IB/RoCE v1"}},
    {"*/ports/*/gid_attrs/ndevs/*", NEED_ROCE | NEED_USED, "gid-missing", NULL, {"eth77"}},
    {"*/ports/*/gid_attrs/ndevs/*", 0, NULL, "nobody uses the port", {"eth77"}},
    {"*/ports/*/pkeys/0",
     NEED_INFINIBAND | NEED_USED,
     "pkey-unknown pkey-limited",
     NULL,
     {"0x0000", "0x8abc", "0x0123"}},
    {"*/mlx4_0/ports/1/pkeys/1", 0, "pkey-unknown pkey-limited", NULL, {"0x0000", "0x0002"}}, /* of its child */
    {"*/ports/*/pkeys/*", 0, NULL, "other partitions than the interface's", {"0x9234", "0x0001"}},
    {"*/ports/*/rate",
     NEED_INFINIBAND | NEED_USED,
     "port-degraded",
     NULL,
     {"2.5 Gb/sec (1X SDR)", "25 Gb/sec (1X EDR)"}},
    {"*/ports/*/rate",
     NEED_ROCE | NEED_RAIL | NEED_SIBLING,
     "port-degraded",
     NULL,
     {"1 Gb/sec (1X SDR)", "10 Gb/sec (1X QDR)", "25 Gb/sec (1X EDR)"}},
    {"*/ports/*/rate", 0, NULL, "nothing to compare it with", {"2.5 Gb/sec (1X SDR)", "Unknown"}},
    {"*counters/*", 0, NULL, "does not grow", {"9", "4294967295", "18446744073709551615"}},
    {"*/device/current_link_*", NEED_USED, "port-degraded", NULL, {"1", "2", "2.5 GT/s PCIe"}},
    {"*/device/*_link_*", 0, NULL, "not less than it can do, or not known", {"Unknown", "0", "255"}},
    {"*/device/uevent", 0, NULL, "only names the card", {"DRIVER=other", "", "PCI_SLOT_NAME=0000:77:00.0"}},
    {"*/board_id", 0, NULL, "only says what is compared", {"MT_77"}},
    {"*/hca_type", 0, NULL, "only says what is compared", {"MT77"}},
    {"*/node_guid", 0, NULL, "functions of one card may share it: see faults", {"0000:0000:0000:0000", "1::2"}},
    {"*/node_type", 0, NULL, "iWARP or not: both are right", {"1: CA", "2: Switch", "4: RNIC"}},
    {"sys/class/net/*/mtu", NEED_RAIL, "mode-mtu", NULL, {"1280", "65000", "777"}},
    {"sys/class/net/*/mtu", 0, NULL, "nothing to compare it with", {"1280", "9216"}},
    {"sys/class/net/*/mode", NEED_RAIL, "mode-mtu", NULL, {"datagram", "connected"}},
    {"sys/class/net/*/mode", 0, NULL, "nothing to compare it with", {"unknown"}},
    {"sys/class/net/*/pkey", NEED_INFINIBAND | NEED_USED, "pkey-unknown", NULL, {"0x8abc", "0x9001"}},
    {"sys/class/net/*/carrier", 0, NULL, "netlink says it: carrier-down", {"0"}},
    {"sys/class/net/*/flags", 0, NULL, "netlink says it: carrier-down", {"0x1002"}},
    {"sys/class/net/*", 0, NULL, "says which interface it is, not whether it works", {""}},
    {"sys/bus/pci/*", 0, NULL, "read where the RDMA core is missing: see faults", {"0x060000"}},
    {"proc/self/limits", NEED_RAIL, "memlock-low", NULL, {"Max locked memory         65536   65536   bytes"}},
    {"proc/*", 0, NULL, "says who shares a subnet, not whether it works", {""}},
};

/* ---- the host ---- */

/* A file of the host; directories are left as they are. */
typedef struct {
    char *path, *text;
} Entry;

static void entry_clear(gpointer data)
{
    g_free(((Entry *)data)->path);
    g_free(((Entry *)data)->text);
}

static void add_entry(const char *path, const char *text, gpointer entries)
{
    Entry entry = {.path = g_strdup(path)};

    if (text)
        entry.text = g_strcompress(text);
    if (text)
        g_array_append_val((GArray *)entries, entry);
    else
        entry_clear(&entry);
}

static GArray *list_files(const char *host)
{
    g_auto(GStrv) lines = read_tree(host);
    GArray *entries = g_array_new(FALSE, FALSE, sizeof(Entry));

    g_array_set_clear_func(entries, entry_clear);
    for (char **line = lines; *line; line++)
        for_each_file(*line, add_entry, entries);
    return entries;
}

static gboolean has_rail_beside(const IbhFabric *fabric, const IbhPortNic *nic)
{
    IBH_EACH (const IbhPortNic, other, fabric->nics) {
        if (other != nic && ibh_port_nics_are_beside(nic, other))
            return TRUE;
    }
    return FALSE;
}

static guint describe_nic(const IbhFabric *fabric, const IbhPortNic *nic)
{
    return (nic->used ? NEED_USED : 0u) | (nic->type == 32 ? NEED_INFINIBAND : 0u) |
           (has_rail_beside(fabric, nic) ? NEED_RAIL : 0u);
}

static const char *board_of(const IbhFabric *fabric, const IbhPort *port)
{
    return ibh_fabric_device(fabric, port)->board;
}

static gboolean has_sibling(const IbhFabric *fabric, const IbhPort *port)
{
    IBH_EACH (const IbhPort, other, fabric->ports) {
        IBH_EACH (const IbhPortNic, nic, fabric->nics) {
            if (!g_str_equal(other->device, port->device) && nic->used && g_str_equal(nic->rdma, other->name) &&
                board_of(fabric, port)[0] && g_str_equal(board_of(fabric, port), board_of(fabric, other)))
                return TRUE;
        }
    }
    return FALSE;
}

static guint describe_port(const IbhFabric *fabric, const IbhPort *port)
{
    guint is = (port->layer == IBH_LAYER_INFINIBAND ? NEED_INFINIBAND : 0u) |
               (port->layer == IBH_LAYER_ETHERNET && !port->iwarp ? NEED_ROCE : 0u) |
               (has_sibling(fabric, port) ? NEED_SIBLING : 0u);

    IBH_EACH (const IbhPortNic, nic, fabric->nics) {
        if (g_str_equal(nic->rdma, port->name))
            is |= describe_nic(fabric, nic) & ~(guint)NEED_INFINIBAND;
    }
    return is;
}

/* What is known of the port, the device or the interface that the file belongs to. */
static guint describe_path(const IbhFabric *fabric, const char *path)
{
    guint is = 0;

    IBH_EACH (const IbhPort, port, fabric->ports) {
        g_autofree char *own = g_strdup_printf("sys/class/infiniband/%s/ports/%d/", port->device, port->number);
        g_autofree char *device = g_strdup_printf("sys/class/infiniband/%s/", port->device);

        if (g_str_has_prefix(path, own) || (g_str_has_prefix(path, device) && !strstr(path, "/ports/")))
            is |= describe_port(fabric, port);
    }
    IBH_EACH (const IbhPortNic, nic, fabric->nics) {
        g_autofree char *own = g_strdup_printf("sys/class/net/%s/", nic->iface);

        if (g_str_has_prefix(path, own) || g_str_has_prefix(path, "proc/self/"))
            is |= describe_nic(fabric, nic);
    }
    return is;
}

static const Row *find_row(const char *path, guint is)
{
    for (gsize i = 0; i < G_N_ELEMENTS(ROWS); i++) {
        if (g_pattern_match_simple(ROWS[i].path, path) && (ROWS[i].needs & ~is) == 0)
            return &ROWS[i];
    }
    return NULL;
}

/* ---- one change ---- */

static char *list(const GPtrArray *findings, gboolean *ret_accused)
{
    GString *text = g_string_new(" ");

    *ret_accused = FALSE;
    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        g_string_append_printf(text, "%s ", finding->code);
        *ret_accused |= finding->severity != IBH_INFO;
    }
    return g_string_free(text, FALSE);
}

static gboolean has_one_of(const char *found, const char *codes)
{
    g_auto(GStrv) wanted = g_strsplit(codes, " ", -1);

    for (char **code = wanted; *code; code++) {
        g_autofree char *word = g_strdup_printf(" %s ", *code);

        if (strstr(found, word))
            return TRUE;
    }
    return FALSE;
}

static gboolean judge_change(const Row *row, const char *host, const char *path, const char *text)
{
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    g_autoptr(IbhFabric) fabric = NULL;
    g_autofree char *found = NULL;
    g_auto(IbhTree) tree = {0};
    gboolean accused, right;

    fabric = read_host(&tree, root);
    ibh_fabric_judge(fabric, NULL, findings);
    assert_findings_speak(findings);
    found = list(findings, &accused);
    right = row->codes ? has_one_of(found, row->codes) : !accused;
    if (!right)
        print_error("%s: %s = \"%s\": found %s, expected %s\n", host, path, text, found,
                    row->codes ? row->codes : "no accusation");
    return right;
}

/* A text that is not what stands there; NULL: the row has none. */
static const char *choose_text(const Row *row, GRand *random, const char *now)
{
    gsize n = 0;
    const char *text;

    while (n < G_N_ELEMENTS(row->texts) && row->texts[n])
        n++;
    text = row->texts[g_rand_int_range(random, 0, (gint32)n)];
    return g_str_equal(text, now) ? NULL : text;
}

/* ---- what a row does not say well enough ---- */

/* An entry of a RoCE table matters only if new connections use it: version 2, and an own address. */
static gboolean is_unused_gid(const IbhFabric *fabric, const char *path, const char *now)
{
    g_autofree char *text = g_strchomp(g_strdup(now));
    const char *at = strstr(path, "/gids/");
    int index = at ? atoi(at + strlen("/gids/")) : 0;
    IbhIp ip;

    IBH_EACH (const IbhPort, port, fabric->ports) {
        g_autofree char *own = g_strdup_printf("sys/class/infiniband/%s/ports/%d/gids/", port->device, port->number);

        if (!g_str_has_prefix(path, own) || port->layer != IBH_LAYER_ETHERNET)
            continue;
        IBH_EACH (const IbhGid, gid, port->gids) {
            if (gid->index == index)
                return gid->ip.family != AF_INET || gid->roce != port->roce;
        }
        return TRUE;
    }
    return at && (!ibh_ip_parse(text, &ip));
}

/* The type and the netdev of an entry matter only where the entry does. */
static gboolean is_unused_type(const IbhFabric *fabric, const char *path)
{
    const char *types = strstr(path, "/gid_attrs/types/"), *at = types ? types : strstr(path, "/gid_attrs/ndevs/");
    g_autofree char *gid = at ? g_strdup_printf("%.*s/gids/%s", (int)(at - path), path, at + 17) : NULL;

    return gid && is_unused_gid(fabric, gid, "");
}

/* A link that is not read now, or is below what it can do already. */
static gboolean is_unknown_link(const char *path, const char *now, const char *text)
{
    gboolean width = g_str_has_suffix(path, "_width");

    return strstr(path, "/device/current_link_") &&
           (!g_ascii_isdigit(now[0]) || g_str_equal(now, "0\n") || width != (strchr(text, '.') == NULL));
}

/* ---- cases ---- */

static gboolean is_beyond_rows(const IbhFabric *fabric, const Entry *entry, const char *text)
{
    return is_unused_gid(fabric, entry->path, entry->text) || is_unused_type(fabric, entry->path) ||
           is_unknown_link(entry->path, entry->text, text);
}

typedef struct {
    guint tried, named, silent, wrong;
} Count;

static void change_one(GRand *random, const char *host, const IbhFabric *fabric, const Entry *entry, Count *count)
{
    static const Row nothing = {.path = "", .why = "nobody uses this entry, or it is not known"};
    const Row *row = find_row(entry->path, describe_path(fabric, entry->path));
    g_autofree char *now = g_strchomp(g_strdup(entry->text));
    g_autofree char *full = g_build_filename(root, entry->path, NULL);
    const char *text;

    if (!row)
        fail_msg("%s: %s is read, and no row says what a change of it means", host, entry->path);
    text = choose_text(row, random, now);
    if (!text)
        return;
    if (is_beyond_rows(fabric, entry, text))
        row = &nothing;
    put(entry->path, text);
    count->tried++;
    count->named += row->codes ? 1 : 0;
    count->silent += row->codes ? 0 : 1;
    count->wrong += judge_change(row, host, entry->path, text) ? 0 : 1;
    write_file(full, entry->text);
}

/* Each file of the host `rounds` times. */
static void change_host(GRand *random, const char *host, guint rounds, Count *count)
{
    g_autoptr(IbhFabric) fabric = NULL;
    g_autoptr(GArray) files = list_files(host);
    g_auto(IbhTree) tree = {0};

    put_host(host);
    fabric = read_host(&tree, root);
    IBH_EACH (const Entry, entry, files) {
        for (guint i = 0; i < rounds; i++)
            change_one(random, host, fabric, entry, count);
    }
    remove_root(NULL);
    make_root(NULL);
}

static void test_random_changes(void **state)
{
    const char *wanted = g_getenv("IBH_SEED"), *cases = g_getenv("IBH_CASES");
    guint32 seed = wanted ? (guint32)strtoul(wanted, NULL, 10) : g_random_int();
    guint rounds = cases ? MAX((guint)strtoul(cases, NULL, 10) / 8000, 1) : 1;
    g_autoptr(GPtrArray) hosts = list_hosts();
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    Count count = {0};

    (void)state;
    print_message("IBH_SEED=%u\n", seed);
    IBH_EACH_POINTER (const char, host, hosts)
        change_host(random, host, rounds, &count);
    print_message("%u changes: %u that matter, %u that do not; %u judged wrong\n", count.tried, count.named,
                  count.silent, count.wrong);
    assert_int_equal(count.wrong, 0);
    assert_true(count.named > 100 && count.silent > 100);
}

/* What could not be read is not known, and nobody is accused for it. */
static void lose_one(const char *host, const Entry *entry, Count *count)
{
    static const Row nothing = {.path = "", .why = "not known"};
    g_autofree char *full = g_build_filename(root, entry->path, NULL);

    take_away(entry->path);
    count->tried++;
    count->wrong += judge_change(&nothing, host, entry->path, "(removed)") ? 0 : 1;
    write_file(full, entry->text);
}

static void lose_all_of_host(const char *host, Count *count)
{
    g_autoptr(GArray) files = list_files(host);

    put_host(host);
    IBH_EACH (const Entry, entry, files)
        lose_one(host, entry, count);
    remove_root(NULL);
    make_root(NULL);
}

static void test_missing_files(void **state)
{
    g_autoptr(GPtrArray) hosts = list_hosts();
    Count count = {0};

    (void)state;
    IBH_EACH_POINTER (const char, host, hosts)
        lose_all_of_host(host, &count);
    print_message("%u files, each missing once; %u judged wrong\n", count.tried, count.wrong);
    assert_true(count.tried > 300);
    assert_int_equal(count.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_changes, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_missing_files, make_root, remove_root),
    };

    if (access("/dev/shm", W_OK) == 0) /* not the disk: many files come and go */
        g_setenv("TMPDIR", "/dev/shm", FALSE);
    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
