/*
 * A planning case as text: what a namespace looks like, the configuration, and what should come of it.
 *
 * One statement per line, `#` starts a comment line; the first one is the case's title.
 *
 *   link INDEX NAME infiniband|ether|loopback [up] [carrier] [vf] [representor] [rdma=DEV/PORT] [kind=KIND]
 *        [master=NAME] [parent=NAME] [lladdr=XX:…] [rp_filter=N arp_filter=N arp_announce=N …]
 *   all [rp_filter=N …]                                   net.ipv4.conf.all
 *   addr IFACE LOCAL/LEN | LOCAL peer PEER/LEN [scope host|link|site|N] [secondary] [noprefixroute]
 *        [tentative]                                      not (yet) proved to be ours alone; failed, too
 *   route TABLE [local|broadcast|throw|unreachable|…] DST [via GW] [dev IFACE] [onlink] [proto P] [scope S] [src IP]
 *        [metric N|mark] [nexthops N | hops IFACE[!],…]   a multipath route, dead nexthops with !
 *   rule PRIORITY [not] from PREFIX|all [to PREFIX] [iif] [oif] [fwmark] [tos] [uid] [port] [other]
 *        lookup TABLE|l3mdev|goto|nop|blackhole|unreachable|prohibit [suppress_prefixlength N]
 *        [suppress_ifgroup N|mark] [proto P]              other selectors stand without their values
 *   kernel rules                                          those that every namespace starts with, of both families
 *   kernel routes                                         what the kernel itself made of the addresses so far
 *   neigh IFACE IP
 *   saved IFACE KEY old=N set=N [ifindex=N]               a sysctl's value before it was changed
 *   away IFACE DST src IP [metric N]                      a route that main=remove took out of main
 *   hold IFACE
 *   config LINE                                           one line of the configuration
 *   do apply|undo [only IFACE…] [respect-holds]
 *   expect op NAME IFACE [with INDEX] [for good] [raw]: COMMAND [# PART OF THE REASON]
 *        the complete plan, in order; IFACE is - where it is gone; with: it stands or falls with this other NIC; for
 *        good: nothing brings it back; raw: an IPv4 announcement of what the kernel would not choose as its source
 *   expect nic IFACE VERDICT [why="part of the reason"]   VERDICT: alone, rail 941, blocked table-clash, …
 *   expect error PART                                     the configuration is refused
 */
#pragma once

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
    IbhSnapshot *snapshot;
    GString *config; /* the configuration's text */
    gboolean undo;
    gboolean respect_holds;
    GPtrArray *only; /* char *, NULL-terminated by ibh_case_only() */
    GPtrArray *ops;  /* char *, as ibh_case_op() says them */
    GPtrArray *nics; /* IbhCaseNic * */
    char *error;     /* NULL: none expected */
} IbhCase;

/* `name` stands in front of the line number in errors. */
IbhCase *ibh_case_parse(const char *name, const char *text, GError **error);
char *ibh_case_write(const IbhCase *cas); /* parses to the same case; what `kernel` stood for is spelled out */
void ibh_case_free(IbhCase *cas);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhCase, ibh_case_free)

const char *const *ibh_case_only(const IbhCase *cas); /* NULL: all interfaces */
char *ibh_case_op(const IbhOp *op);                   /* "rule-add ib0: ip -4 rule add …" */
char *ibh_case_verdict(const IbhNic *nic);            /* "rail 941" */
