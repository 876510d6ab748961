/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of a host beside its snapshot, because only findings and reports need it: look_io.c and managers_io.c
 * fill it in; judges, reports and --render read it. Pure.
 */
#pragma once

#include "model/model.h"

/* The manager that configures a netdev, as its state files show. */
typedef struct {
    int ifindex;
    const char *name; /* "NetworkManager", "systemd-networkd", "netplan", "ifupdown", …; NULL: none */
    char *connection; /* its name for the configuration of this netdev; NULL: unknown, or none */
    gboolean prunes4; /* it deletes foreign routes by this netdev, in all tables */
    gboolean prunes6;
    char *inactive;      /* why its next event does not reach our hook; NULL: it does, or this is not known */
    char *remedy;        /* for that; NULL: that of a hook */
    gboolean by_choice;  /* … because presets or an administrator have not enabled a service */
    gboolean will_start; /* … it is enabled: perhaps the host has not booted yet */
} IbhManager;

/* A hand-written file. */
typedef struct {
    char *path; /* printable */
    char *text; /* of any bytes */
    gboolean is_public;
} IbhScript;

typedef struct {
    GArray *managers;   /* IbhManager */
    GArray *scripts;    /* IbhScript */
    GArray *routes;     /* IbhRoute: of main, table local and the tables of foreign rules, what the snapshot lacks; last
                           what is cached and may lead rails' packets astray */
    GArray *mute[2];    /* int: rails that by IPv4, by IPv6 ask for no neighbour's hardware address */
    GArray *no_ipv6;    /* int: rails on which IPv6 is switched off (disable_ipv6) */
    gboolean proxy_arp; /* net.ipv4.conf.all's */
    int hash_policy;    /* net.ipv4.fib_multipath_hash_policy */
    gboolean watched;   /* --watch runs */
    gboolean will_watch;     /* its service is enabled */
    const char *start_watch; /* how it is started; NULL: not known */
} IbhFacts;

IbhFacts *ibh_facts_new(void);
void ibh_facts_free(IbhFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhFacts, ibh_facts_free)

const IbhManager *ibh_facts_manager(const IbhFacts *facts, int ifindex); /* NULL: none */
