/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of findings. A row says what can be found, how bad it is, in which words, and the cure. Its predicate says
 * whether that is so, and the words that stand in the row's braces. What is right has no row. Pure.
 */
#pragma once

#include "check/finding.h"
#include "plan/known.h"

/* What the rows of a scope are asked about, once for each thing of its kind: which members of the subject are set. */
typedef enum {
    IBH_NOT_ASKED, /* other files make the finding */
    IBH_OF_HOST,
    IBH_OF_NIC,                /* nic */
    IBH_OF_ADDRESS_ASKED_FOR,  /* nic, address, ip */
    IBH_OF_PROXY,              /* nic, question, ip: a NIC that forwards, and a host that peers ask for; route: there */
    IBH_OF_PROXY_ENTRY,        /* and neighbour, whose ip it is */
    IBH_OF_ADDRESS,            /* nic, address, ip */
    IBH_OF_RAIL,               /* nic */
    IBH_OF_ASKING,             /* nic, family */
    IBH_OF_NEIGHBOUR,          /* nic, neighbour, ip */
    IBH_OF_WRITTEN_NEIGHBOURS, /* nic */
    IBH_OF_NO_RAIL,            /* nic */
    IBH_OF_PAIR,               /* nic, other: a rail, and another NIC */
    IBH_OF_PAIR_ADDRESS,       /* and address, ip: of `nic` */
    IBH_OF_VALUES,             /* nic */
    IBH_OF_GATEWAY,            /* nic, family */
    IBH_OF_GATEWAY_ELSEWHERE,  /* nic, family, ip, route: of main, by a gateway */
    IBH_OF_SETUP,              /* nic */
    IBH_OF_LOST_FAMILY,        /* nic, family */
    IBH_OF_CALL,               /* nic */
    IBH_OF_SCRIPT,             /* nic */
    IBH_OF_SECTION,
    IBH_OF_MISSPELT_SECTION,
    IBH_OF_PLACE,      /* op */
    IBH_OF_PORT_STATE, /* port, netdev: what explains all the rest */
    IBH_OF_PORT,       /* port, netdev: a port that is used, and in order */
    IBH_OF_NETDEV,     /* port, netdev */
    IBH_OF_MISSING_RAILS,
    IBH_OF_MORE_RAILS,
    IBH_OF_PLAN,                                       /* + the type of its worst operation */
    IBH_OF_MISSED = IBH_OF_PLAN + IBH_OP_NEIGH_DEL + 1 /* missed; + IbhMissing */
} IbhRowScope;

typedef struct IbhSubject IbhSubject;
typedef gboolean IbhPredicate(IbhSubject *about);

typedef struct {
    int scope; /* IbhRowScope */
    const char *code;
    IbhSeverity severity; /* unless the predicate knows better; the manual has that of the code's first row */
    IbhPredicate *is_so;  /* NULL: whenever the scope is asked */
    const char *text;
    const char *remedy; /* "$ COMMAND", or advice */
    const char *owner;  /* findings of one code and owner are one; "": the host; NULL: each is for itself */
    const char *says;   /* what it says of each NIC: "{text}"; NULL: the finding says enough */
} IbhRow;

const IbhRow *ibh_code_find(const char *code); /* the first row; NULL: no code of --check */

struct IbhSubject {
    const IbhRow *rows; /* the last has no code */
    GPtrArray *findings;
    GString *words;    /* "WORD=VALUE", a line each */
    const char *iface; /* the NIC that a finding hits, the word {iface}; "": the host */
    GPtrArray *others; /* const char *: the NICs that it hits, too; NULL: none */

    const struct IbhCheck *check;
    const IbhNic *nic, *other; /* {other} */
    const IbhAddress *address;
    const IbhIp *ip; /* {ip} */
    int family;      /* {version} */
    const IbhNeighbour *neighbour;
    const IbhRoute *route;
    guint named; /* gateways, of this address */
    const IbhKnownRail *missed;
    const IbhOp *op;
    const struct IbhQuestion *question;

    IbhFinding *finding; /* has it already, and takes what this row says; NULL: none */

    const struct IbhFabric *fabric;
    const struct IbhPort *port;
    const struct IbhPortNic *netdev;
    const char *const *only; /* NULL: all */

    /* What a predicate may set instead of the row's: */
    int severity; /* IbhSeverity; -1: not set */
    const char *remedy, *owner;
    gboolean astray; /* the packets of the NIC leave through another one */
};

/* "own=%s\nits=%d": words of the row's texts. */
G_GNUC_PRINTF(2, 3)
void ibh_subject_say(IbhSubject *about, const char *format, ...);
/* Adds what the rows of a scope find. Returns the last finding; NULL if there is none. */
IbhFinding *ibh_subject_ask(IbhSubject *about, int scope);
