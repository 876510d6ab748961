/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is remembered of the rails between two runs and two boots: their tables, and the hardware that is missed. */
#include "case_text.h"
#include "model/model.h"
#include "check/missing.h"
#include "plan/rails.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A host as it is now, and what is known of it: "known" lines as in the state file. */
typedef struct {
    IbhSnapshot *snapshot;
    IbhConfig *config;
    IbhRails *rails;
} Host;

static Host look_at(const char *const *lines, const char *known, const char *settings)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_new();
    g_autoptr(IbhState) state = ibh_state_parse(known, strlen(known));
    Host host = {.config = ibh_config_new()};

    for (guint i = 0; lines[i]; i++)
        fake_do(kernel, lines[i], NULL);
    host.snapshot = fake_snapshot(kernel);
    IBH_EACH (const IbhKnownRail, one, state->known)
        g_array_append_vals(host.snapshot->state->known, one, 1);
    assert_true(ibh_config_add(host.config, "config", settings, strlen(settings), NULL, TRUE, NULL));
    host.rails = ibh_rails_find(host.config, host.snapshot, &(IbhRequest){.respects_holds = FALSE}, NULL);
    return host;
}

static void leave(Host *host)
{
    ibh_rails_free(host->rails);
    ibh_config_free(host->config);
    ibh_snapshot_free(host->snapshot);
}

#define NIC0 "nic ib0 rdma mlx5_0/1 address=02:00:00:00:00:00", "ip address add 172.16.34.1/16 dev ib0"
#define NIC1 "nic ib1 rdma mlx5_1/1 address=02:00:00:00:00:01"
#define KNOWN1                                                                                                         \
    "known ib1 mlx5_1/1 0000:81:00.1/1 02:00:00:00:00:01 0 172.16.34.2,172.16.34.3,172.16.34.4,172.16.34.5,"           \
    "172.16.34.6,172.16.34.7,172.16.34.8,172.16.34.9\n" /* as many as are remembered */

/* One row: the host, what is known, the configuration → what is missed ("" for nothing), and what is still known. */
typedef struct {
    const char *lines[8];
    const char *known, *settings;
    IbhMissing why;
    gboolean kept;
} Row;

static const Row rows[] = {
    {{NIC0, NIC1, "ip address add 172.16.34.2/16 dev ib1", NULL}, KNOWN1, "", IBH_IS_THERE, TRUE},
    {{NIC0, NIC1, NULL}, KNOWN1, "", IBH_LACKS_ADDRESS, TRUE},
    {{NIC0, NIC1 " no-carrier", NULL}, KNOWN1, "", IBH_LACKS_CARRIER, TRUE},
    {{NIC0, NIC1 " down", NULL}, KNOWN1, "", IBH_ON_PURPOSE, TRUE},
    {{NIC0, NULL}, KNOWN1, "", IBH_IS_GONE, TRUE},
    {{NIC0, "nic ib1 address=02:00:00:00:00:01", "ip address add 172.16.34.2/16 dev ib1", NULL},
     KNOWN1,
     "",
     IBH_LACKS_RDMA,
     TRUE},
    /* Its partner is the one that is missing. */
    {{NIC1, "ip address add 172.16.34.2/16 dev ib1", NULL}, KNOWN1, "", IBH_IS_THERE, TRUE},
    /* It was renamed; another one has its name. */
    {{NIC0, "nic ib7 rdma mlx5_1/1 address=02:00:00:00:00:01", NULL}, KNOWN1, "", IBH_LACKS_ADDRESS, TRUE},
    {{NIC0, "nic ib1 rdma mlx5_2/1 address=02:00:00:00:00:09", NULL}, KNOWN1, "", IBH_IS_GONE, TRUE},
    /* The card in its slot was replaced; a card in another slot has its name and port. */
    {{NIC0, "nic ib1 rdma mlx5_1/1 address=02:00:00:00:00:09 slot 0000:81:00.1/1", NULL},
     KNOWN1,
     "",
     IBH_LACKS_ADDRESS,
     TRUE},
    {{NIC0, "nic ib1 rdma mlx5_1/1 address=02:00:00:00:00:09 slot 0000:82:00.0/1", NULL},
     KNOWN1,
     "",
     IBH_IS_GONE,
     TRUE},
    /* Only the GUID stays of an IPoIB address. */
    {{NIC0, "nic ib1 infiniband rdma mlx5_1/1 address=80:00:02:28:fe:80:00:00:00:00:00:00:24:8a:07:03:00:b0:1c:fe",
      NULL},
     "known ib1 mlx5_1/1 0000:81:00.1/1 24:8a:07:03:00:b0:1c:fe 0 172.16.34.2\n",
     "",
     IBH_LACKS_ADDRESS,
     TRUE},
    /* Its prefix length became that of a single host; then only its partner has the subnet. */
    {{NIC0, NIC1, "ip address add 172.16.34.2/32 dev ib1", "ip address add fe80::2/64 dev ib1 scope link", NULL},
     KNOWN1,
     "",
     IBH_LACKS_SUBNET,
     TRUE},
    {{NIC0, NIC1, "ip address add 10.9.0.2/32 dev ib1", NULL}, KNOWN1, "", IBH_IS_THERE, FALSE},
    /* What a host on the wire or the network manager itself gave to it is no new subnet. */
    {{NIC0, NIC1, "ip address add 2001:db8::2/64 dev ib1 dynamic", NULL}, KNOWN1, "", IBH_LACKS_ADDRESS, TRUE},
    {{NIC0, NIC1, "ip address add 169.254.7.9/16 dev ib1 scope link", NULL}, KNOWN1, "", IBH_LACKS_ADDRESS, TRUE},
    /* The prefix length of an IPv6 address whose DAD has not ended, or has failed, is right. */
    {{NIC0, "ip address add fd00:16::1/64 dev ib0", NIC1, "ip address add fd00:16::2/64 dev ib1 tentative", NULL},
     "known ib1 mlx5_1/1 0000:81:00.1/1 02:00:00:00:00:01 0 fd00:16::2\n",
     "",
     IBH_IS_THERE,
     TRUE},
    /* Nobody misses it any more. */
    {{NIC0, NIC1, NULL}, KNOWN1, "[interface ib1]\nmanage=no\n", IBH_IS_THERE, FALSE},
    {{NIC0, NULL}, KNOWN1, "[interface ib1]\nmanage=no\n", IBH_IS_THERE, FALSE},
    {{NIC0, "nic ib1 address=02:00:00:00:00:01", NULL}, KNOWN1, "[interface ib1]\nmanage=no\n", IBH_IS_THERE, FALSE},
    {{NIC0, NIC1, "ip address add 10.9.0.2/24 dev ib1", NULL}, KNOWN1, "", IBH_IS_THERE, FALSE},
    {{NIC0, "nic bond0 type=bond", NIC1 " master=bond0", NULL}, KNOWN1, "", IBH_IS_THERE, FALSE},
    /* A section of its own says that it shall be one. */
    {{NIC0, NIC1, NULL}, "", "[interface ib1]\nmanage=yes\n", IBH_LACKS_ADDRESS, FALSE},
    {{NIC0, NIC1, NULL}, "", "[interface ib*]\nmanage=yes\n", IBH_IS_THERE, FALSE},
    {{NIC0, NULL}, "", "[interface ib1]\nmanage=yes\n", IBH_NO_SUCH_NIC, FALSE},
    /* A port of a bond is no candidate, and does not need RDMA. */
    {{NIC0, "nic bond0 type=bond", "nic eth1 master=bond0", NULL},
     "",
     "[interface eth1]\nmanage=yes\n",
     IBH_IS_THERE,
     FALSE},
    {{NIC0, NULL}, KNOWN1, "[interface ib1]\nmanage=yes\n", IBH_IS_GONE, TRUE},
};

static void test_missed(void **state)
{
    (void)state;
    IBH_EACH_ROW (const Row, row, rows) {
        Host host = look_at(row->lines, row->known, row->settings);
        g_autoptr(GArray) missed = ibh_missing_list(host.rails, host.config, FALSE);
        GArray *known = host.snapshot->state->known;
        const IbhLink *link;
        const IbhNic *nic;
        const IbhMissing why = missed->len ? g_array_index(missed, IbhKnownRail, 0).why : IBH_IS_THERE;

        if (why != row->why)
            print_error("row %d\n", (int)(row - rows));
        assert_int_equal(why, row->why);
        assert_int_equal(missed->len, why != IBH_IS_THERE);
        assert_true(!missed->len || g_str_equal(g_array_index(missed, IbhKnownRail, 0).iface, "ib1"));
        IBH_EACH (IbhKnownRail, one, known)
            ibh_known_look(one, host.rails, host.config);
        link = row->kept ? g_array_index(known, IbhKnownRail, 0).link : NULL;
        /* A NIC that is no known rail lacks no subnet, and lacks an address only if it has none at all. */
        nic = link ? ibh_rails_nic(host.rails, link->ifindex) : NULL;
        if (nic && row->why != IBH_LACKS_SUBNET && (row->why != IBH_LACKS_ADDRESS || !nic->addresses->len))
            assert_int_equal(ibh_nic_lack(nic), row->why);
        if (known->len && (g_array_index(known, IbhKnownRail, 0).why != IBH_FORGOTTEN) != row->kept)
            fail_msg("row %d", (int)(row - rows));
        leave(&host);
    }
}

/* What is in its slot replaces it; children, VLANs, virtual functions and bonds come and go. */
static void test_put(void **state)
{
    static const char *const lines[] = {NIC0,
                                        NIC1,
                                        "ip address add 172.16.34.2/16 dev ib1",
                                        "nic vf rdma mlx5_2/1 vf",
                                        "ip address add 172.16.34.3/16 dev vf",
                                        NULL};
    Host host = look_at(lines, "known ib1 mlx5_1/1 0000:81:00.1/1 02:00:00:00:00:01 7 172.16.34.2\n", "");
    GArray *known = host.snapshot->state->known;
    IbhKnownRail now;
    guint n = 0;

    (void)state;
    IBH_EACH_POINTER (const IbhNic, nic, host.rails->nics) {
        if (!ibh_known_describe(host.rails, nic, known, FALSE, &now))
            continue;
        n++;
        assert_int_equal(now.since, 0); /* what replaces it begins anew */
        if (g_str_equal(now.iface, "ib0"))
            g_strlcpy(now.slot, "0000:81:00.1/1", sizeof now.slot); /* the card that is in that slot now */
        ibh_known_put(known, &now);
        assert_int_equal(known->len, n);
        assert_string_equal(now.port, nic->link->rdma);
    }
    leave(&host);
}

/* A card dies, and the kernel gives its name and its port's to the next one: both are known, one of them is missed. */
static void test_names_shift(void **state G_GNUC_UNUSED)
{
    static const char *const lines[] = {
        "nic ib0 rdma mlx5_0/1 address=02:00:00:00:00:01 slot 0000:81:00.1/1",
        "ip address add 172.16.34.2/16 dev ib0",
        "nic ib1 rdma mlx5_1/1 address=02:00:00:00:00:02 slot 0000:82:00.0/1",
        NULL,
    };
    Host host = look_at(lines,
                        "known ib0 mlx5_0/1 0000:80:00.0/1 02:00:00:00:00:00 0 172.16.34.1\n" KNOWN1
                        "known ib2 mlx5_2/1 0000:82:00.0/1 02:00:00:00:00:02 0 172.16.34.11\n",
                        "[interface ib0]\nmanage=yes\n[interface ib1]\nmanage=yes\n");
    GArray *known = host.snapshot->state->known;

    for (int again = 0; again < 2; again++) {
        g_autoptr(GArray) missed = ibh_missing_list(host.rails, host.config, FALSE);
        const IbhKnownRail *gone = &g_array_index(missed, IbhKnownRail, 0);
        IbhIp ip;
        IbhKnownRail now;

        assert_int_equal(missed->len, 2);
        assert_int_equal(gone->why, IBH_IS_GONE);
        assert_string_equal(gone->slot, "0000:80:00.0/1");
        assert_int_equal(g_array_index(missed, IbhKnownRail, 1).why, IBH_LACKS_ADDRESS);
        assert_ptr_equal(ibh_missing_find_same(known, gone), &g_array_index(known, IbhKnownRail, 0));
        assert_true(ibh_ip_parse("172.16.34.2", &ip) &&
                    ibh_known_describe(host.rails, ibh_rails_owner(host.rails, &ip), known, FALSE, &now));
        g_strlcpy(now.slot, "0000:81:00.1/1", sizeof now.slot);
        ibh_known_put(known, &now);
        assert_int_equal(known->len, 3);
    }
    leave(&host);
}

/* A rail that lost its IPv6 address is remembered with it, unless --apply named the NIC. */
static void test_lost_family(void **state G_GNUC_UNUSED)
{
    static const char *const lines[] = {NIC0, NIC1, "ip address add 172.16.34.12/16 dev ib1", NULL};
    static const char before[] = "known ib1 mlx5_1/1 - 02:00:00:00:00:01 0 172.16.34.2,2001:db8::2\n";
    Host host = look_at(lines, before, "");
    const IbhNic *nic = ibh_rails_nic(host.rails, ibh_snapshot_link_by_name(host.snapshot, "ib1")->ifindex);
    const GArray *known = host.snapshot->state->known;
    IbhKnownRail now;
    IbhIp ip;

    assert_true(ibh_known_describe(host.rails, nic, known, FALSE, &now));
    assert_int_equal(now.n_addresses, 2);
    assert_true(ibh_ip_parse("172.16.34.12", &ip) && ibh_ip_equal(&ip, &now.addresses[0]));
    assert_true(ibh_ip_parse("2001:db8::2", &ip) && ibh_ip_equal(&ip, &now.addresses[1]));
    assert_true(ibh_known_describe(host.rails, nic, known, TRUE, &now));
    assert_int_equal(now.n_addresses, 1);
    leave(&host);
}

/* The same one as before: by its slot, or, where one has none, by its name. */
static void test_again(void **state G_GNUC_UNUSED)
{
    g_autoptr(GArray) known = IBH_NEW_ARRAY(IbhKnownRail);
    const IbhKnownRail before[] = {
        {.iface = "ib0", .slot = "80"}, {.iface = "ib0", .slot = "81"}, {.iface = "ib0"}, {.iface = "ib2"}};
    const struct again {
        IbhKnownRail now;
        int place; /* -1: none */
    } rows_again[] = {{{.iface = "ib0", .slot = "81"}, 1}, {{.iface = "ib1", .slot = "80"}, 0}, {{.iface = "ib0"}, 2},
                      {{.iface = "ib0", .slot = "82"}, 2}, {{.iface = "ib2", .slot = "83"}, 3}, {{.iface = "ib1"}, -1},
                      {{.iface = "ib1", .slot = "84"}, -1}};

    g_array_append_vals(known, before, G_N_ELEMENTS(before));
    IBH_EACH_ROW (const struct again, row, rows_again) {
        const IbhKnownRail *found = ibh_missing_find_same(known, &row->now);

        assert_ptr_equal(found, row->place < 0 ? NULL : &g_array_index(known, IbhKnownRail, (guint)row->place));
    }
}

/* Any file may be damaged; what makes sense comes back as it was. */
static void test_file(void **state)
{
    static const char text[] =
        KNOWN1 "known ib2 mlx5_2/1 - 02:00 7 fd00::1,10.0.0.1\n"
               "known ib3\nknown a/b x y z 0 -\nknown ib4 p s h -1 -\nknown ib5 p s h 0 nonsense\n";
    g_autoptr(IbhState) read = ibh_state_parse(text, strlen(text)), again = NULL;
    g_autofree char *written = ibh_state_format(read), *rewritten = NULL;

    (void)state;
    assert_int_equal(read->known->len, 3);
    assert_int_equal(g_array_index(read->known, IbhKnownRail, 1).n_addresses, 2);
    assert_int_equal(g_array_index(read->known, IbhKnownRail, 1).since, 7);
    again = ibh_state_parse(written, strlen(written));
    rewritten = ibh_state_format(again);
    assert_string_equal(rewritten, written);
}

/* "ib0=941 ib1=942!": ! is for a number that the configuration gives. */
static void test_tables(void **state)
{
    static const char *const lines[] = {NIC0, NIC1, "ip address add 172.16.34.2/16 dev ib1", NULL};
    static const char *const undone[] = {"ib1", NULL};
    const IbhRequest undo = {.undo = TRUE}, undo_one = {.undo = TRUE, .only = undone};
    Host host = look_at(lines, "", "[interface ib1]\ntable=1500\n");
    g_autoptr(IbhRails) no_rail = ibh_rails_find(host.config, host.snapshot, &undo, NULL);
    g_autoptr(IbhRails) one_rail = ibh_rails_find(host.config, host.snapshot, &undo_one, NULL);
    g_autoptr(GArray) saved = ibh_rails_to_remember(host.rails, NULL);
    g_autoptr(GArray) none = ibh_rails_to_remember(no_rail, NULL);
    g_autoptr(GArray) without = ibh_rails_to_remember(one_rail, NULL);

    (void)state;
    assert_int_equal(saved->len, 2);
    assert_int_equal(g_array_index(saved, IbhSavedRail, 0).table, 941);
    assert_int_equal(g_array_index(saved, IbhSavedRail, 1).table, 1500);
    assert_true(g_array_index(saved, IbhSavedRail, 1).is_explicit);
    assert_int_equal(without->len, 1);
    assert_int_equal(none->len, 0);
    leave(&host);
}

/* The table of a NIC whose addresses are away for a moment is remembered; without them for good, it is not. */
static void test_table_of_a_spared_nic(void **state G_GNUC_UNUSED)
{
    static const char *const lines[] = {NIC0, NIC1, NULL};
    Host host = look_at(lines, "", "");
    const IbhLink *link = ibh_snapshot_link_by_name(host.snapshot, "ib1");
    const IbhSavedRail last = {.iface = "ib1", .ifindex = link->ifindex, .table = 950};
    g_autoptr(GArray) spared = IBH_NEW_ARRAY(int);
    g_autoptr(GArray) away = NULL;
    g_autoptr(GArray) gone = NULL;

    g_array_append_val(host.snapshot->state->rails, last);
    g_array_append_val(spared, link->ifindex);
    away = ibh_rails_to_remember(host.rails, spared);
    gone = ibh_rails_to_remember(host.rails, NULL);
    assert_int_equal(away->len, 1);
    assert_int_equal(g_array_index(away, IbhSavedRail, 0).table, 950);
    assert_int_equal(gone->len, 0);
    leave(&host);
}

/* A rail waits for a partner that lost its RDMA device, although another candidate is there with its addresses. */
static void test_partner_without_a_device(void **state G_GNUC_UNUSED)
{
    static const char *const lines[] = {NIC0,
                                        "nic ib1 address=02:00:00:00:00:01",
                                        "ip address add 172.16.34.2/16 dev ib1",
                                        "nic ib2 rdma mlx5_2/1 address=02:00:00:00:00:02",
                                        "ip address add 10.1.0.1/24 dev ib2",
                                        "ip rule add priority 1941 from 172.16.34.1 to 172.16.0.0/16 lookup 941 "
                                        "suppress_ifgroup mark protocol kernel",
                                        NULL};
    Host waits = look_at(lines, KNOWN1, ""), alone = look_at(lines, "", "");
    const int ib0 = ibh_snapshot_link_by_name(waits.snapshot, "ib0")->ifindex;

    assert_int_equal(ibh_rails_nic(waits.rails, ib0)->status, IBH_NIC_RAIL);
    assert_int_equal(ibh_rails_nic(alone.rails, ib0)->status, IBH_NIC_ALONE);
    leave(&waits);
    leave(&alone);
}

/* The state could not be written, or was removed: each value of a rail that may be ours is lost. */
static void test_lost_values(void **state G_GNUC_UNUSED)
{
    static const char *const lines[] = {
        "nic ib0 rdma mlx5_0/1 arp_ignore=1 arp_announce=2 arp_filter=0",
        "ip address add 172.16.34.1/16 dev ib0",
        "nic ib1 rdma mlx5_1/1 arp_ignore=1 arp_announce=2",
        "ip address add 172.16.34.2/16 dev ib1",
        "ip rule add from 172.16.34.1 to 172.16.0.0/16 lookup 941 priority 1941 suppress_ifgroup mark protocol kernel",
        "ip rule add from 172.16.34.1 to 172.16.0.0/16 lookup main priority 1940 suppress_ifgroup mark protocol kernel",
        NULL};
    static const IbhSysctl keys[] = {IBH_SYSCTL_ARP_ANNOUNCE, IBH_SYSCTL_ARP_IGNORE};
    const IbhSavedRail other = {.ifindex = 99};
    Host host = look_at(lines, "", "");
    g_autoptr(IbhState) after = ibh_state_copy(host.snapshot->state);

    for (int again = 0; again < 2; again++) { /* what is remembered is not remembered twice */
        ibh_known_note_lost_values(host.rails, after);
        assert_int_equal(after->sysctls->len, G_N_ELEMENTS(keys));
        for (guint i = 0; i < after->sysctls->len; i++) {
            const IbhSavedSysctl *saved = &g_array_index(after->sysctls, IbhSavedSysctl, i);

            assert_string_equal(saved->iface, "ib0"); /* no rule of ours is for ib1 */
            assert_int_equal(saved->key, keys[i]);
            assert_int_equal(saved->old, saved->set);
        }
    }
    /* A NIC that is not in the state, although others are, is new: its driver was restarted. */
    g_array_set_size(after->sysctls, 0);
    g_array_append_val(after->rails, other);
    ibh_known_note_lost_values(host.rails, after);
    assert_int_equal(after->sysctls->len, 0);
    leave(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missed),
        cmocka_unit_test(test_put),
        cmocka_unit_test(test_names_shift),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_lost_values),
        cmocka_unit_test(test_lost_family),
        cmocka_unit_test(test_table_of_a_spared_nic),
        cmocka_unit_test(test_partner_without_a_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
