/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides from a configuration, a snapshot and a request (IbhRequest) which NICs are rails and why, and which table
 * each candidate gets. Pure.
 */
#pragma once

#include "config/config.h"
#include "model/model.h"

typedef enum {
    IBH_NIC_NO_CANDIDATE, /* not RDMA-capable (and without manage=yes), enslaved, a representor, loopback, or named
                             "all" or "default" */
    IBH_NIC_ALONE,        /* a candidate that is no rail, because it shares no subnet, or only advertised ones, with
                             another candidate */
    IBH_NIC_NO_ADDRESS,
    IBH_NIC_UNMANAGED, /* manage=no */
    IBH_NIC_HELD,      /* kept; or held, but a rail or blocked without the hold */
    IBH_NIC_BLOCKED,   /* would be a rail, but the rule for the local table is missing or comes too late */
    IBH_NIC_RAIL
} IbhNicStatus;

typedef enum {
    /* no candidate: up to IBH_WHY_NOT_RDMA */
    IBH_WHY_LOOPBACK,
    IBH_WHY_NAME, /* "all" or "default" */
    IBH_WHY_PORT, /* a port of the bond, bridge or VRF `other`; NULL: that master is in another namespace */
    IBH_WHY_REPRESENTOR,
    IBH_WHY_NOT_RDMA,
    /* no rail */
    IBH_WHY_KEPT,
    IBH_WHY_UNMANAGED,
    IBH_WHY_NO_ADDRESS,
    IBH_WHY_NOT_SHARED,
    IBH_WHY_ADVERTISED, /* shares `subnet` with `other` only if advertised addresses count; but these make no rail */
    IBH_WHY_UNDONE,
    IBH_WHY_NO_LOCAL_RULE,
    IBH_WHY_LATE_LOCAL_RULE, /* the rule that looks the local table up is at `priority` */
    /* engaged */
    IBH_WHY_MANAGED,
    IBH_WHY_SHARES, /* shares `subnet` with `other` */
    IBH_WHY_STAYS   /* shares no subnet now, but an earlier run left signs that the NIC was a rail (engage.c) */
} IbhWhy;

/* Each member after `why` is valid only for the values of `why` whose comments name the member. */
typedef struct {
    IbhWhy why;
    const IbhLink *other;
    const IbhPrefix *subnet;
    guint32 priority;
} IbhReason;

/* An address of a rail and a prefix of the rail's table. */
typedef struct {
    const IbhAddress *address;
    IbhPrefix to;
    guint level;           /* how many shorter prefixes of the table contain `to` */
    const IbhRule *theirs; /* the foreign rule that routes the pair; NULL if our rules do */
} IbhPair;

typedef struct {
    const IbhLink *link; /* owned by the snapshot */
    IbhSettings settings;
    guint position; /* the index in IbhRails.nics */
    guint rank;     /* from 1 among the candidates; 0 for other NICs */
    guint32 table;  /* T; 0 if the NIC is not a candidate */
    /* Valid only for IBH_NIC_ALONE. TRUE if the NIC shares no subnet (advertised ones do not count), and every NIC that
     * could be its partner is here with its addresses (are_partners_all_there() in engage.c). FALSE if a partner may
     * come back in a moment. */
    gboolean is_alone_for_good;
    gboolean is_engaged;     /* the NIC is a rail, or would be one because of its subnets or settings */
    gboolean held;           /* this run is --undo of the NIC, or respects the hold of an earlier --undo */
    gboolean kept;           /* left as it is, with our rules, routes and values */
    int base[IBH_N_SYSCTLS]; /* the administrator's values: the saved value if the present value is ours, else the
                                present value */
    /* Lists of the snapshot's IbhAddress, in the kernel's order, but in `addresses` served ones come first: */
    GPtrArray *addresses;  /* all addresses */
    GPtrArray *served;     /* addresses that a rail would serve: those that count (ibh_address_counts()) */
    GPtrArray *programmed; /* served addresses of a rail, without those that only foreign rules route */
    /* What a rail should have (want.c); empty for other NICs: */
    GArray *pairs;  /* IbhPair */
    GArray *routes; /* IbhRoute, in the order to add them; empty while the link is down */
    GArray *rules;  /* IbhRule, by ascending priority for each address */
    IbhNicStatus status;
    IbhReason reason;
} IbhNic;

typedef struct {
    GPtrArray *nics;  /* IbhNic *: candidates by rank, then the other links by name */
    guint candidates; /* how many NICs are candidates */
    const IbhSnapshot *snapshot;
    IbhMain main;
    gboolean undo;           /* this run is --undo: it holds the NICs of `only`, and wants no rules and routes there */
    gboolean blind;          /* the configuration could not be used: leave NICs outside `only` as they are */
    const char *const *only; /* the interfaces of this run; NULL for all */
    GHashTable *pool;        /* holds the next hops of wanted routes */
    struct {                 /* indexes, for hosts with hundreds of rails and dozens of addresses each */
        GHashTable *nics;    /* ifindex → IbhNic */
        /* IbhIp → GPtrArray of IbhAddress, in the order of their NICs in `nics`; if one NIC has the IP address several
         * times, the served entries come first */
        GHashTable *holders;
        GHashTable *tables;     /* T or D → the candidate that has it */
        GHashTable *advertised; /* the set of the advertised IbhAddress (engage.c) */
    } by;
} IbhRails;

/* What a run asks for. */
typedef struct {
    const char *const *only; /* interfaces; NULL for all */
    gboolean respects_holds; /* leave held and kept NICs alone (hooks, --watch, --show, --check, --undo) */
    gboolean undo;           /* hold the interfaces of `only` from now on */
    gboolean blind;          /* the configuration could not be used */
} IbhRequest;

/* engage.c. Fails if ibh_rails_assign_tables() fails. `config`, `snapshot` and request->only must outlive the result,
 * which points to them. */
IbhRails *ibh_rails_find(const IbhConfig *config, const IbhSnapshot *snapshot, const IbhRequest *request,
                         GError **error);
void ibh_rails_free(IbhRails *rails);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhRails, ibh_rails_free)

/* Returns why the link is not a candidate: a value up to IBH_WHY_NOT_RDMA. For a candidate, returns IBH_WHY_MANAGED or
 * IBH_WHY_NOT_SHARED. Both are greater and preliminary: ibh_rails_find() finds the final reason. */
IbhWhy ibh_link_why(const IbhSnapshot *snapshot, const IbhLink *link, IbhManage manage);

guint32 ibh_nic_defaults(const IbhNic *nic);                                /* D, the table of its default route */
gboolean ibh_nic_has_table(const IbhNic *nic, guint32 table);               /* T or D */
const IbhNic *ibh_rails_nic(const IbhRails *rails, int ifindex);            /* NULL if the snapshot lacks the link */
const IbhNic *ibh_rails_nic_by_table(const IbhRails *rails, guint32 table); /* by T or D; NULL if no NIC has it */
/* Returns the rail that serves this address; if several rails do, the first of them by rank; NULL if no rail does. */
const IbhNic *ibh_rails_owner(const IbhRails *rails, const IbhIp *address);
/* TRUE if an engaged NIC serves this address: then a rule for the address proves nothing about another NIC that has the
 * address. */
gboolean ibh_rails_is_claimed(const IbhRails *rails, const IbhIp *ip);
gboolean ibh_rails_is_advertised(const IbhRails *rails, const IbhAddress *address);
/* Returns the NIC that has this address, served or not; if several NICs have it, the first of them in IbhRails.nics;
 * NULL if no NIC has it. */
const IbhNic *ibh_rails_holder(const IbhRails *rails, const IbhIp *address);
/* TRUE if a NIC of this host has the gateway's address, so a route via the gateway leads nowhere. An fe80:: address
 * counts only if `nic` has it. `nic` may be NULL: then no fe80:: address counts. */
gboolean ibh_rails_is_own_gateway(const IbhRails *rails, const IbhNic *nic, const IbhIp *gateway);
gboolean ibh_nic_serves_family(const IbhNic *nic, int family);
/* If foreign rules route all pairs of this address of a rail, returns the foreign rule of the first pair. Returns NULL
 * if a pair of the address is ours, or if the address has no pair. */
const IbhRule *ibh_nic_foreign_rule(const IbhNic *nic, const IbhAddress *address);
/* Returns the NIC's remote= with the longest prefix that covers this prefix; NULL if no remote= covers it. */
const IbhRemote *ibh_nic_find_remote(const IbhNic *nic, const IbhPrefix *prefix);
/* TRUE for a served address; but if the NIC has the address several times, for example with different prefix lengths,
 * TRUE only for the first served entry. */
gboolean ibh_nic_has_first(const IbhNic *nic, const IbhAddress *address);
/* TRUE if `only` is NULL, which stands for all NICs, or if `only` names the NIC. `nic` may be NULL. */
gboolean ibh_nic_is_selected(const IbhNic *nic, const char *const *only);
const IbhAddress *ibh_rails_address(const IbhRails *rails, const IbhNic *nic,
                                    const IbhIp *ip);                       /* NULL if the NIC lacks it */
const GPtrArray *ibh_rails_holders(const IbhRails *rails, const IbhIp *ip); /* IbhAddress; may be empty, never NULL */

/* Returns the owner of a rule of ours; NULL if there is none. The owner depends on which NICs have the rule's source
 * address:
 * - one NIC: this NIC.
 * - no NIC: the NIC whose T or D the rule looks up.
 * - several NICs: of these, the NIC whose T or D the rule looks up; else the rail that serves the address
 *   (ibh_rails_owner()); else the first in IbhRails.nics.
 * A "lookup main" rule counts as looking up the table of our rule to T or D with the same source and destination. */
const IbhNic *ibh_rule_owner(const IbhRails *rails, const IbhRule *rule);
/* Returns the owner of a route of ours: the NIC through which the route leads or, if this NIC is gone, the NIC whose T
 * or D has the route. Returns NULL if there is neither. */
const IbhNic *ibh_route_owner(const IbhRails *rails, const IbhRoute *route);

/* gateways.c. Fails if a rail's remote= names a gateway that is neither in a subnet of the rail nor in fe80::/10, or
 * names no gateway although the rail has gateway=none, or has a prefix inside so many others that it gets no rules
 * (IBH_LEVELS_MAX). Ignores prefixes of a family in which the rail serves no address. */
gboolean ibh_rails_check_remote(const IbhRails *rails, GError **error);

/* tables.c. Gives each candidate its table. Fails if the numbers that table= gives to two candidates are equal or 2000
 * apart, because a candidate with the number N needs N and N + 2000. Ignores table= of a NIC that is kept or has
 * manage=no. If the T or D of a kept NIC is N or N + 2000, also ignores another NIC's table=N. */
gboolean ibh_rails_assign_tables(IbhRails *rails, GError **error);
/* Returns the tables (IbhSavedRail) to save: the tables of rails, and the tables that the snapshot's state has for kept
 * NICs and for NICs that an event spared. `spared` has the ifindexes of the spared NICs; NULL for none. */
GArray *ibh_rails_to_remember(const IbhRails *rails, const GArray *spared);

gboolean ibh_nic_is_usable(const IbhNic *nic);    /* up, with carrier */
gboolean ibh_rule_is_for_us(const IbhRule *rule); /* FALSE if the rule matches only packets of other hosts (iif) */
/* TRUE for a foreign rule that selects by a source, perhaps also by a destination, and by nothing else, and that looks
 * up a table other than local, main and default. */
gboolean ibh_rule_is_of_a_source(const IbhRule *rule);
/* others.c: returns the foreign rule that correctly routes packets from this address to this prefix; NULL if there is
 * none. The answer depends on foreign rules and routes, and on which NICs are rails, but not on our rules and routes,
 * so a plan does not change the answer. */
const IbhRule *ibh_others_route(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address,
                                const IbhPrefix *to);
/* TRUE if a foreign source rule without a destination leads the address to a table that has a foreign route to any
 * destination. Throw routes, and routes that the rule suppresses, do not count. If TRUE, another program routes the
 * address, and the address gets no rules to D. */
gboolean ibh_others_lead_out(const IbhRails *rails, const IbhAddress *address);
