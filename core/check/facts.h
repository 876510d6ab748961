/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts about a host that are not in its snapshot, because no plan needs them. look_io.c and managers_io.c fill them
 * in; the questions to the kernel, judges (the functions that add findings), reports and --render read them. A fact of
 * probe/ is something else (probe/stages.h). Pure.
 */
#pragma once

#include "model/model.h"

/* The manager that configures a netdev, as files show (`rows` in managers_io.c), and as NetworkManager itself says. */
typedef struct {
    int ifindex;
    const char *name;   /* "NetworkManager", "systemd-networkd", "netplan", "ifupdown", …; NULL: NetworkManager has
                           a state file for the netdev, but told nm.so that it does not configure the netdev */
    char *connection;   /* the manager's name for the configuration of this netdev; NULL: unknown, or none */
    gboolean prunes4;   /* deletes other programs' IPv4 routes, also ours, through this netdev, in all tables */
    gboolean prunes6;   /* the same for IPv6 */
    char *inactive;     /* why our hook will not act at the manager's next event; NULL: it will, or this is not known */
    char *remedy;       /* what to do about `inactive`; NULL: the remedy of the row hook-inactive in rows.c */
    gboolean by_choice; /* presets or an administrator disabled the service that calls our hook (see `inactive`) */
    gboolean will_start; /* the service that calls our hook does not run (see `inactive`), but is enabled: perhaps the
                            host is still booting */
} IbhManager;

/* A hand-written file that may add rules or routes, such as a hook or a unit. */
typedef struct {
    char *path;         /* printable */
    char *text;         /* any bytes */
    gboolean is_public; /* every user may read the file */
} IbhScript;

typedef struct {
    GArray *managers;    /* IbhManager */
    GArray *scripts;     /* IbhScript */
    GArray *routes;      /* IbhRoute: those of main, local and the tables of foreign rules, except candidates' tables;
                            then up to 256 cached routes that may lead packets of rails astray */
    GArray *mute[2];     /* int: ifindexes of the rails that never ask for a neighbour's hardware address: mute[0] for
                            IPv4, mute[1] for IPv6 */
    GArray *no_ipv6;     /* int: ifindexes of the rails on which IPv6 is switched off (disable_ipv6) */
    gboolean proxy_arp;  /* net.ipv4.conf.all.proxy_arp */
    int hash_policy;     /* net.ipv4.fib_multipath_hash_policy; 0 also if unknown */
    gboolean watched;    /* --watch runs; FALSE also if we cannot tell: for a copy (--sysfs), and in a network namespace
                            other than that of process 1 */
    gboolean will_watch; /* the service of --watch is enabled */
    const char *start_watch; /* what a person does to start --watch, in the words of a remedy; NULL: not known */
} IbhFacts;

IbhFacts *ibh_facts_new(void);
void ibh_facts_free(IbhFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhFacts, ibh_facts_free)

const IbhManager *ibh_facts_manager(const IbhFacts *facts, int ifindex); /* NULL if none is known */
