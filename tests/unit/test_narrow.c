/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an event need not look at is left out. That nothing else is, random worlds hold (test_random.c). */
#include "plan/narrow.h"

#include "case_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char *names(const IbhSnapshot *snapshot)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < snapshot->links->len; i++)
        g_string_append_printf(text, "%s%s", i ? " " : "", g_array_index(snapshot->links, IbhLink, i).name);
    return g_string_free(text, FALSE);
}

static char *addresses(const IbhSnapshot *snapshot)
{
    GString *text = g_string_new(NULL);
    char ip[IBH_IP_STRLEN];

    for (guint i = 0; i < snapshot->addresses->len; i++)
        g_string_append_printf(text, "%s%s", i ? " " : "",
                               ibh_ip_format(&g_array_index(snapshot->addresses, IbhAddress, i).local, ip));
    return g_string_free(text, FALSE);
}

static char *rules(const IbhSnapshot *snapshot)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < snapshot->rules->len; i++)
        g_string_append_printf(text, "%s%u", i ? " " : "", g_array_index(snapshot->rules, IbhRule, i).priority);
    return g_string_free(text, FALSE);
}

static void expect(FakeKernel *kernel, gboolean concerned, const char *links, const char *ips, const char *priorities)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhSnapshot) snapshot = fake_snapshot(kernel);
    g_autofree char *found_links = NULL, *found_ips = NULL, *found_rules = NULL;

    assert_int_equal(ibh_narrow(snapshot, config), concerned);
    found_links = names(snapshot);
    found_ips = addresses(snapshot);
    found_rules = rules(snapshot);
    assert_string_equal(found_links, links);
    assert_string_equal(found_ips, ips);
    assert_string_equal(found_rules, priorities);
}

static void test_strangers(void **state)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_new();

    (void)state;
    fake_do(kernel, "nic ib0 infiniband rdma mlx5_0/1", "ip address add 172.16.34.1/16 dev ib0", "nic bond0",
            "nic ib1 infiniband rdma mlx5_1/1 master bond0", "nic near", "ip address add 172.16.9.1/24 dev near",
            "nic wide", "ip address add 172.0.0.1/8 dev wide", "nic far", "ip address add 10.0.0.1/24 dev far",
            "ip address add fd00::1/64 dev far", "nic peer", "ip address add 10.9.0.1 peer 172.16.200.1 dev peer",
            "nic own", "ip address add 172.16.7.7 peer 10.9.0.2 dev own", "nic tunnel",
            "ip address add 10.9.0.3 peer 10.9.0.4 dev tunnel", "ip rule add from 10.0.0.1 lookup 300 priority 100",
            "ip rule add from 172.16.0.0/12 lookup 300 priority 101",
            "ip rule add from 10.0.0.0/8 lookup 300 priority 102", "ip rule add lookup 300 priority 103", NULL);
    expect(kernel, TRUE, "ib0 near wide peer own", "172.16.34.1 172.16.9.1 172.0.0.1 10.9.0.1 172.16.7.7",
           "0 0 101 103 32766 32766 32767");
}

/* Nothing makes a NIC a candidate any more; but something of ours is left of it. */
static void test_what_is_left_of_us(void **state)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_new();
    IbhSavedRoute away = {.iface = "away"};

    (void)state;
    fake_do(kernel, "nic ruled", "ip address add 10.1.0.1/24 dev ruled", "ip address add 10.2.0.1/24 dev ruled",
            "ip rule add from 10.1.0.1 lookup 941 priority 1941 suppress_prefixlength 0 suppress_ifgroup mark protocol "
            "kernel",
            "nic beside", "ip address add 10.2.0.9/24 dev beside", "nic bond0", "nic routed master bond0",
            "ip address add 10.3.0.1/24 dev routed",
            "once ip route add 10.3.0.0/24 dev routed src 10.3.0.1 table 942 metric mark protocol kernel", "nic set",
            "saved set rp_filter old=1 set=2", "nic giver", "ip address add 10.6.0.1/24 dev giver",
            "once ip route add 10.3.1.0/24 dev routed src 10.6.0.1 table 942 metric mark protocol kernel", "nic away",
            "nic far", "ip address add 10.4.0.1/24 dev far", NULL);
    away.ifindex = fake_ifindex(kernel, "away");
    g_array_append_val(kernel->now->state->routes, away);
    expect(kernel, TRUE, "ruled beside bond0 routed set giver away", "10.1.0.1 10.2.0.1 10.2.0.9 10.3.0.1 10.6.0.1",
           "0 0 1941 32766 32766 32767");
}

/* Then everything of IPv6 counts. */
static void test_ipv6(void **state)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_new();

    (void)state;
    fake_do(kernel, "nic ib0 infiniband", "ip address add fd00::1/64 dev ib0", "nic far",
            "ip address add fd09::1/64 dev far", "nic old", "ip address add 10.4.0.1/24 dev old", NULL);
    expect(kernel, TRUE, "ib0 far", "fd00::1 fd09::1", "0 0 32766 32766 32767");
}

static void test_nothing(void **state)
{
    g_autoptr(FakeKernel) kernel = fake_kernel_new();

    (void)state;
    fake_do(kernel, "nic far", "ip address add 10.4.0.1/24 dev far", NULL);
    expect(kernel, FALSE, "", "", "0 0 32766 32766 32767");
    fake_do(kernel, "nic ib0 infiniband", NULL); /* which may have an address soon */
    expect(kernel, TRUE, "ib0", "", "0 0 32766 32766 32767");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_what_is_left_of_us),
        cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
