/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which NICs are rails, with which table, and why: configuration + snapshot → a verdict per NIC. Pure.
 */
#pragma once

#include "config/config.h"
#include "model/model.h"

typedef enum {
    IBH_NIC_NO_CANDIDATE, /* not RDMA-capable, a port of something, a representor, loopback */
    IBH_NIC_ALONE,        /* a candidate that shares its subnets with no other */
    IBH_NIC_NO_ADDRESS,
    IBH_NIC_UNMANAGED, /* manage=no */
    IBH_NIC_HELD,      /* --undo left it alone, or it is kept as it is */
    IBH_NIC_BLOCKED,   /* it should be a rail, but its rules would come before table local */
    IBH_NIC_RAIL
} IbhNicStatus;

typedef enum {
    /* no candidate: those up to IBH_WHY_NOT_RDMA */
    IBH_WHY_LOOPBACK,
    IBH_WHY_NAME,
    IBH_WHY_PORT, /* of `other`; NULL: of a link in another namespace */
    IBH_WHY_REPRESENTOR,
    IBH_WHY_NOT_RDMA,
    /* no rail */
    IBH_WHY_KEPT,
    IBH_WHY_UNMANAGED,
    IBH_WHY_NO_ADDRESS,
    IBH_WHY_NOT_SHARED,
    IBH_WHY_ADVERTISED, /* it would share `subnet` with `other`, but a router made an address of it */
    IBH_WHY_UNDONE,
    IBH_WHY_NO_LOCAL_RULE,
    IBH_WHY_LATE_LOCAL_RULE, /* at `priority` */
    /* engaged */
    IBH_WHY_MANAGED,
    IBH_WHY_SHARES, /* `subnet` with `other` */
    IBH_WHY_STAYS
} IbhWhy;

typedef struct {
    IbhWhy why;
    const IbhLink *other;
    const IbhPrefix *subnet;
    guint32 priority;
} IbhReason;

/* What an address of a rail sends to a prefix of its table. */
typedef struct {
    const IbhAddress *address;
    IbhPrefix to;
    guint level;           /* so many prefixes of the table contain this one */
    const IbhRule *theirs; /* the rule of others that routes it; NULL: rules of ours do */
} IbhPair;

typedef struct {
    const IbhLink *link; /* owned by the snapshot */
    IbhSettings settings;
    guint position;          /* among all NICs */
    guint rank;              /* from 1 among the candidates, 0: no candidate */
    guint32 table;           /* T; 0: no candidate */
    gboolean shares_nothing; /* with partners that are all there */
    gboolean is_engaged;     /* by its subnets or settings, or as a rail; not by a rule that stands */
    gboolean held;           /* --undo left it alone, or does so now */
    gboolean kept;           /* it stays as it is, with all of ours on it */
    int base[IBH_N_SYSCTLS]; /* the administrator's values: the present ones, or, where these are ours, the earlier ones
                              */
    /* IbhAddress, in the kernel's order: */
    GPtrArray *addresses;  /* all that are on it, those that it serves first */
    GPtrArray *served;     /* those that it serves as a rail */
    GPtrArray *programmed; /* of a rail, those that others do not route */
    /* What a rail should have (want.c); else empty: */
    GArray *pairs;  /* IbhPair */
    GArray *routes; /* IbhRoute, in the order they must be added. None through a link that is down */
    GArray *rules;  /* IbhRule, of each address in ascending order */
    IbhNicStatus status;
    IbhReason reason;
} IbhNic;

typedef struct {
    GPtrArray *nics; /* IbhNic *: candidates by rank, then all others by name */
    guint candidates;
    GPtrArray *no_rails; /* IbhNic *: those of the nics that are no rails */
    const IbhSnapshot *snapshot;
    IbhMain main;
    gboolean undo;              /* of `only`: they are held from now on, and nothing is wanted there */
    gboolean blind;             /* the configuration could not be read: other interfaces stay as they are */
    const char *const *only;    /* the interfaces this run is about, NULL: all */
    GHashTable *pool;           /* of the next hops of routes that are wanted */
    struct {                    /* so that hundreds of rails with dozens of addresses stay quick to judge */
        GHashTable *nics;       /* ifindex → IbhNic */
        GHashTable *holders;    /* address → GPtrArray of IbhAddress: on these NICs, by rank; served ones first */
        GHashTable *tables;     /* T or D → the candidate that has it */
        GHashTable *advertised; /* IbhAddress: a host on the wire made it */
    } by;
} IbhRails;

/* What a run asks for. */
typedef struct {
    const char *const *only; /* interfaces; NULL: all */
    gboolean respects_holds; /* NICs that are held or kept stay so (hooks, --watch, --check); --apply lifts holds */
    gboolean undo;           /* these interfaces are held from now on */
    gboolean blind;          /* the configuration could not be read */
} IbhRequest;

/* engage.c. Fails where the configuration gives two present NICs the same explicit table. */
IbhRails *ibh_rails_find(const IbhConfig *config, const IbhSnapshot *snapshot, const IbhRequest *request,
                         GError **error);
void ibh_rails_free(IbhRails *rails);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhRails, ibh_rails_free)

/* reason.c: why it is a rail or none, one sentence for people. The caller frees it. */
char *ibh_nic_why(const IbhNic *nic);

/* A NIC that could become a rail: an RDMA port, or one with manage=yes. */
gboolean ibh_link_is_candidate(const IbhSnapshot *snapshot, const IbhLink *link, IbhManage manage);

guint32 ibh_nic_defaults(const IbhNic *nic);                                /* D, the table of its default routes */
gboolean ibh_nic_has_table(const IbhNic *nic, guint32 table);               /* T or D */
const IbhNic *ibh_rails_nic(const IbhRails *rails, int ifindex);            /* NULL: nothing to do with rails */
const IbhNic *ibh_rails_nic_by_table(const IbhRails *rails, guint32 table); /* T or D of a candidate */
/* The rail that has this address; of two, the one of lower rank. */
const IbhNic *ibh_rails_owner(const IbhRails *rails, const IbhIp *address);
/* A NIC that is engaged serves this address: a rule for it tells nothing of another NIC that has it, too. */
gboolean ibh_rails_is_claimed(const IbhRails *rails, const IbhIp *ip);
gboolean ibh_rails_is_advertised(const IbhRails *rails, const IbhAddress *address);
/* The NIC that has this address; NULL: none of this host. */
const IbhNic *ibh_rails_holder(const IbhRails *rails, const IbhIp *address);
gboolean ibh_rails_have_address(const IbhRails *rails, const IbhIp *address); /* it is one of this host's */
/* A gateway through this NIC that is this host itself leads nowhere. An address fe80:: of another NIC is another one.
 */
gboolean ibh_rails_have_gateway(const IbhRails *rails, const IbhNic *nic, const IbhIp *gateway);
/* An address of this NIC that it serves as a rail. */
gboolean ibh_nic_serves_family(const IbhNic *nic, int family);
gboolean ibh_nic_programs_family(const IbhNic *nic, int family); /* rules and routes of ours serve it */
/* The rule of others that routes this address of a rail: it has no pair of ours. NULL: ours route it. */
const IbhRule *ibh_nic_foreign_rule(const IbhNic *nic, const IbhAddress *address);
/* What this address of a rail sends there: the longest prefix of T decides. */
gboolean ibh_nic_leaves_to_others(const IbhNic *nic, const IbhAddress *address, const IbhIp *to);
/* The longest of remote= that contains this prefix; NULL: none does. */
const IbhRemote *ibh_nic_find_remote(const IbhNic *nic, const IbhPrefix *prefix);
/* FALSE: the NIC serves this address twice, with two prefix lengths, and this is the second. */
gboolean ibh_nic_has_first(const IbhNic *nic, const IbhAddress *address);
gboolean ibh_nic_is_selected(const IbhNic *nic, const char *const *only);
const IbhAddress *ibh_rails_address(const IbhRails *rails, const IbhNic *nic, const IbhIp *ip); /* NULL: it has none */
const GPtrArray *ibh_rails_holders(const IbhRails *rails, const IbhIp *ip);                     /* IbhAddress */

/* Owner of a marked rule or route: the NIC that has the address or the device; else the table's NIC; else NULL. */
const IbhNic *ibh_rule_owner(const IbhRails *rails, const IbhRule *rule);
const IbhNic *ibh_route_owner(const IbhRails *rails, const IbhRoute *route);

/* gateways.c: FALSE where remote= names a gateway in no subnet of its rail, or none beside gateway=none. */
gboolean ibh_rails_check_remote(const IbhRails *rails, GError **error);

/* tables.c. Gives each candidate its table. Fails where the configuration gives two NICs the same one. */
gboolean ibh_rails_assign_tables(IbhRails *rails, GError **error);
/* The tables of rails, and of those that stay as they are, kept or spared (int) by an event: IbhSavedRail. */
GArray *ibh_rails_to_remember(const IbhRails *rails, const GArray *spared);

/* Of a rule of others: it leads some source, and nothing but a source and a destination, to a table of their own. */
gboolean ibh_rule_is_of_a_source(const IbhRule *rule);
/* others.c: the rule of others that routes what this address sends to this prefix; NULL: none does. A function of
 * others' rules and routes alone. */
const IbhRule *ibh_others_route(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address,
                                const IbhPrefix *to);
/* A rule of others leads the address to a table that has a route of theirs: what it sends beyond is theirs. */
gboolean ibh_others_lead_out(const IbhRails *rails, const IbhAddress *address);
