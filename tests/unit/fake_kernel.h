/*
 * A kernel to test against: a snapshot that changes as Linux would change it, and refuses what Linux would refuse.
 *
 * Worlds are written as lines in ip's language; what a test prints can be pasted into another one:
 *
 *   link add ib0 type ib [rdma mlx5_0/1] [kind K] [parent L] [master L] [vf] [representor] [down] [no-carrier]
 *   link set ib0 up|down|carrier|no-carrier            link del ib0
 *   address add 172.16.34.1/16 [peer IP] dev ib0 [noprefixroute] [metric N] [scope link|host]      address del …
 *                                   IPv6: [tentative] [temporary] [deprecated]; address ready IP dev ib0: nobody has it
 *   rule add|del [from P] [to P] lookup T priority N [suppress_prefixlength N] [suppress_ifgroup N] [protocol P]
 *                [select BITS] [action N] [l3mdev]
 *   route add|append|replace|del|was [throw|unreachable|blackhole|local] P [via IP] [dev L] [onlink] [src IP] table T
 *                metric N protocol P
 *   sysctl -w net/ipv4/conf/ib0/rp_filter=1            (or all)
 *   saved ib0 rp_filter OLD SET     hold ib0           neigh add|del IP dev ib0
 *   arping -U -c 1 -I ib0 172.16.34.1                  peers learn this address at this NIC (IPv6: ndptool)
 *
 * A leading `ip -4` is passed over, so that the commands of a plan are lines too; `-6` says what "default" and a rule
 * without `from` mean. `was`: left over from a time when it could be added. "mark" stands for IBH_MARK.
 *
 * Left out: the kernel names lo as the device of an IPv6 throw; here it has none, as in IPv4.
 */
#pragma once

#include "model/operation.h"

#include <glib.h>

#define FAKE_ERROR (g_quark_from_static_string("fake-kernel"))

typedef struct {
    IbhIp ip;
    int ifindex;
} FakeLearned;

typedef struct {
    IbhSnapshot *now; /* rules and routes in the order that fib.h asks for */
    GArray *learned;  /* FakeLearned: at which NIC peers look for an address */
    GArray *log;      /* IbhOp, without `why`: everything that was asked for; NULL: nobody reads it */
    guint executed;   /* how many operations were asked for since fake_fail_at() */
    guint fail_at;    /* this one fails; from 1, 0: none */
    int fail_errno;
    guint inexact; /* deletes and replaces that hit something else than they named: each one is a bug */
} FakeKernel;

FakeKernel *fake_kernel_new(void);                       /* lo and the kernel's own three rules */
FakeKernel *fake_kernel_clone(const FakeKernel *kernel); /* without the log */
void fake_kernel_free(FakeKernel *kernel);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FakeKernel, fake_kernel_free)

/* An IbhExecute. Errors are the kernel's: code errno, its own words. */
gboolean fake_execute(gpointer kernel, const IbhOp *op, GError **error);
void fake_fail_at(FakeKernel *kernel, guint k, int fail_errno);

/* One line; FALSE where the kernel refuses. A line that is not of the language ends the program. */
gboolean fake_try(FakeKernel *kernel, const char *line, GError **error);
/* All of these, up to a NULL, and none may be refused. */
void fake_do(FakeKernel *kernel, const char *line, ...) G_GNUC_NULL_TERMINATED;

/* The lines that make this world. */
char *fake_print(const FakeKernel *kernel);
char *fake_print_rule(const IbhRule *rule);
char *fake_print_route(const IbhSnapshot *world, const IbhRoute *route);

typedef enum {
    FAKE_ALL,
    FAKE_UNORDERED, /* routes of main to one prefix in any order */
    FAKE_FOREIGN    /* only what is not ours; no sysctls */
} FakeScope;

/* NULL where rules, routes and sysctls are the same, else what differs. Rules of one priority have an order only where
 * their selectors are the same, and ours not even then. */
char *fake_difference(const FakeKernel *before, const FakeKernel *after, FakeScope scope);

/* By the letter of the contract, not by core/model/model.c: the mark, from one address, a table, nothing else; the mark
 * and protocol kernel. */
gboolean fake_is_our_rule(const IbhRule *rule);
gboolean fake_is_our_route(const IbhRoute *route);

/* What a program sees of it through netlink: routes of protocol kernel, and the tables that somebody's rule leads an
 * address to; no more. */
IbhSnapshot *fake_snapshot(const FakeKernel *kernel);

/* What the program asks main for besides: what it reaches by this device. */
gboolean fake_refuses_onlink6(const FakeKernel *kernel, const IbhRoute *route);
void fake_snapshot_add_errors(const FakeKernel *kernel, IbhSnapshot *snapshot);
void fake_snapshot_add_main(const FakeKernel *kernel, IbhSnapshot *snapshot, int ifindex);

int fake_ifindex(const FakeKernel *kernel, const char *name); /* ends the program where there is none */
const FakeLearned *fake_learned(const FakeKernel *kernel, const IbhIp *ip);
