/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host as text, a statement on each line: in the words of `ip` where it has them, else in words of its own. The cases
 * of plan/ and render/ and the worlds of random/ are written in it, and so are most of the hosts of the other tests.
 *
 *   # …                                                   a comment; the first one is the title
 *   nic ib0 [infiniband] [rdma mlx5_0/1] [down] [no-carrier] [vf] [representor] [address XX:…] [master L] [index N]
 *       [rp_filter=1 …]                                   a piece of hardware; it is up
 *   ip link add ib0.8002 [link ib0] [up] […] type ipoib   the same words; it is down, as with ip
 *   ip link set ib0 up|down|carrier on|carrier off
 *   ip link del ib0
 *   ip address add|del 172.16.34.1/16 dev ib0 [scope S] [noprefixroute] [tentative] [deprecated] [secondary] [dynamic]
 *       IP peer PREFIX dev ib0                            secondary: in IPv6 a temporary one; in IPv4 the kernel says
 *   ready IP dev ib0                                      nobody else has it: tentative no more
 *   ip [-6] rule add|del priority N [not] [from P] [to P] [iif L] [oif L] [fwmark N] [tos N] [uidrange N-N] [dport N]
 *       [tun_id N] lookup T|goto N|l3mdev|nop|blackhole|unreachable|prohibit [suppress_prefixlength N]
 *       [suppress_ifgroup N] [protocol P]
 *   ip [-6] rule flush                                    all but those of priority 0
 *   ip [-6] route add|append|replace|del [throw|…] P [via IP] [dev L] [onlink] [src IP] [table T] [metric N]
 *       [protocol P] [scope S] [nexthop [via IP] dev L …]
 *   ip route flush table T|all
 *   ip neigh add IP dev ib0
 *   ip neigh flush dev ib0
 *   once ip address|rule|route add …                      from a time when the kernel let it be, whatever there is now
 *   sysctl -w net/ipv4/conf/ib0/rp_filter=1               or of all
 *   arping -U -c 1 -I ib0 172.16.34.1                     peers learn this address at this NIC (IPv6: ndptool)
 *
 *   saved ib0 rp_filter old=0 set=2 [ifindex=N]           a sysctl's value before ib-hook changed it
 *   rail ib0 table=945 [explicit] [device] [ifindex=N]    a rail of the last run, and its table
 *   hold ib0                                              --undo has left it alone
 *   keep ib0                                              it stays as it is: an --apply was not confirmed
 *   no-ipv6 ib0                                           IPv6 is switched off on it
 *   config [interface ib0] table=941                      one setting
 *   rails N [WORD …]                                      N nics, as WORDs say, on ports of their own, in 172.16.0.0/16
 *   programmed ib0 172.16.34.1/16 941                     the route and the two rules that such a rail has
 *   saved arp of ib0                                      arp=auto set the usual values where there was 0
 *   do apply|undo [only IFACE…] [respect-holds]           in a world: what an earlier run made of it so far
 *   seed N                                                of a world: that of the dice
 *   expect op NAME IFACE [with INDEX] [for good] [raw]: COMMAND [# PART OF THE REASON]
 *        the complete plan, in order; IFACE is - where it is gone; with: it stands or falls with this other NIC; for
 *        good: nothing brings it back; raw: an IPv4 announcement of what the kernel would not choose as its source
 *   expect rail ib0 172.16.34.1/16 941                    the route and the two rules; and arp=auto's two values
 *   expect arp of ib0
 *   expect nic IFACE VERDICT [why="part of the reason"]   VERDICT: alone, rail 941, blocked, …
 *   expect error PART                                     the configuration is refused
 *
 * lo is there, and the rules that every namespace starts with; routes that the kernel makes for addresses come and go
 * with them. "mark" is the number of IBH_MARK. The commands of a plan are lines, too.
 */
#pragma once

#include "fake_kernel.h"
#include "check/facts.h"
#include "model/model.h"
#include "model/operation.h"
#include "plan/rails.h"

#define IBH_CASE_ERROR (g_quark_from_static_string("ibh-case-error"))

typedef struct {
    char *name;
    char *verdict; /* as ibh_case_verdict() says it */
    char *why;     /* a part of the reason, NULL: any */
} IbhCaseNic;

typedef struct {
    char *title; /* NULL: none */
    FakeKernel *kernel;
    IbhSnapshot *snapshot; /* the kernel's */
    IbhFacts *facts;
    GString *config; /* the configuration's text */
    guint64 seed;
    gboolean by_chance; /* a line may be refused, and what is left over has to be possible */
    gboolean asked;     /* to do something: what the last `do` said */
    gboolean undo;
    gboolean respect_holds;
    GPtrArray *only;  /* char *, NULL-terminated where there are any */
    GPtrArray *ops;   /* char *, as ibh_case_op() says them */
    GPtrArray *nics;  /* IbhCaseNic * */
    char *error;      /* NULL: none expected */
    GString *written; /* lines that say nothing about the kernel, as they stand */
} IbhCase;

IbhCase *ibh_case_new(void);
void ibh_case_free(IbhCase *cas);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhCase, ibh_case_free)

/* One line. FALSE: the kernel refuses (FAKE_ERROR), or it is not of the language (IBH_CASE_ERROR). */
gboolean ibh_case_read(IbhCase *cas, const char *line, GError **error);
/* All of them, and none may be refused; of a world they may. `name` stands in front of the line number in errors. */
IbhCase *ibh_case_parse(const char *name, const char *text, GError **error);
IbhCase *ibh_case_parse_world(const char *name, const char *text, GError **error);
/* To go on with its kernel: routes are in the order that the fake kernel needs, not in that of a dump. */
IbhCase *ibh_case_parse_kernel(const char *name, const char *text, GError **error);
char *ibh_case_write(const IbhCase *cas); /* parses to the same case */

const char *const *ibh_case_only(const IbhCase *cas); /* NULL: all interfaces */
char *ibh_case_op(const IbhOp *op);                   /* "rule-add ib0: ip -4 rule add …" */
char *ibh_case_verdict(const IbhNic *nic);            /* "rail 941" */

/* One line for this kernel; FALSE where it refuses. A line that is not of the language ends the program. */
gboolean fake_try(FakeKernel *kernel, const char *line, GError **error);
/* All of these, up to a NULL, and none may be refused. */
void fake_do(FakeKernel *kernel, const char *line, ...) G_GNUC_NULL_TERMINATED;

/* The lines that make this world. */
char *fake_print(const FakeKernel *kernel);
char *fake_print_rule(const IbhRule *rule);
char *fake_print_route(const IbhSnapshot *world, const IbhRoute *route);
