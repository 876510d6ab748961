/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel to test against: a snapshot that changes as Linux would change it, and refuses what Linux would refuse.
 *
 * Left out: the kernel names lo as the device of an IPv6 throw; here it has none, as in IPv4.
 */
#pragma once

#include "model/operation.h"
#include "plan/scope.h"

#include <glib.h>

#define FAKE_ERROR (g_quark_from_static_string("fake-kernel"))

typedef struct {
    IbhIp ip;
    int ifindex;
} FakeLearned;

typedef struct {
    IbhSnapshot *now; /* rules and routes in the order that fib.h asks for */
    GArray *learned;  /* FakeLearned: at which NIC peers look for an address */
    guint executed;   /* how many operations were asked for since fake_fail_at() */
    guint fail_at;    /* this one fails; from 1, 0: none */
    int fail_errno;
    gboolean fail_on; /* and all after it */
    guint inexact;    /* deletes and replaces that hit something else than they named: each one is a bug */
} FakeKernel;

FakeKernel *fake_kernel_new(void); /* lo and the kernel's own three rules */
FakeKernel *fake_kernel_clone(const FakeKernel *kernel);
void fake_kernel_free(FakeKernel *kernel);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FakeKernel, fake_kernel_free)

/* An IbhExecute. Errors are the kernel's: code errno, its own words. */
gboolean fake_execute(gpointer kernel, const IbhOp *op, GError **error);
void fake_fail_at(FakeKernel *kernel, guint k, int fail_errno);

/* What `ip` asks for. FALSE where the kernel refuses. */
IbhLink *fake_link(const FakeKernel *kernel, int ifindex);
int fake_next_ifindex(const FakeKernel *kernel);
gboolean fake_is_up(const FakeKernel *kernel, int ifindex);
gboolean fake_link_add(FakeKernel *kernel, const IbhLink *link, GError **error);
void fake_link_set_up(FakeKernel *kernel, IbhLink *link, gboolean up);
void fake_link_del(FakeKernel *kernel, int ifindex);
gboolean fake_address_add(FakeKernel *kernel, IbhAddress *address, GError **error);
void fake_address_was(FakeKernel *kernel, const IbhAddress *address);
gboolean fake_address_del(FakeKernel *kernel, const IbhAddress *like, GError **error);
gboolean fake_address_ready(FakeKernel *kernel, const IbhAddress *like, GError **error); /* nobody else has it */
gboolean fake_rule_add(FakeKernel *kernel, const IbhRule *rule, GError **error);
void fake_rule_was(FakeKernel *kernel, const IbhRule *rule);
gboolean fake_rule_del(FakeKernel *kernel, const IbhRule *wanted, GError **error);
gboolean fake_route_add(FakeKernel *kernel, const IbhRoute *route, GError **error);
gboolean fake_route_append(FakeKernel *kernel, const IbhRoute *route, GError **error);
gboolean fake_route_replace(FakeKernel *kernel, const IbhRoute *route, const IbhRoute *replaced, GError **error);
gboolean fake_route_del(FakeKernel *kernel, const IbhRoute *wanted, GError **error);
void fake_route_was(FakeKernel *kernel, const IbhRoute *route); /* whatever there is */
gboolean fake_could_be_left(const FakeKernel *kernel, const IbhRoute *route);
void fake_rule_flush(FakeKernel *kernel, int family);     /* all but the first */
void fake_route_flush(FakeKernel *kernel, guint32 table); /* 0: all */
/* One more of a multipath route. */
void fake_add_hop(const FakeKernel *kernel, IbhRoute *route, int ifindex, const IbhIp *gateway);
gconstpointer fake_keep(gconstpointer data, gsize size); /* lists of routes, for as long as the program runs */
void fake_neigh_flush(const FakeKernel *kernel, int ifindex);
gboolean fake_announce(FakeKernel *kernel, int ifindex, const IbhIp *ip, GError **error);
gboolean fake_sysctl_set(FakeKernel *kernel, int ifindex, IbhSysctl key, int value, GError **error);

#define FAKE_METRIC6 1024 /* of an IPv6 route that names none */

typedef enum {
    FAKE_ALL,
    FAKE_FOREIGN /* only what is not ours; no sysctls */
} FakeScope;

/* NULL where rules, routes and sysctls are the same, else what differs. Rules of one priority have an order only where
 * their selectors are the same, and ours not even then. */
char *fake_difference(const FakeKernel *before, const FakeKernel *after, FakeScope scope);

/* By the letter of the contract, not by core/model/model.c: the mark, from one address, a table, nothing else; the mark
 * and protocol kernel. */
gboolean fake_is_our_rule(const IbhRule *rule);
gboolean fake_is_our_route(const IbhRoute *route);

/* What a run reads of it (host/snapshot.c): all but most routes. */
IbhSnapshot *fake_look(const FakeKernel *kernel, const IbhConfig *config);
/* The same without foreign tables and without main_by_nic and main_to_subnets, which these routes add. */
IbhSnapshot *fake_snapshot(const FakeKernel *kernel);
void fake_snapshot_add_main(const GArray *routes, IbhSnapshot *snapshot, const IbhConfig *config);

int fake_ifindex(const FakeKernel *kernel, const char *name); /* ends the program where there is none */
const FakeLearned *fake_learned(const FakeKernel *kernel, const IbhIp *ip);
